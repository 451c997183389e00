package claims

import (
	"slices"

	resource "k8s.io/api/resource/v1"
)

// Join adds the slices of other machines, and what is assumed or missing in them, once.
func (s *NominalSlices) Join(more NominalSlices) {
	s.slices = append(s.slices, more.slices...)
	for _, gap := range more.Gaps {
		if !slices.Contains(s.Gaps, gap) {
			s.Gaps = append(s.Gaps, gap)
		}
	}
}

// Objects reads the slices as those of a file. Slices with the same devices, as of equal machines, are read once.
func (s NominalSlices) Objects(version string) (*Objects, error) {
	first := map[*resource.Device]int{} // place in once
	once := NominalSlices{}
	for _, one := range s.slices {
		if len(one.Spec.Devices) == 0 {
			continue
		}
		if _, known := first[&one.Spec.Devices[0]]; !known {
			first[&one.Spec.Devices[0]] = len(once.slices)
			once.slices = append(once.slices, one)
		}
	}
	read, err := once.read(version)
	if err != nil {
		return nil, err
	}
	if len(read.problems) > 0 || len(read.slices) != len(once.slices) {
		return s.read(version)
	}
	all := *read
	all.slices = nil
	for _, one := range s.slices {
		if len(one.Spec.Devices) == 0 {
			continue
		}
		like := *read.slices[first[&one.Spec.Devices[0]]]
		like.Name, like.Spec.NodeName, like.Spec.Pool = one.Name, one.Spec.NodeName, one.Spec.Pool
		bare := like
		bare.Spec.Devices = nil
		if len(sliceFaults(&bare)) > 0 {
			return s.read(version)
		}
		all.slices = append(all.slices, &like)
	}
	return &all, nil
}

func (s NominalSlices) read(version string) (*Objects, error) {
	text, err := SliceJSON(s, version)
	if err != nil {
		return nil, err
	}
	return Read([]File{{Name: "nominal slices", Text: text}}), nil
}
