package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"railwright.dev/railwright/internal/fabric"
)

// identities are the keys to offer to a host.
type identities struct {
	target  Target
	signers []ssh.Signer
	tried   []string // where they come from, and what was in the way of the others
	offered bool     // the host asked for them
	conn    net.Conn // to the agent; nil: none
}

// openIdentities gathers keys: those of the files in their order, then the others of the agent. A key
// that cannot be had is no error as long as another one opens the door.
func openIdentities(ctx context.Context, t Target) *identities {
	i := &identities{target: t}
	held := i.askAgent(ctx, t.Agent)
	for _, name := range t.KeyFiles {
		signers, why := keyFile(name, held)
		for _, signer := range signers {
			i.add(signer)
		}
		i.tried = append(i.tried, name+why)
	}
	if !t.IdentitiesOnly {
		for _, signer := range held {
			i.add(signer)
		}
	}
	return i
}

func (i *identities) add(s ssh.Signer) {
	if !slices.ContainsFunc(i.signers, func(have ssh.Signer) bool { return sameKey(have.PublicKey(), s.PublicKey()) }) {
		i.signers = append(i.signers, s)
	}
}

func sameKey(a, b ssh.PublicKey) bool { return bytes.Equal(a.Marshal(), b.Marshal()) }

// askAgent lists the keys of an agent. An agent that hangs ends with the context.
func (i *identities) askAgent(ctx context.Context, socket string) []ssh.Signer {
	if socket == "" {
		i.tried = append(i.tried, "no agent")
		return nil
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		i.tried = append(i.tried, fmt.Sprintf("agent (%v)", err))
		return nil
	}
	if deadline, ok := ctx.Deadline(); ok {
		_ = conn.SetDeadline(deadline) // a Unix socket has one
	}
	i.conn = conn
	held, err := agent.NewClient(conn).Signers()
	if err != nil {
		i.tried = append(i.tried, fmt.Sprintf("agent (%v)", err))
		return nil
	}
	i.tried = append(i.tried, fmt.Sprintf("agent (%d keys)", len(held)))
	return held
}

func (i *identities) close() {
	if i.conn != nil {
		_ = i.conn.Close() // nothing is left to be said
	}
}

// keyFile reads a private key, with its certificate; where it is encrypted, the agent may hold it. Without
// a key it says why.
func keyFile(name string, held []ssh.Signer) ([]ssh.Signer, string) {
	text, err := readKey(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, " (absent)"
	}
	if err != nil {
		return nil, fmt.Sprintf(" (%v)", errors.Unwrap(err))
	}
	signer, err := ssh.ParsePrivateKey(text)
	if err == nil {
		return certified(name, signer), ""
	}
	var encrypted *ssh.PassphraseMissingError
	if !errors.As(err, &encrypted) {
		return nil, fmt.Sprintf(" (%v)", err)
	}
	if public := publicKey(name, encrypted); public != nil {
		for _, s := range held {
			if sameKey(s.PublicKey(), public) {
				return []ssh.Signer{s}, ""
			}
		}
	}
	return nil, fmt.Sprintf(" (encrypted, and no agent holds it: ssh-add %s)", fabric.ShellWord(name))
}

// readKey reads a key, which is short.
func readKey(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	const most = 64 << 10 // bytes; a key of 16,384 bits takes 13 KiB
	text, err := readMost(f, most)
	if isTooLong(err) {
		err = fmt.Errorf("%q: %w", name, errors.New("longer than a key"))
	}
	return text, err
}

// publicKey is the public half of an encrypted key: in the file itself, or in older formats beside it.
func publicKey(name string, encrypted *ssh.PassphraseMissingError) ssh.PublicKey {
	if encrypted.PublicKey != nil {
		return encrypted.PublicKey
	}
	return readPublic(name + ".pub")
}

func readPublic(name string) ssh.PublicKey {
	text, err := readKey(name)
	if err != nil {
		return nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	return public
}

// certified puts the certificate before a key, if one lies beside it under ssh's own name for it.
func certified(name string, signer ssh.Signer) []ssh.Signer {
	certificate, ok := readPublic(name + "-cert.pub").(*ssh.Certificate)
	if !ok {
		return []ssh.Signer{signer}
	}
	with, err := ssh.NewCertSigner(certificate, signer)
	if err != nil { // of another key
		return []ssh.Signer{signer}
	}
	return []ssh.Signer{with, signer}
}

func (i *identities) offer() ([]ssh.Signer, error) {
	i.offered = true
	return i.signers, nil
}

// DeniedError is a login that the host refused, with every key that there is.
type DeniedError struct{ text string }

func (e *DeniedError) Error() string { return e.text }

func denied(format string, args ...any) error { return &DeniedError{fmt.Sprintf(format, args...)} }

// explain makes a failed login readable.
func (i *identities) explain(err error) error {
	tried := strings.Join(i.tried, ", ")
	switch {
	case strings.Contains(err.Error(), "Too many authentication failures"): // sshd's words, past MaxAuthTries
		return denied("permission denied for user %q: %d keys are more than the host allows (tried %s): set IdentityFile and IdentitiesOnly", i.target.User, len(i.signers), tried)
	case !strings.Contains(err.Error(), "unable to authenticate"): // x/crypto's words; it has no type for them
		return fmt.Errorf("log in as %q: %w", i.target.User, err)
	case !i.offered:
		return fmt.Errorf("permission denied for user %q: the host does not accept keys, and railwright never prompts for passwords: set PubkeyAuthentication yes in its sshd_config", i.target.User)
	default:
		return denied("permission denied for user %q (tried %s): add a key: ssh-copy-id -p %d %s", i.target.User, tried,
			i.target.Port, fabric.ShellWord(i.target.User+"@"+i.target.Address))
	}
}
