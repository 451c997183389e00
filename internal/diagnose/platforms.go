package diagnose

import (
	"slices"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/pattern"
)

// platforms are words by which texts and messages speak of a platform.
var platforms = []struct {
	name  string
	words func() *pattern.Regexp
}{
	{"container", pattern.New(`(?i)\b(?:containers?|docker|pods?|kubernetes|k8s|enroot|pyxis|apptainer|singularity)\b`)},
	{"scheduler", pattern.New(`(?i)\b(?:slurm\w*|srun|sbatch|lsf|pbs|kubernetes|k8s)\b`)},
	{"switch", pattern.New(`(?i)\b(?:switch(?:es)?|leaf|spine)\b`)},
}

// platformSet has a bit for each of platforms.
type platformSet uint8

// spoken are the platforms of which texts speak. Most of the texts of a result are those of the others.
type spoken map[string]platformSet

// of returns the platforms of which evidence speaks.
func (k spoken) of(seen []evidence.Evidence) (all platformSet) {
	for _, e := range seen {
		text := e.Where().Text
		set, known := k[text]
		if !known {
			for i, p := range platforms {
				if p.words().MatchString(text) {
					set |= 1 << i
				}
			}
			k[text] = set
		}
		all |= set
	}
	return all
}

// runnable returns whether a measurement that needs these things can be run as far as the result tells: platforms that
// nothing speaks of are not there.
func (s *observed) runnable() func(needs []string) bool {
	there := s.platforms | s.call.spoken.of(s.seen[s.heard:])
	absent := map[string]bool{"hypervisor": !s.virtual()}
	for i, p := range platforms {
		absent[p.name] = there&(1<<i) == 0
	}
	return func(needs []string) bool {
		return !slices.ContainsFunc(needs, func(need string) bool { return absent[need] })
	}
}
