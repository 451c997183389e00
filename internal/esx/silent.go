package esx

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// plainWord is a search that means itself: no pattern of grep.
var plainWord = pattern.New(`^["']?([\w-]{3,})["']?$`)

// asked takes a command that printed nothing that is read. Where the text goes on with another command it printed nothing at all:
// what a search in a list did not find is not there.
func (b *build) asked(command string, silent bool) {
	words, filter := base(command)
	if !silent || filter == "" {
		return
	}
	options := strings.Fields(filter)
	if options[0] != "grep" || len(options) < 2 || strings.Contains(filter, "|") {
		return
	}
	m := plainWord().FindStringSubmatch(options[len(options)-1])
	if m == nil || slices.ContainsFunc(options[1:len(options)-1], func(o string) bool { return o != "-i" }) {
		return
	}
	switch strings.Join(words, " ") {
	case "vmkload_mod -l", "esxcfg-module -l":
		b.module(m[1]).Loaded = new(false)
		b.listed(modulesPath, false)
	case "esxcli software vib list", "esxcli software vib get":
		e := b.esx()
		if !slices.Contains(e.NoVIBs, m[1]) && len(e.NoVIBs) < maxUnread {
			e.NoVIBs = append(e.NoVIBs, m[1])
		}
		e.VIBs = some(e.VIBs)
		b.listed(vibsPath, false)
	case "mst status", "mst status -v", "mst status -vv":
		b.esx().MST = some(b.e.MST)
		b.listed("esx.mst", false)
	}
}
