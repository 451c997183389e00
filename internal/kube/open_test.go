package kube

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// alone takes from a test what this machine has of clusters.
func alone(t *testing.T) {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
}

func TestOpen(t *testing.T) {
	alone(t)
	f := newFake(t, served())
	file := f.kubeconfig(t)
	for name, open := range map[string]func(t *testing.T) (*Client, error){
		"a path":     func(*testing.T) (*Client, error) { return Open(file, "") },
		"a context":  func(*testing.T) (*Client, error) { return Open(file, "lab") },
		"KUBECONFIG": func(t *testing.T) (*Client, error) { t.Setenv("KUBECONFIG", "/nowhere:"+file); return Open("", "") },
	} {
		t.Run(name, func(t *testing.T) {
			c, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := c.Version(t.Context()); v != "v1.36.3" || err != nil {
				t.Error(v, err)
			}
			if c.Server() != f.URL {
				t.Error(c.Server())
			}
		})
	}
}

func TestOpenBad(t *testing.T) {
	alone(t)
	f := newFake(t, served())
	good, err := os.ReadFile(f.kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		from, to string // replaced in the good file
		context  string
		want     string
	}{
		"no such context":    {context: "prod", want: `has no context "prod"; known: lab, other`},
		"no cluster":         {context: "other", want: `context "other": cluster "gone" has no server`},
		"no current context": {from: "current-context: lab", want: "has no current context: name one with --context; known: lab, other"},
		"cut":                {from: "- {name: lab, context: {cluster: lab, user: me}}", to: "- {name: lab, context: {cluster", want: "yaml: line"},
		"token is no text":   {from: "token: " + token, to: "token: [" + token + "]", want: "cannot unmarshal"},
		"no such CA":         {from: "ca.pem", to: "none.pem", want: "none.pem"},
		"user is no map":     {from: "user: {token: " + token + "}", to: "user: " + token, want: "cannot unmarshal"},
		"another kind":       {from: "kind: Config", to: "kind: Secret", want: `": is not a kubeconfig: its kind is "Secret"`},
		"a word":             {from: string(good), to: "garbage", want: "is not a kubeconfig: no apiVersion and kind can be read"},
		"not YAML":           {from: "token: " + token, to: "token: \"" + token, want: "yaml"},
		"empty":              {from: string(good), to: "", want: "has no cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config")
			write(t, filepath.Join(filepath.Dir(file), "ca.pem"), string(f.ca()))
			text := string(good)
			if test.from != "" {
				text = strings.Replace(text, test.from, test.to, 1)
			}
			write(t, file, text)
			_, err := Open(file, test.context)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("%v; want %q", err, test.want)
			}
			if strings.Contains(err.Error(), token) {
				t.Errorf("prints the token: %v", err)
			}
			if !strings.HasPrefix(err.Error(), "kubeconfig \""+file) {
				t.Errorf("does not begin with the file: %v", err)
			}
		})
	}
	if _, err := Open("", ""); err == nil || !strings.HasPrefix(err.Error(), "no cluster given: there is no ~/.kube/config, KUBECONFIG is not set") {
		t.Error(err)
	}
	t.Setenv("KUBECONFIG", "/nowhere")
	if _, err := Open("", ""); err == nil || !strings.HasPrefix(err.Error(), `no cluster given: KUBECONFIG "/nowhere"`) {
		t.Error(err)
	}
	if _, err := Open("/nowhere", ""); err == nil || err.Error() != `kubeconfig "/nowhere": no such file or directory` {
		t.Error(err)
	}
}

func TestTLS(t *testing.T) {
	f := newFake(t, served())
	c := f.clientWith(t, "wrong", RequestTimeout)
	if _, err := c.Version(t.Context()); err == nil || err.Error() != "version of the cluster: API server "+f.URL+" does not accept the credentials (401)" {
		t.Error(err)
	}
	file := f.kubeconfig(t)
	write(t, filepath.Join(filepath.Dir(file), "ca.pem"), string(anotherCA(t)))
	stranger, err := Open(file, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := stranger.Version(t.Context()); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("%v", err)
	}
	if n := f.saw("GET /version"); n != 1 {
		t.Errorf("a server that is not trusted was asked: %d requests", n)
	}
	if stranger.Identity() == c.Identity() {
		t.Error("another authority is the same cluster")
	}
	f.Close()
	if _, err := c.Version(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") || strings.Contains(err.Error(), "timeout=") {
		t.Error(err)
	}
}

func TestCredentialsInServerAreNotSaid(t *testing.T) {
	if got := serverName("https://me:" + token + "@10.0.0.1:6443/"); got != "https://10.0.0.1:6443" {
		t.Error(got)
	}
	do := map[string]http.HandlerFunc{"GET /version": say(`{}`)}
	if _, err := newFake(t, do).client(t).Version(t.Context()); err == nil || !strings.Contains(err.Error(), "does not say it") {
		t.Error(err)
	}
}

// anotherCA is a certificate authority that signed nothing.
func anotherCA(t *testing.T) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, c, c, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
