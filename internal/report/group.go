package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// Groups groups a stream of findings by their content: of each group of those that failed or
// are unknown it keeps all subjects and the first members whole, of those that passed or are not applicable the
// counts, so that the findings of 16,384 nodes are never in memory together.
type Groups struct {
	Lab                             string                 // what kind of lab the facts come from, as LabOf returns it; empty: machines
	Switches                        []fabric.SwitchSummary // what was read of those that are part of the check
	Note                            string                 // what findings about switches leave open
	o                               TextOptions
	failed, unknown, passed, scoped grouping
	waived                          []fabric.Finding
}

// membersKept is how many members of a group are kept: more than is shown of one.
const membersKept = 64

// NewGroups begins a collection. Subjects of what passed or is not applicable are kept where the options are verbose.
func NewGroups(o TextOptions) *Groups {
	g := &Groups{o: o}
	g.failed.limit, g.unknown.limit = membersKept, membersKept
	g.passed.limit, g.scoped.limit = 1, 1
	g.passed.countOnly, g.scoped.countOnly = !o.Verbose, !o.Verbose
	return g
}

// Add adds a finding.
func (g *Groups) Add(f fabric.Finding) {
	switch {
	case f.Waived:
		g.waived = append(g.waived, f)
	case f.Status == fabric.Fail:
		g.failed.add(f)
	case f.Status == fabric.Pass:
		g.passed.add(f)
	case f.Status == fabric.NotApplicable:
		g.scoped.add(f)
	default:
		g.unknown.add(f)
	}
}

// group is findings that say the same of several subjects.
type group struct {
	key     groupKey
	first   fabric.Finding
	spread  spread           // its subjects; none where only counts are kept
	members []fabric.Finding // all of them, or the first where no more are kept
	count   int              // findings
	nodes   int              // nodes among their subjects, which come node by node
	node    string           // the last of them
}

// grouping groups findings of one status as they arrive.
type grouping struct {
	index     map[groupKey]int
	all       []group
	last      int  // the group of the finding before
	limit     int  // members of a group that are kept; 0: all
	countOnly bool // no subjects are kept
}

// groupKey is what findings of a group have in common.
type groupKey struct {
	id, title string
	severity  fabric.Severity
	cause     fabric.CauseID
	why       string // of an unknown: each reason is a group
}

func (g *grouping) add(f fabric.Finding) {
	k := groupKey{f.ID, f.Title, f.Severity, f.Cause, ""}
	if f.Why != "" && !sameStatus(f.Status, fabric.Fail) {
		k.why = impersonal(f)
	}
	at := g.of(k, f)
	at.count++
	if at.count == 1 || at.node != f.Subject.Node {
		at.node = f.Subject.Node
		at.nodes++
	}
	if !g.countOnly {
		at.spread.add(placeOf(f.Subject))
	}
	if g.limit == 0 || len(at.members) < g.limit {
		at.members = append(at.members, f)
	}
}

// of returns the group of a finding: most often that of the one before, since a rule judges all parts of a node in a row.
func (g *grouping) of(k groupKey, f fabric.Finding) *group {
	if g.last < len(g.all) && g.all[g.last].key == k {
		return &g.all[g.last]
	}
	i, ok := g.index[k]
	if !ok {
		if g.index == nil {
			g.index = make(map[groupKey]int)
		}
		i = len(g.all)
		g.index[k] = i
		g.all = append(g.all, group{key: k, first: f})
	}
	g.last = i
	return &g.all[i]
}

// worstFirst returns the groups by severity, then in the order in which the rules came.
func (g *grouping) worstFirst() []group {
	slices.SortStableFunc(g.all, func(a, b group) int { return cmp.Compare(a.first.Severity, b.first.Severity) })
	return g.all
}

// groups puts the findings of one status together, worst first; those of a run are all in memory.
func groups(findings []fabric.Finding, status fabric.Status) []group {
	var g grouping
	for _, f := range findings {
		if !f.Waived && sameStatus(f.Status, status) {
			g.add(f)
		}
	}
	return g.worstFirst()
}

// impersonal is why a finding is as it is, without the name of its own subject, so that the same reason on
// many subjects is shown once. What names its subject several times, such as an error of a connection, would not be
// read with "it" for a name: it gets the kind of the subject in capitals.
func impersonal(f fabric.Finding) string {
	name, why := f.Subject.String(), f.Why
	if f.Subject.NIC != "" {
		why = anyNIC(why, f.Subject.NIC)
	}
	if f.Subject.Node != "" && strings.Count(why, name) > 1 {
		return strings.ReplaceAll(why, name, strings.ToUpper(f.Subject.Kind))
	}
	return strings.ReplaceAll(why, name, "it")
}

var (
	askedBy    = pattern.Plain("`[^`]+` tells it") // as rules name the command that was not answered
	pciAddress = pattern.Plain(`\b(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b`)
)

// anyNIC is a reason with NIC instead of a NIC's name or PCI address in the command that would tell it: eight NICs whose tool is
// not installed lack one thing.
func anyNIC(why, nic string) string {
	return askedBy().ReplaceAllStringFunc(why, func(asked string) string {
		words := strings.Split(pciAddress().ReplaceAllLiteralString(asked, "NIC"), " ")
		for i, w := range words {
			if strings.Trim(w, "`") == nic {
				words[i] = strings.Replace(w, nic, "NIC", 1)
			}
		}
		return strings.Join(words, " ")
	})
}

// reason is why the findings of a group are as they are, where a group has one reason.
func (g group) reason() string {
	if g.count > 1 {
		return impersonal(g.first)
	}
	return orElse(g.first.Why, "no reason was recorded")
}

// lacks is what unknown checks have in common: why a source gave no answer, as rules write it at the end of a reason ("what is
// unknown: why (source)"), or the failure behind which they were not evaluated. Empty: the reason is in neither form.
func (g group) lacks() string {
	reason := g.reason()
	if strings.HasPrefix(reason, "not evaluated while ") {
		return reason
	}
	at := strings.LastIndex(reason, ": ")
	if at < 0 || !strings.HasSuffix(reason, ")") {
		return ""
	}
	return reason[at+2:]
}

// sameStatus takes a status outside the closed set for Unknown, as Status.String does.
func sameStatus(a, b fabric.Status) bool { return a.String() == b.String() }

// place is a subject as it is shown: of 16,384 nodes there are a million, and a Subject takes three times as much.
type place struct {
	node string // or, of a subject without a node, its kind
	part string // of the node: its NIC, port, GPU or PCI function
}

func placeOf(s fabric.Subject) place {
	return place{cmp.Or(s.Node, s.Kind), s.NIC + s.Port + s.GPU + s.PCI + s.VM}
}

func placesOf(list []fabric.Subject) []place {
	places := make([]place, 0, len(list))
	for _, s := range list {
		places = append(places, placeOf(s))
	}
	return places
}

// subjects writes a set of subjects as ranges: host1:eth[1-8], host[2-9]. At most limit terms.
func subjects(list []place, limit int) string {
	var s spread
	for _, p := range list {
		s.add(p)
	}
	return s.text(limit)
}

// distinctText is a text that a field has in some findings of a group, and their subjects.
type distinctText struct {
	text string
	of   []fabric.Subject
}

// more returns how many different texts are not shown. Where members were not kept, they were not counted.
func (g group) more(kept int) string {
	if len(g.members) < g.count {
		return "more"
	}
	return fmt.Sprintf("%d more", kept)
}

// distinct lists what a field says over the whole group, each text once, in the order of the findings.
func (g group) distinct(field func(fabric.Finding) string) []distinctText {
	index := map[string]int{}
	var all []distinctText
	for _, f := range g.members {
		text := field(f)
		if text == "" {
			continue
		}
		i, ok := index[text]
		if !ok {
			i = len(all)
			index[text] = i
			all = append(all, distinctText{text: text})
		}
		all[i].of = append(all[i].of, f.Subject)
	}
	return all
}

// lines writes the distinct texts of a field, at most limit of them, each with its subjects where it is not
// true of the whole group.
func (g group) lines(field func(fabric.Finding) string, limit int) []string {
	all := g.distinct(field)
	var lines []string
	for i, s := range all {
		if i == limit {
			lines = append(lines, "and "+g.more(len(all)-limit))
			break
		}
		if len(s.of) < len(g.members) && !g.onePlace() {
			s.text = subjects(placesOf(s.of), 2) + ": " + s.text
		}
		lines = append(lines, s.text)
	}
	return lines
}

// commands writes the distinct commands of the group, at most limit, with a shell comment naming their
// subjects where they differ, so that they can be copied unchanged.
func (g group) commands(limit int) []string {
	all := g.distinct(fix)
	var lines []string
	for i, s := range all {
		if i == limit {
			return append(lines, "# and "+g.more(len(all)-limit)+" similar")
		}
		if len(s.of) < len(g.members) {
			s.text += "  # " + subjects(placesOf(s.of), 2)
		}
		lines = append(lines, s.text)
	}
	return lines
}

func evidence(f fabric.Finding) string {
	return strings.Join(sightings(f), "; ")
}

func sightings(f fabric.Finding) []string {
	var parts []string
	for _, e := range f.Evidence {
		parts = append(parts, e.Value+" ("+e.Source+")")
	}
	return parts
}

// onePlace reports whether all findings of the group are of one subject.
func (g group) onePlace() bool {
	return g.spread.one()
}

// fewSightings is how many things that were seen are read well in one line: more of them, such as the way of a packet, are a
// list.
const fewSightings = 3

// seen is what was seen, as lines does it; where one finding of a place has much to show, each thing is a line.
func (g group) seen(limit int) []string {
	if !g.onePlace() || !slices.ContainsFunc(g.members, func(f fabric.Finding) bool { return len(f.Evidence) > fewSightings }) {
		return g.lines(evidence, limit)
	}
	var lines []string
	for i, f := range g.members {
		if i == limit {
			return append(lines, "and "+g.more(len(g.members)-limit))
		}
		lines = append(lines, sightings(f)...)
	}
	return lines
}

func expected(f fabric.Finding) string { return f.Expected }
func why(f fabric.Finding) string      { return f.Why }
func cost(f fabric.Finding) string     { return f.Cost }
func fix(f fabric.Finding) string      { return f.Fix }
