package collective

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// ListedNICs returns the hardware with the NICs that NCCL_IB_HCA leaves. Of machines whose ports are several PCI functions each the
// names say which function of which port each is; of others they are counted. why is empty where nothing changes. A list that no cable serves is an
// error. Names that such a machine does not have change nothing: a host may have others.
func ListedNICs(cat *catalog.Catalog, hw fabric.Hardware, env map[string]string) (out fabric.Hardware, why string, err error) {
	list := env["NCCL_IB_HCA"]
	known, _, err := complete(cat, hw)
	nic := cat.NICs[known.NIC]
	if list == "" || err != nil || known.Nodes < 2 { // an error is that of New
		return hw, "", nil
	}
	if !hasTwins(nic) {
		out, why := fewerNICs(hw, known, list)
		return out, why, nil
	}
	used, err := listed(cat, known, list)
	if err != nil || used == nil {
		return hw, "", err
	}
	least, most, all := -1, 0, 0
	for port := range len(used) {
		if n := len(used[port]); least < 0 || n < least {
			least = n
		}
		most, all = max(most, len(used[port])), all+len(used[port])
	}
	source := "NCCL_IB_HCA=" + list
	n := min(most, known.NICsPerNode) // one port has the cable
	switch {
	case ring(known.Wiring) && least == 0:
		return hw, "", fmt.Errorf("%s: names functions of one port only: in a %s both ports lead to neighbours", source, known.Wiring)
	case ring(known.Wiring):
		n = min(2*least, known.NICsPerNode)
	case known.NICsPerNode > nic.Functions: // both have
		n = min(all, known.NICsPerNode)
	}
	if n == known.NICsPerNode {
		return hw, "", nil
	}
	hw.NICsPerNode = n
	hw.Wiring = known.Wiring // the number of NICs says nothing of cables here
	return hw, fmt.Sprintf("%s: data goes through %d of the %d cabled functions of a machine", source, n, known.NICsPerNode), nil
}

// fewerNICs returns the hardware with as many NICs as a list names: each name that ends in a digit is one device, of whatever
// host. Names of several devices by their beginning, or of those that are left out, say nothing without the host.
func fewerNICs(hw, known fabric.Hardware, list string) (out fabric.Hardware, why string) {
	names, exact := strings.CutPrefix(list, "=")
	devices := map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		name, _, _ = strings.Cut(name, ":")
		if strings.TrimSpace(name) != name {
			continue // NCCL strips no blanks: it is the name of no device
		}
		if !oneDevice(name) {
			return hw, ""
		}
		devices[name] = true
	}
	n := len(devices)
	if n == 0 || n >= known.NICsPerNode {
		return hw, ""
	}
	hw.NICsPerNode, hw.NICGbps, hw.NIC, hw.Net = n, known.NICGbps, known.NIC, known.Net
	why = fmt.Sprintf("NCCL_IB_HCA=%s: data goes through at most %d of the %d NICs of a machine", list, n, known.NICsPerNode)
	if !exact { // mlx5_1 is the beginning of mlx5_10
		why += ", if no other name begins as these do: = in front compares whole names"
	}
	return hw, why
}

// oneDevice reports whether a name is that of one RDMA device: drivers and udev end them in a number. mlx4 and mlx5 are how all
// devices of these drivers begin.
func oneDevice(name string) bool {
	if name == "" || name == "mlx4" || name == "mlx5" || strings.ContainsAny(name, "^=") {
		return false
	}
	return name[len(name)-1] >= '0' && name[len(name)-1] <= '9'
}

// listed returns the functions that a list names, by their port; nil where it names none. It follows NCCL: names are prefixes unless =
// stands in front, ^ leaves out, and a colon precedes the number of a port (nccl, src/misc/utils.cc, parseStringList).
func listed(cat *catalog.Catalog, hw fabric.Hardware, list string) (used [][]string, err error) {
	m, err := topology.NominalOf(cat, fabric.Hardware{Machine: machineOf(cat, hw), Nodes: 1})
	if err != nil {
		return nil, err
	}
	list, except := strings.CutPrefix(list, "^")
	list, exact := strings.CutPrefix(list, "=")
	any := false
	for i, n := range m.NICs {
		f, ok := topology.SparkFunction(n.Bus, 1, 1)
		if !ok {
			return nil, nil
		}
		for len(used) <= f.Port {
			used = append(used, nil)
		}
		named := false
		for want := range strings.SplitSeq(list, ",") {
			want, _, _ = strings.Cut(want, ":")
			for _, name := range []string{n.Name, kernelName(m.NICs, i)} {
				named = named || want != "" && (name == want || !exact && strings.HasPrefix(name, want))
			}
		}
		any = any || named
		if named != except {
			used[f.Port] = append(used[f.Port], n.Name)
		}
	}
	if !any {
		return nil, nil
	}
	return used, nil
}

// kernelName is the name of an RDMA device that udev did not rename, as in containers: mlx5_ and its place in PCI order.
func kernelName(nics []topology.NIC, i int) string {
	place := 0
	for _, n := range nics {
		if topology.CompareBus(n.Bus, nics[i].Bus) < 0 {
			place++
		}
	}
	return fmt.Sprintf("mlx5_%d", place)
}

// machineOf is a machine of the catalog with the NIC of the hardware, for the names of its devices.
func machineOf(cat *catalog.Catalog, hw fabric.Hardware) string {
	if hw.Machine != "" {
		return hw.Machine
	}
	id, _, _ := sibling(cat, hw)
	return id
}
