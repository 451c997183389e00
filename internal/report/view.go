package report

import (
	"fmt"
	"html/template"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// Bounds of the page: terms of a range, lines of a field, blocks of a section, rows of a table. They keep
// the page of any cluster under 5 MB; what is left out is counted in words.
const (
	pageTerms  = 8
	pageLines  = 4
	pageBlocks = 100
	pageRows   = 500
	pageAnswer = 240 // characters of the banner's sentence
)

// view is the data of the page's template.
type view struct {
	ESX              []esxRow
	ESXMore          int
	Classes          []classRow
	Frame            frame
	Cabling, MeshMap template.HTML
	Failed           []block
	FailedMore       int
	Nothing          string // shown instead of failures
	Caveats          []block
	CaveatsMore      int
	CaveatsKind      string // unknown where one of them is
	NotRead          []block
	NotReadFacts     int
	Pairs            []pairRow
	PairsMore        int
	Causes           []block
	CausesMore       int
	CausesNote       string
	MeshNote         string
	Applied          []appliedGroup
	Proofs           []proofRow
	ProofsMore       int
	Artifacts        []artifactRow
	ArtifactsNote    string
	Passed, Scoped   []ruleRow
	Steps            []stepRow
	Bench            []benchRow
	Pods             []block
	Next             []row
}

type pair struct{ Name, Value string }

// tile is a number of the banner.
type tile struct {
	Kind, Label string
	Count       string
}

// block is a finding, or a cause, in full.
type block struct {
	Kind, Word, Subject, Title string
	Rows                       []row
	Rule                       string
}

type row struct {
	Label    string
	Lines    []string
	Commands bool
}

func newView(r Run) view {
	s := r.Status()
	id, cluster := orElse(r.ID, "railwright run"), "not planned"
	if r.Plan != nil {
		cluster = r.Plan.Name
	}
	v := view{
		Frame: frame{
			Page: fmt.Sprintf("%s: %s (%s)", cluster, s, id), Label: "report of run", ID: id, Title: cluster, Facts: r.head(),
			Status: s.String(), Word: passWord(s), Sentence: r.answer().text(pageAnswer), Note: verdictText(r) + " " + exitNote(s), Tiles: r.tiles(),
		},
		Applied: r.appliedGroups(),
		Pods:    r.podBlocks(),
		Next:    r.nextRows(),
	}
	v.ESX, v.ESXMore = r.esxRows()
	v.Classes = r.classRows()
	v.Failed, v.FailedMore, v.Nothing = r.failedBlocks()
	v.Caveats, v.CaveatsMore = caveatBlocks(r.caveats(pageTerms))
	if len(v.Caveats) > 0 {
		v.CaveatsKind = v.Caveats[0].Kind // the unknown ones come first
	}
	v.NotRead, _ = caveatBlocks(missingCaveats(r.Missing, pageTerms, false))
	v.NotReadFacts, _ = factsNotRead(r.Missing)
	v.Pairs, v.PairsMore = r.pairRows()
	v.Causes, v.CausesMore, v.CausesNote = r.causeBlocks()
	v.MeshNote = r.meshNote()
	v.Artifacts, v.ArtifactsNote = r.artifactRows()
	v.Proofs, v.ProofsMore = bounded(r.proofRows(), pageBlocks)
	if r.Findings != nil {
		v.Passed = ruleRows(groups(r.Findings.Findings, fabric.Pass))
		v.Scoped = ruleRows(groups(r.Findings.Findings, fabric.NotApplicable))
	}
	if r.Bench != nil {
		for _, t := range r.Bench.Tests {
			b := t.Verdict
			v.Bench = append(v.Bench, benchRow{t.Title, b.Status.String(), statusWord(b.Status), b.Measured, b.Expected, b.Why})
		}
	}
	for _, st := range r.Steps {
		v.Steps = append(v.Steps, stepRow{st.Name, fmt.Sprintf("%.2f", st.Seconds), st.Status.String(), statusWord(st.Status), st.Where, st.Note})
	}
	return v
}

// bounded cuts a list and returns how many entries were left out.
func bounded[T any](list []T, limit int) ([]T, int) {
	if len(list) <= limit {
		return list, 0
	}
	return list[:limit], len(list) - limit
}

func (r Run) head() []pair {
	all := []pair{{"Started", "not recorded"}, {"Took", "not recorded"}}
	if !r.Started.IsZero() {
		all[0].Value = r.Started.UTC().Format(time.DateTime) + " UTC"
	}
	if r.Seconds > 0 {
		all[1].Value = fmt.Sprintf("%.1f s", r.Seconds)
	}
	if r.Lab != "" {
		all = append(all, pair{"Where", "a lab of network namespaces, " + r.Lab})
	}
	if p := r.Plan; p != nil {
		all = append(all, pair{"Platform", p.Platform}, pair{"Fabric", fmt.Sprintf("%s, MTU %d", p.Transport, p.MTU)},
			pair{"Size", sizeText(p)})
	}
	all = append(all, pair{"railwright", orElse(r.Version, "version not recorded")})
	return append(all, pair{"Command", orElse(r.Command, "not recorded")})
}

// sizeText is how large a cluster is. Virtual machines have hosts below them.
func sizeText(p *fabric.Plan) string {
	if p.VSphere == nil {
		return fmt.Sprintf("%s, %s", fabric.Count(len(p.Nodes), "host"), fabric.Count(nicsOf(p), "NIC"))
	}
	return fmt.Sprintf("%s on %s, %s", fabric.Count(len(p.Nodes), "virtual machine"), fabric.Count(len(p.VSphere.Hosts), "ESX host"), fabric.Count(nicsOf(p), "NIC"))
}

func nicsOf(p *fabric.Plan) int {
	n := 0
	for _, node := range p.Nodes {
		n += len(node.NICs)
	}
	return n
}

func statusWord(s fabric.Status) string {
	return map[fabric.Status]string{
		fabric.Pass: "passed", fabric.Fail: "failed", fabric.NotApplicable: "not applicable",
	}[s] + map[bool]string{true: "unknown"}[s.String() == fabric.Unknown.String()]
}

// checksText counts what was checked.
func checksText(s fabric.Summary) string {
	text := fmt.Sprintf("Of %s, %d failed and %d could not be evaluated", fabric.Count(s.Pass+s.Fail+s.Unknown, "check"), s.Fail, s.Unknown)
	if s.Waived > 0 {
		text += fmt.Sprintf(", %d more waived", s.Waived)
	}
	return text
}

// verdictText counts what was checked and what was measured.
func verdictText(r Run) string {
	rules, pairs := "No rule was evaluated", ""
	if r.Findings != nil {
		rules = checksText(r.Findings.Summary)
	}
	if r.Mesh == nil || len(r.Mesh.Pairs) == 0 {
		pairs = "no pair of NICs was measured"
	} else {
		s := r.Mesh.Summary()
		pairs = fmt.Sprintf("of %s of NICs, %d failed and %d are unknown", fabric.Count(len(r.Mesh.Pairs), "pair"), s.Fail, s.Unknown)
	}
	return rules + "; " + pairs + "."
}

func (r Run) tiles() []tile {
	var all []tile
	add := func(s *fabric.Summary, noun string) {
		count := func(n func(fabric.Summary) int) string {
			if s == nil {
				return "?"
			}
			return fmt.Sprint(n(*s))
		}
		all = append(all,
			tile{"fail", noun + " failed", count(func(s fabric.Summary) int { return s.Fail })},
			tile{"unknown", noun + " unknown", count(func(s fabric.Summary) int { return s.Unknown })},
			tile{"pass", noun + " passed", count(func(s fabric.Summary) int { return s.Pass })})
	}
	if r.Findings == nil || len(r.Findings.Findings) == 0 {
		add(nil, "checks")
	} else {
		add(&r.Findings.Summary, "checks")
	}
	if r.Mesh == nil || len(r.Mesh.Pairs) == 0 {
		add(nil, "pairs")
	} else {
		s := r.Mesh.Summary()
		add(&s, "pairs")
	}
	return all
}

func (r Run) failedBlocks() (blocks []block, more int, nothing string) {
	if r.Findings == nil || len(r.Findings.Findings) == 0 {
		return nil, 0, "No rule gave a verdict, so nothing is known to have failed."
	}
	blocks, more = failedBlocks(groups(r.Findings.Findings, fabric.Fail))
	if len(blocks) == 0 {
		nothing = "No rule failed."
	}
	return blocks, more, nothing
}

// failedBlocks shows groups of failed findings in full, and says how many are left out.
func failedBlocks(all []group) (blocks []block, more int) {
	all, more = bounded(all, pageBlocks)
	for _, g := range all {
		f := g.first
		b := block{Kind: "fail", Word: f.Severity.String(), Subject: g.spread.text(pageTerms), Title: f.Title, Rule: ruleText(f)}
		b.add("Seen", g.seen(pageLines), false)
		b.add("Expected", g.lines(expected, pageLines), false)
		b.add("Why", g.lines(why, pageLines), false)
		b.add("Cost", g.lines(cost, pageLines), false)
		b.add("Fix", g.commands(pageTerms), true)
		blocks = append(blocks, b)
	}
	return blocks, more
}

// caveatBlocks shows caveats in full, and says how many are left out.
func caveatBlocks(all []caveat) (blocks []block, more int) {
	all, more = bounded(all, pageBlocks)
	for _, c := range all {
		b := block{Word: c.Tag, Subject: c.Of, Title: c.What, Rule: c.Rule}
		if c.Tag == tagUnknown {
			b.Kind = "unknown"
		}
		b.add("Why", nonEmpty(c.Reason), false)
		b.add("What", c.Items, false)
		b.add("Expected", nonEmpty(c.Expect), false)
		b.add("Fix", c.Fix, true)
		blocks = append(blocks, b)
	}
	return blocks, more
}

func (b *block) add(label string, lines []string, commands bool) {
	if len(lines) > 0 {
		b.Rows = append(b.Rows, row{label, lines, commands})
	}
}

func (r Run) causeBlocks() (blocks []block, more int, note string) {
	switch {
	case r.Causes == nil:
		return nil, 0, "Causes were not searched for."
	case len(r.Causes.Causes) == 0 && r.Causes.Status == fabric.Pass:
		return nil, 0, "Nothing needed an explanation."
	case len(r.Causes.Causes) == 0:
		return nil, 0, "No cause was found."
	}
	all, more := bounded(r.Causes.Causes, pageBlocks)
	for _, c := range all {
		b := block{Kind: "cause", Word: fmt.Sprintf("%.0f %%", 100*c.Confidence), Subject: c.Subjects(), Title: string(c.ID)}
		one := fabric.Finding{Evidence: c.Evidence}
		against := fabric.Finding{Evidence: c.Against}
		b.add("Seen", nonEmpty(evidence(one)), false)
		b.add("Against", nonEmpty(evidence(against)), false)
		b.add("Confirm", nonEmpty(c.Confirm), true)
		b.add("Fix", nonEmpty(c.Fix), true)
		blocks = append(blocks, b)
	}
	return blocks, more, ""
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func (r Run) meshNote() string {
	if r.Mesh == nil || len(r.Mesh.Pairs) == 0 {
		return ""
	}
	if !measured(r.Mesh.Summary()) {
		return fabric.Count(len(r.Mesh.Pairs), "pair") + ", none measured."
	}
	note := fmt.Sprintf("%s in %s, with an echo of two sizes for each, sent from the device and the address of the NIC.", fabric.Count(len(r.Mesh.Pairs), "pair"), seconds(r.Mesh.Seconds))
	if n := r.Mesh.Apart; n > 0 {
		note += fmt.Sprintf(" %s more are not applicable: their NICs are in different subnets, of which nothing is routed.", fabric.Count(n, "pair"))
	}
	return note
}
