package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if css, err := pageFiles.ReadFile("page.css"); err != nil {
		t.Fatal(err)
	} else if strings.HasSuffix(name, ".html") { // the style is in page.css, once
		got = bytes.Replace(got, css, []byte("/* page.css */\n"), 1)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", path, diff)
	}
}

func page(t *testing.T, r Run) string {
	t.Helper()
	var b bytes.Buffer
	if err := HTML(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func runText(t *testing.T, r Run, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := RunText(&b, r, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func findingsText(t *testing.T, f *fabric.Findings, o TextOptions) string {
	t.Helper()
	g := NewGroups(o)
	var s fabric.Summary
	if f != nil {
		s = f.Summary
		for _, one := range f.Findings {
			g.Add(one)
		}
	}
	var b bytes.Buffer
	if err := g.Text(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestGolden(t *testing.T) {
	for name, r := range map[string]Run{"pass": passingRun(2), "fail": failingRun(2), "unknown": unknownRun(2), "empty": {}} {
		t.Run(name, func(t *testing.T) {
			golden(t, name+".html", []byte(page(t, r)))
			golden(t, name+".run.txt", []byte(runText(t, r, TextOptions{Width: 80})))
			golden(t, name+".txt", []byte(findingsText(t, r.Findings, TextOptions{Width: 100})))
		})
	}
	golden(t, "fail.verbose.txt", []byte(findingsText(t, failingRun(2).Findings, TextOptions{Width: 120, Color: true, Verbose: true})))
}

func TestVerdict(t *testing.T) {
	cut := func(edit func(*Run)) Run { r := passingRun(2); edit(&r); return r }
	for name, c := range map[string]struct {
		run  Run
		want fabric.Status
	}{
		"everything passed":     {passingRun(2), fabric.Pass},
		"nothing at all":        {Run{}, fabric.Unknown},
		"no findings":           {cut(func(r *Run) { r.Findings = nil }), fabric.Unknown},
		"findings without any":  {cut(func(r *Run) { r.Findings = &fabric.Findings{} }), fabric.Unknown},
		"no mesh":               {cut(func(r *Run) { r.Mesh = nil }), fabric.Unknown},
		"a mesh without a pair": {cut(func(r *Run) { r.Mesh = &fabric.Mesh{} }), fabric.Unknown},
		"absent node":           {cut(func(r *Run) { r.Mesh.Absent = []fabric.Missing{{What: "host3"}} }), fabric.Unknown},
		"a step failed":         {cut(func(r *Run) { r.Steps[2].Status = fabric.Fail }), fabric.Unknown},
		"a step never ran":      {cut(func(r *Run) { r.Steps = append(r.Steps, Step{Name: "bench"}) }), fabric.Unknown},
		"a step not needed":     {cut(func(r *Run) { r.Steps[2].Status = fabric.NotApplicable }), fabric.Pass},
		"a host not configured": {cut(func(r *Run) { r.Applied[0].Status = fabric.Unknown }), fabric.Unknown},
		"unknown pairs":         {unknownRun(2), fabric.Unknown},
		"failed":                {failingRun(2), fabric.Fail},
		"failed, without mesh":  {func() Run { r := failingRun(2); r.Mesh = nil; return r }(), fabric.Fail},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.run.Status(); got != c.want {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
			html := page(t, c.run)
			for _, s := range []string{"pass", "fail", "unknown"} {
				if is := strings.Contains(html, `<section class="banner `+s+`"`); is != (s == c.want.String()) {
					t.Errorf("%s: the banner of the page shows %q: %v", name, s, is)
				}
			}
			last := runText(t, c.run, TextOptions{})
			last = last[strings.LastIndex(strings.TrimRight(last, "\n"), "\n")+1:]
			if !strings.HasPrefix(last, strings.ToUpper(c.want.String())+": ") {
				t.Errorf("%s: the last line is %q", name, last)
			}
		})
	}
}

// What was not checked must show as such wherever a reader looks, and as no pass.
func TestNothingLookedAt(t *testing.T) {
	if hollow := page(t, Run{Findings: &fabric.Findings{}, Mesh: &fabric.Mesh{}}); strings.Contains(hollow, "<b>0</b>") {
		t.Error("findings and a mesh with nothing in them are shown as zero failures")
	}
	html := page(t, Run{})
	for _, want := range []string{"no rule was evaluated", "no pair of NICs was measured", "Causes were not searched for", "Mesh: not measured",
		"Cabling: not available", "did not apply any", "did not render any", "steps of this run were not recorded", "there is no plan"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, bad := range []string{`banner pass`, "No rule failed", `<b>0</b>`} {
		if strings.Contains(html, bad) {
			t.Errorf("the page of nothing contains %q", bad)
		}
	}
	text := runText(t, Run{}, TextOptions{}) + findingsText(t, nil, TextOptions{}) + findingsText(t, &fabric.Findings{}, TextOptions{})
	if n := strings.Count(text, "exit status 2: "); n != 3 || strings.Count(text, "UNKNOWN: ") != 6 {
		t.Errorf("%d of 3 texts end as unknown:\n%s", n, text)
	}
}

// A name from a machine must never become markup, nor write on the terminal.
func TestEscaping(t *testing.T) {
	evil := `eth</title><script>alert("1")</script><!--'` + "\x1b[2J\x00"
	r := failingRun(2)
	swap := func(s *string) {
		if *s == "eth3" {
			*s = evil
		}
	}
	swap(&r.Plan.Nodes[0].NICs[2])
	swap(&r.Plan.Cabling.Links[2].A.NIC)
	for i := range r.Mesh.Pairs {
		swap(&r.Mesh.Pairs[i].From.NIC)
		swap(&r.Mesh.Pairs[i].To.NIC)
	}
	for i := range r.Findings.Findings {
		f := &r.Findings.Findings[i]
		swap(&f.Subject.NIC)
		f.Title, f.Why, f.Cost, f.Expected = f.Title+evil, f.Why+evil, f.Cost+evil, f.Expected+evil
		f.Fix += evil
		f.Evidence = append(f.Evidence, fabric.Evidence{Source: evil, Value: evil})
	}
	r.ID, r.Command, r.Version, r.Plan.Name = evil, evil, evil, evil
	r.Plan.Notes, r.Steps[0].Note, r.Applied[0].Reason = []string{evil}, evil, evil
	r.Artifacts.Artifacts[0].Path = evil
	r.Missing[evil] = []fabric.Missing{{What: evil, Source: evil, Reason: evil}}
	r.Causes.Causes[0].Fix, r.Causes.Causes[0].Subject.NIC = evil, evil
	html := page(t, r)
	if strings.Contains(html, "<script") || strings.Contains(html, "<!--") || strings.Contains(html, "eth</title") {
		t.Error("a name became markup on the page")
	}
	if !strings.Contains(html, "&lt;script&gt;") {
		t.Error("the name is not on the page at all")
	}
	for _, o := range []TextOptions{{}, {Verbose: true}} {
		if text := runText(t, r, o); strings.ContainsAny(text, "\x1b\x00") {
			t.Error("a name wrote a control character on the terminal")
		}
	}
}

// The page is one file: nothing in it makes a browser fetch or run anything.
func TestSelfContained(t *testing.T) {
	html := page(t, failingRun(2))
	outside := regexp.MustCompile(`(?i)<script|<link|<img|<iframe|@import|\ssrc=|\shref=|url\([^#]`)
	if m := outside.FindString(html); m != "" {
		t.Errorf("the page contains %q", m)
	}
	for _, svg := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(html, -1) {
		d := xml.NewDecoder(strings.NewReader(svg))
		for {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("a picture is not well-formed: %v", err)
			}
		}
	}
}

func TestSizeBound(t *testing.T) {
	p := samplePlan(1000)
	r := passingRun(2)
	r.Plan, r.Artifacts = p, sampleIndex(p)
	r.Findings = sampleFindings(p, func(f *fabric.Finding) { // every NIC fails one rule, each with its own text
		if f.ID == "mtu" {
			f.Status, f.Title = fabric.Fail, "The MTU of "+f.Subject.String()+" is not the planned one"
			f.Evidence = []fabric.Evidence{{Source: "netlink link dump of " + f.Subject.Node, Value: "MTU 1500"}}
			f.Fix = "ip link set dev " + f.Subject.NIC + " mtu 9000"
		}
	})
	r.Mesh = sampleMesh(samplePlan(64), nil)
	r.Applied, r.Missing = nil, map[string][]fabric.Missing{}
	for _, n := range p.Nodes {
		r.Applied = append(r.Applied, Applied{Node: n.Name, How: "netlink", Reason: "no systemd", Status: fabric.Pass})
		r.Missing[n.Name] = []fabric.Missing{{What: "pci.acs", Source: "sysfs", Reason: "reason of " + n.Name}}
	}
	html := page(t, r)
	if len(html) > 5<<20 { // bytes: the bound that HTML documents
		t.Errorf("the page of 1,000 hosts has %d bytes", len(html))
	}
	if !strings.Contains(html, "7900 more groups of findings") || !strings.Contains(html, "3000 files, too many to list individually") {
		t.Error("the page does not say how much it left out")
	}
	if text := runText(t, r, TextOptions{Width: 100}); strings.Count(text, "\n") > 500 { // lines: some ten screens
		t.Errorf("the text of 1,000 hosts has %d lines", strings.Count(text, "\n"))
	}
}

func TestGrouping(t *testing.T) {
	p := samplePlan(16384)
	f := sampleFindings(p, func(f *fabric.Finding) {
		if f.ID == "mtu" && (f.Subject.Node != "host7" || f.Subject.NIC == "eth2") {
			f.Status = fabric.Fail
			f.Evidence = []fabric.Evidence{{Source: "netlink", Value: "MTU 1500"}}
			f.Fix = "ip link set dev " + f.Subject.NIC + " mtu 9000"
		}
	})
	text := findingsText(t, f, TextOptions{Width: 100})
	if n := strings.Count(text, "\n"); n > 30 {
		t.Errorf("one fault of 16,384 hosts takes %d lines", n)
	}
	for _, want := range []string{"host[1-6,8-16384]:eth[1-8], host7:eth2  MTU of the NIC", "MTU 1500 (netlink)", "# and more similar", "131065 failed"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
}

// An error comes before a warning, and what failed before what is unknown.
func TestWorstFirst(t *testing.T) {
	finding := func(title string, status fabric.Status, severity fabric.Severity) fabric.Finding {
		return fabric.Finding{ID: title, Title: title, Status: status, Severity: severity, Subject: fabric.NodeSubject("host1")}
	}
	f := &fabric.Findings{Findings: []fabric.Finding{
		finding("third", fabric.Unknown, fabric.SeverityError), finding("second", fabric.Fail, fabric.SeverityWarning), finding("first", fabric.Fail, fabric.SeverityError),
		finding("fourth", fabric.Status(9), fabric.SeverityError), // outside the closed set: unknown
	}}
	for _, x := range f.Findings {
		f.Summary.Count(x.Status)
	}
	text := findingsText(t, f, TextOptions{Verbose: true})
	at := -1
	for _, title := range []string{"first", "second", "third", "fourth"} {
		i := strings.Index(text, "host1  "+title)
		if i <= at {
			t.Errorf("%q stands at %d, after the one before at %d:\n%s", title, i, at, text)
		}
		at = i
	}
}

func TestWaived(t *testing.T) {
	r := passingRun(2)
	r.Findings.Summary.Waived = 3
	if html := page(t, r); !strings.Contains(html, ", 3 more waived") {
		t.Error("the page does not count what was waived")
	}
	if text := findingsText(t, r.Findings, TextOptions{}); !strings.Contains(text, "3 waived") {
		t.Error("the text does not count what was waived")
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"one two three", 7, []string{"one two", "three"}},
		{"one two three", 80, []string{"one two three"}},
		{"averylongword x", 4, []string{"averylongword", "x"}},
		{"", 10, []string{""}},
		{"a  b", 10, []string{"a  b"}},
	} {
		t.Run(fmt.Sprintf("%q at %d", c.text, c.width), func(t *testing.T) {
			if diff := cmp.Diff(c.want, wrap(c.text, c.width)); diff != "" {
				t.Errorf("%q at %d (-want +got):\n%s", c.text, c.width, diff)
			}
		})
	}
}

func TestJSON(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, map[string]any{"b": fabric.Fail, "a": "x<y"}); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"a\": \"x<y\",\n  \"b\": \"fail\"\n}\n"; b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	if err := JSON(&b, func() {}); err == nil || b.Len() > 0 {
		t.Errorf("a function gave error %v and %d bytes", err, b.Len())
	}
}

func TestSeconds(t *testing.T) {
	for _, c := range []struct {
		name string
		s    float64
		want string
	}{
		{"none", 0, "less than 0.001 s"}, {"half a microsecond", 5.03e-07, "less than 0.001 s"}, {"milliseconds", 0.0123456, "0.0123 s"},
		{"below a second", 0.214, "0.214 s"}, {"seconds", 18.42, "18.4 s"}, {"thousands", 12345, "12345 s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := seconds(c.s); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// A mesh of which no pair was measured has no time.
func TestMeshThatDidNotRun(t *testing.T) {
	r := Run{Mesh: &fabric.Mesh{Seconds: 5.03e-07, Pairs: []fabric.Measurement{{}, {}}}}
	var b strings.Builder
	if err := RunText(&b, r, TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); !strings.Contains(text, "Mesh: 0 pairs passed, 0 failed, 2 unknown\n") {
		t.Error(text)
	}
	if note := r.meshNote(); note != "2 pairs, none measured." {
		t.Error(note)
	}
}
