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
	Pair  bool // takes two NICs; with one named, the next NIC of the host is its partner
	Ports bool // it moves ports of the leaf, whose lldpd then starts again
	plant func(s Spec, open networks, f Fault) error
}

// FaultKinds lists the faults that can be planted.
func FaultKinds() []FaultKind {
	return []FaultKind{
		{Name: "mtu", Doc: "the NIC's MTU is 1500", Cause: fabric.CauseMTUMismatch, plant: each(plantMTU)},
		{Name: "route", Doc: "the route of the NIC's table is gone", Cause: fabric.CauseRouteMissing, plant: each(plantRoute)},
		{Name: "down", Doc: "the NIC is set down", Cause: fabric.CauseLinkDown, plant: each(plantDown)},
		{Name: "address", Doc: "the NIC has another address than the planned one", Cause: fabric.CauseAddressMissing, plant: each(plantAddress)},
		{Name: "one-subnet", Doc: "the NIC's subnet includes that of another NIC on the same layer 2", Cause: fabric.CauseARPFlux, Pair: true, plant: plantOneSubnet},
		{Name: "swap-cable", Doc: "two cables are exchanged at the leaf", Cause: fabric.CauseMiscabled, Pair: true, Ports: true, plant: plantSwapCable},
	}
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
	if kind == "one-subnet" && len(f.NICs) == 2 && f.NICs[0].Node != f.NICs[1].Node {
		return Fault{}, fmt.Errorf("fault %q: both NICs must be of one host", text)
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

// orders is what the process inside the lab reads that plants faults.
type orders struct {
	Spec   Spec           `json:"spec"`
	PIDs   map[string]int `json:"pids"`
	Faults []Fault        `json:"faults"`
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
	for _, f := range o.Faults {
		k, err := faultKind(f.Kind)
		if err != nil {
			return err
		}
		if err := k.plant(o.Spec, open, f); err != nil {
			return fmt.Errorf("fault %s: %w", f, err)
		}
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
