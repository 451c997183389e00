package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

// resource is how a kind is reached.
type resource struct {
	name       string // plural, as in paths: resourceslices
	namespaced bool
}

// ServedVersions returns the versions of an API group that the cluster serves, newest first: v1, v1beta2, v1beta1. Of a group
// that it does not have they are none.
func (c *Client) ServedVersions(ctx context.Context, group string) ([]string, error) {
	text, err := c.ask(ctx, request{verb: http.MethodGet, path: "/apis/" + url.PathEscape(group), object: "API group " + group})
	if NotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var g metav1.APIGroup
	if err := json.Unmarshal(text, &g); err != nil {
		return nil, &Error{Object: "API group " + group, Text: err.Error()}
	}
	var versions []string
	for _, v := range g.Versions {
		versions = append(versions, v.Version)
	}
	slices.SortFunc(versions, func(a, b string) int { return version.CompareKubeAwareVersionStrings(b, a) })
	return versions, nil
}

// Serves reports whether the cluster has a kind of an API version, without which none of its objects can be.
func (c *Client) Serves(ctx context.Context, apiVersion, kind string) (bool, error) {
	all, err := c.kinds(ctx, apiVersion)
	if NotFound(err) {
		return false, nil
	}
	_, ok := all[kind]
	return ok, err
}

// root is the path under which an API version is.
func root(apiVersion string) string {
	if strings.Contains(apiVersion, "/") {
		return "/apis/" + apiVersion
	}
	return "/api/" + apiVersion
}

// find returns how a kind is reached.
func (c *Client) find(ctx context.Context, apiVersion, kind string) (resource, error) {
	all, err := c.kinds(ctx, apiVersion)
	if err != nil {
		return resource{}, err
	}
	if r, ok := all[kind]; ok {
		return r, nil
	}
	return resource{}, &Error{Object: kind + " of " + apiVersion, Text: "the cluster does not serve this kind"}
}

// kinds returns the kinds of an API version. They are asked for once, and again after a kind was added.
func (c *Client) kinds(ctx context.Context, apiVersion string) (map[string]resource, error) {
	c.lock.Lock()
	all := c.resources[apiVersion]
	c.lock.Unlock()
	if all != nil {
		return all, nil
	}
	text, err := c.ask(ctx, request{verb: http.MethodGet, path: root(apiVersion), object: "API version " + apiVersion})
	if err != nil {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, &Error{Object: "API version " + apiVersion, Text: err.Error()}
	}
	all = make(map[string]resource)
	for _, r := range list.APIResources {
		if !strings.Contains(r.Name, "/") { // else a part of one: pods/status
			all[r.Kind] = resource{name: r.Name, namespaced: r.Namespaced}
		}
	}
	c.lock.Lock()
	c.resources[apiVersion] = all
	c.lock.Unlock()
	return all, nil
}

// Forget makes the client ask again which kinds are served: a new one was added.
func (c *Client) Forget() {
	c.lock.Lock()
	defer c.lock.Unlock()
	clear(c.resources)
}

// pathOf returns where an object is; without a name, where all of its kind are.
func (c *Client) pathOf(ctx context.Context, o Object) (string, error) {
	r, err := c.find(ctx, o.APIVersion, o.Kind)
	if err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			return "", &Error{Object: o.String(), Status: e.Status, Reason: e.Reason, Text: fmt.Sprintf("%s of %s: %s", o.Kind, o.APIVersion, e.Text), cause: e.cause}
		}
		return "", err
	}
	for _, segment := range []string{o.Namespace, o.Name} { // client-go escapes the rest of the path
		if wrong := content.IsPathSegmentName(segment); len(wrong) > 0 && segment != "" {
			return "", &Error{Object: o.String(), Status: http.StatusUnprocessableEntity, Text: fmt.Sprintf("name %q %s", segment, strings.Join(wrong, ", "))}
		}
	}
	at := root(o.APIVersion)
	if r.namespaced && o.Namespace != "" {
		at += "/namespaces/" + o.Namespace
	}
	at += "/" + r.name
	if o.Name != "" {
		at += "/" + o.Name
	}
	return at, nil
}
