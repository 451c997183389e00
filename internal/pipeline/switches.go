package pipeline

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/switchos"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// SwitchSource is where a text of a switch comes from.
type SwitchSource struct {
	Name string // of the switch
	From string // a file, or ssh://[user@]host[:port]
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

// ReadSwitches reads the texts of switches, in the order in which the switches are first named. Errors are those of input: a
// file that cannot be read, a text of no language that is read, a switch that the plan does not have.
func ReadSwitches(ctx context.Context, from files.Files, plan *fabric.Plan, sources []SwitchSource) ([]*fabric.SwitchConfig, error) {
	texts := map[string][]switchtext.Text{}
	var order []string
	var dialer host.Dialer
	for _, s := range sources {
		if err := planHas(plan, s.Name); err != nil {
			return nil, err
		}
		got, err := s.read(ctx, from, &dialer, plan)
		if err != nil {
			return nil, fmt.Errorf("switch %q: %w", s.Name, err)
		}
		if texts[s.Name] == nil {
			order = append(order, s.Name)
		}
		texts[s.Name] = append(texts[s.Name], got...)
	}
	var out []*fabric.SwitchConfig
	for _, name := range order {
		c, err := readSwitch(name, texts[name])
		if err != nil {
			return nil, fmt.Errorf("switch %q: %w", name, err)
		}
		out = append(out, c)
	}
	return out, nil
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

func (s SwitchSource) read(ctx context.Context, from files.Files, dialer *host.Dialer, plan *fabric.Plan) ([]switchtext.Text, error) {
	if strings.HasPrefix(s.From, "ssh://") {
		if _, whole := from.(files.Disk); !whole {
			return nil, errors.New("machines are not reached from here: give a file")
		}
		return s.ask(ctx, dialer, plan)
	}
	b, err := readBounded(from, s.From)
	if err != nil {
		return nil, err
	}
	return []switchtext.Text{{File: filepath.Base(s.From), Bytes: b}}, nil
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
	b, err := io.ReadAll(io.LimitReader(file, maxSwitchText+1))
	if err == nil && len(b) > maxSwitchText {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxSwitchText)
	}
	return b, err
}

// ask runs the show commands of the planned OS on the switch. They change nothing.
func (s SwitchSource) ask(ctx context.Context, dialer *host.Dialer, plan *fabric.Plan) ([]switchtext.Text, error) {
	os, err := plannedOS(plan, s.Name)
	if err != nil {
		return nil, err
	}
	target, err := sshTarget(s.From)
	if err != nil {
		return nil, err
	}
	login, err := dialer.Dial(ctx, target)
	if err != nil {
		return nil, err
	}
	defer login.Close()
	var out []switchtext.Text
	var failed []error
	for _, command := range os.Shows() {
		b, err := login.Say(ctx, command)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		if _, err := switchos.Language(b); err == nil { // an OS may not have a command: then its words are no text of it
			out = append(out, switchtext.Text{File: command, Bytes: b})
		}
	}
	if len(out) == 0 {
		return nil, errors.Join(append([]error{errors.New("it answered no show command that can be read")}, failed...)...)
	}
	return out, nil
}

func plannedOS(plan *fabric.Plan, name string) (switchos.OS, error) {
	if plan == nil {
		return nil, errors.New("over SSH it needs a cluster file (-f): the plan says which OS it has")
	}
	i := slices.IndexFunc(plan.Switches, func(s fabric.Switch) bool { return s.Name == name })
	return switchos.Find(plan.Switches[i].OS)
}

func sshTarget(text string) (host.Target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return host.Target{}, fmt.Errorf("%q: must be ssh://[user@]host[:port]", text)
	}
	if _, has := u.User.Password(); has {
		return host.Target{}, errors.New("a password on the command line is not taken: use a key or an agent")
	}
	config, err := host.LoadSSHConfig("")
	if err != nil {
		return host.Target{}, err
	}
	target, err := config.Target(u.Hostname(), u.User.Username())
	if err == nil && u.Port() != "" {
		target.Port, err = strconv.Atoi(u.Port())
	}
	return target, err
}

// FindSwitches finds texts of switches in the folders of --snapshot: files named after a switch of the plan, alone
// (leaf1.cfg), with more behind its name (leaf1.show-ecn.txt), or in a folder of its name; without a plan every file that is
// of a language that is read. claimed are their paths: they are no facts.
func FindSwitches(from files.Files, plan *fabric.Plan, folders []string) (sources []SwitchSource, claimed map[string]bool, err error) {
	f := finder{files: from, claimed: map[string]bool{}}
	if plan != nil {
		f.names = map[string]bool{}
		for _, s := range plan.Switches {
			f.names[s.Name] = true
		}
	}
	for _, folder := range folders {
		if info, err := from.Stat(folder); err != nil || !info.IsDir() {
			continue // loading facts says so
		}
		if inner := filepath.Join(folder, "facts"); f.isFolder(inner) {
			folder = inner // of a run folder, whose artifacts are what was rendered, not what is there
		}
		if err := f.folder(folder, "", 0); err != nil {
			return nil, nil, err
		}
	}
	return f.sources, f.claimed, nil
}

type finder struct {
	files   files.Files
	names   map[string]bool // of the plan; nil without one
	sources []SwitchSource
	claimed map[string]bool
}

func (f *finder) isFolder(path string) bool {
	info, err := f.files.Stat(path)
	return err == nil && info.IsDir()
}

func (f *finder) folder(path, inside string, depth int) error {
	const deepest = 2
	if depth > deepest || f.isFolder(filepath.Join(path, "sys")) {
		return nil
	}
	entries, err := f.files.ReadDir(path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		inner := filepath.Join(path, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			if err := f.folder(inner, e.Name(), depth+1); err != nil {
				return err
			}
		case e.Type().IsRegular() && isText(e):
			f.file(inner, e.Name(), inside)
		}
	}
	return nil
}

// textExtensions are those of files that may be texts of switches.
var textExtensions = []string{"", ".json", ".cfg", ".conf", ".config", ".txt", ".cli", ".log", ".set"}

func isText(e fs.DirEntry) bool {
	return slices.Contains(textExtensions, strings.ToLower(filepath.Ext(e.Name())))
}

func (f *finder) file(path, base, inside string) {
	name, ok := f.switchOf(base, inside)
	if !ok {
		return
	}
	if f.names == nil {
		b, err := readBounded(f.files, path)
		if err != nil {
			return
		}
		if _, err := switchos.Language(b); err != nil {
			return
		}
	}
	f.sources = append(f.sources, SwitchSource{Name: name, From: path})
	f.claimed[path] = true
}

// switchOf is the switch that a file is named after.
func (f *finder) switchOf(base, inside string) (string, bool) {
	stem := strings.TrimSuffix(base, filepath.Ext(base))
	if f.names == nil {
		return stem, true
	}
	if f.names[inside] {
		return inside, true
	}
	for _, name := range slices.Sorted(maps.Keys(f.names)) {
		if rest, ok := strings.CutPrefix(stem, name); ok && (rest == "" || strings.ContainsRune("._- ", rune(rest[0]))) {
			return name, true
		}
	}
	return "", false
}
