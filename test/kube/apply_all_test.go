package kube

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
)

// between is a server before the API server that ends the client's changes at one of them.
type between struct {
	*httptest.Server
	changes, failAt atomic.Int64 // requests that change something; the number of the first that fails, 0: none
	lose            atomic.Bool  // that one is carried out, and its answer is lost
}

// between starts one, and writes a kubeconfig that leads through it.
func (p *plane) between(t *testing.T) (b *between, kubeconfig string) {
	t.Helper()
	to, err := url.Parse(p.api.url)
	if err != nil {
		t.Fatal(err)
	}
	b = &between{}
	proxy := &httputil.ReverseProxy{Transport: p.api.http.Transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.URL.Query().Get("dryRun") == "" {
			n, at := b.changes.Add(1), b.failAt.Load()
			if at > 0 && n >= at {
				if n == at && b.lose.Load() {
					proxy.ServeHTTP(httptest.NewRecorder(), r)
				}
				http.Error(w, "gone", http.StatusBadGateway)
				return
			}
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(b.Close)
	kubeconfig = filepath.Join(t.TempDir(), "config")
	text := `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a}}], clusters: [{name: a, cluster: {server: "` + b.URL + `"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return b, kubeconfig
}

// Every object that an example cluster file renders is accepted by the API server with all of its fields, is ready in the end, is the same
// when it is applied again, and goes with a rollback; cut off at any change, an apply is taken up again or taken back.
func TestApplyExamples(t *testing.T) {
	p := need(t)
	p.defineKinds(t)
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range renderedExamples(t, cat) {
		t.Run(r.name, func(t *testing.T) {
			p.furnish(t, cat, r)
			b, kubeconfig := p.between(t)
			c := p.railwright(t, kubeconfig, r.plan.Name, t.TempDir())
			all := r.objects(t)
			p.playControllers(t, all)
			p.applied(t, c, r, all)
			p.takenBack(t, c, r)
			b.changes.Store(0) // of an apply where namespaces and volumes are there already, as they are from now on
			p.applied(t, c, r, all)
			changes := b.changes.Load()
			p.takenBack(t, c, r)
			p.cutOff(t, b, kubeconfig, r, changes)
			t.Logf("%d objects, %d changes", len(all), changes)
		})
	}
}

// applied applies, waits until everything is ready, and applies again.
func (p *plane) applied(t *testing.T, c apply.Kubernetes, r rendered, all []kube.Object) {
	t.Helper()
	if a := c.Write(t.Context(), r.artifacts); a.Status != fabric.Pass {
		t.Fatalf("%s: %s %s\n%+v\n%+v", a.Status, a.Error, a.Note, a.Preconditions, a.Activation)
	}
	again := c.Look(t.Context(), r.artifacts)
	for _, change := range again.Changes {
		if change.Kind != apply.Same {
			t.Errorf("applied again: %+v", change)
		}
	}
	if len(again.Changes) != len(all) || again.Error != "" {
		t.Errorf("%d changes of %d objects: %s", len(again.Changes), len(all), again.Error)
	}
}

// takenBack rolls back until nothing is left to be, and looks whether anything is there.
func (p *plane) takenBack(t *testing.T, c apply.Kubernetes, r rendered) {
	t.Helper()
	for {
		_, err := c.Rollback(t.Context())
		if errors.Is(err, apply.ErrNoJournal) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, change := range c.Look(t.Context(), r.artifacts).Changes {
		if change.Kind != apply.Create && !strings.HasPrefix(change.Path, "Namespace ") && !strings.HasPrefix(change.Path, "PersistentVolumeClaim ") { // both hold what others put there
			t.Errorf("is left: %+v", change)
		}
	}
}

// cutOff ends an apply at each of its changes, before it and with its answer lost. Half of them are applied again, half are rolled back.
func (p *plane) cutOff(t *testing.T, b *between, kubeconfig string, r rendered, changes int64) {
	t.Helper()
	const most = 3 // changes that are tried of one plan
	step := max(1, changes/most)
	if testing.Short() {
		step = max(step, changes/2)
	}
	for at := int64(1); at <= changes; at += step {
		for _, lose := range []bool{false, true} {
			folder := t.TempDir()
			c := p.railwright(t, kubeconfig, r.plan.Name, folder)
			c.Ready, c.Placed = 0, 0
			b.changes.Store(0)
			b.lose.Store(lose)
			b.failAt.Store(at)
			a := c.Write(t.Context(), r.artifacts)
			b.failAt.Store(0)
			if a.Status == fabric.Pass {
				t.Fatalf("cut off at %d: %+v", at, a)
			}
			c = p.railwright(t, kubeconfig, r.plan.Name, folder)
			if at%2 == 0 {
				p.applied(t, c, r, r.objects(t))
			}
			p.takenBack(t, c, r)
		}
	}
}

// The same with an object of every kind that is waited for, whether or not an example renders one.
func TestApplyEveryKind(t *testing.T) {
	p := need(t)
	p.defineKinds(t)
	text, err := os.ReadFile("testdata/every-kind.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := rendered{name: "every kind", plan: &fabric.Plan{Name: "every"}, artifacts: []fabric.Artifact{{Target: fabric.OnKubernetes, Path: "/every-kind.yaml", Content: text}}}
	p.furnish(t, nil, r)
	b, kubeconfig := p.between(t)
	c := p.railwright(t, kubeconfig, r.plan.Name, t.TempDir())
	p.playControllers(t, r.objects(t))
	p.applied(t, c, r, r.objects(t))
	changes := b.changes.Load()
	p.takenBack(t, c, r)
	p.cutOff(t, b, kubeconfig, r, changes)
}
