package ncclxml

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// refusals are texts that NCCL's own parser (2.30, compiled alone) refuses, with the line at which it stops
// and its message.
func refusals() map[string]struct {
	text    string
	line    int
	message string
} {
	type refusal = struct {
		text    string
		line    int
		message string
	}
	long := strings.Repeat("x", 254)
	return map[string]refusal{
		"declaration":            {"<?xml version=\"1.0\"?>\n<system version=\"1\"/>", 1, "XML Parse : expected >, got '?'"},
		"text":                   {"topo.xml\n<system version=\"1\"/>", 1, "XML Parse error : expecting '<', got 't'"},
		"tab":                    {"<system version=\"1\">\n\t<cpu/>\n</system>", 2, "XML Parse error : expecting '<', got '\t'"},
		"newline in tag":         {"<system\nversion=\"1\"/>", 1, "XML Parse : expected >, got '\n'"},
		"tab in tag":             {"<system version=\"1\"\tname=\"x\"/>", 1, "XML Parse : expected >, got '\t'"},
		"unquoted":               {"<system version=1/>", 1, "XML Parse : Expected (double) quote."},
		"blank behind =":         {`<system version= "1"/>`, 1, "XML Parse : Expected (double) quote."},
		"junk in tag":            {"<system version=\"1\"</pre>\n>", 1, "XML Parse : expected >, got '<'"},
		"no version":             {"<system>\n</system>", 1, "Attribute version of node system not found"},
		"version 2":              {"\n<system version=\"2\"/>", 2, "XML Topology has wrong version 2, 1 needed"},
		"version empty":          {`<system version=""/>`, 1, "XML Topology has wrong version 0, 1 needed"},
		"version octal":          {`<system version="010"/>`, 1, "XML Topology has wrong version 8, 1 needed"},
		"mismatch":               {"<system version=\"1\">\n<cpu>\n</apu>\n</system>", 3, "XML Mismatch : cpu / apu"},
		"net without nic":        {"<system version=\"1\"><cpu><pci>\n<net/>\n</nic></pci></cpu></system>", 3, "XML Mismatch : pci / nic"},
		"unterminated":           {"<system version=\"1\">\n<cpu>\n", 2, "XML Parse : unterminated cpu"},
		"unterminated, ignored":  {`<system version="1"><foo>`, 1, "XML Parse : unterminated "},
		"end in a tag":           {`<system version="1"><cpu numaid="0`, 1, "XML Parse : Unexpected EOF"},
		"comment without end":    {"<!-- a\n<system version=\"1\"/>", 2, "XML Parse error : unterminated comment"},
		"comment of nothing":     {`<!-->`, 1, "XML Parse error : unterminated comment"},
		"comment with =":         {`<!--a="b"--><system version="1"/>`, 1, "XML Parse : Unexpected value with name !--a"},
		"blank in closing tag":   {`<system version="1"></system >`, 1, "XML Parse error : unexpected trailing   in closing tag system"},
		"blank in single tag":    {`<system version="1"/ >`, 1, "XML Parse : expected >, got ' '"},
		"no name":                {`<=1>`, 1, "XML Parse : Unexpected value with name "},
		"end of nothing":         {`</system>`, 1, "Attribute version of node system not found"},
		"long value":             {`<system version="1" name="` + long + `"/>`, 1, "Error : value " + long + " too long (max 255)"},
		"long name":              {"<" + long + ">", 1, "Error : name " + long + " too long (max 255)"},
		"256 elements":           {`<system version="1">` + strings.Repeat("<cpu/>", 100) + "<cpu>" + strings.Repeat("<pci/>", 100) + "</cpu><cpu>" + strings.Repeat("<pci/>", 53) + "\n</cpu></system>", 1, "Error : XML parser is limited to 256 nodes"},
		"129 children":           {`<system version="1"><cpu>` + strings.Repeat("<pci/>\n", 128) + "<pci/></cpu></system>", 129, "Error : XML parser is limited to 128 subnodes"},
		"byte order mark":        {"\xef\xbb\xbf<system version=\"1\"/>", 1, "XML Parse error : expecting '<', got '\xef'"},
		"UTF-16":                 {"\xff\xfe<\x00", 1, "XML Parse error : expecting '<', got '\xff'"},
		"NUL":                    {"\x00", 1, "XML Parse error : expecting '<', got '\x00'"},
		"entities of a bomb":     {"<!DOCTYPE a [\n<!ENTITY b \"&c;&c;\">\n]>\n<system version=\"1\">&b;</system>", 1, "XML Parse : expected >, got '\n'"},
		"graph file in topology": {`<system version="1"><graphs version="1"></system>`, 1, "XML Parse : unterminated system"},
	}
}

func TestParseRefusesAsNCCL(t *testing.T) {
	for name, c := range refusals() {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.text))
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Message != c.message || syntax.Line != c.line {
				t.Fatalf("got %#v\nwant line %d: %s", err, c.line, c.message)
			}
		})
	}
}

// Texts that NCCL's own parser takes, with the elements that it keeps and how many things it ignores.
func TestParseTakesAsNCCL(t *testing.T) {
	for name, c := range map[string]struct {
		text, kept string
		notes      int
	}{
		"empty":                {"", "", 0},
		"comment only":         {"<!-- x -->\n", "", 0},
		"short comments":       {`<!----><!--->--><system version="1"/>`, "system", 0},
		"CRLF":                 {"<system version=\"1\">\r\n  <cpu/>\r\n</system>\r\n", "system cpu", 0},
		"253 bytes":            {`<system version="1" name="` + strings.Repeat("x", 253) + `"/>`, "system", 0},
		"255 elements":         {`<system version="1">` + strings.Repeat("<cpu/>", 127) + `<cpu>` + strings.Repeat("<pci/>", 126) + `</cpu></system>`, "system" + strings.Repeat(" cpu", 128) + strings.Repeat(" pci", 126), 0},
		"128 children":         {`<system version="1">` + strings.Repeat("<cpu/><foo/>", 128) + `</system>`, "system" + strings.Repeat(" cpu", 128), 128},
		"version with junk":    {`<system version="1x"/>`, "system", 0},
		"unknown element":      {`<system version="1"><foo><cpu/></foo><cpu/></system>`, "system cpu", 1},
		"any end of unknown":   {`<system version="1"><foo><a></b></c><cpu/></system>`, "system cpu", 1},
		"deep unknown":         {`<system version="1"><foo>` + strings.Repeat("<a>", 100000) + strings.Repeat("</b>", 100000) + `</foo></system>`, "system", 1},
		"net outside of nic":   {`<system version="1"><cpu><pci><net/></pci></cpu></system>`, "system cpu pci", 1},
		"end opens outside":    {`</foo></bar><system version="1"/>`, "system", 1},
		"second blank":         {`<system  version="1" />`, "system", 2},
		"blank before =":       {`<system version="1"><cpu numaid ="0"/></system>`, "system cpu", 1},
		"17 attributes":        {`<system version="1"` + strings.Repeat(` a="b"`, 16) + `/>`, "system", 1},
		"single quotes":        {`<system version='1'/>`, "system", 1},
		"junk behind /":        {`<system version="1"/foo>`, "system", 0},
		"graph file":           {`<graphs version="1"><graph id="0"/></graphs>`, "", 1},
		"RCCL":                 {`<system version="2"><cpu><pci><gpu gcn="gfx942"><xgmi/></gpu></pci></cpu></system>`, "system cpu pci gpu xgmi", 0},
		"two systems":          {`<system version="1"/><system version="1"/>`, "system system", 0},
		"> and newline quoted": {"<system version=\"1\" name=\"a>\nb\"/>", "system", 0},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := Parse([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			for _, e := range d.InOrder() {
				kept = append(kept, e.Name)
			}
			if got := strings.Join(kept, " "); got != c.kept || len(d.Notes) != c.notes {
				t.Errorf("kept %q, want %q; notes %v, want %d", got, c.kept, d.Notes, c.notes)
			}
		})
	}
}

func TestParseKeepsAttributesAndLines(t *testing.T) {
	d, err := Parse([]byte("<system version=\"1\">\n  <cpu numaid=\"0\" x  a=\"1>2\" a=\"3\"/>\n</system>"))
	if err != nil {
		t.Fatal(err)
	}
	cpu := d.Roots[0].Children[0]
	if cpu.Line != 2 || cpu.Parent != d.Roots[0] || cpu.Unnamed != 1 {
		t.Errorf("line %d, unnamed %d, parent %v", cpu.Line, cpu.Unnamed, cpu.Parent)
	}
	if a, _ := cpu.Get("a"); a != "1>2" {
		t.Errorf("a is %q: NCCL reads the first", a)
	}
	if x, ok := cpu.Get("x"); !ok || x != "" {
		t.Errorf("x is %q, %v: a name alone is an attribute without value", x, ok)
	}
}

// Texts of 100 MB are read in seconds and in no more memory than their notes and 255 elements take.
func TestParseIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("100 MB a text")
	}
	fillTo := func(size int, head, body, tail string) []byte {
		return []byte(head + strings.Repeat(body, size/len(body)) + tail)
	}
	fill := func(head, body, tail string) []byte { return fillTo(100<<20, head, body, tail) }
	for name, c := range map[string]struct {
		text    []byte
		refused bool
	}{
		"comment":      {fill("<!-- ", "x", " --><system version=\"1\"/>"), false},
		"depth":        {fillTo(8<<20, `<system version="1">`, "<a>", ""), true},
		"ignored":      {fillTo(8<<20, `<system version="1">`, "<a/>", "</system>"), false},
		"blanks":       {fillTo(8<<20, `<system version="1"`, " ", "/>"), false},
		"devices":      {fill(`<system version="1"><cpu>`, `<pci busid="0000:00:00.0"/>`, "</cpu></system>"), true},
		"unterminated": {fill(`<system version="1" name="`, "x", ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			d, err := Parse(c.text)
			if (err != nil) != c.refused {
				t.Fatalf("error %v", err)
			}
			if d != nil && (len(d.Notes) > NoteLimit || len(d.InOrder()) > ElementLimit) {
				t.Errorf("%d notes, %d elements", len(d.Notes), len(d.InOrder()))
			}
			if took := time.Since(began); took > 20*time.Second {
				t.Errorf("took %v", took)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range refusals() {
		f.Add([]byte(c.text))
	}
	if text, err := os.ReadFile("testdata/host.xml"); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := Parse(text)
		if err != nil {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || syntax.Line < 1 || syntax.Line > 1+bytes.Count(text, []byte("\n")) || syntax.Message == "" || syntax.Kind == KindNone {
				t.Fatalf("%#v", err)
			}
			return
		}
		// What NCCL refuses whatever else is in a text: see xmlGetNode and xmlLoadSub.
		if first := bytes.TrimLeft(text, " \r\n"); len(first) > 0 && first[0] != '<' {
			t.Fatalf("taken although it does not begin with <: %q", first[:1])
		}
		if opens := bytes.Count(text, []byte("<")); len(d.InOrder()) > opens {
			t.Fatalf("%d elements of %d tags", len(d.InOrder()), opens)
		}
		var written bytes.Buffer
		if _, err := d.WriteTo(&written); err != nil {
			return // several roots, or text that the writer is too strict for
		}
		again, err := Parse(written.Bytes())
		if err != nil || len(again.InOrder()) != len(d.InOrder()) {
			t.Fatalf("written and read again: %v\n%s", err, written.Bytes())
		}
	})
}
