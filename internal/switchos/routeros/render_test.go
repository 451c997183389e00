package routeros

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func TestGolden(t *testing.T) {
	for _, c := range []struct {
		name    string
		s       fabric.Switch
		traffic *fabric.Traffic
	}{
		{"one network", spark(), traffic(false, false)},
		{"a vlan of its own", isolated(spark()), traffic(true, false)},
		{"vlans with gateways", inVLANs(spark()), traffic(true, true)},
		{"routed", routed(spark()), traffic(true, false)},
		{"lossy", spark(), lossy()},
		{"no classes", spark(), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := OS{}.Render(c.s, c.traffic)
			if again := (OS{}).Render(c.s, c.traffic); !bytes.Equal(got.Text, again.Text) {
				t.Error("two renders differ")
			}
			text := string(got.Text) + "-- not in it --\n" + strings.Join(got.Omits, "\n") + "\n"
			file := filepath.Join("testdata", strings.ReplaceAll(c.name, " ", "-")+".txt")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// random is an intent that a plan may have.
func random(r *rand.Rand) (fabric.Switch, *fabric.Traffic) {
	s := spark()
	s.MTU = 4200 + r.IntN(9566-4200+1)
	for i := range s.Ports {
		s.Ports[i].RateGbps = []float64{100, 200}[r.IntN(2)]
	}
	switch r.IntN(4) {
	case 0:
		s = inVLANs(s)
	case 1:
		s = isolated(s)
	case 2:
		s = routed(s)
	}
	dscp, priority := r.Perm(64), r.Perm(8)
	t := &fabric.Traffic{CableM: 1 + r.IntN(100), Share: 1 + r.IntN(99), Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: dscp[0], Priority: priority[0]}, {Name: "roce", DSCP: dscp[1], Priority: priority[1], Lossless: r.IntN(4) > 0},
	}}
	if r.IntN(4) > 0 {
		t.Classes[1].ECN = &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}
	}
	return s, t
}

// What is rendered is read back: nothing is unread, nothing is wrong, and the switch does what the intent says.
func TestRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		s, classes := random(rand.New(rand.NewPCG(seed, 15)))
		text := OS{}.Render(s, classes).Text
		if !(OS{}).Recognizes(text) {
			t.Fatalf("seed %d: is not recognized:\n%s", seed, text)
		}
		c := read(string(text))
		for _, p := range c.Problems {
			if p.Kind != fabric.TextConflict || !strings.Contains(p.Then, "Speeds are mixed") {
				t.Errorf("seed %d: problem %+v", seed, p)
			}
		}
		for _, l := range c.Unread {
			t.Errorf("seed %d: unread %+v", seed, l)
		}
		if c.Hostname == nil || c.Hostname.Is != s.Name || len(c.Ports) != len(s.Ports) {
			t.Fatalf("seed %d: host name %v, %d ports", seed, c.Hostname, len(c.Ports))
		}
		for i, p := range s.Ports {
			if why := portDiffers(s, p, c.Ports[i]); why != "" {
				t.Errorf("seed %d, %s: %s", seed, p.Name, why)
			}
			if why := trafficDiffers(*classes, c.Ports[i]); why != "" {
				t.Errorf("seed %d, %s: %s", seed, p.Name, why)
			}
		}
		for i, v := range s.VLANs {
			if c.VLANs[i].ID != v.ID || v.Gateway.IsValid() && (len(c.VLANs[i].Addresses) != 1 || c.VLANs[i].Addresses[0].Is != v.Gateway || c.VLANs[i].MTU.Is != s.MTU) {
				t.Errorf("seed %d: VLAN %+v", seed, c.VLANs[i])
			}
		}
		if s.BGP != nil && (c.BGP == nil || c.BGP.ASN.Is != s.BGP.ASN || len(c.BGP.Neighbours) != 2 || c.BGP.Neighbours[1].Address != s.BGP.Neighbours[1].Address || len(c.BGP.Networks) != 1 || c.BGP.Paths.Is != 2) {
			t.Errorf("seed %d: BGP %+v", seed, c.BGP)
		}
		if t.Failed() {
			t.Fatalf("%s", text)
		}
	}
}

func portDiffers(s fabric.Switch, p fabric.SwitchPort, c fabric.PortConfig) string {
	switch {
	case c.Name != p.Name || c.Up == nil || !c.Up.Is:
		return "name or whether it is on"
	case c.RateGbps == nil || c.RateGbps.Is != p.RateGbps:
		return "rate " + is(c.RateGbps)
	case p.RateGbps >= 200 && (c.FEC == nil || c.FEC.Is != "rs"):
		return "FEC " + is(c.FEC)
	case c.MTU == nil || c.MTU.Is < s.MTU || c.MTU.Is > s.MTU+4:
		return "MTU " + is(c.MTU)
	case p.VLAN > 0 && (c.VLAN == nil || c.VLAN.Is != p.VLAN):
		return "VLAN " + is(c.VLAN)
	case p.Address.IsValid() && (len(c.Addresses) != 1 || c.Addresses[0].Is != p.Address || c.VLAN == nil || c.VLAN.Is != 0):
		return "address " + fmt.Sprint(c.Addresses, is(c.VLAN))
	}
	return ""
}

func trafficDiffers(t fabric.Traffic, c fabric.PortConfig) string {
	if c.Trust == nil || c.Trust.Is != "dscp" || c.DSCP == nil || c.PFC == nil {
		return "trust " + is(c.Trust) + ", PFC " + is(c.PFC)
	}
	want := []int{}
	for _, class := range t.Classes {
		treatment := c.DSCP[class.DSCP]
		pause := -1
		if class.Lossless {
			want, pause = append(want, class.Priority), class.Priority
		}
		if treatment.Class == nil || treatment.Class.Is != fmt.Sprint(class.Priority) || treatment.Queue.Is != class.Priority || treatment.Pause.Is != pause {
			return class.Name + ": " + treated(treatment)
		}
		q := c.Queues[class.Priority]
		if q == nil || q.Marks == nil || q.Marks.ECN.Is != (class.ECN != nil) || q.Marks.Drops {
			return "marking of " + class.Name
		}
		if class.Name == "roce" && (q.Algorithm == nil || q.Algorithm.Is != "weighted") {
			return "queue of roce"
		}
	}
	if !slices.Equal(c.PFC.Is, want) {
		return "PFC " + is(c.PFC)
	}
	for d := range 64 {
		planned := slices.ContainsFunc(t.Classes, func(class fabric.TrafficClass) bool { return class.DSCP == d })
		if rest := c.DSCP[d]; !planned && (rest.Pause.Is != -1 || slices.ContainsFunc(t.Classes, func(class fabric.TrafficClass) bool { return class.Priority == rest.Queue.Is })) {
			return fmt.Sprintf("DSCP %d: %s", d, treated(rest))
		}
	}
	return shareDiffers(t, c)
}

func shareDiffers(t fabric.Traffic, c fabric.PortConfig) string {
	roce, rest := c.Queues[c.DSCP[t.Classes[1].DSCP].Queue.Is], c.Queues[c.DSCP[unplanned(t)].Queue.Is]
	if roce.Weight == nil || rest.Weight == nil {
		return "weights"
	}
	if have := 100 * roce.Weight.Is / (roce.Weight.Is + rest.Weight.Is); have != t.Share {
		return fmt.Sprintf("share %d, not %d", have, t.Share)
	}
	return ""
}

// unplanned is a DSCP of no class.
func unplanned(t fabric.Traffic) int {
	for d := range 64 {
		if !slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.DSCP == d }) {
			return d
		}
	}
	return 0
}

// A name with anything in it is one word of the console.
func TestNamesAreQuoted(t *testing.T) {
	s := spark()
	s.Name = `a "b" \ $c`
	c := read(string(OS{}.Render(s, nil).Text))
	if c.Hostname == nil || c.Hostname.Is != s.Name || len(c.Unread) > 0 {
		t.Errorf("%v, unread %v", c.Hostname, c.Unread)
	}
}
