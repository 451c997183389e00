package kube

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

const token = "s3cr3t-t0ken"

// fake is an API server that answers each method and path with what it is told; the rest is 404.
type fake struct {
	*httptest.Server
	lock  sync.Mutex
	asked []string
	do    map[string]http.HandlerFunc
}

func newFake(t *testing.T, do map[string]http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{do: do}
	f.Server = httptest.NewUnstartedServer(f)
	f.Config.ErrorLog = nil
	f.StartTLS()
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.lock.Lock()
	f.asked = append(f.asked, r.Method+" "+r.URL.RequestURI())
	f.lock.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+token {
		refuse(w, 401, "Unauthorized", "Unauthorized", "")
		return
	}
	if do := f.do[r.Method+" "+r.URL.Path]; do != nil {
		do(w, r)
		return
	}
	refuse(w, 404, "NotFound", "the server could not find the requested resource", "")
}

// saw counts the requests that begin so.
func (f *fake) saw(prefix string) (n int) {
	f.lock.Lock()
	defer f.lock.Unlock()
	for _, a := range f.asked {
		if strings.HasPrefix(a, prefix) {
			n++
		}
	}
	return n
}

func (f *fake) ca() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})
}

// client is one with the right credentials.
func (f *fake) client(t *testing.T) *Client { return f.clientWith(t, token, 5*time.Second) }

func (f *fake) clientWith(t *testing.T, token string, timeout time.Duration) *Client {
	t.Helper()
	c, err := newClient(&rest.Config{Host: f.URL, BearerToken: token, TLSClientConfig: rest.TLSClientConfig{CAData: f.ca()}}, timeout)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// kubeconfig writes a file of this server.
func (f *fake) kubeconfig(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	ca := filepath.Join(folder, "ca.pem")
	write(t, ca, string(f.ca()))
	name := filepath.Join(folder, "config")
	write(t, name, fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: lab
contexts:
- {name: lab, context: {cluster: lab, user: me}}
- {name: other, context: {cluster: gone, user: me}}
clusters:
- {name: lab, cluster: {server: %q, certificate-authority: ca.pem}}
users:
- {name: me, user: {token: %s}}
`, f.URL, token))
	return name
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func say(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, text)
	}
}

// refuse answers as an API server does.
func refuse(w http.ResponseWriter, code int, reason, message, details string) {
	if details == "" {
		details = "{}"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":%q,"details":%s,"code":%d}`, message, reason, details, code)
}

func refusal(code int, reason, message, details string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { refuse(w, code, reason, message, details) }
}

const resourceKinds = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"resource.k8s.io/v1","resources":[
 {"name":"resourceslices","singularName":"resourceslice","namespaced":false,"kind":"ResourceSlice","verbs":["list"]},
 {"name":"deviceclasses","namespaced":false,"kind":"DeviceClass","verbs":["list"]},
 {"name":"resourceclaims","namespaced":true,"kind":"ResourceClaim","verbs":["list"]},
 {"name":"resourceclaims/status","namespaced":true,"kind":"ResourceClaim","verbs":["patch"]},
 {"name":"resourceclaimtemplates","namespaced":true,"kind":"ResourceClaimTemplate","verbs":["list"]}]}`

const coreKinds = `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true,"kind":"Pod","verbs":["list"]}]}`

func served() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /version": say(`{"major":"1","minor":"36","gitVersion":"v1.36.3"}`),
		"GET /apis/resource.k8s.io": say(`{"kind":"APIGroup","apiVersion":"v1","name":"resource.k8s.io","versions":[
			{"groupVersion":"resource.k8s.io/v1beta1","version":"v1beta1"},{"groupVersion":"resource.k8s.io/v1alpha3","version":"v1alpha3"},
			{"groupVersion":"resource.k8s.io/v1","version":"v1"},{"groupVersion":"resource.k8s.io/v1beta2","version":"v1beta2"}]}`),
		"GET /apis/resource.k8s.io/v1": say(resourceKinds),
		"GET /api/v1":                  say(coreKinds),
	}
}
