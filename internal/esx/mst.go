package esx

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// mst status of MFT, on ESX and on Linux: a list of names, or with -v a table that also tells type, place and interfaces.
var (
	mstHead   = pattern.New(`^(?:MST devices|PCI devices|MST modules|Inband devices|Cables?|Cable devices):$`)
	mstColumn = pattern.New(`^DEVICE_TYPE\s+MST\b`)
	mstRow    = pattern.New(`^(\w[\w-]*\(rev:\w+\))\s+(\S*)\s+((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])(?:\s+(.*))?$`)
	mstName   = pattern.New(`^((?:/dev/(?:mst/)?)?(?:mt[0-9]+_[\w.]+))(?:\s+- .*)?$`)
	mstState  = pattern.New(`^(?:MST PCI (?:configuration )?module (?:is not )?loaded|Module mst (?:loaded successfully|is already loaded)|Starting MST.*|Loading MST.*|Create devices|Unloading MST.*|Stopping MST.*|.*No MST devices.*|.*No devices.*|.*mst start.*to load MST.*|Module mst is not loaded.*|Failed to load .*|mst, mft .*)$`)
	mstMore   = pattern.New(`^(?:domain:bus:dev\.fn=.*|Chip revision is: .*|\|?-+\|?)$`)
)

func isMST(command string) bool { return calls(command, "mst", "status") }

func mstForm() form {
	is := func(line string) bool {
		text := strings.TrimSpace(line)
		return mstHead().MatchString(text) || mstColumn().MatchString(text) || mstRow().MatchString(text) || mstName().MatchString(text) || mstState().MatchString(text)
	}
	return form{name: "mst status", opens: []*pattern.Regexp{mstHead(), mstColumn(), mstRow(), mstName(), mstState()}, begins: func(line string, _ place) bool { return is(line) }, goesOn: func(line string) bool {
		return is(line) || isRule(line) || mstMore().MatchString(strings.TrimSpace(line))
	}, read: readMST}
}

func readMST(b *build, s section) {
	e := b.esx()
	for _, line := range s.lines {
		text := strings.TrimSpace(line)
		switch {
		case text == "MST devices:", text == "PCI devices:", strings.Contains(text, "No MST devices"), strings.Contains(text, "No devices"):
			e.MST = some(e.MST)
		case strings.HasPrefix(text, "Module mst "):
			b.module("mst").Loaded = new(!strings.Contains(text, "not loaded"))
			b.listed(fabric.FactESXModules, false)
			b.out.Proven = true // on Linux the modules are mst_pci and mst_pciconf
		case mstRow().MatchString(text):
			b.mst(mstRowOf(text))
			b.out.Proven = b.out.Proven || strings.Contains(text, "vmnic")
		case mstName().MatchString(text):
			b.mst(fabric.MSTDevice{Name: mstBase(mstName().FindStringSubmatch(text)[1])})
		}
	}
	b.listed(fabric.FactESXMST, s.command == "" || isWhole(s.command))
}

func mstBase(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// mstRowOf reads a row. What stands behind the address is known by its form: spaces do not tell the columns apart where they were
// lost in copying.
func mstRowOf(text string) fabric.MSTDevice {
	m := mstRow().FindStringSubmatch(text)
	d := fabric.MSTDevice{Type: m[1], Name: mstBase(m[2]), Address: hexAddress(m[3])}
	for _, word := range strings.Fields(m[4]) {
		switch {
		case strings.HasPrefix(word, "net"), strings.Contains(word, "vmnic"):
			var names []string
			for _, n := range strings.Split(word, ",") {
				names = append(names, strings.TrimPrefix(strings.TrimPrefix(n, "net"), "-"))
			}
			d.Net = strings.Join(names, ",")
		case isNumbers(word) || word == "N/A": // the NUMA node
		case d.RDMA == "":
			d.RDMA = word
		}
	}
	return d
}

// mst adds a device, or what a second output says of one.
func (b *build) mst(d fabric.MSTDevice) {
	e := b.esx()
	i := slices.IndexFunc(e.MST, func(have fabric.MSTDevice) bool {
		return have.Name == d.Name && (have.Address == "" || d.Address == "" || have.Address == d.Address)
	})
	switch {
	case i >= 0 && e.MST[i].Address == "":
		e.MST[i] = d
	case i < 0 && len(e.MST) < maxEntries:
		e.MST = append(e.MST, d)
	}
}
