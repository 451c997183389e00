package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

// The rules of a DGX Spark. Its port is served by two PCI functions in two domains, its twins, so that most of what is one
// thing on other machines is two here.

func onSpark() Condition {
	const none = "nothing of it shows a DGX Spark"
	return Condition{
		ID: "spark", Doc: "on a DGX Spark: its firmware, its GPU (GB10), its NIC on PCI domains 0000 and 0002, or the names of both show it",
		judge: func(s scene) (fabric.Status, string) {
			if s.anyPlan {
				return fabric.Pass, ""
			}
			return s.each("no node is a DGX Spark", func(d *Digest) (fabric.Status, string) {
				return unless(d.Spark == nil, d.Node+" is not a DGX Spark: "+none)
			})
		},
	}
}

// sparkPlatform is the platform of a cluster file for these machines.
const sparkPlatform = "spark"

// onSpark reports whether the cluster file says that its machines are DGX Sparks.
func (p *NodePlan) onSpark() bool {
	plan := p.index.intent()
	return plan != nil && plan.Platform == sparkPlatform
}

// sparkMTU is the MTU on both twins of a port, bytes: 9000 of the plan's files and of the document.
const sparkMTU = 9000

// qsfp is the subject of a QSFP port: p0, p1.
func qsfp(node string, port int) fabric.Subject {
	return portSubject(node, spark.PortName(port))
}

// eachQSFP judges the ports that are in use. Where none is, or that is unknown, the node says so.
func (in NodeInput) eachQSFP(judge func(*spark.QSFP) Verdict) []Verdict {
	n := in.view.spark
	var out []Verdict
	for i := range n.Ports {
		p := &n.Ports[i]
		if !p.Used() {
			continue
		}
		v := judge(p)
		v.Subject = qsfp(n.Name, p.Number)
		for t := range p.Twins {
			if p.Twins[t].NIC != "" {
				v.On = append(v.On, fabric.NICSubject(n.Name, p.Twins[t].NIC))
			}
		}
		out = append(out, v)
	}
	if len(out) > 0 {
		return out
	}
	return in.asNode(Verdict{Why: in.why("no QSFP port of "+n.Name+" is known to be in use: no carrier, address or file of one was seen", fabric.FactNICs, fabric.FactHCAs)})
}

// uncabled returns why a NIC or RDMA device of a DGX Spark has nothing to do: no cable is in its port, while one is in the other.
func (in NodeInput) uncabled(nic, hca string) string {
	n := in.view.spark
	if n == nil || in.Plan != nil && slices.Contains(in.Plan.NICs, nic) {
		return ""
	}
	for i := range n.Ports {
		p := &n.Ports[i]
		c, other := p.Cabled(), n.Ports[1-i].Cabled()
		if c == nil || *c || other == nil || !*other {
			continue
		}
		for t := range p.Twins {
			if nic != "" && p.Twins[t].NIC == nic || hca != "" && p.Twins[t].HCA == hca {
				return "no cable is in QSFP port " + p.Title() + " of " + n.Name + ", and " + n.Ports[1-i].Title() + " has one: a DGX Spark needs one cable to each peer"
			}
		}
	}
	return ""
}

// halfPort returns why a twin that is down is the business of spark-twins: the other twin of its port is up.
func (in NodeInput) halfPort(nic, hca string) string {
	if in.view.spark == nil {
		return ""
	}
	for i := range in.view.spark.Ports {
		p := &in.view.spark.Ports[i]
		for t := range p.Twins {
			own, other := &p.Twins[t], p.Twins[1-t].Up
			if (nic != "" && own.NIC == nic || hca != "" && own.HCA == hca) && other != nil && *other {
				return "not evaluated while spark-twins fails on " + qsfp(in.Facts.Node, i).String()
			}
		}
	}
	return ""
}

func sparkCable() Rule {
	return Rule{
		ID:    "spark-cable",
		Title: "A QSFP cable is plugged",
		Doc: "looks for a carrier on the twins of both QSFP ports of a DGX Spark. Without a cable DGX OS 7.5 and later take the NIC from PCI to save power: " +
			"lspci and ibdev2netdev are empty then, and the NIC is not dead",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseLinkDown,
		Reference: "DGX Spark Networking, ConnectX quirks; driver cx7-pcie-hotplug of DGX OS 7.5",
		Facts:     []string{fabric.FactNICs, fabric.FactHCAs, fabric.FactPCI, fabric.FactMachineHotPlug},
		Scope:     []Condition{withoutTwins(), onSpark()},
		Node:      judgeSparkCable,
	}
}

func judgeSparkCable(in NodeInput) []Verdict {
	n := in.view.spark
	const want = "a carrier on a QSFP port"
	if n.NoNIC {
		return in.asNode(in.hiddenNIC(want))
	}
	var seen []fabric.Evidence
	cabled, unread := false, false
	for i := range n.Ports {
		switch c := n.Ports[i].Cabled(); {
		case c == nil:
			unread = true
		case *c:
			cabled = true
			seen = append(seen, saw("carrier of "+twinNames(&n.Ports[i]), n.Ports[i].Title()+" has a cable"))
		default:
			seen = append(seen, saw("carrier of "+twinNames(&n.Ports[i]), n.Ports[i].Title()+" has none"))
		}
	}
	switch {
	case cabled:
		return in.asNode(pass(want, seen...))
	case unread:
		return in.asNode(Verdict{Evidence: seen, Why: in.why("carriers of the QSFP ports of "+n.Name+" were not read", fabric.FactNICs, fabric.FactHCAs)})
	}
	return in.asNode(in.noCable(want, seen, "No cable is in either QSFP port of "+n.Name+"."))
}

// noCable fails where a plan wants a cable. Without one nothing says that the machine is to have one.
func (in NodeInput) noCable(want string, seen []fabric.Evidence, why string) Verdict {
	v := Verdict{Expected: want, Evidence: seen, Why: why}
	if in.Plan != nil {
		v.Status, v.Cost = fabric.Fail, "no traffic with other machines but over the 10G port"
		v.Fix = "plug the QSFP cable, wait 10 s, and look again: ibdev2netdev"
	}
	return v
}

// hiddenNIC judges a machine whose NIC is not on PCI.
func (in NodeInput) hiddenNIC(want string) Verdict {
	n := in.view.spark
	h := n.HotPlug
	seen := []fabric.Evidence{saw("lspci", "no function 15b3:1021 at 0000:01:00 or 0002:01:00")}
	const saving = "without a cable DGX OS takes it from PCI to save power; it is not dead: plug a QSFP cable and it comes back"
	switch {
	case h != nil && h.Last == "removal":
		seen = append(seen, saw("kernel log, cx7-pcie-hotplug", "Cable removal"))
		return in.noCable(want, seen, "The NIC of "+n.Name+" was taken from PCI when no QSFP cable was found; "+saving+".")
	case h != nil && h.Enabled != nil && *h.Enabled:
		seen = append(seen, saw("hotplug_enabled", "1"))
		return in.noCable(want, seen, "No QSFP cable is plugged in "+n.Name+" and its NIC is not on PCI; "+saving+".")
	case h != nil && h.Enabled != nil:
		return Verdict{
			Status: fabric.Fail, Cause: fabric.CauseDeviceFault, Expected: "the NIC on PCI", Evidence: append(seen, saw("hotplug_enabled", "0")),
			Why:  "The NIC of " + n.Name + " is not on PCI, and hot-plug, which takes it away without a cable, is off.",
			Cost: "no QSFP port works", Fix: "power the machine off, pull its power plug for a minute, and start it again",
		}
	}
	return in.noCable(want, seen, "The NIC of "+n.Name+" is not on PCI. If no QSFP cable is plugged, that is hot-plug power saving: "+saving+" (cat /etc/nvidia/cx7-hotplug-enabled).")
}

// twinNames lists the twins of a port.
func twinNames(p *spark.QSFP) string {
	var names []string
	for t := range p.Twins {
		names = append(names, p.Twins[t].Label())
	}
	return strings.Join(names, ", ")
}

func sparkTwins() Rule {
	return Rule{
		ID:        "spark-twins",
		Title:     "Both twins of a cabled QSFP port are up",
		Doc:       "compares the two PCI functions of each cabled port of a DGX Spark, by PCI function number and not by name: one of them alone carries half of the port",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseHalfPortTwin,
		Reference: "DGX Spark Networking, ConnectX quirks",
		Facts:     []string{fabric.FactNICs, fabric.FactHCAs},
		Scope:     []Condition{onSpark()},
		DependsOn: []string{"spark-cable"},
		Node:      judgeSparkTwins,
	}
}

func judgeSparkTwins(in NodeInput) []Verdict {
	return in.eachQSFP(func(p *spark.QSFP) Verdict {
		const want = "both twins up"
		name := in.Facts.Node + " " + p.Title()
		var seen []fabric.Evidence
		up := 0
		for t := range p.Twins {
			tw := &p.Twins[t]
			if tw.Up == nil {
				return Verdict{Why: in.why("carrier of "+tw.Label()+", the twin of port "+name+" on PCI domain 000"+strconv.Itoa(2*t)+", was not read", fabric.FactNICs, fabric.FactHCAs)}
			}
			seen = append(seen, saw("carrier of "+tw.Label(), strconv.FormatBool(*tw.Up)))
			if *tw.Up {
				up++
			}
		}
		if up == spark.Twins {
			return pass(want, seen...)
		}
		down := &p.Twins[0]
		if *down.Up {
			down = &p.Twins[1]
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: seen,
			Why:  fmt.Sprintf("Port %s has a cable, and its twin %s (%s) is down.", name, down.Label(), down.PCI),
			Cost: "half of the port: about 109 instead of 200 Gb/s (one PCIe Gen5 x4 link)",
			Fix:  onNode("sudo ip link set dev "+fabric.ShellWord(down.Label())+" up && ibdev2netdev", in.Facts.Node),
		}
	})
}

func sparkMTURule() Rule {
	return Rule{
		ID:        "spark-mtu",
		Title:     "Both twins of a QSFP port have an MTU of 9000",
		Doc:       "compares the MTU of both twins of each used port of a DGX Spark with the plan's, or 9000: at 1500 RDMA packets carry 1024 bytes, and a file of netplan that sets none leaves 1500",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseMTUMismatch,
		Reference: "DGX Spark Networking, network setup; InfiniBand Architecture 1.4, annex A17",
		Facts:     []string{fabric.FactNICs, fabric.FactNICMTU, fabric.FactNetworkFiles},
		Scope:     []Condition{onSpark()},
		DependsOn: []string{"mtu"},
		Node:      judgeSparkMTU,
	}
}

func judgeSparkMTU(in NodeInput) []Verdict {
	want := sparkMTU
	if in.Plan != nil && in.Plan.MTU > 0 {
		want = in.Plan.MTU
	}
	var out []Verdict
	for i := range in.view.spark.Ports {
		p := &in.view.spark.Ports[i]
		if !p.Used() {
			continue
		}
		for t := range p.Twins {
			v := in.judgeTwinMTU(p, t, want)
			v.Subject = fabric.NICSubject(in.Facts.Node, p.Twins[t].Label())
			out = append(out, v)
		}
	}
	if len(out) > 0 {
		return out
	}
	return in.eachQSFP(func(*spark.QSFP) Verdict { return Verdict{} }) // none is in use
}

func (in NodeInput) judgeTwinMTU(p *spark.QSFP, t, want int) Verdict {
	tw := &p.Twins[t]
	name := tw.Label() + " of port " + in.Facts.Node + " " + p.Title()
	expected := strconv.Itoa(want) + " bytes on both twins"
	if tw.MTU == 0 {
		return Verdict{Expected: expected, Why: in.why("MTU of "+name+" was not read", fabric.FactNICMTU+" "+tw.NIC, fabric.FactNICs)}
	}
	seen := []fabric.Evidence{saw(tw.MTUFrom, tw.Label()+" mtu "+strconv.Itoa(tw.MTU))}
	if tw.MTU >= want {
		return pass(expected, seen...)
	}
	return Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: seen,
		Why:  fmt.Sprintf("%s has an MTU of %d, not %d bytes.", name, tw.MTU, want),
		Cost: "RDMA: " + payloadCost(rocePayload(tw.MTU), rocePayload(want), true) + "; public captures have 92.6 instead of 109 Gb/s on one twin",
		Fix: onNode("mtu: "+strconv.Itoa(want)+" for both twins in the netplan file, then sudo netplan apply; now: sudo ip link set dev "+fabric.ShellWord(tw.Label())+
			" mtu "+strconv.Itoa(want), in.Facts.Node),
	}
}
