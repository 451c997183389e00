package facts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/esx"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// shellOfESX answers commands of an ESX host; one that it does not know is not installed there.
type shellOfESX map[string]string

func (s shellOfESX) Start(ctx context.Context, c host.Command) (*host.Process, error) {
	text, ok := s[c.Argv[len(c.Argv)-1]]
	if !ok {
		return host.Local{}.Start(ctx, host.Command{Argv: []string{"sh", "-c", "echo 'sh: not found' >&2; exit 127"}})
	}
	return host.Local{}.Start(ctx, host.Command{Argv: []string{"printf", "%s", text}})
}

func esxAnswers(t *testing.T) shellOfESX {
	t.Helper()
	out := shellOfESX{}
	for _, c := range esx.Commands() {
		b, err := os.ReadFile(filepath.Join("testdata", "esx", c.Name+".txt"))
		if err == nil {
			out[c.Shell] = string(b)
		} else if !os.IsNotExist(err) {
			t.Fatal(err)
		}
	}
	return out
}

func TestCollectESX(t *testing.T) {
	f := CollectESX(t.Context(), esxAnswers(t), "esx1")
	if role, by := f.HostRole(); role != fabric.HostOfVMs || by.Value != "VMware ESX 8.0.3" {
		t.Errorf("role %q by %+v", role, by)
	}
	e := f.ESX
	if e == nil {
		t.Fatalf("no facts of ESX: %+v", f.Missing)
	}
	if f.Node != "esx1" || f.Source != "live" || f.Collected == "" || e.Version != "8.0.3" || e.PowerPolicy != "Balanced" || *e.Maintenance || *f.Machine.Product != "PowerEdge XE9680" {
		t.Errorf("%+v", f)
	}
	for _, list := range []string{fabric.FactESXSettings, fabric.FactESXVIBs, fabric.FactESXModules, fabric.FactESXDevices, fabric.FactESXResetRules, fabric.FactESXUplinks, fabric.FactESXVFs, fabric.FactESXVMs} {
		if !e.Whole(list) {
			t.Errorf("%s is not whole: %q", list, e.Parts)
		}
	}
	if len(f.PCI) != 2 || len(e.VMs) != 1 || len(e.VMs[0].Devices) != 1 || e.VFs == nil || len(e.VFs) != 0 || e.Module("nmlx5_core").Parameters["pfctx"] != "0x08" {
		t.Errorf("%+v", e)
	}
	if nic := e.Devices[slices.IndexFunc(e.Devices, func(d fabric.PassthroughPCI) bool { return d.Address == "0000:1a:00.0" })]; nic.Label != "NIC0" || !nic.Labels || nic.Active == nil || !*nic.Active {
		t.Errorf("hardware label: %+v", nic)
	}
	if m, ok := f.MissingReason(fabric.FactESXMST); !ok || !m.Absent || m.Source != "/opt/mellanox/bin/mst status -vv" {
		t.Errorf("MFT is not installed: %+v", m)
	}
	for _, m := range f.Missing {
		if strings.HasPrefix(m.What, "text ") {
			t.Errorf("unread: %+v", m)
		}
	}
	b, ok := f.MissingReason(fabric.FactNICs)
	if !ok || !strings.Contains(b.Reason, "ESX") {
		t.Errorf("facts of Linux: %+v", b)
	}
}

// TestCollectESXCut: an answer without its last line's end is not whole, and says so.
func TestCollectESXCut(t *testing.T) {
	answers := esxAnswers(t)
	for shell, text := range answers {
		cut := esxAnswers(t)
		cut[shell] = strings.TrimSuffix(text, "\n")
		f := CollectESX(t.Context(), cut, "esx1")
		if !slices.ContainsFunc(f.Missing, func(m fabric.Missing) bool { return strings.Contains(m.Reason, "is cut") }) {
			t.Errorf("%s: not missed", shell)
		}
	}
	if f := CollectESX(t.Context(), shellOfESX{}, "esx1"); f.ESX != nil || f.Kernel.OS != nil {
		t.Errorf("nothing answered, and there is %+v", f.ESX)
	} else if _, missing := f.MissingReason(fabric.FactESX); !missing {
		t.Errorf("missing: %+v", f.Missing)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if f := CollectESX(ctx, hanging{}, "esx1"); f.ESX != nil || len(f.Missing) == 0 {
		t.Errorf("%+v", f)
	}
}

// hanging never answers.
type hanging struct{}

func (hanging) Start(ctx context.Context, _ host.Command) (*host.Process, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Minute):
		return nil, fmt.Errorf("not ended")
	}
}

// TestOutputsOfESX finds what two hosts printed, in prose.
func TestOutputsOfESX(t *testing.T) {
	text := "The second host does not start its VM. This is what I get:\n\n" +
		"[root@esx1:~] vmware -v\nVMware ESXi 8.0.3 build-24280767\n[root@esx1:~] vmkload_mod -l | grep nmlx5_core\n[root@esx1:~] esxcli software vib list | grep nmst\nnmst   4.30.0.54-1OEM.703.0.0.18644231  MEL  PartnerSupported  2025-01-02\n" +
		"[root@esx2:~] /opt/mellanox/bin/mlxconfig -d mt4129_pciconf0 q\nDevice #1:\n----------\nDevice type:        ConnectX7\nDevice:             mt4129_pciconf0\nConfigurations:      Next Boot\n        ATS_ENABLED   False(0)\n\nand in vmware.log:\n\n" +
		"2025-01-02T03:04:05.678Z In(05) vmx - PCIPassthru: total number of pages needed (268435456) exceeds limit (134217728), failing\n\nAny idea?\n"
	o := NewOutputs()
	o.File("post.txt", "")
	claimed := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if is, _ := o.Line("", []string{line}, nil, false); is && line != "" {
			claimed++
		}
	}
	found := o.Facts()
	if len(found) != 2 || !found[0].Named || found[0].Facts.Node != "esx1" || found[1].Facts.Node != "esx2" || claimed < 12 {
		t.Fatalf("%d sets, %d lines claimed, %+v", len(found), claimed, found)
	}
	a, b := found[0].Facts.ESX, found[1].Facts.ESX
	if a == nil || b == nil || a.Version != "8.0.3" || *a.Module("nmlx5_core").Loaded || a.VIBs[0].Name != "nmst" || len(b.NICConfigs) != 1 || b.NICConfigs[0].Settings["ATS_ENABLED"].Next != "False(0)" || b.Refusals[0].Kind != fabric.RefusedMMIO {
		t.Errorf("%+v\n%+v", a, b)
	}
	for _, f := range found {
		if role, _ := f.Facts.HostRole(); role != fabric.HostOfVMs || len(f.Unread) > 0 {
			t.Errorf("%s: role %q, unread %+v", f.Facts.Node, role, f.Unread)
		}
	}
	if !slices.Contains(o.Holds(), esxTool) {
		t.Errorf("holds %q", o.Holds())
	}
}

// TestOutputsOfCaptures: a capture is read as the outputs of one host, and as its text.
func TestOutputsOfCaptures(t *testing.T) {
	names, err := filepath.Glob("../../../shared/data/captures/[0-3]*.txt")
	if err != nil || len(names) == 0 {
		t.Skip("the captures are not beside the repository")
	}
	for _, name := range names {
		number := strings.TrimSuffix(filepath.Base(name), ".txt")
		if number > "36" {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		want := esx.Read(map[string][]byte{"x": text})
		o := NewOutputs()
		o.File(name, "")
		for line := range strings.Lines(string(text)) {
			o.Line("", []string{strings.TrimRight(line, "\r\n")}, nil, false)
		}
		esxSets := 0
		for _, f := range o.Facts() {
			if f.Facts.ESX != nil {
				esxSets++
			}
			role, _ := f.Facts.HostRole()
			if want.Proven && f.Facts.ESX != nil && role != fabric.HostOfVMs {
				t.Errorf("%s: role %q", number, role)
			}
		}
		if known := want.ESX != nil && number != "36"; esxSets > 1 || known != (esxSets == 1) {
			t.Errorf("%s: %d sets of an ESX host, read alone: %v", number, esxSets, want.ESX != nil)
		}
	}
}
