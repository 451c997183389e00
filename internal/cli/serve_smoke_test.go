package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A server with a token: it is sent, never printed, and not sent on to where a redirection leads.
func TestServeSmoke(t *testing.T) {
	const token = "sk-very-secret"
	t.Setenv("SMOKE_TOKEN", token)
	leaked := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked = leaked || r.Header.Get("Authorization") != "" }))
	defer elsewhere.Close()
	mode := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case mode == "moved":
			http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
		case mode == "slow":
			time.Sleep(300 * time.Millisecond)
		case r.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		case r.URL.Path == "/v1/models":
			fmt.Fprint(w, `{"object":"list","data":[{"id":"m"}]}`)
		default:
			fmt.Fprint(w, `{"model":"m","choices":[{"message":{"content":"Paris"},"finish_reason":"stop"}]}`)
		}
	}))
	defer s.Close()
	for _, c := range []struct {
		mode, args, says string
		status           int
	}{
		{"", "--token-env SMOKE_TOKEN", `answers "Paris"`, exitPass},
		{"", "--token-env SMOKE_TOKEN -o json", `"status": "pass"`, exitPass},
		{"", "", "wants a token", exitFail},
		{"", "--token-env SMOKE_TOKEN --model other", "other is not served", exitFail},
		{"", "--token-env NO_SUCH_VARIABLE", "empty or not set", exitUsage},
		{"moved", "--token-env SMOKE_TOKEN", "is not followed", exitFail},
		{"slow", "--timeout 50ms", "nothing within 50ms", exitFail},
	} {
		mode = c.mode
		r := call("", append([]string{"serve", "smoke", s.URL}, strings.Fields(c.args)...)...)
		if r.status != c.status || !strings.Contains(r.stdout+r.stderr, c.says) {
			t.Errorf("%s %s: status %d: %s%s", c.mode, c.args, r.status, r.stdout, r.stderr)
		}
		if strings.Contains(r.stdout+r.stderr, token) {
			t.Errorf("%s %s: prints the token", c.mode, c.args)
		}
	}
	if leaked {
		t.Error("the token went where a redirection leads")
	}
}
