package kube

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// mostLog is how much of a log is asked for, in bytes: lines can be as long as their program likes.
const mostLog = 64 << 10

// LastLines returns the last lines that a container of a pod printed; previous: in its run before this one.
func (c *Client) LastLines(ctx context.Context, pod Object, container string, previous bool, lines int) ([]string, error) {
	path, err := c.pathOf(ctx, pod)
	if err != nil {
		return nil, err
	}
	query := url.Values{"container": {container}, "tailLines": {strconv.Itoa(lines)}, "limitBytes": {strconv.Itoa(mostLog)}}
	if previous {
		query.Set("previous", "true")
	}
	text, err := c.read(ctx, request{verb: http.MethodGet, path: path + "/log", query: query, object: "log of container " + container + " of " + pod.String()})
	if err != nil || len(text) == 0 {
		return nil, err
	}
	return strings.Split(strings.TrimRight(string(text), "\n"), "\n"), nil
}
