// Package frr runs the L3 part of planned switches in FRR: its zebra and bgpd on network namespaces, one for each leaf, spine
// and host of a plan, get the addresses and the BGP of the plan's switches, and every NIC reaches every other. What this
// proves is the plan, not the text for any switch: the files of real switches are in other languages.
package frr

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/bench"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
)

// Variables of this test's own processes: a node of the mesh, and the test in namespaces of its own.
const (
	nodeVariable   = "RAILWRIGHT_TEST_FRR_NODE"
	insideVariable = "RAILWRIGHT_TEST_FRR_INSIDE"
)

func TestMain(m *testing.M) {
	var err error
	switch lab := os.Getenv(insideVariable); {
	case os.Getenv(nodeVariable) != "":
		err = bench.MeshNode(os.Stdin, os.Stdout)
	case lab != "":
		err = runInside(lab)
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// planOf plans a cluster from the lines of its nodes and its fabric.
func planOf(t *testing.T, nodes, lines string) *fabric.Plan {
	t.Helper()
	p, err := newPlan(nodes, lines)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func newPlan(nodes, lines string) (*fabric.Plan, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	text := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: pod}\nplatform: baremetal\nnodes: [" + nodes + "]\nfabric:\n  kind: roce\n" + lines
	c, err := intent.Parse("cluster.yaml", []byte(text), cat)
	if err != nil {
		return nil, err
	}
	return plan.New(c, cat)
}

func needFRR(t *testing.T) {
	t.Helper()
	for _, program := range []string{"/usr/lib/frr/zebra", "/usr/lib/frr/bgpd", "/usr/bin/vtysh"} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("FRR is not installed (package frr): %v", err)
		}
	}
}

// dryRun lets FRR's own parser read a text.
func dryRun(t *testing.T, text string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "frr.conf")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	out, err := host.Output(ctx, host.Local{}, host.Command{Argv: []string{"vtysh", "-C", "-f", file}, Merged: true})
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// FRR accepts the L3 part of every planned switch: of each model that the documents name with each of its operating systems,
// in both schemes.
func TestEverySwitchIsAccepted(t *testing.T) {
	needFRR(t)
	const all = `{names: "host[1-9]", nics: "eth[1-8]"}`
	for _, model := range []string{"z9664f, os: sonic", "z9664f, os: dell-sonic", "sse-t8032, os: dell-sonic", "7060dx4-32, os: eos", "qfx5240, os: junos"} {
		for _, scheme := range []string{"p2p31", "rail24"} {
			for _, count := range []string{"8", "3"} { // by rail, and for all rails of three hosts each
				if count == "3" && (strings.HasPrefix(model, "7060") || strings.HasPrefix(model, "sse")) {
					count = "5" // 32 ports
				}
				t.Run(fmt.Sprintf("%s %s %s leaves", model, scheme, count), func(t *testing.T) {
					p := planOf(t, all, fmt.Sprintf("  addressing: {scheme: %s}\n  leaf: {model: %s, count: %s}\n  spine: {model: %s, count: 2}\n", scheme, model, count, model))
					for _, s := range []fabric.Switch{p.Switches[0], p.Switches[len(p.Switches)-3], p.Switches[len(p.Switches)-1]} {
						if err := dryRun(t, config(s)); err != nil {
							t.Errorf("%s: %v", s.Name, err)
						}
					}
				})
			}
		}
	}
}

// Its parser refuses what is wrong: its acceptance says something.
func TestBrokenSwitchIsRefused(t *testing.T) {
	needFRR(t)
	p := planOf(t, `{names: "host[1-2]", nics: "eth[1-3]"}`, "  leaf: {model: z9664f, os: sonic, count: 2}\n  spine: {model: z9664f, os: sonic, count: 1}\n")
	good := config(p.Switches[0])
	for _, change := range [][2]string{
		{"/31", "/33"}, {"router bgp 4200000001", "router bgp 4294967296"}, {"remote-as 4200000000", "remote-as spine"}, {"  network ", "  networks "}, {"router-id ", "router-id leaf"},
	} {
		if bad := strings.Replace(good, change[0], change[1], 1); bad == good || dryRun(t, bad) == nil {
			t.Errorf("%q instead of %q is accepted", change[1], change[0])
		}
	}
}

// labs are the clusters that run: hosts split among leaves, a leaf for each rail, one and two spines.
var labs = []struct{ name, nodes, fabric string }{
	{"p2p31, hosts split, one spine", `{names: "host[1-2]", nics: "eth[1-3]"}`, "  leaf: {model: z9664f, os: sonic, count: 2}\n  spine: {model: z9664f, os: sonic, count: 1}\n"},
	{"rail24, hosts split, one spine", `{names: "host[1-4]", nics: "eth[1-3]"}`, "  addressing: {scheme: rail24}\n  leaf: {model: z9664f, os: dell-sonic, count: 2}\n  spine: {model: z9664f, os: dell-sonic, count: 1}\n"},
	{"p2p31, a leaf for each rail, two spines", `{names: "host[1-2]", nics: "eth[1-2]"}`, "  leaf: {model: 7060dx4-32, os: eos, count: 2}\n  spine: {model: 7060dx4-32, os: eos, count: 2}\n"},
	{"rail24, a leaf for each rail, two spines", `{names: "host[1-2]", nics: "eth[1-2]"}`, "  addressing: {scheme: rail24}\n  leaf: {model: qfx5240, os: junos, count: 2}\n  spine: {model: qfx5240, os: junos, count: 2}\n"},
}

// Every NIC reaches every other through the leaves and spines of the plan, with packets of the planned MTU.
func TestEveryNICReachesEveryOther(t *testing.T) {
	needFRR(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: FRR's daemons become another user")
	}
	apart := []string{"unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"}
	if _, err := host.Output(t.Context(), host.Local{}, host.Command{Argv: append(slices.Clone(apart), "true")}); err != nil {
		t.Skipf("no namespaces can be made here: %v", err)
	}
	for i, lab := range labs {
		t.Run(lab.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 6*time.Minute)
			defer cancel()
			out, err := host.Output(ctx, host.Local{}, host.Command{
				Argv: append(slices.Clone(apart), self), Env: []string{fmt.Sprintf("%s=%d", insideVariable, i)}, Merged: true,
			})
			if err != nil || string(out) != allReached {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// allReached is what runInside prints at its end.
const allReached = "all reached\n"

// runInside is the body of the test above, in namespaces that end with it and take every daemon along.
func runInside(lab string) error {
	number, err := strconv.Atoi(lab)
	if err != nil {
		return err
	}
	p, err := newPlan(labs[number].nodes, labs[number].fabric)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := build(ctx, p); err != nil {
		return err
	}
	leafOf := make(map[fabric.Endpoint]string)
	for _, l := range p.Cabling.Links {
		leafOf[l.A] = l.B.Node
	}
	sameLeaf := func(a, b fabric.Endpoint) bool { return leafOf[a] == leafOf[b] }
	everyone := func(a, b fabric.Endpoint) bool { return true }
	steps := []struct {
		name string
		do   func() error
	}{
		{"zebra", func() error { return startAll(ctx, p, "zebra") }},
		{"within a leaf, nothing beyond", func() error { return until(ctx, time.Minute, func() error { return reaches(ctx, p, sameLeaf) }) }},
		{"bgpd", func() error { return startAll(ctx, p, "bgpd") }},
		{"sessions", func() error { return until(ctx, time.Minute, func() error { return sessions(ctx, p) }) }},
		{"everywhere", func() error { return until(ctx, time.Minute, func() error { return reaches(ctx, p, everyone) }) }},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
	}
	if last := p.Switches[len(p.Switches)-1]; last.Name == "spine2" {
		if err := noValley(ctx, p); err != nil {
			return fmt.Errorf("without a cable: %w", err)
		}
		if err := until(ctx, time.Minute, func() error { return reaches(ctx, p, everyone) }); err != nil {
			return fmt.Errorf("everywhere without a cable: %w", err)
		}
	}
	_, err = fmt.Print(allReached)
	return err
}

// sessions says which switch has fewer working sessions than the plan has neighbours.
func sessions(ctx context.Context, p *fabric.Plan) error {
	for _, s := range p.Switches {
		n, err := established(ctx, s)
		if err == nil && n != len(s.BGP.Neighbours) {
			err = fmt.Errorf("%s: %d of %d sessions", s.Name, n, len(s.BGP.Neighbours))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reaches lets every NIC ping those of all other hosts, and returns an error unless exactly the wanted ones answer, small and
// as large as the MTU, on the planned interfaces.
func reaches(ctx context.Context, p *fabric.Plan, want func(a, b fabric.Endpoint) bool) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	nodes := make(map[string]host.Runner)
	for _, n := range p.Nodes {
		nodes[n.Name] = inside(n.Name)
	}
	m, err := bench.Mesh(ctx, p, nodes, bench.MeshOptions{
		Command: func(string) []string { return []string{"env", nodeVariable + "=yes", self} }, Wait: 500 * time.Millisecond, Timeout: time.Minute,
	})
	if err != nil || len(m.Absent) > 0 {
		return fmt.Errorf("mesh: %w, absent %v", err, m.Absent)
	}
	for _, pair := range m.Pairs {
		expected := want(pair.From, pair.To)
		if good := pair.Status() == fabric.Pass; good != expected {
			return fmt.Errorf("%s to %s: small %+v, full %+v, expected an answer: %v", pair.From, pair.To, pair.Small, pair.Full, expected)
		}
		if !expected && (pair.Small.Answered || pair.Full.Answered) {
			return fmt.Errorf("%s to %s answers", pair.From, pair.To)
		}
	}
	return nil
}

// noValley takes the cables between the first leaf and the first spine away. That spine could then still reach the leaf by
// another leaf and the other spine, and must not, for as long as that takes to be announced: its own number is in that path.
func noValley(ctx context.Context, p *fabric.Plan) error {
	leaf, other, spine := p.Switches[0], p.Switches[1], p.Switches[len(p.Switches)-2]
	for i, port := range spine.Ports {
		if port.Peer.Node == leaf.Name {
			if err := batch(ctx, []string{"-n", spine.Name}, "link set "+portName(i)+" down"); err != nil {
				return err
			}
		}
	}
	network := leaf.BGP.Networks[0].String()
	knows := func(name string) (bool, error) {
		out, err := inside(name).run(ctx, "vtysh", "-N", name, "-c", "show ip route "+network+" json")
		return strings.Contains(out, `"protocol":"bgp"`), err
	}
	forgets := func() error {
		ok, err := knows(spine.Name)
		if err == nil && ok {
			err = fmt.Errorf("%s has a way to %s", spine.Name, network)
		}
		return err
	}
	if err := until(ctx, time.Minute, forgets); err != nil {
		return err
	}
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if err := forgets(); err != nil {
			return err
		}
	}
	if ok, err := knows(other.Name); err != nil || !ok {
		return fmt.Errorf("%s knows %s: %v, %w: the check saw nothing", other.Name, network, ok, err)
	}
	return nil
}
