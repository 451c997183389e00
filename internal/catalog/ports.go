package catalog

import (
	"fmt"
	"slices"
)

// PortName is how a switch operating system names its ports: Format with First, First+Step, ...
// Where Group is set, a cage holds that many ports and Format takes the cage and then the port in it,
// counted from GroupFirst. Where no rule holds, Names lists them all and the rest is empty.
type PortName struct {
	Format     string   `yaml:"format,omitempty"`
	First      int      `yaml:"first,omitempty"`
	Step       int      `yaml:"step,omitempty"`
	Group      int      `yaml:"group,omitempty"`
	GroupFirst int      `yaml:"group_first,omitempty"`
	Names      []string `yaml:"names,omitempty"`
	Split      Split    `yaml:"split,omitempty"` // absent where no source says how the ports of a split cage are named
	Source     string   `yaml:"source"`
}

// Split is how the ports of a cage are named that its owner splits. A port has the number of its cage and one of its own:
// First and up by one, or, where each lane of the cage has a number, that of its first lane. Format takes both; with one
// verb it takes their sum.
type Split struct {
	Format string `yaml:"format,omitempty"`
	First  int    `yaml:"first,omitempty"`
	Lanes  int    `yaml:"lanes,omitempty"` // of a cage, where they are numbered; 0: ports are counted
	Whole  string `yaml:"whole,omitempty"` // format of the one port of a cage that is not split, where Group splits it
	Into   []int  `yaml:"into,omitempty"`  // numbers of ports that a cage can be split into, ascending
	Source string `yaml:"source,omitempty"`
}

// Port returns the name of the i-th port, counted from 0 and below the switch's Ports.
func (p PortName) Port(i int) string {
	switch {
	case len(p.Names) > 0:
		return p.Names[i]
	case p.Group > 0:
		return fmt.Sprintf(p.Format, p.Cage(i/p.Group), p.GroupFirst+i%p.Group)
	default:
		return fmt.Sprintf(p.Format, p.Cage(i))
	}
}

// Cage is the number of the i-th cage, counted from 0, as the operating system counts it.
func (p PortName) Cage(i int) int { return p.First + i*p.Step }

// PerCage is how many ports a cage holds unless its owner splits it otherwise.
func (p PortName) PerCage() int { return max(p.Group, 1) }

// Breakouts lists the numbers of ports that a cage can have, ascending: what its owner may ask for. It is empty where no
// source says how they are named.
func (p PortName) Breakouts() []int {
	if p.Split.Format == "" {
		return nil
	}
	all := slices.Clone(p.Split.Into)
	if p.Group <= 1 || p.Split.Whole != "" {
		all = append(all, 1)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// SplitPort returns the name of the k-th of n ports of the i-th cage, both counted from 0; n is one of Breakouts.
func (p PortName) SplitPort(i, n, k int) string {
	cage, s := p.Cage(i), p.Split
	switch {
	case n == 1 && p.Group <= 1:
		return p.Port(i)
	case n == 1:
		return fmt.Sprintf(s.Whole, cage)
	}
	own := s.First + k
	if s.Lanes > 0 {
		own = s.First + k*s.Lanes/n
	}
	if verbs(s.Format) == 1 {
		return fmt.Sprintf(s.Format, cage+own)
	}
	return fmt.Sprintf(s.Format, cage, own)
}
