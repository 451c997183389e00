package facts

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// runningKernel is of the tests' host: dkms tells the state of a module for it.
const runningKernel = "6.8.0-60-generic"

func toolNamed(t testing.TB, name string) tool {
	t.Helper()
	all := tools(&fabric.Facts{Kernel: fabric.Kernel{Release: runningKernel}})
	i := slices.IndexFunc(all, func(t tool) bool { return t.name == name })
	if i < 0 {
		t.Fatalf("no tool %s", name)
	}
	return all[i]
}

// recognised returns the tools that know a text.
func recognised(text string) []string {
	var names []string
	for _, t := range tools(&fabric.Facts{Kernel: fabric.Kernel{Release: runningKernel}}) {
		if t.knows(text) {
			names = append(names, t.name)
		}
	}
	return names
}

// TestReaders reads every text of testdata/tools and compares what it tells with the golden file beside it.
// A text that no tool prints in the C locale is nobody's.
func TestReaders(t *testing.T) {
	files, err := filepath.Glob("testdata/tools/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no texts", err)
	}
	read := make(map[string]bool)
	for _, file := range files {
		base := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(base, func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			names := recognised(string(text))
			if strings.HasPrefix(base, "foreign-") {
				if len(names) > 0 {
					t.Errorf("recognised as %v", names)
				}
				return
			}
			if len(names) != 1 {
				t.Fatalf("recognised as %v, want one tool", names)
			}
			read[names[0]] = true
			parts, err := toolNamed(t, names[0]).parse(string(text), "")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".txt")+".golden", names[0], parts)
		})
	}
	for _, one := range tools(&fabric.Facts{}) {
		if !read[one.name] {
			t.Errorf("no text of %s", one.name)
		}
	}
}

func golden(t *testing.T, file, tool string, parts fabric.Facts) {
	t.Helper()
	b, err := json.MarshalIndent(parts, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for _, empty := range []string{"apiVersion", "kind", "node", "source"} { // parts have no head
		b = bytes.Replace(b, []byte(" \""+empty+"\": \"\",\n"), nil, 1)
	}
	got := append([]byte(tool+"\n"), append(b, '\n')...)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
}

// TestForeignText returns every reader what it cannot be: it must refuse, not read nonsense out of it.
func TestForeignText(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":        "",
		"another locale": "Einstellungen für eth1:\n\tGeschwindigkeit: 400000Mb/s\nGerät: ja\n",
		"zeros":          strings.Repeat("\x00", 4096),
		"one long line":  strings.Repeat("x", 1<<20),
		"an error":       "bash: command not found\n",
	} {
		t.Run(name, func(t *testing.T) {
			for _, one := range tools(&fabric.Facts{}) {
				if parts, err := one.parse(text, ""); err == nil {
					t.Errorf("%s of %s: read as %+v", name, one.name, parts)
				}
			}
		})
	}
}

// toolHost is a fakeHost on which tools run.
type toolHost struct {
	fakeHost
	output func(ctx context.Context, argv []string) ([]byte, error)
}

func (h toolHost) Output(ctx context.Context, c host.Command) ([]byte, error) {
	if !slices.Contains(c.Env, "LC_ALL=C") {
		return nil, fmt.Errorf("run in whatever locale: %v", c.Argv)
	}
	return h.output(ctx, c.Argv)
}

func twoNICs() *fabric.Facts {
	return &fabric.Facts{
		NICs: []fabric.NIC{{Name: "eth1", PCI: "0000:42:00.0", Driver: "mlx5_core"}, {Name: "eth2", PCI: "0000:43:00.0"}, {Name: "lo"}},
		HCAs: []fabric.HCA{{Name: "mlx5_0", PCI: "0000:42:00.0", Firmware: "28.39.1002", Ports: []fabric.Port{{Number: 1, State: "ACTIVE", RateGbps: new(400.0)}}}},
	}
}

// TestToolsRun asks each device and keeps apart what failed for one of them.
func TestToolsRun(t *testing.T) {
	var asked []string
	h := toolHost{output: func(_ context.Context, argv []string) ([]byte, error) {
		line := strings.Join(argv, " ")
		asked = append(asked, line)
		switch line {
		case "ethtool eth1":
			return []byte("Settings for eth1:\n\tSpeed: 400000Mb/s\n\tAuto-negotiation: on\n"), nil
		case "ethtool eth2":
			return []byte("Settings for eth3:\n"), nil
		case "ethtool -i eth1":
			return []byte("driver: mlx5_core\nversion: 24.10\nfirmware-version: 28.40.1000 (MT_0000000838)\nbus-info: 0000:42:00.0\n"), nil
		case "ethtool --show-fec eth1":
			return nil, &host.ExitError{Command: line, Status: 95, Stderr: "Operation not supported"}
		case "ethtool --show-fec eth2":
			return []byte("FEC parameters for eth2:\nActive FEC encoding: RS\n"), nil
		case "dmesg":
			return []byte("[    0.000000] Linux version 6.8\n[    1.000000] mlx5_core: hello\n"), nil
		}
		return nil, &exec.Error{Name: argv[0], Err: exec.ErrNotFound}
	}}
	f := twoNICs()
	readTools(context.Background(), h, f)
	eth1, eth2 := f.NICs[0], f.NICs[1]
	if *eth1.SpeedMbps != 400000 || !*eth1.Autoneg || eth1.Firmware != "28.40.1000" || eth1.DriverVersion != "24.10" || eth2.FEC != "RS" || eth2.Autoneg != nil {
		t.Errorf("eth1 %+v\neth2 %+v", eth1, eth2)
	}
	if diff := cmp.Diff([]string{"mlx5_core: hello"}, f.KernelLog.Lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	want := []string{
		`hcas.ports.active_mtu: exec: "ibv_devinfo": executable file not found in $PATH`,
		`hcas.ports.max_mtu: exec: "ibv_devinfo": executable file not found in $PATH`,
		"nics.speed_mbps eth2: is about another interface",
		"nics.autoneg eth2: is about another interface",
		`nics.firmware: exec: "ethtool": executable file not found in $PATH`,
		`nics.driver_version: exec: "ethtool": executable file not found in $PATH`,
		`nics.fec eth1: command "ethtool --show-fec eth1": exit status 95: Operation not supported`,
		`firewall: exec: "nft": executable file not found in $PATH`,
	}
	if diff := cmp.Diff(want, missingText(f)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	disagree := []fabric.Disagreement{{What: "hcas.firmware mlx5_0", Said: []fabric.Evidence{{Source: "kernel", Value: "28.39.1002"}, {Source: "ethtool -i", Value: "28.40.1000"}}}}
	if diff := cmp.Diff(disagree, f.Disagree); diff != "" || f.HCAs[0].Firmware != "28.39.1002" {
		t.Errorf("firmware %s, disagreements (-want +got):\n%s", f.HCAs[0].Firmware, diff)
	}
	if n := len(slices.Compact(slices.Sorted(slices.Values(asked)))); n != len(asked) {
		t.Errorf("asked twice: %v", asked)
	}
	if slices.ContainsFunc(asked, func(line string) bool {
		return strings.HasPrefix(line, "lspci") || strings.HasSuffix(line, " lo") || strings.HasPrefix(line, "nvidia-smi")
	}) {
		t.Errorf("asked what nobody needs: %v", asked)
	}
}

// TestToolThatHangs holds that one tool costs no more than its time, and is not asked about the next device;
// also where the process waits inside a driver, so that it cannot be ended.
func TestToolThatHangs(t *testing.T) {
	for name, waits := range map[string]func(ctx context.Context, forever chan bool){
		"until it is killed":     func(ctx context.Context, _ chan bool) { <-ctx.Done() },
		"whatever is done to it": func(_ context.Context, forever chan bool) { <-forever },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				forever := make(chan bool)
				h := toolHost{output: func(ctx context.Context, argv []string) ([]byte, error) {
					if argv[0] == "ethtool" && len(argv) == 2 {
						asked.Add(1)
						waits(ctx, forever)
						return nil, context.DeadlineExceeded
					}
					return nil, &exec.Error{Name: argv[0], Err: exec.ErrNotFound}
				}}
				f, start := twoNICs(), time.Now()
				readTools(context.Background(), h, f)
				if took := time.Since(start); took < toolTime || took > toolTime+toolGrace {
					t.Errorf("took %s, want %s and at most %s more", took, toolTime, toolGrace)
				}
				if _, ok := f.MissingReason("nics.autoneg"); !ok || asked.Load() != 1 {
					t.Errorf("asked %d times, missing %v", asked.Load(), missingText(f))
				}
				close(forever)
			})
		})
	}
}

// TestAllToolsHang bounds what a node costs on which every tool hangs.
func TestAllToolsHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		forever := make(chan bool)
		h := toolHost{output: func(context.Context, []string) ([]byte, error) { <-forever; return nil, nil }}
		f, start := twoNICs(), time.Now()
		f.GPUs = []fabric.GPU{{PCI: "0000:41:00.0", Vendor: "nvidia"}}
		f.Modules = []fabric.Module{{Name: "mlx5_core"}}
		readTools(context.Background(), h, f)
		if took := time.Since(start); took > toolsTime+3*toolGrace {
			t.Errorf("took %s", took)
		}
		for _, what := range []string{"hcas.ports.active_mtu", "nics.autoneg", "nics.firmware", "nics.fec", "gpus.name", "modules.on_disk", "kernel_log"} {
			if _, ok := f.MissingReason(what); !ok {
				t.Errorf("%s is empty without a reason", what)
			}
		}
		close(forever)
	})
}

// TestToolPrintsTooMuch holds the bound of one text.
func TestToolPrintsTooMuch(t *testing.T) {
	h := toolHost{output: func(context.Context, []string) ([]byte, error) {
		return bytes.Repeat([]byte("[    1.000000] mlx5_core: x\n"), maxToolText/20), nil
	}}
	var f fabric.Facts
	readTools(context.Background(), h, &f)
	if m, ok := f.MissingReason("kernel_log"); !ok || f.KernelLog != nil || m.Reason != "printed more than 10485760 bytes" {
		t.Errorf("%+v", m)
	}
}
