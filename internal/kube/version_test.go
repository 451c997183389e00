package kube

import (
	"context"
	"encoding/json"
	"net/http"

	"k8s.io/apimachinery/pkg/version"
)

// What tests ask and no command does.

// NotPermitted reports whether an error means that this user may not do that, or is unknown.
func NotPermitted(err error) bool {
	return hasStatus(err, http.StatusForbidden) || hasStatus(err, http.StatusUnauthorized)
}

// Version is that of the API server: v1.36.3.
func (c *Client) Version(ctx context.Context) (string, error) {
	text, err := c.ask(ctx, request{verb: http.MethodGet, path: "/version", object: "version of the cluster"})
	if err != nil {
		return "", err
	}
	var v version.Info
	if err := json.Unmarshal(text, &v); err != nil || v.GitVersion == "" {
		return "", &Error{Object: "version of the cluster", Text: "API server " + c.server + " does not say it"}
	}
	return v.GitVersion, nil
}
