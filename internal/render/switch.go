package render

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos"
)

// CheckSwitchOS reports whether the configuration of a switch OS can be rendered; the error lists those that can.
func CheckSwitchOS(name string) error {
	_, err := switchos.Find(name)
	return err
}

// SwitchConfig returns the configuration of a switch; t is nil where the plan has no traffic classes. ok is false
// where CheckSwitchOS refuses its OS.
func SwitchConfig(s fabric.Switch, t *fabric.Traffic) (a fabric.Artifact, ok bool) {
	os, err := switchos.Find(s.OS)
	if err != nil {
		return fabric.Artifact{}, false
	}
	c := os.Render(s, t)
	a = newArtifact(s.Name, c.Path, modePublic, c.Text)
	a.File = s.Name + c.Extension // one file a switch: `check --switch` takes it as it is
	a.Omits = c.Omits
	return a, true
}
