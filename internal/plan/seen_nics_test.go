package plan

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// seenHost is the facts of a machine with eight NICs of one device.
func seenHost(name string, device uint16, change func(*fabric.Facts)) *fabric.Facts {
	f := &fabric.Facts{Node: name}
	for i := range 8 {
		pci := fmt.Sprintf("0000:%02x:00.0", 16+i)
		f.NICs = append(f.NICs, fabric.NIC{Name: fmt.Sprint("ibs", i), Driver: "mlx5_core", PCI: pci})
		f.PCI = append(f.PCI, fabric.PCIDevice{Address: pci, Vendor: 0x15b3, Device: device})
		f.HCAs = append(f.HCAs, fabric.HCA{Name: fmt.Sprint("mlx5_", i), PCI: pci, Ports: []fabric.Port{{Number: 1, LinkLayer: "InfiniBand"}}})
	}
	if change != nil {
		change(f)
	}
	return f
}

func TestSeeNICs(t *testing.T) {
	both := func(device uint16) []*fabric.Facts {
		return []*fabric.Facts{seenHost("gpu1", device, nil), seenHost("gpu2", device, nil)}
	}
	changed := func(change func(*fabric.Facts)) []*fabric.Facts {
		return []*fabric.Facts{seenHost("gpu1", 0x1021, change), seenHost("gpu2", 0x1021, nil)}
	}
	for name, c := range map[string]struct {
		seen []*fabric.Facts
		want string // devices of the first rail with their source, or a part of the error
	}{
		"as the catalog says":          {both(0x1021), "[1021] facts"},
		"another device":               {both(0x1023), "[1023] facts"},
		"one machine of two":           {both(0x1023)[:1], "[1023 1021] facts of 1 of 2 machines, else catalog"},
		"two devices":                  {[]*fabric.Facts{seenHost("gpu1", 0x1021, nil), seenHost("gpu2", 0x1023, nil)}, "[1021 1023] facts"},
		"PCI ids were not read":        {changed(func(f *fabric.Facts) { f.PCI = nil }), "[1021] facts of 1 of 2 machines, else catalog"},
		"an address that is nowhere":   {changed(func(f *fabric.Facts) { f.NICs[7].PCI = "" }), "[1021] facts of 1 of 2 machines, else catalog"},
		"RDMA devices were not read":   {changed(func(f *fabric.Facts) { f.HCAs = nil }), "[1021] facts"},
		"a driver that was not read":   {changed(func(f *fabric.Facts) { f.NICs[0].Driver = "" }), "[1021] facts"},
		"another driver":               {changed(func(f *fabric.Facts) { f.NICs[3].Driver = "bnxt_en" }), `interface "ibs3" of rail 3: its driver is "bnxt_en", and the machine of the catalog has mlx5_core: correct nodes.machine`},
		"another link":                 {changed(func(f *fabric.Facts) { f.HCAs[0].Ports[0].LinkLayer = "Ethernet" }), "its link is ether, and the fabric needs infiniband"},
		"an interface of another name": {changed(func(f *fabric.Facts) { f.NICs[1].Name = "ib\x1b[31m" }), `interface "ibs1" of rail 1: there is none of this name: correct nodes.nics; there are: "ibs0"`},
		"no interfaces at all":         {changed(func(f *fabric.Facts) { f.NICs = nil }), "there are: none"},
		"interfaces were not read": {changed(func(f *fabric.Facts) {
			f.NICs, f.Missing = nil, []fabric.Missing{{What: "nics", Source: "netlink", Reason: "operation not permitted"}}
		}), "interfaces were not read: operation not permitted"},
		"somebody's machine": {[]*fabric.Facts{seenHost("web1", 0x1021, nil)}, `facts of "web1": no machine of the plan has this name`},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := operated(t, "baremetal", oneHGX, "infiniband", "kubernetes: {nic_driver: shared-device-plugin}\n")
			if err != nil {
				t.Fatal(err)
			}
			err = SeeNICs(p, c.seen)
			got := fmt.Sprintf("%v %s", p.Pods.NICs[0].Devices, p.Pods.NICs[0].Source)
			if err != nil {
				got = err.Error()
				if p.Pods.NICs[0].Source != "catalog" || len(p.Pods.NICs[0].Vendors) == 0 || strings.Contains(got, "\x1b") {
					t.Errorf("half a plan, or an escape: %+v", p.Pods.NICs[0])
				}
			}
			if !strings.Contains(got, c.want) {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	p, err := operated(t, "baremetal", oneHGX, "infiniband", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := SeeNICs(p, both(0x1021)); err == nil || !strings.Contains(err.Error(), "this plan shares none") {
		t.Error(err)
	}
}
