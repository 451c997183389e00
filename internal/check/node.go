package check

import (
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
	"railwright.dev/railwright/internal/topology"
)

// NodeInput is the input of a node rule.
type NodeInput struct {
	Facts *fabric.Facts
	Plan  *NodePlan       // nil without a plan, or for a node that is not in it
	Pods  *podPlan        // nil where no plan has pods
	Site  *fabric.VSphere // nil where no plan has ESX hosts

	view *nodeView
}

// nodeView is what many rules need, found once per node.
type nodeView struct {
	pci       map[string]*fabric.PCIDevice // by address
	nics      []string                     // of the fabric
	ports     []portAt                     // of the fabric
	cards     []string                     // PCI functions of the fabric's NICs and RDMA devices
	ends      []string                     // PCI functions between which GPU traffic runs: GPUs and cards
	spark     *spark.Spark                 // of a DGX Spark; nil: the machine is none, or nothing shows it
	functions *topology.PCIFunctions       // with what is below each; nil: no rule has asked yet

	used []bool // entries of Missing that a rule looked up; nil: none

	reads func(path string) bool // whether a rule that applies to the node reads a fact

	verdicts []Verdict // room for more of them; none: it is allocated
}

// room returns an empty list for this many verdicts, which lasts until those of the node are settled: of 16,384 nodes there are
// millions.
func (in NodeInput) room(n int) []Verdict {
	if n > len(in.view.verdicts) {
		return make([]Verdict, 0, n)
	}
	list := in.view.verdicts[:0:n]
	in.view.verdicts = in.view.verdicts[n:]
	return list
}

// use marks an entry of Missing as looked up by a rule.
func (v *nodeView) use(entry int) {
	for len(v.used) <= entry {
		v.used = append(v.used, false)
	}
	v.used[entry] = true
}

func (v *nodeView) isUsed(entry int) bool { return entry < len(v.used) && v.used[entry] }

// portAt is an RDMA port of the fabric and where it sits.
type portAt struct {
	hca  *fabric.HCA
	port *fabric.Port
	nic  string // its interface; empty where none is known
	name string // hca/number, as `rdma link` writes it

	subject fabric.Subject
	on      []fabric.Subject // the interface
}

func newNodeInput(f *fabric.Facts, p *NodePlan) NodeInput {
	in := NodeInput{Facts: f, Plan: p, view: &nodeView{}}
	if len(f.PCI) > 0 {
		in.view.pci = make(map[string]*fabric.PCIDevice, len(f.PCI))
		for i := range f.PCI {
			in.view.pci[f.PCI[i].Address] = &f.PCI[i]
		}
	}
	if n := spark.Read(f); n.Is() || p != nil && p.onSpark() {
		in.view.spark = &n
	}
	in.view.nics = in.findNICs()
	in.view.ports = in.findPorts()
	in.view.cards = in.findCards()
	in.view.ends = in.findEnds()
	return in
}

// nic finds an interface by its name.
func (in NodeInput) nic(name string) (*fabric.NIC, bool) {
	for i := range in.Facts.NICs {
		if in.Facts.NICs[i].Name == name {
			return &in.Facts.NICs[i], true
		}
	}
	return nil, false
}

// why returns the reason of an unknown: what is unknown, and what the facts report about its absence.
func (in NodeInput) why(unknown string, what ...string) string {
	if m, ok := in.missing(what...); ok {
		return unknown + ": " + m.Reason + " (" + m.Source + ")"
	}
	return unknown
}

// missing finds the first of some facts that could not be read, and marks every entry about it as used.
func (in NodeInput) missing(what ...string) (found fabric.Missing, ok bool) {
	for _, w := range what {
		for i, m := range in.Facts.Missing {
			if m.What != w {
				continue
			}
			in.view.use(i)
			if !ok {
				found, ok = m, true
			}
		}
	}
	return found, ok
}

// eachPlanned judges every planned NIC; one that is not in the facts is unknown (nic-present reports it).
func (in NodeInput) eachPlanned(judge func(*fabric.NIC) Verdict) []Verdict {
	return in.each(in.Plan.NICs, judge)
}

func (in NodeInput) each(names []string, judge func(*fabric.NIC) Verdict) []Verdict {
	out := in.room(len(names))
	for _, name := range names {
		subject := fabric.NICSubject(in.Facts.Node, name)
		nic, ok := in.nic(name)
		if !ok {
			why := in.why("the facts of "+in.Facts.Node+" show no "+name, fabric.FactNICs)
			out = append(out, unknown(subject, why))
			continue
		}
		v := judge(nic)
		v.Subject = subject
		if first, ok := in.darkPort(nic); ok {
			v.On = append(v.On, first)
		}
		out = append(out, v)
	}
	return out
}

// findNICs names the NICs of the fabric: the planned ones, else those with an RDMA device.
func (in NodeInput) findNICs() []string {
	if in.Plan != nil {
		return in.Plan.NICs
	}
	var names []string
	for i := range in.Facts.NICs {
		if _, ok := in.hcaOf(&in.Facts.NICs[i]); ok {
			names = append(names, in.Facts.NICs[i].Name)
		}
	}
	return names
}

// hca finds an RDMA device by its name.
func (in NodeInput) hca(name string) (*fabric.HCA, bool) {
	for i := range in.Facts.HCAs {
		if in.Facts.HCAs[i].Name == name {
			return &in.Facts.HCAs[i], true
		}
	}
	return nil, false
}

// ethernet names the NICs of the fabric that are Ethernet: an interface over InfiniBand (IPoIB) shows neither the state
// nor the MTU of its port. Planned NICs of RoCE must be Ethernet.
func (in NodeInput) ethernet() []string {
	if in.Plan != nil {
		return in.view.nics
	}
	var names []string
	for _, name := range in.view.nics {
		if nic, ok := in.nic(name); !ok || !in.overInfiniBand(nic) {
			names = append(names, name)
		}
	}
	return names
}

// hardwareInfiniBand is the length of an IPoIB link-layer address as text: 20 bytes (RFC 4391, 9.1.1).
const hardwareInfiniBand = 20*3 - 1

func (in NodeInput) overInfiniBand(nic *fabric.NIC) bool {
	if len(nic.MAC) == hardwareInfiniBand {
		return true
	}
	h, ok := in.hcaOf(nic)
	return ok && len(h.Ports) > 0 && !slices.ContainsFunc(h.Ports, func(p fabric.Port) bool { return p.LinkLayer != linkLayer(fabric.InfiniBand) })
}

// hcaOf finds the RDMA device of a NIC: on the same PCI function, or naming the NIC in its GID table.
func (in NodeInput) hcaOf(nic *fabric.NIC) (*fabric.HCA, bool) {
	for i := range in.Facts.HCAs {
		if h := &in.Facts.HCAs[i]; serves(h, nic) {
			return h, true
		}
	}
	return nil, false
}

func serves(h *fabric.HCA, nic *fabric.NIC) bool {
	if h.PCI != "" && h.PCI == nic.PCI {
		return true
	}
	for i := range h.Ports {
		for _, g := range h.Ports[i].GIDs {
			if g.NetDev == nic.Name {
				return true
			}
		}
	}
	return false
}

// nicOf finds the interface of an RDMA device. With a plan only the devices of planned NICs are ours; a plan
// for InfiniBand may name the devices themselves.
func (in NodeInput) nicOf(h *fabric.HCA) (nic string, ours bool) {
	for i := range in.Facts.NICs {
		n := &in.Facts.NICs[i]
		if serves(h, n) && (in.Plan == nil || slices.Contains(in.Plan.NICs, n.Name)) {
			return n.Name, true
		}
	}
	return "", in.Plan == nil || slices.Contains(in.Plan.NICs, h.Name)
}

func (in NodeInput) findPorts() []portAt {
	if len(in.Facts.HCAs) == 0 {
		return nil
	}
	ports := make([]portAt, 0, len(in.Facts.HCAs))
	for i := range in.Facts.HCAs {
		h := &in.Facts.HCAs[i]
		nic, ours := in.nicOf(h)
		if !ours {
			continue
		}
		for k := range h.Ports {
			p := portAt{hca: h, port: &h.Ports[k], nic: nic, name: h.Name + "/" + strconv.Itoa(h.Ports[k].Number)}
			p.subject = portSubject(in.Facts.Node, p.name)
			p.on = interfaceOf(in.Facts.Node, nic)
			ports = append(ports, p)
		}
	}
	return ports
}

// eachPort judges every RDMA port of the fabric, of one link layer where one is named.
func (in NodeInput) eachPort(layer string, judge func(portAt) Verdict) []Verdict {
	out := in.room(len(in.view.ports))
	for _, p := range in.view.ports {
		var v Verdict
		switch {
		case layer == "" || p.port.LinkLayer == layer:
			v = judge(p)
		case p.port.LinkLayer == "":
			v = Verdict{Why: in.portWhy("link layer of "+in.Facts.Node+":"+p.name+" was not read", fabric.FactPortLinkLayer, p)}
		default:
			continue
		}
		v.Subject = p.subject
		if v.On == nil {
			v.On = p.on
		}
		out = append(out, v)
	}
	if len(out) > 0 {
		return out
	}
	why := "no RDMA port of " + in.Facts.Node + " was seen"
	switch {
	case len(in.view.ports) > 0:
		why = "no RDMA port of " + in.Facts.Node + " is " + layer
	case in.Plan != nil && len(in.Facts.HCAs) > 0:
		why = "none of the " + strconv.Itoa(len(in.Facts.HCAs)) + " RDMA devices of " + in.Facts.Node + " belongs to a planned NIC"
	}
	return []Verdict{unknown(fabric.NodeSubject(in.Facts.Node), in.why(why, fabric.FactHCAs))}
}

func portSubject(node, port string) fabric.Subject {
	return fabric.Subject{Kind: "port", Node: node, Port: port}
}

// interfaceOf returns the interface of a port, where it is known.
func interfaceOf(node, nic string) []fabric.Subject {
	if nic == "" {
		return nil
	}
	return []fabric.Subject{fabric.NICSubject(node, nic)}
}

// portWhy returns why a field of a port is unknown.
func (in NodeInput) portWhy(unknown, fact string, p portAt) string {
	return in.why(unknown, fact+" "+p.name, fact, fabric.FactPorts+" "+p.hca.Name, fabric.FactHCAs)
}

// sysfs returns the path of a field of a port.
func (p portAt) sysfs(field string) string {
	return "/sys/class/infiniband/" + p.hca.Name + "/ports/" + strconv.Itoa(p.port.Number) + "/" + field
}

// findCards lists the PCI functions of the fabric's NICs and RDMA devices, each once.
func (in NodeInput) findCards() []string {
	var out []string
	for _, name := range in.view.nics {
		if nic, ok := in.nic(name); ok && nic.PCI != "" {
			out = addOnce(out, nic.PCI)
		}
	}
	for _, p := range in.view.ports {
		if p.hca.PCI != "" {
			out = addOnce(out, p.hca.PCI)
		}
	}
	if role, _ := in.Facts.HostRole(); role != fabric.HostOfVMs {
		return out
	}
	for i := range in.Facts.PCI { // what its virtual machines have is of the fabric, and has neither interface nor RDMA device here
		if d := &in.Facts.PCI[i]; d.GivenAway() && d.IsNetwork() {
			out = addOnce(out, d.Address)
		}
	}
	return out
}

// findEnds lists the GPUs, then the cards, each once.
func (in NodeInput) findEnds() []string {
	if len(in.Facts.GPUs) == 0 {
		return in.view.cards
	}
	var out []string
	for i := range in.Facts.GPUs {
		if address := in.Facts.GPUs[i].PCI; address != "" {
			out = addOnce(out, address)
		}
	}
	for _, address := range in.view.cards {
		out = addOnce(out, address)
	}
	return out
}

// eachFunction judges PCI functions; one that was not read is unknown.
func (in NodeInput) eachFunction(addresses []string, judge func(*fabric.PCIDevice) Verdict) []Verdict {
	out := in.room(len(addresses))
	for _, address := range addresses {
		var v Verdict
		if d, ok := in.view.pci[address]; ok {
			v = judge(d)
		} else {
			v.Why = in.why("PCI function "+in.Facts.Node+":"+address+" was not read", fabric.FactPCI+" "+address, fabric.FactPCI)
		}
		v.Subject = fabric.PCISubject(in.Facts.Node, address)
		out = append(out, v)
	}
	return out
}

// pciWhy returns why a field of a PCI function is unknown.
func (in NodeInput) pciWhy(unknown, fact, address string) string {
	return in.why(unknown, fact+" "+address, fact, fabric.FactPCI)
}

// asNode returns a verdict about the node as a whole.
func (in NodeInput) asNode(v Verdict) []Verdict {
	v.Subject = fabric.NodeSubject(in.Facts.Node)
	return append(in.room(1), v)
}
