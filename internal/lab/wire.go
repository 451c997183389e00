package lab

import (
	"errors"
	"fmt"

	"railwright.dev/railwright/internal/host"
)

// networks are the open network namespaces of the lab, by machine.
type networks map[string]network

// network is the open network namespace of a machine, and the process that holds its namespaces.
type network struct {
	*host.Network
	pid int
}

func openNetworks(pids map[string]int) (networks, error) {
	open := make(networks)
	for name, pid := range pids {
		n, err := host.OpenNetwork(fmt.Sprintf("/proc/%d/ns/net", pid))
		if err != nil {
			return nil, errors.Join(err, open.close())
		}
		open[name] = network{n, pid}
	}
	return open, nil
}

func (n networks) close() error {
	var errs []error
	for _, network := range n {
		errs = append(errs, network.Close())
	}
	return errors.Join(errs...)
}

// wire adds every cable and configures the leaf, where there is one; the hosts stay unconfigured,
// as before the first apply.
func (s Spec) wire(pids map[string]int) (err error) {
	open, err := openNetworks(pids)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, open.close()) }()
	for _, c := range s.Cables {
		if err := open[c.A.Node].AddCable(c.A.NIC, open[c.B.Node].Network, c.B.NIC); err != nil {
			return err
		}
	}
	if s.Leaf != "" {
		if err := s.wireLeaf(open); err != nil {
			return err
		}
	}
	if s.Admin {
		return s.wireAdmin(open)
	}
	return nil
}

// wireLeaf configures the leaf and adds its cables.
func (s Spec) wireLeaf(open networks) error {
	leaf := open[s.Leaf].Network
	for _, b := range s.Bridges {
		if err := errors.Join(leaf.AddBridge(b.Name), leaf.SetMTU(b.Name, leafMTU), leaf.SetUp(b.Name, true)); err != nil {
			return err
		}
		if b.Address.IsValid() {
			if err := leaf.AddAddress(b.Name, b.Address); err != nil {
				return err
			}
		}
	}
	for _, p := range s.Ports {
		if err := leaf.AddCable(p.Name, open[p.Cable.Node].Network, p.Cable.NIC); err != nil {
			return err
		}
		if err := p.configure(leaf); err != nil {
			return err
		}
	}
	return nil
}

func (p portSpec) configure(leaf *host.Network) error {
	if err := leaf.SetMTU(p.Name, leafMTU); err != nil {
		return err
	}
	if p.Bridge != "" {
		if err := leaf.SetMaster(p.Name, p.Bridge); err != nil {
			return err
		}
	}
	if err := leaf.SetUp(p.Name, true); err != nil {
		return err
	}
	if p.Address.IsValid() {
		return leaf.AddAddress(p.Name, p.Address)
	}
	return nil
}
