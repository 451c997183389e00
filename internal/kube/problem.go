package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Error is why the API server did not do what it was asked for.
type Error struct {
	Object    string // what it is about: ResourceClaimTemplate default/pair
	Status    int    // of HTTP; 0: there was no answer
	Reason    string // as the server names it: NotFound, Invalid
	Text      string // for people
	Conflicts []Conflict
	Immutable []string // fields that cannot be changed

	unauthorized bool // the client may not ask for it
	cause        error
}

// Conflict is a field that another manager owns.
type Conflict struct {
	Field   string // .spec.replicas
	Manager string // kubectl
}

// Error is the object first, the cause last.
func (e *Error) Error() string { return e.Object + ": " + e.Text }

// Unwrap returns the error of the connection.
func (e *Error) Unwrap() error { return e.cause }

// NotFound reports whether an error means that there is no such object.
func NotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// NoAnswer reports whether an error means that the API server did not answer, or not as one: the next question is of no use.
func NoAnswer(err error) bool { return hasStatus(err, 0) }

// Refused reports whether the server refuses an object for what it is: it is not valid, or what admits objects to the cluster does not admit
// it (Pod Security, quotas). A server that does not let this client ask says nothing about the object.
func Refused(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && (e.Status == http.StatusUnprocessableEntity || e.Status == http.StatusForbidden && !e.unauthorized)
}

// Conflicts returns the fields for which others were asked before; none: the error is another one.
func Conflicts(err error) []Conflict {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Conflicts
	}
	return nil
}

// Immutable returns the fields that an existing object does not let change; none: the error is another one.
func Immutable(err error) []string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Immutable
	}
	return nil
}

func hasStatus(err error, status int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == status
}

// problem makes an error of an answer.
func (c *Client) problem(ctx context.Context, object string, status int, body []byte, err error) *Error {
	if s, ok := errors.AsType[*apierrors.StatusError](err); ok && status == 0 {
		status = int(s.ErrStatus.Code) // an answer that is not JSON: of something before the API server
	}
	e := &Error{Object: object, Status: status, cause: err}
	if status == 0 || status < http.StatusBadRequest {
		e.Status, e.cause = 0, plain(err)
		e.Text = c.noAnswer(ctx, err)
		return e
	}
	var s metav1.Status
	if json.Unmarshal(body, &s) != nil || s.Kind != "Status" {
		s = metav1.Status{Message: http.StatusText(status)}
	}
	e.Reason = string(s.Reason)
	e.Text = c.refused(e, s)
	return e
}

// noAnswer says why there was none, or half of one.
func (c *Client) noAnswer(ctx context.Context, err error) string {
	var timeout net.Error
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return "interrupted"
	case errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("API server %s: no answer in %s", c.server, c.timeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Sprintf("API server %s: its answer was cut off", c.server)
	}
	return fmt.Sprintf("API server %s: %s", c.server, plain(err))
}

// plain is an error without the request that it is about: its address is said already.
func plain(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// refused says why the server did not do it, and notes which fields are in the way.
func (c *Client) refused(e *Error, s metav1.Status) string {
	switch e.Status {
	case http.StatusUnauthorized:
		return fmt.Sprintf("API server %s does not accept the credentials (401)", c.server)
	case http.StatusForbidden:
		e.unauthorized = isUnauthorized(s.Message)
		return "not permitted: " + s.Message
	case http.StatusNotFound:
		if s.Details == nil || s.Details.Name == "" {
			return "API server " + c.server + " does not serve it (404)"
		}
		return s.Message
	case http.StatusConflict:
		return conflictText(e, s)
	case http.StatusTooManyRequests:
		return fmt.Sprintf("API server %s has too much to do (429): %s", c.server, s.Message)
	case http.StatusUnprocessableEntity:
		return invalidText(e, s)
	}
	return fmt.Sprintf("%s (%d)", strings.TrimSuffix(s.Message, "."), e.Status)
}

// conflictText reads the causes of a server-side apply: field, and a message with its manager in quotes. The message is that
// of apimachinery's managedfields package: conflict with "kubectl" using apps/v1.
func conflictText(e *Error, s metav1.Status) string {
	if s.Details != nil {
		for _, cause := range s.Details.Causes {
			if cause.Type == metav1.CauseTypeFieldManagerConflict {
				_, rest, _ := strings.Cut(cause.Message, `"`)
				manager, _, _ := strings.Cut(rest, `"`)
				e.Conflicts = append(e.Conflicts, Conflict{Field: cause.Field, Manager: manager})
			}
		}
	}
	if len(e.Conflicts) == 0 {
		return s.Message
	}
	return DescribeConflicts(e.Conflicts)
}

// DescribeConflicts says which fields belong to whom, the first ones by name.
func DescribeConflicts(conflicts []Conflict) string {
	const shown = 3
	var words []string
	for i, c := range conflicts {
		if i == shown {
			words = append(words, fmt.Sprintf("and %d more", len(conflicts)-shown))
			break
		}
		words = append(words, fmt.Sprintf("%s belongs to %q", c.Field, c.Manager))
	}
	return strings.Join(words, ", ")
}

// invalidText names the fields that the server refuses. A message of it holds the whole value before what is wrong with it.
func invalidText(e *Error, s metav1.Status) string {
	if s.Details == nil || len(s.Details.Causes) == 0 {
		return s.Message
	}
	const shown, long = 3, 300 // causes, bytes
	var words []string
	for _, cause := range s.Details.Causes {
		text := cause.Message
		if isImmutable(text) {
			if !slices.Contains(e.Immutable, cause.Field) {
				e.Immutable = append(e.Immutable, cause.Field)
			}
			text = "is immutable"
		}
		if len(text) > long {
			text = text[:long/2] + " ... " + text[len(text)-long/2:]
		}
		if w := strings.TrimPrefix(cause.Field+": "+text, ": "); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if more := len(words) - shown; more > 0 {
		words = append(words[:shown], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, "; ")
}

// isImmutable knows the words of k8s.io/kubernetes/pkg/apis/*/validation for a field of an object that may not change.
func isImmutable(message string) bool {
	return slices.ContainsFunc([]string{"field is immutable", "updates to statefulset spec for fields other than", "pod updates may not change fields other than",
		"may not change once set", "is immutable"}, func(words string) bool { return strings.Contains(message, words) })
}

// isUnauthorized knows the words in which the server says that a client may not ask (k8s.io/apiserver, responsewriters): User "a" cannot
// list resource "nodes". Admission refuses with the same status, and with words of its own.
func isUnauthorized(message string) bool {
	_, rest, found := strings.Cut(message, ": User ")
	return found && strings.Contains(rest, " cannot ")
}
