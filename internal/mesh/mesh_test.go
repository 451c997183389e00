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
			got := Explain(tt.mesh, tt.findings)
			if got.Status != tt.status {
				t.Errorf("status %s, want %s", got.Status, tt.status)
			}
			if diff := cmp.Diff(tt.want, named(got)); diff != "" {
				t.Errorf("causes (-want +got):\n%s", diff)
			}
		})
	}
}
