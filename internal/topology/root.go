package topology

// PCIeRoots are the host bridges by the address of each function below them: pci0000:20. Functions whose root is not in the
// source, or that the system hides (NIC.HiddenRoot), are absent.
func (m *Machine) PCIeRoots() map[string]string {
	roots := map[string]string{}
	for _, c := range m.CPUs {
		for _, d := range c.Devices {
			if d.HostBridge != "" {
				d.eachFunction(func(bus string) { roots[bus] = d.HostBridge })
			}
		}
	}
	for _, n := range m.NICs {
		if n.HiddenRoot {
			delete(roots, n.Bus)
		}
	}
	return roots
}

func (d Device) eachFunction(yield func(bus string)) {
	yield(d.Bus)
	for _, c := range d.Children {
		c.eachFunction(yield)
	}
}
