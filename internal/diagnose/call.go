package diagnose

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// call is what the results of a call share.
type call struct {
	spoken spoken
	found  []evidence.Found
	taken  map[string]bool // files with the names of settings that tables there have
	shared [][]setting     // of each result, that others may have run with
	told   []told
	known  map[sameAs]*tellers
}

// told is what a result tells the others.
type told struct {
	by       int // number of the result
	evidence evidence.Evidence
}

// sameAs is what evidence of several results has in common that says the same of every cause, whatever its text. What the
// texts are asked for beside that is a part of it.
type sameAs struct {
	sign, origin, value  string
	about                fabric.Subject
	cause                fabric.CauseID
	said, printed, error bool
	rdma                 bool   // it names an RDMA device
	work                 string // that a rank waits for
}

// tellers are the first results that tell something: the first one, and the one that tells it to the first.
type tellers struct {
	count int
	last  int
}

func newCall(found []evidence.Found) *call {
	return &call{spoken: spoken{}, found: found, taken: map[string]bool{}, known: map[sameAs]*tellers{}}
}

// joins prepares a result for the others of its call.
func (s *observed) joins(c *call, number int) {
	s.call, s.number, s.platforms = c, number, c.spoken.of(s.seen)
	for _, v := range s.settings {
		if s.kind == fabric.NCCLTests {
			c.taken[s.file+" "+v.name] = true
		}
	}
	for _, e := range s.seen {
		c.tell(s, e)
	}
}

// tell keeps a piece of evidence for the other results, unless two of them tell the same already: then each has it from
// another one. Records are told apart, as they do not speak of each other.
func (c *call) tell(s *observed, e evidence.Evidence) {
	key := sameAsOf(e)
	if s.record() {
		key.value += " of a record"
	}
	t := c.known[key]
	if t == nil {
		t = &tellers{}
		c.known[key] = t
	}
	if t.count > 1 && t.last != s.number || t.count > 0 && t.last == s.number {
		return
	}
	t.count, t.last = t.count+1, s.number
	c.told = append(c.told, told{s.number, evidence.Foreign(e)})
}

func sameAsOf(e evidence.Evidence) sameAs {
	text := e.Where().Text
	key := sameAs{sign: e.Sign(), origin: e.Origin(), rdma: rdmaWords().MatchString(text)}
	if m := work().FindStringSubmatch(text); m != nil {
		key.work = m[0]
	}
	switch e := e.(type) {
	case evidence.Message:
		key.said = e.Quoted
	case evidence.Setting:
		key.value = e.Value
	case evidence.Measure:
		key.about = e.About
	case evidence.Found:
		key.cause, key.about, key.error = e.Cause, e.About, e.Error
	case evidence.Outcome:
		key.printed = e.Printed
	case evidence.Contrast:
		key.said = e.Said
	case evidence.Asymmetry:
		key.value = strings.Join(e.Without, " ")
	case evidence.Statement:
		key.said = e.Differs
	}
	return key
}

// share finds the settings of each result that others of its call may have run with: those of a table are its own, and what a
// text sets for a table, the table has.
func (c *call) share(all []*observed) {
	for _, o := range all {
		var theirs []setting
		if o.kind != fabric.NCCLTests {
			theirs = slices.DeleteFunc(slices.Clone(o.settings), func(v setting) bool { return v.pasted && c.taken[o.file+" "+v.name] })
		}
		c.shared = append(c.shared, theirs)
	}
}

// withOthers is what this result shows with what the others of the call add: their numbers, evidence, settings and
// logs, none of them its own.
func (s *observed) withOthers(all []*observed, own int) *observed {
	t := *s
	points, settings, logs := 0, 0, 0
	for i, o := range all {
		points, settings, logs = points+len(o.points), settings+len(s.call.shared[i]), logs+len(o.logs)
	}
	t.points = append(make([]point, 0, len(s.points)+points), s.points...)
	t.seen = append(make([]evidence.Evidence, 0, len(s.seen)+len(s.call.told)), s.seen...)
	t.settings = append(make([]setting, 0, len(s.settings)+settings), s.settings...)
	t.logs = append(make([]*fabric.NCCLLog, 0, len(s.logs)+logs), s.logs...)
	for i, o := range all {
		if i == own || s.record() && o.record() {
			continue
		}
		for _, p := range o.points {
			p.own = false
			t.points = append(t.points, p)
		}
		t.platforms |= o.platforms
		t.settings = append(t.settings, s.call.shared[i]...)
		t.logs = append(t.logs, o.logs...)
		t.hw = filled(t.hw, o.hw)
		t.guest = t.guest || o.guest
	}
	for _, o := range s.call.told {
		if o.by != own && (!s.record() || !all[o.by].record()) {
			t.seen = append(t.seen, o.evidence)
		}
	}
	t.heard = len(t.seen)
	return &t
}
