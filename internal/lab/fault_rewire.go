package lab

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// plantMoves moves plugs. A cable is a veth pair, so the interfaces at both of its ends go and come again, as after a hot plug;
// what configures them on a real host does so here.
func plantMoves(s Spec, open networks, f Fault) error {
	if s.Leaf != "" {
		return s.unplugAtLeaf(open, f)
	}
	after := s.recabled([]Fault{f})
	for _, c := range s.Cables {
		if slices.Contains(after.Cables, c) {
			continue
		}
		if err := open[c.A.Node].DeleteLink(c.A.NIC); err != nil {
			return err
		}
	}
	panel, err := host.OpenNetwork("") // of the keeper: nothing else is in it
	if err != nil {
		return err
	}
	defer func() { _ = panel.Close() }() // the process ends soon
	for _, c := range after.Cables {
		if slices.Contains(s.Cables, c) {
			continue
		}
		if err := s.lay(panel, open, c); err != nil {
			return err
		}
	}
	return nil
}

// lay adds a cable. The far end of one that leads nowhere stays down: its interface has no carrier.
func (s Spec) lay(panel *host.Network, open networks, c cableSpec) error {
	var err error
	if c.B == (fabric.Endpoint{}) {
		err = panel.AddCable(s.loose(c.A), open[c.A.Node].Network, c.A.NIC)
	} else {
		err = open[c.A.Node].AddCable(c.A.NIC, open[c.B.Node].Network, c.B.NIC)
	}
	for _, end := range []fabric.Endpoint{c.A, c.B} {
		if err == nil && end != (fabric.Endpoint{}) {
			err = s.hotPlug(open, end)
		}
	}
	return err
}

// loose is the name of the far end of a cable that leads nowhere.
func (s Spec) loose(nic fabric.Endpoint) string {
	n := 0
	for _, port := range s.Twins {
		for _, end := range ends(port) {
			n++
			if end == nic {
				return fmt.Sprintf("loose%d", n)
			}
		}
	}
	return "loose"
}

// hotPlug does what a host's udev does with a new interface: its sysctls are set again (systemd-sysctl). systemd-networkd finds
// it by itself; where that does not run, the interface is configured as planned.
func (s Spec) hotPlug(open networks, nic fabric.Endpoint) error {
	machine := open[nic.Node]
	if nic.Node == strangerName {
		return machine.SetUp(nic.NIC, true)
	}
	if err := machine.sysctlsAgain(nic.NIC); err != nil {
		return err
	}
	root := fmt.Sprintf("/proc/%d/root", machine.pid)
	if entries, err := os.ReadDir(root + "/run/systemd/netif/links"); err == nil && len(entries) > 0 {
		return nil
	}
	a, ok := s.address(nic)
	if !ok {
		return machine.SetUp(nic.NIC, true)
	}
	return errors.Join(machine.SetMTU(nic.NIC, s.MTU), machine.SetUp(nic.NIC, true), machine.AddAddress(nic.NIC, a.Address))
}

// sysctlsAgain sets the rendered kernel settings of an interface.
func (n network) sysctlsAgain(nic string) error {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/root/etc/sysctl.d/60-railwright.conf", n.pid))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	prefix := "net.ipv4.conf." + strings.ReplaceAll(nic, ".", "/") + "."
	for line := range strings.Lines(string(text)) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), " = ")
		if name, ours := strings.CutPrefix(key, prefix); ok && ours {
			if err := n.SetSysctl("ipv4/conf/"+nic+"/"+name, value); err != nil {
				return err
			}
		}
	}
	return nil
}

// unplugAtLeaf sets the leaf's side of ports down.
func (s Spec) unplugAtLeaf(open networks, f Fault) error {
	for _, nic := range f.NICs {
		p, ok := s.port(nic)
		if !ok {
			return fmt.Errorf("%s is not cabled", nic)
		}
		if err := errors.Join(open[s.Leaf].SetUp(p.Name, false), open.noticeUnplugged(nic)); err != nil {
			return err
		}
	}
	return nil
}
