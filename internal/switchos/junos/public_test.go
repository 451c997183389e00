package junos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// publicJunos are configurations that people published, and mutants of them. They are not ours to keep here.
const publicJunos = "../../../../shared/data/roce-configs"

func readPublicJunos(t *testing.T, name string) *fabric.SwitchConfig {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(publicJunos, name+".txt"))
	if os.IsNotExist(err) {
		t.Skipf("%s: no published configurations on this machine", publicJunos)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !(OS{}).Recognizes(text) {
		t.Errorf("%s is not recognized", name)
	}
	return readJunos(string(text))
}

// lineOf returns what a configuration says of a port, and of nothing else.
func lineOf(c *fabric.SwitchConfig, port string) string {
	for _, line := range strings.Split(digest(c), "\n") {
		if strings.HasPrefix(line, port+" ") {
			return line
		}
	}
	return ""
}

func TestJunosPublic(t *testing.T) {
	for _, c := range []struct {
		name, port string
		says       []string
		not        string
		problems   []string
	}{
		{"25", "et-*", []string{"trust=dscp", "pfc=[3]", " d0=best-effort/0/-1 d26=NO-LOSS/4/3 d27=best-effort/0/-1 d48=CNP/3/-1 d49=", "stop3=4", "watchdog=true/drop/200/200",
			"q3=strict/5", "q4=weighted/?/ecn=true/drops=false/55-90/100", "mtu=?"}, "stop4", []string{"conflict:34"}},
		{"26", "et-0/0/0", []string{"pfc=[]", " d0=NO-LOSS/4/-1 d8=", "q4=weighted/?/ecn=true/drops=false/20-60/100"}, "", []string{"conflict:3", "conflict:42"}},
		{"26", "et-0/0/16:1", []string{"pfc=[0]", " d0=NO-LOSS/4/0 d8=best-effort", "watchdog=false", "q4=weighted/?/ecn=true/drops=false/20-60/100"}, "stop0", []string{"conflict:3", "conflict:42"}},
		{"27", "et-0/0/0", []string{"pfc=[3]", "d26=NO-LOSS/3/-1"}, "ecn=true", []string{"conflict:4", "foreign:9", "unattached:7"}},
		{"28", "et-0/0/0", []string{"pfc=[3] sends=false", "stop3=5", " d8=fc5/5/-1 d9=fc1/1/-1 d10=fc0/0/-1 ", "d26=fc5/5/-1", "d46=fc6/6/-1", "d48=fc7/7/-1", "d56=fc6/6/-1", "rewrite=fc5/8",
			"q0=weighted/49/ecn=true/drops=false/0-20/100", "q5=weighted/49/ecn=true/drops=false/1-2/100", "q6=strict", "q7=strict"}, "stop4", nil},
	} {
		t.Run(c.name+" "+c.port, func(t *testing.T) {
			got := readPublicJunos(t, c.name)
			line := lineOf(got, c.port)
			for _, want := range c.says {
				if !strings.Contains(line, want) {
					t.Errorf("no %q in %s", want, line)
				}
			}
			if c.not != "" && strings.Contains(line, c.not) {
				t.Errorf("%q in %s", c.not, line)
			}
			if k := kinds(got); !slices.Equal(k, c.problems) {
				t.Errorf("%v, not %v", k, c.problems)
			}
		})
	}
}

// Each mutant differs from its base where it was changed, and nowhere else.
func TestJunosMutants(t *testing.T) {
	for _, c := range []struct {
		name, base string
		changes    [][2]string // in the line of a port: what was there, what is there
		ports      []string
		problems   []string // new ones
	}{
		{"m37", "25", [][2]string{{"stop3=4", "stop3=3"}}, []string{"et-*"}, []string{"conflict:67"}},
		{"m38", "25", [][2]string{{"pfc=[3]", "pfc=[]"}, {" d26=NO-LOSS/4/3 d27=best-effort/0/-1", " d24=NO-LOSS/4/-1 d25=best-effort/0/-1"}}, []string{"et-*"}, []string{"conflict:60", "conflict:8"}},
		{"m39", "25", [][2]string{{"ecn=true/drops=false", "ecn=false/drops=true"}}, []string{"et-*"}, nil},
		{"m40", "26", [][2]string{{"pfc=[0]", "pfc=[]"}, {"d0=NO-LOSS/4/0", "d0=NO-LOSS/4/-1"}}, []string{"et-0/0/16:1"}, nil},
		{"m41", "25", [][2]string{{" q3=strict/5 q4=weighted/?/ecn=true/drops=false/55-90/100", ""}}, []string{"et-*"}, []string{"unattached:84"}},
		{"m60", "25", nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			base, got := readPublicJunos(t, c.base), readPublicJunos(t, c.name)
			want := digest(base)
			for _, port := range c.ports {
				old := lineOf(base, port)
				line := old
				for _, change := range c.changes {
					if !strings.Contains(line, change[0]) {
						t.Fatalf("no %q in %s", change[0], line)
					}
					line = strings.Replace(line, change[0], change[1], 1)
				}
				want = strings.Replace(want, old, line, 1)
			}
			if diff := cmp.Diff(want, digest(got)); diff != "" {
				t.Error(diff)
			}
			fresh := slices.DeleteFunc(kinds(got), func(k string) bool { return slices.Contains(kinds(base), k) })
			if !slices.Equal(fresh, c.problems) {
				t.Errorf("new problems are %v, not %v", fresh, c.problems)
			}
		})
	}
}
