package topology

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// ACSLists sorts the functions of a host by Access Control Services (PCI Express Base Specification 5.0, 7.7.8), each list in
// order of address.
type ACSLists struct {
	Enabled  []ACSFunction `json:"enabled"`  // with at least one control bit set
	Disabled []ACSFunction `json:"disabled"` // with the capability, and no control bit set
	Unread   []string      `json:"unread"`   // of which it is unknown
	Without  int           `json:"without"`  // functions without the capability
}

// Capable is the number of functions with the capability.
func (l ACSLists) Capable() int { return len(l.Enabled) + len(l.Disabled) }

// ACSFunction is a function with the capability.
type ACSFunction struct {
	Address   string `json:"address"`
	Control   uint16 `json:"control"`
	Flags     string `json:"flags"`     // as lspci writes ACSCtl
	Redirects bool   `json:"redirects"` // request or completion redirect is set: traffic between devices below goes up to the root complex
}

func acsLists(f *fabric.Facts) ACSLists {
	l := ACSLists{Enabled: []ACSFunction{}, Disabled: []ACSFunction{}, Unread: []string{}}
	for i := range f.PCI {
		d := &f.PCI[i]
		switch {
		case d.ACS == nil:
			l.Unread = append(l.Unread, d.Address)
			continue
		case !d.ACS.Present:
			l.Without++
			continue
		}
		fn := ACSFunction{Address: d.Address, Control: d.ACS.Control, Flags: d.ACS.Flags(),
			Redirects: d.ACS.Control&(fabric.ACSRequestRedirect|fabric.ACSCompletionRedirect) != 0}
		if fn.Control == 0 {
			l.Disabled = append(l.Disabled, fn)
		} else {
			l.Enabled = append(l.Enabled, fn)
		}
	}
	byAddress := func(a, b ACSFunction) int { return CompareBus(a.Address, b.Address) }
	slices.SortFunc(l.Enabled, byAddress)
	slices.SortFunc(l.Disabled, byAddress)
	slices.SortFunc(l.Unread, CompareBus)
	return l
}
