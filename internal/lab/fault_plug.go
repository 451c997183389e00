package lab

import (
	"errors"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Faults of plugs: all interfaces of a port move together.

// strangerName is the host name of the machine that is not in the plan.
const strangerName = "stranger"

// byPort reports whether a kind concerns whole ports of machines whose ports have twins.
func (k FaultKind) byPort() bool {
	return k.moves != nil && k.Name != "swap-cable" || k.Name == "cross-twins"
}

// wholePorts adds to interfaces the others of their ports.
func (s Spec) wholePorts(nics []fabric.Endpoint) (all []fabric.Endpoint) {
	for _, nic := range nics {
		port, ok := s.portOf(nic)
		if !ok {
			return nics
		}
		for _, e := range ends(port) {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// ends are the interfaces of a port.
func ends(p fabric.NodePort) (all []fabric.Endpoint) {
	for _, t := range p.Twins {
		all = append(all, fabric.Endpoint{Node: p.Node, NIC: t.NIC})
	}
	return all
}

// portsOf lists the ports of interfaces, each once.
func (s Spec) portsOf(nics []fabric.Endpoint) (ports []fabric.NodePort) {
	for _, nic := range nics {
		port, ok := s.portOf(nic)
		same := func(p fabric.NodePort) bool { return p.Node == port.Node && p.Number == port.Number }
		if ok && !slices.ContainsFunc(ports, same) {
			ports = append(ports, port)
		}
	}
	return ports
}

func (s Spec) withoutTwins() error {
	if len(s.Twins) > 0 {
		return errors.New("not where ports have several interfaces: swap-port and same-peer move their plugs")
	}
	return nil
}

func (s Spec) withTables() error {
	if len(s.Twins) > 0 {
		return errors.New("nothing is routed here: the NICs have no tables")
	}
	return nil
}

func (s Spec) fitsTwins(Fault) error {
	if len(s.Twins) == 0 {
		return errors.New("only where ports have several interfaces (DGX Spark)")
	}
	return nil
}

// fitsCables is an error where the hosts are not cabled to each other.
func (s Spec) fitsCables(f Fault) error {
	if err := s.fitsTwins(f); err != nil || len(s.Cables) > 0 {
		return err
	}
	return errors.New("not on a switch: any of its ports will do")
}

// fitsSwapPort is an error unless a fault names both ports of one host.
func (s Spec) fitsSwapPort(f Fault) error {
	if err := s.fitsCables(f); err != nil {
		return err
	}
	ports := s.portsOf(f.NICs)
	if len(ports) != 2 || ports[0].Node != ports[1].Node {
		return errors.New("swap-port takes one host with two cabled ports")
	}
	return nil
}

// fitsSamePeer is an error unless a fault names both ports of two neighbours.
func (s Spec) fitsSamePeer(f Fault) error {
	if err := s.fitsCables(f); err != nil {
		return err
	}
	ports := s.portsOf(f.NICs)
	if len(ports) != 4 || ports[0].Node != ports[1].Node || ports[2].Node != ports[3].Node {
		return errors.New("same-peer takes two hosts with two cabled ports each")
	}
	joined := 0
	for _, port := range ports[:2] {
		if far, ok := s.farOf(ends(port)[0]); ok && far.Node == ports[2].Node {
			joined++
		}
	}
	if joined != 1 {
		return fmt.Errorf("%s and %s must be joined by one cable in the plan", ports[0].Node, ports[2].Node)
	}
	return nil
}

// farOf is the other end of a cable between hosts.
func (s Spec) farOf(nic fabric.Endpoint) (fabric.Endpoint, bool) {
	for _, c := range s.Cables {
		switch nic {
		case c.A:
			return c.B, c.B != fabric.Endpoint{}
		case c.B:
			return c.A, true
		}
	}
	return fabric.Endpoint{}, false
}

// pull takes the cables of interfaces away: both ends are then loose.
func (s Spec) pull(nics ...fabric.Endpoint) Spec {
	var cables []cableSpec
	for _, c := range s.Cables {
		if !slices.Contains(nics, c.A) && !slices.Contains(nics, c.B) {
			cables = append(cables, c)
			continue
		}
		for _, end := range []fabric.Endpoint{c.A, c.B} {
			if end != (fabric.Endpoint{}) && end.Node != strangerName {
				cables = append(cables, cableSpec{A: end})
			}
		}
	}
	s.Cables = cables
	return s
}

// plug joins the interfaces of two ports, which were loose.
func (s Spec) plug(a, b []fabric.Endpoint) Spec {
	s.Cables = slices.DeleteFunc(slices.Clone(s.Cables), func(c cableSpec) bool {
		return slices.Contains(a, c.A) || slices.Contains(b, c.A)
	})
	for i := range min(len(a), len(b)) {
		s.Cables = append(s.Cables, cableSpec{a[i], b[i]})
	}
	return s
}

func (s Spec) unplug(f Fault) Spec { return s.pull(f.NICs...) }

// swapPorts exchanges the plugs of a host.
func (s Spec) swapPorts(f Fault) Spec {
	ports := s.portsOf(f.NICs)
	a, b := ends(ports[0]), ends(ports[1])
	other := func(e fabric.Endpoint) fabric.Endpoint {
		if i := slices.Index(a, e); i >= 0 {
			return b[i]
		}
		if i := slices.Index(b, e); i >= 0 {
			return a[i]
		}
		return e
	}
	s.Cables = slices.Clone(s.Cables)
	for i, c := range s.Cables {
		s.Cables[i] = cableSpec{other(c.A), other(c.B)}
	}
	return s
}

// samePeer joins the ports of two hosts that no cable joins yet.
func (s Spec) samePeer(f Fault) Spec {
	ports := s.portsOf(f.NICs)
	var free [][]fabric.Endpoint
	for _, port := range ports {
		far, ok := s.farOf(ends(port)[0])
		if ok && far.Node != port.Node && slices.ContainsFunc(ports, func(p fabric.NodePort) bool { return p.Node == far.Node }) {
			continue
		}
		free = append(free, ends(port))
	}
	if len(free) != 2 {
		return s
	}
	return s.pull(slices.Concat(free...)...).plug(free[0], free[1])
}

// toStranger leads ports to the machine that is not in the plan.
func (s Spec) toStranger(f Fault) Spec {
	for i, port := range s.portsOf(f.NICs) {
		var there []fabric.Endpoint
		for k := range port.Twins {
			there = append(there, fabric.Endpoint{Node: strangerName, NIC: fmt.Sprintf("eno%d", 1+i*len(port.Twins)+k)})
		}
		s = s.pull(ends(port)...).plug(ends(port), there)
	}
	return s
}
