package report

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// samplePlan is a plan of hosts with eight NICs each, one leaf for every 32 hosts.
func samplePlan(hosts int) *fabric.Plan {
	p := &fabric.Plan{Meta: fabric.NewMeta("Plan"), Name: "pod1", Platform: "lab", Launcher: "ssh", Transport: fabric.RoCE, MTU: 9000}
	p.Addressing = fabric.Addressing{Scheme: fabric.P2P31, Pool: netip.MustParsePrefix("10.64.0.0/10")}
	for h := range hosts {
		n := fabric.Node{Name: fmt.Sprintf("host%d", h+1), Machine: "xe9680-mi300x-thor2"}
		leaf := fmt.Sprintf("leaf%d", h/32+1)
		if h%32 == 0 {
			p.Switches = append(p.Switches, fabric.Switch{Name: leaf, Role: fabric.Leaf, Model: "z9664f", OS: "sonic", Ports: make([]fabric.SwitchPort, 8*min(32, hosts-h))})
		}
		for i := range 8 {
			nic := fmt.Sprintf("eth%d", i+1)
			n.NICs = append(n.NICs, nic)
			p.Cabling.Links = append(p.Cabling.Links, fabric.Link{
				A: fabric.Endpoint{Node: n.Name, NIC: nic}, Rail: i + 1,
				B: fabric.Endpoint{Node: leaf, NIC: fmt.Sprintf("Ethernet%d", h%32*8+i)},
			})
		}
		p.Nodes = append(p.Nodes, n)
	}
	return p
}

// sampleMesh is a mesh of a plan in which everything is answered; change edits a pair.
func sampleMesh(p *fabric.Plan, change func(*fabric.Measurement)) *fabric.Mesh {
	m := &fabric.Mesh{Meta: fabric.NewMeta("Mesh"), Seconds: 0.214}
	for _, a := range p.Nodes {
		for i, from := range a.NICs {
			for _, b := range p.Nodes {
				if a.Name == b.Name {
					continue
				}
				for j, to := range b.NICs {
					rtt := 21.5 + float64((i*7+j*3)%11)
					if i != j {
						rtt += 14
					}
					echo := fabric.Echo{Bytes: 84, RTTMicros: rtt, Answered: true, ArrivedOn: to, ReturnedOn: from}
					x := fabric.Measurement{From: fabric.Endpoint{Node: a.Name, NIC: from}, To: fabric.Endpoint{Node: b.Name, NIC: to}, Small: echo, Full: echo}
					x.Full.Bytes, x.Full.RTTMicros = p.MTU, rtt*1.4
					if change != nil {
						change(&x)
					}
					m.Pairs = append(m.Pairs, x)
				}
			}
		}
	}
	return m
}

// sampleFindings are three rules on every NIC and one on every node; judge edits a finding.
func sampleFindings(p *fabric.Plan, judge func(*fabric.Finding)) *fabric.Findings {
	f := &fabric.Findings{Meta: fabric.NewMeta("Findings")}
	add := func(x fabric.Finding) {
		if judge != nil {
			judge(&x)
		}
		f.Summary.Count(x.Status)
		f.Findings = append(f.Findings, x)
	}
	for _, n := range p.Nodes {
		for _, nic := range n.NICs {
			add(fabric.Finding{ID: "link-up", Title: "Link state", Status: fabric.Pass, Subject: fabric.NICSubject(n.Name, nic), Cause: fabric.CauseLinkDown})
			add(fabric.Finding{ID: "mtu", Title: "MTU of the NIC", Status: fabric.Pass, Subject: fabric.NICSubject(n.Name, nic), Cause: fabric.CauseMTUMismatch})
			add(fabric.Finding{ID: "source-rule", Title: "Source rule of the NIC", Status: fabric.Pass, Subject: fabric.NICSubject(n.Name, nic), Cause: fabric.CauseRouteMissing})
		}
		add(fabric.Finding{ID: "pci-link", Title: "Width and speed of the PCIe links", Status: fabric.NotApplicable, Subject: fabric.NodeSubject(n.Name),
			Why: "a lab host has no PCIe devices of its own"})
	}
	return f
}

func sampleIndex(p *fabric.Plan) *fabric.Index {
	x := &fabric.Index{Meta: fabric.NewMeta("Index")}
	for i, n := range p.Nodes {
		for j, path := range []string{"/etc/netplan/60-railwright.yaml", "/etc/sysctl.d/60-railwright.conf", "/etc/systemd/system/railwright-routes.service"} {
			x.Artifacts = append(x.Artifacts, fabric.Artifact{Target: n.Name, Path: path, Mode: []uint32{0o600, 0o644, 0o644}[j], SHA256: fmt.Sprintf("%064x", i*31+j+1)})
		}
	}
	return x
}

// passingRun is a run in which everything was checked and passed.
func passingRun(hosts int) Run {
	p := samplePlan(hosts)
	r := Run{
		ID: "20250310-101500", Started: time.Date(2025, 3, 10, 10, 15, 0, 0, time.UTC), Seconds: 18.42,
		Command: "railwright up --lab", Version: "v0.1.0", Plan: p, Findings: sampleFindings(p, nil), Mesh: sampleMesh(p, nil),
		Causes: &fabric.Causes{Meta: fabric.NewMeta("Causes"), Status: fabric.Pass}, Artifacts: sampleIndex(p),
		Missing: map[string][]fabric.Missing{},
		Steps: []Step{
			{Name: "plan", Seconds: 0.003, Status: fabric.Pass, Where: "computed from its input"}, {Name: "render", Seconds: 0.008, Status: fabric.Pass, Note: "6 files"},
			{Name: "lab", Seconds: 1.92, Status: fabric.Pass, Note: "2 hosts, 1 leaf in network namespaces"}, {Name: "apply", Seconds: 7.3, Status: fabric.Pass},
			{Name: "check", Seconds: 0.41, Status: fabric.Pass}, {Name: "mesh", Seconds: 0.214, Status: fabric.Pass, Where: "run in the lab"},
		},
	}
	var nodes []string
	for _, n := range p.Nodes {
		r.Applied = append(r.Applied, Applied{Node: n.Name, How: "netplan + systemd-networkd", Status: fabric.Pass})
		nodes = append(nodes, n.Name)
	}
	r.Lab = LabWithoutHardware
	r.Proofs = []fabric.Proof{
		{Path: "/etc/systemd/system/railwright-routes.service", Targets: nodes, Level: fabric.Parsed, By: []string{"systemd-analyze verify"}, Reason: "no service manager runs on a lab host"},
		{Path: "/etc/default/grub.d/60-railwright.cfg", Targets: nodes, Level: fabric.Rendered, Reason: "it was written, and nothing on a lab host reads it"},
		{Path: "/etc/netplan/60-railwright.yaml", Targets: nodes, Level: fabric.Run, By: []string{"netplan generate", "systemd-networkd"}},
		{Path: "/etc/profile.d/railwright.sh", Targets: nodes, Level: fabric.Rendered, Reason: "it was written, and nothing on a lab host reads it"},
	}
	return r
}

// failingRun has an MTU fault on host1:eth3, a link down on host2:eth5, and source rules missing on all
// NICs of host2.
func failingRun(hosts int) Run {
	r := passingRun(hosts)
	r.Findings = sampleFindings(r.Plan, judgeFaults)
	r.Mesh = sampleMesh(r.Plan, func(m *fabric.Measurement) {
		small, large := m.From, m.To
		switch {
		case small.String() == "host2:eth5" || large.String() == "host2:eth5":
			m.Small = fabric.Echo{Bytes: 84, Error: "network is unreachable"}
			m.Full = fabric.Echo{Bytes: 9000, Error: "network is unreachable"}
		case small.String() == "host1:eth3" || large.String() == "host1:eth3":
			m.Full = fabric.Echo{Bytes: 9000, Error: "message too long"}
		case small.String() == "host2:eth7":
			m.Small.ReturnedOn = "eth1"
		}
	})
	r.Causes = &fabric.Causes{Meta: fabric.NewMeta("Causes"), Status: fabric.Fail, Causes: []fabric.Cause{
		{ID: fabric.CauseLinkDown, Subject: fabric.NICSubject("host2", "eth5"), Confidence: 0.41,
			Evidence: []fabric.Evidence{{Source: "netlink link dump", Value: "operstate lowerlayerdown"}, {Source: "mesh", Value: "no pair of it was answered"}},
			Confirm:  "ethtool eth5", Fix: "ip link set dev eth5 up"},
		{ID: fabric.CauseMTUMismatch, Subject: fabric.NICSubject("host1", "eth3"), Confidence: 0.38,
			Evidence: []fabric.Evidence{{Source: "mesh", Value: "84 bytes answered, 9000 bytes too long"}}, Fix: "ip link set dev eth3 mtu 9000"},
	}}
	return r
}

func judgeFaults(f *fabric.Finding) {
	switch s := f.Subject.String(); {
	case f.ID == "link-up" && s == "host2:eth5":
		f.Status, f.Evidence = fabric.Fail, []fabric.Evidence{{Source: "netlink link dump of host2", Value: "operstate lowerlayerdown"}}
		f.Expected, f.Why = "up", "A rail without a link takes one eighth of the host's bandwidth away from every collective."
		f.Cost, f.Fix = "50 GB/s of 400 GB/s on host2", "ip link set dev eth5 up"
	case f.ID == "mtu" && s == "host1:eth3":
		f.Status, f.Evidence = fabric.Fail, []fabric.Evidence{{Source: "netlink link dump of host1", Value: "MTU 1500"}}
		f.Expected, f.Why = "9000 bytes, as planned", "RoCE uses the largest of its MTUs that fits; with 1500 bytes that is 1024, and headers take more of the wire."
		f.Cost, f.Fix = "3.1 GB/s of 48.9 GB/s on this NIC", "ip link set dev eth3 mtu 9000"
	case f.ID == "source-rule" && f.Subject.Node == "host2":
		f.Status, f.Severity, f.Evidence = fabric.Fail, fabric.SeverityWarning, []fabric.Evidence{{Source: "netlink rule dump of host2", Value: "no rule from the address of " + f.Subject.NIC}}
		f.Expected, f.Why = "a rule from the address to a table of its own", "Without it every answer leaves by the first NIC."
		f.Cost, f.Fix = "up to 350 GB/s of 400 GB/s on host2", "ip rule add from 10.64.0."+strings.TrimPrefix(f.Subject.NIC, "eth")+" table 10"+strings.TrimPrefix(f.Subject.NIC, "eth")
	}
}

// unknownRun has nothing that failed, and much that could not be checked.
func unknownRun(hosts int) Run {
	r := passingRun(hosts)
	r.Findings = sampleFindings(r.Plan, func(f *fabric.Finding) {
		if f.ID == "source-rule" && f.Subject.Node == "host2" {
			f.Status, f.Why = fabric.Unknown, "the rule table of host2 could not be read: netlink: permission denied"
			f.Fix = "sudo railwright check --lab"
		}
	})
	r.Mesh = sampleMesh(r.Plan, func(m *fabric.Measurement) {
		if m.From.Node == "host2" && m.From.NIC == "eth8" {
			m.Small = fabric.Echo{Error: "socket of eth8: operation not permitted"}
			m.Full = fabric.Echo{}
		}
	})
	r.Missing = map[string][]fabric.Missing{
		"host1": {{What: "pci.acs", Source: "/sys/bus/pci/devices", Reason: "only the first 64 bytes of configuration space are readable without root"}},
		"host2": {{What: "pci.acs", Source: "/sys/bus/pci/devices", Reason: "only the first 64 bytes of configuration space are readable without root"}, {What: "rules", Source: "netlink", Reason: "permission denied"}},
	}
	r.Plan.Notes = []string{"Traffic classes: the cluster file has no fabric.traffic section."}
	r.Applied[1] = Applied{Node: "host2", How: "netlink", Reason: "systemd-networkd did not start in the namespace within 10 s", Status: fabric.Pass}
	r.Steps[3].Note = "host2 by netlink"
	return r
}
