package report

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// swappedCables are findings on two cables of which each is where the other one is planned.
func swappedCables(node string) []fabric.Finding {
	var all []fabric.Finding
	for i, seen := range []string{"leaf1:Ethernet36", "leaf1:Ethernet32"} {
		all = append(all, fabric.Finding{
			ID: "cabling", Title: "Each cable is connected as planned", Status: fabric.Fail, Cause: fabric.CauseMiscabled,
			Subject: fabric.NICSubject(node, fmt.Sprintf("eth%d", i+1)), Evidence: []fabric.Evidence{{Source: "LLDP", Value: seen}},
			Expected: []string{"leaf1:Ethernet32", "leaf1:Ethernet36"}[i],
		})
	}
	return all
}

func wrongMTU() fabric.Finding {
	return fabric.Finding{
		ID: "mtu", Status: fabric.Fail, Cause: fabric.CauseMTUMismatch, Subject: fabric.NICSubject("host1", "eth3"),
		Evidence: []fabric.Evidence{{Source: "ip link", Value: "mtu 1500"}}, Expected: "9000 bytes",
	}
}

// The answer of a check names what is wrong where, in one line that fits.
func TestCheckAnswer(t *testing.T) {
	passing := fabric.Finding{ID: "mtu", Status: fabric.Pass, Subject: fabric.NodeSubject("host1")}
	unknown := func(rule, node string) fabric.Finding {
		return fabric.Finding{ID: rule, Status: fabric.Unknown, Subject: fabric.NodeSubject(node), Why: "not read"}
	}
	var many []fabric.Finding
	for i := range 30 {
		many = append(many, fabric.Finding{ID: fmt.Sprintf("rule-%d", i), Status: fabric.Fail, Subject: fabric.NodeSubject(fmt.Sprintf("host%d", i+1))})
	}
	third := swappedCables("host2")
	third[1].Evidence[0].Value = "leaf1:Ethernet40"
	waived := wrongMTU()
	waived.Waived = true
	for _, c := range []struct {
		name string
		lab  string
		of   []fabric.Finding
		want string
	}{
		{"two faults", "", append(swappedCables("host2"), wrongMTU()), "FAIL: host2:eth[1-2] swapped; host1:eth3 mtu 1500"},
		{"a cable at a third port", "", third, "FAIL: host2:eth[1-2] miscabled"},
		{"a fault and unknown ones", "", []fabric.Finding{unknown("fec", "host1"), wrongMTU()}, "FAIL: host1:eth3 mtu 1500"},
		{"more than fit", "", many, "FAIL: host1 rule-0; host2 rule-1; host3 rule-2; host4 rule-3; and 26 more"},
		{"unknown", "", []fabric.Finding{passing, unknown("fec", "host1"), unknown("acs", "host1"), unknown("fec", "host2")}, "UNKNOWN: not evaluated: host[1-2] fec; host1 acs"},
		{"nothing", "", nil, "UNKNOWN: no rule gave a verdict"},
		{"all passed", "", []fabric.Finding{passing, passing}, "PASS: 2 checks passed"},
		{"passed in a lab", LabWithoutHardware, []fabric.Finding{passing}, "PASS: 1 check passed, in a lab without hardware"},
		{"waived", "", []fabric.Finding{passing, waived}, "PASS: 1 check passed, 1 waived"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := NewGroups(TextOptions{Width: 80})
			g.Lab = c.lab
			var s fabric.Summary
			for _, f := range c.of {
				g.Add(f)
				if f.Waived {
					s.Waived++
					continue
				}
				s.Count(f.Status)
			}
			var b strings.Builder
			if err := g.Text(&b, s); err != nil {
				t.Fatal(err)
			}
			checkEnds(t, b.String(), c.want)
		})
	}
}

// checkEnds fails unless a text begins and ends with a line that fits 80 columns.
func checkEnds(t *testing.T, text, want string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if first, last := lines[0], lines[len(lines)-1]; first != want || last != want {
		t.Errorf("first %q, last %q, want %q", first, last, want)
	}
	if utf8.RuneCountInString(want) > 80 {
		t.Errorf("%q does not fit 80 columns", want)
	}
}

// The answer of a run: what failed; else what stopped it or was not checked; else what passed, and that it was a lab.
func TestRunAnswer(t *testing.T) {
	edit := func(r Run, change func(*Run)) Run { change(&r); return r }
	for _, c := range []struct {
		name string
		run  Run
		want string
	}{
		{"failed", failingRun(2), "FAIL: host1:eth3 MTU 1500; host2:eth5 link-down; host2:eth[1-8] route-missing"},
		{"passed in a lab", edit(passingRun(2), func(r *Run) { r.Lab = LabWithoutHardware }), "PASS: 48 checks and 128 pairs of NICs passed, in a lab without hardware"},
		{"stopped", edit(passingRun(2), func(r *Run) {
			r.Findings, r.Mesh, r.Steps[3].Status, r.Steps[3].Note = nil, nil, fabric.Fail, "permission denied"
		}), "UNKNOWN: step apply: permission denied; no rule was evaluated; and 1 more"},
		{"findings that were cut", edit(passingRun(2), func(r *Run) { r.Findings = &fabric.Findings{Summary: fabric.Summary{Fail: 2}} }), "FAIL: no details were recorded"},
		{"absent node", edit(passingRun(2), func(r *Run) { r.Mesh.Absent = []fabric.Missing{{What: "host3"}} }), "UNKNOWN: no mesh from host3"},
		{"not configured", edit(passingRun(2), func(r *Run) { r.Applied[1].Status = fabric.Unknown }), "UNKNOWN: host2 not configured"},
		{"pairs without a cause", edit(passingRun(2), func(r *Run) {
			r.Mesh = sampleMesh(r.Plan, func(m *fabric.Measurement) { m.Full.Answered = m.To.NIC != "eth1" })
		}), "FAIL: 16 of 128 pairs failed"},
		{"a cause of the mesh alone", edit(passingRun(2), func(r *Run) {
			r.Mesh = sampleMesh(r.Plan, func(m *fabric.Measurement) { m.Full.Answered = m.To.NIC != "eth1" })
			r.Causes = &fabric.Causes{Causes: []fabric.Cause{{ID: fabric.CauseFirewall, Subject: fabric.NodeSubject("host2")}}}
		}), "FAIL: host2 firewall"},
	} {
		t.Run(c.name, func(t *testing.T) { checkEnds(t, runText(t, c.run, TextOptions{Width: 80}), c.want) })
	}
}

// Every answer fits its line, whatever the terminal, and an unknown run never has an empty answer.
func TestAnswerFits(t *testing.T) {
	for _, width := range []int{40, 60, 80, 200} {
		for name, r := range map[string]Run{"pass": passingRun(2), "fail": failingRun(4), "unknown": unknownRun(4), "empty": {}} {
			t.Run(fmt.Sprintf("%s at %d", name, width), func(t *testing.T) {
				first, _, _ := strings.Cut(runText(t, r, TextOptions{Width: width}), "\n")
				if n := utf8.RuneCountInString(first); n > width || strings.HasSuffix(first, ": ") {
					t.Errorf("%d columns: %q", n, first)
				}
			})
		}
	}
}

// What does not apply and what was not read is a line each; with Verbose it is all there.
func TestFolded(t *testing.T) {
	r := passingRun(2)
	r.Missing = map[string][]fabric.Missing{
		"host1": {{What: "pci.acs", Source: "sysfs", Reason: "not root"}, {What: "modules", Source: "/proc/modules", Reason: "not root"}},
		"host2": {{What: "pci.acs", Source: "sysfs", Reason: "not root"}},
		"host3": {{What: Everything, Source: "ssh", Reason: "refused"}},
	}
	text := runText(t, r, TextOptions{Width: 80})
	for _, want := range []string{"\nNot applicable: 1 rule; -v", "\nNot read: 3 facts of host[1-2]; -v", "\nUNKNOWN  host3  Facts that were not read\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "UNKNOWN"); n != 1 {
		t.Errorf("%d things are unknown, one is:\n%s", n, text)
	}
	verbose := runText(t, r, TextOptions{Width: 80, Verbose: true})
	for _, want := range []string{"\nN/A  ", "\nNOT READ  host[1-2]  Facts that were not read\n", "a lab host has no PCIe devices of its own"} {
		if !strings.Contains(verbose, want) {
			t.Errorf("with Verbose the text lacks %q:\n%s", want, verbose)
		}
	}
}

// Yellow is unknown and nothing else: not what is waived, a warning that failed, what does not apply, or was refused.
func TestYellowIsUnknown(t *testing.T) {
	r := failingRun(2)
	r.Findings.Findings = append(r.Findings.Findings, fabric.Finding{ID: "x", Title: "X", Status: fabric.Fail, Waived: true, Subject: fabric.NodeSubject("host1")})
	text := runText(t, r, TextOptions{Width: 80, Color: true, Verbose: true}) + findingsText(t, r.Findings, TextOptions{Color: true}) +
		sizingText(t, maverickSizing(), TextOptions{Color: true}) + findingsText(t, unknownRun(2).Findings, TextOptions{Color: true})
	for i, part := range strings.Split(text, yellow) {
		if i > 0 && !strings.HasPrefix(part, "UNKNOWN") {
			t.Errorf("yellow is %.20q", part)
		}
	}
	if !strings.Contains(text, yellow+"UNKNOWN") || !strings.Contains(text, "WAIVED") || !strings.Contains(text, "FAIL warning") || !strings.Contains(text, "REFUSED") {
		t.Error("the test has not seen every status")
	}
	html := page(t, r)
	if strings.Contains(html, `block unknown">
    <header><span class="tag">waived`) || !strings.Contains(html, `<span class="tag">waived`) {
		t.Error("on the page what is waived looks unknown")
	}
}

// The pictures come first, the page of a lab says that it was one, and tables scroll.
func TestPageOrder(t *testing.T) {
	r := failingRun(2)
	r.Lab = LabWithoutHardware
	html := page(t, r)
	at := -1
	for _, part := range []string{"a lab of network namespaces, without hardware", `<p class="sentence">host1:eth3 MTU 1500; `, "<h2>Cabling</h2>", "<h2>Mesh</h2>", "What failed</h2>", "What was not checked</h2>"} {
		i := strings.Index(html, part)
		if i <= at {
			t.Errorf("%q stands at %d, after %d", part, i, at)
		}
		at = i
	}
	for name, text := range map[string]string{"run": html, "explain": explanationPage(t, sickResult(), unknownResult()), "predict": predictionPage(t, samplePrediction()), "size": sizingOutput(t, SizingHTML, r1Sizing())} {
		if all, in := strings.Count(text, "<table"), strings.Count(text, `<div class="scroll"><table`); all == 0 || in != all {
			t.Errorf("%s: %d of %d tables scroll", name, in, all)
		}
	}
	if css, err := pageFiles.ReadFile("page.css"); err != nil || strings.Contains(string(css), "td { vertical-align: top; border-bottom: 1px solid var(--line); padding: 7px 16px 7px 0; overflow-wrap") {
		t.Errorf("cells of tables break words (%v)", err)
	}
}

// Facts of a lab host say whether they are of recorded hardware; those of a machine are of no lab.
func TestLabOf(t *testing.T) {
	for _, c := range []struct {
		name string
		of   fabric.Facts
		want string
	}{
		{"a machine", fabric.Facts{}, ""},
		{"a lab host", fabric.Facts{Platform: "lab"}, LabWithoutHardware},
		{"with a recording", fabric.Facts{Platform: "lab", Hardware: "recorded"}, LabRecorded},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := LabOf(&c.of); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
