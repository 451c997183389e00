package vcenter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
)

// rest asks the other API of vCenter, JSON over HTTP, which has what the Supervisor is made of: classes, namespaces, policies,
// libraries. The library's client for it drops the text of every refusal but one kind, and names the devices of a class by a
// field that vCenter does not have.
type rest struct {
	client   *Client
	base     *url.URL
	send     func(context.Context, *http.Request, func(*http.Response) error) error // by the connection of the other API
	user     string
	password func() string // not a field that a print would show

	lock    sync.Mutex
	session string
}

const (
	sessionHeader = "vmware-api-session-id"
	sessionPath   = "/api/session"
	mostAnswer    = 64 << 20 // bytes: far above a list of everything that one vCenter may have
)

// statusError is an answer that is no success.
type statusError struct {
	status int
	text   string
}

func (e *statusError) Error() string {
	text := http.StatusText(e.status)
	if e.text != "" {
		text += ": " + e.text
	}
	return fmt.Sprintf("%s (HTTP %d)", text, e.status)
}

func (e *statusError) kind() Kind {
	switch e.status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return NotPermitted
	case http.StatusNotFound:
		return NotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return Changed
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return NoAnswer
	}
	return Fault
}

// call asks and decodes the answer into out, unless that is nil. Once more after a login, where the session has ended.
func (r *rest) call(ctx context.Context, what, method, path string, in, out any) error {
	return r.about(ctx, what, method, path, nil, in, out)
}

// get is call with a query.
func (r *rest) get(ctx context.Context, what, path string, query url.Values, out any) error {
	return r.about(ctx, what, http.MethodGet, path, query, nil, out)
}

func (r *rest) about(ctx context.Context, what, method, path string, query url.Values, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, r.client.timeout)
	defer cancel()
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
	}
	for try := 0; ; try++ {
		session, err := r.logIn(ctx)
		if err != nil {
			return r.client.openProblem(err)
		}
		answer, err := r.ask(ctx, method, path, query, body, session)
		if s, ok := errors.AsType[*statusError](err); ok && s.status == http.StatusUnauthorized && try == 0 {
			r.forget(session)
			continue
		}
		if err != nil {
			return r.client.problem(what, err)
		}
		if out == nil {
			return nil
		}
		if err := json.Unmarshal(answer, out); err != nil {
			return &Error{Kind: Fault, What: what, Text: "the answer is not what the vSphere API describes: " + r.client.scrub(err.Error())}
		}
		return nil
	}
}

// ask sends one question.
func (r *rest) ask(ctx context.Context, method, path string, query url.Values, body []byte, session string) ([]byte, error) {
	at := *r.base
	at.Path, at.RawQuery = path, query.Encode()
	q, err := http.NewRequestWithContext(ctx, method, at.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Accept", "application/json")
	if body != nil {
		q.Header.Set("Content-Type", "application/json")
	}
	if session == "" {
		q.SetBasicAuth(r.user, r.password())
	} else {
		q.Header.Set(sessionHeader, session)
	}
	var text []byte
	err = r.send(ctx, q, func(answer *http.Response) error {
		if text, err = io.ReadAll(answer.Body); err != nil {
			return err
		}
		if answer.StatusCode < 200 || answer.StatusCode > 299 {
			return &statusError{status: answer.StatusCode, text: refusalText(text)}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return text, nil
}

// refusalText is what the server says in words: messages of its error, else the start of a text that is no JSON.
func refusalText(body []byte) string {
	var e struct {
		Type     string `json:"error_type"`
		Messages []struct {
			Text string `json:"default_message"`
		} `json:"messages"`
	}
	if json.Unmarshal(body, &e) != nil {
		const most = 200
		return strings.Join(strings.Fields(string(body[:min(len(body), most)])), " ")
	}
	var parts []string
	for _, m := range e.Messages {
		parts = append(parts, strings.TrimSpace(m.Text))
	}
	if e.Type != "" {
		parts = append(parts, e.Type)
	}
	return strings.Join(parts, " ")
}

func (r *rest) logIn(ctx context.Context) (string, error) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.session != "" {
		return r.session, nil
	}
	text, err := r.ask(ctx, http.MethodPost, sessionPath, nil, nil, "")
	if err != nil {
		return "", err
	}
	if err := json.Unmarshal(text, &r.session); err != nil || r.session == "" {
		return "", &Error{Kind: Fault, What: r.client.Place(), Text: "the login at " + sessionPath + " gave no session"}
	}
	return r.session, nil
}

func (r *rest) forget(session string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.session == session {
		r.session = ""
	}
}

func (r *rest) logOut(ctx context.Context) {
	r.lock.Lock()
	session := r.session
	r.session = ""
	r.lock.Unlock()
	if session != "" {
		_, _ = r.ask(ctx, http.MethodDelete, sessionPath, nil, nil, session) // it ends by itself too
	}
}
