package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Target says how to log in to one host. SSHConfig makes it from ~/.ssh/config; none of its fields is
// looked up again.
type Target struct {
	Name           string        // what messages call the host
	Address        string        // host name or address to connect to; host keys are looked up under it
	Port           int           // TCP; 0: 22
	User           string        // login name; empty: that of this process
	Jump           []Target      // hosts to go through, the first one from here first
	KeyFiles       []string      // private keys in the order in which they are offered; absent ones are passed over
	Agent          string        // socket of an agent; empty: none
	IdentitiesOnly bool          // of the agent's keys only those that KeyFiles name
	KnownHosts     []string      // files with host keys; absent ones are passed over
	Timeout        time.Duration // for connecting and logging in, and for the shell to start a command; 0: 10 s
	Keepalive      time.Duration // how often a live link is proved; 0: 5 s. A proof that takes longer than Timeout ends it
}

// What ssh itself has no bound for gets one: ten times a slow login, and a question often enough that a
// dead link is known within Keepalive + Timeout.
const (
	defaultTimeout   = 10 * time.Second
	defaultKeepalive = 5 * time.Second
	defaultPort      = 22 // RFC 4253 section 4.1
)

func (t Target) withDefaults() (Target, error) {
	t.Port = cmp.Or(t.Port, defaultPort)
	t.Timeout = cmp.Or(t.Timeout, defaultTimeout)
	t.Keepalive = cmp.Or(t.Keepalive, defaultKeepalive)
	if t.User == "" {
		u, err := user.Current()
		if err != nil {
			return t, fmt.Errorf("login name: %w", err)
		}
		t.User = u.Username
	}
	return t, nil
}

func (t Target) endpoint() string {
	return net.JoinHostPort(strings.ToLower(t.Address), strconv.Itoa(cmp.Or(t.Port, defaultPort)))
}

// Dialer logs in to hosts over SSH. Its zero value is ready. Hosts behind the same jump host share one
// connection to it, and files with host keys are read once. Close it after the hosts.
type Dialer struct {
	mu    sync.Mutex
	jumps map[string]*jump   // by chain
	known map[string]keyBook // by list of files
}

// SSH is a login on a host, over which commands run. It is a Runner.
type SSH struct {
	name    string
	timeout time.Duration
	link    *connection
}

// Name is what messages call the host.
func (s *SSH) Name() string { return s.name }

// Close ends the connection; commands that still run on it end with an error. One that was lost has ended already.
func (s *SSH) Close() error {
	if err := s.link.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// ErrLost is part of the error of each command whose connection ended before the command did.
var ErrLost = errors.New("connection lost")

// Dial connects and logs in within t.Timeout, or until the context ends; the login then lives until Close.
// Host keys are always verified and the user is never prompted: what is unknown, not allowed or
// silent is an error that says what to do.
func (d *Dialer) Dial(ctx context.Context, t Target) (*SSH, error) {
	l, err := d.login(ctx, t)
	if err != nil {
		return nil, fmt.Errorf("host %q: %w", t.Name, err)
	}
	return &SSH{name: t.Name, timeout: cmp.Or(t.Timeout, defaultTimeout), link: l}, nil
}

// NoAnswerError means that a host took longer than allowed. It is a context.DeadlineExceeded.
type NoAnswerError struct{ Within time.Duration }

func (e *NoAnswerError) Error() string { return fmt.Sprintf("no answer within %s", e.Within) }

// Is reports that this is a deadline that has passed.
func (e *NoAnswerError) Is(target error) bool { return target == context.DeadlineExceeded }

func (d *Dialer) login(ctx context.Context, t Target) (*connection, error) {
	t, err := t.withDefaults()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, &NoAnswerError{t.Timeout})
	defer cancel()
	conn, err := d.connect(ctx, t)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("connect to %s: %w", t.endpoint(), err)
	}
	stop := context.AfterFunc(ctx, guarded(func() { _ = conn.Close() })) // ends the handshake below
	client, err := d.handshake(ctx, conn, t)
	if !stop() {
		return nil, fmt.Errorf("%s accepted the connection but the login did not finish: %w", t.endpoint(), context.Cause(ctx))
	}
	if err != nil {
		_ = conn.Close() // the handshake's error is the one to tell
		return nil, err
	}
	return watch(client, t), nil
}

func (d *Dialer) connect(ctx context.Context, t Target) (net.Conn, error) {
	if len(t.Jump) == 0 {
		return (&net.Dialer{}).DialContext(ctx, "tcp", t.endpoint())
	}
	via, name := t.Jump[len(t.Jump)-1], t.Jump[len(t.Jump)-1].Name
	via.Jump = t.Jump[:len(t.Jump)-1]
	l, err := d.through(ctx, via)
	if err != nil {
		return nil, fmt.Errorf("jump host %q: %w", name, err)
	}
	conn, err := l.DialContext(ctx, "tcp", t.endpoint())
	if err != nil {
		return nil, fmt.Errorf("from jump host %q: %w", name, err)
	}
	return conn, nil
}

func (d *Dialer) handshake(ctx context.Context, conn net.Conn, t Target) (*ssh.Client, error) {
	book, err := d.keyBook(t.KnownHosts)
	if err != nil {
		return nil, err
	}
	keys := &keyCheck{target: t, book: book}
	identities := openIdentities(ctx, t)
	defer identities.close()
	c, channels, requests, err := ssh.NewClientConn(conn, t.endpoint(), &ssh.ClientConfig{
		User:              t.User,
		Auth:              []ssh.AuthMethod{ssh.PublicKeysCallback(identities.offer)},
		HostKeyCallback:   keys.verify,
		HostKeyAlgorithms: book.algorithms(t.endpoint()),
	})
	switch {
	case err == nil:
		return ssh.NewClient(c, channels, requests), nil
	case keys.refused != nil:
		return nil, keys.refused
	case !keys.verified:
		return nil, fmt.Errorf("%s does not speak a supported version of SSH: %w", t.endpoint(), err)
	default:
		return nil, identities.explain(err)
	}
}

// jump is a connection to a jump host that several hosts share.
type jump struct {
	ready chan struct{} // closed when the others are set
	link  *connection
	err   error // kept: hosts behind a dead jump host do not each wait for it
}

// through returns the connection to a jump host, the same to all who ask.
func (d *Dialer) through(ctx context.Context, via Target) (*connection, error) {
	key := ""
	for _, t := range append(via.Jump[:len(via.Jump):len(via.Jump)], via) {
		key += t.User + "@" + t.endpoint() + " "
	}
	d.mu.Lock()
	j, found := d.jumps[key]
	if !found {
		j = &jump{ready: make(chan struct{})}
		if d.jumps == nil {
			d.jumps = make(map[string]*jump)
		}
		d.jumps[key] = j
		Go(func() { d.open(context.WithoutCancel(ctx), key, j, via) })
	}
	d.mu.Unlock()
	select {
	case <-j.ready:
		return j.link, j.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// open logs in to a jump host, and forgets the connection when it ends.
func (d *Dialer) open(ctx context.Context, key string, j *jump, via Target) {
	j.link, j.err = d.login(ctx, via)
	close(j.ready)
	if j.err != nil {
		return
	}
	<-j.link.gone
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.jumps[key] == j {
		delete(d.jumps, key)
	}
}

// Close ends the connections to jump hosts.
func (d *Dialer) Close() error {
	d.mu.Lock()
	jumps := d.jumps
	d.jumps = nil
	d.mu.Unlock()
	for _, j := range jumps {
		<-j.ready // within the timeout of its login
		if j.link != nil {
			_ = j.link.Close() // it may have ended by itself
		}
	}
	return nil
}

// connection is one that is known to be alive.
type connection struct {
	*ssh.Client
	gone chan struct{} // closed when it has ended
	why  error         // set by then
}

// watch asks the host again and again whether it is there, as ssh's ServerAliveInterval does, and closes
// a connection on which it does not answer.
func watch(client *ssh.Client, t Target) *connection {
	l := &connection{Client: client, gone: make(chan struct{})}
	silent := make(chan struct{})
	Go(func() {
		l.why = client.Wait()
		select {
		case <-silent:
			l.why = &NoAnswerError{t.Timeout}
		default:
		}
		close(l.gone)
	})
	Go(func() {
		tick := time.NewTicker(t.Keepalive)
		defer tick.Stop()
		for {
			select {
			case <-l.gone:
				return
			case <-tick.C:
			}
			late := time.AfterFunc(t.Timeout, guarded(func() {
				close(silent)
				_ = client.Close() // it is dead, which Wait tells
			}))
			_, _, err := client.SendRequest("keepalive@openssh.com", true, nil)
			if !late.Stop() || err != nil {
				return
			}
		}
	})
	return l
}

// lost returns why a connection ended, if it did: the end of a session is seen a moment before that of its
// connection.
func (l *connection) lost() error {
	const moment = time.Second
	select {
	case <-l.gone:
		return fmt.Errorf("%w: %w", ErrLost, cmp.Or(l.why, errors.New("closed")))
	case <-time.After(moment):
		return nil
	}
}

// guarded is f for callbacks that run in a goroutine of their own.
func guarded(f func()) func() {
	return func() {
		defer Recovered(os.Stderr)
		f()
	}
}
