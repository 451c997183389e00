package mesh

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// mesh makes a healthy mesh of 2 hosts with so many NICs and lets break change each pair.
func mesh(nics int, breakPair func(*fabric.Measurement)) *fabric.Mesh {
	m := &fabric.Mesh{}
	for _, hosts := range [][2]string{{"host1", "host2"}, {"host2", "host1"}} {
		for i := 1; i <= nics; i++ {
			for j := 1; j <= nics; j++ {
				from := fabric.Endpoint{Node: hosts[0], NIC: fmt.Sprintf("eth%d", i)}
				to := fabric.Endpoint{Node: hosts[1], NIC: fmt.Sprintf("eth%d", j)}
				p := fabric.Measurement{From: from, To: to}
				for _, e := range []*fabric.Echo{&p.Small, &p.Full} {
					*e = fabric.Echo{Bytes: 84, Answered: true, RTTMicros: 10, ArrivedOn: to.NIC, ReturnedOn: from.NIC}
				}
				p.Full.Bytes = 9000
				breakPair(&p)
				m.Pairs = append(m.Pairs, p)
			}
		}
	}
	return m
}

func on(p *fabric.Measurement, node, nic string) bool {
	e := fabric.Endpoint{Node: node, NIC: nic}
	return p.From == e || p.To == e
}

func named(c *fabric.Causes) []string {
	var out []string
	for _, cause := range c.Causes {
		out = append(out, fmt.Sprintf("%s %s %.2f", cause.ID, cause.Subject, cause.Confidence))
	}
	return out
}

func finding(cause fabric.CauseID, node, nic string) fabric.Finding {
	return fabric.Finding{ID: "rule", Status: fabric.Fail, Cause: cause, Subject: fabric.NICSubject(node, nic), Why: "because", Fix: "fix it"}
}

func TestExplain(t *testing.T) {
	silent := func(e *fabric.Echo) { *e = fabric.Echo{Bytes: e.Bytes} }
	tests := []struct {
		name     string
		mesh     *fabric.Mesh
		findings []fabric.Finding
		status   fabric.Status
		want     []string
	}{
		{name: "healthy", mesh: mesh(2, func(*fabric.Measurement) {}), status: fabric.Pass},
		{name: "not measured", mesh: &fabric.Mesh{}, status: fabric.Unknown},
		{
			name: "a finding explains every pair of its NIC",
			mesh: mesh(2, func(p *fabric.Measurement) {
				if on(p, "host1", "eth2") {
					silent(&p.Small)
					p.Full = fabric.Echo{}
				}
			}),
			findings: []fabric.Finding{finding(fabric.CauseLinkDown, "host1", "eth2"), finding(fabric.CauseMTUMismatch, "host2", "eth1")},
			status:   fabric.Fail,
			// The MTU finding touches 2 of the 4 failed pairs as well.
			want: []string{"link-down host1:eth2 1.00", "mtu-mismatch host2:eth1 0.50"},
		},
		{
			name: "full size lost, no finding",
			mesh: mesh(4, func(p *fabric.Measurement) {
				if on(p, "host2", "eth3") {
					silent(&p.Full)
				}
			}),
			status: fabric.Fail,
			want:   []string{"mtu-mismatch host2:eth3 1.00"},
		},
		{
			name: "silence alone cannot tell link from route",
			mesh: mesh(4, func(p *fabric.Measurement) {
				if on(p, "host2", "eth3") {
					silent(&p.Small)
					p.Full = fabric.Echo{}
				}
			}),
			status: fabric.Fail,
			want:   []string{"link-down host2:eth3 0.50", "route-missing host2:eth3 0.50"},
		},
		{
			name: "a pair that strayed over a blamed NIC is explained by it",
			mesh: mesh(4, func(p *fabric.Measurement) {
				if p.To == (fabric.Endpoint{Node: "host1", NIC: "eth1"}) {
					p.Small.ArrivedOn, p.Full.ArrivedOn = "eth2", "eth2"
				}
			}),
			findings: []fabric.Finding{finding(fabric.CauseARPFlux, "host1", "eth2")},
			status:   fabric.Fail,
			want:     []string{"arp-flux host1:eth2 1.00"},
		},
		{
			name: "two sick NICs, one of them known",
			mesh: mesh(4, func(p *fabric.Measurement) {
				if on(p, "host1", "eth1") || on(p, "host2", "eth4") {
					silent(&p.Full)
				}
			}),
			findings: []fabric.Finding{finding(fabric.CauseMTUMismatch, "host1", "eth1")},
			status:   fabric.Fail,
			// 14 failed pairs: 8 touch host1:eth1, and of the other 6 all touch host2:eth4.
			want: []string{"mtu-mismatch host1:eth1 0.57", "mtu-mismatch host2:eth4 0.43"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Explain(&fabric.Plan{}, tt.mesh, tt.findings)
			if got.Status != tt.status {
				t.Errorf("status %s, want %s", got.Status, tt.status)
			}
			if diff := cmp.Diff(tt.want, named(got)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}

// miscabled is what check reports of a cable that is in the port planned for another.
func miscabled(nic, in, planned string) fabric.Finding {
	f := finding(fabric.CauseMiscabled, "host1", nic)
	f.ID, f.Expected, f.Evidence = "cabling", planned, []fabric.Evidence{{Source: "LLDP on " + nic, Value: in}}
	return f
}

// Cables in each other's ports are one cause, however many; a cable elsewhere is another.
func TestExchangedCablesAreOneCause(t *testing.T) {
	broken := func(nics ...string) *fabric.Mesh {
		return mesh(4, func(p *fabric.Measurement) {
			for _, nic := range nics {
				if on(p, "host1", nic) {
					p.Small, p.Full = fabric.Echo{Bytes: 84}, fabric.Echo{Bytes: 9000}
				}
			}
		})
	}
	for _, tt := range []struct {
		name     string
		findings []fabric.Finding
		want     []string
		fix      string
	}{
		{"two", []fabric.Finding{miscabled("eth1", "leaf1.site.example:p2", "leaf1:p1"), miscabled("eth2", "leaf1.site.example:p1", "leaf1:p2")},
			[]string{"host1:eth1, host1:eth2 1.00"}, "exchange the cables of host1:eth1 and host1:eth2 at leaf1:p1 and leaf1:p2, or change the cluster file to match the cabling"},
		{"a ring of three", []fabric.Finding{miscabled("eth1", "leaf1:p2", "leaf1:p1"), miscabled("eth3", "leaf1:p1", "leaf1:p3"), miscabled("eth2", "leaf1:p3", "leaf1:p2")},
			[]string{"host1:eth1, host1:eth3, host1:eth2 1.00"}, "fix it"},
		{"two that have nothing to do with each other", []fabric.Finding{miscabled("eth1", "leaf1:p7", "leaf1:p1"), miscabled("eth2", "leaf1:p8", "leaf1:p2")},
			[]string{"host1:eth1 0.50", "host1:eth2 0.50"}, "fix it"},
		{"the same port of two leaves", []fabric.Finding{miscabled("eth1", "leaf2:p2", "leaf1:p1"), miscabled("eth2", "leaf2:p1", "leaf1:p2")},
			[]string{"host1:eth1 0.50", "host1:eth2 0.50"}, "fix it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var nics []string
			for _, f := range tt.findings {
				nics = append(nics, f.Subject.NIC)
			}
			var got []string
			causes := Explain(&fabric.Plan{}, broken(nics...), tt.findings).Causes
			for _, c := range causes {
				got = append(got, fmt.Sprintf("%s %.2f", c.Subjects(), c.Confidence))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Fatal(diff)
			}
			if causes[0].Fix != tt.fix {
				t.Errorf("fix %q", causes[0].Fix)
			}
		})
	}
}
