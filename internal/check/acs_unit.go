package check

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func acsUnit() Rule {
	return Rule{
		ID:    "acs-unit",
		Title: "ACS redirect was cleared in this boot, and will be at the next",
		Doc: "reads what railwright-acs.service left in this boot: the kernel and the firmware set ACS again at every boot, so that a host on which " +
			"it was cleared by hand is slow after the next one",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseACSRedirect,
		Reference: "Broadcom RoCE guide 2.3 (after every host reboot) and appendix C, whose script always ends with 0; minio, NVIDIA GPUDirect notes: the unit ran with -b",
		Facts:     []string{fabric.FactMachineACSUnit},
		Scope:     []Condition{withPlan(), withHostFiles(), onBareMetal()},
		Node:      judgeACSUnit,
	}
}

func judgeACSUnit(in NodeInput) []Verdict {
	const want = "railwright-acs.service ran in this boot and left no bridge with redirect"
	u, node := in.Facts.Machine.ACSUnit, in.Facts.Node
	if u == nil {
		return in.asNode(Verdict{Expected: want, Why: in.why("whether "+node+" has a unit that clears ACS was not read", fabric.FactMachineACSUnit)})
	}
	seen := []fabric.Evidence{saw(fabric.ACSUnitFile, acsPresence(u.Installed)), saw(fabric.ACSResultFile, acsOutcome(*u))}
	fail := func(why, fix string) []Verdict {
		return in.asNode(Verdict{
			Status: fabric.Fail, Expected: want, Evidence: seen, Why: why, Fix: onNode(fix, node),
			Cost: "none while rule acs passes; after a boot that sets redirect again, such nodes measured 0.45 to 0.6 of their bound",
		})
	}
	switch {
	case !u.Installed:
		return fail("Nothing on "+node+" clears ACS at the next boot: railwright-acs.service is not installed.", "railwright apply")
	case u.State == "":
		return fail("railwright-acs.service of "+node+" has left no result in this boot.", "systemctl daemon-reload && systemctl restart railwright-acs && systemctl status railwright-acs")
	case u.State == fabric.ACSRefused:
		return in.asNode(Verdict{Expected: want, Evidence: seen, Why: "railwright-acs.service of " + node + " took it for no bare-metal host and left ACS as it is: " + u.Reason})
	case u.State == fabric.ACSFailed:
		return fail("railwright-acs.service of "+node+" failed: "+u.Reason+".", "systemctl restart railwright-acs; journalctl -b -u railwright-acs")
	case u.State == fabric.ACSCleared && u.Bridges > 0 && len(u.Left) == 0:
		return in.asNode(pass(want, seen...))
	}
	return in.asNode(Verdict{Expected: want, Evidence: seen, Why: "the result of railwright-acs.service of " + node + " names no bridge that it looked at"})
}

func acsPresence(installed bool) string {
	if installed {
		return "installed"
	}
	return "not installed"
}

func acsOutcome(u fabric.ACSUnit) string {
	if u.State == "" {
		return "no result"
	}
	text := u.State + ", " + fabric.Count(u.Bridges, "bridge")
	if len(u.Left) > 0 {
		text += ", left: " + strings.Join(u.Left, " ")
	}
	return text
}
