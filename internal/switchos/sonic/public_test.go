package sonic

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// publicConfigs holds configurations that people published, and mutants of them. They are not ours to keep here.
const publicConfigs = "../../../../shared/data/roce-configs"

func publicText(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(publicConfigs, name))
	if os.IsNotExist(err) {
		t.Skipf("%s: no published configurations on this machine", publicConfigs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// publicBase is what the collection says of a text.
type publicBase struct {
	File string `json:"file"`
	OS   string `json:"os"`
	Says struct {
		PFC     []int    `json:"pfc_priorities"`
		Min     *float64 `json:"ecn_min_kib"`
		Max     *float64 `json:"ecn_max_kib"`
		Percent *int     `json:"ecn_probability"`
		MTU     *int     `json:"mtu"`
	} `json:"says"`
	ByPort   map[string][]int `json:"pfc_by_port"`
	Lossless json.RawMessage  `json:"lossless_dscp"`
	Marked   []int            `json:"ecn_queues"`
	Watchdog string           `json:"watchdog"`
}

func publicBases(t *testing.T) map[string]publicBase {
	t.Helper()
	var index struct{ Bases map[string]publicBase }
	if err := json.Unmarshal(publicText(t, "index.json"), &index); err != nil {
		t.Fatal(err)
	}
	return index.Bases
}

// inUse are the ports that the switch does something with: one without a row in PORT_QOS_MAP says nothing of RoCE.
func inUse(c *fabric.SwitchConfig) (ports []fabric.PortConfig) {
	for _, p := range c.Ports {
		if p.Up == nil || p.Up.Is {
			ports = append(ports, p)
		}
	}
	return ports
}

// lossless lists the DSCPs of a port that cause pauses, by priority.
func lossless(p fabric.PortConfig) map[string][]int {
	out := make(map[string][]int)
	if p.DSCP != nil {
		for d, t := range p.DSCP {
			if t.Pause != nil && t.Pause.Is >= 0 {
				key := fmt.Sprint(t.Pause.Is)
				out[key] = append(out[key], d)
			}
		}
	}
	return out
}

func TestSONiCReadsPublicConfigs(t *testing.T) {
	for id, b := range publicBases(t) {
		if b.OS != "sonic" || id == "17" {
			continue
		}
		t.Run(b.File, func(t *testing.T) {
			text := publicText(t, b.File)
			if !(OS{}).Recognizes(text) {
				t.Fatal("it is not recognized")
			}
			c := OS{}.Read("leaf1", []switchtext.Text{{File: b.File, Bytes: text}})
			if len(c.Unread) > 0 {
				t.Errorf("unread: %v", c.Unread)
			}
			says(t, b, c)
		})
	}
}

func says(t *testing.T, b publicBase, c *fabric.SwitchConfig) {
	t.Helper()
	for _, p := range inUse(c) {
		want := b.Says.PFC
		if list, ok := b.ByPort[p.Name]; ok {
			want = list
		}
		if want != nil && (p.PFC == nil || !slices.Equal(p.PFC.Is, want)) {
			t.Errorf("%s: PFC is %v, not %v", p.Name, p.PFC, want)
		}
		if b.Says.MTU != nil && (p.MTU == nil || p.MTU.Is != *b.Says.MTU) {
			t.Errorf("%s: MTU is %v, not %d", p.Name, p.MTU, *b.Says.MTU)
		}
		if b.Watchdog == "pfcwd_sw_enable 3,4" && (p.Watchdog == nil || !slices.Equal(p.Watchdog.Priorities.Is, []int{3, 4})) {
			t.Errorf("%s: the watchdog is %+v", p.Name, p.Watchdog)
		}
		for n, q := range p.Queues {
			if marks := q != nil && q.Marks != nil && q.Marks.ECN.Is; b.Marked != nil && marks != slices.Contains(b.Marked, n) {
				t.Errorf("%s: queue %d marks: %t", p.Name, n, marks)
			}
		}
	}
	var same map[string][]int
	byPort := make(map[string]map[string][]int)
	if b.Lossless != nil && json.Unmarshal(b.Lossless, &same) != nil {
		same = nil
		if err := json.Unmarshal(b.Lossless, &byPort); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range inUse(c) {
		want, ok := byPort[p.Name]
		if !ok {
			want = same
		}
		if want != nil {
			if diff := gocmp.Diff(want, lossless(p)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", p.Name, diff)
			}
		}
	}
	for _, q := range c.Profiles {
		if q.Name == "wredprofileabcd" {
			continue
		}
		if b.Says.Min != nil && (q.Min == nil || q.Min.Value != *b.Says.Min*1024 || q.Min.Unit != "bytes") {
			t.Errorf("%s: minimum %+v, not %g KiB", q.Name, q.Min, *b.Says.Min)
		}
		if b.Says.Max != nil && (q.Max == nil || q.Max.Value != *b.Says.Max*1024) {
			t.Errorf("%s: maximum %+v, not %g KiB", q.Name, q.Max, *b.Says.Max)
		}
		if b.Says.Percent != nil && (q.Percent == nil || q.Percent.Is != *b.Says.Percent) {
			t.Errorf("%s: %+v percent, not %d", q.Name, q.Percent, *b.Says.Percent)
		}
	}
}

// What is nearly JSON is refused with the line, and nothing of it is read.
func TestSONiCRefusesPublicAlmostJSON(t *testing.T) {
	text := publicText(t, "17.txt")
	c := OS{}.Read("leaf1", []switchtext.Text{{File: "17.txt", Bytes: text}})
	if !(OS{}).Recognizes(text) || len(c.Ports)+len(c.Profiles)+len(c.VLANs) > 0 || len(c.Problems) != 1 ||
		c.Problems[0].Kind != fabric.TextForeign || c.Problems[0].At.Number != 67 {
		t.Errorf("%+v", c)
	}
}

// facts writes all that a switch has, a fact a line, without the lines of its text.
func facts(c *fabric.SwitchConfig) []string {
	var out []string
	add := func(format string, values ...any) { out = append(out, fmt.Sprintf(format, values...)) }
	for _, p := range c.Ports {
		add("%s up %s mtu %s rate %s fec %s breakout %s vlan %s cable %s", p.Name, word(p.Up), word(p.MTU), word(p.RateGbps), word(p.FEC), word(p.Breakout), word(p.VLAN), word(p.CableM))
		add("%s trust %s pfc %s", p.Name, word(p.Trust), word(p.PFC))
		for _, a := range p.Addresses {
			add("%s address %s", p.Name, a.Is)
		}
		for n, s := range p.Stops {
			add("%s a pause of %d stops %s", p.Name, n, word(s))
		}
		if p.DSCP != nil {
			for d, t := range p.DSCP {
				add("%s DSCP %d class %s queue %s pause %s", p.Name, d, word(t.Class), word(t.Queue), word(t.Pause))
			}
		}
		if p.PCP != nil {
			for d, t := range p.PCP {
				add("%s PCP %d class %s queue %s pause %s", p.Name, d, word(t.Class), word(t.Queue), word(t.Pause))
			}
		}
		for n, q := range p.Queues {
			if q != nil {
				add("%s queue %d %s %s %s", p.Name, n, word(q.Algorithm), word(q.Weight), marks(q.Marks))
			}
		}
		if w := p.Watchdog; w != nil {
			add("%s watchdog %s %s %s %s %s", p.Name, word(w.On), word(w.Action), word(w.DetectMs), word(w.RestoreMs), word(w.Priorities))
		}
		for class, d := range p.Rewrite {
			add("%s rewrites %s to %d", p.Name, class, d.Is)
		}
	}
	for _, p := range c.Problems {
		add("problem %s %s %s", p.Kind, p.Port, p.What)
	}
	for _, v := range c.VLANs {
		add("VLAN %d %d addresses mtu %s", v.ID, len(v.Addresses), word(v.MTU))
	}
	slices.Sort(out)
	return out
}

func word[T any](s *fabric.Said[T]) string {
	if s == nil {
		return "unknown"
	}
	return fmt.Sprint(s.Is)
}

func marks(q *fabric.QueueProfile) string {
	if q == nil {
		return "unknown"
	}
	edge := func(t *fabric.Threshold) string {
		if t == nil {
			return "none"
		}
		return fmt.Sprint(t.Value)
	}
	return fmt.Sprintf("%q ecn %t drops %t %s to %s at %s", q.Name, q.ECN.Is, q.Drops, edge(q.Min), edge(q.Max), word(q.Percent))
}

// Each mutant differs from its base in facts that begin as listed, and in no others.
func TestSONiCReadsPublicMutants(t *testing.T) {
	for _, c := range []struct {
		mutant, base string
		where        []string
	}{
		{"m01", "01", []string{"Ethernet8 trust dscp pfc", "Ethernet8 DSCP 3 ", "Ethernet8 a pause of 3 ", "problem conflict Ethernet8 "}},
		{"m02", "01", []string{"Ethernet0 DSCP 3 ", "Ethernet4 DSCP 3 ", "Ethernet8 DSCP 3 ", "Ethernet12 DSCP 3 "}},
		{"m03", "01", []string{"Ethernet4 queue 3 "}},
		{"m04", "01", []string{"Ethernet0 queue 3 ", "Ethernet4 queue 3 ", "Ethernet8 queue 3 ", "Ethernet12 queue 3 "}},
		{"m05", "01", []string{"problem range ", "Ethernet0 queue 3 ", "Ethernet4 queue 3 ", "Ethernet8 queue 3 ", "Ethernet12 queue 3 "}},
		{"m06", "01", []string{"Ethernet0 DSCP 3 ", "Ethernet4 DSCP 3 ", "Ethernet8 DSCP 3 ", "Ethernet12 DSCP 3 "}},
		{"m07", "01", []string{"Ethernet0 a pause of 3 ", "Ethernet4 a pause of 3 ", "Ethernet8 a pause of 3 ", "Ethernet12 a pause of 3 ", "problem conflict Ethernet0 a pause of priority 4 stops queue 4"}},
		{"m08", "02", []string{"Ethernet136 DSCP "}},
		{"m09", "02", []string{"Ethernet0 watchdog "}},
		{"m10", "02", []string{"Ethernet0 DSCP 48 ", "Ethernet4 DSCP 48 "}},
		{"m11", "03", []string{"Ethernet16 DSCP "}},
		{"m12", "03", []string{"Ethernet24 trust ", "Ethernet24 DSCP ", "Ethernet24 a pause of ", "Ethernet24 watchdog "}},
		{"m13", "05", []string{"Ethernet4 up "}},
		{"m14", "05", []string{"problem range ", "Ethernet0 queue 3 ", "Ethernet0 queue 4 ", "Ethernet4 queue 3 ", "Ethernet4 queue 4 ", "Ethernet8 queue 3 ", "Ethernet8 queue 4 "}},
		{"m15", "05", []string{"Ethernet8 queue 2 ", "Ethernet8 queue 3 "}},
		{"m16", "07", []string{"all trust ", "all DSCP 4 ", "all a pause of 4 ", "all a pause of 5 "}},
		{"m17", "07", []string{"all queue 3 "}},
		{"m18", "07", []string{"Ethernet64 "}},
		{"m19", "06", []string{"all DSCP 26 "}},
		{"m20", "09", []string{"problem undefined Ethernet8 ", "Ethernet8 queue 3 "}},
		{"m59", "07", []string{"problem duplicate ", "all queue 3 ", "all queue 4 "}},
		{"m63", "03", nil},
	} {
		t.Run(c.mutant, func(t *testing.T) {
			read := func(name string) []string {
				return facts(OS{}.Read("leaf1", []switchtext.Text{{File: name, Bytes: publicText(t, name+".json")}}))
			}
			base, mutant := read(c.base), read(c.mutant)
			hit := make(map[string]bool)
			for _, fact := range changed(base, mutant) {
				where := ""
				for _, w := range c.where {
					general := fact
					if rest, ok := strings.CutPrefix(w, "all "); ok && strings.HasPrefix(fact, "Ethernet") {
						_, general, _ = strings.Cut(fact, " ")
						w, general = "all "+rest, "all "+general
					}
					if strings.HasPrefix(general, w) {
						where = w
					}
				}
				hit[where] = true
				if where == "" {
					t.Errorf("also changed: %s", fact)
				}
			}
			for _, w := range c.where {
				if !hit[w] {
					t.Errorf("unchanged: %s", w)
				}
			}
		})
	}
}

// changed lists the facts that only one of two has.
func changed(a, b []string) (out []string) {
	for _, x := range a {
		if !slices.Contains(b, x) {
			out = append(out, x)
		}
	}
	for _, x := range b {
		if !slices.Contains(a, x) {
			out = append(out, x)
		}
	}
	return out
}

// SONiC's texts are recognized, and those of other systems are not.
func TestSONiCRecognizesPublic(t *testing.T) {
	for id, b := range publicBases(t) {
		if _, err := os.Stat(filepath.Join(publicConfigs, b.File)); err != nil {
			continue // not every one is kept
		}
		if got := (OS{}).Recognizes(publicText(t, b.File)); got != (b.OS == "sonic") {
			t.Errorf("%s (%s): %t", id, b.OS, got)
		}
	}
}
