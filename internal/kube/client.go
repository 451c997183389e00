// Package kube speaks to the API server of a Kubernetes cluster: it lists, reads, applies (server-side, with field
// ownership) and deletes objects of any kind, as JSON. It is the only package that knows the Kubernetes client library, and its
// own types are plain.
//
// It asks the server which resources it serves by two paths of its own instead of the library's discovery package, which
// brings the Go types of all fifty-five API groups into the program.
package kube

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// Manager is the name under which fields that this program applies are owned.
const Manager = "railwright"

// Client speaks to one API server. It may be used by several goroutines.
type Client struct {
	rest     *rest.RESTClient
	server   string
	context  string
	identity string
	timeout  time.Duration

	lock      sync.Mutex
	resources map[string]map[string]resource // by API version and kind; what was asked for so far
}

// Server is the address of the API server.
func (c *Client) Server() string { return c.server }

// Place is the address of the API server with the context of the kubeconfig that leads to it, for people.
func (c *Client) Place() string {
	if c.context == "" {
		return "API server " + c.server
	}
	return "API server " + c.server + ", context " + c.context
}

// Identity names the API server among others: its address and certificate authority, as a digest.
func (c *Client) Identity() string { return c.identity }

func serverIdentity(config *rest.Config) string {
	h := sha256.New()
	for _, part := range [][]byte{[]byte(serverName(config.Host)), config.CAData, []byte(config.CAFile)} {
		sum := sha256.Sum256(part)
		h.Write(sum[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// request is one question to the API server.
type request struct {
	verb   string // GET, POST, PATCH, DELETE
	path   string
	query  url.Values
	body   []byte
	patch  types.PatchType // of a PATCH
	object string          // what it is about, for people
}

// ask sends a request whose answer is JSON; anything but success is an *Error.
func (c *Client) ask(ctx context.Context, r request) ([]byte, error) {
	body, err := c.read(ctx, r)
	if err != nil {
		return nil, err
	}
	if !json.Valid(body) {
		return nil, &Error{Object: r.object, Status: http.StatusOK, Text: c.notJSON(body)}
	}
	return body, nil
}

// read sends a request, and returns the answer as it is; anything but success is an *Error. The time of all retries together is
// bounded too.
func (c *Client) read(ctx context.Context, r request) ([]byte, error) {
	const retries = 3 // each after as long as the server asks for
	ctx, cancel := context.WithTimeout(ctx, 2*c.timeout)
	defer cancel()
	ctx = klog.NewContext(ctx, klog.Logger{}) // its errors are returned, not printed as well
	q := c.rest.Verb(r.verb).AbsPath(r.path).MaxRetries(retries)
	for name, values := range r.query {
		for _, v := range values {
			q = q.Param(name, v)
		}
	}
	if r.body != nil {
		q = q.Body(r.body).SetHeader("Content-Type", cmp.Or(string(r.patch), runtime.ContentTypeJSON))
	}
	var status int
	result := q.Do(ctx)
	result.StatusCode(&status)
	body, err := result.Raw()
	if err != nil {
		return nil, c.problem(ctx, r.object, status, body, err)
	}
	return body, nil
}

func (c *Client) notJSON(body []byte) string {
	if text := strings.TrimSpace(string(body)); strings.HasPrefix(text, "{") {
		return "the answer is cut off: " + c.server + " sent half a JSON object"
	}
	return c.server + " is not an API server of Kubernetes: its answer is not JSON"
}
