package render

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
)

// CheckNICSettings reports why the NICs of a node cannot be set: the plan has no traffic classes, no machine with a NIC, or one
// of a vendor whose settings are unknown.
func CheckNICSettings(m fabric.NominalMachine, t *fabric.Traffic) error {
	_, err := vendorOf(m, t)
	return err
}

func vendorOf(m fabric.NominalMachine, t *fabric.Traffic) (nic.Vendor, error) {
	switch {
	case t == nil:
		return nic.Vendor{}, fmt.Errorf("the plan has no traffic classes")
	case m.NICDriver == "":
		return nic.Vendor{}, fmt.Errorf("the plan does not say which NICs there are: give the machine of the catalog (nodes, machine)")
	}
	return nic.ByDriver(m.NICDriver)
}

// NICSettings returns the files that set the traffic classes on the NICs of a node, and the environment of its collectives;
// none where CheckNICSettings has a reason. It panics on a name that CheckNICName refuses: the shell and systemd would read
// it otherwise.
func NICSettings(m fabric.NominalMachine, t *fabric.Traffic, n fabric.NodeAddresses) []fabric.Artifact {
	v, err := vendorOf(m, t)
	if err != nil {
		return nil
	}
	s := nic.Settings{Traffic: *t}
	for _, a := range n.NICs {
		if err := CheckNICName(a.NIC); err != nil {
			panic(err)
		}
		s.NICs = append(s.NICs, a.NIC)
	}
	var all []fabric.Artifact
	for _, f := range v.Files(s) {
		a := newArtifact(n.Node, f.Path, f.Mode, f.Text)
		a.Omits = f.Omits
		all = append(all, a)
	}
	return append(all, NCCLEnvironment(v, *t, n))
}
