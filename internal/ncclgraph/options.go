package ncclgraph

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// Options is the input of NCCL besides its topology file.
type Options struct {
	Nodes   int                // hosts of the communicator, all like this one; 0 and 1 are one
	SM      int                // compute capability times ten of GPUs whose element has none; 0 makes that an error
	Env     map[string]string  // NCCL's environment by full name; unknown names have no effect
	Version fabric.NCCLVersion // of NCCL: one of Versions; 0 is the newest
}

// Integer is a numeric setting as NCCL reads it: text that is not a number is 0, not the default; an empty one is the default
// (nccl, src/misc/param.cc, ncclLoadParam).
func (o Options) Integer(name string, standard int64) int64 {
	text, ok := o.Env[name]
	if !ok || text == "" {
		return standard
	}
	return ncclxml.Strtol(text, 0)
}

// p2pLevel is the furthest path over which GPUs communicate directly. Without a setting it is PXB, and SYS between the
// two GPUs of an AMD machine (ncclTopoCheckP2p).
func (o Options) p2pLevel(cpu ncclxml.HostCPU, gpus int) PathType {
	if text, ok := o.Env["NCCL_P2P_DISABLE"]; ok && ncclxml.Strtol(text, 0) == 1 {
		return PathLOC
	}
	if level, ok := parseLevel(o.Env["NCCL_P2P_LEVEL"]); ok {
		return level
	}
	if cpu.Arch == ncclxml.ArchX86 && cpu.Vendor == ncclxml.VendorAMD && gpus <= 2 {
		return PathSYS
	}
	return PathPXB
}

// gdrLevel is the furthest path over which a NIC accesses a GPU's memory (ncclTopoCheckGdr).
func (o Options) gdrLevel() PathType {
	if level, ok := parseLevel(o.Env["NCCL_NET_GDR_LEVEL"]); ok {
		return level
	}
	if o.Integer("NCCL_NET_GDR_C2C", 1) != 0 {
		return PathP2C
	}
	return PathPXB
}

// pxnLevel is the furthest path from a NIC to the GPU that relays for others; ok is false where PXN is off.
func (o Options) pxnLevel() (PathType, bool) {
	if o.Integer("NCCL_PXN_DISABLE", 0) == 1 {
		return PathLOC, false
	}
	if o.Integer("NCCL_PXN_C2C", 1) != 0 {
		return PathP2C, true
	}
	return PathPXB, true
}

// NetsPolicy is NCCL_NETDEVS_POLICY: how many of its nearest NICs a GPU uses; 0: NCCL decides.
func (o Options) NetsPolicy() (all bool, most int) {
	text := strings.ToUpper(o.Env["NCCL_NETDEVS_POLICY"])
	if number, ok := strings.CutPrefix(text, "MAX:"); ok {
		return false, int(max(ncclxml.Strtol(number, 10), 0))
	}
	return text == "ALL", 0
}

// oldLevels is the meaning of the levels from before NCCL 2.4: NCCL_P2P_LEVEL=0 to 5.
func oldLevels() []PathType {
	return []PathType{PathLOC, PathPIX, PathPXB, PathPHB, PathSYS, PathSYS}
}

// parseLevel reads NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL as NCCL does (src/graph/paths.cc): a name up to SYS, or an
// old number; anything else counts as unset.
func parseLevel(text string) (PathType, bool) {
	if i := slices.Index(pathNames(), text); i >= 0 && i <= int(PathSYS) {
		return PathType(i), true
	}
	if text == "" || text[0] < '0' || text[0] > '9' {
		return PathDIS, false
	}
	levels := oldLevels()
	return levels[min(ncclxml.Strtol(text, 0), int64(len(levels)-1))], true
}
