package facts

import (
	"strings"
	"testing"
)

// found tells of a text which interface of which host has which address or speed.
func foundOf(text string) string {
	o := NewOutputs()
	o.File("paste", "")
	for line := range strings.Lines(text) {
		o.Line("", []string{strings.TrimRight(line, "\r\n")}, nil, false)
	}
	var out []string
	for _, f := range o.Facts() {
		for _, n := range f.Facts.NICs {
			said := f.Facts.Node + " " + n.Name
			for _, a := range n.Addresses {
				said += " " + a.String()
			}
			if n.SpeedMbps != nil {
				said += " at " + unit(value(n.SpeedMbps), "Mb/s")
			}
			out = append(out, said)
		}
	}
	return strings.Join(out, "; ")
}

// Guides and notes say what was typed. Of which machine it is stands in a heading or a prompt, and a machine at the far end of a
// cable is none of these.
func TestTextOfGuides(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{
			"addresses that were typed, by headings", "On node-a:\n```\nsudo ip addr add 10.50.1.1/24 dev enp1s0f0np0\nsudo ip addr add 10.50.2.1/24 dev enP2p1s0f0np0\n```\n",
			"node-a enp1s0f0np0 10.50.1.1/24; node-a enP2p1s0f0np0 10.50.2.1/24",
		},
		{
			"the far end of a cable", "## Node A\n# Link to Node B\nsudo ip addr add 10.50.1.1/24 dev enp1s0f0np0\n# Link to Node C\nsudo ip addr add 10.50.2.1/24 dev enp1s0f1np1\n",
			"nodea enp1s0f0np0 10.50.1.1/24; nodea enp1s0f1np1 10.50.2.1/24",
		},
		{
			"speeds behind a grep", "me@s1:~$ sudo ethtool enp1s0f0np0 | grep Speed\n\tSpeed: 100000Mb/s\nme@s1:~$ sudo ethtool enP2p1s0f0np0 | grep -E 'Speed|Link'\n\tSpeed: 200000Mb/s\n\tLink detected: yes\n",
			"s1 enp1s0f0np0 at 100000 Mb/s; s1 enP2p1s0f0np0 at 200000 Mb/s",
		},
		{"a speed of another program", "me@s1:~$ disktool nvme0 | grep Speed\n\tSpeed: 100000Mb/s\n", ""},
		{"a driver is another question", "me@s1:~$ ethtool -i enp1s0f0np0 | grep Speed\n\tSpeed: 100000Mb/s\n", ""},
		{"the route of one packet", "me@s1:~$ ip route get 10.50.1.2\n10.50.1.2 dev enp1s0f0np0 src 10.50.1.1 uid 1000\n    cache\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if have := foundOf(tt.text); have != tt.want {
				t.Errorf("%q, want %q", have, tt.want)
			}
		})
	}
}
