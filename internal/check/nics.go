package check

import (
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func nicPresent() Rule {
	return Rule{
		ID:        "nic-present",
		Title:     "Planned NICs exist",
		Doc:       "looks for every planned NIC among the interfaces of the node: without it the node has no port on its rail",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseLinkDown,
		Reference: "the plan; Broadcom RoCE guide 2.4, eight NICs a host",
		Facts:     []string{fabric.FactNICs},
		Scope:     []Condition{withPlan()},
		Node:      judgeNICPresent,
	}
}

func judgeNICPresent(in NodeInput) []Verdict {
	out := in.room(len(in.Plan.NICs))
	for _, name := range in.Plan.NICs {
		v := judgeOnePresent(in, name)
		v.Subject = fabric.NICSubject(in.Facts.Node, name)
		out = append(out, v)
	}
	return out
}

func judgeOnePresent(in NodeInput, name string) Verdict {
	seen := saw("ip link show", strconv.Itoa(len(in.Facts.NICs))+" interfaces")
	if nic, ok := in.nic(name); ok {
		return pass(name, saw("ip link show dev "+name, "index "+strconv.Itoa(nic.Index)))
	}
	if h, ok := in.plannedHCA(name); ok {
		return pass(name, saw("/sys/class/infiniband/"+h.Name, fabric.Count(len(h.Ports), "port")))
	}
	if _, cut := in.missing(fabric.FactNICs); cut || len(in.Facts.NICs) == 0 {
		return Verdict{Why: in.why("unknown whether "+name+" exists", fabric.FactNICs), Evidence: []fabric.Evidence{seen}}
	}
	return Verdict{
		Status:   fabric.Fail,
		Expected: name,
		Evidence: []fabric.Evidence{seen},
		Why:      in.Facts.Node + ":" + name + " does not exist: none of the node's " + strconv.Itoa(len(in.Facts.NICs)) + " interfaces has this name.",
		Fix:      onNode("ip -br link; lspci -nn -d ::0200; dmesg | grep -i -e mlx5 -e bnxt -e ionic", in.Facts.Node),
	}
}

func linkUp() Rule {
	return Rule{
		ID:        "link-up",
		Title:     "NICs have a link",
		Doc:       "reads carrier and operational state of the planned NICs, or of those with an RDMA device: a NIC without a link cannot take part in any collective. On InfiniBand port-state reads the port: the interface over it may be down",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseLinkDown,
		Reference: "RFC 2863, ifOperStatus; kernel documentation, networking/operstates; Broadcom RoCE guide 2.6 no. 8",
		Facts:     []string{fabric.FactNICs},
		Scope:     []Condition{onRoCE(), withRDMA()},
		DependsOn: []string{"nic-present", "pod-nic-ready"},
		Node:      judgeLinkUp,
	}
}

func judgeLinkUp(in NodeInput) []Verdict {
	return in.each(in.ethernet(), func(nic *fabric.NIC) Verdict {
		carrier := "unknown"
		if nic.Carrier != nil {
			carrier = strconv.FormatBool(*nic.Carrier)
		}
		name := in.Facts.Node + ":" + nic.Name
		state := saw("ip link show dev "+nic.Name, "operstate "+nic.OperState+", carrier "+carrier)
		const want = "operstate up, carrier true"
		if why := in.uncabled(nic.Name, ""); why != "" {
			return Verdict{Status: fabric.NotApplicable, Why: why}
		}
		if why := in.halfPort(nic.Name, ""); why != "" && isDown(nic) {
			return Verdict{Evidence: []fabric.Evidence{state}, Why: why}
		}
		switch {
		case isDown(nic) && in.twinned(nic.Name):
			return in.judgeTwinDown(nic, state)
		case isDown(nic):
			return Verdict{
				Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{state},
				Why: name + " has no link: operstate " + nic.OperState + " and carrier " + carrier + ", not up and true.",
				Fix: onNode("ip link set dev "+fabric.ShellWord(nic.Name)+" up && ethtool "+fabric.ShellWord(nic.Name), in.Facts.Node),
			}
		case nic.Carrier == nil:
			return Verdict{Evidence: []fabric.Evidence{state}, Why: in.why("carrier of "+name+" was not read", fabric.FactNICs)}
		case nic.OperState == "up" || nic.OperState == "unknown":
			// "unknown": the driver does not report; the kernel's text says to count such a link as usable.
			return pass(want, state)
		default:
			return Verdict{Evidence: []fabric.Evidence{state}, Why: "operstate \"" + nic.OperState + "\" of " + name + " is not a state of RFC 2863"}
		}
	})
}

// isDown reports whether a NIC is in a state of RFC 2863 in which no packet passes, or has no carrier.
func isDown(nic *fabric.NIC) bool {
	switch nic.OperState {
	case "down", "lowerlayerdown", "notpresent", "dormant", "testing":
		return true
	}
	return nic.Carrier != nil && !*nic.Carrier
}
