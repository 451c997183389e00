package plan

import (
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// vlanBase is the id of the VLAN of a flat network; a rail's is this plus its number, which is also the number of its
// routing table on the hosts. Broadcom 957608-AN209, 2.4.1.3, has VLANs 1 to 8, of which 1 is that of every port that nobody
// set. These ids are below those that EOS takes for routed ports of its own accord, from 1006 on (vlan internal order
// ascending range 1006 1199 is what its configurations have).
const vlanBase = 100

// lastVLAN is the last id that is used, and so limits the number of rails.
const lastVLAN = 1005

// checkVLANs refuses more rails than there are ids.
func checkVLANs(s fabric.Scheme, rails int) error {
	if s == fabric.Rail24 && vlanBase+rails > lastVLAN {
		return fmt.Errorf("fabric.addressing.scheme: rail24 has a VLAN for each rail, %d at most, not %d: use p2p31", lastVLAN-vlanBase, rails)
	}
	return nil
}

// vlansOf returns a function that lists the VLANs of a leaf: one for each rail with rail24, one for all with flat, none
// where ports are routed.
func vlansOf(a fabric.Addressing) func(leaf string) []fabric.VLAN {
	if a.Scheme == fabric.Flat {
		return func(string) []fabric.VLAN { return []fabric.VLAN{{ID: vlanBase, Name: "fabric"}} }
	}
	of := make(map[string][]fabric.VLAN)
	for _, s := range a.Subnets {
		of[s.Switch] = append(of[s.Switch], fabric.VLAN{
			ID: vlanBase + s.Rail, Name: fmt.Sprintf("rail%d", s.Rail), Gateway: netip.PrefixFrom(s.Gateway, s.Prefix.Bits()), Rail: s.Rail,
		})
	}
	return func(leaf string) []fabric.VLAN { return of[leaf] }
}
