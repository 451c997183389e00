package junos

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// readSwitched reads the VLAN of packets without a tag: that of an access port, the native one of a trunk.
func (r *reader) readSwitched(p *fabric.PortConfig, n, l2 *junosNode) {
	r.filters(n, l2)
	mode := l2.value("interface-mode")
	if mode == nil {
		mode = l2.value("port-mode")
	}
	if mode != nil && mode.Is == "trunk" {
		for _, native := range []*fabric.Said[string]{n.value("native-vlan-id"), l2.value("native-vlan-id")} {
			if native != nil {
				p.VLAN = r.number(native, "native-vlan-id of "+n.word, 1, 4094)
			}
		}
		r.vlanMembers(l2)
		return
	}
	ids := r.vlanMembers(l2)
	if len(ids) > 1 {
		r.problem(fabric.TextConflict, ids[1].At, n.word+" is an access port with several VLANs", "Junos refuses it")
		r.tag(n)
	}
	if len(ids) > 0 {
		p.VLAN = &ids[0]
	}
}

// vlanMembers returns the VLANs of a port, by name or number.
func (r *reader) vlanMembers(l2 *junosNode) []fabric.Said[int] {
	var out []fabric.Said[int]
	m := l2.kid("vlan", "members")
	if m == nil {
		return nil
	}
	vlans := r.vlans()
	for _, v := range m.values {
		if id, err := strconv.Atoi(v.Is); err == nil && id > 0 && id < 4095 {
			out = append(out, fabric.Said[int]{Is: id, At: v.At})
			continue
		}
		vlan := vlans[v.Is]
		if vlan == nil {
			if len(vlans) > 0 && v.Is != "all" && !strings.Contains(v.Is, "-") {
				r.once(fabric.TextUndefined, v.At, "VLAN "+v.Is+" is defined nowhere", "Junos refuses it")
			}
			continue
		}
		if id := r.number(vlan.value("vlan-id"), "vlan-id of "+v.Is, 1, 4094); id != nil {
			out = append(out, fabric.Said[int]{Is: id.Is, At: v.At})
		}
	}
	return out
}

// vlans returns the VLANs by name, those of routing instances too.
func (r *reader) vlans() map[string]*junosNode {
	if r.byName != nil {
		return r.byName
	}
	r.byName = map[string]*junosNode{}
	for _, in := range append(slices.Clone(r.root.all("routing-instances")), r.root) {
		for _, v := range in.all("vlans") {
			r.byName[v.word] = v
			r.vlanList = append(r.vlanList, v)
		}
	}
	return r.byName
}

// readVLANs reads the VLANs, and what irb has for each.
func (r *reader) readVLANs() {
	r.vlans()
	seen := map[int]*junosNode{}
	for _, v := range r.vlanList {
		id := r.number(v.value("vlan-id"), "vlan-id of "+v.word, 1, 4094)
		if id == nil {
			continue
		}
		if old := seen[id.Is]; old != nil {
			r.problem(fabric.TextDuplicate, id.At, fmt.Sprintf("VLANs %s and %s are both %d", old.word, v.word, id.Is), "Junos refuses it")
			continue
		}
		seen[id.Is] = v
		vlan := fabric.VLANConfig{ID: id.Is, At: v.at}
		if l3 := v.value("l3-interface"); l3 != nil {
			r.readIRB(&vlan, l3)
		}
		r.out.VLANs = append(r.out.VLANs, vlan)
	}
}

func (r *reader) readIRB(vlan *fabric.VLANConfig, l3 *fabric.Said[string]) {
	name, number, _ := strings.Cut(l3.Is, ".")
	irb := r.root.kid("interfaces", name)
	unit := irb.kid("unit", number)
	if unit == nil {
		if r.root.kid("interfaces") != nil {
			r.problem(fabric.TextUndefined, l3.At, l3.Is+" is defined nowhere", "the VLAN has no gateway")
		}
		return
	}
	var p fabric.PortConfig
	r.readUnits(&p, &junosNode{word: l3.Is, by: map[string]*junosNode{"mtu": irb.kid("mtu"), "unit": {kids: []*junosNode{unit}}}})
	vlan.Addresses, vlan.MTU = p.Addresses, p.MTU
}
