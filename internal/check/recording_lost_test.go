package check_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
)

var every = flag.Bool("every", false, "lose every entry in every way on every host, and rewrite docs/reliability.md")

// sampled is how many losses stand for each other without -every.
const sampled = 30

// loss is a way in which the answer to one question is lost. It reports false where that changes nothing.
type loss struct {
	name string
	of   func(e entry) (entry, bool)
}

func losses() []loss {
	failed := func(reason, kind, tool string) func(e entry) (entry, bool) {
		return func(e entry) (entry, bool) {
			was := e
			switch e.form = "error"; e.op {
			case "run":
				e.content = tool + "\n"
			case "dump":
				e.content = `{"text":"operation not permitted","errno":1,"is":["denied"]}` + "\n"
			default:
				e.content = pathFault(e.key, reason, kind)
			}
			return e, e != was
		}
	}
	said := func(text string) func(e entry) (entry, bool) {
		return func(e entry) (entry, bool) {
			was := e
			switch {
			case e.op == "link" && text == "":
				return e, false // no link is empty
			case e.op == "list" && text != "":
				e.form, e.content = "text", "garbage\n" // a name that a folder may have
			case e.op == "link":
				e.form, e.content = "line", text+"\n"
			default:
				e.form, e.content = "hex", hex.EncodeToString([]byte(text))+"\n"
			}
			return e, e != was
		}
	}
	return []loss{
		{"not in the recording", func(e entry) (entry, bool) { return entry{}, true }},
		{"dropped: the host has no such file or program", failed("file does not exist", "absent", `{"text":"exec: not found","is":["no-program"]}`)},
		{"denied", failed("permission denied", "denied", `{"exit":{"command":"tool","status":1,"stderr":"permission denied"}}`)},
		{"empty", said("")},
		{"garbage", said("\x01garbage\n")},
		{"halved", halved},
	}
}

// halved cuts an answer in its middle: a file and an output at a byte, a folder at a name.
func halved(e entry) (entry, bool) {
	if e.form == "error" || e.content == "" {
		return e, false
	}
	switch e.op {
	case "list":
		names := strings.SplitAfter(strings.TrimSuffix(e.content, "\n"), "\n")
		e.content = strings.Join(names[:len(names)/2], "")
	case "link":
		body := strings.TrimSuffix(e.content, "\n")
		e.content = body[:len(body)/2] + "\n"
	default:
		raw := []byte(e.content)
		if e.form == "hex" {
			raw, _ = hex.DecodeString(strings.ReplaceAll(e.content, "\n", "")) // openRecording wrote it
		}
		e.form, e.content = "hex", hex.EncodeToString(raw[:len(raw)/2])+"\n"
	}
	return e, true
}

// without returns a copy of a recording with another answer to one question, or with none.
func (a *archive) without(i int, e entry) *archive {
	b := *a
	b.entries = slices.Clone(a.entries)
	b.entries[i] = e
	if e.op == "" {
		b.entries = slices.Delete(b.entries, i, i+1)
	}
	return &b
}

// sickHost is a recording with faults, or with facts that are unknown, that do not hide each other.
type sickHost struct {
	on      setting
	peer    *fabric.Facts // of a pair
	healthy *archive
	sick    *archive
	wrong   []fabric.Finding // that fail or are unknown
}

func (h *sickHost) judge(t *testing.T, a *archive) []fabric.Finding {
	t.Helper()
	var out []fabric.Finding
	c := check.New(h.on.plan, nil, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), func(f fabric.Finding) { out = append(out, f) })
	if h.peer != nil {
		c.Take(c.Judge(h.peer))
	}
	c.Take(c.Judge(a.facts()))
	if _, err := c.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out
}

func newSickHost(t *testing.T, on setting) *sickHost {
	t.Helper()
	h := &sickHost{on: on, healthy: openRecording(t, on.recording)}
	on.apply(h.healthy)
	if on.pair {
		h.peer = h.healthy.facts()
		h.healthy = openRecording(t, on.recording)
		asHost2(h.healthy)
		on.apply(h.healthy)
	}
	h.sick = h.healthy
	return h
}

// add makes a host sick in one more way, if that touches other answers than those before it and hides none of them.
func (h *sickHost) add(t *testing.T, change edit, rule, subject string, want fabric.Status) bool {
	t.Helper()
	alone := h.healthy.without(0, h.healthy.entries[0])
	change(alone)
	both := h.sick.without(0, h.sick.entries[0])
	if alone.head != h.healthy.head {
		if h.sick.head != h.healthy.head {
			return false
		}
		both.head = alone.head
	}
	for _, e := range alone.entries {
		was := h.healthy.find(e.op, e.key)
		if was == e {
			continue
		}
		if h.sick.find(e.op, e.key) != was {
			return false
		}
		both.entries = slices.DeleteFunc(both.entries, func(o entry) bool { return o.op == e.op && o.key == e.key })
		both.entries = append(both.entries, e)
	}
	findings := h.judge(t, both)
	wrong := slices.DeleteFunc(findings, func(f fabric.Finding) bool { return f.Status != fabric.Fail && f.Status != fabric.Unknown })
	for _, w := range h.wrong {
		if f, ok := findingOf(wrong, w.ID, w.Subject.String()); !ok || f.Status != w.Status || f.Why != w.Why {
			return false
		}
	}
	if f, ok := findingOf(wrong, rule, subject); !ok || f.Status != want {
		return false
	}
	h.sick, h.wrong = both, wrong
	return true
}

func (a *archive) find(op, key string) entry {
	for _, e := range a.entries {
		if e.op == op && e.key == key {
			return e
		}
	}
	return entry{}
}

// sickHosts puts the faults of all recorded cases, and what they make unknown, on as few hosts as possible.
func sickHosts(t *testing.T) []*sickHost {
	t.Helper()
	var hosts []*sickHost
	kind := map[*sickHost]string{}
	for _, c := range recordedCases() {
		for _, one := range []struct {
			change edit
			on     string
			want   fabric.Status
		}{{c.fail, c.failOn, fabric.Fail}, {c.unknown, c.blindOn, fabric.Unknown}} {
			if one.change == nil {
				continue
			}
			s := c.on
			like := fmt.Sprint(s.recording, s.pair, s.with == nil, s.plan == nil, one.want)
			if s.plan != nil {
				like += fmt.Sprint(s.plan.Platform, s.plan.Transport, len(s.plan.Machines))
			}
			subject := or(one.on, c.subject)
			added := slices.ContainsFunc(hosts, func(h *sickHost) bool {
				return s.with == nil && kind[h] == like && h.add(t, one.change, c.rule, subject, one.want)
			})
			if added {
				continue
			}
			h := newSickHost(t, s)
			if !h.add(t, one.change, c.rule, subject, one.want) {
				t.Fatalf("%s on %s: not %s", c.rule, subject, one.want)
			}
			kind[h] = like
			hosts = append(hosts, h)
		}
	}
	return hosts
}

// outcome is what a verdict that was fail or unknown became after a loss.
type outcome int

const (
	stays        outcome = iota // fail or unknown
	elsewhere                   // its subject is gone, and something else became unknown or fails
	secondSource                // passes, by another source of the fact
	unmasked                    // was not evaluated behind a failure that is unknown now, and passes
	otherValue                  // the rest of the answer is a whole answer with another value
	flipped                     // passes, or is gone without a word
)

func (o outcome) String() string {
	return [...]string{"stays", "elsewhere", "second source", "unmasked", "other value", "flipped"}[o]
}

// otherValues are losses after which the answer is whole and says something else, which no reader can tell: 11 becomes 1,
// and a folder cut at a name is a shorter folder. Of the PCI functions those are missed that an interface or an RDMA
// device uses, and the GPUs by gpu-planned; here the hosts say none of that. A function without a link to a driver has none.
// Folders of configfs are there while somebody made them; without, the file that the driver was set up from counts.
// A host without the file of a vendor's package is one that does not use it, unless the plan brings the file.
func (h *sickHost) otherValues(e entry, l string) bool {
	if e.op == "list" && strings.HasPrefix(e.key, "/sys/kernel/config/bnxt_re/") {
		return strings.HasPrefix(l, "dropped")
	}
	if e.op == "read" && e.key == nic.BnxtReConf && h.on.plan == nil {
		return strings.HasPrefix(l, "dropped")
	}
	if e.op == "link" && strings.HasSuffix(e.key, "/driver") {
		return strings.HasPrefix(l, "dropped")
	}
	return l == "halved" && (e.op == "read" && strings.HasSuffix(e.key, "/counters/link_downed") || e.op == "list" && e.key == "/sys/bus/pci/devices")
}

func (h *sickHost) compare(t *testing.T, base fabric.Finding, i int, lost *archive, after []fabric.Finding) outcome {
	t.Helper()
	f, same := findingOf(after, base.ID, base.Subject.String())
	if same && (f.Status == fabric.Fail || f.Status == fabric.Unknown) {
		return stays
	}
	gone := !same || f.Status == fabric.NotApplicable || base.ID == "facts-read" // which is for what no other rule says
	if gone && h.isNew(after) {
		return elsewhere
	}
	switch f = about(after, base); {
	case f.Status != fabric.Pass:
		return flipped
	case strings.HasPrefix(base.Why, "not evaluated while "):
		return unmasked // the failure itself is another finding of this host
	case base.ID == "disagreement" || strings.HasSuffix(base.Why, "(see disagreement)"): // of two sources one is left
		return secondSource
	}
	for k, e := range h.sick.entries {
		if e.op != "run" || k == i {
			continue
		}
		one := h.judge(t, lost.withoutAnswer(e))
		two := h.judge(t, h.healthy.withoutAnswer(e))
		if about(one, base).Status != fabric.Pass && about(two, base).Status == fabric.Pass {
			return secondSource
		}
	}
	return flipped
}

// isNew reports whether something fails or is unknown that did not, or for another reason.
func (h *sickHost) isNew(after []fabric.Finding) bool {
	return slices.ContainsFunc(after, func(a fabric.Finding) bool {
		w, was := findingOf(h.wrong, a.ID, a.Subject.String())
		return (a.Status == fabric.Unknown || a.Status == fabric.Fail) && (!was || w.Why != a.Why)
	})
}

// about finds what a rule says of the subject of a finding, or of the node or the cluster where all are well.
func about(findings []fabric.Finding, base fabric.Finding) fabric.Finding {
	for _, subject := range []string{base.Subject.String(), base.Subject.Node, "cluster"} {
		if f, ok := findingOf(findings, base.ID, subject); ok {
			return f
		}
	}
	return fabric.Finding{}
}

func (a *archive) withoutAnswer(e entry) *archive {
	for i, o := range a.entries {
		if o.op == e.op && o.key == e.key {
			return a.without(i, entry{})
		}
	}
	return a
}

// TestLostEntries loses every entry of every recording in every way, on hosts with every fault that a recording shows:
// no verdict may turn from fail or unknown to pass unless a second source gives the value. Without -every it takes every
// thirtieth.
func TestLostEntries(t *testing.T) {
	hosts := sickHosts(t)
	counts := make([]tally, len(losses()))
	turn := 0
	for _, h := range hosts {
		for i, e := range h.sick.entries {
			for k, l := range losses() {
				left, changed := l.of(e)
				if !changed {
					continue
				}
				counts[k].losses++
				if turn++; !*every && turn%sampled != 0 {
					continue
				}
				lost := h.sick.without(i, left)
				after := h.judge(t, lost)
				for _, w := range h.wrong {
					o := h.compare(t, w, i, lost, after)
					if o == flipped && h.otherValues(e, l.name) {
						o = otherValue
					}
					counts[k].verdicts[o]++
					if o == flipped {
						now := about(after, w)
						t.Errorf("%s, %s %s: %s on %s was %s (%s), is %s on %s (%s)", l.name, e.op, e.key, w.ID, w.Subject, w.Status, w.Why, now.Status, now.Subject, now.Why)
					}
				}
			}
		}
	}
	for k, l := range losses() {
		t.Logf("%s: %d losses, verdicts %v", l.name, counts[k].losses, counts[k].verdicts)
	}
	reliabilityPage(t, hosts, counts)
}

// tally counts what one way of losing did.
type tally struct {
	losses   int
	verdicts [flipped + 1]int
}

const (
	reliability = "../../docs/reliability.md"
	pageBegin   = "<!-- written by go test ./internal/check -run TestLostEntries -every -->\n"
	pageEnd     = "<!-- end of what it wrote -->\n"
)

// reliabilityPage rewrites the table of docs/reliability.md with -every. Without, it holds the page to what does not need
// all verdicts: the hosts, and in how many ways each entry was lost.
func reliabilityPage(t *testing.T, hosts []*sickHost, counts []tally) {
	t.Helper()
	text, err := os.ReadFile(reliability)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), pageBegin)
	old, after, ends := strings.Cut(rest, pageEnd)
	if !begins || !ends {
		t.Fatalf("%s: no lines %q and %q", reliability, pageBegin, pageEnd)
	}
	head, rows := reliabilityTable(hosts, counts)
	if *every {
		page := before + pageBegin + head + strings.Join(rows, "") + pageEnd + after
		if err := os.WriteFile(reliability, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !strings.HasPrefix(old, head) {
		t.Errorf("%s: out of date: rewrite it with -every; want\n%s", reliability, head)
	}
	for _, row := range rows {
		way, _, _ := strings.Cut(row[2:], " | ")
		first := strings.Join(strings.SplitAfter(row, "|")[:3], "")
		if !strings.Contains(old, "\n"+first) {
			t.Errorf("%s: row %q is out of date: want %s", reliability, way, first)
		}
	}
	if n := strings.Count(old, " | 0 |\n"); n != len(rows) {
		t.Errorf("%s: %d rows without a flip, want %d", reliability, n, len(rows))
	}
}

func reliabilityTable(hosts []*sickHost, counts []tally) (head string, rows []string) {
	failing, blind := 0, 0
	for _, h := range hosts {
		for _, f := range h.wrong {
			if f.Status == fabric.Fail {
				failing++
				continue
			}
			blind++
		}
	}
	head = fmt.Sprintf("%d hosts, made of %d recorded faults and blind spots; %d verdicts on them fail and %d are unknown.\n\n", len(hosts), len(recordedCases()), failing, blind) +
		"| entry | losses | verdicts compared | still fail or unknown | reported by another check | second source | no longer behind a failure | another whole value | flipped |\n|---|---|---|---|---|---|---|---|---|\n"
	for k, l := range losses() {
		c := counts[k]
		sum := 0
		row := ""
		for _, o := range []outcome{stays, elsewhere, secondSource, unmasked, otherValue, flipped} {
			sum += c.verdicts[o]
			row += fmt.Sprintf(" %d |", c.verdicts[o])
		}
		rows = append(rows, fmt.Sprintf("| %s | %d | %d |%s\n", l.name, c.losses, sum, row))
	}
	return head, rows
}
