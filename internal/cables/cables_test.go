package cables

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// ring has machines a, b, c, ... with ports 0 and 1 of two interfaces each, port 0 of each to port 1 of the next.
func ring(n int) Harness {
	p := &fabric.Plan{}
	name := func(i int) string { return string(rune('a' + i%n)) }
	for i := range n {
		for port := range 2 {
			p.Ports = append(p.Ports, fabric.NodePort{Node: name(i), Number: port,
				Twins: []fabric.Twin{{NIC: fmt.Sprintf("x%d", port)}, {NIC: fmt.Sprintf("y%d", port)}}})
		}
		for _, twin := range []string{"x", "y"} {
			p.Cabling.Links = append(p.Cabling.Links, fabric.Link{A: fabric.Endpoint{Node: name(i), NIC: twin + "0"}, B: fabric.Endpoint{Node: name(i + 1), NIC: twin + "1"}})
		}
	}
	return New(p)
}

// place reads a port as a0.
func place(text string) Place { return Place{text[:1], int(text[1] - '0')} }

// seen reads cables as a0-b1; a far end of another length is no machine of the plan.
func seen(text string) Seen {
	s := Seen{}
	for _, cable := range strings.Fields(text) {
		at, far, _ := strings.Cut(cable, "-")
		if len(far) == 2 {
			s[place(at)] = Far{Port: place(far)}
		} else {
			s[place(at)] = Far{Other: far}
		}
	}
	return s
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name     string
		machines int
		seen     string
		want     []string
	}{
		{"as planned", 3, "a0-b1 b0-c1 c0-a1", nil},
		{"nothing seen", 3, "", nil},
		{"one end of each", 3, "b1-a0 c1-b0 a1-c0", nil},
		{"plugs of c swapped", 3, "a0-b1 b0-c0 c1-a1", []string{"swap the two plugs on c"}},
		{"one of the two cables seen", 3, "b0-c0", []string{"swap the two plugs on c"}},
		{"plugs of two of six swapped", 6, "a0-b0 b1-c1 c0-d1 d0-e0 e1-f1 f0-a1", []string{"swap the two plugs on b", "swap the two plugs on e"}},
		{"two neighbours of four swapped", 4, "a0-b0 b1-c0 c1-d1 d0-a1", []string{"swap the two plugs on b", "swap the two plugs on c"}},
		{"all swapped", 3, "a1-b0 b1-c0 c1-a0", []string{"swap the two plugs on a", "swap the two plugs on b", "swap the two plugs on c"}},
		{"both to one peer", 3, "a0-b1 a1-b0", []string{"leave the plug at port 1 of a, and move the other one from port 0 of b to port 0 of c; a cable then joins port 0 of b and port 1 of c"}},
		{"foreign", 3, "a0-pc:eno1 b0-c1 c0-a1", []string{"unplug pc:eno1 at port 0 of a, and join port 0 of a and port 1 of b with the cable"}},
		{"foreign and swapped", 4, "a0-pc:eno1 b0-c0 c1-d1 d0-a1", []string{"swap the two plugs on c", "unplug pc:eno1 at port 0 of a, and join port 0 of a and port 1 of b with the cable"}},
		{"with itself", 3, "a0-a1 b0-c1", []string{"leave the plug at port 0 of a, and move the other one from port 1 of a to port 1 of b; a cable then joins port 1 of a and port 0 of c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var fixes []string
			for _, f := range ring(tt.machines).Faults(seen(tt.seen)) {
				fixes = append(fixes, f.Fix)
				if f.Why == "" || f.Expected == "" || len(f.Ports) == 0 {
					t.Errorf("half a fault: %+v", f)
				}
			}
			if strings.Join(fixes, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("have\n%s\nwant\n%s", strings.Join(fixes, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

func TestFarEnd(t *testing.T) {
	h := ring(3)
	for _, tt := range []struct{ system, port, text, want string }{
		{"b", "y1", "", "port 1 of b"},
		{"b", "02:00:00:00:00:01", "x0", "port 0 of b"},
		{"pc", "eno1", "", "pc:eno1"},
	} {
		if got := h.FarEnd(tt.system, tt.port, tt.text).String(); got != tt.want {
			t.Errorf("%v is %s", tt, got)
		}
	}
	if a, b := (Far{Other: "pc:eno1"}), (Far{Other: "pc:eno2"}); !a.Same(b) || a.Same(Far{Other: "nas:eno1"}) {
		t.Error("two ports of one system are one far end, of two systems they are not")
	}
}
