package facts

import (
	"fmt"
	"path"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// maxACSBridges is far above the bridges of one machine; a longer list is no result of the script.
const maxACSBridges = 4096

// acsResult is what the rendered script writes.
type acsResult struct {
	fabric.Meta
	State   string   `json:"state"`
	Reason  string   `json:"reason"`
	Bridges int      `json:"bridges"`
	Cleared []string `json:"cleared"`
	Left    []string `json:"left"`
}

// acsUnit returns whether the unit that clears ACS is installed, and the result that it left in this boot.
func acsUnit(h host.Host) (*fabric.ACSUnit, error) {
	folder, name := path.Split(fabric.ACSUnitFile)
	units, err := h.ReadDir(path.Clean(folder)) // in part of a tree its absence says nothing
	if err != nil {
		return nil, err
	}
	u := fabric.ACSUnit{Installed: slices.Contains(units, name)}
	text, err := h.ReadFile(fabric.ACSResultFile)
	if host.IsAbsent(err) {
		return &u, nil
	}
	if err != nil {
		return nil, err
	}
	var r acsResult
	if err := fabric.Decode(text, fabric.ACSResultKind, &r); err != nil {
		return nil, err
	}
	known := []string{fabric.ACSCleared, fabric.ACSFailed, fabric.ACSRefused}
	switch {
	case !slices.Contains(known, r.State):
		return nil, fmt.Errorf("state %q: unknown; known: %q", fabric.Printable(r.State), known)
	case r.Bridges < 0 || r.Bridges > maxACSBridges || len(r.Left) > maxACSBridges:
		return nil, fmt.Errorf("lists %d bridges and %d left", r.Bridges, len(r.Left))
	case r.State == fabric.ACSCleared && (r.Bridges == 0 || len(r.Left) > 0):
		return nil, fmt.Errorf("says cleared of %d bridges with %d left", r.Bridges, len(r.Left))
	}
	u.State, u.Reason, u.Bridges = r.State, fabric.Printable(r.Reason), r.Bridges
	for _, address := range r.Left {
		u.Left = append(u.Left, fabric.Printable(address))
	}
	return &u, nil
}
