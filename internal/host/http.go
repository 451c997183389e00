package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// HTTPRequest is a request to a server.
type HTTPRequest struct {
	Method string
	URL    string
	Token  string // sent as a bearer token; empty: none
	Body   []byte // JSON; nil: none
}

// HTTPAnswer is what the server sent back.
type HTTPAnswer struct {
	Status int
	Type   string // Content-Type
	Body   []byte
	Cut    bool // the body is longer than was read
}

// HTTP sends one request and reads at most so many bytes of its answer. A redirection is not followed: a token would go
// where nobody sent it. An error after the status is returned with what was read; no error has the token in it.
func HTTP(ctx context.Context, r HTTPRequest, most int64) (HTTPAnswer, error) {
	var body io.Reader
	if r.Body != nil {
		body = bytes.NewReader(r.Body)
	}
	request, err := http.NewRequestWithContext(ctx, r.Method, r.URL, body)
	if err != nil {
		return HTTPAnswer{}, fmt.Errorf("request: %w", bare(err))
	}
	request.Header.Set("Accept", "application/json")
	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.Token != "" {
		request.Header.Set("Authorization", "Bearer "+r.Token)
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	client := http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return HTTPAnswer{}, bare(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, most+1))
	a := HTTPAnswer{Status: answer.StatusCode, Type: answer.Header.Get("Content-Type"), Body: text}
	if int64(len(text)) > most {
		a.Body, a.Cut = text[:most], true
	}
	return a, bare(err)
}

// bare takes the URL from an error: it may have a password.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}
