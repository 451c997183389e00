package pipeline

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchcheck"
	"railwright.dev/railwright/internal/switchos"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// roceConfigs are public configurations of switches, and mutants of them, beside the repository.
const roceConfigs = "../../../shared/data/roce-configs"

type publicConfig struct {
	File   string        `json:"file"`
	OS     string        `json:"os"`
	Kind   string        `json:"kind"`
	Intent *publicIntent `json:"intent_for_test"`
}

type publicIntent struct {
	RoCEDSCP *int `json:"roce_dscp"`
	RoCE     *int `json:"roce_priority"`
	CNPDSCP  *int `json:"cnp_dscp"`
	CNP      *int `json:"cnp_priority"`
	Min      *int `json:"ecn_min_kib"`
	Max      *int `json:"ecn_max_kib"`
	Percent  *int `json:"ecn_probability"`
	MTU      *int `json:"mtu"`
}

type publicMutant struct {
	File    string `json:"file"`
	Base    string `json:"base"`
	Changed string `json:"changed"`
	Must    string `json:"must"`
	Control bool   `json:"control"`
}

func loadPublic(t *testing.T) (bases map[string]publicConfig, mutants map[string]publicMutant) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(roceConfigs, "index.json"))
	if err != nil {
		t.Skipf("public configurations are not beside the repository: %v", err)
	}
	var index struct {
		Bases   map[string]publicConfig `json:"bases"`
		Mutants map[string]publicMutant `json:"mutants"`
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	return index.Bases, index.Mutants
}

// planFor is the plan that a public configuration was made for, or that of the documents, without ports: those of its text
// are judged.
func planFor(c publicConfig) *fabric.Plan {
	if c.Intent == nil {
		c.Intent = &publicIntent{}
	}
	or := func(p *int, other int) int {
		if p == nil {
			return other
		}
		return *p
	}
	roce := fabric.TrafficClass{Name: "roce", DSCP: or(c.Intent.RoCEDSCP, 26), Priority: or(c.Intent.RoCE, 3), Lossless: true}
	if c.Intent.Min != nil && c.Intent.Max != nil {
		roce.ECN = &fabric.ECN{MinBytes: int64(*c.Intent.Min) << 10, MaxBytes: int64(*c.Intent.Max) << 10, Percent: or(c.Intent.Percent, 5)}
	} else if c.Intent.CNPDSCP != nil {
		roce.ECN = &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}
	}
	return &fabric.Plan{MTU: or(c.Intent.MTU, 9000), Transport: fabric.RoCE, Traffic: &fabric.Traffic{
		Classes: []fabric.TrafficClass{{Name: "cnp", DSCP: or(c.Intent.CNPDSCP, 48), Priority: or(c.Intent.CNP, 7)}, roce}, Share: 50, CableM: 5},
		Switches: []fabric.Switch{{Name: "leaf1", OS: c.OS}}}
}

// findings are the verdicts on a file that are no passes, as text.
func findings(t *testing.T, file string, plan *fabric.Plan) map[string]bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(roceConfigs, file))
	if err != nil {
		t.Fatal(err)
	}
	r, err := switchos.Language(text)
	if err != nil {
		return map[string]bool{"refused: " + err.Error(): true}
	}
	c := r.Read("leaf1", []switchtext.Text{{File: "text", Bytes: text}})
	out := map[string]bool{}
	for _, rule := range switchcheck.Rules() {
		for _, f := range rule.Judge(&switchcheck.Input{Plan: plan, Configs: []*fabric.SwitchConfig{c}}) {
			if f.Status == fabric.Fail || f.Status == fabric.Unknown {
				out[rule.ID+" "+f.Subject.String()+" "+f.Status.String()+": "+f.Why] = true
			}
		}
	}
	return out
}

// TestPublicMutants: each change of a public configuration is named beside what its base has, and a control gives nothing new.
func TestPublicMutants(t *testing.T) {
	bases, mutants := loadPublic(t)
	var ids []string
	for id := range mutants {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		m := mutants[id]
		base := bases[m.Base[:2]]
		if !slices.Contains(switchos.IDs(), base.OS) {
			continue
		}
		t.Run(id, func(t *testing.T) {
			for _, plan := range []*fabric.Plan{planFor(base), nil} {
				before := findings(t, base.File, plan)
				var fresh []string
				for f := range findings(t, m.File, plan) {
					if !before[f] {
						fresh = append(fresh, f)
					}
				}
				slices.Sort(fresh)
				switch {
				case m.Control && len(fresh) > 0:
					t.Errorf("%s (a control), plan %v: new: %q", m.Changed, plan != nil, fresh)
				case !m.Control && len(fresh) == 0 && plan != nil:
					t.Errorf("%s: must say: %s: nothing new, plan %v", m.Changed, m.Must, plan != nil)
				default:
					t.Logf("plan %v: %s | must: %s | %q", plan != nil, m.Changed, m.Must, fresh)
				}
			}
		})
	}
}
