package sizing

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// A volume has room for the file system's own reserve (ext4 keeps 5 % for root and 1.6 % for inodes) and for a few
// files that are being written, and is ordered in steps.
const (
	volumeShare = 0.9
	volumeStep  = 64 << 30
)

// PVCBytes is the size of the volume for so many bytes of files, a multiple of 64 GiB.
func PVCBytes(files int64) int64 {
	if files < 1 {
		return 0
	}
	need := int64(math.Ceil(float64(files) / volumeShare))
	return ceilDiv(need, volumeStep) * volumeStep
}

// How a volume is mounted.
const (
	ReadWriteOnce = "ReadWriteOnce" // one pod: every pod has a copy of its own
	ReadWriteMany = "ReadWriteMany" // all pods: one copy
)

// StorageKind is a kind of storage, and what one node reads of it.
type StorageKind struct {
	Name   string
	GBs    float64
	Shared float64 // GB/s that all nodes together read; 0: each has its own
	Source string
}

// Storages lists the speeds for which load times are given.
func Storages() []StorageKind {
	return []StorageKind{
		{"vSAN over 100 GbE, as measured", 1.13, 0, "VMware document, 10.4: 470 GB in 7 and 812 GB in 12 minutes per node"},
		{"10 GbE", 1.1, 0, "10 Gb/s less headers and 10 % protocol overhead"},
		{"100 GbE to all nodes, at line rate", 11, 11, "100 Gb/s less headers and 10 % protocol overhead"},
		{"local NVMe", 6, 0, "one PCIe 4.0 drive as in table 1 of the VMware document reads up to 7 GB/s"},
		{"page cache", 20, 0, "safetensors are mapped: a second start on the same node copies them to eight GPUs from memory"},
	}
}

// Loads is the time to read so many bytes on each of so many nodes, by storage. Every node reads all of the weights,
// whatever part its ranks keep.
func Loads(bytes int64, nodes int) []fabric.StorageLoad {
	out := make([]fabric.StorageLoad, 0, len(Storages()))
	for _, s := range Storages() {
		rate := s.GBs
		if s.Shared > 0 {
			rate = min(rate, s.Shared/float64(max(1, nodes)))
		}
		seconds := float64(bytes) / 1e9 / rate
		out = append(out, fabric.StorageLoad{
			Storage: s.Name, GBs: rate, Seconds: seconds,
			Formula: fmt.Sprintf("%.1f GB / %.3g GB/s = %.0f s", float64(bytes)/1e9, rate, seconds),
		})
	}
	return out
}

// StorageFor is what surrounds the GPUs of a plan: storage, virtual machines, groups of pods.
func StorageFor(m *llm.Model, machine Machine, p fabric.SizingPlan, mode string) (*fabric.SizingStorage, error) {
	if mode == "" {
		mode = ReadWriteOnce
	}
	if mode != ReadWriteOnce && mode != ReadWriteMany {
		return nil, fmt.Errorf("access mode %q: must be %s or %s", mode, ReadWriteOnce, ReadWriteMany)
	}
	nodes := max(1, p.Nodes)
	s := &fabric.SizingStorage{
		DownloadBytes: m.DiskBytes, Filter: llm.DownloadFilter(), PVCBytes: PVCBytes(m.DiskBytes), AccessMode: mode, Copies: 1,
		Loads: Loads(m.DiskBytes, nodes), GroupSize: nodes,
	}
	for _, l := range llm.Exclusions() {
		s.Left = append(s.Left, l.Pattern+": "+l.Why)
	}
	whole, source, known := llm.RepositoryBytes(m)
	s.RepositoryBytes = whole
	if known {
		s.Notes = append(s.Notes, fmt.Sprintf("without the filter %.2f TB instead of %.2f: %s", float64(whole)/1e12, float64(m.DiskBytes)/1e12, source))
	} else {
		s.Notes = append(s.Notes, source)
	}
	if mode == ReadWriteOnce {
		s.Copies = nodes
		if nodes > 1 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: one pod per volume, so %d copies; %s (NFS, vSAN file shares) needs one", ReadWriteOnce, nodes, ReadWriteMany))
		}
	}
	s.ExplainedLoads = DocumentLoads()
	if err := addMachine(s, machine, nodes, p.GPUs); err != nil {
		return nil, err
	}
	return s, nil
}

// addMachine adds what depends on the machine.
func addMachine(s *fabric.SizingStorage, machine Machine, nodes, gpus int) error {
	if machine.GPU.Unified {
		s.Notes = append(s.Notes, UnifiedNotes(machine)...)
		return nil
	}
	if machine.GPU.MemoryBytes < 1 {
		return nil
	}
	onNode := int(ceilDiv(int64(max(1, gpus)), int64(nodes)))
	mmio, err := MMIOSize(machine, onNode)
	if err != nil {
		return err
	}
	s.MMIOBytes, s.MMIOFormula = mmio.GB*gibOfMemory, mmio.Formula
	s.Notes = append(s.Notes, mmio.Notes...)
	if machine.NICs > 0 {
		d, err := SmallestDomain(nodes, machine.NICs, quantumPorts)
		if err != nil {
			s.Notes = append(s.Notes, err.Error())
			return nil
		}
		s.Domain = d.Reasons
	}
	return nil
}

// quantumPorts is those of the document's switch, QM9700.
const quantumPorts = 64

// documentLoad is a load time of the VMware document, 10.4.
type documentLoad struct {
	model   string
	bytes   float64 // that one node reads
	minutes float64
}

// rate is the GB/s that a load time stands for, and the share of the link's line rate that it is.
func (l documentLoad) rate() (gbs, share float64) {
	gbs = l.bytes / 1e9 / (60 * l.minutes)
	return gbs, gbs * 8 / documentLinkGbps
}

// documentLoads are all of them: bytes are those of the safetensors alone, as the engine reads nothing else.
func documentLoads() []documentLoad {
	return []documentLoad{
		{"DeepSeek-R1", 688.6e9, 7},
		{"Qwen3-235B-A22B", 470.2e9, 7},
		{"Llama-3.1-405B", 811.7e9, 12},
	}
}

const (
	documentLinkGbps = 100   // one NIC of 100 GbE behind vSAN
	documentNodes    = 2     // that load at the same time, each all of the weights
	documentReadS    = 147   // s, example 6: 163 shards of DeepSeek-R1 in 2:27
	documentInitS    = 10    // s, example 6: 14:29:55 to the first shard
	documentGraphsS  = 114.9 // s, example 6: capture of 23 batch sizes
)

// DocumentLoads explains the load times of the VMware document: what rate they stand for, what of 100 GbE that is,
// and what else is in the seven minutes.
func DocumentLoads() []string {
	var out []string
	for _, l := range documentLoads() {
		rate, share := l.rate()
		out = append(out, fmt.Sprintf("%s: %.1f GB in %g min = %.2f GB/s per node; %d nodes = %.0f Gb/s, %.0f %% of %d GbE",
			l.model, l.bytes/1e9, l.minutes, rate, documentNodes, rate*8*documentNodes, 100*share*documentNodes, documentLinkGbps))
	}
	read := documentLoads()[0].bytes / 1e9 / documentReadS
	started := documentInitS + documentReadS + documentGraphsS
	out = append(out,
		fmt.Sprintf("the log of example 6 reads the %.1f GB of DeepSeek-R1 in %d s = %.2f GB/s, and %d + %d + %.0f = %.0f s are a start without the pods; the rest of 7 min = 420 s is not loading, or that run read from the page cache",
			documentLoads()[0].bytes/1e9, documentReadS, read, documentInitS, documentReadS, documentGraphsS, started),
		"so the link is not the limit: the storage or the single reader per node is, and a faster NIC would not help")
	return out
}
