package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"k8s.io/apimachinery/pkg/types"
)

// ApplyOptions is how an object is applied.
type ApplyOptions struct {
	DryRun bool // the server does everything but store it
	Force  bool // takes fields from their managers
}

// Apply makes the fields of an object those given, on the server (server-side apply): fields of other managers stay, and one
// that another manager owns with another value is an error with Conflicts, unless Force. A field that the kind does not have
// is an error. It returns the object as the server has it then.
func (c *Client) Apply(ctx context.Context, o Object, options ApplyOptions) (Object, error) {
	query := url.Values{"fieldManager": {Manager}, "fieldValidation": {"Strict"}, "force": {strconv.FormatBool(options.Force)}}
	if options.DryRun {
		query.Set("dryRun", "All")
	}
	return c.patch(ctx, o, types.ApplyPatchType, query, o.JSON)
}

// Merge patches an object by a JSON merge patch (RFC 7396), under the name of this program.
func (c *Client) Merge(ctx context.Context, o Object, patch []byte) (Object, error) {
	return c.patch(ctx, o, types.MergePatchType, url.Values{"fieldManager": {Manager}, "fieldValidation": {"Strict"}}, patch)
}

func (c *Client) patch(ctx context.Context, o Object, kind types.PatchType, query url.Values, body []byte) (Object, error) {
	path, err := c.pathOf(ctx, o)
	if err != nil {
		return Object{}, err
	}
	text, err := c.ask(ctx, request{verb: http.MethodPatch, path: path, query: query, body: body, patch: kind, object: o.String()})
	if err != nil {
		return Object{}, err
	}
	return c.answer(o, text)
}

// Create makes an object that must not exist yet.
func (c *Client) Create(ctx context.Context, o Object) (Object, error) {
	return c.create(ctx, o, url.Values{})
}

// TryCreate asks the server whether it would make an object, with everything that it does before it stores one; see Refused.
func (c *Client) TryCreate(ctx context.Context, o Object) error {
	_, err := c.create(ctx, o, url.Values{"dryRun": {"All"}})
	return err
}

func (c *Client) create(ctx context.Context, o Object, query url.Values) (Object, error) {
	all := o
	all.Name = ""
	path, err := c.pathOf(ctx, all)
	if err != nil {
		return Object{}, err
	}
	query.Set("fieldManager", Manager)
	query.Set("fieldValidation", "Strict")
	text, err := c.ask(ctx, request{verb: http.MethodPost, path: path, query: query, body: o.JSON, object: o.String()})
	if err != nil {
		return Object{}, err
	}
	return c.answer(o, text)
}

// Delete deletes an object, if it is still the one with this UID: another of its name is a conflict. What it owns is deleted
// after it. The object may be there for longer: a finalizer holds it.
func (c *Client) Delete(ctx context.Context, o Object) error {
	path, err := c.pathOf(ctx, o)
	if err != nil {
		return err
	}
	options := map[string]any{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
	if o.UID != "" {
		options["preconditions"] = map[string]any{"uid": o.UID}
	}
	body, err := json.Marshal(options)
	if err != nil {
		return err
	}
	_, err = c.ask(ctx, request{verb: http.MethodDelete, path: path, body: body, object: o.String()})
	return err
}
