// Package esxcheck judges what ESX hosts and the virtual machines on them were read to be: against the plan, against what RDMA
// with GPUs in virtual machines needs, and one part against the other. It is pure. What was not read is unknown, never a pass.
package esxcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rule is one check of ESX hosts.
type Rule struct {
	ID    string // kebab case, never renamed: waivers and scripts use it
	Title string // what is true when it passes
	Doc   string // one line: what it checks and why

	Severity  fabric.Severity
	Cause     fabric.CauseID // of a failing finding that names no other
	Reference string
	Facts     []string // paths of the facts that it reads, as Missing names them

	// DependsOn are ids of rules that stand earlier: while one of them fails on the same subject, this rule is silent there, so
	// that one fault is blamed once.
	DependsOn []string

	// Judge returns a verdict for each subject that fails or is unknown, and one for each host or virtual machine that passes. Of
	// a finding it fills in what the rule does not say.
	Judge func(*Input) []fabric.Finding
}

// Rules returns all rules, in the order in which they are judged.
func Rules() []Rule {
	return []Rule{
		collectedRule(), readRule(), disagreeRule(), versionRule(),
		toolsRule(), toolFirmwareRule(), driverRule(), soughtRule(), toolDevicesRule(), cardsRule(), countRule(),
		settingsRule(), rebootRule(), powerRule(), resetRule(),
		nicATSRule(), nicSRIOVRule(), nicStoredRule(), maxVFsRule(), firmwareVFsRule(), spareVFRule(), presentVFsRule(), uplinksRule(),
		passthroughRule(), labelsRule(), pairsRule(),
		refusalRule(), mappedRule(),
		vmStartRule(), vmMMIORule(), operatorRule(), vmLargeRule(), vmP2PRule(),
		vmIDsRule(), vmSystemRule(), vmOwnerRule(), vmSwitchesRule(), vmOrderRule(), vmPairsRule(), vmPlannedRule(), vmPartitionRule(), serviceRule(),
		harmlessRule(),
	}
}

// Input is what the rules are given.
type Input struct {
	Plan  *fabric.Plan    // nil without a cluster file
	Hosts []*fabric.Facts // of ESX hosts: those with Facts.ESX
	Lost  map[string]fabric.Missing
}

// Documents that rules refer to.
const (
	docVCF   = "VMware Private AI with GPUDirect RDMA over InfiniBand (VCF)"
	docVS8   = "InfiniBand Configuration on VMware vSphere 8"
	docFM    = "NVIDIA Fabric Manager user guide"
	kb309346 = "Broadcom KB 309346"
)

// scene is one host in front of a rule.
type scene struct {
	*Input
	facts *fabric.Facts
	esx   *fabric.ESX
	site  *fabric.VSphere // nil: no plan has this host
	goal  *fabric.ESXGoal // likewise
	tree  []device
}

// site is the part of the plan that is about ESX hosts, where it has this one.
func (in *Input) site(host string) *fabric.VSphere {
	if in.Plan == nil || in.Plan.VSphere == nil {
		return nil
	}
	for _, h := range in.Plan.VSphere.Hosts {
		if strings.EqualFold(h.Name, host) || strings.EqualFold(short(h.Name), short(host)) && !strings.Contains(host, ":") {
			return in.Plan.VSphere
		}
	}
	return nil
}

// short is the name of a host without its domain; an address stays whole.
func short(name string) string {
	head, rest, ok := strings.Cut(name, ".")
	if !ok || head == "" || strings.Trim(head, "0123456789") == "" && rest != "" {
		return name
	}
	return head
}

// eachHost judges one host after another. needsPlan makes the rule not applicable where no plan has the host.
func eachHost(needsPlan bool, judge func(scene) []fabric.Finding) func(*Input) []fabric.Finding {
	return func(in *Input) []fabric.Finding {
		var out []fabric.Finding
		for _, f := range in.Hosts {
			s := scene{Input: in, facts: f, esx: f.ESX, site: in.site(f.Node)}
			if s.site != nil {
				s.goal = &s.site.Goal
			}
			s.tree = devicesOf(f, s.goal)
			if needsPlan && s.goal == nil {
				out = append(out, s.finding(fabric.NotApplicable, "needs a cluster file whose plan has this host"))
				continue
			}
			found := judge(s)
			if len(found) == 0 {
				found = []fabric.Finding{s.finding(fabric.Unknown, "nothing to judge on "+f.Node)}
			}
			out = append(out, found...)
		}
		return out
	}
}

// eachVM judges the virtual machines of each host.
func eachVM(judge func(scene, *fabric.VM) []fabric.Finding) func(*Input) []fabric.Finding {
	return eachHost(false, func(s scene) []fabric.Finding {
		if s.esx.VMs == nil {
			return []fabric.Finding{s.unread("virtual machines were not read", fabric.FactESXVMs)}
		}
		var out []fabric.Finding
		for i := range s.esx.VMs {
			out = append(out, judge(s, &s.esx.VMs[i])...)
		}
		if len(out) == 0 {
			return []fabric.Finding{s.finding(fabric.NotApplicable, "no virtual machine of "+s.name()+" has devices that are passed through")}
		}
		return out
	})
}

func (s scene) name() string { return s.facts.Node }

// mode is how devices get to virtual machines; empty: no plan says.
func (s scene) mode() fabric.VMMode {
	if s.goal == nil {
		return ""
	}
	return s.goal.Mode
}

func (s scene) finding(status fabric.Status, why string, seen ...fabric.Evidence) fabric.Finding {
	return fabric.Finding{Status: status, Subject: fabric.NodeSubject(s.name()), Why: why, Evidence: seen}
}

func (s scene) pass(expected string, seen ...fabric.Evidence) []fabric.Finding {
	f := s.finding(fabric.Pass, "", seen...)
	f.Expected = expected
	return []fabric.Finding{f}
}

// unread is unknown, with the reason for which a fact is missing.
func (s scene) unread(why string, paths ...string) fabric.Finding {
	f := s.finding(fabric.Unknown, why+" on "+s.name())
	for _, p := range paths {
		if m, ok := s.facts.MissingReason(p); ok {
			f.Why += ": " + m.Reason + " (" + m.Source + ")"
			break
		}
	}
	return f
}

// fault is a failing finding: what is wrong, what it has to be, what it costs, what to do.
type fault struct {
	why, expected, cost, fix string
	cause                    fabric.CauseID // instead of the rule's
	at                       string         // PCI address of the device; empty: the host
	vm                       string
	seen                     []fabric.Evidence
}

func (s scene) fail(f fault) fabric.Finding {
	if strings.HasPrefix(f.why, "virtual machine") || strings.HasPrefix(f.why, "the virtual machine") { // a name stays as it is
		f.why = strings.ToUpper(f.why[:1]) + f.why[1:]
	}
	out := fabric.Finding{Status: fabric.Fail, Subject: s.subject(f.vm, f.at), Why: f.why, Expected: f.expected, Cost: f.cost, Fix: f.fix, Cause: f.cause, Evidence: f.seen}
	return out
}

// subject is a virtual machine, a device or the host.
func (s scene) subject(vm, at string) fabric.Subject {
	switch {
	case vm != "":
		return fabric.VMSubject(s.name(), vm)
	case at != "":
		return fabric.PCISubject(s.name(), at)
	}
	return fabric.NodeSubject(s.name())
}

func saw(source, value string) fabric.Evidence { return fabric.Evidence{Source: source, Value: value} }

// here marks where a command is to be run, as a comment of the shell.
func (s scene) here(command string) string { return command + "   # on " + fabric.Printable(s.name()) }

// few writes the first of a list, and how many more there are.
func few(names []string) string {
	const shown = 4
	if len(names) <= shown+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:shown], ", "), len(names)-shown)
}

// is reports whether something that may not have been read is so.
func is(v *bool, want bool) bool { return v != nil && *v == want }

// number reads the value of a setting as tools write it: True(1), 16, FALSE, ENABLED(1). ok is false where it is none.
func number(text string) (n int, ok bool) {
	text = strings.TrimSpace(text)
	if _, inside, has := strings.Cut(text, "("); has {
		text = strings.TrimSuffix(inside, ")")
	}
	switch strings.ToLower(text) {
	case "true", "yes", "enabled", "on":
		return 1, true
	case "false", "no", "disabled", "off":
		return 0, true
	}
	v, err := strconv.ParseInt(text, 0, 32)
	return int(v), err == nil
}

// inForce is the value of a stored setting that a NIC uses now, as far as the text says: an older tool prints what it will use
// after the next start only, which is then the best there is.
func inForce(v fabric.NICStored) string { return cmp.Or(v.Current, v.Next) }

// equalValues compares two values of a setting, whatever the tool adds to them.
func equalValues(a, b string) bool {
	x, okX := number(a)
	y, okY := number(b)
	if okX && okY {
		return x == y
	}
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

// compareVersions orders two versions by their numbers; what follows the numbers does not count.
func compareVersions(a, b string) int {
	return slices.Compare(versionNumbers(a), versionNumbers(b))
}

func versionNumbers(v string) []int {
	var out []int
	v, _, _ = strings.Cut(v, "-")
	for part := range strings.SplitSeq(v, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			break
		}
		out = append(out, n)
	}
	return out
}
