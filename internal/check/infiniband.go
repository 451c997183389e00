package check

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func smLID() Rule {
	return Rule{
		ID:        "sm-lid",
		Title:     "InfiniBand ports have a subnet manager",
		Doc:       "reads the subnet manager's LID of every InfiniBand port: 0 means that no subnet manager has configured the port, and nothing can be sent",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseSubnetManager,
		Reference: "InfiniBand Architecture 1.4, 14.2.5.6 PortInfo, MasterSMLID; vSphere 8 and InfiniBand, ib sm virt enable",
		Facts:     []string{fabric.FactPorts, fabric.FactPortSMLID},
		Scope:     []Condition{onInfiniBand(), withHardware(), withRDMA()},
		DependsOn: []string{"link-layer", "port-state"},
		Node:      judgeSMLID,
	}
}

func judgeSMLID(in NodeInput) []Verdict {
	return in.judgeLID(fabric.FactPortSMLID, "sm_lid", "LID of the subnet manager", func(p *fabric.Port) *int { return p.SMLID })
}

func portLID() Rule {
	return Rule{
		ID:        "port-lid",
		Title:     "InfiniBand ports have a LID",
		Doc:       "reads the LID of every InfiniBand port: the port's address, assigned by the subnet manager, from 1 to 49151",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseSubnetManager,
		Reference: "InfiniBand Architecture 1.4, 4.1.3 and 14.2.5.6 PortInfo, LID",
		Facts:     []string{fabric.FactPorts, fabric.FactPortLID},
		Scope:     []Condition{onInfiniBand(), withHardware(), withRDMA()},
		DependsOn: []string{"sm-lid"},
		Node:      judgePortLID,
	}
}

func judgePortLID(in NodeInput) []Verdict {
	return in.judgeLID(fabric.FactPortLID, "lid", "LID", func(p *fabric.Port) *int { return p.LID })
}

// lastUnicast is the highest LID of a port; above it are multicast groups (InfiniBand Architecture 1.4, 4.1.3).
const lastUnicast = 0xbfff

func (in NodeInput) judgeLID(fact, file, what string, of func(*fabric.Port) *int) []Verdict {
	const want = "1 to 49151"
	return in.eachPort("InfiniBand", func(p portAt) Verdict {
		lid, name := of(p.port), in.Facts.Node+":"+p.name
		if lid == nil {
			return Verdict{Why: in.portWhy(what+" of "+name+" was not read", fact, p)}
		}
		seen := saw(p.sysfs(file), strconv.Itoa(*lid))
		if *lid >= 1 && *lid <= lastUnicast {
			return pass(want, seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("The %s of %s is %d: no subnet manager has configured the port.", what, name, *lid),
			Cost: "no traffic on this port",
			Fix:  onNode("sminfo -C "+fabric.ShellWord(p.hca.Name)+" -P "+strconv.Itoa(p.port.Number), in.Facts.Node) + "; start opensm or the switch's subnet manager (`ib sm`), for virtual functions with `ib sm virt enable`",
		}
	})
}

func pkeyMember() Rule {
	return Rule{
		ID:        "pkey-member",
		Title:     "InfiniBand ports are full members of a partition",
		Doc:       "looks for a P_Key with bit 15 set on every InfiniBand port: limited members cannot communicate with each other",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CausePKeyMismatch,
		Reference: "InfiniBand Architecture 1.4, 10.9.3 partition membership",
		Facts:     []string{fabric.FactPorts, fabric.FactPortPKeys},
		Scope:     []Condition{onInfiniBand(), withHardware(), withRDMA()},
		DependsOn: []string{"sm-lid"},
		Node:      judgePKeyMember,
	}
}

func judgePKeyMember(in NodeInput) []Verdict {
	return in.eachPort("InfiniBand", func(p portAt) Verdict {
		name := in.Facts.Node + ":" + p.name
		want, wanted := "a P_Key of 0x8000 or above", uint64(0)
		if in.Plan != nil && in.Plan.Partition != 0 && in.Plan.Partition != fabric.DefaultPartition {
			wanted = uint64(in.Plan.Partition) | fabric.FullMember
			want = fmt.Sprintf("P_Key 0x%04x: full membership of the planned partition", wanted)
		}
		if len(p.port.PKeys) == 0 {
			return Verdict{Why: in.portWhy("P_Keys of "+name+" were not read", fabric.FactPortPKeys, p)}
		}
		keys := strings.Join(p.port.PKeys, " ")
		_, cut := in.missing(fabric.FactPortPKeys + " " + p.name)
		for _, k := range p.port.PKeys {
			if n, err := strconv.ParseUint(k, 0, 16); err == nil && (wanted != 0 && n == wanted || wanted == 0 && n&fabric.FullMember != 0) {
				return pass(want, saw(p.sysfs("pkeys"), keys))
			}
		}
		if cut { // the key that is wanted may be the one that was not read
			return Verdict{Evidence: []fabric.Evidence{saw(p.sysfs("pkeys"), keys)}, Why: in.portWhy("P_Keys of "+name+" were not all read", fabric.FactPortPKeys, p)}
		}
		why := name + " is only a limited member of its partitions (" + keys + "): it cannot reach other limited members."
		if wanted != 0 {
			why = name + " is not a full member of the planned partition: it has P_Keys " + keys + ", not " + fmt.Sprintf("0x%04x.", wanted)
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw(p.sysfs("pkeys"), keys)},
			Why:  why,
			Cost: "no connection between two such ports",
			Fix:  onNode("set the port GUIDs to `=full` in partitions.conf of the subnet manager, then restart it; compare with: cat "+fabric.ShellWord(p.sysfs("pkeys"))+"/*", in.Facts.Node),
		}
	})
}
