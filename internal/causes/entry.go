package causes

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
)

// Class is how a run failed, as far as it is known before causes are weighed.
type Class string

// The classes of failure.
const (
	Slow   Class = "slow"   // runs to the end, slower than expected or thought to be
	Hang   Class = "hang"   // stops making progress, without an error of its own
	Crash  Class = "crash"  // works, then ends with an error
	Start  Class = "start"  // does not reach its first collective
	Config Class = "config" // there was no run: only configuration or the output of tools

	// AnyClass is used where nobody said how the failure shows. Its priors are the means of all classes.
	AnyClass Class = ""
)

// Classes returns all classes, in the order in which pages show them.
func Classes() []Class { return []Class{Slow, Hang, Crash, Start, Config} }

// Entry is what is known of a cause.
type Entry struct {
	ID        fabric.CauseID   `yaml:"id"`
	Topic     string           `yaml:"-"`     // title of the part of the list that it stands in
	What      string           `yaml:"what"`  // one sentence
	Signs     string           `yaml:"signs"` // what a person sees of it
	Prior     map[Class]string `yaml:"prior"` // a word for each class
	Reason    string           `yaml:"reason"`
	Confirm   Lines            `yaml:"confirm"`
	Fix       Lines            `yaml:"fix"`
	Platforms []Platform       `yaml:"platforms"`
	Expects   []Expectation    `yaml:"expects"`
}

// Platform is what fixes a cause on one platform, where it differs.
type Platform struct {
	On  string `yaml:"on"`
	Fix string `yaml:"fix"`
}

// Expectation is evidence that should be seen if the cause is the true one and output of that kind is at hand.
type Expectation struct {
	Evidence string `yaml:"evidence"`
	Where    string `yaml:"where"` // one of Outputs
}

// Outputs returns the kinds of output in which evidence is expected.
func Outputs() []string {
	return []string{"nccl-log", "table", "perftest", "pairs", "env", "lspci", "topo", "nvidia-smi", "dmesg", "ports", "counters", "ip", "launcher", "system"}
}

// Lines are commands, one per line, each with a remark after "#" where it needs one.
type Lines []string

// UnmarshalYAML splits a block of text into its lines.
func (l *Lines) UnmarshalYAML(n *yaml.Node) error {
	var text string
	if err := n.Decode(&text); err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			*l = append(*l, line)
		}
	}
	return nil
}

// String returns the lines, each a command with its remark behind "#", ready for a shell.
func (l Lines) String() string { return strings.Join(l, "\n") }

// Set is all causes and measurements.
type Set struct {
	entries   []Entry
	byID      map[fabric.CauseID]int
	prior     map[Class]map[fabric.CauseID]float64
	other     map[Class]float64
	steps     []Step
	attention float64 // minutes that each step costs beside its own
}

// Get returns what is known of a cause; ok is false for an unknown id.
func (s *Set) Get(id fabric.CauseID) (e Entry, ok bool) {
	i, ok := s.byID[id]
	if !ok {
		return Entry{}, false
	}
	return s.entries[i], true
}

// All returns what is known of every cause, in the order of the file.
func (s *Set) All() []Entry { return slices.Clone(s.entries) }

// Prior returns how likely a cause is in a class of failure before anything else was seen, 0 to 1; 0 for an unknown class
// or id. All causes of a class and Other add up to 1.
func (s *Set) Prior(class Class, id fabric.CauseID) float64 { return s.prior[class][id] }

// Other returns how likely it is that none of the causes is the true one.
func (s *Set) Other(class Class) float64 { return s.other[class] }

// Spread shares what a posterior leaves to none of its causes: among all causes that it does not name, since nothing was
// seen of them, and what is none of the list, in proportion to their priors. Without it a measurement could not lead to a
// cause of which nothing was seen yet. An empty posterior becomes the priors.
func (s *Set) Spread(class Class, posterior map[fabric.CauseID]float64, other float64) (all map[fabric.CauseID]float64, left float64) {
	silent := s.Other(class)
	for _, e := range s.entries {
		if _, named := posterior[e.ID]; !named {
			silent += s.Prior(class, e.ID)
		}
	}
	all = make(map[fabric.CauseID]float64, len(s.entries))
	for _, e := range s.entries {
		p, named := posterior[e.ID]
		if !named && silent > 0 {
			p = other * s.Prior(class, e.ID) / silent
		}
		all[e.ID] = p
	}
	if silent > 0 {
		left = other * s.Other(class) / silent
	}
	return all, left
}

// Narrow returns the set with only the measurements that make sense in a class of failure (all do in AnyClass) and
// that were not made already: given names steps, or kinds of output.
func (s *Set) Narrow(class Class, given ...string) *Set {
	narrow := *s
	narrow.steps = slices.DeleteFunc(slices.Clone(s.steps), func(step Step) bool {
		return !step.In(class) || slices.Contains(given, step.Gives) || slices.Contains(given, step.ID)
	})
	return &narrow
}
