package facts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// networkFiles compares what the files of netplan say of each interface, and the settings that every job gets.
func (d *differ) networkFiles() {
	if !d.unread(fabric.FactNetworkFiles, len(d.a.NetworkFiles), len(d.b.NetworkFiles)) {
		a, b := d.filesByInterface(d.a), d.filesByInterface(d.b)
		for _, name := range slices.Sorted(maps.Keys(union(a, b))) {
			d.compare("netplan", field{rankSetting, isWarning, name, cmp.Or(a[name], absent), cmp.Or(b[name], absent), "what the next netplan apply sets"})
		}
	}
	if d.unread(fabric.FactNCCL, len(d.a.NCCL), len(d.b.NCCL)) {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(union(d.a.NCCL, d.b.NCCL))) {
		d.compare("", field{rankSetting, isWarning, name, cmp.Or(d.a.NCCL[name], absent), cmp.Or(d.b.NCCL[name], absent), "every job on the node gets it"})
	}
}

// filesByInterface writes what files say of an interface. Of two nodes the addresses must differ, so that their number stands there.
func (d *differ) filesByInterface(f *fabric.Facts) map[string]string {
	out := map[string]string{}
	for _, file := range f.NetworkFiles {
		for _, in := range file.Interfaces {
			addresses := fabric.Count(len(in.Addresses), "address")
			if d.identities {
				addresses = prefixWords(in)
			}
			mtu, dhcp := "1500", "off"
			if in.MTU != nil {
				mtu = fmt.Sprint(*in.MTU)
			}
			if in.DHCP4 != nil && *in.DHCP4 {
				dhcp = "on"
			}
			words := fmt.Sprintf("%s %s: %s, mtu %s, dhcp4 %s, link-local %s", file.Path, cmp.Or(file.Renderer, "networkd"), addresses, mtu, dhcp, strings.Join(in.LinkLocal, " "))
			out[in.Name] = strings.TrimPrefix(out[in.Name]+"; "+strings.TrimSpace(words), "; ")
		}
	}
	return out
}

func prefixWords(in fabric.NetworkInterface) string {
	words := make([]string, len(in.Addresses))
	for i, p := range in.Addresses {
		words[i] = p.String()
	}
	return cmp.Or(strings.Join(words, " "), "no address")
}

// hotPlugText is how a DGX Spark treats its NIC without a cable.
func hotPlugText(p *fabric.HotPlug) string {
	if p == nil {
		return unknown
	}
	return strings.TrimSuffix(value(p.Enabled)+", last event "+p.Last, ", last event ")
}
