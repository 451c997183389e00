package sizing

import (
	"fmt"
	"math"
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Left is a pattern of files of a model's repository that no engine loads.
type Left struct {
	Pattern string
	Why     string
}

// DownloadFilter lists what to download of a repository: weights as safetensors, configuration, tokenizer, code of
// the model.
func DownloadFilter() []string {
	return []string{"*.safetensors", "*.json", "tokenizer*", "*.model", "*.txt", "*.jinja", "*.py"}
}

// LeftOut lists what to leave out although it may match the filter: copies of the same weights in other forms.
func LeftOut() []Left {
	return []Left{
		{"original/*", "the publisher's own checkpoint: Llama-3.1-405B has two of them, which triples it, gpt-oss one, which doubles it"},
		{"metal/*", "gpt-oss for Apple GPUs"},
		{"consolidated*", "Mistral's own checkpoint beside the same weights"},
		{"*.pth", "PyTorch checkpoints beside the safetensors"},
		{"*.bin", "PyTorch weights beside the safetensors"},
		{"*.gguf", "quantised copies for llama.cpp"},
		{"*.onnx*", "exported graphs"},
		{"*.msgpack", "Flax weights"},
		{"*.h5", "TensorFlow weights"},
	}
}

// Downloads says whether a file of a repository, by its path in it, passes the filter.
func Downloads(name string) bool {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return false
	}
	for _, l := range LeftOut() {
		if match(l.Pattern, name) {
			return false
		}
	}
	return slices.ContainsFunc(DownloadFilter(), func(p string) bool { return match(p, name) })
}

// match compares as huggingface-cli does: a star stands for slashes too.
func match(pattern, name string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	name = name[len(head):]
	for {
		next, rest, more := strings.Cut(tail, "*")
		if !more {
			return strings.HasSuffix(name, tail)
		}
		_, after, found := strings.Cut(name, next)
		if !found {
			return false
		}
		name, tail = after, rest
	}
}

// copies is how many times a repository holds its weights, by the beginning of its name.
type copies struct {
	prefix string
	times  int64
	source string
}

// repositories lists those that are known to hold more than one copy.
func repositories() []copies {
	return []copies{
		{"meta-llama/llama-3.1-405b", 3, "VMware document, 10.4: 2.3 TB, one copy is 0.81 TB; original/mp8 and original/mp16 beside the safetensors"},
		{"meta-llama/meta-llama-3.1-405b", 3, "the same under its first name"},
		{"openai/gpt-oss", 2, "KAITO's catalog: 121.54 GiB for gpt-oss-120b, one copy is 60.77; original/ beside the safetensors"},
		{"meta-llama/llama-3", 2, "original/consolidated.*.pth beside the safetensors"},
		{"meta-llama/meta-llama-3", 2, "the same under its first name"},
	}
}

// RepositoryBytes is what a whole repository takes, where it is known to hold copies; else once the weights, and
// known is false.
func RepositoryBytes(m *Model) (bytes int64, source string, known bool) {
	id := strings.ToLower(m.ID)
	for _, r := range repositories() {
		if strings.HasPrefix(id, r.prefix) || strings.HasPrefix(id, r.prefix[strings.IndexByte(r.prefix, '/')+1:]) {
			return m.DiskBytes * r.times, r.source, true
		}
	}
	return m.DiskBytes, "copies beside the weights are not known for this model", false
}

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

// Storage is a kind of storage, and what one node reads of it.
type Storage struct {
	Name   string
	GBs    float64
	Shared float64 // GB/s that all nodes together read; 0: each has its own
	Source string
}

// Storages lists the speeds for which load times are given.
func Storages() []Storage {
	return []Storage{
		{"vSAN over 100 GbE, as measured", 1.13, 0, "VMware document, 10.4: 470 GB in 7 and 812 GB in 12 minutes a node"},
		{"10 GbE", 1.1, 0, "10 Gb/s less headers and 10 % of protocol"},
		{"100 GbE to all nodes, at line rate", 11, 11, "100 Gb/s less headers and 10 % of protocol"},
		{"local NVMe", 6, 0, "one PCIe 4.0 drive of the document's table 1 reads up to 7 GB/s"},
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

// ReadRate is the rate that a load time stands for, and the part of a link that it is: GB/s a node, and the share of
// the link's line rate when so many nodes read through links of their own.
func ReadRate(bytes int64, seconds, linkGbps float64) (gbs, share float64, err error) {
	if bytes < 1 || !(seconds > 0) || !(linkGbps > 0) {
		return 0, 0, fmt.Errorf("load of %d bytes in %g s over %g Gb/s: all must be above 0", bytes, seconds, linkGbps)
	}
	gbs = float64(bytes) / seconds / 1e9
	return gbs, gbs * 8 / linkGbps, nil
}

// Around is what stands around the GPUs of a plan: storage, virtual machines, groups of pods.
func Around(m *Model, machine Machine, p fabric.SizingPlan, mode string) (*fabric.SizingStorage, error) {
	if mode == "" {
		mode = ReadWriteOnce
	}
	if mode != ReadWriteOnce && mode != ReadWriteMany {
		return nil, fmt.Errorf("access mode %q: must be %s or %s", mode, ReadWriteOnce, ReadWriteMany)
	}
	nodes := max(1, p.Nodes)
	s := &fabric.SizingStorage{
		DownloadBytes: m.DiskBytes, Filter: DownloadFilter(), PVCBytes: PVCBytes(m.DiskBytes), AccessMode: mode, Copies: 1,
		Loads: Loads(m.DiskBytes, nodes), GroupSize: nodes,
	}
	for _, l := range LeftOut() {
		s.Left = append(s.Left, l.Pattern+": "+l.Why)
	}
	whole, source, known := RepositoryBytes(m)
	s.RepositoryBytes = whole
	if known {
		s.Notes = append(s.Notes, fmt.Sprintf("without the filter %.2f TB instead of %.2f: %s", float64(whole)/1e12, float64(m.DiskBytes)/1e12, source))
	} else {
		s.Notes = append(s.Notes, source)
	}
	if mode == ReadWriteOnce {
		s.Copies = nodes
		if nodes > 1 {
			s.Notes = append(s.Notes, fmt.Sprintf("%s: one pod a volume, so %d copies; %s (NFS, vSAN file shares) needs one", ReadWriteOnce, nodes, ReadWriteMany))
		}
	}
	s.ExplainedLoads = DocumentLoads()
	if err := surround(s, machine, nodes, p.GPUs); err != nil {
		return nil, err
	}
	return s, nil
}

// surround adds what depends on the machine.
func surround(s *fabric.SizingStorage, machine Machine, nodes, gpus int) error {
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
