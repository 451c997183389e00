package vcenter

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

func TestOpenRefuses(t *testing.T) {
	s := newSim(t, 1)
	good := s.config()
	other := strings.Repeat("AB:", 31) + "AB"
	for name, test := range map[string]struct {
		change func(*Config)
		kind   Kind
		want   []string
	}{
		"certificate of no authority":  {func(c *Config) { c.Thumbprint = "" }, NoAnswer, []string{good.Thumbprint, "thumbprint in the cluster file", "no authority"}},
		"certificate of another":       {func(c *Config) { c.Thumbprint = other }, NoAnswer, []string{good.Thumbprint, other, "renewed"}},
		"thumbprint of no certificate": {func(c *Config) { c.Thumbprint = "AB:CD" }, Refused, []string{"32 bytes"}},
		"wrong password":               {func(c *Config) { c.Password = passwordOf("wr0ng-password") }, NotPermitted, []string{"does not know this user", "RAILWRIGHT_VCENTER_USER"}},
		"no password":                  {func(c *Config) { c.Password = nil }, NotPermitted, []string{"RAILWRIGHT_VCENTER_PASSWORD"}},
		"server with a password":       {func(c *Config) { c.Server = "root:" + testPassword + "@vc" }, Refused, []string{"name or an address"}},
		"server with a path":           {func(c *Config) { c.Server = "vc/ui" }, Refused, []string{"name or an address"}},
		"nobody listens":               {func(c *Config) { c.Server = "127.0.0.1:1" }, NoAnswer, []string{"refused"}},
	} {
		t.Run(name, func(t *testing.T) {
			config := good
			test.change(&config)
			_, err := Open(t.Context(), config)
			if !Is(err, test.kind) {
				t.Fatalf("%v", err)
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in: %v", want, err)
				}
			}
			noPassword(t, testPassword, err)
			if config.Password != nil {
				noPassword(t, config.Password(), err)
			}
		})
	}
}

// noPassword looks at every form in which something may be printed.
func noPassword(t *testing.T, password string, values ...any) {
	t.Helper()
	if password == "" {
		return
	}
	for _, v := range values {
		for _, form := range []string{"%v", "%+v", "%#v", "%s"} {
			if out := fmt.Sprintf(form, v); strings.Contains(out, password) {
				t.Errorf("%s of %T has the password", form, v)
			}
		}
	}
}

func TestOpenPrintsNoPassword(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	noPassword(t, testPassword, s.config(), c, c.rest, c.vim.RoundTripper)
	if c.User() != testUser || c.Identity() == "" || c.Version() != "8.0.3" || c.Place() != "vCenter "+s.server.URL.Host {
		t.Errorf("%s %s %s %s", c.User(), c.Identity(), c.Version(), c.Place())
	}
}

func TestOpenIsBounded(t *testing.T) {
	silent := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done() // takes questions and says nothing
	}))
	defer silent.Close()
	config := Config{Server: strings.TrimPrefix(silent.URL, "https://"), User: "a", Password: passwordOf(testPassword), Thumbprint: Thumbprint(silent.Certificate()), Timeout: 300 * time.Millisecond}
	begin := time.Now()
	_, err := Open(t.Context(), config)
	if !Is(err, NoAnswer) || !strings.Contains(err.Error(), "in time") || time.Since(begin) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(begin))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, config); !Is(err, NoAnswer) || !strings.Contains(err.Error(), "asked to stop") {
		t.Error(err)
	}
}

// Answers of servers that are no vCenter, or of one that is not well, are errors: none is believed, and none takes all memory.
func TestOpenIsAnsweredWrongly(t *testing.T) {
	const envelope = `<?xml version="1.0"?><e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>%s</e:Body></e:Envelope>`
	for name, c := range map[string]struct {
		want   string
		answer func(http.ResponseWriter, *http.Request)
	}{
		"redirect":       {"302 Found", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }},
		"page":           {"no answer that is one of the vSphere API", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>login</html>") }},
		"the question":   {"without the answer", func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(500); _, _ = io.Copy(w, r.Body) }},
		"empty envelope": {"without the answer", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintf(w, envelope, "") }},
		"another answer": {"without the answer", func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintf(w, envelope, `<LoginResponse xmlns="urn:vim25"/>`)
		}},
		"without an end": {"longer than 64 MiB", func(w http.ResponseWriter, r *http.Request) {
			endless(w, r, `<e:Envelope xmlns:e="http://schemas.xmlsoap.org/soap/envelope/"><e:Body>`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewTLSServer(http.HandlerFunc(c.answer))
			defer s.Close()
			config := Config{Server: strings.TrimPrefix(s.URL, "https://"), Thumbprint: Thumbprint(s.Certificate()), User: "u", Password: passwordOf(testPassword)}
			_, err := Open(t.Context(), config)
			if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400 {
				t.Fatalf("%v", err)
			}
			noPassword(t, testPassword, err)
		})
	}
}

// endless writes until nobody reads.
func endless(w http.ResponseWriter, r *http.Request, first string) {
	_, _ = io.WriteString(w, first)
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, strings.Repeat("a", 1<<20)); err != nil {
			return
		}
	}
}

func TestServer(t *testing.T) {
	for server, want := range map[string]string{"vc.example.org": "vc.example.org", "vc:8443": "vc:8443", "10.0.0.1": "10.0.0.1", "[fd00::1]:443": "[fd00::1]:443", "fd00::1": "[fd00::1]"} {
		if u, err := serverURL(server); err != nil || u.Host != want || u.Path != "/sdk" {
			t.Errorf("%s: %v %v", server, u, err)
		}
	}
	for _, server := range []string{"", "https://vc", "vc/sdk", "u@vc", "vc?x", "vc#x", "v c"} {
		if u, err := serverURL(server); err == nil {
			t.Errorf("%q: %v", server, u)
		}
	}
}

func TestSessionThatEnds(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	must(c.Hosts(t.Context()))(t)
	endSession(t, s, c)
	hosts := must(c.Hosts(t.Context()))(t)
	if n := s.calls.count("Login"); len(hosts) != 1 || n != 3 {
		t.Errorf("%d hosts, %d logins", len(hosts), n)
	}
	must(c.Classes(t.Context()))(t)
	s.rest.expire()
	must(c.Classes(t.Context()))(t)
	if s.rest.logins != 2 {
		t.Errorf("%d logins of the JSON API", s.rest.logins)
	}
}

// endSession ends the session of a client, as an administrator does, or time.
func endSession(t *testing.T, s *sim, c *Client) {
	t.Helper()
	manager := *c.vim.ServiceContent.SessionManager
	f := must(c.object(t.Context(), "session", manager, "currentSession"))(t)
	key := f.value.(mo.SessionManager).CurrentSession.Key
	other := s.open(t)
	must(methods.TerminateSession(t.Context(), other.vim, &types.TerminateSession{This: manager, SessionId: []string{key}}))(t)
}

func TestConnectionThatBreaks(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.calls.broke = func(method string, n int) bool { return method == "RetrievePropertiesEx" && n <= 2 }
	if hosts, err := c.Hosts(t.Context()); err != nil || len(hosts) != 1 {
		t.Errorf("%d hosts, %v", len(hosts), err)
	}
	s.calls.broke = func(method string, _ int) bool { return method == "RetrievePropertiesEx" }
	if _, err := c.Hosts(t.Context()); !Is(err, NoAnswer) {
		t.Error(err)
	}
}
