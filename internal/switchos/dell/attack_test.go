package dell

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// Half a text, a line twice, lines in another order: never a panic, and half of it never means more than all.
func TestDellAttack(t *testing.T) {
	text := dellAll()
	lines := strings.SplitAfter(text, "\n")
	for i := range lines {
		readDell(strings.Join(lines[:i], ""))
		got := readDell(strings.Join(slices.Insert(slices.Clone(lines), i, lines[i]), "")) // twice
		for _, said := range dellSaid(got) {
			if !strings.HasPrefix(said, "duplicate: ") && !strings.HasPrefix(said, "unread: ") {
				t.Errorf("line %d twice, %q: %s", i+1, lines[i], said)
			}
		}
	}
	for i := 1; i < len(text); i += 7 {
		readDell(text[:i])
	}
	slices.Reverse(lines)
	readDell(strings.Join(lines, ""))
	for _, other := range []string{"", "\x00", "{}", "interface", "no", "no no", "qos", "qos map", "do", "neighbor 1.1.1.1\n", "router bgp 1\nno router bgp 1\nneighbor 1.1.1.1\n", "router bgp 1\nneighbor 1.1.1.1\nno neighbor 1.1.1.1\nremote-as 2\n", "show", "interface range", strings.Repeat("a", 1<<16)} {
		readDell(other)
	}
}

func TestDellManyPorts(t *testing.T) {
	s := dellLeaf(true)
	for i := range 10_000 {
		p := s.Ports[0]
		p.Name = fmt.Sprintf("Eth%d/%d", 1+i/100, 1+i%100)
		s.Ports = append(s.Ports, p)
	}
	text := bytes.ReplaceAll(OS{}.Render(s, classes(true, true)).Text, []byte("exit\n"), nil)
	start := time.Now()
	got := OS{}.Read("leaf1", []switchtext.Text{{File: "x", Bytes: text}})
	t.Logf("%d lines in %s", bytes.Count(text, []byte("\n")), time.Since(start))
	tables, profiles := make(map[*[64]fabric.Treatment]bool), make(map[*fabric.QueueProfile]bool)
	for _, p := range got.Ports {
		tables[p.DSCP] = true
		profiles[p.Queues[3].Marks] = true
	}
	if len(got.Ports) < 9_000 || len(tables) != 1 || len(profiles) != 1 {
		t.Errorf("%d ports with %d tables and %d profiles", len(got.Ports), len(tables), len(profiles))
	}
	if took := time.Since(start); took > 2*time.Minute {
		t.Errorf("it took %s", took)
	}
}

func FuzzReadDell(f *testing.F) {
	f.Add(dellAll())
	f.Add(small)
	f.Add("sonic(config)#buffer init\nsonic(config)# interface Ethernet <id>\nsonic(conf-if-Ethernet0)# mtu 9100\n")
	f.Add("DSCP-TC-MAP: M\n 26 3\nPolicy : W\necn : ecn_green\ngreen-min-threshold : 1 KBytes\nScheduler Policy: S\nQueue: 3\nweight: 5\n")
	f.Add("router bgp 65000.1\n peer-group P\n  remote-as 5\n neighbor 10.0.0.1\n  peer-group P\ninterface range Eth 1/1-1/4\nno interface Vlan 5\n")
	f.Fuzz(func(t *testing.T, text string) {
		OS{}.Recognizes([]byte(text))
		c := readDell(text)
		for _, p := range c.Ports {
			if p.Name == "" || strings.ContainsAny(p.Name, "<> ") {
				t.Errorf("port %q", p.Name)
			}
			if p.PFC != nil && !slices.IsSorted(p.PFC.Is) {
				t.Errorf("PFC %v", p.PFC.Is)
			}
			for i, q := range p.Stops {
				if q != nil && (q.Is < -1 || q.Is > 7) {
					t.Errorf("priority %d stops queue %d", i, q.Is)
				}
			}
			if p.DSCP == nil {
				continue
			}
			for d, treat := range p.DSCP {
				if treat.Class == nil || treat.Queue != nil && (treat.Queue.Is < 0 || treat.Queue.Is > 7) || treat.Pause != nil && (treat.Pause.Is < -1 || treat.Pause.Is > 7) {
					t.Errorf("DSCP %d: %s", d, treats(treat))
				}
			}
		}
	})
}

// without matches lines of a rendered configuration whose loss or change means nothing to a port: what nobody reads, values
// of classes that no packet has, and pauses of priorities without PFC.
var without = regexp.MustCompile(`^\s*(?:exit|end|!|configure terminal|description .*|router-id .*|bestpath .*|maximum-paths .*|network .*|activate|address-family .*` +
	`|traffic-class [12456] queue [12456]|pfc-priority [0124567] (?:queue|pg) \d)$`)

// leftOut matches lines that lead to the default, from which a value more or less makes no difference, and the mode of a breakout.
var leftOut = regexp.MustCompile(` traffic-class 0$| priority-group 7$|^interface breakout`)

// Every other line counts: without it, or with a number in it changed, the model is another or something is said.
func TestDellEveryLineCounts(t *testing.T) {
	text := regexp.MustCompile(`(?m)^ *exit\n`).ReplaceAllString(dellAll(), "")
	base := readDell(text)
	lines := strings.Split(text, "\n")
	number := regexp.MustCompile(`\d+`)
	differs := func(i int, line, what string) {
		other := slices.Clone(lines)
		other[i] = line
		got := readDell(strings.Join(other, "\n"))
		if len(dellDiff(base, got)) == 0 && slices.Equal(dellSaid(base), dellSaid(got)) {
			t.Errorf("line %d %s, %q: nothing is different", i+1, what, lines[i])
		}
	}
	for i, line := range lines {
		if line == "" || without.MatchString(line) {
			continue
		}
		differs(i, "gone", "gone")
		if leftOut.MatchString(line) {
			continue
		}
		for _, at := range number.FindAllStringIndex(line, -1) {
			n, last := line[at[0]:at[1]], line[at[1]-1]
			changed := n[:len(n)-1] + string('0'+(last-'0'+1)%10)
			differs(i, line[:at[0]]+changed+line[at[1]:], "with "+changed)
		}
	}
}
