package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// nodeVariable makes this test binary a node of a mesh for which every echo goes well.
const nodeVariable = "RAILWRIGHT_TEST_MESH_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(nodeVariable) == "" {
		os.Exit(m.Run())
	}
	if err := goodNode(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func goodNode(in io.Reader, out io.Writer) error {
	lines, answers := bufio.NewReader(in), json.NewEncoder(out)
	var o meshOrders
	text, err := lines.ReadBytes('\n')
	if err := errors.Join(err, json.Unmarshal(text, &o)); err != nil {
		return err
	}
	fmt.Fprintln(out, "ready")
	if err := expect(lines, "go\n"); err != nil {
		return err
	}
	var sent meshSent
	seen := meshSeen{Small: map[int64]string{}, Full: map[int64]string{}}
	for i, from := range o.NICs {
		for k, to := range o.NICs {
			switch key := int64(i*len(o.NICs) + k); {
			case from.Node == to.Node:
			case from.Node == o.Node:
				sent.Small = append(sent.Small, fabric.Echo{Bytes: o.Small, Answered: true, RTTMicros: 1, ReturnedOn: from.NIC})
				sent.Full = append(sent.Full, fabric.Echo{Bytes: o.Full, Answered: true, RTTMicros: 1, ReturnedOn: from.NIC})
			case to.Node == o.Node:
				seen.Small[key], seen.Full[key] = to.NIC, to.NIC
			}
		}
	}
	if err := answers.Encode(sent); err != nil {
		return err
	}
	if err := expect(lines, "stop\n"); err != nil {
		return err
	}
	return answers.Encode(seen)
}

// good runs this test binary as a node.
type good struct{}

func (good) Start(ctx context.Context, c host.Command) (*host.Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return host.Local{}.Start(ctx, host.Command{Argv: []string{self}, Env: []string{nodeVariable + "=yes", "GORACE=atexit_sleep_ms=0"}})
}

// script is a faulty node, played by a shell.
type script string

func (s script) Start(ctx context.Context, _ host.Command) (*host.Process, error) {
	return host.Local{}.Start(ctx, host.Command{Argv: []string{"sh", "-c", string(s)}})
}

// nowhere is a host on which no command starts.
type nowhere struct{}

func (nowhere) Start(context.Context, host.Command) (*host.Process, error) {
	return nil, errors.New("no route to host")
}

// meshPlan returns a plan with this many nodes of two NICs.
func meshPlan(names ...string) *fabric.Plan {
	p := &fabric.Plan{MTU: 9000}
	address := netip.MustParseAddr("10.64.0.1")
	for _, name := range names {
		p.Nodes = append(p.Nodes, fabric.Node{Name: name, NICs: []string{"eth1", "eth2"}})
		n := fabric.NodeAddresses{Node: name}
		for _, nic := range []string{"eth1", "eth2"} {
			n.NICs = append(n.NICs, fabric.NICAddress{NIC: nic, Address: netip.PrefixFrom(address, 31)})
			address = address.Next().Next()
		}
		p.Addressing.Nodes = append(p.Addressing.Nodes, n)
	}
	return p
}

func TestMeshOfGoodNodes(t *testing.T) {
	t.Parallel()
	nodes := map[string]host.Runner{"a": good{}, "b": good{}, "c": good{}}
	m, err := Mesh(context.Background(), meshPlan("a", "b", "c"), nodes, MeshOptions{Command: func(string) []string { return []string{"-"} }, Wait: time.Second, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Summary(); s.Pass != 24 || len(m.Pairs) != 24 || len(m.Absent) != 0 {
		t.Errorf("%+v of %d pairs, absent %v, want 24 that pass", s, len(m.Pairs), m.Absent)
	}
	for _, p := range m.Pairs {
		if p.Small.Bytes != smallEcho || p.Full.Bytes != 9000 {
			t.Errorf("%s to %s: %d and %d bytes", p.From, p.To, p.Small.Bytes, p.Full.Bytes)
		}
	}
}

// What a node that cannot take part would have seen stays unknown, and it is named with the reason; what
// the others see of each other stands.
func TestMeshWithABadNode(t *testing.T) {
	echoes := func(n int) string {
		return `"small":[` + strings.Repeat(`{"bytes":84,"answered":true,"returned_on":"eth1"},`, n-1) + `{}]`
	}
	const ready = "read orders; echo ready; read go; "
	tests := []struct {
		name    string
		runner  host.Runner
		reasons []string
		sent    bool // it reported its echoes before it fell silent
	}{
		{"without a runner", nil, []string{"no command can be run on it from here"}, false},
		{"does not start", nowhere{}, []string{"no route to host"}, false},
		{"ends at once", script("echo no such module >&2; exit 3"), []string{"exit status 3", "no such module"}, false},
		{"never gets ready", script("read orders; sleep 60"), []string{"no answer in 3s"}, false},
		{"does not even read", script("sleep 60"), []string{"no answer in 3s"}, false},
		{"prints something else", script("echo Welcome to bad; sleep 60"), []string{`answered "Welcome to bad\n" instead of ready`}, false},
		{"an endless line", script("read orders; exec tr '\\0' x </dev/zero"), []string{"a line longer than"}, false},
		{"cut before the line ends", script("read orders; printf ready"), []string{"EOF"}, false},
		{"dies before it sends", script(ready + "kill -9 $$"), []string{"EOF", "exit status -1"}, false},
		{"garbage for echoes", script(ready + "echo garbage; sleep 60"), []string{`node "bad", echoes: invalid character`}, false},
		{"null for echoes", script(ready + "echo null; sleep 60"), []string{"reported 0 small and 0 full echoes, not 8 of each"}, false},
		{"too few echoes", script(ready + "echo '{" + echoes(7) + "}'; sleep 60"), []string{"reported 7 small and 0 full echoes"}, false},
		{"falls silent after its echoes", script(ready + sends(8) + "sleep 60"), []string{"no answer in 3s"}, true},
		{"dies after its echoes", script(ready + sends(8) + "read stop; echo lost >&2; exit 4"), []string{"EOF", "exit status 4", "lost"}, true},
		{"garbage for arrivals", script(ready + sends(8) + "echo '{\"small\":'; sleep 60"), []string{`node "bad", arrivals: unexpected end`}, true},
		{"null for arrivals", script(ready + sends(8) + "echo null; sleep 60"), []string{"did not report what arrived"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			nodes := map[string]host.Runner{"a": good{}, "c": good{}}
			if tt.runner != nil {
				nodes["bad"] = tt.runner
			}
			started := time.Now()
			m, err := Mesh(context.Background(), meshPlan("a", "bad", "c"), nodes, MeshOptions{Command: func(string) []string { return []string{"-"} }, Wait: time.Second, Timeout: 3 * time.Second})
			if err != nil {
				t.Fatal(err)
			}
			if took := time.Since(started); took > 30*time.Second {
				t.Errorf("took %s", took)
			}
			if len(m.Absent) != 1 || m.Absent[0].What != "bad" {
				t.Fatalf("absent %v, want bad alone", m.Absent)
			}
			for _, want := range tt.reasons {
				if !strings.Contains(m.Absent[0].Reason, want) {
					t.Errorf("reason %q, want %q in it", m.Absent[0].Reason, want)
				}
			}
			checkPairs(t, m, tt.sent)
		})
	}
}

// sends prints n echoes of either size that all went well.
func sends(n int) string {
	one := `{"bytes":84,"answered":true,"returned_on":"eth1"}`
	list := "[" + strings.Repeat(one+",", n-1) + one + "]"
	return fmt.Sprintf(`echo '{"small":%s,"full":%s}'; `, list, list)
}

// A node that has reported everything and then does not exit is killed.
func TestMeshWithANodeThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	runner := script("read orders; echo ready; read go; " + sends(4) + `echo '{"small":{},"full":{}}'; sleep 60`)
	started := time.Now()
	m, err := Mesh(context.Background(), meshPlan("a", "b"), map[string]host.Runner{"a": good{}, "b": runner},
		MeshOptions{Command: func(string) []string { return nil }, Wait: time.Second, Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
	if len(m.Absent) != 1 || m.Absent[0].What != "b" || !strings.Contains(m.Absent[0].Reason, "exit status -1") {
		t.Errorf("absent %v, want b, which was ended", m.Absent)
	}
}

func checkPairs(t *testing.T, m *fabric.Mesh, sent bool) {
	t.Helper()
	if len(m.Pairs) != 24 {
		t.Errorf("%d pairs, want all 24 of the plan", len(m.Pairs))
	}
	for _, p := range m.Pairs {
		status := p.Status()
		switch {
		case p.From.Node != "bad" && p.To.Node != "bad":
			if status != fabric.Pass {
				t.Errorf("%s to %s: %s, want pass", p.From, p.To, status)
			}
		case p.To.Node == "bad":
			if status != fabric.Unknown {
				t.Errorf("%s to %s: %s: its arrival was not observed", p.From, p.To, status)
			}
		case !sent:
			if status != fabric.Unknown {
				t.Errorf("%s to %s: %s: not reported", p.From, p.To, status)
			}
		case p.From.NIC == "eth1" && status != fabric.Pass || p.From.NIC == "eth2" && status != fabric.Fail:
			// The script says that every answer came back on eth1.
			t.Errorf("%s to %s: %s", p.From, p.To, status)
		}
	}
}

func TestMeshNeedsTwoNodes(t *testing.T) {
	empty := meshPlan("a", "b")
	empty.Addressing.Nodes = nil
	for _, p := range []*fabric.Plan{meshPlan("a"), empty, {}} {
		if m, err := Mesh(context.Background(), p, nil, MeshOptions{}); err == nil {
			t.Errorf("%d nodes: %+v, want an error", len(p.Nodes), m)
		}
	}
}

func TestMeshWithoutRunners(t *testing.T) {
	m, err := Mesh(context.Background(), meshPlan("a", "b"), nil, MeshOptions{Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Absent) != 2 || m.Summary().Status() != fabric.Unknown || m.Summary().Unknown != 8 {
		t.Errorf("absent %v, %+v", m.Absent, m.Summary())
	}
}

func TestMeshCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err := Mesh(ctx, meshPlan("a", "b"), map[string]host.Runner{"a": script("sleep 60"), "b": script("sleep 60 & wait")}, MeshOptions{Command: func(string) []string { return nil }, Timeout: time.Minute})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v, want that time was over", err)
	}
	if took := time.Since(started); took > 10*time.Second {
		t.Errorf("took %s to be cancelled", took)
	}
}

func TestMeshNodeOrders(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "mesh orders: EOF"},
		{"{\"node\":\"a\"", "mesh orders: EOF"},
		{"garbage\n", "mesh orders: invalid character"},
	} {
		t.Run(tt.in, func(t *testing.T) {
			var out strings.Builder
			if err := MeshNode(strings.NewReader(tt.in), &out); err == nil || !strings.HasPrefix(err.Error(), tt.want) || out.Len() > 0 {
				t.Errorf("orders %q: %v, said %q, want %s", tt.in, err, out.String(), tt.want)
			}
		})
	}
}
