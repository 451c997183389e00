package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// realMachines answers from the real catalog, as the command does.
type realMachines struct{ cat *catalog.Catalog }

func (p realMachines) GPU(name string) string {
	id, _, err := p.cat.GPU(name)
	if err != nil {
		return ""
	}
	return id
}
func (p realMachines) GPUOf(machine string) string { return p.cat.Machines[machine].GPU }
func (p realMachines) Linked(gpu string) (linked, ok bool) {
	_, m, err := p.cat.GPU(gpu)
	return m.ScaleUp.Value > 0, err == nil
}
func (p realMachines) With(gpu string, perNode int) (ids []string) {
	for _, id := range []string{"a4-highgpu-8g", "hgx-b200", "hgx-h100"} {
		if m := p.cat.Machines[id]; m.GPU == gpu && (perNode == 0 || int(m.GPUs.Value) == perNode) {
			ids = append(ids, id)
		}
	}
	return ids
}

func known(t *testing.T) realMachines {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return realMachines{cat}
}

// banner is a table of an all-reduce over nodes of 8 GPUs of one name.
func banner(name string, nodes int, busbw float64) *fabric.Table {
	table := curve(8*nodes, busbw)
	table.Nodes = nodes
	for rank := range 8 * nodes {
		table.Devices = append(table.Devices, fabric.RankDevice{Rank: rank, PID: 100 + rank, Host: fmt.Sprint("node", rank/8), Device: rank % 8, Name: name})
	}
	return table
}

// A machine, a GPU or a number of nodes that the banner contradicts is not believed: the first line says so.
func TestStatedAgainstBanner(t *testing.T) {
	h100 := banner("NVIDIA H100 80GB HBM3", 2, 468)
	tests := []struct {
		name    string
		table   *fabric.Table
		in      Input
		verdict fabric.Verdict
		why     []string
	}{
		{"right", h100, Input{Hardware: fabric.Hardware{Machine: "hgx-h100", Nodes: 2}}, fabric.VerdictHealthy, nil},
		{"another machine", h100, Input{Hardware: fabric.Hardware{Machine: "a4-highgpu-8g", Nodes: 2}}, fabric.VerdictUnknown, []string{"a4-highgpu-8g", "b200", "16 x NVIDIA H100 80GB HBM3 on 2 nodes"}},
		{"another GPU", h100, Input{Hardware: fabric.Hardware{GPU: "b200", Nodes: 2}}, fabric.VerdictUnknown, []string{"--gpu b200", "16 x NVIDIA H100"}},
		{"other nodes", h100, Input{Hardware: fabric.Hardware{Machine: "hgx-h100", Nodes: 4}}, fabric.VerdictUnknown, []string{"--nodes 4", "on 2 nodes"}},
		{"other GPUs per node", h100, Input{Hardware: fabric.Hardware{Machine: "hgx-h100", Nodes: 2, GPUsPerNode: 4}}, fabric.VerdictUnknown, []string{"not 16 ranks"}},
		{"two of the 16 nodes of the cluster file", h100, Input{Hardware: fabric.Hardware{Machine: "hgx-h100"}, PlannedNodes: 16}, fabric.VerdictHealthy, nil},
		{"more nodes than the cluster file has", h100, Input{Hardware: fabric.Hardware{Machine: "hgx-h100"}, PlannedNodes: 1}, fabric.VerdictUnknown, []string{"the cluster file has 1 node"}},
		{"nothing stated", banner("NVIDIA B200", 2, 678), Input{}, fabric.VerdictUnknown, []string{"16 x NVIDIA B200 on 2 nodes", "--machine a4-highgpu-8g or --machine hgx-b200"}},
		{"a GPU that the catalog lacks", banner("NVIDIA X900", 2, 678), Input{}, fabric.VerdictUnknown, []string{"NVIDIA X900", "which the catalog does not have"}},
		{"the PCIe card is not the SXM module", banner("NVIDIA H100 PCIe", 2, 40), Input{Hardware: fabric.Hardware{Machine: "hgx-h100", Nodes: 2}}, fabric.VerdictUnknown, []string{"NVIDIA H100 PCIe"}},
	}
	machines, predict := known(t), predictor(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.in.Machines, tt.in.Predict = machines, predict
			r := explain([]fabric.Result{{File: "t", Kind: fabric.NCCLTests, Content: tt.table}}, tt.in).Results[0]
			for _, piece := range tt.why {
				if !strings.Contains(r.Why, piece) {
					t.Errorf("%q is not in: %s", piece, r.Why)
				}
			}
			if r.Verdict != tt.verdict || tt.verdict == fabric.VerdictUnknown && (r.Next == "" || r.Expected != nil) {
				t.Errorf("%s: %s; next %q, expected %v", r.Verdict, r.Why, r.Next, r.Expected)
			}
		})
	}
	mixed := banner("NVIDIA H100 80GB HBM3", 2, 468)
	mixed.Devices[9].Name = "NVIDIA A100-SXM4-80GB"
	if r := explain([]fabric.Result{{Kind: fabric.NCCLTests, Content: mixed}}, Input{Machines: machines, Predict: predict, Hardware: fabric.Hardware{Machine: "hgx-h100", Nodes: 2}}).Results[0]; r.Verdict != fabric.VerdictUnknown || !strings.Contains(r.Why, "different GPUs") {
		t.Errorf("two kinds of GPU: %s: %s", r.Verdict, r.Why)
	}
}

// What nvidia-smi and rocm-smi call a GPU is found in the catalog, its form before its memory.
func TestNamesOfGPUs(t *testing.T) {
	o := observer{in: Input{Machines: known(t)}}
	for name, want := range map[string]string{
		"NVIDIA H100 80GB HBM3": "h100-sxm", "NVIDIA H200": "h200-sxm", "NVIDIA B200": "b200", "NVIDIA GB200": "gb200", "NVIDIA GB10": "gb10",
		"NVIDIA A100-SXM4-80GB": "a100-80-sxm", "NVIDIA A100-SXM4-40GB": "a100-40-sxm", "NVIDIA A100 80GB PCIe": "a100-pcie", "NVIDIA A100-PCIE-40GB": "a100-pcie-40",
		"Tesla V100-SXM2-16GB": "v100-sxm2-16", "AMD Instinct MI300X": "mi300x", "NVIDIA L40S": "l40s",
	} {
		t.Run(name, func(t *testing.T) {
			if got := o.gpuOf(name); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
