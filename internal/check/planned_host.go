package check

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func nicFirmwareFloor() Rule {
	return Rule{
		ID:    "nic-firmware-floor",
		Title: "The firmware of no NIC is known not to work on the planned machine",
		Doc: "compares the firmware of the fabric's NICs with the release trains that the catalog has as bad for the planned machine's NIC: all nodes alike may have one. " +
			"Of a firmware older than a floor that one use has, it says so and passes: other traffic does not need it",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseVersionSkew,
		Reference: "the plan; the catalog, firmware and firmware_bad of the NIC with their sources (railwright catalog nics ID)",
		Facts:     []string{fabric.FactHCAs, fabric.FactHCAFirmware, fabric.FactNICFirmware},
		Scope:     []Condition{withPlan(), withMachine(), withHardware(), withRDMA()},
		Node:      judgeFirmwareFloor,
	}
}

func judgeFirmwareFloor(in NodeInput) []Verdict {
	m := in.Plan.Machine
	if len(m.NICFirmware) == 0 && len(m.NICFirmwareBad) == 0 {
		return in.asNode(noFigure(m, "firmware of the NICs"))
	}
	expected := firmwareText(m)
	return in.eachPort("", func(p portAt) Verdict {
		have := in.firmwareOf(p)
		if have == "" {
			return Verdict{Expected: expected, Why: in.why("firmware of "+in.Facts.Node+":"+p.name+" was not read", fabric.FactHCAFirmware+" "+p.hca.Name, fabric.FactHCAFirmware)}
		}
		seen := []fabric.Evidence{saw("fw_ver of "+p.hca.Name, have)}
		numbers := versionNumbers(have)
		if len(numbers) < 2 {
			return Verdict{Expected: expected, Evidence: seen, Why: "firmware " + strconv.Quote(have) + " of " + in.Facts.Node + ":" + p.name + " is not a version: of which release train it is, is unknown"}
		}
		for _, bad := range m.NICFirmwareBad {
			if bad.Train != strconv.Itoa(numbers[0]) {
				continue
			}
			return Verdict{
				Status: fabric.Fail, Expected: expected, Evidence: append(seen, saw("catalog", bad.Source)),
				Why:  fmt.Sprintf("Firmware %s of %s:%s is of release train %s, which is %s.", have, in.Facts.Node, p.name, bad.Train, bad.Says),
				Cost: "RDMA over it fails or hangs",
				Fix:  onNode("install the firmware of the card's part number, then power-cycle; ethtool -i shows it", in.Facts.Node),
			}
		}
		if floor, ok := belowFloors(numbers, m.NICFirmware); ok {
			seen = append(seen, saw("catalog", fmt.Sprintf("known to be good for %s from %s on, and not before (%s)", floor.For, floor.Least, floor.Source)))
		}
		return pass(expected, seen...)
	})
}

func firmwareText(m *fabric.NominalMachine) string {
	var words []string
	for _, b := range m.NICFirmwareBad {
		words = append(words, "none of train "+b.Train)
	}
	for _, f := range m.NICFirmware {
		words = append(words, "for "+f.For+" at least "+f.Least+" of its train")
	}
	return strings.Join(words, "; ")
}

// belowFloors finds the floor that a firmware does not reach: that of its release train, which is the first number of both,
// else the lowest. Of one above that, in a train without a floor, nothing is known, and nothing said.
func belowFloors(numbers []int, floors []fabric.FirmwareFloor) (fabric.FirmwareFloor, bool) {
	var lowest fabric.FirmwareFloor
	for _, f := range floors {
		least := versionNumbers(f.Least)
		if least[0] == numbers[0] {
			return f, compareNumbers(numbers, least) < 0
		}
		if lowest.Least == "" || compareNumbers(least, versionNumbers(lowest.Least)) < 0 {
			lowest = f
		}
	}
	return lowest, lowest.Least != "" && compareNumbers(numbers, versionNumbers(lowest.Least)) < 0
}

// versionNumbers are those of 231.2.63.0 and of 1.117.5-a-45. What follows a slash is the version of the package.
func versionNumbers(version string) []int {
	version, _, _ = strings.Cut(version, "/")
	version, _, _ = strings.Cut(version, " ")
	numbers := strings.FieldsFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	var out []int
	for _, text := range numbers[:min(len(numbers), 8)] {
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

func compareNumbers(a, b []int) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] - b[i]
		}
	}
	return len(a) - len(b)
}

func memoryPlanned() Rule {
	return Rule{
		ID:        "memory-planned",
		Title:     "The node has the memory that its planned machine should have",
		Doc:       "compares the memory of the node with what the catalog has for the planned machine: all nodes alike may have too little",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseProcessKilled,
		Reference: "the plan; the catalog, host_memory of the machine; Broadcom RoCE guide 2.3.3; Azure node health checks (3 to 7 percent are kept by firmware and kernel)",
		Facts:     []string{fabric.FactMachineMemory},
		Scope:     []Condition{withPlan(), withMachine(), withHardware(), onHost()},
		Node:      judgeMemoryPlanned,
	}
}

// memoryKept is the share that firmware and kernel keep at most of what the modules have.
const memoryKept = 0.07

func judgeMemoryPlanned(in NodeInput) []Verdict {
	m, kib := in.Plan.Machine, in.Facts.Machine.MemoryKiB
	if m.HostMemoryGB <= 0 {
		return in.asNode(noFigure(m, "host memory"))
	}
	expected := fmt.Sprintf("%.0f GB, less up to 7 %% that firmware and kernel keep", m.HostMemoryGB)
	if kib == nil {
		return in.asNode(Verdict{Expected: expected, Why: in.why("memory of "+in.Facts.Node+" was not read", fabric.FactMachineMemory)})
	}
	have := float64(*kib) * 1024 / 1e9
	seen := saw("/proc/meminfo, MemTotal", fmt.Sprintf("%d KiB, %.0f GB", *kib, have))
	if have >= (1-memoryKept)*m.HostMemoryGB {
		return in.asNode(pass(expected, seen))
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
		Why:  fmt.Sprintf("%s has %.0f GB of memory, its planned machine %s should have %.0f GB.", in.Facts.Node, have, m.ID, m.HostMemoryGB),
		Cost: "checkpoints and data sets that do not fit: processes are killed for memory, or read everything again",
		Fix:  onNode("dmidecode -t memory; a module that is missing there is defective or badly seated; else add modules", in.Facts.Node),
	})
}
