package check

import (
	"net/netip"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func gidRoCEv2() Rule {
	return Rule{
		ID:        "gid-roce-v2",
		Title:     "Each NIC's address is in the GID table as RoCE v2",
		Doc:       "looks for each fabric NIC's address (the planned one) as a GID of type RoCE v2 on its RDMA device: connections use these GIDs",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseGIDIndex,
		Reference: "Broadcom RoCE guide 2.6 no. 9; InfiniBand Architecture 1.4, annex A17; kernel documentation, ABI/stable/sysfs-class-infiniband, gid_attrs",
		Facts:     []string{fabric.FactHCAs, fabric.FactPorts, fabric.FactPortGIDs, fabric.FactPortGIDAttributes, fabric.FactNICAddresses},
		Scope:     []Condition{withAddresses(), onRoCE(), withHardware(), withOwnAddresses(), withRDMA()},
		DependsOn: []string{"nic-rdma", "address", "link-layer", "pod-nic-ready"},
		Node:      judgeGIDRoCEv2,
	}
}

// typeRoCEv2 is the kernel's name for the type of a GID that uses UDP.
const typeRoCEv2 = "RoCE v2"

func judgeGIDRoCEv2(in NodeInput) []Verdict {
	return in.each(in.ethernet(), func(nic *fabric.NIC) Verdict {
		name := in.Facts.Node + ":" + nic.Name
		address, ok := in.addressOf(nic)
		if !ok {
			return Verdict{Why: in.why("no address of "+name+" was seen, so its GID cannot be searched for", fabric.FactNICAddresses)}
		}
		h, ok := in.hcaOf(nic)
		if !ok {
			return Verdict{Why: in.why("RDMA device of "+name+" was not seen", fabric.FactHCAs)}
		}
		want := address.String() + " as " + typeRoCEv2
		source := "/sys/class/infiniband/" + h.Name + "/ports/*/gids"
		index, kind := findGID(h, nic, address)
		switch {
		case index >= 0 && kind == typeRoCEv2:
			return pass(want, saw(source, "index "+strconv.Itoa(index)+", "+kind))
		case gids(h) == 0 || index >= 0 && kind == "":
			return Verdict{Why: in.why("GID table of "+in.Facts.Node+":"+h.Name+" was not read", fabric.FactPortGIDs+" "+h.Name+"/1", fabric.FactPortGIDAttributes+" "+h.Name+"/1", fabric.FactPortGIDs)}
		}
		v := Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw(source, strconv.Itoa(gids(h))+" entries, none of "+address.String()+" as "+typeRoCEv2)},
			Why:  "The GID table of " + h.Name + " does not contain " + address.String() + ", the address of " + name + ", as " + typeRoCEv2 + ".",
			Cost: "no RDMA connection from this address",
			Fix:  onNode("rdma link show "+fabric.ShellWord(h.Name)+"/1; ip address show dev "+fabric.ShellWord(nic.Name)+"; show_gids "+fabric.ShellWord(h.Name), in.Facts.Node),
		}
		if index >= 0 {
			v.Evidence = []fabric.Evidence{saw(source, "index "+strconv.Itoa(index)+", "+kind)}
			v.Fix = onNode("cma_roce_mode -d "+fabric.ShellWord(h.Name)+" -p 1 -m 2; the device must offer "+typeRoCEv2+" (firmware setting of its RoCE mode)", in.Facts.Node)
		}
		return v
	})
}

// addressOf returns the planned address of a NIC, else its first global IPv4 address.
func (in NodeInput) addressOf(nic *fabric.NIC) (netip.Addr, bool) {
	if in.Plan != nil {
		if a, ok := in.Plan.address(nic.Name); ok {
			return a.Address.Addr(), true
		}
	}
	for _, p := range nic.Addresses {
		if p.Addr().Is4() && p.Addr().IsGlobalUnicast() {
			return p.Addr(), true
		}
	}
	return netip.Addr{}, false
}

// findGID finds an address in the GID table of a NIC's RDMA device, as RoCE v2 where it is one;
// index -1 where it is absent. An IPv4 address is written ::ffff:a.b.c.d.
func findGID(h *fabric.HCA, nic *fabric.NIC, address netip.Addr) (index int, kind string) {
	index = -1
	want := address.As16()
	for i := range h.Ports {
		for _, g := range h.Ports[i].GIDs {
			if g.NetDev != "" && g.NetDev != nic.Name {
				continue
			}
			if have, err := netip.ParseAddr(g.GID); err != nil || have.As16() != want {
				continue
			}
			if g.Type == typeRoCEv2 {
				return g.Index, g.Type
			}
			if index < 0 {
				index, kind = g.Index, g.Type
			}
		}
	}
	return index, kind
}

func gids(h *fabric.HCA) (n int) {
	for i := range h.Ports {
		n += len(h.Ports[i].GIDs)
	}
	return n
}
