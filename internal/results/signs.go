package results

import (
	"sync"

	"railwright.dev/railwright/internal/pattern"
)

// signSet finds in one pass over a line which expressions of the readers it may match, and which texts it may have. First stand
// the forms of faults in their order, then the words of trouble.
type signSet struct {
	*pattern.Set
	faults int // how many these are

	setting, version   int // of a debug log without its prefix
	banner, header     int // of nccl-tests
	command            int // of a table that follows
	run, title, device int // of perftest
	osu                int
	parameter          int // of a benchmark, behind a colon
}

var lineSigns = sync.OnceValue(func() *signSet {
	s := &signSet{Set: pattern.NewSet(faultExpressions()...)}
	s.faults = s.Len()
	of := func(all ...func() *pattern.Regexp) int {
		var expressions []*pattern.Regexp
		for _, one := range all {
			expressions = append(expressions, one())
		}
		return s.Add(pattern.Literals(expressions...)...)
	}
	s.setting, s.version = of(bareSetting), of(libraryVersion)
	s.banner, s.header = s.Add(bannerSign), s.Add(headerSign)
	s.command = of(programName, collectiveWord, exportSetting, leadingSetting, gibFolder, testsVersion, libraryVersion)
	s.run, s.title, s.device = of(perftestProgram), of(perftestTitle), s.Add(cudaEnds)
	s.osu = of(osuTitle)
	s.parameter = s.Add(parameterSign)
	return s
})

// may reports whether a line may have what a place of lineSigns stands for.
func (l *line) may(place int) bool { return l.signs == nil || l.signs.Has(place) }

// mayFault reports whether a line may have a form of a fault or a word of trouble.
func (l *line) mayFault() bool { return l.signs == nil || l.signs.Below(lineSigns().faults) }
