package prepare

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// model is a host with one GPU and one NIC, and what of it takes effect when.
type model struct {
	vib, tool        bool // installed, in force
	kernel, kernelIn bool // setting configured, in force
	rule, ruleIn     bool // reset rule in the file, read
	stored, storedIn bool // ATS
	pass, passIn     bool // passthrough of the NIC
	broken           bool // mst shows the NIC only in recovery mode, until it was started so once
	rec, recIn       bool // recovery mode configured, in force
}

func (m model) boot() model {
	m.tool, m.kernelIn, m.ruleIn, m.storedIn, m.passIn, m.recIn = m.vib, m.kernel, m.rule, m.stored, m.pass, m.rec
	m.broken = m.broken && !m.recIn
	return m
}

func (m model) shown() bool { return m.tool && !m.passIn && !m.broken }

func (m model) done() bool {
	return m.vib && m.tool && m.kernel && m.kernelIn && m.rule && m.ruleIn && m.stored && m.storedIn && m.pass && m.passIn && !m.rec && !m.recIn
}

// least is how few starts bring a host to its goal, whatever else is done between them: all states are tried.
func least(m model) int {
	edge := map[model]bool{m: true}
	for starts := range 6 {
		for grew := true; grew; {
			grew = false
			for s := range edge {
				for _, n := range s.acts() {
					if !edge[n] {
						edge[n], grew = true, true
					}
				}
			}
		}
		next := make(map[model]bool)
		for s := range edge {
			if s.done() {
				return starts
			}
			next[s.boot()] = true
		}
		edge = next
	}
	return -1
}

func (m model) acts() (all []model) {
	do := func(may bool, f func(*model)) {
		if may {
			n := m
			f(&n)
			all = append(all, n)
		}
	}
	do(true, func(n *model) { n.vib = true })
	do(true, func(n *model) { n.kernel = true })
	do(true, func(n *model) { n.rule = true })
	do(m.shown(), func(n *model) { n.stored = true })
	do(m.shown() && m.stored, func(n *model) { n.pass = true }) // what is passed through is seen no longer
	do(m.broken && m.tool, func(n *model) { n.rec = true })     // what is not seen before the tools are there is no reason for it
	do(!m.broken, func(n *model) { n.rec = false })
	return all
}

func goal() fabric.ESXGoal {
	return fabric.ESXGoal{Mode: fabric.Passthrough, NIC: "15b3:1021", NICs: 1, GPU: "10de:2330", GPUs: 1, VIBs: []string{"mft", "nmst"}, ResetMethod: "flr",
		Settings:    []fabric.ESXSetting{{Name: "disableACSCheck", Configured: "FALSE"}},
		NICSettings: []fabric.Option{{Name: "ATS_ENABLED", Value: "1"}}, PowerPolicy: "High Performance"}
}

func (m model) facts() *fabric.Facts {
	yes, no := true, false
	word := func(b bool) string { return strings.ToUpper(fmt.Sprint(b)) }
	value := func(b bool) string {
		if b {
			return "True(1)"
		}
		return "False(0)"
	}
	e := &fabric.ESX{Version: "9.0.0", Maintenance: &no, PowerPolicy: "High Performance", VIBs: []fabric.VIB{}, MST: []fabric.MSTDevice{}, NICConfigs: []fabric.NICConfig{}, Uplinks: []fabric.Uplink{},
		Settings:   []fabric.ESXSetting{{Name: "disableACSCheck", Configured: word(!m.kernel), Runtime: word(!m.kernelIn)}},
		ResetRules: []fabric.ResetRule{{Vendor: 0x10de, Device: 0xffff, Method: map[bool]string{true: "flr", false: "bridge"}[m.rule]}},
		Modules:    []fabric.ESXModule{{Name: "nmlx5_core", Loaded: &yes, Enabled: &yes, Parameters: map[string]string{}}},
		Devices: []fabric.PassthroughPCI{{Address: "0000:1b:00.0", Vendor: 0x10de, Device: 0x2330, Capable: &yes, Enabled: &yes, Active: &yes},
			{Address: "0000:1a:00.0", Vendor: 0x15b3, Device: 0x1021, Capable: &yes, Enabled: &m.pass, Active: &m.passIn}}}
	if m.rec {
		e.Modules[0].Parameters["mst_recovery"] = "1"
	}
	if m.vib {
		e.VIBs = []fabric.VIB{{Name: "mft"}, {Name: "nmst"}}
	}
	if m.shown() {
		e.MST = []fabric.MSTDevice{{Name: "mt4129_pciconf0", Address: "0000:1a:00.0"}}
		e.NICConfigs = []fabric.NICConfig{{Device: "mt4129_pciconf0", Address: "0000:1a:00.0", Settings: map[string]fabric.NICStored{"ATS_ENABLED": {Current: value(m.storedIn), Next: value(m.stored)}}}}
	}
	return &fabric.Facts{ESX: e}
}

// do carries a step out, and refuses what the machine would refuse.
func (m *model) do(t *testing.T, s Step) {
	t.Helper()
	switch id, _, _ := strings.Cut(s.ID, " "); id {
	case "vib":
		m.vib = true
	case "kernel":
		m.kernel = true
	case "reset-rule":
		m.rule = true
	case "nic":
		if !m.shown() {
			t.Fatal("a NIC is set that mst does not show")
		}
		m.stored = true
	case "passthrough":
		if !m.stored {
			t.Fatal("a NIC is passed through before its settings")
		}
		m.pass = true
	case "module-parameters":
		m.rec = strings.Contains(s.Commands[0], "mst_recovery=1")
	case "maintenance-enter", "maintenance-leave":
	default:
		t.Fatalf("step %q", s.ID)
	}
}

// Every state that a host may be found in between two starts is brought to the goal with as few starts as is possible. After
// each start the facts are read again. A rule that waits in the file is the one thing that no fact shows.
func TestLeastReboots(t *testing.T) {
	tried := 0
	for bits := range 1 << 9 {
		on := func(i int) bool { return bits>>i&1 == 1 }
		m := model{vib: on(0), kernel: on(1), kernelIn: on(2), rule: on(3), stored: on(4), storedIn: on(5), broken: on(6), rec: on(7), recIn: on(7), pass: on(8), passIn: on(8)}
		m.tool, m.ruleIn = m.vib, m.rule
		if m.rec && (m.broken || !m.vib || m.pass) || m.pass && (m.broken || !m.stored || !m.storedIn) {
			continue // not found: recovery mode has shown the NIC; what is passed through has its settings, or is told as unknown
		}
		tried++
		want, starts, first := least(m), 0, m
		for round := 0; ; round++ {
			p := For("esx1", goal(), m.facts())
			if len(p.Conflicts) > 0 || round > 5 {
				t.Fatalf("%+v: %+v", first, p)
			}
			if len(p.Stages) == 0 {
				break
			}
			if p.Reboots > want-starts {
				t.Fatalf("%+v: %d starts are foretold, and %d do", first, p.Reboots, want-starts)
			}
			for _, s := range p.Stages[0].Steps {
				m.do(t, s)
			}
			if p.Stages[0].Reboot {
				m, starts = m.boot(), starts+1
			}
		}
		if !m.done() || starts != want {
			t.Errorf("%+v ends as %+v after %d starts, least %d", first, m, starts, want)
		}
	}
	t.Logf("%d states", tried)
	if tried < 50 {
		t.Error("too few")
	}
}
