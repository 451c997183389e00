package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

// What each of the two PCIe links of a DGX Spark's NIC is, by the board: Gen5 x4, 126 Gb/s. The chip could do x16.
const (
	sparkSpeed = 32.0 // GT/s
	sparkWidth = 4    // lanes
)

func sparkPCIe() Rule {
	return Rule{
		ID:        "spark-pcie",
		Title:     "Both PCIe links of a DGX Spark's NIC run at Gen5 x4",
		Doc:       "compares the link of each PCI function of a DGX Spark's NIC with 32 GT/s and four lanes, all that the board has: some firmware trains the second one at x2",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CausePCIeDowngraded,
		Reference: "DGX Spark Networking, ConnectX quirks; NVIDIA developer forum 367853 (second endpoint at x2 before the BIOS of 2026-04)",
		Facts:     []string{fabric.FactPCI, fabric.FactPCILink, fabric.FactMachineBIOS},
		Scope:     []Condition{withHardware(), onSpark()},
		DependsOn: []string{"pcie-link"},
		Node:      judgeSparkPCIe,
	}
}

func judgeSparkPCIe(in NodeInput) []Verdict {
	const want = "32 GT/s x4"
	var out []Verdict
	for p := range spark.Ports {
		for t := range spark.Twins {
			tw := &in.view.spark.Ports[p].Twins[t]
			if _, ok := in.view.pci[tw.PCI]; !ok {
				continue
			}
			v := in.judgeTwinLink(tw, want)
			v.Subject = fabric.PCISubject(in.Facts.Node, tw.PCI)
			out = append(out, v)
		}
	}
	if len(out) > 0 {
		return out
	}
	return in.asNode(Verdict{Why: in.why("PCIe links of the NIC of "+in.Facts.Node+" were not read", fabric.FactPCI)})
}

func (in NodeInput) judgeTwinLink(tw *spark.Half, want string) Verdict {
	if tw.Speed <= 0 || tw.Width <= 0 {
		return Verdict{Why: in.pciWhy("PCIe link of "+in.Facts.Node+":"+tw.PCI+" was not read", fabric.FactPCILink, tw.PCI)}
	}
	seen := []fabric.Evidence{saw("lspci -vv -s "+tw.PCI+", LnkSta", fmt.Sprintf("%g GT/s x%d", tw.Speed, tw.Width))}
	if tw.Speed >= sparkSpeed && tw.Width >= sparkWidth {
		return pass(want, seen...)
	}
	fix := "update firmware and BIOS, then power off, pull the power plug for a minute and start: sudo fwupdmgr refresh && sudo fwupdmgr update"
	if b := in.Facts.Machine.BIOS; b != nil {
		seen = append(seen, saw("BIOS", *b))
	}
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: seen,
		Why:  fmt.Sprintf("The PCIe link of %s:%s (%s) runs at %g GT/s x%d, not %s.", in.Facts.Node, tw.PCI, tw.Label(), tw.Speed, tw.Width, want),
		Cost: fmt.Sprintf("%.0f instead of 126 Gb/s raw on this twin (lanes x GT/s x 128/130)", tw.Speed*float64(tw.Width)*128/130),
		Fix:  onNode(fix, in.Facts.Node),
	}
}

// sparkFirmware is the firmware of the NIC that healthy machines of public captures have.
const sparkFirmware = "28.45.4028"

func sparkFirmwareRule() Rule {
	return Rule{
		ID:        "spark-firmware",
		Title:     "The NIC of a DGX Spark has firmware " + sparkFirmware + " or later",
		Doc:       "compares the firmware of the ConnectX-7 of a DGX Spark with the version under which both twins reach 109 Gb/s",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseNICDegradedInit,
		Reference: "public captures of DGX Spark, GX10 and Dell Pro Max GB10 (ibstat, dmesg)",
		Facts:     []string{fabric.FactHCAs, fabric.FactHCAFirmware, fabric.FactNICFirmware},
		Scope:     []Condition{withHardware(), onSpark()},
		Node:      judgeSparkFirmware,
	}
}

func judgeSparkFirmware(in NodeInput) []Verdict {
	var versions []string
	for p := range spark.Ports {
		for t := range spark.Twins {
			if v, _, _ := strings.Cut(in.view.spark.Ports[p].Twins[t].Firmware, " "); v != "" {
				versions = addOnce(versions, v)
			}
		}
	}
	if len(versions) == 0 {
		return in.asNode(Verdict{Why: in.why("firmware of the NIC of "+in.Facts.Node+" was not read", fabric.FactHCAFirmware, fabric.FactHCAs)})
	}
	want := sparkFirmware + " or later"
	seen := saw("fw_ver of the NIC", strings.Join(versions, ", "))
	for _, v := range versions {
		if olderVersion(v, sparkFirmware) {
			return in.asNode(Verdict{
				Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
				Why:  "The NIC of " + in.Facts.Node + " has firmware " + v + ", older than " + sparkFirmware + ".",
				Cost: "unknown; a degraded NIC of 8 to 25 Gb/s was seen with older software",
				Fix:  onNode("sudo apt full-upgrade && sudo fwupdmgr refresh && sudo fwupdmgr update, then reboot", in.Facts.Node),
			})
		}
	}
	return in.asNode(pass(want, seen))
}

// olderVersion compares numbers between dots; what is not a number is not older.
func olderVersion(have, want string) bool {
	h, w := strings.Split(have, "."), strings.Split(want, ".")
	for i := range min(len(h), len(w)) {
		a, err := strconv.Atoi(h[i])
		b, wrong := strconv.Atoi(w[i])
		if err != nil || wrong != nil {
			return false
		}
		if a != b {
			return a < b
		}
	}
	return false
}

func sparkMemory() Rule {
	return Rule{
		ID:        "spark-cma",
		Title:     "The kernel of a DGX Spark keeps memory in one piece for devices",
		Doc:       "reads CmaTotal of /proc/meminfo: with 0 kB, which one kernel of the machine came with, registering memory for RDMA fails for any size",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRDMADriver,
		Reference: "luxingcom/aicad-nccl-optimization issue 1 (kernel 7.0.0-1019-nvidia); kernel documentation, CMA",
		Facts:     []string{fabric.FactMachineCMA, fabric.FactMachineMemory},
		Scope:     []Condition{withHardware(), onSpark()},
		Node:      judgeSparkMemory,
	}
}

func judgeSparkMemory(in NodeInput) []Verdict {
	const want = "CmaTotal above 0 kB"
	kib := in.Facts.Machine.CMAKiB
	if kib == nil {
		return in.asNode(Verdict{Why: in.why("CmaTotal of "+in.Facts.Node+" was not read", fabric.FactMachineCMA, fabric.FactMachineMemory)})
	}
	seen := saw("/proc/meminfo", "CmaTotal "+strconv.Itoa(*kib)+" kB")
	if *kib > 0 {
		return in.asNode(pass(want, seen))
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen, saw("uname -r", in.Facts.Kernel.Release)},
		Why:  "The kernel of " + in.Facts.Node + " has a CmaTotal of 0 kB.",
		Cost: "ibv_reg_mr fails with ENOMEM, and with it every RDMA connection",
		Fix:  onNode("boot a kernel with CMA: ls /boot/config-* ; grep CONFIG_CMA= /boot/config-*; 6.17.0-1031-nvidia has it", in.Facts.Node),
	})
}

func sparkHCAs() Rule {
	return Rule{
		ID:    "spark-hca",
		Title: "NCCL_IB_HCA names both twins of the ports on the path, and only those",
		Doc: "compares NCCL_IB_HCA, where /etc/nccl.conf or a text sets it, with the RDMA devices of the ports of a DGX Spark that have a cable and an address: " +
			"one twin is half of the port, and a device of a port that leads elsewhere stops the job",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseHalfPortTwin,
		Reference: "DGX Spark Networking, NCCL_IB_HCA; NCCL user guide, NCCL_IB_HCA; eugr/spark-vllm-docker issue 40",
		Facts:     []string{fabric.FactNCCL, fabric.FactHCAs},
		Scope:     []Condition{withHardware(), onSpark()},
		Node:      judgeSparkHCAs,
	}
}

func judgeSparkHCAs(in NodeInput) []Verdict {
	setting, ok := in.Facts.NCCL["NCCL_IB_HCA"]
	switch {
	case !ok && in.Facts.NCCL != nil:
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "/etc/nccl.conf of " + in.Facts.Node + " sets no NCCL_IB_HCA: the job's own environment decides"})
	case !ok:
		return in.asNode(Verdict{Why: in.why("NCCL_IB_HCA of "+in.Facts.Node+" was not seen", fabric.FactNCCL)})
	case strings.HasPrefix(setting, "^"):
		return in.asNode(Verdict{Why: "NCCL_IB_HCA=" + setting + " leaves devices out instead of naming them"})
	}
	listed := map[string]bool{}
	for word := range strings.SplitSeq(strings.TrimPrefix(setting, "="), ",") {
		name, _, _ := strings.Cut(word, ":")
		listed[name] = true
	}
	var out []Verdict
	for i := range spark.Ports {
		p := &in.view.spark.Ports[i]
		if !p.Used() && !slices.ContainsFunc(hcasOf(p), func(hca string) bool { return listed[hca] }) {
			continue
		}
		v := in.judgeListed(p, setting, listed)
		v.Subject = qsfp(in.Facts.Node, i)
		out = append(out, v)
	}
	if len(out) > 0 {
		return out
	}
	return in.asNode(Verdict{Why: in.why("no QSFP port of "+in.Facts.Node+" is known to be in use", fabric.FactNICs, fabric.FactHCAs)})
}

func (in NodeInput) judgeListed(p *spark.QSFP, setting string, listed map[string]bool) Verdict {
	want := "both twins of each port on the path, and no other device"
	seen := []fabric.Evidence{saw("NCCL_IB_HCA", setting)}
	var used, left []string
	for t := range p.Twins {
		switch hca := p.Twins[t].HCA; {
		case hca == "":
			return Verdict{Evidence: seen, Why: in.why("RDMA devices of port "+in.Facts.Node+" "+p.Title()+" were not all seen", fabric.FactHCAs)}
		case listed[hca]:
			used = append(used, hca)
		default:
			left = append(left, hca)
		}
	}
	elsewhere := in.leadsElsewhere(p)
	switch {
	case len(used) > 0 && elsewhere != "":
		return Verdict{
			Status: fabric.Fail, Cause: fabric.CauseHCASubset, Expected: want, Evidence: seen,
			Why:  "NCCL_IB_HCA lists " + strings.Join(used, " and ") + " of port " + in.Facts.Node + " " + p.Title() + " too, " + elsewhere + ".",
			Cost: "NCCL tries to reach the peer over that port: the job does not start, or hangs",
			Fix:  "NCCL_IB_HCA=" + strings.Join(hcasOf(&in.view.spark.Ports[1-p.Number]), ","),
		}
	case len(used) == 1:
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: seen,
			Why:  "NCCL_IB_HCA lists " + used[0] + " of port " + in.Facts.Node + " " + p.Title() + " and not its twin " + left[0] + ": only one twin is used.",
			Cost: "half of the port for large messages: about 12 instead of 23.7 GB/s",
			Fix:  "NCCL_IB_HCA=" + strings.Join(hcasOf(p), ","),
		}
	case len(used) == 0 && p.Addressed():
		return Verdict{Status: fabric.NotApplicable, Why: "NCCL_IB_HCA lists no device of port " + p.Title()}
	}
	return pass(want, seen...)
}

// leadsElsewhere says why a port is not on the path of a job; empty: it is, or nothing speaks against it. A mesh uses both.
func (in NodeInput) leadsElsewhere(p *spark.QSFP) string {
	other := &in.view.spark.Ports[1-p.Number]
	peers := strings.FieldsFunc(in.Facts.NCCL[fabric.WorkerNodes], func(r rune) bool { return r == ',' || r == ' ' })
	switch {
	case p.Addressed() || !other.Addressed():
		return ""
	case len(peers) == 1:
		return "which has no address, while the one other machine of the job is reached by " + other.Title() +
			": it leads to another machine, or is a second cable that brings nothing"
	case len(peers) > 1:
		return ""
	case slices.ContainsFunc(in.view.spark.Seen, func(s spark.Neighbour) bool { return s.Port == p.Number && s.System != "" }):
		return "which has no address, and leads to " + in.view.spark.Seen[0].System
	}
	return ""
}

func hcasOf(p *spark.QSFP) []string {
	var out []string
	for t := range p.Twins {
		if p.Twins[t].HCA != "" {
			out = append(out, p.Twins[t].HCA)
		}
	}
	return out
}

func sparkConf() Rule {
	return Rule{
		ID:    "spark-nccl-conf",
		Title: "No setting of /etc/nccl.conf is left that harms a DGX Spark",
		Doc: "reads NCCL settings that every job on a DGX Spark gets: inline sends and preposted receives, which hang small messages, and a GID index that is not that of " +
			"every port, since it differs by port and moves when addresses change",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseNCCLSettings,
		Reference: "luxingcom/aicad-nccl-optimization issue 1; NCCL user guide, NCCL_IB_GID_INDEX and nccl.conf",
		Facts:     []string{fabric.FactNCCL, fabric.FactPortGIDs},
		Scope:     []Condition{withHardware(), onSpark()},
		Node:      judgeSparkConf,
	}
}

func judgeSparkConf(in NodeInput) []Verdict {
	const want = "no NCCL_IB_USE_INLINE, no NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS, no NCCL_IB_GID_INDEX"
	if in.Facts.NCCL == nil {
		return in.asNode(Verdict{Why: in.why("/etc/nccl.conf of "+in.Facts.Node+" was not read", fabric.FactNCCL)})
	}
	for _, name := range []string{"NCCL_IB_USE_INLINE", "NCCL_IB_PREPOST_RECEIVE_WORK_REQUESTS"} {
		if in.Facts.NCCL[name] == "1" {
			return in.asNode(in.harmful(want, name, "1", "hangs messages of some bytes, with which engines begin"))
		}
	}
	pinned, ok := in.Facts.NCCL["NCCL_IB_GID_INDEX"]
	if !ok || pinned == "-1" {
		return in.asNode(pass(want, saw("/etc/nccl.conf", fabric.Count(len(in.Facts.NCCL), "setting"))))
	}
	known := false
	for p := range spark.Ports {
		for t := range spark.Twins {
			tw := &in.view.spark.Ports[p].Twins[t]
			if tw.GIDIndex < 0 {
				continue
			}
			known = true
			if strconv.Itoa(tw.GIDIndex) != pinned {
				return in.asNode(in.harmful(want, "NCCL_IB_GID_INDEX", pinned, "is not the index of "+tw.Label()+", whose address is at "+strconv.Itoa(tw.GIDIndex)))
			}
		}
	}
	if !known {
		return in.asNode(Verdict{Why: in.why("NCCL_IB_GID_INDEX="+pinned+" is set, and the GID tables of "+in.Facts.Node+" were not read", fabric.FactPortGIDs)})
	}
	return in.asNode(pass(want, saw("NCCL_IB_GID_INDEX", pinned+", that of every twin with an address")))
}

func (in NodeInput) harmful(want, name, value, does string) Verdict {
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw("NCCL settings", name+"="+value)},
		Why:  name + "=" + value + " on " + in.Facts.Node + " " + does + ".",
		Cost: "jobs hang or do not connect",
		Fix:  onNode("sudo sed -i '/^"+name+"/d' /etc/nccl.conf, and in the image of the container too", in.Facts.Node),
	}
}
