package check

import (
	"cmp"
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func ipoib() Rule {
	return Rule{
		ID:    "ipoib",
		Title: "Interfaces over InfiniBand are set as planned",
		Doc: "compares MTU, mode and P_Key of the planned interfaces over InfiniBand with the plan: in datagram mode the MTU is at most 4092 bytes, " +
			"and interfaces of different partitions do not reach each other. RDMA itself does not depend on them, but tests that are given an address do",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMTUMismatch,
		Reference: "the plan; RFC 4391 and RFC 4755; Linux, Documentation/infiniband/ipoib.rst",
		Facts:     []string{fabric.FactNICs},
		Scope:     []Condition{withPlan(), onInfiniBand(), withAddresses()},
		DependsOn: []string{"nic-present"},
		Node:      judgeIPoIB,
	}
}

const datagram = "datagram"

func judgeIPoIB(in NodeInput) []Verdict {
	partition := in.Plan.Partition
	if partition == 0 {
		partition = fabric.DefaultPartition
	}
	pkey := fmt.Sprintf("0x%04x", uint64(partition)|fabric.FullMember)
	expected := fmt.Sprintf("MTU %d, mode %s, P_Key %s", in.Plan.MTU, datagram, pkey)
	return in.eachPlanned(func(nic *fabric.NIC) Verdict {
		name := in.Facts.Node + ":" + nic.Name
		have := cmp.Or(nic.IPoIB, &fabric.IPoIB{})
		seen := saw("ip -details link show dev "+nic.Name, fmt.Sprintf("mtu %d, mode %s, pkey %s", nic.MTU, cmp.Or(have.Mode, "unknown"), cmp.Or(have.PKey, "unknown")))
		fail := Verdict{Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen}, Cost: "connections over IP between this and others hang with large packets"}
		device := fabric.ShellWord(nic.Name)
		switch {
		case have.Mode != "" && have.Mode != datagram:
			fail.Why = name + " is in " + have.Mode + " mode, and the files of the plan set datagram mode."
			fail.Fix = in.untilBoot("ip link set dev " + device + " down && echo datagram > " + fabric.ShellWord("/sys/class/net/"+nic.Name+"/mode") + " && ip link set dev " + device + " up")
			return fail
		case have.PKey != "" && have.PKey != pkey:
			fail.Why, fail.Cause, fail.Cost = name+" has P_Key "+have.PKey+", planned is "+pkey+".", fabric.CausePKeyMismatch, "it reaches no interface of the planned partition"
			fail.Fix = onNode("set the partition of the port in the subnet manager, or use the interface of that partition; compare with: cat "+fabric.ShellWord("/sys/class/net/"+nic.Name+"/pkey"), in.Facts.Node)
			return fail
		case nic.MTU > 0 && in.Plan.MTU > 0 && nic.MTU != in.Plan.MTU:
			fail.Why = fmt.Sprintf("%s has MTU %d, the plan says %d.", name, nic.MTU, in.Plan.MTU)
			fail.Fix = in.untilBoot("ip link set dev " + device + " mtu " + strconv.Itoa(in.Plan.MTU))
			if nic.MTU == 2044 {
				fail.Fix += "; where that is refused the subnet manager gives the group an MTU of 2048: mtu=5 in partitions.conf, or raise it on the switch"
			}
			return fail
		case nic.MTU <= 0 || have.Mode == "" || have.PKey == "":
			return Verdict{Expected: expected, Evidence: []fabric.Evidence{seen}, Why: in.why("MTU, mode and P_Key of "+name+" were not all read", fabric.FactNICs)}
		}
		return pass(expected, seen)
	})
}
