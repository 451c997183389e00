package nccllint

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// ncclRun is a topology file that NCCL 2.28.9 was given on two H200 in a virtual machine, and what it did.
type ncclRun struct {
	name   string
	text   []byte
	exit   string
	warn   []string
	dump   []string // system, paths
	graphs []string
}

// ncclRuns reads the files that test/gpu/topology.sh has written.
func ncclRuns(t *testing.T) []ncclRun {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/nccl/h200x2.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var runs []ncclRun
	for i, f := range archive.Files {
		name, isResult := strings.CutSuffix(f.Name, ".nccl")
		if !isResult {
			continue
		}
		run := ncclRun{name: name}
		if i > 0 && archive.Files[i-1].Name == name+".xml" {
			run.text = archive.Files[i-1].Data
		} else {
			continue // without a file
		}
		for line := range strings.Lines(string(f.Data)) {
			line = strings.TrimSuffix(line, "\n")
			switch word, rest, _ := strings.Cut(line, " "); word {
			case "exit":
				run.exit = rest
			case "warn":
				run.warn = append(run.warn, rest)
			case "info", "busbw":
			case "Pattern":
				run.graphs = append(run.graphs, line)
			default:
				if line == "" {
					continue
				}
				run.dump = append(run.dump, line)
			}
		}
		runs = append(runs, run)
	}
	if len(runs) != 87 {
		t.Fatalf("%d runs", len(runs))
	}
	return runs
}

func (r ncclRun) took() bool { return r.exit == "0" }

func findRun(t *testing.T, runs []ncclRun, name string) ncclRun {
	t.Helper()
	i := slices.IndexFunc(runs, func(r ncclRun) bool { return r.name == name })
	if i < 0 {
		t.Fatalf("no run %q", name)
	}
	return runs[i]
}

// otherButMeant are files by which NCCL assumes in another system, and rightly: they say what a machine can have.
func otherButMeant() map[string]string {
	return map[string]string{
		"width-8":           "a GPU in a slot of eight lanes",
		"speed-gen3":        "a GPU in a slot of Gen3",
		"numa-1":            "the GPUs may be on NUMA node 1",
		"arch-arm":          "H200 beside Arm CPUs are sold",
		"vendor-amd":        "H200 beside AMD's CPUs are sold",
		"net-speed-400g":    "a socket may be on a NIC of 400 Gb/s",
		"behind-one-switch": "both GPUs may be behind one switch of Gen4",
	}
}

// What NCCL refused fails with its message, what it took is not called refused, and what led it to another
// system has a finding.
func TestLintAgreesWithNCCLRuns(t *testing.T) {
	runs := ncclRuns(t)
	base := findRun(t, runs, "base")
	for _, run := range runs {
		t.Run(run.name, func(t *testing.T) {
			out := lintOne(t, string(run.text))
			told, failures, errors, refused := "", 0, 0, 0
			for _, f := range out.Findings {
				if f.Status != fabric.Fail {
					continue
				}
				told += f.ID + ": " + f.Why + " " + f.Cost + "\n"
				failures++
				if f.Severity == fabric.SeverityError {
					errors++
				}
				if f.Cost == jobDies {
					refused++
				}
			}
			if !run.took() && errors == 0 {
				t.Errorf("NCCL left with %s, and no error is found:\n%s", run.exit, told)
			}
			for _, warning := range run.warn {
				warning, _, _ = strings.Cut(fabric.Printable(warning), `\x`) // one byte of a mark, shown as such
				if !strings.Contains(told, warning) {
					t.Errorf("NCCL said %q, lint:\n%s", warning, told)
				}
			}
			if run.took() && refused > 0 {
				t.Errorf("NCCL took it, lint:\n%s", told)
			}
			if status := out.Summary.Status(); run.took() && run.name != "empty" && status == fabric.Unknown {
				t.Errorf("NCCL took it, verdict %s", status)
			}
			_, meant := otherButMeant()[run.name]
			if other := run.took() && !slices.Equal(run.dump, base.dump); (other && failures == 0) != meant {
				t.Errorf("another system: %v, failures %d, and it is listed as meant: %v", other, failures, meant)
			}
		})
	}
	if out := lintOne(t, string(base.text)); out.Summary.Fail > 0 {
		t.Errorf("the file that this program wrote: %+v", out.Summary)
	}
}

// What NVLink, or its loss, costs by the lint is what NCCL then believed.
func TestLintCostsAreNCCLs(t *testing.T) {
	runs := ncclRuns(t)
	for name, want := range map[string]string{
		"tclass-gpu":         "48.0 GB/s over PCIe instead of 370.8 over NVLink",
		"count-6":            "123.6 instead of 370.8 GB/s",
		"speed-without-pcie": "12.0 instead of 48.0 GB/s",
		"speed-64-pcie":      "96.0 instead of 48.0 GB/s",
	} {
		t.Run(name, func(t *testing.T) {
			run := findRun(t, runs, name)
			number, _, _ := strings.Cut(want, " ")
			if !strings.Contains(strings.Join(run.dump, "\n"), "["+number+"]") {
				t.Errorf("%s: NCCL did not believe %s", name, number)
			}
			told := ""
			for _, f := range lintOne(t, string(run.text)).Findings {
				told += f.Cost + "\n"
			}
			if !strings.Contains(told, want) {
				t.Errorf("%s: %q is not reported:\n%s", name, want, told)
			}
		})
	}
}

// asLoaded returns a document as the two processes of the runs have it when they have loaded it: GPUs of other
// addresses are dropped and the real ones put at their CPU, the GPUs are filled, and the NIC of the machine is added.
func asLoaded(t *testing.T, d *ncclxml.Document) *ncclxml.Document {
	t.Helper()
	if len(d.Roots) == 0 {
		d.Roots = []*ncclxml.Element{{Name: "system", Attributes: []ncclxml.Attribute{attr("version", "1")}}}
	}
	d.Roots = d.Roots[:1]
	found := map[string]bool{}
	var keep func(e *ncclxml.Element) bool
	keep = func(e *ncclxml.Element) bool {
		e.Children = slices.DeleteFunc(e.Children, func(c *ncclxml.Element) bool { return !keep(c) })
		if e.Name != "pci" {
			return e.Name != "nic"
		}
		bus, _ := e.Get("busid")
		isOwn := (bus == "0000:00:06.0" || bus == "0000:00:07.0") && !found[bus]
		if isOwn {
			found[bus] = true
			e.Set("class", "0x030200")
		}
		return isOwn || len(e.ChildrenOf("pci")) > 0
	}
	declared := declaredSpeed(d)
	keep(d.Roots[0])
	var cpu *ncclxml.Element
	if cpus := d.All("cpu"); len(cpus) > 0 {
		cpu = cpus[0]
	} else {
		cpu = d.Roots[0].Add("cpu", attr("numaid", "-1"))
	}
	for _, a := range []ncclxml.Attribute{attr("arch", "x86_64"), attr("vendor", "GenuineIntel"), attr("familyid", "6"), attr("modelid", "207")} {
		setMissing(cpu, a.Name, a.Value)
	}
	for i := range 2 {
		bus := fmt.Sprintf("0000:00:%02x.0", 6+i)
		if !found[bus] {
			cpu.Add("pci", attr("busid", bus), attr("class", "0x030200"))
			byAddress := func(a, b *ncclxml.Element) int {
				x, _ := a.Get("busid")
				y, _ := b.Get("busid")
				return strings.Compare(x, y)
			}
			slices.SortStableFunc(cpu.Children, byAddress) // as NCCL puts it between the others
		}
	}
	for _, pci := range d.All("pci") {
		setMissing(pci, "link_speed", "32.0 GT/s PCIe")
		setMissing(pci, "link_width", "0")
	}
	filled, err := d.Filled(knownParts(t), fabric.Hardware{GPU: "h200-sxm"})
	if err != nil {
		t.Fatal(err)
	}
	nic := &ncclxml.Element{Name: "nic", Parent: filled.All("cpu")[0]}
	nic.Add("net", attr("name", "eth0"), attr("dev", "0"), attr("speed", declared), attr("guid", "0x0"), attr("gdr", "0"))
	nic.Parent.Children = slices.Insert(nic.Parent.Children, 0, nic)
	return filled
}

func setMissing(e *ncclxml.Element, name, value string) {
	if _, has := e.Get(name); !has {
		e.Set(name, value)
	}
}

// declaredSpeed is the speed that a file gives the NIC eth0, which the machine has, else what it has itself.
func declaredSpeed(d *ncclxml.Document) string {
	for _, net := range d.All("net") {
		if name, _ := net.Get("name"); name == "eth0" {
			if speed, ok := net.Get("speed"); ok {
				return speed
			}
		}
	}
	return "10000"
}

// NCCL's own idea of each file that it took is what is computed here.
func TestSystemAgreesWithNCCLRuns(t *testing.T) {
	for _, run := range ncclRuns(t) {
		if !run.took() {
			continue
		}
		t.Run(run.name, func(t *testing.T) {
			d, err := ncclxml.Parse(run.text)
			if err != nil {
				t.Fatal(err)
			}
			s, err := ncclgraph.NewSystem(asLoaded(t, d), ncclgraph.Options{})
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.DeleteFunc(s.Lines(), func(line string) bool { return strings.HasPrefix(line, "=====") })
			if diff := cmp.Diff(run.dump, append(lines, s.PathLines()...)); diff != "" {
				t.Errorf("system (-NCCL +here):\n%s", diff)
			}
			var graphs []string
			for _, g := range s.Graphs() {
				graphs = append(graphs, g.Line())
			}
			for _, line := range run.graphs {
				if !slices.Contains(graphs, line) {
					t.Errorf("NCCL has %q, here %q", line, graphs)
				}
			}
		})
	}
}

// Files in the form of the clouds are whole: nothing fails, all devices count, and the system is that of the form
// with all elements.
func TestCloudForm(t *testing.T) {
	text, err := os.ReadFile("../ncclxml/testdata/cloud-bare.xml")
	if err != nil {
		t.Fatal(err)
	}
	out := lintOne(t, string(text))
	judged := map[string]fabric.Status{}
	for _, f := range out.Findings {
		judged[f.ID] = f.Status
		if f.Status == fabric.Fail || f.Status == fabric.Unknown {
			t.Errorf("%s %s: %s", f.Status, f.ID, f.Why)
		}
	}
	for _, id := range []string{"topo-near-nic", "topo-nics-per-gpu", "topo-numa-split", "topo-unique-busid"} {
		if judged[id] != fabric.Pass {
			t.Errorf("%s is %s", id, judged[id])
		}
	}
	if status := out.Summary.Status(); status != fabric.Pass {
		t.Errorf("verdict %s", status)
	}
	d, err := ncclxml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m := d.Machine()
	if len(m.GPUs) != 8 || len(m.NICs) != 8 {
		t.Fatalf("%d GPUs, %d NICs", len(m.GPUs), len(m.NICs))
	}
	for i, g := range m.GPUs {
		if want := []string{"0001", "0002", "0003", "0008", "0009", "000a", "000b", "000c"}[i] + ":00:00.0"; g.Index != i || g.Bus != want {
			t.Errorf("GPU%d at %s, want %s", g.Index, g.Bus, want)
		}
	}
	for _, p := range m.Pairing().Pairs {
		if p.NIC == nil || p.NIC.Label[3:] != p.GPU.Label[3:] || p.Hop.Distance != topology.PIX {
			t.Errorf("%s has %v at %s", p.GPU.Label, p.NIC, p.Hop)
		}
	}
	if gaps := strings.Join(m.Gaps, "\n"); !strings.Contains(gaps, "does not have names and line rates of NICs") || !strings.Contains(gaps, "does not have the GPUs' models and links") {
		t.Errorf("gaps are\n%s", gaps)
	}
}

// A cloud file that lacks a NIC, has two devices in one place or a wrong address does fail.
func TestCloudFormFails(t *testing.T) {
	text, err := os.ReadFile("../ncclxml/testdata/cloud-bare.xml")
	if err != nil {
		t.Fatal(err)
	}
	for rule, edit := range map[string][2]string{
		"topo-near-nic":          {"class=\"0x020700\"", "class=\"0x050000\""}, // all of a switch
		"topo-nics-per-gpu":      {`<pci busid="0101:00:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>`, ""},
		"topo-numa-split":        {`<pci busid="0101:00:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"/>`, ""},
		"topo-unique-busid":      {"0102:00:00.0", "0101:00:00.0"},
		"topo-busid":             {"0102:00:00.0", "102:00:00.0"},
		"topo-link-speed":        {"32.0 GT/s PCIe", "Gen5"},
		"topo-missing-attribute": {` link_width="16"`, ""},
	} {
		t.Run(rule, func(t *testing.T) {
			count := 1
			if rule == "topo-near-nic" {
				count = 2
			}
			out := lintOne(t, strings.Replace(string(text), edit[0], edit[1], count))
			if !slices.ContainsFunc(out.Findings, func(f fabric.Finding) bool { return f.ID == rule && f.Status == fabric.Fail }) {
				t.Errorf("%s finds nothing", rule)
			}
		})
	}
}

func attr(name, value string) ncclxml.Attribute { return ncclxml.Attribute{Name: name, Value: value} }
