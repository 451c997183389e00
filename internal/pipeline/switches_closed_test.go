package pipeline

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// TestNothingPassesWithoutGrounds: texts that say too little, or that are of another switch, leave at least one rule that fails
// or is unknown, with a plan and without one; and rules that have nothing to look at do not pass.
func TestNothingPassesWithoutGrounds(t *testing.T) {
	little := map[string]map[string]string{
		"sonic": {
			"only VLANs":        `{"VLAN": {"Vlan101": {"vlanid": "101"}}}`,
			"no ports":          `{"DSCP_TO_TC_MAP": {"AZURE": {"26": "3"}}, "WRED_PROFILE": {"AZURE_LOSSLESS": {"ecn": "ecn_all"}}}`,
			"a port, no values": `{"PORT": {"Ethernet0": {}}}`,
			"show output":       "Interface    Lossless priorities\n-----------  ---------------------\nEthernet0    3\nEthernet4    3\n",
			"empty tables":      `{"PORT": {}, "PORT_QOS_MAP": {}, "QUEUE": {}}`,
		},
		"dell-sonic": {
			"only VLANs":        "interface Vlan 101\n mtu 9100\n!\nqos map dscp-tc X\n!\n",
			"a port, no values": "interface Eth1/1\n!\nqos map dscp-tc X\n!\n",
		},
		"eos": {
			"only VLANs":        "vlan 101\n   name rail1\n!\nqos rewrite dscp\n!\nend\n",
			"a port, no values": "interface Ethernet1/1\n!\nqos map dscp 26 to traffic-class 3\n!\nend\n",
		},
		"junos": {
			"only VLANs":        "set vlans rail1 vlan-id 101\nset class-of-service classifiers dscp X forwarding-class Y loss-priority low code-points 011010\n",
			"a port, no values": "set interfaces et-0/0/0:0 description a\nset class-of-service forwarding-classes class X queue-num 3\n",
		},
	}
	for os := range models {
		p := attackedPlan(t, os, "p2p31", "2", "ecn: {}, watchdog: {}")
		texts := map[string]string{}
		for name, text := range little[os] {
			texts[name] = text
		}
		texts["that of another switch"] = string(renderSwitch(t, p.Switches[1], p.Traffic))
		whole := renderSwitch(t, p.Switches[0], p.Traffic)
		last := p.Switches[0].Ports[len(p.Switches[0].Ports)-1].Name
		texts["without its last port"] = string(bytes.ReplaceAll(whole, []byte(last), []byte("Nothing9")))
		for name, text := range texts {
			t.Run(os+"/"+name, func(t *testing.T) {
				if found := verdictsOn(t, p, []byte(text), nil); len(found) == 0 {
					t.Errorf("all pass:\n%s", text)
				}
				passed := passes(t, os, text)
				for _, rule := range []string{"switch-pfc", "switch-ecn", "switch-ports-equal", "switch-mtu"} {
					if _, few := little[os][name]; few && passed[rule] && name != "show output" {
						t.Errorf("without a plan %s passes on:\n%s", rule, text)
					}
				}
			})
		}
	}
}

// passes are the rules that pass a text by itself.
func passes(t *testing.T, os, text string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	configs, err := readAll([]SwitchSource{{Name: "leaf1"}}, []answer{{texts: []switchtext.Text{{File: "text", Bytes: []byte(text)}}}}, nil)
	if err != nil {
		if !strings.Contains(err.Error(), "is neither a configuration") {
			t.Fatal(fmt.Errorf("%s: %w", os, err))
		}
		return out // refused by name
	}
	found, err := Findings(t.Context(), Checked{Switches: configs}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found.Findings {
		if f.Status == fabric.Pass {
			out[f.ID] = true
		}
	}
	return out
}
