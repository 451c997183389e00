package ncclgraph

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/ncclxml"
)

// PathType is how far apart NCCL holds two nodes of its graph; nearer is smaller. The order is NCCL's
// (src/graph/topo.cc, 2.28 to 2.30) and its comparisons rest on it.
type PathType uint8

// The path types, nearest first.
const (
	PathLOC PathType = iota // itself
	PathNVL                 // NVLink, or XGMI
	PathNVB                 // NVLink through one other GPU
	PathC2C                 // chip to chip
	PathPIX                 // at most one PCIe bridge
	PathPXB                 // several PCIe bridges, no host bridge
	PathP2C                 // C2C to the CPU, then PCIe
	PathPXN                 // another GPU's PCIe, reached over NVLink
	PathPHB                 // a host bridge
	PathSYS                 // from one NUMA node to another
	PathNET                 // the network
	PathDIS                 // none
)

// pathNames is what NCCL prints and reads, by type.
func pathNames() []string {
	return []string{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"}
}

// String is the type as NCCL prints it.
func (t PathType) String() string {
	names := pathNames()
	if int(t) >= len(names) {
		return fmt.Sprintf("PathType(%d)", uint8(t))
	}
	return names[t]
}

// oldLevels is what the levels of before NCCL 2.4 mean: NCCL_P2P_LEVEL=0 to 5.
func oldLevels() []PathType {
	return []PathType{PathLOC, PathPIX, PathPXB, PathPHB, PathSYS, PathSYS}
}

// parseLevel reads NCCL_P2P_LEVEL and NCCL_NET_GDR_LEVEL as NCCL does (src/graph/paths.cc): a name up to SYS, or an
// old number; anything else is as if it were not set.
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
