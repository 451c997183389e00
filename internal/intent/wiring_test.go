package intent

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func sparks(names, rest string) string {
	return fmt.Sprintf("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\nplatform: spark\nnodes: [{names: %q, machine: dgx-spark%s}]\nfabric:\n  kind: roce\n", names, rest)
}

func TestWiring(t *testing.T) {
	const leaf = "  leaf: {model: crs812-ddq}\n"
	for _, tt := range []struct {
		name, text string
		wiring     fabric.Wiring
		cables     string // node.port-node.port
		subnets    int
	}{
		{"pair", sparks("s[1-2]", ""), fabric.WiredPair, "0.1-1.1", 2},
		{"pair at port 0", sparks("s[1-2]", ", nics: \"enp1s0f0np0,enP2p1s0f0np0\""), fabric.WiredPair, "0.0-1.0", 2},
		{"pair with one twin addressed", sparks("s[1-2]", ", nics: enp1s0f1np1"), fabric.WiredPair, "0.1-1.1", 2},
		{"pair with two cables", sparks("s[1-2]", ", nics: \"enp1s0f0np0,enP2p1s0f0np0,enp1s0f1np1,enP2p1s0f1np1\""), fabric.WiredPair, "0.0-1.1 1.0-0.1", 4},
		{"mesh", sparks("s[1-3]", ""), fabric.WiredRing, "0.0-1.1 1.0-2.1 2.0-0.1", 6},
		{"ring", sparks("s[1-5]", ""), fabric.WiredRing, "0.0-1.1 1.0-2.1 2.0-3.1 3.0-4.1 4.0-0.1", 10},
		{"switch", sparks("s[1-3]", "") + leaf, fabric.WiredSwitch, "0.1-1 1.1-2 2.1-3", 2},
		{"alone", sparks("s1", ""), "", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("c", []byte(tt.text), load(t))
			if err != nil {
				t.Fatal(err)
			}
			w, err := WiringOf(c, load(t))
			if err != nil {
				t.Fatal(err)
			}
			var cables []string
			for _, c := range w.Cables {
				text := fmt.Sprintf("%d.%d-", c.Node, w.Nodes[c.Node].Ports[c.Port].Number)
				if c.PeerNode < 0 {
					text += fmt.Sprint(c.PeerPort + 1)
				} else {
					text += fmt.Sprintf("%d.%d", c.PeerNode, w.Nodes[c.PeerNode].Ports[c.PeerPort].Number)
				}
				cables = append(cables, text)
			}
			if got := strings.Join(cables, " "); w.Wiring != tt.wiring || got != tt.cables || w.Subnets() != tt.subnets {
				t.Errorf("%s: %s, %d subnets; want %s: %s, %d", w.Wiring, got, w.Subnets(), tt.wiring, tt.cables, tt.subnets)
			}
		})
	}
}

func TestWiringRefused(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a server", strings.Replace(sparks("s[1-2]", ", nics: eth0"), "dgx-spark", "hgx-h100", 1), "platform spark needs a machine whose twins the catalog knows: dgx-spark"},
		{"no machine", strings.Replace(sparks("s[1-2]", ", nics: eth0"), "machine: dgx-spark, ", "", 1), "platform spark needs a machine whose twins the catalog knows: dgx-spark"},
		{"too many", sparks("s[1-9]", ""), "9 machines: a cluster of platform spark has 2 to 8"},
		{"unknown interface", sparks("s[1-2]", ", nics: eth0"), `"eth0" is not an interface of a QSFP port of this machine; known: enp1s0f0np0`},
		{"ring with one port", sparks("s[1-3]", ", nics: \"enp1s0f1np1,enP2p1s0f1np1\""), "s1 has 1 port cabled: without a switch (fabric.leaf) 3 machines are a ring, in which each needs both"},
		{"ring with a bare twin", sparks("s[1-3]", ", nics: \"enp1s0f0np0,enp1s0f1np1,enP2p1s0f1np1\""), "s1: enP2p1s0f0np0 has no address: in a ring each twin needs one"},
		{"switch too small", sparks("s[1-8]", "") + "  leaf: {model: crs812-ddq}\n", "8 cables, and switch crs812-ddq has 6 ports for them"},
		{"two leaves", sparks("s[1-2]", "") + "  leaf: {model: crs812-ddq, count: 2}\n", "platform spark is planned on one switch: leave out count and spine"},
		{"pool", sparks("s[1-3]", "") + "  addressing: {pool: 10.64.0.0/22}\n", "10.64.0.0/22 is too small for the 6 subnets of the twins, each a /24: use a /21 or larger"},
		{"rail24", sparks("s[1-3]", "") + "  addressing: {scheme: rail24}\n", "rail24 does not work on platform spark"},
		{"management", sparks("s[1-2]", ", management: \"a b\""), "management"},
		{"QSFP port for management of a ring", sparks("s[1-3]", ", management: enp1s0f1np1"), `nodes[0].management: "enp1s0f1np1" is of a QSFP port, which reaches one neighbour of a ring: use the RJ-45 port, enP7s7`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Parse("c", []byte(tt.text), load(t)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
	if _, err := Parse("c", []byte(sparks("s[1-", "")), load(t)); err == nil || strings.Contains(err.Error(), "nics") {
		t.Errorf("names that are wrong, and interfaces that follow from them: %v", err)
	}
	if _, err := Parse("c", []byte(strings.Replace(strings.Replace(sparks("s[1-2]", ", nics: eth0"), "spark,", "spark-x,", 1), "platform: spark", "platform: baremetal", 1)), load(t)); err == nil {
		t.Error("an unknown machine was taken")
	}
}
