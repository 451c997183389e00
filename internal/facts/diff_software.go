package facts

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// packages compares versions of the NIC and GPU software.
func (d *differ) packages() {
	if d.unread(fabric.FactPackages, len(d.a.Packages), len(d.b.Packages)) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(union(d.a.Packages, d.b.Packages))) {
		d.compare("", field{rankVersion, isWarning, "package " + name, orAbsent(d.a.Packages[name]), orAbsent(d.b.Packages[name]), "all nodes of a job should have the same"})
	}
}

// providers compares the lists of libraries with their sizes, in one difference.
func (d *differ) providers() {
	if d.unread(fabric.FactProviders, len(d.a.Providers), len(d.b.Providers)) {
		return
	}
	list := func(all []fabric.Provider) string {
		names := make([]string, 0, len(all))
		for _, p := range all {
			names = append(names, p.Driver+" "+p.Path+" "+strconv.Itoa(p.Bytes))
		}
		slices.Sort(names)
		return orAbsent(strings.Join(names, ", "))
	}
	d.compare("", field{rankVersion, isWarning, "provider libraries", list(d.a.Providers), list(d.b.Providers), "verbs open the devices with other code"})
}

func orAbsent(text string) string {
	if text == "" {
		return absent
	}
	return text
}
