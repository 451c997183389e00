package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
)

// object is an API object as JSON has it.
type object = map[string]any

// client asks an API server as its administrator. It is no part of the program: a wrong client cannot agree with itself.
type client struct {
	url  string
	http *http.Client
}

// clusterWide are kinds without a namespace.
var clusterWide = []string{"Namespace", "Node", "DeviceClass", "ResourceSlice", "ClusterRole", "ClusterRoleBinding"}

// path of the objects of a kind, or with a name of one of them.
func path(apiVersion, kind, namespace, name string) string {
	p := "/apis/" + apiVersion
	if apiVersion == "v1" {
		p = "/api/v1"
	}
	if !slices.Contains(clusterWide, kind) {
		p += "/namespaces/" + namespace
	}
	plural := strings.ToLower(kind) + "s"
	if strings.HasSuffix(kind, "Class") {
		plural = strings.ToLower(kind) + "es"
	}
	p += "/" + plural
	if name != "" {
		p += "/" + name
	}
	return p
}

// do asks once. An answer that is no success is an error with the server's words.
func (c *client) do(ctx context.Context, method, path string, body, into any) error {
	b, err := json.Marshal(body)
	if err != nil {
		return err
	}
	ask, err := http.NewRequestWithContext(ctx, method, c.url+path, bytes.NewReader(b))
	if err != nil {
		return err
	}
	ask.Header.Set("Accept", "application/json")
	if method == http.MethodPatch {
		ask.Header.Set("Content-Type", "application/apply-patch+yaml") // JSON is YAML
	}
	answer, err := c.http.Do(ask)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if answer.StatusCode/100 != 2 {
		var status struct{ Message string }
		if json.Unmarshal(text, &status) != nil {
			status.Message = string(text)
		}
		return fmt.Errorf("%s %s: %s: %s", method, path, answer.Status, status.Message)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

// apply writes an object by server-side apply, with every field known to the server.
func (c *client) apply(ctx context.Context, namespace string, o object) error {
	meta := o["metadata"].(object)
	at := path(o["apiVersion"].(string), o["kind"].(string), namespace, meta["name"].(string))
	return c.do(ctx, http.MethodPatch, at+"?fieldManager=test&fieldValidation=Strict", o, nil)
}

// applyAll writes objects, several at a time.
func (p *plane) applyAll(t *testing.T, namespace string, objects ...object) {
	t.Helper()
	const writers = 8
	queue := make(chan object)
	var wait sync.WaitGroup
	errs := make([]error, writers)
	for i := range errs {
		wait.Go(func() {
			for o := range queue {
				errs[i] = errors.Join(errs[i], p.api.apply(t.Context(), namespace, o))
			}
		})
	}
	for _, o := range objects {
		queue <- o
	}
	close(queue)
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// list reads the objects of a kind into a list.
func list[T any](t *testing.T, p *plane, apiVersion, kind, namespace string) []T {
	t.Helper()
	var found struct{ Items []T }
	if err := p.api.do(t.Context(), http.MethodGet, path(apiVersion, kind, namespace, ""), nil, &found); err != nil {
		t.Fatal(err)
	}
	return found.Items
}

// atEnd deletes what a path names when the test is over.
func (p *plane) atEnd(t *testing.T, path string) {
	t.Cleanup(func() {
		now := object{"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "propagationPolicy": "Background"}
		if err := p.api.do(context.Background(), http.MethodDelete, path, now, nil); err != nil {
			t.Error(err)
		}
	})
}

// namespace makes one that pods can be created in, for one test.
func (p *plane) namespace(t *testing.T) string {
	t.Helper()
	name := fmt.Sprintf("test-%d", p.namespaces.Add(1)) // one that was deleted goes later
	p.applyAll(t, "", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": name}})
	p.atEnd(t, path("v1", "Namespace", "", name))
	within(t, busy, func() string {
		err := p.api.do(t.Context(), http.MethodGet, path("v1", "ServiceAccount", name, "default"), nil, nil)
		if err != nil {
			return err.Error()
		}
		return ""
	})
	return name
}
