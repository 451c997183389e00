package check_test

import (
	"slices"
	"testing"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
)

// finalChecks are the fifteen final checks of the Broadcom RoCE guide (957608-AN209, 2.6), by number, and the rules that
// make them. What no rule makes is said in words.
func finalChecks() []struct {
	what      string
	rules     []string
	otherwise string
} {
	type one = struct {
		what      string
		rules     []string
		otherwise string
	}
	return []one{
		{"modules bnxt_en, bnxt_re and peer memory, in the right version", []string{"rdma-modules", "module-on-disk", "driver-release", "driver-equal", "gpu-direct"}, ""},
		{"bnxt_re.conf and the QoS of each NIC", []string{"nic-file", "nic-classes", "nic-pfc", "nic-queues", "nic-marking", "nic-ecn", "nic-qos-equal", "kernel-log-nic"}, ""},
		{"amdgpu loaded", []string{"gpu-driver"}, ""},
		{"ACS off on the switches above GPU and NIC", []string{"acs"}, ""},
		{"IOMMU off or in passthrough mode", []string{"iommu-mode"}, ""},
		{"verbs commands work", []string{"rdma-device", "uverbs-devices", "provider-abi", "provider-shadow"}, ""},
		{"NVM options: RDMA, profile, relaxed ordering", []string{"nic-profile", "nic-dcbx", "relaxed-ordering"}, ""},
		{"link up, at its rate", []string{"link-up", "port-state", "port-rate"}, ""},
		{"an address, and its GID", []string{"address", "gid-roce-v2", "gid-index-equal"}, ""},
		{"MTU of the interface", []string{"mtu", "rdma-mtu"}, ""},
		{"MTU of the switch port", nil, "no fact of a host shows it: the full-size ping of `railwright bench --suite ping` does, and the rendered switch configuration sets it"},
		{"PCIe speed and width", []string{"pcie-link", "pcie-port-rate", "kernel-log-pcie"}, ""},
		{"firewall", []string{"firewall"}, ""},
		{"no NIC or GPU errors in the kernel's log", []string{"kernel-log-nic", "kernel-log-gpu", "kernel-log-aer", "driver-conflict"}, ""},
		{"NUMA balancing off", []string{"numa-balancing"}, ""},
	}
}

// TestFinalChecks: each of the fifteen has rules that exist, each of which passes, fails and does not know by a recording.
func TestFinalChecks(t *testing.T) {
	all := finalChecks()
	if len(all) != 15 {
		t.Fatalf("%d checks, want 15", len(all))
	}
	cases := recordedCases()
	for i, c := range all {
		if len(c.rules) == 0 && c.otherwise == "" {
			t.Errorf("no. %d (%s): neither a rule nor why there is none", i+1, c.what)
		}
		for _, id := range c.rules {
			at := slices.IndexFunc(check.Rules(), func(r check.Rule) bool { return r.ID == id })
			if at < 0 {
				t.Errorf("no. %d (%s): no rule %s", i+1, c.what, id)
				continue
			}
			r := check.Rules()[at]
			found := slices.IndexFunc(cases, func(c recordedCase) bool {
				return c.rule == id && c.unknown != nil && (c.fail != nil || r.Cause == "")
			})
			if found < 0 {
				t.Errorf("no. %d (%s): %s has no recorded case that fails and one that does not know", i+1, c.what, id)
			}
			if r.Severity == fabric.SeverityInfo {
				t.Errorf("no. %d (%s): %s is for information only", i+1, c.what, id)
			}
		}
	}
}
