package apply

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestSwitches(t *testing.T) {
	one := []fabric.Switch{{Name: "leaf1", OS: "sonic"}}
	files := map[string][]fabric.Artifact{"leaf1": {{File: "leaf1.json"}}, "leaf2": {{File: "leaf2.json"}}}
	const byOperator = `; applying to a switch with SONiC is not supported in this version: copy it to the switch and run: sudo config load leaf1.json`
	for _, c := range []struct {
		name     string
		switches []fabric.Switch
		files    map[string][]fabric.Artifact
		folder   string
		inLab    bool
		status   fabric.Status
		want     string // of the last one
	}{
		{"in a run folder", one, files, "run/artifacts", false, fabric.Unknown, "rendered to run/artifacts/leaf1.json" + byOperator},
		{"not written", one, files, "", false, fabric.Unknown, "railwright render writes it as leaf1.json" + byOperator},
		{"many say the same", append([]fabric.Switch{{Name: "leaf2", OS: "sonic"}}, one...), files, "a", false, fabric.Unknown, "rendered to a/SWITCH.json" + strings.ReplaceAll(byOperator, "leaf1", "SWITCH")},
		{"without a renderer", []fabric.Switch{{Name: "leaf1", OS: "no-os"}}, files, "a", false, fabric.Unknown, `switch OS "no-os": no configuration is rendered for it in this version; known: `},
		{"without a file", one, nil, "a", false, fabric.Unknown, "no file was rendered for it"},
		{"in the lab", one, files, "a", true, fabric.NotApplicable, "not applicable in the lab: the leaf is a bridge of this machine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Switches(c.switches, c.files, c.folder, c.inLab)
			last := got[len(got)-1]
			if len(got) != len(c.switches) || last.Node != "leaf1" || last.Status != c.status || !strings.HasPrefix(last.Error+last.Reason, c.want) || (last.Error == "") != c.inLab {
				t.Errorf("%+v", got)
			}
		})
	}
}
