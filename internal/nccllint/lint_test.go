package nccllint

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// soundXML is a file in which no rule finds anything: two sockets, a switch each with an H100 and a ConnectX-7.
const soundXML = `<system version="1">
  <cpu numaid="0" affinity="0000ffff" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:16:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1028" subsystem_device="0x2330" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:17:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="0" sm="90" rank="0" gdr="1">
          <nvlink target="0000:04:12.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:04:13.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:18:00.0" class="0x020700" vendor="0x15b3" device="0x1021" subsystem_vendor="0x15b3" subsystem_device="0x0041" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x5c24fb0003ae6d94" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="ffff0000" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143">
    <pci busid="0000:98:00.0" class="0x060400" vendor="0x1000" device="0xc030" subsystem_vendor="0x1028" subsystem_device="0x2333" link_speed="32.0 GT/s PCIe" link_width="16">
      <pci busid="0000:99:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1" link_speed="32.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="90" rank="1" gdr="1">
          <nvlink target="0000:04:12.0" count="9" tclass="0x068000"/>
          <nvlink target="0000:04:13.0" count="9" tclass="0x068000"/>
        </gpu>
      </pci>
      <pci busid="0000:9a:00.0" class="0x020700" vendor="0x15b3" device="0x1021" subsystem_vendor="0x15b3" subsystem_device="0x0041" link_speed="32.0 GT/s PCIe" link_width="16">
        <nic>
          <net name="mlx5_1" dev="1" speed="400000" port="1" guid="0x820fb0003ae6d94" maxconn="131072" gdr="1"/>
        </nic>
      </pci>
    </pci>
  </cpu>
</system>
`

func knownParts(t testing.TB) *catalog.Catalog {
	t.Helper()
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func lintOne(t testing.TB, text string) *fabric.Findings {
	t.Helper()
	return Check([]File{{Name: "topo.xml", Text: []byte(text)}}, knownParts(t))
}

// edited replaces the first occurrence; a text that is not there is a mistake of the test.
func edited(t testing.TB, from, to string) string {
	t.Helper()
	if !strings.Contains(soundXML, from) {
		t.Fatalf("%q is not in the sound file", from)
	}
	return strings.Replace(soundXML, from, to, 1)
}

func TestLintSoundFile(t *testing.T) {
	out := lintOne(t, soundXML)
	seen := map[string]fabric.Status{}
	for _, f := range out.Findings {
		seen[f.ID] = f.Status
		if f.Status != fabric.Pass && f.Status != fabric.NotApplicable {
			t.Errorf("%s: %s %s", f.ID, f.Status, f.Why)
		}
	}
	for _, rule := range rules() {
		if _, ok := seen[rule.id]; !ok {
			t.Errorf("rule %s says nothing", rule.id)
		}
	}
	if out.Summary.Pass < 35 || out.Summary.Status() != fabric.Pass {
		t.Errorf("%+v", out.Summary)
	}
}

// A warning is no failure; what was not checked is no pass; nothing checked is unknown.
func TestLintStatus(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want fabric.Status
	}{
		"warning": {edited(t, `rank="0"`, ""), fabric.Pass},
		"misread": {edited(t, "32.0 GT/s PCIe", "Gen5"), fabric.Fail},
		"refused": {"x" + soundXML, fabric.Fail},
		"empty":   {"", fabric.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lintOne(t, c.text).Summary.Status(); got != c.want {
				t.Errorf("%s: %s, want %s", name, got, c.want)
			}
		})
	}
	if got := (&fabric.Findings{}).Summary.Status(); got != fabric.Unknown {
		t.Errorf("nothing: %s", got)
	}
}

func TestLintFinds(t *testing.T) {
	for _, c := range ruleCases() {
		t.Run(c.name, func(t *testing.T) {
			out := lintOne(t, c.text(t))
			for _, f := range out.Findings {
				at := ""
				if len(f.Evidence) > 0 {
					at = f.Evidence[0].Source
				}
				status := fabric.Fail
				if c.severity == fabric.SeverityInfo {
					status = fabric.Pass
				}
				if f.ID == c.rule && f.Status == status && f.Severity == c.severity && (c.line == 0 || at == fmt.Sprintf("topo.xml:%d", c.line)) && strings.Contains(f.Why+f.Cost, c.says) {
					return
				}
			}
			for _, f := range out.Findings {
				if f.Status != fabric.Pass {
					t.Logf("%s %s %s %v %s | %s", f.Status, f.Severity, f.ID, f.Evidence, f.Why, f.Cost)
				}
			}
			t.Errorf("no %s of %s at line %d with %q", c.severity, c.rule, c.line, c.says)
		})
	}
}

// Every rule has a text in which it finds something.
func TestLintCasesCoverTheRules(t *testing.T) {
	covered := map[string]bool{"topo-whole": true} // of files that are not read whole: see TestLintOfPartOfAFile
	for _, c := range ruleCases() {
		covered[c.rule] = true
	}
	ids := map[string]bool{}
	for _, rule := range rules() {
		if !covered[rule.id] {
			t.Errorf("rule %s has no case", rule.id)
		}
		if ids[rule.id] {
			t.Errorf("rule %s is there twice", rule.id)
		}
		ids[rule.id] = true
	}
}

// Ten files that NCCL 2.28.9 was given on two H200: what it refused fails with its message, and nothing of
// what it took fails as refused.
func TestLintAgreesWithNCCL(t *testing.T) {
	const folder = "testdata/xml/h200x2-outcomes"
	var told struct {
		Outcomes map[string]struct {
			Exit int
			Warn []string
			PCI  []string `json:"pci_gbs"`
			NVL  []string `json:"nvl_gbs"`
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, "outcomes.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &told); err != nil {
		t.Fatal(err)
	}
	if len(told.Outcomes) != 10 {
		t.Fatalf("%d outcomes", len(told.Outcomes))
	}
	for name, want := range told.Outcomes {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(folder, name+".xml"))
			if err != nil {
				t.Fatal(err)
			}
			out := lintOne(t, string(text))
			refused := slices.IndexFunc(out.Findings, func(f fabric.Finding) bool {
				return f.Status == fabric.Fail && f.Severity == fabric.SeverityError && f.Cost == jobDies
			})
			if (refused >= 0) != (want.Exit == 3) {
				t.Fatalf("NCCL left with %d, refused by finding %d", want.Exit, refused)
			}
			if refused >= 0 && !strings.Contains(out.Findings[refused].Why, fabric.Printable(want.Warn[0])) {
				t.Errorf("says %q, NCCL said %q", out.Findings[refused].Why, fabric.Printable(want.Warn[0]))
			}
			costs := ""
			for _, f := range out.Findings {
				costs += f.Cost + "\n"
			}
			if len(want.PCI) > 0 && want.PCI[0] == "12.0" && !strings.Contains(costs, "counts as 12.0 instead of 48.0 GB/s") {
				t.Errorf("NCCL assumed 12.0 GB/s: %s", costs)
			}
			if len(want.NVL) > 0 && want.NVL[0] == "123.6" && !strings.Contains(costs, "assumes 123.6 instead of 370.8 GB/s") {
				t.Errorf("NCCL assumed 123.6 GB/s: %s", costs)
			}
			if status := out.Summary.Status(); (status == fabric.Fail) != (want.Exit == 3 || name == "speed_no_pcie" || name == "nvlink_count6") {
				t.Errorf("verdict %s", status)
			}
			if name == "empty" && out.Summary.Unknown == 0 {
				t.Error("nothing of an empty file is known")
			}
		})
	}
}

// The file of the VMware guide's appendix I, as its scan was printed: each damage with its line.
func TestLintAppendixI(t *testing.T) {
	text, err := os.ReadFile("testdata/xml/vcf-appendix-i.xml")
	if err != nil {
		t.Fatal(err)
	}
	out := lintOne(t, string(text))
	at := map[string]bool{}
	ends := 0
	for _, f := range out.Findings {
		if f.ID == "topo-close-tag" {
			ends++
		}
		if f.ID == "topo-unknown-element" && f.Evidence[0].Source == "topo.xml:16" && !strings.Contains(f.Why, "NCCL stops at line 18 once the earlier problems are fixed: XML Mismatch : pci / nic.") {
			t.Errorf("missing <nic>: %s", f.Why)
		}
		for _, e := range f.Evidence {
			at[f.ID+" "+strings.TrimPrefix(e.Source, "topo.xml:")] = f.Status == fabric.Fail || f.Status == fabric.Unknown
		}
		if f.Status == fabric.Pass && f.ID == "topo-near-nic" {
			t.Error("a refused file passes")
		}
	}
	if ends != 3 {
		t.Errorf("%d findings of closing tags, want </gpu> missing and two </apu>", ends)
	}
	for what, places := range map[string][]string{
		"name of the file":       {"topo-text 1"},
		"<cpu numaid is missing": {"topo-text 3", "topo-text 83", "topo-missing-attribute 3", "topo-missing-attribute 83"},
		"<nic> is missing":       {"topo-unknown-element 16", "topo-unknown-element 25", "topo-unknown-element 131"},
		"</gpu> is missing":      {"topo-close-tag 13"},
		"</apu>":                 {"topo-close-tag 60", "topo-close-tag 142"},
		"adr=":                   {"topo-unknown-attribute 17", "topo-unknown-attribute 45", "topo-unknown-attribute 90"},
		"qdr=":                   {"topo-unknown-attribute 26", "topo-unknown-attribute 132"},
		"quid=":                  {"topo-unknown-attribute 131"},
		"net without <":          {"topo-text 113"},
		"guid of 15 digits":      {"topo-net-guid 44"},
		"bus id":                 {"topo-busid 23"},
		"</pre> in tags":         {"topo-text 4", "topo-text 6", "topo-text 154"},
		"tags on two lines":      {"topo-newline 4", "topo-newline 113", "topo-newline 154"},
		"page breaks":            {"topo-text 48", "topo-text 52", "topo-text 108", "topo-text 112"},
	} {
		for _, place := range places {
			if !at[place] {
				t.Errorf("%s: nothing is told at %s", what, place)
			}
		}
	}
}

func TestLintOfPartOfAFile(t *testing.T) {
	for name, f := range map[string]File{
		"cut by the caller": {Name: "a.xml", Text: []byte(soundXML), Cut: "is larger than 1 MiB"},
		"many errors":       {Name: "a.xml", Text: []byte(soundXML + strings.Repeat("\tx\n", 2000))},
		"too large":         {Name: "a.xml", Text: []byte("x" + strings.Repeat(" ", ncclxml.RecoverLimit))},
		"too deep":          {Name: "a.xml", Text: []byte("x" + strings.Repeat("<a>", 10000))},
		"cut in a tag":      {Name: "a.xml", Text: []byte(soundXML[:700])},
	} {
		t.Run(name, func(t *testing.T) {
			out := Check([]File{f}, knownParts(t))
			if out.Summary.Unknown == 0 {
				t.Fatal("a file that was not read whole is known")
			}
			for _, f := range out.Findings {
				if f.Status == fabric.Pass {
					t.Errorf("%s passes", f.ID)
				}
			}
		})
	}
}

// Texts made to keep the reader of damaged files busy are checked and fixed in bounded time.
func TestLintIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("16 MiB a text")
	}
	for name, piece := range map[string]string{
		"attributes":     "a=\"b\"\n",
		"lost <":         "gpu a= ",
		"open quotes":    "<a b=\"",
		"tags":           "<a/>",
		"depth":          "<pci>",
		"stray ends":     "</a>",
		"blanks in tags": "<pci            a=\"b\"/>",
		"tabs":           "\t\n",
		"comments":       "<!--a=b-->",
		"comment starts": "<!-- ",
		"declarations":   "<![",
	} {
		t.Run(name, func(t *testing.T) {
			text := []byte("x" + strings.Repeat(piece, ncclxml.RecoverLimit/len(piece)-1))
			began := time.Now()
			out := Check([]File{{Name: "f", Text: text}}, nil)
			if _, _, err := Fix(text, nil); err == nil {
				t.Error("fixed")
			}
			if took := time.Since(began); took > 30*time.Second {
				t.Errorf("took %v", took)
			}
			if len(out.Findings) > 5000 || out.Summary.Fail == 0 {
				t.Errorf("%d findings, %+v", len(out.Findings), out.Summary)
			}
			t.Log(time.Since(began))
		})
	}
}

// A file with ten thousand devices is refused, and checked in bounded time.
func TestLintManyDevices(t *testing.T) {
	var b strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&b, "<pci busid=\"%04x:00:00.0\" class=\"0x060400\" link_speed=\"x\" link_width=\"16\"/>\n", i)
	}
	out := lintOne(t, strings.Replace(soundXML, "  </cpu>", b.String()+"  </cpu>", 1))
	count := 0
	for _, f := range out.Findings {
		if f.ID == "topo-link-speed" {
			count++
		}
	}
	if count != maxFailures+1 || out.Summary.Status() != fabric.Fail {
		t.Errorf("%d findings, %+v", count, out.Summary)
	}
}

func TestLintSeveralFiles(t *testing.T) {
	other := strings.Replace(soundXML, `link_width="16"`, `link_width="8"`, 1)
	for name, c := range map[string]struct {
		second string
		want   fabric.Status
		says   string
	}{
		"same":           {soundXML, fabric.Pass, ""},
		"own attributes": {strings.Replace(soundXML, "0x5c24fb0003ae6d94", "0x1", 1), fabric.Pass, ""},
		"other width":    {other, fabric.Fail, "node1.xml:3 has"},
		"fewer devices":  {strings.Replace(soundXML, soundXML[strings.Index(soundXML, "  <cpu numaid=\"1\""):strings.Index(soundXML, "</system>")], "", 1), fabric.Fail, "missing here"},
		"refused":        {"x" + soundXML, fabric.Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			out := Check([]File{{Name: "node1.xml", Text: []byte(soundXML)}, {Name: "node2.xml", Text: []byte(c.second)}}, knownParts(t))
			i := slices.IndexFunc(out.Findings, func(f fabric.Finding) bool { return f.ID == "topo-same" })
			f := out.Findings[i]
			if f.Status != c.want || f.Subject.Node != "node2.xml" || !strings.Contains(f.Why, c.says) {
				t.Errorf("%s of %s: %s", f.Status, f.Subject, f.Why)
			}
		})
	}
}

// Without the catalog, and of a GPU that it does not know, the number of links is no pass, nor is the file unknown for it.
func TestLintUnknownGPU(t *testing.T) {
	for name, out := range map[string]*fabric.Findings{
		"no catalog":   Check([]File{{Name: "topo.xml", Text: []byte(soundXML)}}, nil),
		"unknown part": lintOne(t, strings.ReplaceAll(soundXML, `device="0x2330"`, `device="0xffff"`)),
	} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(out.Findings, func(f fabric.Finding) bool { return f.ID == "topo-nvlink-count" })
			if f := out.Findings[i]; f.Status != fabric.NotApplicable || !strings.Contains(f.Why, "number for this model is unknown") {
				t.Errorf("%s: %s %s", name, f.Status, f.Why)
			}
			if status := out.Summary.Status(); status != fabric.Pass {
				t.Errorf("%s: verdict %s", name, status)
			}
		})
	}
}

// Of two GPUs of a mesh of eight it cannot be said how many links they have; of eight it can.
func TestLintMesh(t *testing.T) {
	text, err := os.ReadFile("../ncclxml/testdata/mi300x.xml")
	if err != nil {
		t.Fatal(err)
	}
	d, err := ncclxml.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	status := func() fabric.Status {
		var b strings.Builder
		if _, err := d.WriteTo(&b); err != nil {
			t.Fatal(err)
		}
		out := lintOne(t, b.String())
		return out.Findings[slices.IndexFunc(out.Findings, func(f fabric.Finding) bool { return f.ID == "topo-nvlink-count" })].Status
	}
	if got := status(); got != fabric.Pass {
		t.Errorf("whole mesh: %s", got)
	}
	d.Roots[0].Children = d.Roots[0].Children[:1]
	if got := status(); got != fabric.NotApplicable {
		t.Errorf("half of it: %s", got)
	}
	gpu := d.All("gpu")[0]
	gpu.Children = gpu.Children[:3]
	if got := status(); got != fabric.Fail {
		t.Errorf("a GPU with fewer links: %s", got)
	}
}

// Files that this package writes, and dumps of NCCL itself, have nothing that NCCL refuses or misreads. RCCL's
// xgmi, version 2 and class 0x12 are no errors.
func TestLintOfSoundFiles(t *testing.T) {
	for _, name := range []string{"ncclxml/testdata/mi300x.xml", "ncclxml/testdata/guest.xml", "ncclxml/testdata/host.xml", "ncclgraph/testdata/system/h200x2.xml"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", name))
			if err != nil {
				t.Fatal(err)
			}
			out := lintOne(t, string(text))
			if got := out.Summary.Status(); got != fabric.Pass {
				for _, f := range out.Findings {
					if f.Status == fabric.Fail || f.Status == fabric.Unknown {
						t.Errorf("%s: %s %s: %v %s", name, f.Severity, f.ID, f.Evidence, f.Why)
					}
				}
			}
			if fixed, changes, err := Fix(text, nil); err != nil || string(fixed) != string(text) {
				t.Errorf("%s: fixed by %v: %v", name, changes, err)
			}
		})
	}
}

// No control character of a file reaches a terminal.
func TestLintIsPrintable(t *testing.T) {
	for _, f := range lintOne(t, "\x1b[2J\x07<a\x1b \u009b=\"\x1b]0;x\"/>"+edited(t, "mlx5_0", "\x1b[31m")).Findings {
		text, _ := json.Marshal(f)
		if strings.Contains(string(text), `\u001b`) || strings.Contains(string(text), `\u0007`) || strings.Contains(string(text), "\u009b") {
			t.Errorf("%s", text)
		}
	}
}

func FuzzLint(f *testing.F) {
	known := knownParts(f)
	f.Add([]byte(soundXML))
	for _, c := range ruleCases() {
		f.Add([]byte(c.text(f)))
	}
	if text, err := os.ReadFile("testdata/xml/vcf-appendix-i.xml"); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		out := Check([]File{{Name: "f", Text: text}}, known)
		_, refused := ncclxml.Parse(text)
		failed := slices.ContainsFunc(out.Findings, func(f fabric.Finding) bool {
			return f.Status == fabric.Fail && f.Severity == fabric.SeverityError
		})
		switch status := out.Summary.Status(); {
		case refused != nil && !failed:
			t.Fatalf("%v, and no error is told", refused)
		case refused != nil && !slices.ContainsFunc(out.Findings, func(f fabric.Finding) bool {
			return strings.Contains(f.Why, fabric.Printable(refused.(*ncclxml.SyntaxError).Message))
		}):
			t.Fatalf("%v is not reported", refused)
		case len(text) == 0 && status == fabric.Pass:
			t.Fatal("an empty file passes")
		}
	})
}

// A file of another kind is called one, in a single failure with NCCL's own message, however many words it has.
func TestLintOfSomethingElse(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"JSON":          {`{"apiVersion": "railwright.dev/v1alpha1", "kind": "Facts"}`, "it is JSON"},
		"nvidia-smi":    {"\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV18\t0-31\nGPU1\tNV18\t X \t32-63\n", "nvidia-smi topo -m"},
		"rocm-smi":      {"============================ ROCm System Management Interface ============================\n", "rocm-smi"},
		"HTML":          {"<!DOCTYPE html>\n<html><body>x</body></html>\n", "an HTML page"},
		"other XML":     {"<?xml version=\"1.0\"?>\n<domain type='kvm'><name>vm</name></domain>\n", "XML of another kind"},
		"log":           {strings.Repeat("host1:12:34 [0] NCCL INFO cudaDriverVersion 12040\n", 100), "text without any of its elements"},
		"binary":        {"\x7fELF\x02\x01\x01\x00", "a binary file"},
		"blanks":        {"\t\n", "only blanks"},
		"graphs":        {`<graphs version="1"><graph id="0"/></graphs>`, "no <system>"},
		"another's XML": {"<svg xmlns=\"x\"/>\n", "no <system>"},
	} {
		t.Run(name, func(t *testing.T) {
			out := lintOne(t, c.text)
			failed := 0
			said := ""
			for _, f := range out.Findings {
				if f.Status == fabric.Fail {
					failed++
					said += f.Why + "\n"
				}
			}
			if !strings.Contains(said, "Not an NCCL topology file: ") || !strings.Contains(said, c.says) || failed != 1 {
				t.Errorf("%d failures:\n%s", failed, said)
			}
			if out.Summary.Status() != fabric.Fail {
				t.Errorf("%+v", out.Summary)
			}
		})
	}
}
