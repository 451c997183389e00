package ncclenv

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed data/*.tsv
var data embed.FS

// names is what the data says.
type names struct {
	byName map[string]Variable
	names  []string // of byName, sorted
	beside []beside
}

// beside is a name, or a family of names, that others read.
type beside struct {
	name   string
	family bool // all names that begin with it
	reader string
}

// catalogue reads the data once. It is part of the program: a line that cannot be read is a fault of ours, which a test finds.
var catalogue = sync.OnceValue(func() *names {
	n, err := load()
	if err != nil {
		panic(err)
	}
	return n
})

func load() (*names, error) {
	n := &names{byName: map[string]Variable{}}
	for file, add := range map[string]func([]string) error{"nccl": n.addNCCL, "beside": n.addBeside} {
		if err := each(file, add); err != nil {
			return nil, err
		}
	}
	if err := each("rccl", n.addRCCL); err != nil { // after NCCL, whose kinds it takes
		return nil, err
	}
	if err := each("silent", n.addSilent); err != nil { // after both
		return nil, err
	}
	for name := range n.byName {
		n.names = append(n.names, name)
	}
	slices.Sort(n.names)
	return n, nil
}

// each calls add for every line of a file that is no comment.
func each(file string, add func([]string) error) error {
	text, err := data.ReadFile("data/" + file + ".tsv")
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(text), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := add(strings.Split(line, "\t")); err != nil {
			return fmt.Errorf("data/%s.tsv:%d: %w", file, i+1, err)
		}
	}
	return nil
}

func (n *names) addNCCL(f []string) error {
	if len(f) != 5 || f[4] == "" {
		return fmt.Errorf("want name, reader, since, until, kind; got %d fields", len(f))
	}
	if _, again := n.byName[f[0]]; again {
		return fmt.Errorf("%s: it is there twice", f[0])
	}
	n.byName[f[0]] = Variable{Name: f[0], NCCL: true, Since: f[2], Until: f[3], Kind: Kind(f[4])}
	return nil
}

func (n *names) addRCCL(f []string) error {
	if len(f) != 2 {
		return fmt.Errorf("want name, kind; got %d fields", len(f))
	}
	v := n.byName[f[0]]
	if v.Kind == "" && f[1] == "" {
		return fmt.Errorf("%s: without a kind, and NCCL has no such variable", f[0])
	}
	if f[1] != "" {
		v.Kind = Kind(f[1])
	}
	v.Name, v.RCCL = f[0], true
	n.byName[f[0]] = v
	return nil
}

func (n *names) addSilent(f []string) error {
	if len(f) != 2 || f[1] == "" {
		return fmt.Errorf("want name, what it decides; got %d fields", len(f))
	}
	v, known := n.byName[f[0]]
	if !known {
		return fmt.Errorf("%s: neither NCCL nor RCCL reads it", f[0])
	}
	v.Silent = true
	n.byName[f[0]] = v
	return nil
}

func (n *names) addBeside(f []string) error {
	if len(f) != 2 {
		return fmt.Errorf("want name, reader; got %d fields", len(f))
	}
	name, family := strings.CutSuffix(f[0], "*")
	n.beside = append(n.beside, beside{name: name, family: family, reader: f[1]})
	return nil
}

func (n *names) besideOf(name string) string {
	for _, b := range n.beside {
		if b.name == name || b.family && strings.HasPrefix(name, b.name) {
			return b.reader
		}
	}
	return ""
}
