// Package esx reads what the shell of an ESX host prints: esxcli and its relatives, the tools of NIC vendors, files, logs. It takes
// text and gives parts of facts; it asks no host. A list that was printed empty is empty and not nil, and one that was not
// printed is nil. A line that no reader understands is named, never guessed at.
package esx

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Reading is what texts say of one host.
type Reading struct {
	ESX     *fabric.ESX // nil: nothing in the texts is of a host of virtual machines or of the tools of its NICs
	PCI     []fabric.PCIDevice
	Machine fabric.Machine // vendor and product
	Proven  bool           // something was printed that only ESX prints
	Missing []fabric.Missing
	Unread  []string // "NAME, line 12: TEXT"

	Texts map[string]bool // names of texts in which something was read; true: something that only ESX prints
}

// Bounds of what is kept of texts.
const (
	maxEntries = 1 << 12 // of each list: 16 NICs of 256 virtual functions, the most that PCI numbers give one
	maxUnread  = 64      // lines
	maxLine    = 4096    // bytes; a longer one is not of a tool that is read here
)

// Command is what is asked of an ESX host over SSH. Its name is that of its text.
type Command struct {
	Name  string
	Shell string // a line for the shell of ESX
	Gives string // path of the fact that is unknown without it; empty: none
	Maybe bool   // the program may be absent: it is of a package that not every host has
}

// Read reads texts by name. One whose name is that of a command (Commands) is what that command printed; any other is anything.
func Read(texts map[string][]byte) Reading {
	b := &build{out: Reading{Texts: map[string]bool{}}}
	asked := map[string]string{}
	for _, c := range Commands() {
		asked[c.Name] = c.Shell
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		s := &Scanner{keeps: true}
		called := strings.TrimSuffix(path.Base(name), ".txt")
		if shell := asked[called]; shell != "" {
			s.ask(shell)
			s.at.esx, s.sections[0].named = false, true // a name proves nothing
		}
		n := 0
		for line := range strings.Lines(spread(texts[name])) {
			n++
			if c := s.Line(line, nil); !c.Read && !c.Shell {
				b.unread(name, n, line)
			}
		}
		s.end()
		b.text(name, s.sections)
		b.running = b.running || called == "running" && len(texts[name]) == 0 // it prints nothing where none runs
		b.answered(called)
	}
	return b.finish()
}

// spread writes a class of virtual machines that is JSON with one field on each line, however it was written.
func spread(text []byte) string {
	var out bytes.Buffer
	if t := bytes.TrimSpace(text); len(t) > 0 && t[0] == '{' && bytes.Contains(t, []byte("VirtualMachineClass")) && json.Indent(&out, t, "", "  ") == nil {
		return out.String() + "\n"
	}
	return string(text)
}

// answered notes the lists that a command of Commands gives whole, though it asks one entry after the other. That the first of its
// programs answered shows in the list that is not nil.
func (b *build) answered(name string) {
	if b.e == nil {
		return
	}
	switch {
	case name == "vms" && b.e.VMs != nil, name == "vfs" && b.e.Uplinks != nil && b.csv, name == "nic-configs" && len(b.e.NICConfigs) > 0:
		for _, c := range Commands() {
			if c.Name == name {
				emptyList(b, c.Gives)
				b.listed(c.Gives, true)
			}
		}
	}
}

func (b *build) unread(name string, number int, line string) {
	if len(b.out.Unread) < maxUnread {
		b.out.Unread = append(b.out.Unread, fmt.Sprintf("%s, line %d: %s", fabric.Printable(path.Base(name)), number, fabric.Printable(cut(strings.TrimSpace(line)))))
	}
}

// cut shortens a line for people.
func cut(line string) string {
	const most = 160 // bytes
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + "..."
}
