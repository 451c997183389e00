package pipeline

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/switchcheck"
	"railwright.dev/railwright/internal/switchos"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// models are the switches of the documents, one for each language.
var models = map[string]string{"sonic": "z9664f", "dell-sonic": "sse-t8032", "eos": "7060dx4-32", "junos": "qfx5240", "routeros": "crs520-4xs-16xq"}

// parts is the catalog, read once.
var parts = sync.OnceValues(catalog.Load)

// randomPlan is the plan of a random small cluster whose leaves have an OS.
func randomPlan(t testing.TB, rng *rand.Rand, os string) *fabric.Plan {
	t.Helper()
	cat, err := parts()
	if err != nil {
		t.Fatal(err)
	}
	roce, cnp := 1+rng.IntN(63), 1+rng.IntN(63)
	for cnp == roce {
		cnp = 1 + rng.IntN(63)
	}
	priority := 1 + rng.IntN(6)
	notify := 7
	if rng.IntN(3) == 0 && priority != 6 {
		notify = 6
	}
	low := 64 + rng.IntN(2000)
	scheme := []string{"p2p31", "rail24"}[rng.IntN(2)]
	text := fmt.Sprintf(`apiVersion: railwright.dev/v1alpha1
kind: Cluster
metadata: {name: a}
platform: baremetal
nodes: [{names: "h[1-%d]", nics: "eth[1-%d]"}]
fabric:
  kind: roce
  mtu: %d
  leaf: {model: %s, os: %s%s}
%s  addressing: {scheme: %s}
  traffic:
    roce: {dscp: %d, priority: %d}
    cnp: {dscp: %d, priority: %d}
    ecn: {min_kib: %d, max_kib: %d, probability: %d}
    share: %d
    watchdog: {detect_ms: %d, restore_ms: %d}
    cable_m: %d
`, 2+rng.IntN(2), 1+rng.IntN(3), []int{9000, 4200}[rng.IntN(2)], models[os], os, []string{"", ", count: 2"}[rng.IntN(2)],
		"  spine: {model: "+models[os]+", os: "+os+"}\n", scheme, roce, priority, cnp, notify, low, low+100+rng.IntN(4000), 1+rng.IntN(100), 10+rng.IntN(80),
		100+10*rng.IntN(50), 400+10*rng.IntN(100), 1+rng.IntN(40))
	cluster, err := intent.Parse("c", []byte(text), cat)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p, err := plan.New(cluster, cat)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return p
}

// verdictsOn judges a text of the plan's first switch; what is not pass or not applicable is returned as text.
func verdictsOn(t testing.TB, p *fabric.Plan, text []byte, nics map[fabric.Endpoint]switchcheck.NICEnd) []string {
	t.Helper()
	r, err := switchos.Language(text)
	if err != nil {
		return []string{"refused: " + err.Error()}
	}
	c := r.Read(p.Switches[0].Name, []switchtext.Text{{File: "text", Bytes: text}})
	configs := []*fabric.SwitchConfig{c}
	if nics != nil {
		configs = append(configs, others(t, p)...)
	}
	rendered := renderedSwitches(p, configs)
	var out []string
	for _, rule := range switchcheck.Rules() {
		for _, f := range rule.Judge(&switchcheck.Input{Plan: p, Configs: configs, Rendered: rendered, NICs: nics}) {
			if f.Status == fabric.Fail || f.Status == fabric.Unknown {
				out = append(out, rule.ID+" "+f.Subject.String()+" "+f.Status.String()+": "+f.Why)
			}
		}
	}
	return out
}

// others are all switches of a plan but the first, as rendered.
func others(t testing.TB, p *fabric.Plan) []*fabric.SwitchConfig {
	t.Helper()
	var out []*fabric.SwitchConfig
	for _, s := range p.Switches[1:] {
		text := renderSwitch(t, s, p.Traffic)
		r, err := switchos.Language(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r.Read(s.Name, []switchtext.Text{{File: s.Name, Bytes: text}}))
	}
	return out
}

func renderSwitch(t testing.TB, s fabric.Switch, traffic *fabric.Traffic) []byte {
	t.Helper()
	os, err := switchos.Find(s.OS)
	if err != nil {
		t.Fatal(err)
	}
	return os.Render(s, traffic).Text
}

// plannedNICs do what the plan says.
func plannedNICs(p *fabric.Plan) map[fabric.Endpoint]switchcheck.NICEnd {
	out := map[fabric.Endpoint]switchcheck.NICEnd{}
	var roce, cnp fabric.TrafficClass
	for _, c := range p.Traffic.Classes {
		if c.Name == "roce" {
			roce = c
		} else {
			cnp = c
		}
	}
	queues := make([]int, 8)
	queues[roce.Priority], queues[cnp.Priority] = 1, 2
	for _, l := range p.Cabling.Links {
		out[l.A] = switchcheck.NICEnd{MTU: p.MTU, QoS: &fabric.QoS{Trust: "dscp", DSCP: fabric.DSCPPriorities{roce.DSCP: roce.Priority, cnp.DSCP: cnp.Priority}, PFC: &[]int{roce.Priority},
			Queues: queues, Schedulers: []fabric.Scheduler{{Algorithm: "ets"}, {Algorithm: "ets"}, {Algorithm: "strict"}}, Pause: new(false),
			RoCE: &fabric.Marking{DSCP: &roce.DSCP, Priority: &roce.Priority}, CNP: &fabric.Marking{DSCP: &cnp.DSCP, Priority: &cnp.Priority}, ECN: &[]int{0, 1, 2, 3, 4, 5, 6, 7}}}
	}
	return out
}

// TestRenderedIsRight: what is rendered for random intents, in every language, reads back as planned: each rule passes, and
// the network is proved lossless.
func TestRenderedIsRight(t *testing.T) {
	plans := 50
	if testing.Short() {
		plans = 5
	}
	for os := range models {
		t.Run(os, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, 2))
			for range plans {
				p := randomPlan(t, rng, os)
				text := renderSwitch(t, p.Switches[0], p.Traffic)
				if found := verdictsOn(t, p, text, plannedNICs(p)); len(found) > 0 {
					t.Fatalf("%s\n%s", strings.Join(found, "\n"), text)
				}
			}
		})
	}
}

// value is a number that stands by itself, or in a name of a class or between dots.
var value = regexp.MustCompile(`\d+`)

// neutral are lines whose values are names, or what only people read.
var neutral = regexp.MustCompile(`(?i)hostname|host-name|description|^!|^\s*/\*|^\s*#|"name"|^\s*name |"spine|as-path|load-interval|^remove \[ find (?:address|name|vlan-ids|list)=`)

// sameModel reports whether two texts of a switch were read as the same, whatever their lines.
func sameModel(t testing.TB, a, b []byte) bool {
	t.Helper()
	read := func(text []byte) *fabric.SwitchConfig {
		r, err := switchos.Language(text)
		if err != nil {
			return nil
		}
		c := r.Read("leaf1", []switchtext.Text{{File: "text", Bytes: text}})
		c.Texts = nil // their number of lines
		return c
	}
	return cmp.Equal(read(a), read(b), cmp.Comparer(func(fabric.Line, fabric.Line) bool { return true }),
		cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmp.Comparer(func(a, b netip.Addr) bool { return a == b }))
}

// TestSingleChangesAreNamed changes single values of rendered texts: at least 95 % of those that change what the switch does are
// named. The others are printed: a value of a class that no packet is in, a part of the text that has no bearing on RoCE.
func TestSingleChangesAreNamed(t *testing.T) {
	wanted := 200
	if testing.Short() {
		wanted = 20
	}
	for os := range models {
		t.Run(os, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(3, 4))
			named, silent, nothing := 0, []string{}, []string{}
			for named+len(silent) < wanted {
				p := randomPlan(t, rng, os)
				text := renderSwitch(t, p.Switches[0], p.Traffic)
				changed, what := oneValue(rng, text)
				for range 1000 { // a plan and its text take longer than to look for another value in it
					if what != "" {
						break
					}
					changed, what = oneValue(rng, text)
				}
				if what == "" {
					t.Fatalf("no value to change in\n%s", text)
				}
				switch {
				case len(verdictsOn(t, p, changed, nil)) > 0:
					named++
				case sameModel(t, text, changed):
					nothing = append(nothing, what)
				default:
					silent = append(silent, what)
				}
			}
			slices.Sort(silent)
			slices.Sort(nothing)
			t.Logf("%d of %d named; not: %s\n%d change nothing that is read: %s", named, wanted, strings.Join(silent, "\n"), len(nothing), strings.Join(nothing, "\n"))
			if named*100 < 95*wanted {
				t.Errorf("%d of %d changes were named", named, wanted)
			}
		})
	}
}

// oneValue changes one number of a line that matters.
func oneValue(rng *rand.Rand, text []byte) (changed []byte, what string) {
	lines := bytes.Split(text, []byte("\n"))
	n := rng.IntN(len(lines))
	line := string(lines[n])
	at := value.FindAllStringIndex(line, -1)
	if len(at) == 0 || neutral.MatchString(line) {
		return nil, ""
	}
	one := at[rng.IntN(len(at))]
	number, err := strconv.Atoi(line[one[0]:one[1]])
	if err != nil {
		return nil, ""
	}
	other := strconv.Itoa(max(0, number+[]int{1, -1, 2, 5, number}[rng.IntN(5)]))
	if len(other) < one[1]-one[0] && line[one[0]] == '0' { // code points keep their length
		other = strings.Repeat("0", one[1]-one[0]-len(other)) + other
	}
	if other == line[one[0]:one[1]] {
		return nil, ""
	}
	fresh := line[:one[0]] + other + line[one[1]:]
	lines[n] = []byte(fresh)
	return bytes.Join(lines, []byte("\n")), strings.TrimSpace(line) + " -> " + strings.TrimSpace(fresh)
}

// TestNICChangesAreNamed changes single values of what a NIC does, beside switches as rendered.
func TestNICChangesAreNamed(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	edits := map[string]func(*switchcheck.NICEnd, *fabric.QoS, fabric.TrafficClass){
		"priority of RoCE": func(_ *switchcheck.NICEnd, q *fabric.QoS, roce fabric.TrafficClass) {
			q.DSCP[roce.DSCP] = (roce.Priority + 1 + rng.IntN(7)) % 8
		},
		"no PFC": func(_ *switchcheck.NICEnd, q *fabric.QoS, _ fabric.TrafficClass) { q.PFC = &[]int{} },
		"PFC moved": func(_ *switchcheck.NICEnd, q *fabric.QoS, roce fabric.TrafficClass) {
			q.PFC = &[]int{(roce.Priority + 1 + rng.IntN(7)) % 8}
		},
		"PFC on two": func(_ *switchcheck.NICEnd, q *fabric.QoS, roce fabric.TrafficClass) {
			*q.PFC = append(*q.PFC, (roce.Priority+1+rng.IntN(7))%8)
		},
		"trust":      func(_ *switchcheck.NICEnd, q *fabric.QoS, _ fabric.TrafficClass) { q.Trust = "pcp" },
		"link pause": func(_ *switchcheck.NICEnd, q *fabric.QoS, _ fabric.TrafficClass) { q.Pause = new(true) },
		"another DSCP": func(_ *switchcheck.NICEnd, q *fabric.QoS, roce fabric.TrafficClass) {
			q.RoCE = &fabric.Marking{DSCP: new((roce.DSCP + 1) % 64)}
		},
		"larger MTU":     func(n *switchcheck.NICEnd, _ *fabric.QoS, _ fabric.TrafficClass) { n.MTU = 9600 },
		"not read":       func(n *switchcheck.NICEnd, _ *fabric.QoS, _ fabric.TrafficClass) { n.QoS = nil },
		"PFC not read":   func(_ *switchcheck.NICEnd, q *fabric.QoS, _ fabric.TrafficClass) { q.PFC = nil },
		"trust not read": func(_ *switchcheck.NICEnd, q *fabric.QoS, _ fabric.TrafficClass) { q.Trust = "" },
	}
	for os := range models {
		for name, edit := range edits {
			t.Run(os+" "+name, func(t *testing.T) {
				p := randomPlan(t, rng, os)
				text := renderSwitch(t, p.Switches[0], p.Traffic)
				nics := plannedNICs(p)
				victim := p.Cabling.Links[rng.IntN(len(p.Cabling.Links))].A
				end := nics[victim]
				roce, _ := roceOf(p)
				edit(&end, end.QoS, roce)
				nics[victim] = end
				found := verdictsOn(t, p, text, nics)
				if !slices.ContainsFunc(found, func(f string) bool { return strings.Contains(f, victim.String()) }) {
					t.Errorf("%s of %s is not named: %q", name, victim, found)
				}
			})
		}
	}
}

func roceOf(p *fabric.Plan) (fabric.TrafficClass, bool) {
	i := slices.IndexFunc(p.Traffic.Classes, func(c fabric.TrafficClass) bool { return c.Name == "roce" })
	return p.Traffic.Classes[i], i >= 0
}
