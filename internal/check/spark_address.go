package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

func sparkSubnets() Rule {
	return Rule{
		ID:    "spark-subnets",
		Title: "No two functions of a DGX Spark's NIC share a subnet",
		Doc: "compares the IPv4 subnets of all twins of a DGX Spark: with two in one subnet the kernel answers ARP and routes by any of them, " +
			"and each cable is a network of its own",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseARPFlux,
		Reference: "DGX Spark Networking, network setup (not the same subnet on both twins)",
		Facts:     []string{fabric.FactNICs, fabric.FactNICAddresses, fabric.FactPortGIDs, fabric.FactNetworkFiles},
		Scope:     []Condition{onSpark()},
		Node:      judgeSparkSubnets,
	}
}

// twinAddress is an address and its twin.
type twinAddress struct {
	twin    *spark.Half
	port    int
	address spark.Address
}

func sparkAddresses(n *spark.Spark) []twinAddress {
	var out []twinAddress
	for p := range n.Ports {
		for t := range n.Ports[p].Twins {
			tw := &n.Ports[p].Twins[t]
			for _, a := range tw.Addresses {
				out = append(out, twinAddress{tw, p, a})
			}
		}
	}
	return out
}

func judgeSparkSubnets(in NodeInput) []Verdict {
	all := sparkAddresses(in.view.spark)
	var out []Verdict
	for i, a := range all {
		v := in.judgeSubnet(all, i)
		v.Subject = fabric.NICSubject(in.Facts.Node, a.twin.Label())
		out = append(out, v)
	}
	if len(out) > 0 {
		return out
	}
	return in.asNode(Verdict{Why: in.why("no IPv4 address of a QSFP port of "+in.Facts.Node+" was seen", fabric.FactNICAddresses, fabric.FactNICs)})
}

func (in NodeInput) judgeSubnet(all []twinAddress, i int) Verdict {
	const want = "a subnet that no other function of the NIC has"
	own := all[i]
	seen := []fabric.Evidence{saw("address of "+own.twin.Label(), own.address.String())}
	for k, other := range all {
		if k == i || other.twin == own.twin || !own.address.Subnet().Overlaps(other.address.Subnet()) {
			continue
		}
		if in.guardedTwins(own.twin, other.twin) {
			continue
		}
		seen = append(seen, saw("address of "+other.twin.Label(), other.address.String()))
		sure, probably := "are in one subnet", ""
		if !own.address.Masked || !other.address.Masked {
			probably = ": the text does not show their netmask, of which /24 is the usual one; separate they are only with /" + narrower(own.address, other.address) + " or longer"
			sure = "are probably in one subnet"
		}
		if own.address.Masked && own.address.Prefix.Bits() < 24 {
			probably = fmt.Sprintf("; a /%d is also wider than the 24 bits that NCCL compares in a mesh", own.address.Prefix.Bits())
		}
		what := "twins of port " + spark.PortName(own.port)
		if own.port != other.port {
			what = "functions of two ports"
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: seen,
			Why:  fmt.Sprintf("%s %s (%s) and %s (%s), %s, %s%s.", in.Facts.Node, own.twin.Label(), own.address, other.twin.Label(), other.address, what, sure, probably),
			Cost: "ARP and routes take either of them: peers reach the wrong function, connections time out or share one PCIe link",
			Fix:  onNode("a subnet for each twin of each cable, for example 10.0.1.0/24 and 10.0.2.0/24, in the netplan file; then sudo netplan apply", in.Facts.Node),
		}
	}
	return pass(want, seen...)
}

// guardedTwins reports whether somebody set arp_ignore on both, so that each answers for itself alone.
func (in NodeInput) guardedTwins(a, b *spark.Half) bool {
	x, ok := in.nic(a.NIC)
	y, too := in.nic(b.NIC)
	return ok && too && guarded(x) && guarded(y) && in.Plan != nil
}

// narrower is the shortest prefix length that has two addresses in different subnets.
func narrower(a, b spark.Address) string {
	for bits := 25; bits <= 32; bits++ {
		if netip.PrefixFrom(a.Prefix.Addr(), bits).Masked() != netip.PrefixFrom(b.Prefix.Addr(), bits).Masked() {
			return fmt.Sprint(bits)
		}
	}
	return "32"
}

func sparkFiles() Rule {
	return Rule{
		ID:    "spark-netplan",
		Title: "One file configures both twins of each QSFP port",
		Doc: "reads the files of netplan of a DGX Spark: a port that only one twin of is configured, one that two files configure, " +
			"and one that an automatic connection of NetworkManager holds beside them",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseHalfPortTwin,
		Reference: "DGX Spark Networking, network setup; netplan(5), renderer; NetworkManager.conf(5), no-auto-default",
		Facts:     []string{fabric.FactNetworkFiles, fabric.FactNICOwner},
		Scope:     []Condition{withHardware(), onSpark()},
		Node:      judgeSparkFiles,
	}
}

func judgeSparkFiles(in NodeInput) []Verdict {
	files := in.Facts.NetworkFiles
	n := in.view.spark
	if len(files) == 0 {
		if v, ok := in.ownedByManager(); ok {
			return []Verdict{v}
		}
		return in.asNode(Verdict{Why: in.why("files of netplan of "+in.Facts.Node+" were not read", fabric.FactNetworkFiles)})
	}
	var out []Verdict
	for p := range n.Ports {
		port := &n.Ports[p]
		of := map[int][]string{}
		for t := range port.Twins {
			of[t] = filesOf(files, port.Twins[t].NIC)
		}
		if len(of[0])+len(of[1]) == 0 {
			continue
		}
		v := in.judgePortFiles(port, of)
		v.Subject = qsfp(n.Name, p)
		out = append(out, v)
	}
	if len(out) > 0 {
		return out
	}
	return in.asNode(Verdict{Why: in.why("no file of netplan that was read configures a QSFP port of "+in.Facts.Node, fabric.FactNetworkFiles)})
}

// filesOf are the files that configure an interface; one without a path is "netplan".
func filesOf(files []fabric.NetworkFile, nic string) []string {
	var out []string
	for i := range files {
		if slices.ContainsFunc(files[i].Interfaces, func(in fabric.NetworkInterface) bool { return in.Name == nic && nic != "" }) {
			out = append(out, orWord(files[i].Path, "netplan"))
		}
	}
	return out
}

func (in NodeInput) judgePortFiles(p *spark.QSFP, of map[int][]string) Verdict {
	const want = "one file with both twins"
	name := in.Facts.Node + " " + p.Title()
	seen := []fabric.Evidence{}
	for t := range p.Twins {
		seen = append(seen, saw("netplan", p.Twins[t].Label()+": "+orWord(strings.Join(of[t], ", "), "in no file")))
	}
	for t := range p.Twins {
		if len(of[t]) > 1 {
			return Verdict{
				Status: fabric.Fail, Cause: fabric.CauseAddressMissing, Expected: want, Evidence: seen,
				Why:  p.Twins[t].Label() + " of port " + name + " is configured by " + strings.Join(of[t], " and ") + ": netplan merges them, and the later name wins.",
				Cost: "addresses and MTU that the other file sets come back at every netplan apply",
				Fix:  onNode("keep one of the files: sudo mv "+fabric.ShellWord(of[t][0])+" "+fabric.ShellWord(of[t][0]+".off")+" && sudo netplan apply", in.Facts.Node),
			}
		}
	}
	for t := range p.Twins {
		if len(of[t]) == 0 && p.Used() {
			other := 1 - t
			return Verdict{
				Status: fabric.Fail, Expected: want, Evidence: seen,
				Why: fmt.Sprintf("%s configures %s of port %s and not its twin %s on PCI domain 000%d: only one twin is addressed, and the MTU of the other stays as it is.",
					of[other][0], p.Twins[other].Label(), name, p.Twins[t].Label(), 2*t),
				Cost: "half of the port where a job uses what has an address; RDMA of the other twin at an MTU of 1500",
				Fix:  onNode("add "+fabric.ShellWord(twinName(p, t))+" with mtu: 9000 and an address in a subnet of its own, or link-local: [ipv4], to "+fabric.ShellWord(of[other][0])+"; then sudo netplan apply", in.Facts.Node),
			}
		}
	}
	return pass(want, seen...)
}

// twinName is the interface of a twin, by the name that the kernel would give it where it was not seen.
func twinName(p *spark.QSFP, t int) string {
	if p.Twins[t].NIC != "" {
		return p.Twins[t].NIC
	}
	return fmt.Sprintf("en%sp1s0f%dnp%d", []string{"", "P2"}[t], p.Number, p.Number)
}

// ownedByManager judges ports that NetworkManager's automatic connections hold; ok is false where none does.
func (in NodeInput) ownedByManager() (v Verdict, ok bool) {
	n := in.view.spark
	for p := range n.Ports {
		for t := range n.Ports[p].Twins {
			tw := &n.Ports[p].Twins[t]
			if !strings.HasPrefix(tw.Profile, "Wired connection ") {
				continue
			}
			return Verdict{
				Subject: qsfp(n.Name, p), Status: fabric.Fail, Cause: fabric.CauseAddressMissing, Expected: "no automatic connection on a QSFP port",
				Evidence: []fabric.Evidence{saw("nmcli device status", tw.NIC+" "+tw.Profile)},
				Why:      "NetworkManager holds " + tw.Label() + " of port " + n.Name + " " + spark.PortName(p) + " by the connection \"" + tw.Profile + "\", which it made by itself with DHCP.",
				Cost:     "it takes back what a file of netplan or a command sets",
				Fix:      onNode("sudo nmcli device set "+fabric.ShellWord(tw.Label())+" managed no, or give the port a connection with its address", in.Facts.Node),
			}, true
		}
	}
	return v, false
}

func sparkDHCP() Rule {
	return Rule{
		ID:    "spark-dhcp",
		Title: "No QSFP port takes its address or the default route by DHCP",
		Doc: "looks for default routes over the QSFP ports of a DGX Spark, and for DHCP in the files that configure them: the DHCP server of a switch " +
			"gives all twins addresses in one subnet, and the way to the internet",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRouteMissing,
		Reference: "DGX Spark Networking, network setup (dhcp4: no)",
		Facts:     []string{fabric.FactRoutes, fabric.FactNetworkFiles},
		Scope:     []Condition{onSpark()},
		Node:      judgeSparkDHCP,
	}
}

func judgeSparkDHCP(in NodeInput) []Verdict {
	const want = "no default route and no DHCP on a QSFP port"
	n := in.view.spark
	for p := range n.Ports {
		for t := range n.Ports[p].Twins {
			if v, ok := in.judgeTwinDHCP(n.Ports[p].Twins[t].NIC, want); ok {
				v.Subject = qsfp(n.Name, p)
				return []Verdict{v}
			}
		}
	}
	if _, cut := in.missing(fabric.FactRoutes); cut || len(in.Facts.Routes) == 0 {
		return in.asNode(Verdict{Why: in.why("routes of "+in.Facts.Node+" were not read", fabric.FactRoutes)})
	}
	return in.asNode(pass(want, saw("ip route", fabric.Count(len(in.Facts.Routes), "route")+", no default route by a QSFP port")))
}

func (in NodeInput) judgeTwinDHCP(nic, want string) (v Verdict, ok bool) {
	if nic == "" {
		return v, false
	}
	fix := onNode("dhcp4: no and an address in the netplan file of "+fabric.ShellWord(nic)+", then sudo netplan apply; and DHCP off on the switch", in.Facts.Node)
	for _, r := range in.Facts.Routes {
		if r.NIC == nic && r.Destination.Bits() == 0 && r.Destination.Addr().Is4() {
			return Verdict{
				Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw("ip route", "default via "+r.Gateway.String()+" dev "+nic)},
				Why:  in.Facts.Node + " has a default route over " + nic + ", a QSFP port: something on that cable answers DHCP, or somebody set a gateway.",
				Cost: "downloads and SSH may go over the fabric, and all twins get addresses in one subnet", Fix: fix,
			}, true
		}
	}
	for i := range in.Facts.NetworkFiles {
		for _, f := range in.Facts.NetworkFiles[i].Interfaces {
			if f.Name == nic && f.DHCP4 != nil && *f.DHCP4 {
				return Verdict{
					Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw(orWord(in.Facts.NetworkFiles[i].Path, "netplan"), nic+" dhcp4: true")},
					Why:  nic + ", a QSFP port of " + in.Facts.Node + ", asks for its address by DHCP.",
					Cost: "on a cable nobody answers; a switch gives all twins addresses in one subnet, and a default route", Fix: fix,
				}, true
			}
		}
	}
	return v, false
}
