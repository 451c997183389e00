package vcenter

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"reflect"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Kind is what an error means for what comes next.
type Kind string

// Kinds of errors.
const (
	Refused      Kind = "refused"       // this program did not ask: a precondition is not met
	Unknown      Kind = "unknown"       // what decides could not be read: this program did not ask
	NoAnswer     Kind = "no answer"     // the server was not reached, or did not answer in time: whether it did is unknown
	NotPermitted Kind = "not permitted" // this user may not, or is not known
	NotFound     Kind = "not found"
	Changed      Kind = "changed" // somebody else changed it in between
	Fault        Kind = "fault"   // the server was asked and did not
)

// Error is why something was not done or not read.
type Error struct {
	Kind Kind
	What string // host esx01, virtual machine svm-01
	Text string // for people

	cause error
}

// Error is what it is about, then why.
func (e *Error) Error() string { return e.What + ": " + e.Text }

// Unwrap is the error of the connection.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether an error is of a kind.
func Is(err error, kind Kind) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Kind == kind
}

func refuse(what, format string, args ...any) error {
	return &Error{Kind: Refused, What: what, Text: fmt.Sprintf(format, args...)}
}

func unknown(what, format string, args ...any) error {
	return &Error{Kind: Unknown, What: what, Text: fmt.Sprintf(format, args...)}
}

// problem makes an error of one of the library.
func (c *Client) problem(what string, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	e := &Error{Kind: Fault, What: what, cause: scrubbed{err, c.scrub}}
	if f, text := faultOf(err); f != nil {
		e.Kind, e.Text = kindOf(f), c.scrub(faultText(f, text))
		return e
	}
	if soapFault := plainFault(err); soapFault != "" {
		e.Text = c.scrub(soapFault)
		return e
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		e.Kind, e.Text = status.kind(), c.scrub(status.Error())
		return e
	}
	e.Kind = NoAnswer
	e.Text = c.scrub(connectionText(err))
	return e
}

// openProblem is an error of the connection or the login.
func (c *Client) openProblem(err error) error {
	if f, _ := faultOf(err); f != nil {
		switch f.(type) {
		case types.InvalidLogin, *types.InvalidLogin:
			return &Error{Kind: NotPermitted, What: c.Place(), Text: "does not know this user with this password; RAILWRIGHT_VCENTER_USER is the name with its domain, as administrator@vsphere.local"}
		}
	}
	return c.problem(c.Place(), err)
}

// connectionText says why there was no answer, and what to do about a certificate.
func connectionText(err error) string {
	if unverified, ok := errors.AsType[*tls.CertificateVerificationError](err); ok && len(unverified.UnverifiedCertificates) > 0 {
		return fmt.Sprintf("no authority that this machine knows vouches for its certificate (%v). Its thumbprint is %s: where that is what the console of vCenter shows, give it as vsphere.vcenter.thumbprint in the cluster file",
			unverified.Err, Thumbprint(unverified.UnverifiedCertificates[0]))
	}
	if other, ok := errors.AsType[*certificateError](err); ok {
		return other.Error()
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "did not answer in time"
	}
	if errors.Is(err, context.Canceled) {
		return "was not waited for: this program was asked to stop"
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return "its name does not resolve: " + dns.Err
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		return "no answer: " + u.Err.Error()
	}
	return "no answer that is one of the vSphere API: " + err.Error()
}

// faultOf is the fault of the vSphere API in an error, and the text that came with it.
func faultOf(err error) (types.AnyType, string) {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if soap.IsSoapFault(e) {
			f := soap.ToSoapFault(e)
			return f.VimFault(), f.String
		}
		if soap.IsVimFault(e) {
			return soap.ToVimFault(e), ""
		}
	}
	if t, ok := errors.AsType[*taskError](err); ok {
		return t.fault.Fault, t.fault.LocalizedMessage
	}
	return nil, ""
}

// plainFault is the text of a fault that has no name of the vSphere API.
func plainFault(err error) string {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if soap.IsSoapFault(e) {
			f := soap.ToSoapFault(e)
			return strings.TrimSpace("the server refuses: " + f.String + " (" + f.Code + ")")
		}
	}
	return ""
}

func notAuthenticated(err error) bool { return fault.Is(err, &types.NotAuthenticated{}) }

// clearFault forgets the fault of the first try: the library reads the second answer into the same value.
func clearFault(answer soap.HasFault) {
	v := reflect.ValueOf(answer)
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v.Elem().SetZero()
	}
}

func faultName(f types.AnyType) string {
	name := fmt.Sprintf("%T", f)
	return name[strings.LastIndex(name, ".")+1:]
}

func kindOf(f types.AnyType) Kind {
	switch faultName(f) {
	case "NoPermission", "InvalidLogin", "NotAuthenticated", "NoPermissionOnHost", "InvalidLocale":
		return NotPermitted
	case "ManagedObjectNotFound", "NotFound":
		return NotFound
	case "ConcurrentAccess":
		return Changed
	case "HostNotConnected", "HostNotReachable", "HostCommunication":
		return NoAnswer
	}
	return Fault
}

// faultText is the server's own words, with the name of the fault, which is what people search for.
func faultText(f types.AnyType, text string) string {
	parts := []string{}
	if text = strings.TrimSpace(text); text != "" {
		parts = append(parts, text)
	}
	if base, ok := f.(types.BaseMethodFault); ok && base.GetMethodFault() != nil {
		for _, m := range base.GetMethodFault().FaultMessage {
			if m.Message != "" && m.Message != text {
				parts = append(parts, m.Message)
			}
		}
	}
	switch f := f.(type) {
	case *types.NoPermission:
		parts = append(parts, "the privilege "+f.PrivilegeId+" is missing")
	case types.NoPermission:
		parts = append(parts, "the privilege "+f.PrivilegeId+" is missing")
	}
	return strings.Join(append(parts, "(fault "+faultName(f)+")"), " ")
}

// scrubbed is an error whose text has no password.
type scrubbed struct {
	error
	scrub func(string) string
}

func (s scrubbed) Error() string { return s.scrub(s.error.Error()) }
func (s scrubbed) Unwrap() error { return s.error }
