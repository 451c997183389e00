package sizing

import (
	"fmt"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// Machine is what layouts are searched on.
type Machine struct {
	Name    string // id in the catalog, or the GPU figures in words
	GPU     fabric.SizingGPU
	Vendor  string // of the GPU: nvidia, amd
	Arch    string // of the GPU: sm_90, gfx942
	PerNode int    // GPUs of one node
	ScaleUp int    // GPUs that NVLink or XGMI joins; more than PerNode where it crosses nodes
	RDMA    bool   // between nodes, so that tensor parallelism may cross them
	Net     string // what is between nodes: ib, roce, tcp, ...; empty: nothing known
	NICs    int    // of one node
	NICGBs  float64

	CUDAGiB float64 // memory of a GPU that CUDA shows to a program; 0: not measured
	IdleGiB float64 // free of it in an idle system where memory is shared with the CPU; 0: all
	MMIOGB  int64   // of 2^30 bytes per GPU that a vendor's document states for a virtual machine; 0: none does
}

// MachineOf returns a machine of the catalog; the error lists the known ones, or names the figure that the catalog
// does not have.
func MachineOf(c *catalog.Catalog, id string) (Machine, error) {
	m, err := c.Machine(id)
	if err != nil {
		return Machine{}, err
	}
	if m.GPU == "" {
		return Machine{}, fmt.Errorf("machine %q: it has no GPUs in the catalog, so no model fits: name GPUs with --gpu and --gpus-per-node instead of --machine", id)
	}
	gpuID, gpu, err := c.GPU(m.GPU)
	if err != nil {
		return Machine{}, fmt.Errorf("machine %q: %w", id, err)
	}
	out, err := machineOf(gpuID, gpu)
	if err != nil {
		return Machine{}, fmt.Errorf("machine %q: %w", id, err)
	}
	out.Name = id
	out.PerNode = max(1, int(m.GPUs.Value))
	out.ScaleUp = out.PerNode
	if n := int(m.ScaleUpGPUs.Value); n > 0 {
		out.ScaleUp = n
	}
	if m.ScaleUp == "" || m.ScaleUp == "pcie" {
		out.GPU.LinkGBs = 0
	}
	for _, f := range m.Fabrics {
		if rdma := c.Fabrics[f].GPUDirect; rdma != nil && *rdma {
			out.RDMA, out.Net = true, f
			break
		}
		out.Net = f
	}
	out.NICs = int(m.NICs.Value)
	if out.NICs > 0 {
		out.NICGBs = c.LineRate(m) / 8 / float64(out.NICs)
	}
	return out, nil
}

// MachineOfGPU is a lone node of GPUs of the catalog, by id or short name, without a fabric.
func MachineOfGPU(c *catalog.Catalog, name string, perNode int) (Machine, error) {
	id, gpu, err := c.GPU(name)
	if err != nil {
		return Machine{}, err
	}
	out, err := machineOf(id, gpu)
	out.Name, out.PerNode, out.ScaleUp = fmt.Sprintf("%d x %s", perNode, id), perNode, perNode
	return out, err
}

func machineOf(id string, gpu catalog.GPUModel) (Machine, error) {
	shown, source, err := shownMemory(gpu)
	if err != nil {
		return Machine{}, fmt.Errorf("GPU %q: %w", id, err)
	}
	return Machine{
		Vendor:  gpu.Vendor,
		Arch:    gpu.Arch,
		CUDAGiB: gpu.MemoryCUDA.Value,
		IdleGiB: gpu.MemoryIdle.Value,
		MMIOGB:  int64(gpu.MMIO.Value),
		GPU: fabric.SizingGPU{
			Name:         id,
			MemoryBytes:  shown,
			BandwidthGBs: gpu.MemoryBandwidth.Value,
			TFLOPS:       gpu.Compute.BF16.Value,
			TFLOPSFP8:    gpu.Compute.FP8.Value,
			TFLOPSFP4:    gpu.Compute.FP4.Value,
			LinkGBs:      gpu.ScaleUp.Value,
			Unified:      gpu.Unified,
			Source:       source,
		},
	}, nil
}

// shownMemory is what the driver shows, or what the vendor states where no source has that.
func shownMemory(gpu catalog.GPUModel) (bytes int64, source string, err error) {
	for _, f := range []catalog.Figure{gpu.MemoryVisible, gpu.Memory} {
		source = f.Source
		if f == gpu.Memory {
			source += "; that is what the card is sold with: what its driver shows is unknown, and less by up to 6 % (an L40S of 48 GB shows 46068 MiB)"
		}
		switch {
		case f.Value <= 0:
			continue
		case f.Unit == "MiB":
			return int64(f.Value * mib), source, nil
		case f.Unit == "GiB", f.Unit == "GB": // vendors write GB for what is nearer to GiB
			return int64(f.Value * gib), source, nil
		}
	}
	return 0, "", fmt.Errorf("the catalog has no memory size")
}

// check refuses figures of a machine that cannot be.
func (m Machine) check() error {
	switch b := m.GPU.MemoryBytes; {
	case b < gib:
		return fmt.Errorf("GPU memory of %d bytes: below 1 GiB; is the unit right?", b)
	case b > 4096*gib:
		return fmt.Errorf("GPU memory of %d bytes: above 4 TiB; is the unit right?", b)
	}
	if m.PerNode < 1 || m.PerNode > 1024 {
		return fmt.Errorf("gpus per node %d: must be from 1 to 1024", m.PerNode)
	}
	return nil
}
