package facts

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// clearedACS is what the rendered script writes on a host of 18 bridges.
const clearedACS = `{"apiVersion":"railwright.dev/v1alpha1","kind":"ACSResult","state":"cleared","reason":"","bridges":18,"cleared":["0000:00:01.0"],"left":[]}` + "\n"

func TestACSUnit(t *testing.T) {
	failed := strings.NewReplacer(`"cleared","reason":""`, `"failed","reason":"not cleared: 0000:00:01.0"`, `"left":[]`, `"left":["0000:00:01.0"]`).Replace(clearedACS)
	for _, c := range []struct {
		name, result string
		installed    bool
		want         *fabric.ACSUnit
		err          string
	}{
		{"cleared", clearedACS, true, &fabric.ACSUnit{Installed: true, State: "cleared", Bridges: 18}, ""},
		{"by hand", clearedACS, false, &fabric.ACSUnit{State: "cleared", Bridges: 18}, ""},
		{"not run", "", true, &fabric.ACSUnit{Installed: true}, ""},
		{"failed", failed, true, &fabric.ACSUnit{Installed: true, State: "failed", Reason: "not cleared: 0000:00:01.0", Bridges: 18, Left: []string{"0000:00:01.0"}}, ""},
		{"cleared nothing", strings.Replace(clearedACS, "18", "0", 1), true, nil, "cleared of 0 bridges"},
		{"cleared, but left", strings.Replace(clearedACS, `"left":[]`, `"left":["x"]`, 1), true, nil, "1 left"},
		{"another state", strings.Replace(clearedACS, `"cleared","r`, `"done","r`, 1), true, nil, `state "done": unknown`},
		{"another kind", strings.Replace(clearedACS, "ACSResult", "Facts", 1), true, nil, "Facts"},
		{"too many", strings.Replace(clearedACS, "18", "1000000", 1), true, nil, "1000000 bridges"},
		{"no JSON", "cleared\n", true, nil, "invalid"},
		{"half", clearedACS[:len(clearedACS)/2], true, nil, "unexpected end"},
		{"empty", "\n", true, nil, "unexpected end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := fakeHost{files: map[string]string{"/etc/systemd/system/": ""}}
			if c.installed {
				h.files[fabric.ACSUnitFile] = "[Unit]\n"
			}
			if c.result != "" {
				h.files[fabric.ACSResultFile] = c.result
			}
			got, err := acsUnit(h)
			if diff := cmp.Diff(c.want, got); diff != "" || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("error %v, want %q (-want +got):\n%s", err, c.err, diff)
			}
		})
	}
	if u, err := acsUnit(fakeHost{}); u != nil || err == nil {
		t.Errorf("%+v of a tree without /etc", u)
	}
}

// Whatever stands in the file, what is read of it prints, and a pass has a bridge.
func FuzzACSResult(f *testing.F) {
	f.Add(clearedACS)
	f.Add(`{"apiVersion":"railwright.dev/v1alpha1","kind":"ACSResult","state":"failed","reason":"\u001b[2J","bridges":1,"left":["\u0007"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		u, err := acsUnit(fakeHost{files: map[string]string{fabric.ACSUnitFile: "", fabric.ACSResultFile: text}})
		if err != nil {
			return
		}
		if u.State == fabric.ACSCleared && (u.Bridges < 1 || len(u.Left) > 0) || strings.ContainsAny(u.Reason+strings.Join(u.Left, ""), "\x00\x1b\x07") {
			t.Errorf("%+v of %q", *u, text)
		}
	})
}
