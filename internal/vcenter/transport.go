package vcenter

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vim25/soap"
)

// transport carries questions: each with a time limit, and once more after a login where the session had ended. A question of a
// session that had ended was refused and changed nothing, so asking again is safe for changes too.
type transport struct {
	client *Client
	soap   *soap.Client
	lock   sync.Mutex // one login at a time
	logins int
}

// RoundTrip asks and decodes the answer.
func (t *transport) RoundTrip(ctx context.Context, request, answer soap.HasFault) error {
	ctx, cancel := context.WithTimeout(ctx, t.client.timeout)
	defer cancel()
	seen := t.count()
	err := t.once(ctx, request, answer)
	if err == nil || t.client.vim == nil || !notAuthenticated(err) {
		return err
	}
	if again := t.loginAfter(ctx, seen); again != nil {
		return again
	}
	clearFault(answer)
	return t.once(ctx, request, answer)
}

// once asks once. An envelope without the answer that was asked for is an error: the library takes the answer to be there.
func (t *transport) once(ctx context.Context, request, answer soap.HasFault) error {
	if err := t.soap.RoundTrip(ctx, request, answer); err != nil {
		return err
	}
	if v := reflect.Indirect(reflect.ValueOf(answer)); v.Kind() == reflect.Struct {
		if result := v.FieldByName("Res"); result.Kind() == reflect.Pointer && result.IsNil() {
			return errors.New("an envelope without the answer to what was asked")
		}
	}
	return nil
}

// login is a transport that logs in: without a session there is none that had ended.
type login struct{ *transport }

// RoundTrip asks once.
func (l login) RoundTrip(ctx context.Context, request, answer soap.HasFault) error {
	return l.once(ctx, request, answer)
}

func (t *transport) count() int {
	t.lock.Lock()
	defer t.lock.Unlock()
	return t.logins
}

// loginAfter logs in, unless another question did so after this one was asked.
func (t *transport) loginAfter(ctx context.Context, seen int) error {
	t.lock.Lock()
	defer t.lock.Unlock()
	if t.logins != seen {
		return nil
	}
	if err := t.client.login(ctx, t); err != nil {
		return err
	}
	t.logins++
	return nil
}

// newSOAP is a client of the library with the transport of Go's own: the library's way to connect takes no time limit, and does
// not look at the thumbprint behind a proxy.
func newSOAP(at *url.URL, security *tls.Config) *soap.Client {
	c := soap.NewClient(at, false)
	t := c.DefaultTransport()
	t.DialTLSContext = nil
	t.TLSClientConfig = security
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // a password goes to no other server
	c.Transport = limited{t}
	c.UserAgent = "railwright"
	return c
}

// tlsConfig accepts a server that an authority vouches for, or, where a thumbprint is given, only the one that has it.
func tlsConfig(host, thumbprint string) (*tls.Config, error) {
	config := &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	if thumbprint == "" {
		return config, nil
	}
	want, err := hex.DecodeString(strings.ReplaceAll(thumbprint, ":", ""))
	if err != nil || len(want) != sha256.Size {
		return nil, &Error{Kind: Refused, What: "vCenter " + host, Text: "the thumbprint is not the SHA-256 of a certificate, 32 bytes as AB:CD:..."}
	}
	config.InsecureSkipVerify = true // of the chain: the certificate itself is compared
	config.VerifyConnection = func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return &certificateError{host: host}
		}
		seen := sha256.Sum256(state.PeerCertificates[0].Raw)
		if subtle.ConstantTimeCompare(seen[:], want) != 1 {
			return &certificateError{host: host, seen: Thumbprint(state.PeerCertificates[0]), wanted: strings.ToUpper(thumbprint)}
		}
		return nil
	}
	return config, nil
}

// Thumbprint is the SHA-256 of a certificate, as AB:CD:...
func Thumbprint(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.Raw)
	pairs := make([]string, len(sum))
	for i, b := range sum {
		pairs[i] = fmt.Sprintf("%02X", b)
	}
	return strings.Join(pairs, ":")
}

// certificateError is a certificate that is not the one whose thumbprint is given.
type certificateError struct{ host, seen, wanted string }

func (e *certificateError) Error() string {
	return fmt.Sprintf("the certificate of %s has the thumbprint %s, not %s: it was renewed, or another server answers", e.host, e.seen, e.wanted)
}
