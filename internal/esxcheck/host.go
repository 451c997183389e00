package esxcheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about a host as a whole: what was read of it, its version, settings of its kernel, what waits for a restart.

func collectedRule() Rule {
	return Rule{
		ID: "esx-collected", Title: "Facts of every planned ESX host were collected",
		Doc:      "compares the ESX hosts of which facts came with the plan: nothing is known of the devices below a virtual machine whose host was not read",
		Severity: fabric.SeverityError, Reference: "the plan",
		Judge: func(in *Input) []fabric.Finding {
			var out []fabric.Finding
			seen := map[string]bool{}
			for _, f := range in.Hosts {
				seen[short(f.Node)] = true
			}
			for _, name := range slices.Sorted(maps.Keys(in.Lost)) {
				seen[short(name)] = true
				m := in.Lost[name]
				out = append(out, fabric.Finding{Status: fabric.Unknown, Subject: fabric.NodeSubject(name), Why: "no facts of " + name + ": " + m.Reason + " (" + m.Source + ")"})
			}
			if in.Plan != nil && in.Plan.VSphere != nil {
				for _, h := range in.Plan.VSphere.Hosts {
					if !seen[short(h.Name)] {
						out = append(out, fabric.Finding{Status: fabric.Unknown, Subject: fabric.NodeSubject(h.Name), Why: "no facts of ESX host " + h.Name + " were collected: nothing is known of it"})
					}
				}
			}
			if len(out) == 0 {
				out = []fabric.Finding{{Status: fabric.Pass, Subject: fabric.ClusterSubject(), Expected: "facts of every ESX host", Evidence: []fabric.Evidence{saw("facts", "of "+fabric.Count(len(in.Hosts), "ESX host"))}}}
			}
			return out
		},
	}
}

func readRule() Rule {
	return Rule{
		ID: "esx-read", Title: "What was asked of an ESX host was read",
		Doc:      "reports what could not be read of an ESX host: what is in no list cannot fail",
		Severity: fabric.SeverityError, Reference: "the facts of the host, missing",
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			var lost []string
			for _, m := range s.facts.Missing {
				if m.What == fabric.FactESXVFs && s.mode() == fabric.Passthrough {
					continue // the plan has none, and nobody asks for them
				}
				if root, _, _ := strings.Cut(m.What, "."); !m.Absent && root == fabric.FactESX { // the rest is about Linux, or of rules that say so
					lost = append(lost, m.What+": "+m.Reason)
				}
			}
			if len(lost) > 0 {
				f := s.finding(fabric.Unknown, fmt.Sprintf("%s of %s could not be read", fabric.Count(len(lost), "fact"), s.name()))
				for _, l := range lost[:min(len(lost), 6)] {
					f.Evidence = append(f.Evidence, saw("facts", l))
				}
				return []fabric.Finding{f}
			}
			return s.pass("each fact that was asked for", saw("facts", "nothing is missing"))
		}),
	}
}

func versionRule() Rule {
	return Rule{
		ID: "esx-version", Title: "ESX has the version of the plan, or a newer one",
		Doc: "compares the version of ESX with that on which the documents were tried: another major version has other kernel settings, an older build may lack what passthrough of these devices needs; " +
			"a newer one is said and passes",
		Severity: fabric.SeverityWarning, Cause: fabric.CauseVersionSkew, Reference: docVCF + ", table 3", Facts: []string{fabric.FactESX},
		Judge: eachHost(true, judgeVersion),
	}
}

// triedOn is the release and the build of ESX on which a product was tried (table 3). ok is false for a product without one.
func triedOn(product string) (version, build string, ok bool) {
	switch product {
	case "vcf-9.0":
		return "9.0.0", "24755229", true
	case "vcf-5.2", "vsphere-8":
		return "8.0.3", "24280767", true
	}
	return "", "", false
}

func judgeVersion(s scene) []fabric.Finding {
	version, build, ok := triedOn(s.site.Product)
	if !ok {
		return []fabric.Finding{s.finding(fabric.Unknown, "no version of ESX is known for product "+s.site.Product)}
	}
	want := "ESX " + version + ", build " + build
	if s.esx.Version == "" {
		return []fabric.Finding{s.unread("the version of ESX was not read", fabric.FactESX)}
	}
	seen := saw("vmware -v", strings.TrimSuffix(s.esx.Version+" build "+s.esx.Build, " build "))
	major := (&fabric.ESX{Version: version}).Major()
	order := compareVersions(s.esx.Version, version)
	older := order < 0 || order == 0 && s.esx.Build != "" && compareVersions(s.esx.Build, build) < 0
	switch {
	case s.esx.Major() != major:
		return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("%s runs ESX %s, and %s is ESX %d.", s.name(), s.esx.Version, s.site.Product, major), expected: want, seen: []fabric.Evidence{seen},
			cost: "kernel settings and VM classes of the plan are those of another release", fix: "correct vsphere.product, or bring the host to " + want})}
	case older && s.site.Product == "vsphere-8":
		return s.pass("ESX 8", seen) // the document for vSphere 8 names no build
	case older:
		return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("%s runs ESX %s build %s, older than what GPUDirect RDMA was tried on (%s).", s.name(), s.esx.Version, s.esx.Build, want), expected: want,
			seen: []fabric.Evidence{seen}, cost: "passthrough of these devices may fail in ways that were repaired since", fix: "update the host by its Lifecycle Manager image"})}
	case order == 0 && s.esx.Build == "":
		return []fabric.Finding{s.unread("the build of ESX was not read", fabric.FactESX)}
	}
	return s.pass(want+" or newer", seen)
}

const kernelList = "esxcli system settings kernel list"

func settingsRule() Rule {
	return Rule{
		ID: "esx-kernel-settings", Title: "The kernel of ESX lets GPU and NIC talk to each other below their switch",
		Doc: "reads disableACSCheck, atsSupport and, of ESX 9, enableACSDTP2P: without ACS and ATS no device of a virtual machine reaches another directly. " +
			"What is configured is judged here; that it is in force, by esx-reboot",
		Severity: fabric.SeverityError, Cause: fabric.CauseATSDisabled, Reference: docVCF + ", 8.2", Facts: []string{fabric.FactESXSettings},
		Judge: eachHost(false, judgeSettings),
	}
}

// wantedSettings are those of the plan; without one, those of the document.
func (s scene) wantedSettings() ([]fabric.ESXSetting, map[string]int) {
	if s.goal != nil {
		return s.goal.Settings, s.goal.SinceMajor
	}
	return []fabric.ESXSetting{{Name: "disableACSCheck", Configured: "FALSE"}, {Name: "atsSupport", Configured: "TRUE"}, {Name: "enableACSDTP2P", Configured: "TRUE"}},
		map[string]int{"enableACSDTP2P": 9}
}

func judgeSettings(s scene) []fabric.Finding {
	if s.esx.Settings == nil {
		return []fabric.Finding{s.unread("settings of the kernel were not read", fabric.FactESXSettings)}
	}
	var out []fabric.Finding
	var seen []fabric.Evidence
	wanted, since := s.wantedSettings()
	for _, w := range wanted {
		have := s.esx.Setting(w.Name)
		switch {
		case have == nil && s.esx.Major() != 0 && s.esx.Major() < since[w.Name]:
			continue // this ESX does not have it
		case have == nil && s.esx.Major() == 0 && since[w.Name] != 0:
			out = append(out, s.finding(fabric.Unknown, w.Name+" of "+s.name()+" was not read, and neither was the version of ESX: it is of ESX "+fmt.Sprint(since[w.Name])+" only"))
		case have == nil || have.Configured == "":
			out = append(out, s.finding(fabric.Unknown, w.Name+" of "+s.name()+" was not read"))
		case !equalValues(have.Configured, w.Configured):
			out = append(out, s.fail(fault{
				why:      fmt.Sprintf("%s is configured %s on %s, not %s.", w.Name, have.Configured, s.name(), w.Configured),
				expected: w.Name + " " + w.Configured, seen: []fabric.Evidence{saw(kernelList, settingText(have))},
				cost: "GPU and NIC of a virtual machine cannot talk directly: traffic through the processor at half the rate or less, or errors",
				fix:  s.here("esxcli system settings kernel set -s "+w.Name+" -v "+strings.ToLower(w.Configured)) + ", then restart it",
			}))
		default:
			seen = append(seen, saw(kernelList, settingText(have)))
		}
	}
	if open := s.withoutGoal(out); open != nil {
		return open
	}
	if len(out) == 0 {
		return s.pass("as the document has them", seen...)
	}
	return out
}

// withoutGoal makes of failing settings in a whole list, which every host prints as it was delivered, what they are without a plan
// and without a device that goes to virtual machines: open. One that somebody asked for by its name is judged.
func (s scene) withoutGoal(all []fabric.Finding) []fabric.Finding {
	const asked = 4 // settings of the document and one beside them
	if s.goal != nil || s.givesAway() || len(s.esx.Settings) <= asked {
		return nil
	}
	var said []string
	var seen []fabric.Evidence
	for _, f := range all {
		if f.Status == fabric.Fail {
			said, seen = append(said, strings.TrimSuffix(f.Why, ".")), append(seen, f.Evidence...)
		}
	}
	if len(said) == 0 {
		return nil
	}
	return []fabric.Finding{s.finding(fabric.Unknown, strings.Join(said, "; ")+": wrong where GPUs and NICs are passed through, right elsewhere; no plan says which", seen...)}
}

func settingText(v *fabric.ESXSetting) string {
	text := v.Name + " configured " + v.Configured
	if v.Runtime != "" {
		text += ", runtime " + v.Runtime
	}
	return text
}

func rebootRule() Rule {
	return Rule{
		ID: "esx-reboot", Title: "No change on the host waits for a restart",
		Doc: "compares what is configured with what is in force: settings of the kernel, firmware settings of NICs, passthrough, and what tools said of a restart. " +
			"Until then the host behaves as before the change",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVCF + ", 8.2, 8.3, 8.4",
		Facts: []string{fabric.FactESXSettings, fabric.FactESXNICConfigs, fabric.FactESXDevices},
		Judge: eachHost(false, judgeReboot),
	}
}

func judgeReboot(s scene) []fabric.Finding {
	var waits []fabric.Evidence
	compared := 0
	for _, v := range s.esx.Settings {
		if v.Configured == "" || v.Runtime == "" {
			continue
		}
		if compared++; !equalValues(v.Configured, v.Runtime) {
			waits = append(waits, saw(kernelList, settingText(&v)))
		}
	}
	for _, c := range s.esx.NICConfigs {
		for _, name := range slices.Sorted(maps.Keys(c.Settings)) {
			v := c.Settings[name]
			if v.Current == "" || v.Next == "" {
				continue
			}
			if compared++; !equalValues(v.Current, v.Next) {
				waits = append(waits, saw("mlxconfig -d "+c.Device+" -e query", name+" now "+v.Current+", after the next start "+v.Next))
			}
		}
	}
	for _, d := range s.esx.Devices {
		if d.Enabled == nil || d.Active == nil {
			continue
		}
		if compared++; *d.Enabled != *d.Active {
			waits = append(waits, saw("passthrough of "+d.Address, fmt.Sprintf("configured %t, active %t", *d.Enabled, *d.Active)))
		}
	}
	for _, r := range s.esx.Reboot {
		waits = append(waits, saw(r.Source, r.Text))
	}
	switch {
	case len(waits) > 0:
		const shown = 8
		return []fabric.Finding{s.fail(fault{
			why: fmt.Sprintf("%s has to start again: %s in force only then.", s.name(), areIs(len(waits))), expected: "configured and in force are equal",
			seen: waits[:min(len(waits), shown)], cost: "until then everything is as before the change",
			fix: s.here("esxcli system maintenanceMode set -e true && esxcli system shutdown reboot -r railwright") + "; after it leave maintenance mode",
		})}
	case compared == 0:
		return []fabric.Finding{s.unread("nothing was read that says both what is configured and what is in force", fabric.FactESXSettings, fabric.FactESXDevices, fabric.FactESXNICConfigs)}
	}
	return s.pass("configured and in force are equal", saw("facts", fabric.Count(compared, "value")+" compared"))
}

func areIs(n int) string {
	if n == 1 {
		return "1 change is"
	}
	return fmt.Sprintf("%d changes are", n)
}

func powerRule() Rule {
	return Rule{
		ID: "esx-power-policy", Title: "ESX manages power for performance",
		Doc:      "reads the power policy of the host: others lower clocks and put cores to sleep",
		Severity: fabric.SeverityWarning, Cause: fabric.CauseVMHostSetup, Reference: docVCF + ", 7", Facts: []string{fabric.FactESXPower},
		Judge: eachHost(true, func(s scene) []fabric.Finding {
			want := s.goal.PowerPolicy
			if s.esx.PowerPolicy == "" {
				return []fabric.Finding{s.unread("the power policy was not read", fabric.FactESXPower)}
			}
			seen := saw("/Power/CpuPolicy", s.esx.PowerPolicy)
			if strings.EqualFold(s.esx.PowerPolicy, want) || want == "High Performance" && strings.EqualFold(s.esx.PowerPolicy, "static") { // its short name in the API
				return s.pass(want, seen)
			}
			return []fabric.Finding{s.fail(fault{why: "The power policy of " + s.name() + " is " + s.esx.PowerPolicy + ", not " + want + ".", expected: want, seen: []fabric.Evidence{seen},
				cost: "clocks fall between messages: latencies grow and differ", fix: s.here(`esxcli system settings advanced set -o /Power/CpuPolicy -s "` + want + `"`)})}
		}),
	}
}

func resetRule() Rule {
	return Rule{
		ID: "esx-reset-method", Title: "ESX resets GPUs by function (flr)",
		Doc: "reads /etc/vmware/passthru.map for the GPU: a reset by its bridge takes other devices below the bridge along. Which of several lines " +
			"that fit ESX takes is documented nowhere: all of them flr passes, none of them fails, and anything else is unknown",
		Severity: fabric.SeverityError, Cause: fabric.CausePassthroughReset, Reference: docVCF + ", 8.4", Facts: []string{fabric.FactESXResetRules},
		Judge: eachHost(false, judgeReset),
	}
}

const anyID = 0xffff // of passthru.map

func judgeReset(s scene) []fabric.Finding {
	want := "flr"
	if s.goal != nil {
		want = s.goal.ResetMethod
	}
	const file = "/etc/vmware/passthru.map"
	gpus := s.resetOf()
	switch {
	case want == "":
		return []fabric.Finding{s.finding(fabric.NotApplicable, "the plan passes no GPU through")}
	case s.esx.ResetRules == nil:
		return []fabric.Finding{s.unread(file+" was not read", fabric.FactESXResetRules)}
	}
	var fit []fabric.ResetRule
	var seen []fabric.Evidence
	for _, r := range s.esx.ResetRules {
		if (r.Vendor == vendorNVIDIA || r.Vendor == anyID) && (r.Device == anyID || len(gpus) == 0 || slices.Contains(gpus, r.Device)) {
			fit = append(fit, r)
			seen = append(seen, saw(fmt.Sprintf("%s:%d", file, r.Line), fmt.Sprintf("%s %s %s %s", hex4(r.Vendor), hex4(r.Device), r.Method, r.Shareable)))
		}
	}
	fix := s.here(`sed -i 's/^\(10de[[:space:]]*ffff[[:space:]]*\)[a-z0-9]*/\1`+want+`/' `+file) + ", then restart it"
	switch {
	case len(fit) == 0 && s.esx.Whole(fabric.FactESXResetRules):
		return []fabric.Finding{s.fail(fault{why: file + " of " + s.name() + " has no line for GPUs of NVIDIA.", expected: "10de ffff " + want, seen: []fabric.Evidence{saw(file, fabric.Count(len(s.esx.ResetRules), "line"))},
			cost: resetCost, fix: s.here("echo '10de ffff "+want+" false' >> "+file) + ", then restart it"})}
	case len(fit) == 0:
		return []fabric.Finding{s.finding(fabric.Unknown, "no line for GPUs of NVIDIA was seen in the part of "+file+" that was read")}
	case !slices.ContainsFunc(fit, func(r fabric.ResetRule) bool { return strings.EqualFold(r.Method, want) }):
		return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("ESX resets GPUs of %s by %s, not %s.", s.name(), methodsOf(fit), want), expected: "10de ffff " + want, seen: seen, cost: resetCost, fix: fix})}
	case slices.ContainsFunc(fit, func(r fabric.ResetRule) bool { return !strings.EqualFold(r.Method, want) }):
		return []fabric.Finding{s.finding(fabric.Unknown, "lines for GPUs of "+s.name()+" in "+file+" differ ("+methodsOf(fit)+"), and which of them ESX takes is documented nowhere: make them all "+want, seen...)}
	case !s.esx.Whole(fabric.FactESXResetRules):
		return []fabric.Finding{s.finding(fabric.Unknown, "only a part of "+file+" of "+s.name()+" was read: another line for GPUs may say otherwise", seen...)}
	}
	return s.pass(want, seen...)
}

// methodsOf are the reset methods of lines, each once.
func methodsOf(lines []fabric.ResetRule) string {
	var out []string
	for _, r := range lines {
		if !slices.Contains(out, r.Method) {
			out = append(out, r.Method)
		}
	}
	return strings.Join(out, " and ")
}

const resetCost = "at power-on or after a crash of a virtual machine GPUs are not reset, or other devices below the same bridge go with them"

// resetOf are the device ids of the planned GPUs and of those that were seen.
func (s scene) resetOf() []uint16 {
	var out []uint16
	for _, d := range s.tree {
		if d.kind == kindGPU && d.device != 0 && !slices.Contains(out, d.device) {
			out = append(out, d.device)
		}
	}
	return out
}
