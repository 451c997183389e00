package report

import (
	"bytes"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// The page draws what was plugged otherwise than planned, and nothing of it where that is unknown.
func TestPlugged(t *testing.T) {
	at := func(node, nic string) fabric.Endpoint { return fabric.Endpoint{Node: node, NIC: nic} }
	plan := &fabric.Plan{Name: "sparks", Nodes: []fabric.Node{{Name: "spark1"}, {Name: "spark2"}}}
	for _, n := range plan.Nodes {
		plan.Ports = append(plan.Ports, fabric.NodePort{Node: n.Name, Number: 1, Twins: []fabric.Twin{{NIC: "enp1s0f1np1"}, {NIC: "enP2p1s0f1np1"}}})
	}
	plan.Cabling.Links = []fabric.Link{{A: at("spark1", "enp1s0f1np1"), B: at("spark2", "enp1s0f1np1")}, {A: at("spark1", "enP2p1s0f1np1"), B: at("spark2", "enP2p1s0f1np1")}}
	const wrong = "Plugged otherwise than planned: spark1 port 1 to spark2 port 0."
	for name, c := range map[string]struct {
		plugged []fabric.Link
		want    bool
	}{
		"not known":  {nil, false},
		"as planned": {plan.Cabling.Links[1:], false},
		"otherwise":  {[]fabric.Link{{A: at("spark1", "enp1s0f1np1"), B: at("spark2", "enp1s0f0np0")}}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := HTML(&b, Run{Plan: plan, Plugged: c.plugged}); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(b.String(), wrong); got != c.want {
				t.Errorf("the page says %q: %v", wrong, got)
			}
			if !strings.Contains(b.String(), "Seen from behind") {
				t.Error("the machines are not drawn from behind")
			}
		})
	}
}
