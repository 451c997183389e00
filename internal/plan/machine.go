package plan

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/topology"
)

// machines returns the nominal machine of each catalog id that a group names, in the order of the file.
func machines(groups []intent.NodeGroup, cat *catalog.Catalog) ([]fabric.NominalMachine, error) {
	var all []fabric.NominalMachine
	for i, g := range groups {
		if g.Machine == "" || slices.ContainsFunc(all, func(m fabric.NominalMachine) bool { return m.ID == g.Machine }) {
			continue
		}
		m, err := topology.NominalMachine(cat, g.Machine)
		if err != nil {
			return nil, fmt.Errorf("nodes[%d].machine: %w", i, err)
		}
		all = append(all, m)
	}
	return all, nil
}
