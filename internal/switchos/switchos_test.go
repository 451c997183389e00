package switchos

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestFind(t *testing.T) {
	for _, os := range all() {
		id, title := os.Names()
		if found, err := Find(id); err != nil || found != os || title == "" {
			t.Errorf("%s (%s): %v", id, title, err)
		}
		if os.Load("x.json") == "" || len(os.Shows()) == 0 {
			t.Errorf("%s: no command loads its file, or shows what it has", id)
		}
	}
	if _, err := Find("no-os"); err == nil || !strings.HasPrefix(err.Error(), `switch OS "no-os": no configuration is rendered for it in this version; known: sonic, dell-sonic, eos, junos, routeros`) {
		t.Error(err)
	}
}

// What is rendered in one language is taken for that language, and for no other.
func TestLanguageOfRendered(t *testing.T) {
	s := fabric.Switch{Name: "leaf1", MTU: 9100}
	for i, name := range []string{"Ethernet0", "Ethernet4"} {
		s.Ports = append(s.Ports, fabric.SwitchPort{Name: name, RateGbps: 400, Address: netip.MustParsePrefix(fmt.Sprintf("10.64.0.%d/31", 2*i)), Peer: fabric.Endpoint{Node: "host1", NIC: "eth1"}})
	}
	traffic := &fabric.Traffic{Share: 50, CableM: 5, Classes: []fabric.TrafficClass{{Name: "cnp", DSCP: 48, Priority: 7}, {Name: "roce", DSCP: 26, Priority: 3, Lossless: true}}}
	for _, with := range []*fabric.Traffic{traffic, nil} {
		for _, os := range all() {
			id, _ := os.Names()
			text := os.Render(s, with).Text
			for _, other := range all() {
				if name, _ := other.Names(); other.Recognizes(text) != (name == id) {
					t.Errorf("%s of %s: recognized %v", name, id, name != id)
				}
			}
			if found, err := Language(text); err != nil || found != os {
				t.Errorf("%s: %v", id, err)
			}
		}
	}
}

// Languages that are known by name alone are refused by it.
func TestForeign(t *testing.T) {
	for text, want := range map[string]string{
		"":                  "is empty",
		" \n\t\n":           "is empty",
		"a\x00b":            "NUL",
		"hello":             "neither a configuration nor show output",
		"nv set qos roce\n": "NVUE",
		"policy-map type network-qos x\n  class type network-qos c-8q-nq3\n    pause pfc-cos 3\n":                  "NX-OS",
		"interface ethernet 1/1 dcb priority-flow-control mode on force\ndcb priority-flow-control enable force\n": "MLNX-OS",
		"DCBX mode: OS controlled\nPriority trust state: dscp\n":                                                   "a tool of NICs",
	} {
		if os, err := Language([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", text, os, err, want)
		}
	}
}
