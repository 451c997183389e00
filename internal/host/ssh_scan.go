package host

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// HostKey is a public key by which a host proves who it is.
type HostKey struct {
	Type        string `json:"type"`        // ssh-ed25519
	Fingerprint string `json:"fingerprint"` // SHA256:..., as ssh-keygen -l prints it
	Known       bool   `json:"known"`       // it is in a known_hosts file, under every name that was asked for

	key ssh.PublicKey
}

// Text is the key as a known_hosts file has it, without the names.
func (k HostKey) Text() string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.key)))
}

// ParseHostKey reads a line of a public key file, such as /etc/ssh/ssh_host_ed25519_key.pub.
func ParseHostKey(line []byte) (HostKey, error) {
	key, _, _, _, err := ssh.ParseAuthorizedKey(line)
	if err != nil {
		return HostKey{}, err
	}
	return newHostKey(key), nil
}

func newHostKey(key ssh.PublicKey) HostKey {
	return HostKey{Type: key.Type(), Fingerprint: ssh.FingerprintSHA256(key), key: key}
}

// OwnHostKeys reads the host keys of this machine's own sshd from where OpenSSH keeps them.
func OwnHostKeys() (keys []HostKey, err error) {
	names, err := filepath.Glob("/etc/ssh/ssh_host_*_key.pub")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := readKey(name)
		if err != nil {
			return nil, err
		}
		key, err := ParseHostKey(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return nil, errors.New("no host key is in /etc/ssh: is openssh-server installed?")
	}
	return keys, nil
}

// errScanned ends a handshake once the key was seen: nothing is logged in to.
var errScanned = errors.New("the key was seen")

// Scan asks a host for all its keys, one handshake for each kind, as ssh-keyscan does. It also returns the address that
// answered; behind a jump host that is empty. What it returns is what the network says, and proves nothing.
func (d *Dialer) Scan(ctx context.Context, t Target) (keys []HostKey, address string, err error) {
	if t, err = t.withDefaults(); err != nil {
		return nil, "", fmt.Errorf("host %q: %w", t.Name, err)
	}
	kinds := [][]string{{ssh.KeyAlgoED25519}, {ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521}, {ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}}
	for _, algorithms := range kinds {
		key, remote, oneErr := d.scanOne(ctx, t, algorithms)
		if oneErr != nil {
			err = oneErr
			continue // a host need not have all of them
		}
		keys = append(keys, newHostKey(key))
		address = remote
	}
	if len(keys) == 0 {
		return nil, "", fmt.Errorf("host %q: %w", t.Name, err)
	}
	return keys, address, nil
}

func (d *Dialer) scanOne(ctx context.Context, t Target, algorithms []string) (key ssh.PublicKey, address string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Timeout, &NoAnswerError{t.Timeout})
	defer cancel()
	conn, err := d.connect(ctx, t)
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, "", fmt.Errorf("connect to %s: %w", t.endpoint(), err)
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, guarded(func() { _ = conn.Close() })) // ends the handshake below
	defer stop()
	_, _, _, err = ssh.NewClientConn(conn, t.endpoint(), &ssh.ClientConfig{
		User: t.User, HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(_ string, _ net.Addr, k ssh.PublicKey) error { key = k; return errScanned },
	})
	if key == nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, "", fmt.Errorf("%s showed no host key: %w", t.endpoint(), err)
	}
	if remote, ok := conn.RemoteAddr().(*net.TCPAddr); ok && len(t.Jump) == 0 {
		address = remote.IP.String()
	}
	return key, address, nil
}

// Compare looks keys up under the names of a host in its known_hosts files. It says which are known, and returns for each
// name what of them is not; a name that is known with another key is an error that says what to do.
func (d *Dialer) Compare(t Target, names []string, keys []HostKey) (compared []HostKey, missing []string, err error) {
	book, err := d.keyBook(t.KnownHosts)
	if err != nil {
		return nil, nil, err
	}
	compared = slices.Clone(keys)
	for i, k := range keys {
		var under []string
		for _, name := range names {
			endpoint := net.JoinHostPort(name, strconv.Itoa(max(t.Port, 0)))
			if t.Port == 0 {
				endpoint = net.JoinHostPort(name, strconv.Itoa(defaultPort))
			}
			check := &keyCheck{target: t, book: book}
			err := check.verify(endpoint, &net.TCPAddr{IP: net.IPv4zero}, k.key)
			if want, differs := errors.AsType[*xknownhosts.KeyError](book.db.HostKeyCallback()(endpoint, &net.TCPAddr{IP: net.IPv4zero}, k.key)); differs {
				// A key of a kind that is unknown of it is new, not changed.
				if !slices.ContainsFunc(want.Want, func(w xknownhosts.KnownKey) bool { return w.Key.Type() == k.Type }) {
					under = append(under, knownhosts.Normalize(endpoint))
					continue
				}
			}
			if err != nil {
				return nil, nil, err
			}
		}
		compared[i].Known = len(under) == 0
		if len(under) > 0 {
			missing = append(missing, strings.Join(under, ",")+" "+k.Text())
		}
	}
	return compared, missing, nil
}
