package nccllint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// The files that are written here have nothing that fails, but for switches whose NICs carry more than their link to
// the host, as machines are built.
func TestWrittenFilesLintClean(t *testing.T) {
	parts := knownParts(t)
	host := machineFile(t, "host.json")
	devices := slices.DeleteFunc(topology.GuestDevices(host), func(d topology.GuestDevice) bool { return d.Kind == topology.KindOther })
	noSwitches, err := topology.Guest(host, devices, nil)
	if err != nil {
		t.Fatal(err)
	}
	machines := map[string]*topology.Machine{"host": host, "guest": machineFile(t, "guest.json"), "guest without NVSwitches": noSwitches}
	for id := range parts.Machines {
		if m, err := topology.Nominal(parts, id); err == nil {
			machines[id] = m
		}
	}
	// machines with two NICs per GPU, or a switch of two GPUs, below one x16 link
	uplinks := map[string]bool{"a4-highgpu-8g": true, "hgx-a100": true, "hgx-a100-40": true, "hgx-b200": true, "p5-48xlarge": true}
	written := 0
	for name, m := range machines {
		write := ncclxml.ForNCCL
		if len(m.GPUs) > 0 && m.GPUs[0].GCN != "" {
			write = ncclxml.ForRCCL
		}
		d, err := write(m)
		if err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		written++
		out := lintOne(t, textOf(t, d))
		if status := out.Summary.Status(); status != fabric.Pass {
			t.Errorf("%s: verdict %s", name, status)
		}
		narrow := false
		for _, f := range out.Findings {
			switch {
			case f.Status != fabric.Fail && f.Status != fabric.Unknown && !IsRemark(f):
			case IsRemark(f) && f.ID == "topo-uplink" && uplinks[name] && strings.Contains(f.Why, "Traffic between a GPU and a NIC below the switch does not use this link"):
				narrow = true
			default:
				t.Errorf("%s: %s %s %s: %v, %s", name, f.Status, f.Severity, f.ID, f.Evidence, f.Why)
			}
		}
		if narrow != uplinks[name] {
			t.Errorf("%s: narrow uplink %v", name, narrow)
		}
	}
	if written < 15 {
		t.Errorf("%d files", written)
	}
}

// machineFile reads a machine that the tests of topology keep.
func machineFile(t *testing.T, name string) *topology.Machine {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "topology", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var m topology.Machine
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

func textOf(t *testing.T, d *ncclxml.Document) string {
	t.Helper()
	var b strings.Builder
	if _, err := d.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
