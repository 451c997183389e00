package apply

import (
	"context"
	"errors"
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// VSphere is a vCenter that gets the classes, the namespace and the settings of virtual machines of a plan. Hosts are ESXHosts'.
type VSphere struct {
	Client *vcenter.Client
	Plan   *fabric.Plan // with VSphere; nil: of a rollback
	Folder string       // of the journals of vCenters, on this machine
	DryRun bool
	Force  bool // change what has the name of something planned and was made by others

	Doing func(format string, args ...any) // says what goes on
}

// VSphereFolder is where the journals of vCenters are on this machine.
func VSphereFolder() (string, error) { return stateFolder("vsphere") }

// Apply makes what the plan has and vCenter lacks, or says what that would be. What no API does under this program is pending, with
// the step of the runbook.
func (v VSphere) Apply(ctx context.Context) []Applied {
	a := Applied{Node: fabric.OnVCenter, Changes: []Change{}, Note: v.Client.Place()}
	if err := v.apply(ctx, &a); err != nil {
		a.Status, a.Error = fabric.Unknown, err.Error()
		return []Applied{a}
	}
	a.Status = a.judge(v.DryRun)
	return []Applied{a}
}

// Rollback puts back what the last apply from this machine changed.
func (v VSphere) Rollback(ctx context.Context) []Applied {
	a := Applied{Node: fabric.OnVCenter, Status: fabric.Pass, Changes: []Change{}, Note: v.Client.Place()}
	changes, err := v.rollback(ctx)
	if err != nil {
		a.Status, a.Error = fabric.Unknown, err.Error()
		return []Applied{a}
	}
	a.Changes = changes
	return []Applied{a}
}

func (v VSphere) apply(context.Context, *Applied) error {
	if v.Plan == nil || v.Plan.VSphere == nil {
		return errors.New("the plan has nothing for vCenter")
	}
	return errors.New("is not carried out yet")
}

func (v VSphere) rollback(context.Context) ([]Change, error) {
	return nil, fmt.Errorf("%s: %w from this machine", v.Client.Place(), ErrNoJournal)
}
