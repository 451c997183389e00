// Package vcenter speaks to vCenter by the vSphere API: it reads hosts, virtual machines, classes and namespaces as facts of
// this program, and changes them where it has read that they may be changed. It is the only package that knows the library of
// that API, and its own types are plain.
//
// Every change is made in the same way: read, refuse or find nothing to do, ask, wait, read again. What was before is returned,
// so that the same call takes it back.
package vcenter

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Config is where vCenter is and who asks.
type Config struct {
	Server     string // name or address, with its port where that is not 443
	Thumbprint string // SHA-256 of its certificate, as AB:CD:...; empty: an authority has to vouch for it
	User       string
	Password   func() string // a function, so that no print of a Config has it; nil: none is given
	Timeout    time.Duration // of one question; 0: 60 s
}

// Client speaks to one vCenter. It may be used by several goroutines.
type Client struct {
	vim     *vim25.Client
	rest    *rest
	server  string
	timeout time.Duration
	poll    time.Duration                                  // between two looks at something that goes on
	scrub   func(string) string                            // takes the password out of a text
	login   func(ctx context.Context, rt *transport) error // holds the password
	lock    sync.Mutex
	user    string // as vCenter names it: VSPHERE.LOCAL\Administrator
}

// Time limits. A question is answered in seconds; reading the options of a host with many adapters took the longest.
const (
	defaultTimeout = 60 * time.Second
	defaultPoll    = 2 * time.Second
)

// Open connects and logs in.
func Open(ctx context.Context, config Config) (*Client, error) {
	at, err := serverURL(config.Server)
	if err != nil {
		return nil, err
	}
	password := ""
	if config.Password != nil {
		password = config.Password()
	}
	if config.User == "" || password == "" {
		return nil, &Error{Kind: NotPermitted, What: "vCenter " + config.Server, Text: "no user or no password is given: they are read from RAILWRIGHT_VCENTER_USER and RAILWRIGHT_VCENTER_PASSWORD"}
	}
	security, err := tlsConfig(at.Hostname(), config.Thumbprint)
	if err != nil {
		return nil, err
	}
	c := &Client{server: config.Server, timeout: config.Timeout, poll: defaultPoll, scrub: scrubber(password)}
	if c.timeout <= 0 {
		c.timeout = defaultTimeout
	}
	user := config.User
	c.login = func(ctx context.Context, rt *transport) error { return c.logIn(ctx, rt, user, password) }
	base := newSOAP(at, security)
	rt := &transport{client: c, soap: base}
	ctx, cancel := context.WithTimeout(ctx, 2*c.timeout)
	defer cancel()
	if c.vim, err = connect(ctx, base, rt); err != nil {
		return nil, c.openProblem(err)
	}
	c.rest = &rest{client: c, base: at, send: base.Do, user: user, password: func() string { return password }}
	if about := c.vim.ServiceContent.About; about.ApiType != "VirtualCenter" {
		return nil, &Error{Kind: Refused, What: c.Place(), Text: "is no vCenter: it says that it is " + strings.TrimSpace(about.FullName) + ", of type " + about.ApiType}
	}
	if err := c.login(ctx, rt); err != nil {
		return nil, c.openProblem(err)
	}
	return c, nil
}

// connect asks who the server is, before anybody logs in.
func connect(ctx context.Context, base *soap.Client, rt *transport) (*vim25.Client, error) {
	base.Namespace, base.Version = "urn:"+vim25.Namespace, vim25.Version
	content, err := methods.GetServiceContent(ctx, rt)
	if err != nil {
		return nil, err
	}
	return &vim25.Client{Client: base, ServiceContent: content, RoundTripper: rt}, nil
}

func (c *Client) logIn(ctx context.Context, rt *transport, user, password string) error {
	manager := c.vim.ServiceContent.SessionManager
	if manager == nil {
		return &Error{Kind: Fault, What: c.Place(), Text: "has no session manager: it is not ready"}
	}
	answer, err := methods.Login(ctx, login{rt}, &types.Login{This: *manager, UserName: user, Password: password})
	if err != nil {
		return err
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.user = answer.Returnval.UserName
	return nil
}

// User is who is logged in, as vCenter names it.
func (c *Client) User() string {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.user
}

// Place is the server, for people.
func (c *Client) Place() string { return "vCenter " + c.server }

// Identity names the vCenter among others: its instance UUID.
func (c *Client) Identity() string { return c.vim.ServiceContent.About.InstanceUuid }

// Version is that of vCenter: 8.0.3.
func (c *Client) Version() string { return c.vim.ServiceContent.About.Version }

// Close logs out. A session that is left open ends by itself, after half an hour as vCenter is delivered.
func (c *Client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	c.rest.logOut(ctx)
	_, err := methods.Logout(ctx, c.vim.Client, &types.Logout{This: *c.vim.ServiceContent.SessionManager})
	c.vim.CloseIdleConnections()
	if err != nil && !notAuthenticated(err) {
		return c.problem(c.Place(), err)
	}
	return nil
}

// serverURL is the address of the API. A server with a scheme, a user or a path is a mistake that could show a password.
func serverURL(server string) (*url.URL, error) {
	host := server
	if strings.Count(host, ":") > 1 && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]" // an IPv6 address without port
	}
	u, err := url.Parse("https://" + host + "/sdk")
	if err != nil || u.User != nil || u.Hostname() == "" || u.Host != host || u.Path != "/sdk" || u.RawQuery != "" || u.Fragment != "" {
		return nil, &Error{Kind: Refused, What: "vCenter", Text: fmt.Sprintf("the server is a name or an address, with a port where that is not 443, as vcenter.example.org; %d characters are given that are not", len(server))}
	}
	return u, nil
}

// scrubber takes a password out of texts. One of less than four characters would take half of every text with it.
func scrubber(password string) func(string) string {
	const least = 4
	if len(password) < least {
		return func(s string) string { return s }
	}
	r := strings.NewReplacer(password, "***", url.QueryEscape(password), "***")
	return r.Replace
}
