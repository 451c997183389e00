// Package kube is the tier of tests that need Kubernetes itself: etcd, the API server, the controllers and the scheduler
// of one release, built from their sources by `make kube` and started on this machine's loopback, with nodes that kwok
// plays. What they prove is about API objects and about where the scheduler puts pods on which devices; no container runs,
// and no driver prepares a device.
package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"railwright.dev/railwright/internal/host"
)

// shared is the one control plane of this package's tests; the first test that needs it starts it.
var shared = sync.OnceValue(func() *plane { return &plane{} })

func TestMain(m *testing.M) {
	code := m.Run()
	shared().stop()
	os.Exit(code)
}

// plane is a running control plane.
type plane struct {
	once    sync.Once
	missing string // why it cannot run here
	err     error  // why it did not start

	programs, folder string // of the build; of this run: certificates, data, logs
	api              *client
	store            int       // port of etcd
	kinds            sync.Once // that definitions add
	cancel           context.CancelFunc
	ended            context.CancelCauseFunc // a server that ends leaves nothing to wait for
	running          sync.WaitGroup
	namespaces       atomic.Int64 // made so far
}

// need returns the control plane, or skips the test with the reason why there is none.
func need(t *testing.T) *plane {
	t.Helper()
	p := shared()
	p.once.Do(p.start)
	if p.missing != "" {
		t.Skip(p.missing)
	}
	if p.err != nil {
		t.Fatalf("the control plane did not start: %v", p.err)
	}
	return p
}

// start is bounded by startLimit: a machine that is too slow is an error, and no wait.
const startLimit = 90 * time.Second

func (p *plane) start() {
	if p.missing = p.find(); p.missing != "" {
		return
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	p.cancel = cancel
	starting, ended := context.WithCancelCause(ctx)
	p.ended = ended
	starting, done := context.WithTimeout(starting, startLimit)
	defer done()
	p.err = p.startServers(ctx, starting)
}

// stop ends what was started and waits until it is gone.
func (p *plane) stop() {
	if p.cancel != nil {
		p.cancel()
	}
	p.running.Wait()
	if p.folder != "" {
		_ = os.RemoveAll(p.folder) // in the folder for temporary files: what stays there does no harm
	}
}

// find looks for the programs and returns why there are none.
func (p *plane) find() string {
	out, err := host.Output(context.Background(), host.Local{}, host.Command{Argv: []string{"sh", "server/build.sh", "-n"}})
	if err != nil {
		return fmt.Sprintf("no Kubernetes control plane: %v", err)
	}
	p.programs = strings.TrimSpace(string(out))
	if _, err := os.Stat(filepath.Join(p.programs, "kubectl")); err == nil {
		return ""
	}
	why := "make kube builds it"
	if log, err := os.ReadFile(p.programs + ".log"); err == nil {
		why = "its build failed: " + lastLines(string(log), 1)
	}
	return "no Kubernetes control plane in " + p.programs + ": " + why
}

// kubectl runs the real one and returns what it printed.
func (p *plane) kubectl(ctx context.Context, stdin string, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	argv = append([]string{filepath.Join(p.programs, "kubectl"), "--kubeconfig", p.path("admin.kubeconfig"), "--cache-dir", p.path("kubectl")}, argv...)
	out, err := host.Output(ctx, host.Local{}, host.Command{Argv: argv, Stdin: strings.NewReader(stdin)})
	return string(out), err
}

func (p *plane) path(name string) string { return filepath.Join(p.folder, name) }

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// within asks again and again until an answer is "", which is the end of a wait; what it says otherwise is why the wait
// goes on. It fails the test when the time is over.
func within(t *testing.T, limit time.Duration, ask func() string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := until(ctx, ask); err != nil {
		t.Fatalf("after %v: %v", limit, err)
	}
}

func until(ctx context.Context, ask func() string) error {
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, 500*time.Millisecond) {
		begin := time.Now()
		why := ask()
		wait = max(wait, 2*time.Since(begin)) // a server that is busy has better things to do
		if why == "" {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), why)
		case <-time.After(wait):
		}
	}
}

// The server is of the release that the build names.
func TestStart(t *testing.T) {
	p := need(t)
	out, err := p.kubectl(t.Context(), "", "version", "-o", "json")
	var said struct {
		ServerVersion struct{ GitVersion string }
	}
	if err != nil || json.Unmarshal([]byte(out), &said) != nil {
		t.Fatalf("kubectl version: %v\n%s", err, out)
	}
	if v := said.ServerVersion.GitVersion; !strings.Contains(p.programs, "kube-"+v+"-") {
		t.Errorf("the server says %s, and is in %s", v, p.programs)
	}
}
