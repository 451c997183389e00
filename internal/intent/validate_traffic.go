package intent

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// roceMTU is the smallest MTU of an interface, in bytes of IP, over which RoCE uses its largest path MTU of 4096: Linux
// takes off the longest headers, whatever a packet has (include/rdma/ib_addr.h, iboe_get_mtu; include/rdma/ib_pack.h):
// 40 of GRH or IPv6, 8 of UDP, 12 of BTH, 4 of XRC, 28 of AtomicETH, 4 of ICRC.
const roceMTU = 4096 + 40 + 8 + 12 + 4 + 28 + 4

// mtu refuses one that RoCE works over at a quarter or half of its packet size.
func (v *validator) mtu() {
	f, at := v.cluster.Fabric, []string{"fabric", "mtu"}
	if f.Kind != fabric.RoCE || f.MTU == 0 || f.MTU >= roceMTU || !v.sound(at, []string{"fabric", "kind"}) {
		return
	}
	v.add(at, fmt.Sprintf("%d bytes is too small for packets of 4096 bytes with their headers, RoCE would send smaller ones: use at least %d, such as %d",
		f.MTU, roceMTU, defaultMTU))
}

func (v *validator) traffic() {
	f := v.cluster.Fabric
	if f.Traffic == nil {
		return
	}
	at := []string{"fabric", "traffic"}
	if f.Kind == fabric.InfiniBand {
		v.add(at, "only RoCE has traffic classes: remove the field")
		return
	}
	if !v.sound(at) {
		return
	}
	t := f.Traffic
	v.dscp(at, *t)
	v.priorities(at, *t)
	v.ecn(step(at, "ecn"), t.ECN)
	if t.Watchdog != nil && !t.Lossless() {
		v.add(step(at, "watchdog"), "pfc is false, and without PFC there is no deadlock to break: remove the field")
	}
}

// dscp refuses values by which RoCE, CNPs and all other packets cannot be told apart.
func (v *validator) dscp(at []string, t Traffic) {
	for name, c := range map[string]*Class{"roce": t.RoCE, "cnp": t.CNP} {
		if c.DSCP == 0 {
			v.add(step(step(at, name), "dscp"), "0 is the DSCP of all other packets: use 1 to 63")
		}
	}
	if t.RoCE.DSCP == t.CNP.DSCP && t.RoCE.Priority != t.CNP.Priority {
		v.add(at, fmt.Sprintf("dscp %d is mapped to priority %d (roce) and to priority %d (cnp): a switch maps a DSCP value to one priority",
			t.RoCE.DSCP, t.RoCE.Priority, t.CNP.Priority))
	}
}

// priorities refuses those in which RoCE or CNPs share a queue. Of two equal ones the field that is written is blamed.
func (v *validator) priorities(at []string, t Traffic) {
	ofRoCE, ofCNP := step(step(at, "roce"), "priority"), step(step(at, "cnp"), "priority")
	harm := "PFC would pause congestion notifications with the data"
	if !t.Lossless() {
		harm = "congestion notifications would wait behind the data"
	}
	switch roce, cnp := t.RoCE.Priority, t.CNP.Priority; {
	case roce == 0 && t.Lossless():
		v.add(ofRoCE, "0 is the priority of all other traffic, which PFC would pause with RoCE: use 1 to 7")
	case roce == 0:
		v.add(ofRoCE, "0 is the priority of all other traffic, which would share RoCE's queue: use 1 to 7")
	case cnp == 0:
		v.add(ofCNP, "0 is the priority of all other traffic, which would share the strict queue of congestion notifications: use 1 to 7")
	case roce == cnp && v.written(ofCNP):
		v.add(ofCNP, fmt.Sprintf("%d is the priority of roce: %s; use another", cnp, harm))
	case roce == cnp:
		v.add(ofRoCE, fmt.Sprintf("%d is the default priority of cnp: %s; use another", roce, harm))
	}
}

// ecn refuses a lower threshold above the upper one, also where one of them is the default.
func (v *validator) ecn(at []string, e *ECN) {
	if e == nil || e.MinKiB <= e.MaxKiB {
		return
	}
	ofMin, ofMax := step(at, "min_kib"), step(at, "max_kib")
	switch {
	case !v.written(ofMax):
		v.add(ofMin, fmt.Sprintf("%d KiB is above max_kib, which is %d unless it is given: give both", e.MinKiB, e.MaxKiB))
	case !v.written(ofMin):
		v.add(ofMax, fmt.Sprintf("%d KiB is below min_kib, which is %d unless it is given: give both", e.MaxKiB, e.MinKiB))
	default:
		v.add(ofMin, fmt.Sprintf("%d KiB is above max_kib, %d KiB: marking begins at min_kib and is complete at max_kib", e.MinKiB, e.MaxKiB))
	}
}

// written reports whether the file states a field.
func (v *validator) written(path []string) bool {
	_, ok := v.places[pathKey(path)]
	return ok
}
