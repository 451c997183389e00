package ncclenv

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Kind is what a variable takes.
type Kind string

// The kinds of values.
const (
	Int        Kind = "int"        // strtoll with base 0; src/misc/param.cc
	Bool       Kind = "bool"       // 1, T, TRUE, 0, F, FALSE; src/param of NCCL 2.30
	Interfaces Kind = "interfaces" // prefixes of IP interfaces, after ^ for all others, after = for exact names
	HCAs       Kind = "hcas"       // names of RDMA devices, likewise, each with :port
	Distance   Kind = "distance"   // LOC, NVL, PIX, PXB, PHB, SYS or a number
	Level      Kind = "level"      // of NCCL_DEBUG
	Subsystems Kind = "subsystems" // of NCCL_DEBUG_SUBSYS
	Family     Kind = "family"     // AF_INET or AF_INET6
	Path       Kind = "path"
	Plugin     Kind = "plugin" // library, its suffix, or none
	Name       Kind = "name"   // of a network: IB, Socket, or what a plugin calls itself
	Address    Kind = "address"
	Algorithms Kind = "algorithms"
	Protocols  Kind = "protocols"
	Text       Kind = "text"
)

// Versions of NCCL whose libraries were read, and of RCCL, whose source was.
const (
	Oldest     = "2.16"
	Newest     = "2.32"
	NewestRCCL = "2.27"
)

// Variable is one that NCCL, RCCL or both read.
type Variable struct {
	Name  string
	Kind  Kind
	Since string // first version of NCCL that reads it; empty: Oldest, or an older one
	Until string // last version of NCCL that reads it; empty: Newest, and perhaps later ones
	NCCL  bool   // NCCL reads it
	RCCL  bool   // RCCL reads it
	// Silent: it takes no part in the time of a collective on machines without a fault (data/silent.tsv).
	Silent bool
}

// Quiet reports whether a variable only says what is printed, or something else that takes no part in the time of a collective.
func (v Variable) Quiet() bool {
	return v.Silent || v.Kind == Level || v.Kind == Subsystems || strings.HasPrefix(v.Name, "NCCL_DEBUG")
}

// Read reports whether a minor version of NCCL, such as 30 of 2.30, reads the variable.
func (v Variable) Read(minor int) bool {
	return v.NCCL && (v.Since == "" || minorOf(v.Since) <= minor) && (v.Until == "" || minor <= minorOf(v.Until))
}

// minorOf reads 30 out of 2.30.
func minorOf(version string) int {
	_, minor, _ := strings.Cut(version, ".")
	n, _ := strconv.Atoi(minor) // data of this package, which a test reads
	return n
}

// Ours reports whether a name is one of NCCL or RCCL, or meant to be: it begins as theirs do.
func Ours(name string) bool {
	return strings.HasPrefix(name, "NCCL_") || strings.HasPrefix(name, "RCCL_")
}

// Known returns the variable of that exact name.
func Known(name string) (Variable, bool) {
	v, ok := catalogue().byName[name]
	return v, ok
}

// Beside returns who else reads a name that begins as those of NCCL do: PyTorch, a plugin, a build. Empty: nobody is known.
func Beside(name string) string {
	return catalogue().besideOf(name)
}

// Nearest returns the names that a misspelled one may stand for, best first, at most three: those of the same letters but a
// few, and those of the same words in another order.
func Nearest(name string) []string {
	names := catalogue().names
	if same := sameWords(name, names); len(same) > 0 {
		return same
	}
	return fabric.Nearest(strings.ToUpper(name), names)
}

// sameWords finds the names that have the words of a name in another order, or all of them but the one that excludes:
// NCCL_HCA_IB, NCCL_EXCLUDE_IB_HCA.
func sameWords(name string, known []string) (out []string) {
	words := func(s string) []string {
		w := strings.FieldsFunc(strings.ToUpper(s), func(r rune) bool { return r == '_' || r == '-' })
		w = slices.DeleteFunc(w, func(s string) bool { return s == "EXCLUDE" || s == "INCLUDE" })
		slices.Sort(w)
		return w
	}
	want := words(name)
	for _, k := range known {
		if slices.Equal(want, words(k)) {
			out = append(out, k)
		}
	}
	return out
}
