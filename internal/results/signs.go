package results

import (
	"strings"
	"sync"

	"railwright.dev/railwright/internal/envtext"
	"railwright.dev/railwright/internal/pattern"
)

// Signs are what is looked for in each line, all of it in one pass: what a claimer looks for, then the forms of faults in their
// order and the words of trouble, then what a sign stands for.
type Signs struct {
	set    *pattern.Set
	faults int // the place of the first form
	own    int // the place of the first sign
}

// sign is what readers ask for before they look at a line closely.
type sign int

const (
	ofSetting   sign = iota // of a debug log without its prefix
	ofVersion               // the same
	ofBanner                // of nccl-tests
	ofHeader                // of nccl-tests
	ofCommand               // of a table that follows
	ofRank                  // of nccl-tests: the GPU of a rank
	ofPerftest              // where no run of it is open
	ofRun                   // of perftest: its command
	ofTitle                 // of perftest
	ofDevice                // of perftest: the end of its use of a GPU
	ofOSU                   // a title
	ofParameter             // of a benchmark, behind a colon
	signs                   // how many there are
)

// NewSigns adds what is looked for here to what a claimer looks for, whose places stay.
func NewSigns(claimer *pattern.Set) *Signs {
	s := &Signs{set: claimer, faults: claimer.Len()}
	for _, e := range faultExpressions() {
		s.set.Add(pattern.Literals(e)...)
	}
	s.own = s.set.Len()
	for _, texts := range [signs][]string{
		ofSetting:   append(pattern.Literals(printedSetting()), envtext.Signs()...),
		ofVersion:   pattern.Literals(libraryVersion()),
		ofBanner:    {bannerSign},
		ofHeader:    {headerSign},
		ofCommand:   append(pattern.Literals(programName(), collectiveWord(), gibFolder(), testsVersion(), libraryVersion()), envtext.Signs()...),
		ofRank:      pattern.Literals(deviceLine()),
		ofPerftest:  perftestBegins(),
		ofRun:       pattern.Literals(perftestProgram()),
		ofTitle:     pattern.Literals(perftestTitle()),
		ofDevice:    {cudaEnds},
		ofOSU:       pattern.Literals(osuTitle()),
		ofParameter: {parameterSign},
	} {
		s.set.Add(texts...)
	}
	return s
}

// ownSigns are those where nobody claims lines.
var ownSigns = sync.OnceValue(func() *Signs { return NewSigns(pattern.NewSet()) })

// seen is what was found in a line before its readers were asked.
type seen struct {
	signs   *Signs
	members pattern.Members
	text    string // its own without white space around it
	message known  // that this is
}

// trimmed is the text of a line without white space around it.
func (l *line) trimmed() string {
	if l.seen == nil {
		return strings.TrimSpace(l.text)
	}
	return l.seen.text
}

// may reports whether a line may have what a sign stands for.
func (l *line) may(s sign) bool { return l.seen == nil || l.seen.members.Has(l.seen.signs.own+int(s)) }

// known is the message of the text of a line.
func (l *line) known(text string) known {
	if l.seen == nil {
		return knownIn(text)
	}
	return l.seen.message
}

// mayFault reports whether a line may have a form of a fault or a word of trouble.
func (l *line) mayFault() bool {
	return l.seen == nil || l.seen.members.Between(l.seen.signs.faults, l.seen.signs.own)
}
