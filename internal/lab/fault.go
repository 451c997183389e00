package lab

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"syscall"

	"railwright.dev/railwright/internal/fabric"
)

// Fault is something to break: a kind, and the NICs that it affects.
type Fault struct {
	Kind string            `json:"kind"`
	NICs []fabric.Endpoint `json:"nics"`
}

// String writes the fault as the --fault flag takes it.
func (f Fault) String() string {
	var nics []string
	for _, n := range f.NICs {
		nics = append(nics, n.String())
	}
	return f.Kind + "=" + strings.Join(nics, ",")
}

// FaultKind is a kind of fault: what it does, the cause that a check must then report, and how many NICs
// belong together in one (0: any number, each on its own).
type FaultKind struct {
	Name  string
	Doc   string
	Cause fabric.CauseID
	Pair  bool                        // takes two NICs; with one named, the next NIC of the host is its partner
	Ports bool                        // it moves cables, after which the lab has to settle
	fits  func(s Spec, f Fault) error // of a kind that not every set of NICs can have
	plant func(s Spec, open networks, f Fault) error
	moves func(s Spec, f Fault) Spec // the cables after it, of a kind that moves plugs: all interfaces of a port together
}

// FaultKinds lists the faults that can be planted, in the order in which they are: first where the cables go, then
// what is configured on the NICs, then what is missing there. So a fault finds what it changes as the plan has it.
func FaultKinds() []FaultKind {
	return []FaultKind{
		{Name: "swap-cable", Doc: "two cables are exchanged at the leaf", Cause: fabric.CauseMiscabled, Pair: true, Ports: true,
			fits: func(s Spec, _ Fault) error { return s.withoutTwins() }, plant: plantSwapCable, moves: Spec.swapCables},
		{Name: "swap-port", Doc: "the host's two plugs are in each other's ports", Cause: fabric.CauseMiscabled, Ports: true, fits: Spec.fitsSwapPort, plant: plantMoves, moves: Spec.swapPorts},
		{Name: "same-peer", Doc: "both ports of the two hosts lead to each other", Cause: fabric.CauseMiscabled, Ports: true, fits: Spec.fitsSamePeer, plant: plantMoves, moves: Spec.samePeer},
		{Name: "foreign", Doc: "the port leads to a machine that is not in the plan", Cause: fabric.CauseMiscabled, Ports: true, fits: Spec.fitsCables, plant: plantMoves, moves: Spec.toStranger},
		{Name: "unplugged", Doc: "the cable of the port is pulled", Cause: fabric.CauseLinkDown, Ports: true, fits: Spec.fitsTwins, plant: plantMoves, moves: Spec.unplug},
		{Name: "one-subnet", Doc: "the NIC's subnet includes that of another NIC on the same layer 2, or its address is in the subnet of its twin", Cause: fabric.CauseARPFlux, Pair: true,
			fits: Spec.fitsOneSubnet, plant: plantOneSubnet},
		{Name: "cross-twins", Doc: "the two interfaces of the port have each other's address", Cause: fabric.CauseAddressMissing, fits: Spec.fitsCrossTwins, plant: plantCrossTwins},
		{Name: "one-layer2", Doc: "the NICs' subnets share one layer 2, and any NIC of the host answers ARP for any other", Cause: fabric.CauseARPFlux,
			fits: func(s Spec, f Fault) error { return errors.Join(s.withoutTwins(), wholeHosts(f)) }, plant: plantOneLayer2},
		{Name: "printed-rules", Doc: "the NICs have the policy rules that the RoCE guide prints for /31 subnets, added in this order", Cause: fabric.CauseRouteMissing,
			fits: func(s Spec, f Fault) error { return errors.Join(wholeHosts(f), s.pointToPoint(f)) }, plant: plantPrintedRules},
		{Name: "address", Doc: "the NIC has another address than the planned one", Cause: fabric.CauseAddressMissing, plant: each(plantAddress)},
		{Name: "mtu", Doc: "the NIC's MTU is 1500", Cause: fabric.CauseMTUMismatch, plant: each(plantMTU)},
		{Name: "route", Doc: "the route of the NIC's table is gone", Cause: fabric.CauseRouteMissing,
			fits: func(s Spec, _ Fault) error { return s.withTables() }, plant: each(plantRoute)},
		{Name: "down", Doc: "the NIC is set down", Cause: fabric.CauseLinkDown, plant: each(plantDown)},
	}
}

// ParseFaults reads faults that are to be planted together. Two that change the same of one NIC are an error.
func (s Spec) ParseFaults(texts []string) ([]Fault, error) {
	var faults []Fault
	for _, text := range texts {
		f, err := s.ParseFault(text)
		if err != nil {
			return nil, err
		}
		for _, other := range faults {
			if what, nic := s.contradict(f, other); what != "" {
				return nil, fmt.Errorf("fault %q: cannot be planted together with %q: both change %s of %s", text, other, what, nic)
			}
		}
		faults = append(faults, f)
	}
	return faults, nil
}

// contested is what no two faults may change of one NIC; none for kinds that can be planted twice.
func contested(kind string) []string {
	switch kind {
	case "swap-cable", "swap-port", "same-peer", "foreign", "unplugged":
		return []string{"the cable"}
	case "cross-twins":
		return []string{"the address"}
	case "one-subnet":
		return []string{"the address", "the layer 2"}
	case "one-layer2":
		return []string{"the layer 2"}
	case "printed-rules":
		return []string{"the rules"}
	case "address":
		return []string{"the address"}
	}
	return nil
}

// contradict returns what two faults both change, and of which NIC. A NIC with another address is no partner of one-subnet.
func (s Spec) contradict(f, other Fault) (what string, of fabric.Endpoint) {
	if f.Kind == "address" && other.Kind == "address" {
		return "", of
	}
	theirs := s.affected(other)
	for _, what := range contested(f.Kind) {
		if !slices.Contains(contested(other.Kind), what) {
			continue
		}
		for _, nic := range s.affected(f) {
			if slices.Contains(theirs, nic) {
				return what, nic
			}
		}
	}
	return "", of
}

// affected returns the NICs of a fault, and the partner of a pair with one named NIC.
func (s Spec) affected(f Fault) []fabric.Endpoint {
	k, err := faultKind(f.Kind)
	if err != nil || !k.Pair || len(f.NICs) != 1 {
		return f.NICs
	}
	other, err := s.partner(f.NICs[0])
	if err != nil {
		return f.NICs
	}
	return []fabric.Endpoint{f.NICs[0], other}
}

// Stages orders faults for planting: first those that move cables, after which the lab has to settle, then all others.
func Stages(faults []Fault) [][]Fault {
	var stages [][]Fault
	var rest []Fault
	for _, k := range FaultKinds() {
		of := slices.DeleteFunc(slices.Clone(faults), func(f Fault) bool { return f.Kind != k.Name })
		switch {
		case len(of) == 0:
		case k.Ports:
			stages = append(stages, of)
		default:
			rest = append(rest, of...)
		}
	}
	if len(rest) > 0 {
		stages = append(stages, rest)
	}
	return stages
}

// ParseFault reads KIND=HOST[:NIC][,HOST:NIC]... A host without a NIC means all of its NICs, or the first
// two where the kind takes a pair. Unknown kinds, hosts and NICs are errors that list the known ones.
func (s Spec) ParseFault(text string) (Fault, error) {
	kind, where, ok := strings.Cut(text, "=")
	if !ok || where == "" {
		return Fault{}, fmt.Errorf("fault %q: not of the form KIND=HOST[:NIC][,HOST:NIC]", text)
	}
	k, err := faultKind(kind)
	if err != nil {
		return Fault{}, fmt.Errorf("fault %q: %w", text, err)
	}
	f := Fault{Kind: kind}
	for part := range strings.SplitSeq(where, ",") {
		nics, err := s.nics(part, k.Pair)
		if err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", text, err)
		}
		f.NICs = append(f.NICs, nics...)
	}
	if k.Pair && len(f.NICs) > 2 {
		return Fault{}, fmt.Errorf("fault %q: %s takes one NIC or two, not %d", text, kind, len(f.NICs))
	}
	if k.byPort() {
		f.NICs = s.wholePorts(f.NICs)
	}
	for i, nic := range f.NICs {
		if slices.Contains(f.NICs[:i], nic) {
			return Fault{}, fmt.Errorf("fault %q: the same NIC twice: %s", text, nic)
		}
	}
	if k.Pair && len(f.NICs) == 1 {
		if _, err := s.partner(f.NICs[0]); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", text, err)
		}
	}
	if k.fits != nil {
		if err := k.fits(s, f); err != nil {
			return Fault{}, fmt.Errorf("fault %q: %w", text, err)
		}
	}
	return f, nil
}

func faultKind(name string) (FaultKind, error) {
	var known []string
	for _, k := range FaultKinds() {
		if k.Name == name {
			return k, nil
		}
		known = append(known, k.Name)
	}
	return FaultKind{}, fabric.UnknownName("kind", name, known)
}

func (s Spec) nics(where string, pair bool) ([]fabric.Endpoint, error) {
	node, nic, named := strings.Cut(where, ":")
	i := slices.IndexFunc(s.Hosts, func(h hostSpec) bool { return h.Name == node })
	if i < 0 {
		return nil, fmt.Errorf("host %q: not in the lab; known: %s", node, strings.Join(s.hostNames(), ", "))
	}
	all := s.Hosts[i].NICs
	if named && !slices.Contains(all, nic) {
		return nil, fmt.Errorf("NIC %q: not on host %q; known: %s", nic, node, strings.Join(all, ", "))
	}
	if named {
		return []fabric.Endpoint{{Node: node, NIC: nic}}, nil
	}
	if pair {
		all = all[:min(2, len(all))]
	}
	var nics []fabric.Endpoint
	for _, n := range all {
		nics = append(nics, fabric.Endpoint{Node: node, NIC: n})
	}
	return nics, nil
}

func (s Spec) hostNames() []string {
	var names []string
	for _, h := range s.Hosts {
		names = append(names, h.Name)
	}
	return names
}

// machineNames are those of the hosts, then of the others.
func (s Spec) machineNames() []string { return append(s.hostNames(), s.others()...) }

// others are the machines that announce themselves beside the hosts: the leaf, and one that is not in the plan.
func (s Spec) others() (names []string) {
	if s.Leaf != "" {
		names = append(names, s.Leaf)
	}
	if s.Stranger {
		names = append(names, strangerName)
	}
	return names
}

// orders is what the process inside the lab reads that plants faults.
type orders struct {
	Spec    Spec           `json:"spec"`
	PIDs    map[string]int `json:"pids"`
	Planted []Fault        `json:"planted,omitempty"` // before
	Faults  []Fault        `json:"faults"`
}

// PlantFaults plants the faults that it reads from its standard input. It runs inside the lab, beside the keeper.
func PlantFaults(in io.Reader) (err error) {
	var o orders
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("faults: %w", err)
	}
	open, err := openNetworks(o.PIDs)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	cabled := o.Spec.recabled(o.Planted)
	for _, f := range o.Faults {
		k, err := faultKind(f.Kind)
		if err != nil {
			return err
		}
		if err := k.plant(cabled, open, f); err != nil {
			return fmt.Errorf("fault %s: %w", f, err)
		}
		cabled = cabled.recabled([]Fault{f})
	}
	return nil
}

// recabled returns the specification with the cables where the planted faults have moved them.
func (s Spec) recabled(planted []Fault) Spec {
	for _, f := range planted {
		if k, err := faultKind(f.Kind); err == nil && k.moves != nil {
			s = k.moves(s, f)
		}
	}
	return s
}

// oneHost is an error where two NICs of a fault are of different hosts.
func oneHost(f Fault) error {
	if len(f.NICs) == 2 && f.NICs[0].Node != f.NICs[1].Node {
		return errors.New("both NICs must be of one host")
	}
	return nil
}

func each(plant func(Spec, networks, fabric.Endpoint) error) func(Spec, networks, Fault) error {
	return func(s Spec, open networks, f Fault) error {
		for _, nic := range f.NICs {
			if err := plant(s, open, nic); err != nil {
				return err
			}
		}
		return nil
	}
}

// wrongMTU is the Ethernet default that a NIC falls back to when it is not configured, in bytes.
const wrongMTU = 1500

func plantMTU(_ Spec, open networks, nic fabric.Endpoint) error {
	return open[nic.Node].SetMTU(nic.NIC, wrongMTU)
}

func plantDown(_ Spec, open networks, nic fabric.Endpoint) error {
	return open[nic.Node].SetUp(nic.NIC, false)
}

func plantRoute(s Spec, open networks, nic fabric.Endpoint) error {
	a, ok := s.address(nic)
	if !ok {
		return fmt.Errorf("%s has no address in the plan", nic)
	}
	destination := netip.PrefixFrom(netip.IPv4Unspecified(), 0)
	if !a.Gateway.IsValid() {
		destination = a.Address.Masked()
	}
	err := open[nic.Node].DeleteRoute(a.Table, destination, a.Gateway, nic.NIC)
	if errors.Is(err, syscall.ESRCH) {
		return nil // removed already: the kernel removes the routes of a NIC that another fault set down
	}
	return err
}
