package cli

import (
	"reflect"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/topology"
)

func TestTopoShowOptions(t *testing.T) {
	a := &app{}
	for _, c := range []struct {
		name string
		args []string
		want topoShowOptions
	}{
		{"this host", nil, topoShowOptions{nodes: 1}},
		{"a file", []string{"topo.xml", "--svg", "-"}, topoShowOptions{files: []string{"topo.xml"}, svg: "-", nodes: 1}},
		{"a machine", []string{"--machine", "hgx-h100"}, topoShowOptions{machineOptions: machineOptions{machine: "hgx-h100"}, nodes: 1}},
		{"what NCCL derives", []string{"--snapshot", "host1.json", "--nccl", "--nodes", "2"},
			topoShowOptions{machineOptions: machineOptions{snapshot: "host1.json"}, nccl: "2.30.7", nodes: 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := parsed(t, a.topoShowCommand, c.args...)
			if len(o.files) == 0 {
				o.files = nil
			}
			if err != nil || !reflect.DeepEqual(o, c.want) {
				t.Errorf("%+v, %v; want %+v", o, err, c.want)
			}
		})
	}
	for name, args := range map[string][]string{
		"two files":             {"a.xml", "b.xml"},
		"two sources":           {"--machine", "hgx-h100", "--snapshot", "host1.json"},
		"a picture with NCCL":   {"--svg", "a.svg", "--nccl"},
		"an unknown flag":       {"--gpu", "h100"},
		"nodes without a value": {"--nodes"},
		"no nodes":              {"--nccl", "--nodes", "0"},
		"too many nodes":        {"--nccl", "--nodes", "99999999"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parsed(t, a.topoShowCommand, args...); err == nil {
				t.Error("taken")
			}
		})
	}
}

func TestTopoNCCLOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.topoNCCLCommand, "--machine", "hgx-h100", "--guest", "vm.json", "--label", "S1=0000:17:00.0", "--label", "S2=0000:18:00.0", "--rccl", "--out", "topo.xml")
	want := topoNCCLOptions{
		machineOptions: machineOptions{machine: "hgx-h100"}, guest: "vm.json",
		labels: []string{"S1=0000:17:00.0", "S2=0000:18:00.0"}, rccl: true, out: "topo.xml",
	}
	if err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	if _, err := parsed(t, a.topoNCCLCommand, "topo.xml"); err == nil {
		t.Error("an argument was accepted")
	}
}

func TestTopoLintOptions(t *testing.T) {
	a := &app{}
	o, err := parsed(t, a.topoLintCommand, "a.xml", "b.xml")
	if want := (topoLintOptions{files: []string{"a.xml", "b.xml"}}); err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	o, err = parsed(t, a.topoLintCommand, "a.xml", "--fix", "--out", "b.xml")
	if want := (topoLintOptions{files: []string{"a.xml"}, fix: true, out: "b.xml"}); err != nil || !reflect.DeepEqual(o, want) {
		t.Errorf("%+v, %v; want %+v", o, err, want)
	}
	for name, args := range map[string][]string{
		"no file": nil, "out without fix": {"a.xml", "--out", "b.xml"}, "two files to fix": {"a.xml", "b.xml", "--fix"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parsed(t, a.topoLintCommand, args...); err == nil {
				t.Error("taken")
			}
		})
	}
}

// A machine without GPUs is not one whose GPUs could not be read.
func TestNeedsGPUs(t *testing.T) {
	for name, c := range map[string]struct {
		m    topology.Machine
		want string
	}{
		"with":       {topology.Machine{Name: "host1", GPUs: []topology.GPU{{}}}, ""},
		"without":    {topology.Machine{Name: "host1"}, `machine "host1": it has no GPUs`},
		"not read":   {topology.Machine{Name: "host1", Unread: []string{"pci: permission denied"}}, `no GPU was found, but 1 fact could not be read, the first: pci: permission denied`},
		"in letters": {topology.Machine{Name: "a\x1b[2J"}, `machine "a\x1b[2J": it has no GPUs`},
	} {
		t.Run(name, func(t *testing.T) {
			err := needsGPUs(&c.m)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// AMD machines are sent to RCCL, NVIDIA's to NCCL, and facts of AMD machines are predicted.
func TestAMDMachines(t *testing.T) {
	const recording = "../check/testdata/recordings/roce.txtar"
	for line, want := range map[string]string{
		"topo nccl --snapshot " + recording:                   `its GPUs are AMD's (gfx942): NCCL is for NVIDIA GPUs; --rccl writes the file for RCCL`,
		"topo nccl --machine xe9680-mi300x-thor2":             `--rccl`,
		"topo nccl --machine hgx-h100 --rccl":                 `has no AMD GPU`,
		"topo nccl --machine vsphere8-cx7-vf":                 `it has no GPUs`,
		"topo show --nccl --machine vsphere8-cx7-vf":          `it has no GPUs`,
		"predict --machine vsphere8-cx7-vf --nodes 2":         `no GPUs`,
		"size llama-3.1-8b --machine vsphere8-cx7-vf":         `it has no GPUs in the catalog`,
		"topo show --nccl --nodes 2 --snapshot /no/such/file": `/no/such/file`,
	} {
		t.Run(line, func(t *testing.T) {
			if r := call("", strings.Fields(line)...); r.status != 64 || r.stdout != "" || !strings.Contains(r.stderr, want) {
				t.Errorf("want %q: %s", want, r)
			}
		})
	}
	r := call("", "predict", "--snapshot", recording, "--nodes", "2", "--sizes", "1G")
	if r.status != 0 || !strings.Contains(r.stdout, "2 x mi300x per node") || !strings.Contains(r.stderr, "assumed all links of mi300x in the catalog") {
		t.Error(r)
	}
}

func TestTopoPCIeOptions(t *testing.T) {
	a := &app{}
	for _, c := range []struct {
		name string
		args []string
		want topoPCIeOptions
	}{
		{"this host", nil, topoPCIeOptions{}},
		{"lspci", []string{"-"}, topoPCIeOptions{files: []string{"-"}}},
		{"a tree against a machine", []string{"--root", "tree", "--machine", "hgx-h100"}, topoPCIeOptions{root: "tree", machine: "hgx-h100"}},
		{"saved facts", []string{"--snapshot", "host1.json", "--load", "smi.txt"}, topoPCIeOptions{snapshot: "host1.json", load: "smi.txt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := parsed(t, a.topoPCIeCommand, c.args...)
			if len(o.files) == 0 {
				o.files = nil
			}
			if err != nil || !reflect.DeepEqual(o, c.want) {
				t.Errorf("%+v, %v; want %+v", o, err, c.want)
			}
		})
	}
	for name, args := range map[string][]string{
		"two files":   {"a.txt", "b.txt"},
		"two sources": {"--root", "tree", "--snapshot", "host1.json"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := parsed(t, a.topoPCIeCommand, args...); err == nil {
				t.Error("taken")
			}
		})
	}
}
