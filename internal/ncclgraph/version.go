package ncclgraph

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Versions of NCCL at which something that this program follows changed.
const (
	v2277 fabric.NCCLVersion = 22707
	v2283 fabric.NCCLVersion = 22803
	v2287 fabric.NCCLVersion = 22807
	v2289 fabric.NCCLVersion = 22809
	v2297 fabric.NCCLVersion = 22907
	v2307 fabric.NCCLVersion = 23007
)

// Versions are those whose code this program follows, oldest first.
func Versions() []fabric.NCCLVersion {
	return []fabric.NCCLVersion{v2277, v2283, v2287, v2289, v2297, v2307}
}

// Newest is the newest version whose code this program follows.
func Newest() fabric.NCCLVersion { return v2307 }

// Known returns the version whose code is followed for another: the newest of Versions that is not newer. One that is
// older than all of them is an error, which lists them.
func Known(v fabric.NCCLVersion) (fabric.NCCLVersion, error) {
	all := Versions()
	i := slices.IndexFunc(all, func(known fabric.NCCLVersion) bool { return known > v })
	switch {
	case i == 0:
		names := make([]string, len(all))
		for j, known := range all {
			names[j] = known.String()
		}
		return 0, fmt.Errorf("NCCL %s: older than all whose choices are known: %s", v, strings.Join(names, ", "))
	case i < 0:
		i = len(all)
	}
	return all[i-1], nil
}

// before reports whether the options are of a version before another; without a version they are of the newest.
func (o Options) before(v fabric.NCCLVersion) bool { return o.Version != 0 && o.Version < v }

// As is the same host as another version of NCCL sees it. It is the System itself where that version searches it alike.
func (s *System) As(v fabric.NCCLVersion) (*System, error) {
	o := s.options
	o.Version = v
	if s.alike(o) {
		return s, nil
	}
	return NewSystem(s.document, o)
}

// alike reports whether other options, which differ only in their version, lead to the same paths and channels.
func (s *System) alike(o Options) bool {
	if !slices.Equal(speeds(s.SM, s.Inter, s.options), speeds(s.SM, s.Inter, o)) {
		return false
	}
	if s.options.before(v2297) != o.before(v2297) && (s.joinsChips() || s.SM < 90 || s.simple()) || s.options.before(v2307) != o.before(v2307) && !s.allDirect() {
		return false
	}
	other := *s
	other.options = o
	for _, gpu := range s.nodes[nodeGPU] {
		if !slices.Equal(s.localNets(gpu), other.localNets(gpu)) {
			return false
		}
	}
	return true
}

// joinsChips reports whether a GPU has a chip-to-chip link.
func (s *System) joinsChips() bool {
	return slices.ContainsFunc(s.links, func(l *link) bool { return l.typ == linkC2C })
}

// allDirect reports whether GPUDirect RDMA works for every GPU and every NIC.
func (s *System) allDirect() bool {
	return !slices.ContainsFunc(s.nodes[nodeGPU], func(n *node) bool { return !n.gdr }) &&
		!slices.ContainsFunc(s.nodes[nodeNET], func(n *node) bool { return !n.gdr })
}

// simple reports whether a search ended in the last resort, which has changed.
func (s *System) simple() bool {
	return slices.ContainsFunc(s.found(), func(g Graph) bool { return g.Channels == 1 && g.BWIntra < 0.2 })
}
