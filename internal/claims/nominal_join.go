package claims

import "slices"

// Join adds the slices of other machines, and what is assumed or missing in them, once.
func (s *NominalSlices) Join(more NominalSlices) {
	s.slices = append(s.slices, more.slices...)
	for _, gap := range more.Gaps {
		if !slices.Contains(s.Gaps, gap) {
			s.Gaps = append(s.Gaps, gap)
		}
	}
}
