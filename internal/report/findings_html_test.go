package report

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// checkPage is the page of these findings.
func checkPage(t *testing.T, f *fabric.Findings, of Checked) string {
	t.Helper()
	g := NewGroups(TextOptions{})
	for _, one := range f.Findings {
		g.Add(one)
	}
	var b bytes.Buffer
	if err := g.HTML(&b, f.Summary, of); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func sampleChecked(hosts int) Checked {
	p := samplePlan(hosts)
	of := Checked{Plan: p, Info: PageInfo{Written: time.Date(2025, 3, 10, 10, 15, 0, 0, time.UTC), Version: "v0.1.0", Command: "railwright check -f cluster.yaml --html check.html"}}
	for _, n := range p.Nodes {
		of.Nodes = append(of.Nodes, n.Name)
	}
	return of
}

// mixedFindings have each verdict, and a waived failure.
func mixedFindings(hosts int) *fabric.Findings {
	f := sampleFindings(samplePlan(hosts), func(f *fabric.Finding) {
		judgeFaults(f)
		if f.ID == "link-up" && f.Subject.NIC == "eth1" {
			f.Status, f.Why, f.Fix = fabric.Unknown, "the carrier of "+f.Subject.String()+" was not read: permission denied (netlink)", "sudo railwright check"
			f.Evidence = []fabric.Evidence{{Source: "netlink link dump", Value: "operstate up"}}
		}
	})
	for i := range f.Findings {
		if one := &f.Findings[i]; one.ID == "mtu" && one.Status == fabric.Fail {
			one.Waived, one.Why = true, "waived: storage network until June; "+one.Why
			f.Summary.Fail--
			f.Summary.Waived++
		}
	}
	return f
}

func TestCheckPage(t *testing.T) {
	golden(t, "check.html", []byte(checkPage(t, mixedFindings(2), sampleChecked(2))))
	html := checkPage(t, &fabric.Findings{}, Checked{})
	if strings.Contains(html, `banner pass`) || !strings.Contains(html, "No rule gave a verdict") || strings.Contains(html, "No rule failed") {
		t.Error("a page without findings reads as a pass")
	}
}

func TestCheckPageEscapes(t *testing.T) {
	evil := `<script>alert("1")</script>` + "\x1b[2J"
	f := mixedFindings(2)
	for i := range f.Findings {
		one := &f.Findings[i]
		one.Subject.NIC, one.Title, one.Why, one.Fix, one.Expected, one.Cost = evil, evil, evil, evil, evil, evil
		one.Evidence = []fabric.Evidence{{Source: evil, Value: evil}}
	}
	of := sampleChecked(2)
	of.Plan.Name, of.Nodes[0], of.Info.Command = evil, evil, evil
	of.Lost = []fabric.Missing{{What: evil, Source: evil, Reason: evil}}
	if html := checkPage(t, f, of); strings.Contains(html, "<script") || !strings.Contains(html, "&lt;script&gt;") {
		t.Error("a name became markup, or is not on the page")
	}
}

// The page of 16,384 nodes stays small however the findings fall, and says what it leaves out.
func TestCheckPageBound(t *testing.T) {
	f := sampleFindings(samplePlan(16384), func(f *fabric.Finding) {
		if f.ID == "mtu" { // each with its own text, as a group each
			f.Status, f.Title = fabric.Fail, "The MTU of "+f.Subject.String()+" is not the planned one"
			f.Evidence = []fabric.Evidence{{Source: "netlink link dump of " + f.Subject.Node, Value: "MTU 1500"}}
		}
		if f.ID == "link-up" {
			f.Status, f.Why = fabric.Unknown, "read error "+f.Subject.Node
		}
	})
	html := checkPage(t, f, sampleChecked(16384))
	if len(html) > 1<<20 { // bytes: the bound that Groups.HTML documents
		t.Errorf("the page has %d bytes", len(html))
	}
	for _, want := range []string{"130972 more groups of findings are not on this page", "host[1-16384]", "16384 nodes", "131,072"} {
		if !strings.Contains(html, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
