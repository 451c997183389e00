package nic

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Commands for people, by the driver of a NIC. The interface is a word of the shell.

// ShowQoS returns the command that shows what a NIC does with traffic classes.
func ShowQoS(n fabric.NIC) string {
	switch n.Driver {
	case driverBroadcom:
		return niccliProgram + " -i " + niccliDevice(n.PCI) + " qos --ets --show"
	case driverMellanox:
		return mlnxQoSProgram + " -i " + fabric.ShellWord(n.Name)
	case driverPensando:
		return nicctlProgram + " show qos"
	}
	return "dcb pfc show dev " + fabric.ShellWord(n.Name) + "; dcb app show dev " + fabric.ShellWord(n.Name) + "; dcb ets show dev " + fabric.ShellWord(n.Name)
}

// ShowMarking returns the command that shows with what RoCE and CNPs leave.
func ShowMarking(n fabric.NIC) string {
	switch n.Driver {
	case driverBroadcom:
		return "mkdir -p " + "/sys/kernel/config/bnxt_re/DEVICE && grep . /sys/kernel/config/bnxt_re/DEVICE/ports/1/cc/*_dscp   # DEVICE: its RDMA device"
	case driverMellanox:
		return "cat /sys/class/infiniband/DEVICE/tc/1/traffic_class /sys/class/net/" + fabric.ShellWord(n.Name) + "/ecn/roce_np/cnp_dscp   # DEVICE: its RDMA device"
	case driverPensando:
		return nicctlProgram + " show dcqcn"
	}
	return "the vendor's tool"
}

// ShowECN returns the command that shows whether a NIC reacts to marked packets.
func ShowECN(n fabric.NIC) string {
	switch n.Driver {
	case driverBroadcom:
		return "mkdir -p /sys/kernel/config/bnxt_re/DEVICE && cat /sys/kernel/config/bnxt_re/DEVICE/ports/1/cc/ecn_enable   # DEVICE: its RDMA device"
	case driverMellanox:
		return "mlxconfig -d " + n.PCI + " -e query " + OptionCCMask
	}
	return ShowMarking(n)
}

// SetPriority returns the command that gives packets of a DSCP value a priority.
func SetPriority(n fabric.NIC, dscp, priority int) string {
	name := fabric.ShellWord(n.Name)
	switch n.Driver {
	case driverBroadcom:
		return fmt.Sprintf("%s -i %s qos --apptlv --add --app %d,5,%d", niccliProgram, niccliDevice(n.PCI), priority, dscp)
	case driverMellanox:
		return fmt.Sprintf("%s -i %s --trust dscp; %s -i %s --dscp2prio set,%d,%d", mlnxQoSProgram, name, mlnxQoSProgram, name, dscp, priority)
	case driverPensando:
		return fmt.Sprintf("nicctl update qos --classification-type dscp; nicctl update qos dscp-to-priority --dscp %d --priority %d", dscp, priority)
	}
	return fmt.Sprintf("dcb app replace dev %s dscp-prio %d:%d", name, dscp, priority)
}

// SetPFC returns the command that pauses exactly some priorities; with none of them PFC is off.
func SetPFC(n fabric.NIC, list []int) string {
	name := fabric.ShellWord(n.Name)
	switch n.Driver {
	case driverMellanox:
		words := make([]string, priorities)
		for p := range words {
			words[p] = "0"
			if slices.Contains(list, p) {
				words[p] = "1"
			}
		}
		return mlnxQoSProgram + " -i " + name + " --pfc " + strings.Join(words, ",")
	case driverBroadcom:
		if len(list) == 1 {
			return fmt.Sprintf("%s -i %s qos --pfc --enable %d", niccliProgram, niccliDevice(n.PCI), list[0])
		}
		return niccliProgram + " -i " + niccliDevice(n.PCI) + " qos --pfc --enable 0xFF   # none"
	case driverPensando:
		if len(list) == 1 {
			return "nicctl update qos pfc --priority " + strconv.Itoa(list[0]) + " --no-drop enable"
		}
		return "nicctl update qos pfc --priority PRIORITY --no-drop disable   # for each that has it"
	}
	command := "dcb pfc set dev " + name + " prio-pfc all:off"
	for _, p := range list {
		command += " " + strconv.Itoa(p) + ":on"
	}
	return command
}

// SetMarking returns the command that gives RoCE its DSCP value.
func SetMarking(n fabric.NIC, roce, cnp int) string {
	switch n.Driver {
	case driverMellanox:
		return fmt.Sprintf("echo %d > /sys/class/infiniband/DEVICE/tc/1/traffic_class; cma_roce_tos -d DEVICE -t %d; echo %d > /sys/class/net/%s/ecn/roce_np/cnp_dscp   # DEVICE: its RDMA device",
			4*roce, 4*roce, cnp, fabric.ShellWord(n.Name))
	case driverBroadcom:
		return fmt.Sprintf("%s=%d and %s=%d in %s, then load the driver again", SettingRoCEDSCP, roce, SettingCNPDSCP, cnp, BnxtReConf)
	case driverPensando:
		return fmt.Sprintf("nicctl update dcqcn -r DEVICE -i 1 --cnp-dscp %d; NCCL_IB_TC=%d   # DEVICE: its RDMA device", cnp, 4*roce)
	}
	return "NCCL_IB_TC=" + strconv.Itoa(4*roce) + " in the environment of the job"
}

// SetECN returns the command that makes a NIC react to marked packets of a priority.
func SetECN(n fabric.NIC, priority int) string {
	switch n.Driver {
	case driverMellanox:
		folder := "/sys/class/net/" + fabric.ShellWord(n.Name) + "/ecn"
		return fmt.Sprintf("echo 1 > %s/roce_np/enable/%d; echo 1 > %s/roce_rp/enable/%d", folder, priority, folder, priority)
	case driverBroadcom:
		return SettingMode + "=3 and " + SettingFlowControl + "=1 in " + BnxtReConf + ", then load the driver again"
	}
	return "the vendor's tool: DCQCN on"
}

// SetClasses returns the command that gives RoCE and CNPs their traffic classes: 1 with a share in percent, and 2 strict.
func SetClasses(n fabric.NIC, roce, cnp, share int) string {
	of := func(p int) int {
		switch p {
		case roce:
			return 1
		case cnp:
			return 2
		}
		return 0
	}
	maps := make([]string, priorities)
	plain := make([]string, priorities)
	for p := range maps {
		maps[p], plain[p] = fmt.Sprintf("%d:%d", p, of(p)), strconv.Itoa(of(p))
	}
	name := fabric.ShellWord(n.Name)
	switch n.Driver {
	case driverMellanox:
		return fmt.Sprintf("%s -i %s --prio_tc %s --tsa ets,ets,strict,strict,strict,strict,strict,strict --tcbw %d,%d,0,0,0,0,0,0", mlnxQoSProgram, name, strings.Join(plain, ","), 100-share, share)
	case driverBroadcom:
		return fmt.Sprintf("%s -i %s qos --ets --tsa 0:ets,1:ets,2:strict --up2tc %s --tcbw %d,%d", niccliProgram, niccliDevice(n.PCI), strings.Join(maps, ","), 100-share, share)
	case driverPensando:
		return fmt.Sprintf("nicctl update qos scheduling --priority 0,%d,%d --dwrr %d,%d,0 --rate-limit 0,0,10", roce, cnp, 100-share, share)
	}
	return fmt.Sprintf("dcb ets set dev %s tc-tsa 0:ets 1:ets 2:strict tc-bw 0:%d 1:%d prio-tc %s", name, 100-share, share, strings.Join(maps, " "))
}
