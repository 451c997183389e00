package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// page is how many objects are asked for at once. It is the number that kubectl asks for (--chunk-size).
const page = 500

// DRAGroup is the API group of ResourceSlices, DeviceClasses and claims.
const DRAGroup = "resource.k8s.io"

// Get returns an object as the server has it; see NotFound.
func (c *Client) Get(ctx context.Context, o Object) (Object, error) {
	path, err := c.pathOf(ctx, o)
	if err != nil {
		return Object{}, err
	}
	text, err := c.ask(ctx, request{verb: http.MethodGet, path: path, object: o.String()})
	if err != nil {
		return Object{}, err
	}
	return c.answer(o, text)
}

// answer reads an object of an answer.
func (c *Client) answer(o Object, text []byte) (Object, error) {
	got, err := Read(text)
	if err == nil && (got.Kind != o.Kind || got.Name != o.Name) {
		err = fmt.Errorf("API server %s answered with %s", c.server, got)
	}
	if err != nil {
		return Object{}, &Error{Object: o.String(), Text: err.Error(), cause: err}
	}
	return got, nil
}

// Selection is which objects of a kind are listed; the zero value is all of them.
type Selection struct {
	Namespace string // empty: all
	Labels    string // railwright.dev/plan=pod1
	Fields    string // involvedObject.uid=...; which ones can be asked for depends on the kind
}

// List returns all objects of a kind, in all namespaces, as the server orders them.
func (c *Client) List(ctx context.Context, apiVersion, kind string, s Selection) ([]Object, error) {
	what := Object{APIVersion: apiVersion, Kind: kind, Namespace: s.Namespace}
	path, err := c.pathOf(ctx, what)
	if err != nil {
		return nil, err
	}
	objects, err := c.list(ctx, path, what, s, page)
	if hasStatus(err, http.StatusGone) {
		// The list changed for longer than the server keeps it; in one page it cannot.
		objects, err = c.list(ctx, path, what, s, 0)
	}
	return objects, err
}

// list reads a list page by page; of 0: as a whole.
func (c *Client) list(ctx context.Context, path string, what Object, s Selection, page int) (objects []Object, err error) {
	name := "list of " + what.Kind + "s"
	token := ""
	for {
		query := url.Values{}
		set := func(key, value string) {
			if value != "" && value != "0" {
				query.Set(key, value)
			}
		}
		set("limit", strconv.Itoa(page))
		set("labelSelector", s.Labels)
		set("fieldSelector", s.Fields)
		set("continue", token)
		text, err := c.ask(ctx, request{verb: http.MethodGet, path: path, query: query, object: name})
		if err != nil {
			return nil, err
		}
		var l struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []json.RawMessage `json:"items"`
		}
		if err := json.Unmarshal(text, &l); err != nil || !strings.HasSuffix(l.Kind, "List") {
			return nil, &Error{Object: name, Text: fmt.Sprintf("API server %s answered with kind %q", c.server, l.Kind)}
		}
		for i, item := range l.Items {
			o, err := Read(typed(item, what))
			if err != nil {
				return nil, &Error{Object: name, Text: fmt.Sprintf("items[%d]: %s", i, err)}
			}
			objects = append(objects, o)
		}
		if token, err = next(token, l.Metadata.Continue); err != nil {
			return nil, &Error{Object: name, Text: err.Error()}
		}
		if token == "" {
			return objects, nil
		}
	}
}

// next returns the token of the next page. One that does not move on would be asked for without end.
func next(token, following string) (string, error) {
	if following != "" && following == token {
		return "", fmt.Errorf("its pages do not end: the same one follows itself")
	}
	return following, nil
}

// typed adds API version and kind to an object of a list: the server says them of the list alone.
func typed(item json.RawMessage, what Object) json.RawMessage {
	var h header
	if json.Unmarshal(item, &h) != nil || h.Kind != "" {
		return item
	}
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(item), []byte("{"))
	if !ok {
		return item
	}
	first := fmt.Sprintf(`{"apiVersion":%q,"kind":%q`, what.APIVersion, what.Kind)
	if bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
		return append([]byte(first), rest...)
	}
	return append([]byte(first+","), rest...)
}

// Unread is a kind of object that could not be listed.
type Unread struct {
	Kind string
	Err  error
}

// ClaimObjects returns what an allocation of devices depends on, as one List in JSON: ResourceSlices, DeviceClasses,
// ResourceClaims and their templates in the newest version that the cluster serves, and Pods. What could not be read is said:
// of a cluster whose claims are unknown it is unknown which devices are in use.
func (c *Client) ClaimObjects(ctx context.Context) (list []byte, unread []Unread, err error) {
	versions, err := c.ServedVersions(ctx, DRAGroup)
	if err != nil {
		return nil, nil, err
	}
	if len(versions) == 0 {
		return nil, nil, &Error{Object: "API group " + DRAGroup,
			Text: "API server " + c.server + " does not serve it: dynamic resource allocation is on by default from Kubernetes 1.34"}
	}
	var objects []Object
	for _, k := range []struct{ apiVersion, kind string }{
		{DRAGroup + "/" + versions[0], "ResourceSlice"},
		{DRAGroup + "/" + versions[0], "DeviceClass"},
		{DRAGroup + "/" + versions[0], "ResourceClaim"},
		{DRAGroup + "/" + versions[0], "ResourceClaimTemplate"},
		{"v1", "Pod"},
	} {
		of, err := c.List(ctx, k.apiVersion, k.kind, Selection{})
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, err
			}
			unread = append(unread, Unread{Kind: k.kind, Err: err})
			continue
		}
		objects = append(objects, of...)
	}
	return AsList(objects), unread, nil
}
