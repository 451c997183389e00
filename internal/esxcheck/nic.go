package esxcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about the firmware settings of NICs: ATS, SR-IOV and what the plan has beside them.

// nicConfig is the settings of one NIC that is part of the plan.
type nicConfig struct {
	*fabric.NICConfig
	at   string // its PCI address; empty: not known
	name string // for people
}

func (c nicConfig) source() string { return "mlxconfig -d " + c.Device + " query" }

// configs are the settings of the NICs of the fabric; of another model are those for storage or management, unless a host shows no
// other. without are NICs of the fabric of which none were read.
func (s scene) configs() (of []nicConfig, without []string) {
	_, wanted := s.wantedNIC()
	ours, _ := s.ours(kindNIC)
	all := s.goal == nil || len(ours) == 0 && !slices.ContainsFunc(s.esx.NICConfigs, func(c fabric.NICConfig) bool {
		id, ok := deviceOfTool(c.Device)
		return !ok || id == wanted
	})
	have := map[string]bool{}
	for i := range s.esx.NICConfigs {
		c := &s.esx.NICConfigs[i]
		at := s.addressOf(c)
		id, known := deviceOfTool(c.Device)
		if !known {
			if j := slices.IndexFunc(s.tree, func(d device) bool { return d.address == at && d.device != 0 }); j >= 0 {
				id, known = s.tree[j].device, true
			}
		}
		if !all && known && id != wanted {
			continue
		}
		have[at] = true
		of = append(of, nicConfig{c, at, strings.TrimSuffix(cmp.Or(c.Device, "without a name in the text")+" ("+at+")", " ()")})
	}
	for _, d := range ours {
		if !have[d.address] && s.goal != nil && !strings.HasSuffix(d.address, ".1") {
			without = append(without, d.address)
		}
	}
	return of, without
}

// addressOf finds the PCI address of the NIC: in the text, by its name, or from mst status.
func (s scene) addressOf(c *fabric.NICConfig) string {
	if c.Address != "" {
		return c.Address
	}
	for _, m := range s.esx.MST {
		if m.Name == c.Device {
			return m.Address
		}
	}
	for _, d := range s.tree {
		if d.address == c.Device {
			return d.address
		}
	}
	return ""
}

// eachConfig judges one stored setting of every NIC of the fabric.
func (s scene) eachConfig(setting, wanted string, f func(nicConfig, string) fault) []fabric.Finding {
	if s.esx.NICConfigs == nil {
		return []fabric.Finding{s.unread("firmware settings of NICs were not read", fabric.FactESXNICConfigs)}
	}
	configs, without := s.configs()
	var out []fabric.Finding
	var seen []fabric.Evidence
	for _, c := range configs {
		have := inForce(c.Settings[setting])
		switch {
		case have == "":
			u := s.finding(fabric.Unknown, setting+" of "+c.name+" on "+s.name()+" is not in the text that was read")
			u.Subject = s.subject("", c.at)
			out = append(out, u)
		case !equalValues(have, wanted):
			bad := f(c, have)
			bad.at, bad.expected = c.at, setting+"="+wanted
			bad.seen = []fabric.Evidence{saw(c.source(), setting+" "+have)}
			out = append(out, s.fail(bad))
		default:
			seen = append(seen, saw(c.source(), setting+" "+have))
		}
	}
	for _, at := range without {
		u := s.finding(fabric.Unknown, setting+" of NIC "+at+" on "+s.name()+" was not read")
		u.Subject = s.subject("", at)
		if d := s.byAddress(at); d != nil && d.pass != nil && is(d.pass.Active, true) {
			u.Why += ": it is passed through, so that ESX no longer reaches it; its virtual machine does"
		}
		out = append(out, u)
	}
	if len(out) == 0 && len(seen) > 0 {
		return s.pass(setting+"="+wanted+" on every NIC", seen...)
	}
	return out
}

func (s scene) byAddress(at string) *device {
	for i := range s.tree {
		if s.tree[i].address == at {
			return &s.tree[i]
		}
	}
	return nil
}

func (s scene) setNIC(c nicConfig, setting, value string) string {
	return s.here("/opt/mellanox/bin/mlxconfig -d "+fabric.ShellWord(c.Device)+" -y set "+setting+"="+value) + ", then restart it"
}

func nicATSRule() Rule {
	return Rule{
		ID: "esx-nic-ats", Title: "ATS is on in every NIC that is passed through",
		Doc:      "reads ATS_ENABLED of every NIC: one that does not translate addresses itself reaches GPUs through the processor only. What a text leaves out is unknown, and not off",
		Severity: fabric.SeverityError, Cause: fabric.CauseATSDisabled, Reference: docVCF + ", 8.3", Facts: []string{fabric.FactESXNICConfigs, fabric.FactESXMST},
		DependsOn: []string{"esx-tools"},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			if s.goal != nil && !slices.ContainsFunc(s.goal.NICSettings, func(o fabric.Option) bool { return o.Name == "ATS_ENABLED" }) {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "the plan passes no NIC through whole")}
			}
			if s.goal == nil && !s.givesAway() && len(s.esx.NICConfigs) > 0 && !slices.ContainsFunc(s.esx.NICConfigs, asksFor) {
				return []fabric.Finding{s.anyATS()}
			}
			return s.eachConfig("ATS_ENABLED", "1", func(c nicConfig, have string) fault {
				return fault{why: fmt.Sprintf("ATS is off (%s) in NIC %s of %s.", have, c.name, s.name()),
					cost: "traffic between this NIC and GPUs goes through the processor: half the rate or less, or errors with GPU memory", fix: s.setNIC(c, "ATS_ENABLED", "1")}
			})
		}),
	}
}

// asksFor reports that a few settings of a NIC were asked for, by their names or with grep, and not all that it has.
func asksFor(c fabric.NICConfig) bool {
	const few = 8
	return c.Settings["ATS_ENABLED"] != fabric.NICStored{} && len(c.Settings) <= few
}

// anyATS says without a plan what ATS is: off is how NICs are delivered, and right where none is passed through.
func (s scene) anyATS() fabric.Finding {
	var off []string
	var seen []fabric.Evidence
	configs, _ := s.configs()
	for _, c := range configs {
		have := inForce(c.Settings["ATS_ENABLED"])
		if n, ok := number(have); ok && n == 0 {
			off = append(off, c.name)
			seen = append(seen, saw(c.source(), "ATS_ENABLED "+have))
		}
	}
	if len(off) == 0 {
		return s.finding(fabric.NotApplicable, "no plan says whether NICs of "+s.name()+" are passed through whole")
	}
	return s.finding(fabric.Unknown, "ATS is off in NIC "+few(off)+": wrong where it is passed through beside a GPU, right elsewhere; no plan says which", seen...)
}

func nicSRIOVRule() Rule {
	return Rule{
		ID: "esx-nic-sriov", Title: "SR-IOV of the NICs is as the plan needs it",
		Doc:      "reads SRIOV_EN of every NIC: on where virtual machines get virtual functions, off where NICs are passed through whole",
		Severity: fabric.SeverityError, Cause: fabric.CauseSRIOVLeftOn, Reference: docVS8 + "; " + docVCF + ", 8", Facts: []string{fabric.FactESXNICConfigs, fabric.FactESXDevices},
		DependsOn: []string{"esx-tools"},
		Judge:     eachHost(false, judgeSRIOV),
	}
}

func judgeSRIOV(s scene) []fabric.Finding {
	switch s.mode() {
	case fabric.SRIOVToGuests:
		return s.eachConfig("SRIOV_EN", "1", func(c nicConfig, have string) fault {
			return fault{cause: fabric.CauseVMHostSetup, why: fmt.Sprintf("SR-IOV is off (%s) in NIC %s of %s, and the plan gives virtual functions.", have, c.name, s.name()),
				cost: "there is no virtual function for a virtual machine", fix: s.setNIC(c, "SRIOV_EN", "1")}
		})
	case fabric.Passthrough:
		return s.eachConfig("SRIOV_EN", "0", func(c nicConfig, have string) fault {
			return fault{why: fmt.Sprintf("SR-IOV is on (%s) in NIC %s of %s, which is to be passed through whole.", have, c.name, s.name()),
				cost: "ESX does not pass it through, or its port stays down in the virtual machine", fix: s.setNIC(c, "SRIOV_EN", "0")}
		})
	}
	var out []fabric.Finding
	configs, _ := s.configs()
	for _, c := range configs {
		have := inForce(c.Settings["SRIOV_EN"])
		d := s.byAddress(c.at)
		if n, ok := number(have); ok && n == 1 && d != nil && d.pass != nil && is(d.pass.Enabled, true) {
			out = append(out, s.fail(fault{why: "SR-IOV is on in NIC " + c.name + " of " + s.name() + ", and the whole NIC is passed through.", at: c.at, expected: "one of both",
				seen: []fabric.Evidence{saw(c.source(), "SRIOV_EN "+have)}, cost: "its port stays down in the virtual machine", fix: s.setNIC(c, "SRIOV_EN", "0")}))
		}
	}
	if len(out) == 0 {
		return []fabric.Finding{s.eitherGoal(configs)}
	}
	return out
}

// eitherGoal says for which goal SR-IOV is right as it is, where no plan says which.
func (s scene) eitherGoal(configs []nicConfig) fabric.Finding {
	var on, off []string
	var seen []fabric.Evidence
	for _, c := range configs {
		have := inForce(c.Settings["SRIOV_EN"])
		n, ok := number(have)
		switch {
		case !ok:
			continue
		case n == 0:
			off = append(off, c.name)
		default:
			on = append(on, c.name)
		}
		text := "SRIOV_EN " + have
		if vfs := inForce(c.Settings["NUM_OF_VFS"]); vfs != "" {
			text += ", NUM_OF_VFS " + vfs
		}
		seen = append(seen, saw(c.source(), text))
	}
	var said []string
	if len(off) > 0 {
		said = append(said, "SR-IOV is off in NIC "+few(off)+": right where whole NICs are passed through, wrong where virtual machines are to get virtual functions")
	}
	if len(on) > 0 {
		said = append(said, "SR-IOV is on in NIC "+few(on)+": right where virtual machines get virtual functions, wrong where whole NICs are passed through")
	}
	if len(said) == 0 {
		return s.finding(fabric.NotApplicable, "no plan says whether NICs of "+s.name()+" are passed through whole or in virtual functions")
	}
	return s.finding(fabric.Unknown, strings.Join(said, "; ")+"; no plan says which", seen...)
}

func nicStoredRule() Rule {
	return Rule{
		ID: "esx-nic-settings", Title: "The other firmware settings of the NICs are as planned",
		Doc:      "reads what else the plan sets in the NICs (ADVANCED_PCI_SETTINGS, FORCE_ETH_PCI_SUBCLASS): without them ESX's driver does not take an InfiniBand card",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVS8, Facts: []string{fabric.FactESXNICConfigs},
		DependsOn: []string{"esx-tools"},
		Judge: eachHost(true, func(s scene) []fabric.Finding {
			var out []fabric.Finding
			for _, o := range s.goal.NICSettings {
				if o.Name == "ATS_ENABLED" || o.Name == "SRIOV_EN" || o.Name == "NUM_OF_VFS" {
					continue // rules of their own
				}
				out = append(out, s.eachConfig(o.Name, o.Value, func(c nicConfig, have string) fault {
					return fault{why: fmt.Sprintf("%s is %s in NIC %s of %s, planned is %s.", o.Name, have, c.name, s.name(), o.Value), cost: cmp.Or(o.Why, "the NIC does not do what the plan needs of it"), fix: s.setNIC(c, o.Name, o.Value)}
				})...)
			}
			if len(out) == 0 {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "the plan has no others")}
			}
			return merged(s, out)
		}),
	}
}

// merged makes one verdict of those that pass.
func merged(s scene, all []fabric.Finding) []fabric.Finding {
	var out, passed []fabric.Finding
	for _, f := range all {
		if f.Status == fabric.Pass {
			passed = append(passed, f)
		} else {
			out = append(out, f)
		}
	}
	if len(out) > 0 || len(passed) == 0 {
		return out
	}
	var expected []string
	for i, f := range passed {
		expected = append(expected, f.Expected)
		if i > 0 {
			passed[0].Evidence = append(passed[0].Evidence, f.Evidence...)
		}
	}
	passed[0].Expected = strings.Join(expected, ", ")
	return passed[:1]
}
