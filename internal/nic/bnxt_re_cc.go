package nic

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// BnxtReFiles are files in which Broadcom's RoCE driver shows what it marks packets with, below one folder: of configfs
// (/sys/kernel/config/bnxt_re/DEVICE/ports/1/cc, which is there while somebody made the folder DEVICE), and of debugfs
// (/sys/kernel/debug/bnxt_re/PCI or DEVICE, cc_config: Linux, drivers/infiniband/hw/bnxt_re/debugfs.c).
func BnxtReFiles() []string {
	return []string{"ecn_enable", "cc_mode", "roce_dscp", "roce_prio", "cnp_dscp", "cnp_prio", "enable_cc", "tos_dscp", "alt_vlan_dscp", "alt_vlan_pcp"}
}

// ReadBnxtRe reads those files, by name; an absent one is unknown.
func ReadBnxtRe(files map[string]string) (q fabric.QoS, err error) {
	value := func(most int, names ...string) *int {
		for _, name := range names {
			text, ok := files[name]
			if !ok || err != nil {
				continue
			}
			n, numberErr := readNumber(text, most)
			if numberErr != nil {
				err = fmt.Errorf("%s: %w", name, numberErr)
				return nil
			}
			return &n
		}
		return nil
	}
	q.RoCE = marking(value(maxDSCP, "roce_dscp", "tos_dscp"), value(priorities-1, "roce_prio"))
	q.CNP = marking(value(maxDSCP, "cnp_dscp", "alt_vlan_dscp"), value(priorities-1, "cnp_prio", "alt_vlan_pcp"))
	if on := value(1, "ecn_enable", "enable_cc"); on != nil {
		q.ECN = allOrNone(*on == 1)
	}
	if err != nil {
		return fabric.QoS{}, err
	}
	return q, nil
}

func marking(dscp, priority *int) *fabric.Marking {
	if dscp == nil && priority == nil {
		return nil
	}
	return &fabric.Marking{DSCP: dscp, Priority: priority}
}

func allOrNone(on bool) *[]int {
	list := []int{}
	for p := range priorities {
		if on {
			list = append(list, p)
		}
	}
	return &list
}
