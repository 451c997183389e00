package causes

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func load(t testing.TB) *Set {
	t.Helper()
	s, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Every cause has its entry, and every entry a cause.
func TestEveryCauseHasAnEntry(t *testing.T) {
	s := load(t)
	known := map[fabric.CauseID]bool{}
	for _, id := range fabric.CauseIDs {
		known[id] = true
		if _, ok := s.Get(id); !ok {
			t.Errorf("%s: no entry", id)
		}
	}
	for _, e := range s.All() {
		if !known[e.ID] {
			t.Errorf("%s: not a cause of internal/fabric", e.ID)
		}
	}
	if _, ok := s.Get("acs"); ok {
		t.Error("an unknown id has an entry")
	}
}

// The priors of a class are probabilities, in the order of their words, and leave room for what is none of the causes.
func TestPriors(t *testing.T) {
	s := load(t)
	order := []string{"never", "rare", "uncommon", "usual", "common"}
	for _, class := range Classes() {
		total, byWord := s.Other(class), map[string]float64{}
		for _, e := range s.All() {
			p := s.Prior(class, e.ID)
			total += p
			word := e.Prior[class]
			if had, ok := byWord[word]; ok && had != p || p <= 0 {
				t.Errorf("%s: %s: %v, others of the same word have %v", class, e.ID, p, had)
			}
			byWord[word] = p
		}
		if math.Abs(total-1) > 1e-9 {
			t.Errorf("%s: all together have %v", class, total)
		}
		last := 0.0
		for _, word := range order {
			if p, ok := byWord[word]; ok && p <= last {
				t.Errorf("%s: %s has %v, a less probable word %v", class, word, p, last)
			} else if ok {
				last = p
			}
		}
		// A cause that is common in a class starts near 6 %: no prior alone may decide.
		if p := byWord["common"]; p < 0.02 || p > 0.10 {
			t.Errorf("%s: common is %v", class, p)
		}
	}
	total := s.Other(AnyClass)
	for _, e := range s.All() {
		total += s.Prior(AnyClass, e.ID)
	}
	if math.Abs(total-1) > 1e-9 || s.Prior(AnyClass, "shm-full") >= s.Prior(Start, "shm-full") || s.Prior(AnyClass, "shm-full") <= s.Prior(Slow, "shm-full") {
		t.Errorf("of any class: all together %v, shm-full %v", total, s.Prior(AnyClass, "shm-full"))
	}
	if s.Prior("sick", "acs-redirect") != 0 || s.Prior(Slow, "acs") != 0 {
		t.Error("an unknown class or cause has a prior")
	}
}

// A remedy is one of its own: commands or a change of the cause, not a run of this program.
func TestRemediesAreTheirOwn(t *testing.T) {
	fixes := map[string]fabric.CauseID{}
	for _, e := range load(t).All() {
		if other, twice := fixes[e.Fix.String()]; twice {
			t.Errorf("%s has the fix of %s", e.ID, other)
		}
		fixes[e.Fix.String()] = e.ID
		for _, what := range []string{e.Confirm.String(), e.Fix.String()} {
			if strings.HasPrefix(what, "railwright check") {
				t.Errorf("%s: %q is only a check", e.ID, what)
			}
		}
		if strings.Contains(e.What, ". ") || !strings.HasSuffix(e.What, ".") {
			t.Errorf("%s: %q is not one sentence", e.ID, e.What)
		}
	}
}

// Lines stay lines: each is a command with its remark, ready for a shell.
func TestLinesStayLines(t *testing.T) {
	l := Lines{"lspci -vvv | grep '#'      # SrcValid+", "reboot"}
	if got, want := l.String(), "lspci -vvv | grep '#'      # SrcValid+\nreboot"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A file with a mistake is refused, and the message names the entry.
func TestMistakesAreRefused(t *testing.T) {
	for _, c := range []struct{ file, old, new, want string }{
		{"causes", "id: acs-redirect", "id: ats-disabled", "ats-disabled: twice"},
		{"causes", "slow: usual, hang: common", "slow: often, hang: common", `acs-redirect: prior of slow: word "often": unknown`},
		{"causes", "slow: usual, hang: common, ", "hang: common, ", "acs-redirect: prior of slow"},
		{"causes", "{slow: usual, hang: common", "{fast: rare, slow: usual, hang: common", "acs-redirect: prior: unknown class"},
		{"causes", "    signs: ", "    sign: ", "field sign not found"},
		{"causes", "share: 0.15, ", "share: 1.5, ", "other: slow: needs a share"},
		{"causes", "common: 0.06", "common: 6", "words: common: 6 is not between 0 and 1"},
		{"causes", "where: lspci}", "where: lspcy}", `acs-redirect: expects: output "lspcy": unknown`},
		{"causes", "    reason: The guide", "    reason: ''\n#", "acs-redirect: reason: missing"},
		{"causes", "\ntopics:", "\n---\ntopics:", "more than one document"},
		{"causes", "- title: The path between GPU, NIC and memory", "- title: ''", "acs-redirect: title of its topic: missing"},
		{"steps", "likely: {shm-full: always}", "likely: {shm: always}", "shm: unknown cause"},
		{"steps", "likely: {shm-full: always}", "likely: {shm-full: surely}", `shm-full: word "surely": unknown`},
		{"steps", "others: hardly", "others: seldom", `word "seldom": unknown`},
		{"steps", "minutes: 1\n", "minutes: 0\n", "nccl-net-log: minutes: 0 is not above 0"},
		{"steps", "needs: [rerun]", "needs: [luck]", `nccl-net-log: needs: word "luck": unknown`},
		{"steps", "classes: [slow]", "classes: [fast]", "classes: fast: unknown class"},
		{"steps", "id: first-warning", "id: nccl-net-log", "nccl-net-log: twice"},
		{"steps", "attention: {minutes: 0.5", "attention: {minutes: 0", "attention: needs minutes"},
		{"steps", "  gives: nccl-log\n", "", "nccl-net-log: gives: missing"},
	} {
		t.Run(c.want, func(t *testing.T) {
			texts := map[string][]byte{"causes": causesYAML, "steps": stepsYAML}
			if !bytes.Contains(texts[c.file], []byte(c.old)) {
				t.Fatalf("%s.yaml does not hold %q", c.file, c.old)
			}
			texts[c.file] = bytes.Replace(texts[c.file], []byte(c.old), []byte(c.new), 1)
			_, err := read(texts["causes"], texts["steps"])
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
