package facts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// given offers a text line by line, as a reader of results does, and returns the lines that nobody claims.
func given(o *Outputs, file, folder, text string) (rest []string) {
	o.File(file, folder)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if claimed, _ := o.Line("", []string{line}, nil, false); !claimed {
			rest = append(rest, line)
		}
	}
	return rest
}

// TestOutputsOfEachTool: what a reader makes of a whole text is found as well where prose stands around it, behind a prompt
// that names the host. JSON and YAML are left to readers of whole texts.
func TestOutputsOfEachTool(t *testing.T) {
	texts, err := filepath.Glob("testdata/tools/*.txt")
	if err != nil || len(texts) == 0 {
		t.Fatal(err)
	}
	for _, file := range texts {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		if strings.HasPrefix(name, "foreign-") || strings.Contains(name, "json") || name == "kubectl-objects" || strings.HasPrefix(name, "dkms") || strings.HasPrefix(name, "kallsyms") || name == "dmesg-plain" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			o := NewOutputs()
			rest := slices.DeleteFunc(given(o, "paste", "", "It is slow.\n```\n[me@gpu7 ~]$ some command\n"+string(text)+"\n```\nAny idea?\n"), func(line string) bool {
				return strings.HasPrefix(line, "libibverbs: ") // a message, which another reader finds
			})
			if diff := cmp.Diff([]string{"It is slow.", "Any idea?"}, rest); diff != "" && name != "ip-route" { // in which a line of the future stands
				t.Errorf("unclaimed (-want +got):\n%s", diff)
			}
			found := o.Facts()
			if len(found) != 1 || found[0].Facts.Node != "gpu7" || !found[0].Named {
				t.Fatalf("%+v", found)
			}
			whole := FromText("gpu7", map[string][]byte{"text": text})
			have, want := *found[0].Facts, *whole
			have.Missing, want.Missing = nil, nil
			if diff := cmp.Diff(encoded(t, want), encoded(t, have)); diff != "" {
				t.Errorf("facts (-whole +found):\n%s", diff)
			}
		})
	}
}

func encoded(t *testing.T, f fabric.Facts) string {
	t.Helper()
	b, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const oneHCA = "CA 'mlx5_0'\n\tFirmware version: 28.39.1002\n\tPort 1:\n\t\tState: Active\n"

func TestOutputsOfHosts(t *testing.T) {
	o := NewOutputs()
	given(o, "a/log.txt", "", oneHCA+"root@n1:/# ibstat\n"+oneHCA)
	given(o, "b/log.txt", "", strings.Replace(oneHCA, "Active", "Down", 1))
	given(o, "n2/ibstat", "n2", oneHCA+"later\n"+strings.Replace(oneHCA, "Active", "Down", 1))
	given(o, "n2/uname", "n2", "Linux n2 5.15.0-91-generic #1 SMP\n")
	var nodes []string
	for _, f := range o.Facts() {
		nodes = append(nodes, f.Facts.Node)
	}
	if want := []string{"log.txt", "n1", "log.txt", "n2", "n2, again"}; !slices.Equal(nodes, want) {
		t.Errorf("%q, want %q", nodes, want)
	}
}

func TestPrompts(t *testing.T) {
	for _, c := range []struct{ line, host, command string }{
		{"root@testpod1:/# ibv_devinfo", "testpod1", "ibv_devinfo"},
		{"[me@gpu-17 ~]$ lspci -vvv | grep Lnk", "gpu-17", "lspci -vvv | grep Lnk"},
		{"(base) user@n3:~/nccl-tests$ ulimit -a", "n3", "ulimit -a"},
		{"$ nvidia-smi topo -m", "", "nvidia-smi topo -m"},
		{"# ibstat", "", "ibstat"},
		{"# nThread 1 nGpus 1", "-", ""},
		{"mail me@example.org", "-", ""},
		{"# the NIC is slow", "-", ""},
	} {
		host, command, ok := promptOf(c.line)
		if !ok {
			host = "-"
		}
		if host != c.host || command != c.command {
			t.Errorf("%q: %q, %q, %v", c.line, host, command, ok)
		}
	}
}

func TestGrepOfLinks(t *testing.T) {
	o := NewOutputs()
	rest := given(o, "x", "", "0002:01:00.0  LnkCap: Speed 32GT/s, Width x4    LnkSta: Speed 32GT/s, Width x2 (downgraded)\n"+
		"\t\tLnkSta:\tSpeed 8GT/s (downgraded), Width x8 (downgraded)\n"+"01:00.0  LnkCap: Port #0, Speed 32GT/s, Width x\n")
	found := o.Facts()
	want := []fabric.PCIDevice{{Address: "0002:01:00.0", Link: &fabric.PCILink{Speed: 32, Width: 2, MaxSpeed: 32, MaxWidth: 4}}}
	if len(found) != 1 || len(rest) != 1 || !cmp.Equal(found[0].Links, want) {
		t.Errorf("%+v, unclaimed %q", found, rest)
	}
}

const matrix = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV18\tPIX\t0-27\t0\nGPU1\tNV18\t X \tSYS\t0-27\t0\nNIC0\tPIX\tSYS\t X \t\t\n\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe\n"

func TestGPUMatrix(t *testing.T) {
	o := NewOutputs()
	if rest := given(o, "x", "", matrix); len(rest) > 0 {
		t.Errorf("unclaimed: %q", rest)
	}
	if f := o.Facts(); len(f) != 1 || f[0].Matrix == nil || *f[0].Matrix != (GPUMatrix{GPUs: 2, NVLink: true}) {
		t.Errorf("%+v", f)
	}
	for name, text := range map[string]string{"a row is cut": strings.Join(strings.SplitAfter(matrix, "\n")[:2], ""), "a column is cut": "\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \nGPU1\n"} {
		if m, ok := parseGPUMatrix(text); ok {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if m, ok := parseGPUMatrix(strings.ReplaceAll(matrix, "NV18", "SYS")); !ok || m.NVLink {
		t.Errorf("%+v, %v", m, ok)
	}
}

// What is cut anywhere gives no more than the whole: a value is that of the whole or absent.
func TestCutOutputs(t *testing.T) {
	text, err := os.ReadFile("testdata/tools/lspci.txt")
	if err != nil {
		t.Fatal(err)
	}
	whole := map[string]fabric.PCIDevice{}
	for _, d := range FromText("x", map[string][]byte{"lspci": text}).PCI {
		whole[d.Address] = d
	}
	lines := strings.SplitAfter(string(text), "\n")
	for n := 1; n < len(lines); n += 3 {
		o := NewOutputs()
		given(o, "x", "", strings.Join(lines[:n], ""))
		for _, f := range o.Facts() {
			for _, d := range f.Facts.PCI {
				full := whole[d.Address]
				if d.Link != nil && d.Link.Width != full.Link.Width || d.Control != nil && d.Control.MaxReadRequest != full.Control.MaxReadRequest ||
					d.ACS != nil && d.ACS.Present && d.ACS.Control != full.ACS.Control {
					t.Fatalf("cut after %d lines: %+v, the whole %+v", n, d, full)
				}
			}
		}
	}
}

func FuzzOutputs(f *testing.F) {
	for _, text := range []string{oneHCA, matrix, "root@a:/# lspci\n17:00.0 Infiniband controller: x\n\tLnkSta: Speed 1GT/s, Width x1\n", "[    1.0] mlx5_core: x\n", "Module  Size  Used by\nib_core 4096 0\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		o := NewOutputs()
		given(o, "fuzz", "", text)
		for _, found := range o.Facts() {
			if found.Facts.Node == "" {
				t.Fatal("facts of nobody")
			}
		}
	})
}
