package facts

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// The partitions of Fabric Manager, as fmpm -l prints them (github.com/NVIDIA/Fabric-Manager-Client: JSON whose keys are sorted, so
// that GPUs come before the id of their partition), and Module Ids of GPUs behind a grep of nvidia-smi -q.
const (
	fmpmTool    = "fmpm"
	modulesTool = "nvidia-smi modules"
)

var (
	fmpmField  = pattern.New(`^\s*"(partitionId|numGpus|isActive|physicalId)"\s*:\s*([0-9]{1,4}),?$`)
	fmpmHead   = pattern.New(`^\s*"(?:maxNumPartitions|numPartitions|partitionInfo|gpuInfo|maxNumNvLinks)"\s*:\s*(?:\[|[0-9]{1,4},?)$`)
	fmpmOther  = pattern.New(`^\s*(?:"(?:gpuInfo|partitionInfo|version|numPartitions|maxNumPartitions|maxNumNvLinks|numNvLinksAvailable|nvlinkLineRateMBps|pciBusId|uuid)"\s*:.*|[][{}]+,?)$`)
	moduleLine = pattern.New(`^\s+Module Id\s+: ([0-9]{1,3})$`)
)

func isFMPMField(line string) bool {
	return strings.Contains(line, `"`) && fmpmField().MatchString(strings.TrimRight(line, " \r\n"))
}

// beginsFMPM knows the fields before the first of a partition too. They say nothing by themselves.
func beginsFMPM(line string) bool {
	return isFMPMField(line) || strings.Contains(line, `"`) && fmpmHead().MatchString(strings.TrimRight(line, " \r\n"))
}

func isFMPMLine(line string) bool {
	return isFMPMField(line) || fmpmOther().MatchString(strings.TrimRight(line, " \r\n"))
}

func isModuleLine(line string) bool {
	return strings.Contains(line, "Module Id") && moduleLine().MatchString(strings.TrimRight(line, " \r\n"))
}

func knowsFMPM(text string) bool { return hasLine(text, isFMPMField) }
func knowsModules(text string) bool {
	return hasLine(text, isModuleLine) && !hasLine(text, startsWith(nvidiaLogHead))
}

// partition is what was read of one.
type partition struct {
	id, gpus, active *int
	modules          []int
}

// parseFMPM reads the fields of each partition. Where a list begins with the id, as in other orders or reversed by tac, that opens a
// partition; else it ends one.
func parseFMPM(text, _ string) (fabric.Facts, error) {
	var all []partition
	var at partition
	first := ""
	for line := range strings.Lines(text) {
		m := fmpmField().FindStringSubmatch(strings.TrimRight(line, " \r\n"))
		if m == nil {
			continue
		}
		first = cmp.Or(first, m[1])
		n, _ := strconv.Atoi(m[2]) // at most four digits
		if m[1] == "partitionId" && first == "partitionId" {
			all = append(all, at)
			at = partition{}
		}
		switch m[1] {
		case "partitionId":
			at.id = &n
		case "numGpus":
			at.gpus = &n
		case "isActive":
			at.active = &n
		default:
			at.modules = append(at.modules, n)
		}
		if m[1] == "partitionId" && first != "partitionId" {
			all = append(all, at)
			at = partition{}
		}
	}
	share := &fabric.NVShare{}
	for _, p := range append(all, at) {
		switch {
		case p.id == nil && p.gpus == nil && p.active == nil && p.modules == nil:
			continue
		case p.id == nil || p.gpus == nil || p.active == nil || *p.active > 1: // whether it is active would be guessed
			return fabric.Facts{}, errors.New("a partition without its id, its number of GPUs or its state")
		}
		one := fabric.NVPartition{ID: *p.id, GPUs: *p.gpus, Active: *p.active == 1}
		slices.Sort(p.modules)
		if p.modules = slices.Compact(p.modules); len(p.modules) == one.GPUs && len(p.modules) > 0 {
			one.Modules = p.modules
		}
		if len(share.Partitions) < maxDevices {
			share.Partitions = append(share.Partitions, one)
		}
	}
	if len(share.Partitions) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return fabric.Facts{NVShare: share}, nil
}

// parseModules reads what grep leaves of nvidia-smi -q.
func parseModules(text, _ string) (fabric.Facts, error) {
	share := &fabric.NVShare{}
	for line := range strings.Lines(text) {
		if m := moduleLine().FindStringSubmatch(strings.TrimRight(line, " \r\n")); m != nil {
			n, _ := strconv.Atoi(m[1]) // at most three digits
			if !slices.Contains(share.Modules, n) && len(share.Modules) < maxDevices {
				share.Modules = append(share.Modules, n)
			}
		}
	}
	slices.Sort(share.Modules)
	if len(share.Modules) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return fabric.Facts{NVShare: share}, nil
}

// mergeShare joins what the service virtual machine and one with GPUs tell.
func (m *merger) mergeShare(reported *fabric.NVShare) {
	if reported == nil {
		return
	}
	if m.f.NVShare == nil {
		m.f.NVShare = &fabric.NVShare{}
	}
	to := m.f.NVShare
	m.givenBy[fabric.FactNVShare] = m.tool
	if to.Partitions == nil {
		to.Partitions = reported.Partitions
	}
	if to.Modules == nil {
		to.Modules = reported.Modules
	}
}
