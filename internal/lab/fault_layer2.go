package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"railwright.dev/railwright/internal/host"
)

// hub is the bridge of the leaf that joins what should be apart.
const hub = "one-layer2"

// plantOneLayer2 joins the layer 2 of NICs at the leaf, as a switch does on which the VLANs of the rails are missing, and lets
// their host answer ARP as the kernel does by default: any NIC for the address of any other. Addresses stay as planned.
func plantOneLayer2(s Spec, open networks, f Fault) error {
	leaf := open[s.Leaf].Network
	if err := addHub(leaf); err != nil {
		return err
	}
	for _, nic := range f.NICs {
		port, ok := s.port(nic)
		if !ok {
			return fmt.Errorf("%s is not cabled", nic)
		}
		if err := s.joinHub(leaf, port); err != nil {
			return err
		}
		for _, of := range []string{"all", nic.NIC} { // the kernel takes the higher of the two
			for _, name := range []string{"arp_ignore", "arp_announce"} {
				if err := open[nic.Node].SetSysctl("ipv4/conf/"+of+"/"+name, "0"); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addHub makes the hub; another fault may have made it. It sends no redirects, so that ARP alone is what breaks: one that
// routes back out of the interface that a packet came in by would tell hosts to ask each other directly.
func addHub(leaf *host.Network) error {
	_, err := leaf.Index(hub)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(leaf.AddBridge(hub), leaf.SetMTU(hub, leafMTU), leaf.SetUp(hub, true),
		leaf.SetSysctl("ipv4/conf/all/send_redirects", "0"), leaf.SetSysctl("ipv4/conf/"+hub+"/send_redirects", "0"))
}

// joinHub moves a port into the hub, or all ports of its rail, with the address that was theirs.
func (s Spec) joinHub(leaf *host.Network, port portSpec) error {
	if port.Bridge == "" {
		return errors.Join(leaf.DeleteAddress(port.Name, port.Address), leaf.SetMaster(port.Name, hub), leaf.AddAddress(hub, port.Address))
	}
	for _, b := range s.Bridges {
		if b.Name != port.Bridge || !b.Address.IsValid() {
			continue
		}
		if err := leaf.DeleteAddress(b.Name, b.Address); err != nil && !errors.Is(err, syscall.EADDRNOTAVAIL) { // moved already
			return err
		}
		if err := leaf.AddAddress(hub, b.Address); err != nil {
			return err
		}
	}
	for _, p := range s.Ports {
		if p.Bridge != port.Bridge {
			continue
		}
		if err := leaf.SetMaster(p.Name, hub); err != nil {
			return err
		}
	}
	return nil
}
