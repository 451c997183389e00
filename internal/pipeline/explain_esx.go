package pipeline

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
)

// judgedOfESX are the rules about ESX hosts and virtual machines whose failure a part of their facts can show. What fails because
// something is absent does so only where the text has the whole list.
func judgedOfESX() []string {
	return []string{
		"esx-kernel-settings", "esx-reboot", "esx-reset-method", "esx-tools", "esx-nic-driver", "esx-nic-ats", "esx-kernel-settings", "esx-nic-driver", "esx-nic-model", "esx-nic-ats", "esx-nic-sriov", "esx-num-of-vfs", "esx-max-vfs",
		"esx-labels", "esx-pairs", "esx-driver-sought", "esx-mapped", "esx-tool-firmware",
		"vm-power-on", "vm-start", "vm-mmio", "vm-p2p", "vm-ids", "vm-system", "vm-owner", "vm-nvswitches", "vm-device-order", "vm-pairs", "vm-partition", "vm-operator-mmio",
		"nvlink-partition", "sm-virtual",
	}
}

// remarkOfESX reports whether a finding says of an ESX host what no fault is, or depends on what is planned.
func remarkOfESX(f fabric.Finding) bool {
	switch f.Status {
	case fabric.Unknown:
		return slices.Contains([]string{"esx-nic-sriov", "esx-max-vfs", "esx-vfs", "esx-uplinks", "esx-reset-method", "esx-tools", "vm-operator-mmio", "nvlink-partition", "sm-virtual"}, f.ID)
	case fabric.Pass:
		return f.ID == "esx-harmless" || f.ID == "vf-harmless"
	}
	return false
}

// withRemarks says what is open or harmless in texts of ESX hosts where there is nothing else to say: in results that stand for
// outputs of tools and blame nothing.
func withRemarks(x *fabric.Explanation, found []fabric.Result, remarks []fabric.Finding) {
	const shown = 3
	var said []string
	for _, f := range remarks {
		text := f.Why
		if f.Status == fabric.Pass {
			text = "no fault: " + f.Evidence[0].Source + ": " + f.Evidence[0].Value
		}
		if !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	if len(said) == 0 {
		return
	}
	for i := range min(len(x.Results), len(found)) {
		if r := &x.Results[i]; r.Verdict == fabric.VerdictUnknown && len(r.Causes) == 0 && diagnose.Empty(&found[i]) {
			r.Why = strings.Join(said[:min(len(said), shown)], "; ")
			r.Steps, r.Next = nil, "with a cluster file it is judged: railwright check -f cluster.yaml --snapshot FILE"
			return
		}
	}
}

// withOwnFixes gives the causes that rules about ESX hosts blame the fix of the finding: that of a cause is for all ways to it.
func withOwnFixes(x *fabric.Explanation, failures []fabric.Finding) {
	const shown = 3
	judged := judgedOfESX()
	for i := range x.Results {
		for j := range x.Results[i].Causes {
			c := &x.Results[i].Causes[j]
			var fixes []string
			for _, f := range failures {
				if f.Cause == c.ID && f.Fix != "" && slices.Contains(judged, f.ID) && !slices.Contains(fixes, f.Fix) && len(fixes) < shown {
					fixes = append(fixes, f.Fix)
				}
			}
			if len(fixes) > 0 {
				c.Fix = strings.Join(fixes, "\n")
			}
		}
	}
}
