package nccllint

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// The file of the VMware guide's appendix I comes out sound: the golden file lies beside it.
func TestFixAppendixI(t *testing.T) {
	text, err := os.ReadFile("testdata/xml/vcf-appendix-i.xml")
	if err != nil {
		t.Fatal(err)
	}
	fixed, changes, err := Fix(text, nil)
	if err != nil {
		t.Fatal(err)
	}
	const golden = "testdata/xml/vcf-appendix-i.fixed.xml"
	if *update {
		if err := os.WriteFile(golden, fixed, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || !bytes.Equal(fixed, want) {
		t.Errorf("differs from %s (%v):\n%s", golden, err, fixed)
	}
	out := lintOne(t, string(fixed))
	if out.Summary.Fail+out.Summary.Unknown > 0 {
		t.Errorf("%+v", out.Summary)
	}
	left := 0
	for _, c := range changes {
		if c.Line < 1 || c.Line > 165 || c.What == "" || c.Why == "" {
			t.Errorf("%+v", c)
		}
		if c.Left {
			left++
			if c.Line != 44 || !strings.Contains(c.Why, "0x0820fb0003ae6d94") {
				t.Errorf("%+v", c)
			}
		}
	}
	if left != 1 {
		t.Errorf("%d things left, want the GUID", left)
	}
	d, err := ncclxml.Parse(fixed)
	if err != nil {
		t.Fatal(err)
	}
	checkEightPairs(t, d)
}

// checkEightPairs wants two sockets with four switches each, a GPU and a NIC below each switch.
func checkEightPairs(t *testing.T, d *ncclxml.Document) {
	t.Helper()
	system := d.Roots[0]
	if len(system.Children) != 2 {
		t.Fatalf("%d CPUs", len(system.Children))
	}
	names := map[string]bool{}
	for _, cpu := range system.Children {
		if len(cpu.Children) != 4 {
			t.Errorf("%d switches", len(cpu.Children))
		}
		for _, sw := range cpu.Children {
			gpus, nets := sw.Below("gpu"), sw.Below("net")
			if len(gpus) != 1 || len(nets) != 1 || len(sw.Children) != 2 {
				t.Fatalf("switch of line %d: %d GPUs, %d NICs, %d children", sw.Line, len(gpus), len(nets), len(sw.Children))
			}
			if _, links := ncclxml.ScaleUp(gpus[0]); links != 18 {
				t.Errorf("%d links", links)
			}
			gpu, _ := gpus[0].Get("dev")
			nic, _ := nets[0].Get("name")
			gdr, _ := nets[0].Get("gdr")
			if nic != "mlx5_"+gpu || gdr != "1" {
				t.Errorf("GPU %s with %s, gdr %s", gpu, nic, gdr)
			}
			if gpus[0].Parent.Parent != sw || nets[0].Parent.Parent.Parent != sw || sw.Parent != cpu {
				t.Errorf("GPU %s and %s have more than one switch between them: want PIX", gpu, nic)
			}
			names[nic] = true
		}
	}
	if len(names) != 8 {
		t.Errorf("NICs %v", names)
	}
}

// What each kind of damage to the sound file is fixed to: the sound file again.
func TestFixGivesTheSoundFile(t *testing.T) {
	for name, c := range map[string]struct{ from, to string }{
		"declaration":         {"<system", "<?xml version=\"1.0\"?>\n<system"},
		"document type":       {"<system", "<!DOCTYPE a [<!ENTITY b \"c\">]>\n<system"},
		"mark":                {"<system", "\xef\xbb\xbf<system"},
		"tab":                 {"  <cpu", "\t<cpu"},
		"tab in a tag":        {" sm=", "\tsm="},
		"newline in a tag":    {` vendor="0x10de"`, "\n   vendor=\"0x10de\""},
		"unquoted":            {`dev="0"`, `dev=0`},
		"curly quotes":        {`dev="0"`, "dev=\u201c0\u201d"},
		"single quotes":       {`dev="0"`, `dev='0'`},
		"no blank":            {`" sm=`, `"sm=`},
		"blanks":              {` sm=`, `   sm=`},
		"blank before =":      {`sm=`, `sm =`},
		"blank before end":    {`tclass="0x068000"/>`, `tclass="0x068000" />`},
		"junk in a tag":       {` vendor="0x10de"`, `</pre> vendor="0x10de"`},
		"name of the file":    {"<system", "topo.xml\n<system"},
		"page break":          {"  </cpu>", "```\n\n\f\n```\n  </cpu>"},
		"lost <":              {"<gpu", "gpu"},
		"lost nic":            {"        <nic>\n", ""},
		"lost end":            {"        </gpu>\n", ""},
		"lost end of the tag": {`gdr="1">`, `gdr="1"`},
		"lost /":              {`tclass="0x068000"/>`, `tclass="0x068000">`},
		"misspelt end":        {"</gpu>", "</apu>"},
		"blank in the end":    {"</gpu>", "</gpu >"},
		"stray end":           {"</cpu>", "</cpu></pre>"},
		"misspelt element":    {"<gpu", "<qpu"},
		"misspelt attribute":  {"gdr", "qdr"},
		"no version":          {` version="1"`, ""},
		"speed without PCIe":  {"32.0 GT/s PCIe", "32.0 GT/s"},
		"generation":          {"32.0 GT/s PCIe", "Gen5"},
		"x16":                 {`link_width="16"`, `link_width="x16"`},
		"octal":               {`link_width="16"`, `link_width="016"`},
		"no domain":           {"0000:17:00.0", "17:00.0"},
		"long domain":         {"0000:17:00.0", "00000000:17:00.0"},
		"upper case":          {"0000:9a:00.0", "0000:9A:00.0"},
		"nine digits":         {"0000:9a:00.0", "00009a:00.0"},
		"twice":               {`sm="90"`, `sm="90" sm="90"`},
	} {
		t.Run(name, func(t *testing.T) {
			damaged := edited(t, c.from, c.to)
			if damaged == soundXML {
				t.Fatal("nothing is damaged")
			}
			fixed, changes, err := Fix([]byte(damaged), nil)
			if err != nil || len(changes) == 0 {
				t.Fatalf("%d changes, %v", len(changes), err)
			}
			if string(fixed) != soundXML {
				t.Errorf("got\n%s", fixed)
			}
		})
	}
}

func TestFixUTF16(t *testing.T) {
	wide := []byte{0xff, 0xfe}
	for _, c := range []byte(soundXML) {
		wide = append(wide, c, 0)
	}
	fixed, changes, err := Fix(wide, nil)
	if err != nil || string(fixed) != soundXML || len(changes) != 1 {
		t.Errorf("%v %v\n%s", err, changes, fixed)
	}
}

// What is sound, and what cannot be fixed without a guess, comes back byte for byte.
func TestFixLeavesAlone(t *testing.T) {
	crlf := strings.ReplaceAll(soundXML, "\n", "\r\n")
	for name, c := range map[string]struct {
		text string
		left string // id of a finding that is left; empty: none
	}{
		"sound":              {soundXML, ""},
		"sound, CRLF":        {crlf, ""},
		"comments":           {"<!-- a -->\n\n\n" + soundXML + "<!-- b -->", ""},
		"empty":              {"", "topo-system"},
		"newline in quotes":  {strings.Replace(soundXML, `remark`, "", 1) + "<!-- \n\t -->", ""},
		"cut":                {soundXML[:strings.Index(soundXML, "</system>")], "topo-close-tag"},
		"cut in the middle":  {soundXML[:800], "topo-close-tag"},
		"no speed":           {edited(t, "32.0 GT/s PCIe", ""), "topo-link-speed"},
		"no count":           {edited(t, ` count="9"`, ""), "topo-missing-attribute"},
		"unknown element":    {edited(t, "    <pci", "<numa><pci/></numa>    <pci"), "topo-unknown-element"},
		"version 7":          {edited(t, `version="1"`, `version="7"`), "topo-version"},
		"name twice":         {edited(t, "mlx5_1", "mlx5_0"), "topo-unique-net"},
		"other value twice":  {edited(t, `sm="90"`, `sm="90" sm="80"`), "topo-duplicate-attribute"},
		"not XML":            {"\x7fELF\x02\x01\x01", "topo-system"},
		"rest of an element": {edited(t, `<pci busid="0000:18:00.0" class="0x020700" vendor="0x15b3"`, ""), "topo-text"},
	} {
		t.Run(name, func(t *testing.T) {
			fixed, changes, err := Fix([]byte(c.text), nil)
			if string(fixed) != c.text {
				t.Errorf("changed: %+v\n%s", changes, fixed)
			}
			var left *LeftError
			if errors.As(err, &left) != (c.left != "") {
				t.Fatalf("error %v", err)
			}
			if c.left != "" && !slices.ContainsFunc(left.Findings, func(f fabric.Finding) bool { return f.ID == c.left }) {
				t.Errorf("left %v", left)
			}
		})
	}
}

// Some is fixed, some is left and said.
func TestFixPartly(t *testing.T) {
	text := strings.Replace(edited(t, "32.0 GT/s PCIe", "Gen5"), ` count="9"`, "", 1)
	fixed, changes, err := Fix([]byte(text), nil)
	var left *LeftError
	if len(changes) != 1 || !errors.As(err, &left) || len(left.Findings) != 1 || left.Findings[0].ID != "topo-missing-attribute" || !strings.Contains(err.Error(), "count") {
		t.Errorf("%v %v", changes, err)
	}
	if !strings.Contains(string(fixed), "32.0 GT/s PCIe") || strings.Contains(string(fixed), "Gen5") {
		t.Errorf("%s", fixed)
	}
}

// CPUs whose number is lost are numbered in the order of the file, around those that have one.
func TestFixNumbersCPUs(t *testing.T) {
	text := strings.Replace(soundXML, ` numaid="1"`, "", 1)
	fixed, changes, err := Fix([]byte(text), nil)
	if err != nil || len(changes) != 1 || !strings.Contains(changes[0].Why, "numactl") || changes[0].Line != 17 {
		t.Fatalf("%v %v", changes, err)
	}
	if want := `<cpu numaid="1" affinity="ffff0000"`; !strings.Contains(string(fixed), want) {
		t.Errorf("no %s", want)
	}
}

// No device comes out that did not go in.
func TestFixInventsNoDevice(t *testing.T) {
	files, err := filepath.Glob("testdata/xml/*/*.xml")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, name := range append(files, "testdata/xml/vcf-appendix-i.xml") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		fixed, _, _ := Fix(text, nil)
		for _, mark := range []string{"busid=", "sm=", "maxconn=", "target="} {
			if before, after := bytes.Count(text, []byte(mark)), bytes.Count(fixed, []byte(mark)); before != after {
				t.Errorf("%s: %d %s before, %d after", name, before, mark, after)
			}
		}
	}
}

func FuzzFix(f *testing.F) {
	f.Add([]byte(soundXML))
	for _, c := range ruleCases() {
		f.Add([]byte(c.text(f)))
	}
	if text, err := os.ReadFile("testdata/xml/vcf-appendix-i.xml"); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		fixed, changes, err := Fix(text, nil)
		again, _, _ := Fix(fixed, nil)
		if !bytes.Equal(again, fixed) {
			t.Fatalf("fixed\n%q\nfixed again\n%q", fixed, again)
		}
		if !slices.ContainsFunc(changes, func(c Change) bool { return !c.Left }) && !bytes.Equal(fixed, text) {
			t.Fatalf("silently changed to %q", fixed)
		}
		if _, refused := ncclxml.Parse(fixed); refused != nil && err == nil {
			t.Fatalf("no error, but NCCL refuses %q: %v", fixed, refused)
		}
		if _, refused := ncclxml.Parse(text); refused == nil {
			if _, refused := ncclxml.Parse(fixed); refused != nil {
				t.Fatalf("NCCL took it before: %v", refused)
			}
		}
	})
}
