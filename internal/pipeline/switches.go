package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/switchos"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// SwitchSource is where a text of a switch comes from.
type SwitchSource struct {
	Name  string    // of the switch
	From  string    // a file, - for Stdin, or ssh://[user@]host[:port]
	Stdin io.Reader // nil: a file may be called -
}

// ParseSwitchSource reads NAME=FILE or NAME=ssh://[user@]host[:port].
func ParseSwitchSource(text string) (SwitchSource, error) {
	name, from, ok := strings.Cut(text, "=")
	if !ok || name == "" || from == "" {
		return SwitchSource{}, fmt.Errorf("--switch %q: must be NAME=FILE or NAME=ssh://[user@]host[:port]", text)
	}
	return SwitchSource{Name: name, From: from}, nil
}

// maxSwitchText bounds a text of a switch, in bytes: that of a chassis with 10,000 interfaces is some MiB.
const maxSwitchText = 64 << 20

// atOnce is how many switches are asked over SSH at a time.
const atOnce = 16

// answer is what a source gave.
type answer struct {
	texts []switchtext.Text
	lost  error // a switch that was not reached, or said nothing that can be read
	err   error // of input
}

// ReadSwitches reads the texts of switches, in the order in which the switches are first named. Errors are those of input: a
// file that cannot be read, a text of no language that is read, a switch that the plan does not have. A switch that is not
// reached is one of which nothing was read.
func ReadSwitches(ctx context.Context, from files.Files, plan *fabric.Plan, sources []SwitchSource) ([]*fabric.SwitchConfig, error) {
	if err := inputOnce(sources); err != nil {
		return nil, err
	}
	var dialer host.Dialer
	answers := make([]answer, len(sources))
	var asked []int
	for i, s := range sources {
		if err := planHas(plan, s.Name); err != nil {
			return nil, err
		}
		if s.overSSH() {
			asked = append(asked, i)
		} else if answers[i] = s.read(from); answers[i].err != nil {
			return nil, fmt.Errorf("switch %q: %w", s.Name, answers[i].err)
		}
	}
	host.Each(asked, atOnce, func(i int) { answers[i] = sources[i].ask(ctx, from, &dialer, plan) })
	if err := errors.Join(dialer.Close(), ctx.Err()); err != nil {
		return nil, err
	}
	return readAll(sources, answers, plan)
}

// readAll reads the texts of all switches, several at a time: to tell the language of a text takes longer than to read it.
func readAll(sources []SwitchSource, answers []answer, plan *fabric.Plan) ([]*fabric.SwitchConfig, error) {
	var order []SwitchSource
	of := map[string][]answer{}
	for i, s := range sources {
		if of[s.Name] == nil {
			order = append(order, s)
		}
		of[s.Name] = append(of[s.Name], answers[i])
	}
	out, errs := make([]*fabric.SwitchConfig, len(order)), make([]error, len(order))
	numbers := make([]int, len(order))
	for i := range numbers {
		numbers[i] = i
	}
	host.Each(numbers, runtime.GOMAXPROCS(0), func(i int) {
		c, err := together(order[i].Name, of[order[i].Name], plan)
		if err != nil {
			err = fmt.Errorf("switch %q: %w", order[i].Name, err)
		}
		out[i], errs[i] = c, err
	})
	return out, errors.Join(errs...)
}

// inputOnce refuses to read standard input twice.
func inputOnce(sources []SwitchSource) error {
	n := 0
	for _, s := range sources {
		if s.From == "-" && s.Stdin != nil {
			n++
		}
	}
	if n > 1 {
		return fmt.Errorf("--switch: standard input is one text; %d switches want it", n)
	}
	return nil
}

// together reads all texts of one switch.
func together(name string, answers []answer, plan *fabric.Plan) (*fabric.SwitchConfig, error) {
	var texts []switchtext.Text
	var lost []string
	for _, a := range answers {
		switch {
		case a.err != nil:
			return nil, a.err
		case a.lost != nil:
			lost = append(lost, a.lost.Error())
		default:
			texts = append(texts, a.texts...)
		}
	}
	c := &fabric.SwitchConfig{Name: name}
	if len(texts) > 0 {
		var err error
		if c, err = readSwitch(name, texts); err != nil {
			return nil, err
		}
	} else if os, err := plannedOS(plan, name); err == nil {
		c.OS, _ = os.Names()
	}
	c.Missing = strings.Join(lost, "; ")
	return c, nil
}

// renderedSwitches are the planned configurations of these switches, read back.
func renderedSwitches(plan *fabric.Plan, of []*fabric.SwitchConfig) map[string]*fabric.SwitchConfig {
	if plan == nil {
		return nil
	}
	out := map[string]*fabric.SwitchConfig{}
	for _, c := range of {
		i := slices.IndexFunc(plan.Switches, func(s fabric.Switch) bool { return s.Name == c.Name })
		if i < 0 {
			continue
		}
		s := plan.Switches[i]
		os, err := switchos.Find(s.OS)
		if err != nil {
			continue
		}
		out[c.Name] = os.Read(s.Name, []switchtext.Text{{File: "as rendered", Bytes: os.Render(s, plan.Traffic).Text}})
	}
	return out
}

func planHas(plan *fabric.Plan, name string) error {
	if plan == nil {
		return nil
	}
	names := make([]string, 0, len(plan.Switches))
	for _, s := range plan.Switches {
		names = append(names, s.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	if len(names) == 0 {
		return fmt.Errorf("switch %s: the plan has no switch", fabric.Quote(name))
	}
	return fabric.UnknownName("switch", name, names)
}

// readSwitch reads the texts of one switch, which are of one language.
func readSwitch(name string, texts []switchtext.Text) (*fabric.SwitchConfig, error) {
	var os switchos.OS
	for _, t := range texts {
		r, err := switchos.Language(t.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s %w", t.File, err)
		}
		if os != nil && os != r {
			first, _ := os.Names()
			second, _ := r.Names()
			return nil, fmt.Errorf("%s is %s, and %s is %s: one switch has one language", texts[0].File, first, t.File, second)
		}
		os = r
	}
	return os.Read(name, texts), nil
}

func (s SwitchSource) read(from files.Files) answer {
	var b []byte
	var err error
	name := filepath.Base(s.From)
	if s.From == "-" && s.Stdin != nil {
		name = "standard input"
		b, err = most(s.Stdin, name)
	} else {
		b, err = readBounded(from, s.From)
	}
	return answer{texts: []switchtext.Text{{File: name, Bytes: b}}, err: err}
}

func readBounded(from files.Files, path string) ([]byte, error) {
	file, err := from.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: --snapshot takes folders", path)
	}
	return most(file, path)
}

func most(r io.Reader, name string) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxSwitchText+1))
	if err == nil && len(b) > maxSwitchText {
		err = fmt.Errorf("%s is larger than %d bytes", name, maxSwitchText)
	}
	return b, err
}
