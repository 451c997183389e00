package check

import (
	"cmp"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
)

func nicDCBX() Rule {
	return Rule{
		ID:    "nic-dcbx",
		Title: "The host sets the traffic classes of its NICs, not their firmware",
		Doc: "looks for firmware that negotiates DCBX or LLDP with the switch by itself: it refuses the host's settings, or overwrites them after each link up. " +
			"Only for NICs of which the options are documented",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseFirmwareDCBX,
		Reference: "Broadcom RoCE guide 2.2.3.4 and 5.1 no. 5; NVIDIA MLNX_OFED, mlnx_qos, DCBX control mode",
		Facts:     []string{fabric.FactNICQoS, fabric.FactNICOptions},
		Scope:     []Condition{withPlan(), onRoCE(), withTraffic(), withHardware(), onHost()},
		DependsOn: []string{"nic-present"},
		Node:      judgeNICDCBX,
	}
}

func judgeNICDCBX(in NodeInput) []Verdict {
	const expected = "DCBX and LLDP of the firmware off"
	return in.each(in.Plan.NICs, func(n *fabric.NIC) Verdict {
		stored := nic.FirmwareDCBX(*n)
		name := in.Facts.Node + ":" + n.Name
		if len(stored) == 0 {
			if n.Driver == "" {
				return Verdict{Why: in.why("driver of "+name+" was not read", fabric.FactNICDriver+" "+n.Name, fabric.FactNICDriver)}
			}
			return Verdict{Status: fabric.NotApplicable, Why: "no public document says that firmware of " + n.Driver + " NICs negotiates traffic classes"}
		}
		in.missing(fabric.FactNICOptions, fabric.FactNICOptions+" "+n.Name, fabric.FactNICQoS, fabric.FactNICQoS+" "+n.Name)
		seen, on, open := storedWords(stored, true)
		if n.QoS != nil && n.QoS.DCBX != "" {
			seen = append(seen, saw(qosSource(n.QoS), "DCBX by the "+n.QoS.DCBX))
		}
		mode := ""
		if n.QoS != nil {
			mode = n.QoS.DCBX
		}
		switch {
		case on != "" || mode == "firmware":
			return Verdict{
				Status: fabric.Fail, Expected: expected, Evidence: seen,
				Why:  fmt.Sprintf("the firmware of %s negotiates traffic classes with the switch (%s): settings of the host are refused, or lost with the next link up.", name, orWord(on, "DCBX by the firmware")),
				Cost: "RoCE runs in the classes that the switch offers, or in none: " + lossCost,
				Fix:  onNode(firmwareFix(*n), in.Facts.Node),
			}
		case open == "", mode == "host" && !nic.SetUpByFile(*n): // there the mode of the running driver decides, not the firmware's
			return pass(expected, seen...)
		}
		return Verdict{Why: in.why("stored options of "+name+" were not all read: `"+open+"` tells it", fabric.FactNICOptions+" "+n.Name, fabric.FactNICOptions), Evidence: seen}
	})
}

// storedWords tells the options that were read, the first that is on, or off where bad is false, and the command that reads
// the first that is open.
func storedWords(list []nic.Stored, bad bool) (seen []fabric.Evidence, wrong, open string) {
	seen = make([]fabric.Evidence, 0, len(list))
	for _, o := range list {
		if o.Value != "" {
			seen = append(seen, saw(o.Read(), o.Option+" = "+o.Value))
		}
		switch {
		case o.On == nil:
			if open == "" {
				open = o.Read()
			}
		case *o.On == bad && wrong == "":
			wrong = o.Option + " is " + o.Value
		}
	}
	return seen, wrong, open
}

func nicProfile() Rule {
	return Rule{
		ID:        "nic-profile",
		Title:     "NICs are stored as NICs for RDMA with GPUs",
		Doc:       "looks at the stored options of planned NICs: RDMA on, the RoCE performance profile, PCIe relaxed ordering. Only for NICs of which such options are documented",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseNICProfile,
		Reference: "Broadcom RoCE guide 2.2.3.1 to 2.2.3.3 and 2.6 no. 7",
		Facts:     []string{fabric.FactNICOptions},
		Scope:     []Condition{withPlan(), onRoCE(), withHardware(), onHost()},
		DependsOn: []string{"nic-present"},
		Node:      judgeNICProfile,
	}
}

func judgeNICProfile(in NodeInput) []Verdict {
	const expected = "RDMA, the RoCE profile and relaxed ordering on"
	return in.each(in.Plan.NICs, func(n *fabric.NIC) Verdict {
		stored := nic.Profile(*n)
		name := in.Facts.Node + ":" + n.Name
		if len(stored) == 0 {
			if n.Driver == "" {
				return Verdict{Why: in.why("driver of "+name+" was not read", fabric.FactNICDriver+" "+n.Name, fabric.FactNICDriver)}
			}
			return Verdict{Status: fabric.NotApplicable, Why: "no public document names stored options that " + n.Driver + " NICs need for RoCE"}
		}
		in.missing(fabric.FactNICOptions, fabric.FactNICOptions+" "+n.Name)
		seen, wrong, open := storedWords(stored, false)
		switch {
		case wrong != "":
			var fix []string
			for _, o := range stored {
				if o.On != nil && !*o.On {
					fix = append(fix, o.Set())
				}
			}
			return Verdict{
				Status: fabric.Fail, Expected: expected, Evidence: seen,
				Why:  name + " is not set up for RDMA with GPUs: " + wrong + ".",
				Cost: "no RDMA at all where it is off; with the default profile or strict ordering 10 to 40 % of the line rate (railwright causes nic-profile)",
				Fix:  onNode(strings.Join(fix, "; ")+"; reboot", in.Facts.Node),
			}
		case open != "":
			return Verdict{Why: in.why("stored options of "+name+" were not all read: `"+open+"` tells it", fabric.FactNICOptions+" "+n.Name, fabric.FactNICOptions), Evidence: seen}
		}
		return pass(expected, seen...)
	})
}

func nicFile() Rule {
	return Rule{
		ID:    "nic-file",
		Title: "The file that a NIC driver is set up from says what is in effect and planned",
		Doc: "compares the settings of " + nic.BnxtReConf + " with the plan, and with what each NIC does: one of the two changes with the next load of the driver. " +
			"Only on hosts with NICs that are set up from it",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "Broadcom RoCE guide 2.2.1.3, 2.2.2.1 and 2.6 no. 2",
		Facts:     []string{fabric.FactNICFile, fabric.FactNICQoS},
		Scope:     []Condition{onRoCE(), withHardware(), withRDMA(), onHost()},
		DependsOn: []string{"nic-dcbx", "nic-classes", "nic-pfc", "nic-marking", "nic-ecn"},
		Node:      judgeNICFile,
	}
}

func judgeNICFile(in NodeInput) []Verdict {
	in.noteLostQoS()
	names, driven := in.ethernet(), 0
	dark := len(names) == 0
	var on []fabric.Subject
	for _, name := range names {
		n, ok := in.nic(name)
		dark = dark || !ok || n.Driver == ""
		if ok && nic.SetUpByFile(*n) {
			driven++
			on = append(on, fabric.NICSubject(in.Facts.Node, name))
		}
	}
	node := in.Facts.Node
	m, missing := in.missing(fabric.FactNICFile)
	itself := fileAgainstItself(in.Facts.NICFile) // wrong for whatever NIC there is
	switch {
	case driven == 0 && dark && itself == "":
		return in.asNode(Verdict{Why: in.why("whether a NIC of the fabric of "+node+" is set up from "+nic.BnxtReConf+" is unknown", fabric.FactNICs, fabric.FactNICDriver, fabric.FactHCAs)})
	case driven == 0 && !dark:
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "no NIC of the fabric of " + node + " is set up from " + nic.BnxtReConf})
	case missing && m.Absent && (in.Plan == nil || in.Plan.Traffic == nil):
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: node + " has no " + nic.BnxtReConf})
	case missing && m.Absent:
		return in.asNode(Verdict{Why: node + " has no " + nic.BnxtReConf + ": from what its NICs are set up after the next boot is unknown", Fix: onNode("railwright apply", node)})
	case len(in.Facts.NICFile) == 0:
		return in.asNode(Verdict{Why: in.why(nic.BnxtReConf+" of "+node+" was not read: `cat "+nic.BnxtReConf+"` tells it", fabric.FactNICFile)})
	}
	v := Verdict{
		Status: fabric.Fail, Expected: "one set of values", On: on, Cost: "the next load of the driver changes the class of RoCE: " + lossCost,
		Evidence: []fabric.Evidence{saw(nic.BnxtReConf, settingWords(in.Facts.NICFile))}, Fix: onNode("correct "+nic.BnxtReConf+", then load the driver again, or reboot", node),
	}
	if wrong := cmp.Or(in.fileAgainstPlan(), itself); wrong != "" {
		v.Why = nic.BnxtReConf + " of " + node + " has " + wrong + "."
		return in.asNode(v)
	}
	return in.each(names, func(n *fabric.NIC) Verdict {
		switch {
		case n.Driver == "":
			return Verdict{Why: in.why("driver of "+node+":"+n.Name+" was not read", fabric.FactNICDriver+" "+n.Name, fabric.FactNICDriver)}
		case !nic.SetUpByFile(*n):
			return Verdict{Status: fabric.NotApplicable, Why: n.Driver + " NICs are not set up from " + nic.BnxtReConf}
		}
		return in.fileInEffect(n, v)
	})
}

// fileInEffect compares the file with what one NIC does; v is the verdict where they differ.
func (in NodeInput) fileInEffect(n *fabric.NIC, v Verdict) Verdict {
	v.On = nil
	roce, cnp := nic.FileMarking(in.Facts.NICFile)
	differs, known := fileAgainstNIC(roce, cnp, n.QoS)
	switch {
	case differs != "":
		v.Why = nic.BnxtReConf + " of " + in.Facts.Node + " says that " + differs + " on " + n.Name + ": it is not what is in effect."
		v.Evidence = append(v.Evidence, saw(qosSource(n.QoS), differs))
		return v
	case !known:
		return Verdict{Evidence: v.Evidence, Why: in.why("what is in effect on "+in.Facts.Node+":"+n.Name+" was not read: `"+nic.ShowQoS(*n)+"` tells it", fabric.FactNICQoS+" "+n.Name, fabric.FactNICQoS)}
	}
	return pass(v.Expected, append(v.Evidence, saw(qosSource(n.QoS), "these priorities"))...)
}

func settingWords(settings map[string]string) string {
	var out []string
	for _, name := range nic.SettingNames() {
		if value, ok := settings[name]; ok {
			out = append(out, name+"="+value)
		}
	}
	return strings.Join(out, " ")
}

// fileAgainstPlan returns the first setting that is not as planned.
func (in NodeInput) fileAgainstPlan() string {
	if in.Plan == nil || in.Plan.Traffic == nil {
		return ""
	}
	w := in.roceIntent()
	want := nic.WantedSettings(w.roce, w.cnp, w.share)
	for _, name := range nic.SettingNames() {
		have, ok := in.Facts.NICFile[name]
		if value, planned := want[name]; planned && ok && have != value {
			return name + "=" + have + ", the plan " + value
		}
	}
	return ""
}

// fileAgainstItself returns what no plan can want: CNPs in the priority of RoCE, or with its DSCP. With FC_MODE 1, PFC alone,
// there are no CNPs.
func fileAgainstItself(file map[string]string) string {
	if file["FC_MODE"] == "1" {
		return ""
	}
	for _, pair := range [][2]string{{"ROCE_PRI", "CNP_PRI"}, {"ROCE_DSCP", "CNP_DSCP"}} {
		if roce, cnp := file[pair[0]], file[pair[1]]; roce != "" && roce == cnp {
			return pair[0] + "=" + roce + " and " + pair[1] + "=" + cnp + ": congestion notifications wait, and are paused, with the data"
		}
	}
	return ""
}

// fileAgainstNIC compares the priorities of the DSCP values of a file with those of a NIC.
func fileAgainstNIC(roce, cnp *fabric.Marking, q *fabric.QoS) (differs string, known bool) {
	if q == nil || q.Trust == "" {
		return "", false
	}
	for _, one := range []struct {
		what string
		m    *fabric.Marking
	}{{"RoCE", roce}, {"CNP", cnp}} {
		if one.m == nil || one.m.DSCP == nil || one.m.Priority == nil {
			continue
		}
		dscp, want := *one.m.DSCP, *one.m.Priority
		p, ok := priorityOf(q, dscp)
		switch {
		case ok && p != want, !ok && q.Trust == "pcp" && want != 0:
			return fmt.Sprintf("DSCP %d (%s) is in priority %d, which is in priority %d", dscp, one.what, want, p), true
		case !ok && q.Trust != "pcp":
			return "", false
		}
	}
	return "", true
}
