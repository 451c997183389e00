package facts

import (
	"cmp"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Difference is one thing in which two nodes, or one node at two times, differ.
type Difference struct {
	Severity fabric.Severity `json:"severity"`
	What     string          `json:"what"` // in words: NIC eth1: MTU
	A        string          `json:"a"`    // "absent" where the thing does not exist, "unknown" where it was not seen
	B        string          `json:"b"`
	Why      string          `json:"why,omitempty"` // why it matters
}

// Diff compares facts, worst first: PCIe links, devices that are missing, MTU, the state of ports, versions,
// routes and rules, other hardware settings, sysctls, the kernel command line, the machine, and the rest.
//
// Left out are times, counters, interface indexes, and the states of neighbours. Of two nodes with different
// names also what must differ is left out (addresses, MAC addresses, GUIDs, LIDs, UUIDs, the far ends of cables)
// unless identities is set. Devices are matched by name or PCI address, those left over by their MAC address,
// GUID or UUID if it is one node, then in order among those of their kind; a name or address that differs is a
// difference itself. Where one side was not seen, the severity is info.
//
// Diff(b, a) is Diff(a, b) with A and B exchanged, and Diff(a, a) is empty.
func Diff(a, b *fabric.Facts, identities bool) []Difference {
	d := &differ{a: a, b: b, identities: identities || a.Node == b.Node}
	d.pciDevices()
	d.nics()
	d.nicFile()
	d.networkFiles()
	d.hcas()
	d.gpus()
	d.routes()
	d.rules()
	d.node()
	d.fold()
	slices.SortStableFunc(d.found, func(x, y ranked) int {
		return cmp.Or(cmp.Compare(x.Severity, y.Severity), cmp.Compare(x.rank, y.rank), cmp.Compare(x.What, y.What))
	})
	out := make([]Difference, len(d.found))
	for i, f := range d.found {
		out[i] = f.Difference
	}
	return out
}

// rank is the order of differences of one severity.
type rank int

const (
	rankLink rank = iota
	rankDevice
	rankMTU
	rankPort
	rankVersion
	rankRoute
	rankSetting
	rankSysctl
	rankCommandLine
	rankMachine
	rankOther
)

type ranked struct {
	Difference
	rank  rank
	thing string // of What, before the colon
	name  string // of What, after it
}

// differ gathers differences.
type differ struct {
	a, b       *fabric.Facts
	identities bool
	found      []ranked
	pci        pairing // PCI addresses
	nic        pairing // names of interfaces
}

// What is shown instead of a value.
const (
	absent  = "absent"
	unknown = "unknown"
)

// field is one value of a thing on both sides.
type field struct {
	rank     rank
	severity fabric.Severity
	name     string
	a, b     string
	why      string
}

// compare adds the fields that differ.
func (d *differ) compare(thing string, fields ...field) {
	for _, f := range fields {
		if f.a == f.b {
			continue
		}
		if f.a == unknown || f.b == unknown {
			f.severity = fabric.SeverityInfo
		}
		what := f.name
		if thing != "" {
			what = thing + ": " + f.name
		}
		d.found = append(d.found, ranked{Difference{f.severity, what, f.a, f.b, f.why}, f.rank, thing, f.name})
	}
}

// fold makes one of the differences that say of many things that one side did not see the same value of them,
// as of all devices where it was not allowed to look.
func (d *differ) fold() {
	type unseen struct{ name, side string }
	things := make(map[unseen][]string)
	key := func(f ranked) unseen {
		switch {
		case f.thing == "" || f.A != unknown && f.B != unknown:
			return unseen{}
		case f.A == unknown:
			return unseen{f.name, "a"}
		}
		return unseen{f.name, "b"}
	}
	for _, f := range d.found {
		things[key(f)] = append(things[key(f)], f.thing)
	}
	noted := make(map[unseen]bool)
	d.found = slices.DeleteFunc(d.found, func(f ranked) bool {
		k := key(f)
		again := noted[k]
		noted[k] = k != unseen{}
		return again
	})
	for i := range d.found {
		f := &d.found[i]
		k := key(*f)
		if n := len(things[k]); k != (unseen{}) && n > 1 {
			f.What = fmt.Sprintf("%s and %d more: %s", slices.Min(things[k]), n-1, f.name)
			if f.A, f.B = "known", unknown; k.side == "a" {
				f.A, f.B = f.B, f.A
			}
		}
	}
}

// Known reports whether both sides were read: a difference from what was not read is none that was seen.
func (d Difference) Known() bool { return d.A != unknown && d.B != unknown }

// missing adds a thing that one side lacks: unknown where that side could not read one of the facts (as Missing names
// them) that would show it.
func (d *differ) missing(r rank, s fabric.Severity, thing string, inA, inB bool, why string, paths ...string) {
	a, b := "there", "there"
	side, at := d.b, &b
	if !inA {
		side, at = d.a, &a
	}
	*at = absent
	if m, ok := unreadFact(side, paths...); ok {
		*at, s = unknown, fabric.SeverityInfo
		why = "could not be read: " + fabric.Printable(m.Reason) + " (" + fabric.Printable(m.Source) + ")"
	}
	d.found = append(d.found, ranked{Difference: Difference{s, thing, a, b, why}, rank: r})
}

// unreadFact returns the first of some facts that a side could not read.
func unreadFact(f *fabric.Facts, paths ...string) (fabric.Missing, bool) {
	for _, path := range paths {
		if m, ok := f.MissingReason(path); ok {
			return m, true
		}
	}
	return fabric.Missing{}, false
}

// orNone is a value that is empty where there is none, or where it could not be read.
func orNone(f *fabric.Facts, value string, paths ...string) string {
	if value != "" {
		return value
	}
	if _, ok := unreadFact(f, paths...); ok {
		return unknown
	}
	return "none"
}

// unread adds one difference for a whole section that one side did not read, instead of one for each of its
// things; it is true where there is nothing more to compare.
func (d *differ) unread(section string, a, b int) bool {
	_, missA := d.a.MissingReason(section)
	_, missB := d.b.MissingReason(section)
	missA, missB = missA && a == 0, missB && b == 0
	if missA == missB {
		return missA
	}
	count := func(missing bool, n int) string {
		if missing {
			return unknown
		}
		return fmt.Sprint(n)
	}
	d.compare("", field{rankOther, fabric.SeverityInfo, section, count(missA, a), count(missB, b), "one side was not read; missing in its facts says why"})
	return true
}

// text is a value that is empty where it is unknown.
func text(s string) string {
	if s == "" {
		return unknown
	}
	return s
}

// value is a value that is nil where it is unknown.
func value[T any](v *T) string {
	if v == nil {
		return unknown
	}
	return fmt.Sprint(*v)
}

// unit adds a unit to a number that is known.
func unit(number, unit string) string {
	if number == unknown {
		return number
	}
	return number + " " + unit
}

// pair is a thing of both sides, or of one alone.
type pair[T any] struct{ a, b *T }

// match pairs the things of two lists: by each key in its turn, where it is not empty and occurs once on
// either side, then those of one kind in the order of the lists. What is left over is alone.
func match[T any](a, b []T, kind func(*T) string, keys ...func(*T) string) []pair[T] {
	leftA, leftB := pointers(a), pointers(b)
	var out []pair[T]
	for _, key := range keys {
		byA, byB := unique(leftA, key), unique(leftB, key)
		leftA = slices.DeleteFunc(leftA, func(x *T) bool {
			y := byB[key(x)]
			if y == nil || byA[key(x)] == nil {
				return false
			}
			out = append(out, pair[T]{x, y})
			return true
		})
		leftB = slices.DeleteFunc(leftB, func(y *T) bool { return byA[key(y)] != nil && byB[key(y)] != nil })
	}
	for _, x := range leftA {
		at := slices.IndexFunc(leftB, func(y *T) bool { return kind(x) != "" && kind(x) == kind(y) })
		if at < 0 {
			out = append(out, pair[T]{a: x})
			continue
		}
		out = append(out, pair[T]{x, leftB[at]})
		leftB = slices.Delete(leftB, at, at+1)
	}
	for _, y := range leftB {
		out = append(out, pair[T]{b: y})
	}
	return out
}

func pointers[T any](list []T) []*T {
	out := make([]*T, len(list))
	for i := range list {
		out[i] = &list[i]
	}
	return out
}

// unique finds the things whose key no other has.
func unique[T any](list []*T, key func(*T) string) map[string]*T {
	out := make(map[string]*T)
	for _, x := range list {
		k := key(x)
		if k == "" {
			continue
		}
		if _, again := out[k]; again {
			out[k] = nil
			continue
		}
		out[k] = x
	}
	return out
}

// pairing knows how a thing is called on either side.
type pairing struct{ toB, toA map[string]string }

func newPairing() pairing { return pairing{map[string]string{}, map[string]string{}} }

func (p pairing) add(a, b string) { p.toB[a], p.toA[b] = b, a }

// ofA names a thing of side a with the names of both sides, in an order that depends on neither.
func (p pairing) ofA(a string) string { return bothNames(a, cmp.Or(p.toB[a], a)) }

// ofB does the same for side b.
func (p pairing) ofB(b string) string { return bothNames(b, cmp.Or(p.toA[b], b)) }

func bothNames(x, y string) string {
	if x == y {
		return x
	}
	return min(x, y) + " or " + max(x, y)
}
