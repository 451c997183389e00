package check_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/host"

	"railwright.dev/railwright/internal/fabric"
)

const pciFolder = "/sys/bus/pci/devices/"

// synthetic is a host in memory, of which the committed recordings are made.
type synthetic struct {
	files, links, commands map[string]string
	dumps                  map[string][]byte
}

func (synthetic) Name() string { return "host1" }

func (h synthetic) ReadFile(name string) ([]byte, error) {
	if text, ok := h.files[name]; ok {
		return []byte(text), nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

func (h synthetic) ReadDir(name string) ([]string, error) {
	var names []string
	for _, m := range []map[string]string{h.files, h.links} {
		for path := range m {
			if rest, ok := strings.CutPrefix(path, name+"/"); ok {
				first, _, _ := strings.Cut(rest, "/")
				names = append(names, first)
			}
		}
	}
	if names == nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (h synthetic) ReadLink(name string) (string, error) {
	if target, ok := h.links[name]; ok {
		return target, nil
	}
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrNotExist}
}

func (h synthetic) Dump(_ context.Context, messageType uint16, family uint8) ([]byte, error) {
	return h.dumps[fmt.Sprintf("%d %d", messageType, family)], nil
}

func (h synthetic) Output(_ context.Context, c host.Command) ([]byte, error) {
	if text, ok := h.commands[strings.Join(c.Argv, " ")]; ok {
		return []byte(text), nil
	}
	return nil, &exec.Error{Name: c.Argv[0], Err: exec.ErrNotFound}
}

// space is the start of a PCI configuration space: one capability list, one extended capability behind it.
type space []byte

// Offsets of the capabilities and of the registers that edits change (PCIe 5.0, 7.5.3 and 7.7.8).
const (
	expressAt, extendedAt         = 0x40, 0x100
	deviceControl, linkCapability = expressAt + 0x08, expressAt + 0x0c
	linkStatus, extendedControl   = expressAt + 0x12, extendedAt + 6
	spaceSize                     = extendedAt + 16

	gen5x16, gen5x8, gen3x16 = 16<<4 | 5, 8<<4 | 5, 16<<4 | 3 // width and speed code of a link register
	endpoint, rootPort       = 0, 4                           // device/port types
	upstream, downstream     = 5, 6
	capabilityACS, absent    = 0x000d, 0
	capabilityATS            = 0x000f
)

// newSpace runs at 32 GT/s x16, sends 256 and asks for 512 bytes, with 256 tags and relaxed ordering.
func newSpace(vendor, device uint16, kind byte, extended uint32, control uint16) space {
	s := make(space, spaceSize)
	binary.LittleEndian.PutUint16(s, vendor)
	binary.LittleEndian.PutUint16(s[2:], device)
	s[0x06], s[0x34] = 1<<4, expressAt // status: has a capability list, which starts there
	if kind != endpoint {
		s[0x0e] = 1 // header of a bridge
	}
	s[expressAt], s[expressAt+2] = 0x10, kind<<4
	binary.LittleEndian.PutUint16(s[deviceControl:], 2<<12|1<<8|1<<5|1<<4)
	binary.LittleEndian.PutUint32(s[linkCapability:], gen5x16)
	binary.LittleEndian.PutUint16(s[linkStatus:], gen5x16)
	if extended != absent {
		binary.LittleEndian.PutUint32(s[extendedAt:], 1<<16|extended)
		s[extendedAt+4] = 0x5f
		binary.LittleEndian.PutUint16(s[extendedControl:], control)
	}
	return s
}

// register changes 16 bits of a space.
func register(at int, value uint16) func(space) space {
	return func(s space) space {
		binary.LittleEndian.PutUint16(s[at:], value)
		return s
	}
}

func cut(size int) func(space) space { return func(s space) space { return s[:size] } }

// card is a PCI function of the host.
type card struct {
	vendor, device uint16
	class, driver  string
}

// addPCI puts behind a root port a switch with a NIC (at 3) and a GPU (at 4) below it.
func (h synthetic) addPCI(rail int, nic, gpu card) {
	at := func(bus int, device string) string { return fmt.Sprintf("0000:%d%d:%s.0", rail, bus, device) }
	way := fmt.Sprintf("../../../devices/pci0000:%d0", rail)
	add := func(address, way string, kind byte, extended uint32, control uint16, c card) string {
		way += "/" + address
		folder := pciFolder + address
		h.links[pciFolder+address] = way
		h.links[folder+"/driver"] = "../../../../bus/pci/drivers/" + c.driver
		h.links[folder+"/iommu_group"] = fmt.Sprintf("../../../../kernel/iommu_groups/%d", rail)
		for name, text := range map[string]string{
			"class": c.class, "vendor": fmt.Sprintf("0x%04x", c.vendor), "device": fmt.Sprintf("0x%04x", c.device), "numa_node": fmt.Sprint(rail - 1),
		} {
			h.files[folder+"/"+name] = text + "\n"
		}
		h.files[folder+"/config"] = string(newSpace(c.vendor, c.device, kind, extended, control))
		return way
	}
	bridge := card{0x1000, 0xc030, "0x060400", "pcieport"}
	way = add(at(0, "01"), way, rootPort, capabilityACS, 1, bridge)
	way = add(at(1, "00"), way, upstream, capabilityACS, 1, bridge)
	add(at(3, "00"), add(at(2, "00"), way, downstream, capabilityACS, 1, bridge), endpoint, capabilityATS, 0, nic)
	add(at(4, "00"), add(at(2, "01"), way, downstream, capabilityACS, 1, bridge), endpoint, absent, 0, gpu)
	h.files[fmt.Sprintf("/sys/kernel/iommu_groups/%d/type", rail)] = "identity\n"
}

// newSynthetic has what both hosts have.
func newSynthetic(t testing.TB, n network, product string) synthetic {
	t.Helper()
	h := synthetic{links: map[string]string{}, commands: map[string]string{
		"nft -j list tables": `{"nftables": [{"metainfo": {"version": "1.0.9", "release_name": "Old Doc Yak #3", "json_schema_version": 1}}, {"table": {"family": "inet", "name": "filter", "handle": 1}}]}` + "\n",
		"nft list ruleset":   "table inet filter {\n\tchain input {\n\t\ttype filter hook input priority filter; policy accept;\n\t\ttcp dport 22 accept\n\t}\n}\n",
	}, dumps: n.dumps(t), files: map[string]string{
		"/sys/class/dmi/id/sys_vendor": "Dell Inc.\n", "/sys/class/dmi/id/product_name": product + "\n", "/sys/class/dmi/id/bios_version": "2.5.4\n",
		"/proc/cpuinfo":                                            "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\nmodel name\t: INTEL(R) XEON(R) PLATINUM 8568Y+\nflags\t\t: fpu vme lahf_lm\n",
		"/proc/meminfo":                                            "MemTotal:       2113548288 kB\nMemFree:        2000000000 kB\nSwapTotal:             0 kB\n",
		"/proc/self/limits":                                        "Limit                     Soft Limit           Hard Limit           Units     \nMax locked memory         unlimited            unlimited            bytes     \n",
		"/proc/sys/kernel/osrelease":                               "6.8.0-60-generic\n",
		"/proc/cmdline":                                            "ro iommu=pt\n",
		"/proc/sys/kernel/numa_balancing":                          "0\n",
		"/proc/sys/net/ipv4/neigh/default/gc_thresh3":              "1024\n",
		"/etc/os-release":                                          "PRETTY_NAME=\"Ubuntu 24.04.2 LTS\"\n",
		"/sys/devices/system/node/online":                          "0-1\n",
		"/sys/devices/system/cpu/online":                           "0-95\n",
		"/sys/devices/system/cpu/present":                          "0-95\n",
		"/sys/devices/system/cpu/smt/control":                      "on\n",
		"/sys/devices/system/cpu/cpufreq/policy0/scaling_governor": "performance\n",
		"/dev/infiniband/uverbs0":                                  "", "/dev/infiniband/uverbs1": "", "/dev/infiniband/rdma_cm": "",
		"/run/systemd/netif/state": "OPER_STATE=routable\n",
		"/run/lldpd.socket":        "",
		"/usr/lib/os-release":      "", "/usr/local/bin/x": "", // that the folders are there
		"/var/lib/dpkg/status":       "",
		"/run/systemd/netif/links/2": "ADMIN_STATE=configured\n", "/run/systemd/netif/links/3": "ADMIN_STATE=configured\n",
		fabric.ACSUnitFile:          "[Unit]\n",
		fabric.ACSResultFile:        `{"apiVersion":"railwright.dev/v1alpha1","kind":"ACSResult","state":"cleared","reason":"","bridges":8,"cleared":[],"left":[]}` + "\n",
		"/proc/net/ip_tables_names": "nat\n",
	}}
	for _, name := range []string{"all", "lo", n.nics[1].Name, n.nics[2].Name} {
		for key, value := range map[string]string{"arp_ignore": "0", "arp_announce": "0", "rp_filter": map[bool]string{true: "0", false: "2"}[name == "all"]} {
			h.files["/proc/sys/net/ipv4/conf/"+name+"/"+key] = value + "\n"
		}
	}
	h.files["/sys/class/net/lo/address"] = "00:00:00:00:00:00\n"
	h.links["/sys/class/net/lo"] = "../../devices/virtual/net/lo"
	return h
}
