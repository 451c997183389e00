package intent

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

// sparkMTU is the MTU of both twins of a port, bytes ("DGX Spark Networking", network setup).
const sparkMTU = 9000

// sparkFromFacts writes the cluster file of DGX Sparks: this one, and the others of which facts were given. What was found
// is in the file, what was not is in comments. The error says what to plug or give where no port has a cable.
func sparkFromFacts(name string, all []*fabric.Facts) ([]byte, error) {
	var machines []spark.Spark
	for _, f := range all {
		machines = append(machines, spark.Read(f))
	}
	found := spark.Of(machines)
	own := &machines[0]
	if own.NoNIC {
		return nil, fmt.Errorf("host %q is a DGX Spark without a QSFP cable: its NIC is not on PCI, because DGX OS takes it away to save power while no cable is plugged; "+
			"it is not dead. Plug the cable, wait 10 seconds and run railwright init again; or start from an example: spark-pair, spark-switch, spark-mesh", own.Name)
	}
	ports := cabledPorts(own)
	if len(ports) == 0 {
		return nil, fmt.Errorf("host %q is a DGX Spark, and neither of its QSFP ports has a cable that is up: plug one, check the far end, and run railwright init again; "+
			"or start from an example: spark-pair, spark-switch, spark-mesh", own.Name)
	}
	for i := range machines {
		if err := checkHostName(machines[i].Name); err != nil {
			return nil, err
		}
		if !machines[i].Is() {
			return nil, fmt.Errorf("host %q is not a DGX Spark, and %q is", machines[i].Name, own.Name)
		}
	}
	return writeSpark(name, all[0], inOrder(machines, found.Cables), &found), nil
}

// inOrder sorts the machines of a ring as a plan cables them: port 0 of each to port 1 of the next. Any others, and those of a
// ring that is cabled otherwise, stay as they are.
func inOrder(machines []spark.Spark, cables []spark.Cable) []spark.Spark {
	next := make(map[string]string, len(cables))
	for _, c := range cables {
		switch {
		case c.A.Port == 0 && c.B.Port == 1:
			next[c.A.Node] = c.B.Node
		case c.A.Port == 1 && c.B.Port == 0:
			next[c.B.Node] = c.A.Node
		}
	}
	var sorted []spark.Spark
	for at := machines[0].Name; len(sorted) < len(machines); at = next[at] {
		i := slices.IndexFunc(machines, func(n spark.Spark) bool { return n.Name == at })
		if i < 0 || slices.ContainsFunc(sorted, func(n spark.Spark) bool { return n.Name == at }) {
			return machines
		}
		sorted = append(sorted, machines[i])
	}
	return sorted
}

// cabledPorts are the ports with a cable.
func cabledPorts(n *spark.Spark) []*spark.QSFP {
	var out []*spark.QSFP
	for i := range n.Ports {
		if c := n.Ports[i].Cabled(); c != nil && *c {
			out = append(out, &n.Ports[i])
		}
	}
	return out
}

// writeSpark writes one group for machines whose cabled interfaces are alike, as most are.
func writeSpark(name string, f *fabric.Facts, machines []spark.Spark, found *spark.Fabric) []byte {
	var b bytes.Buffer
	own := &machines[slices.IndexFunc(machines, func(n spark.Spark) bool { return n.Name == f.Node })]
	fmt.Fprintf(&b, "# DGX Spark, as found on %s (%s).\n", plain(own.Name), plain(own.By))
	fmt.Fprintf(&b, "apiVersion: %s\nkind: Cluster\nmetadata:\n  name: %q\n\nplatform: spark\nlauncher: ssh\n\nnodes:\n", fabric.APIVersion, name)
	for _, l := range topologyLines(found, len(machines)) {
		fmt.Fprintf(&b, "# %s\n", plain(l))
	}
	for _, l := range peerLines(f, own) {
		fmt.Fprintf(&b, "# %s\n", plain(l))
	}
	for first := 0; first < len(machines); {
		end := first + 1
		for end < len(machines) && cabledNICs(&machines[end]) == cabledNICs(&machines[first]) {
			end++
		}
		writeSparks(&b, machines[first:end])
		first = end
	}
	b.WriteString("\nfabric:\n  kind: roce\n")
	fmt.Fprintf(&b, "  mtu: %d                   # bytes, on both twins of a port\n", sparkMTU)
	b.WriteString("  # A /24 for each twin of each cable, taken from the pool. Change the pool if it overlaps a network of yours.\n")
	fmt.Fprintf(&b, "  addressing: {scheme: %s, pool: %s}\n", fabric.Twin24, defaultPool())
	if found.Topology == spark.Switch {
		b.WriteString("  leaf: {model: crs812-ddq}   # the switch of the document; see: railwright catalog switches\n")
	}
	return b.Bytes()
}

// writeSparks writes a group of machines whose cabled interfaces are alike, with what was found on the first of them.
func writeSparks(b *bytes.Buffer, machines []spark.Spark) {
	var hosts []string
	for i := range machines {
		hosts = append(hosts, machines[i].Name)
	}
	fmt.Fprintf(b, "- names: %q\n  machine: dgx-spark\n", strings.Join(hosts, ","))
	for i := range machines[0].Ports {
		writePort(b, &machines[0].Ports[i])
	}
	fmt.Fprintf(b, "  nics: %q\n  # ssh: {user: NAME}         # the user created at first boot\n", cabledNICs(&machines[0]))
}

// cabledNICs are the interfaces of the ports with a cable, with commas; where that was not read of a machine, of both ports.
func cabledNICs(n *spark.Spark) string {
	ports := cabledPorts(n)
	if len(ports) == 0 {
		for i := range n.Ports {
			ports = append(ports, &n.Ports[i])
		}
	}
	var nics []string
	for _, p := range ports {
		for t := range p.Twins {
			if p.Twins[t].NIC != "" {
				nics = append(nics, p.Twins[t].NIC)
			}
		}
	}
	return strings.Join(nics, ",")
}

// writePort says of a port what was found.
func writePort(b *bytes.Buffer, p *spark.QSFP) {
	c := p.Cabled()
	switch {
	case c == nil:
		fmt.Fprintf(b, "  # port %d: whether a cable is plugged was not read\n", p.Number)
		return
	case !*c:
		fmt.Fprintf(b, "  # port %d: no cable; left out\n", p.Number)
		return
	}
	for t := range p.Twins {
		tw := &p.Twins[t]
		line := fmt.Sprintf("port %d, twin %d: %s is %s at PCI %s", p.Number, t+1, orNone(tw.NIC, "an interface that was not seen"), orNone(tw.HCA, "an RDMA device that was not seen"), tw.PCI)
		if tw.Up != nil && !*tw.Up {
			line += ", and it is down while the other twin is up"
		}
		if tw.MTU != 0 && tw.MTU != sparkMTU {
			line += fmt.Sprintf(", mtu %d now", tw.MTU)
		}
		for _, a := range tw.Addresses {
			line += ", " + a.String() + " now"
		}
		fmt.Fprintf(b, "  # %s\n", plain(line))
	}
}

func orNone(text, none string) string {
	if text == "" {
		return none
	}
	return text
}

// topologyLines say how the machines are cabled, and what is wrong with it.
func topologyLines(found *spark.Fabric, machines int) []string {
	var out []string
	switch {
	case machines < 2:
		out = append(out, "One machine. Add the others to names, for example spark,spark2: a pair by one cable, two to eight by a switch, three in a mesh.")
	case found.Topology == spark.NoTopology:
		out = append(out, "How these machines are cabled was not found: no LLDP neighbour, no MAC address and no shared subnet joins two of their ports.")
	default:
		out = append(out, "Cabled as a "+string(found.Topology)+": "+orNone(spark.List(found.Cables), "all in one network")+".")
	}
	for _, fault := range found.Faults {
		out = append(out, "WRONG: "+fault.Say+" "+fault.Fix+".")
	}
	return out
}

// mostPeers bounds the lines about them: a wired network may be a whole office.
const mostPeers = 16

// peerLines name who was heard: on the QSFP ports by LLDP, and on the wired network.
func peerLines(f *fabric.Facts, own *spark.Spark) []string {
	var out []string
	for _, s := range own.Seen {
		if s.System != "" {
			out = append(out, fmt.Sprintf("heard on port %d by LLDP: %s, its port %s", s.Port, s.System, s.FarPort))
		}
	}
	for _, n := range f.Neighbours {
		if isWired(n.NIC) && n.Address.Is4() && n.MAC != "" && n.State != "FAILED" {
			out = append(out, fmt.Sprintf("a machine on the wired network of %s: %s (%s)", n.NIC, n.Address, n.MAC))
		}
	}
	for _, l := range f.LLDP {
		if isWired(l.NIC) {
			out = append(out, fmt.Sprintf("heard on %s by LLDP: %s", l.NIC, l.System))
		}
	}
	out = slices.Compact(out)
	if len(out) == 0 {
		return []string{"No other machine was heard: by LLDP on the QSFP ports, or in the neighbour table of the 10G port."}
	}
	return out[:min(len(out), mostPeers)]
}

// isWired knows the 10G port of a DGX Spark by its name, which is that of PCI domain 7.
func isWired(nic string) bool { return strings.HasPrefix(nic, "enP7") }
