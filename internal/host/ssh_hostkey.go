package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"

	"railwright.dev/railwright/internal/fabric"
)

// keyBook are the host keys of some known_hosts files.
type keyBook struct{ db *knownhosts.HostKeyDB }

// keyBook reads files once. A line that cannot be read is an error that names it: its content is unknown.
func (d *Dialer) keyBook(files []string) (keyBook, error) {
	key := strings.Join(files, "\n")
	d.mu.Lock()
	defer d.mu.Unlock()
	if book, found := d.known[key]; found {
		return book, nil
	}
	present := slices.DeleteFunc(slices.Clone(files), func(name string) bool {
		_, err := os.Stat(name)
		return errors.Is(err, fs.ErrNotExist)
	})
	db, err := knownhosts.NewDB(present...)
	if err != nil {
		return keyBook{}, fmt.Errorf("known hosts: %w", err)
	}
	if d.known == nil {
		d.known = make(map[string]keyBook)
	}
	d.known[key] = keyBook{db}
	return d.known[key], nil
}

// algorithms are those of the keys that are known of a host first, so that it shows one of them, then all
// others, so that a host that has none of them any more is distinguished from one that speaks no SSH.
func (b keyBook) algorithms(endpoint string) []string {
	supported := ssh.SupportedAlgorithms().HostKeys
	list := slices.DeleteFunc(b.db.HostKeyAlgorithms(endpoint), func(a string) bool {
		return !slices.Contains(supported, a) // ssh-rsa with SHA-1
	})
	for _, a := range supported {
		if !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

// keyCheck verifies the key of one host and keeps the outcome.
type keyCheck struct {
	target   Target
	book     keyBook
	verified bool
	refused  error
}

func (k *keyCheck) verify(endpoint string, remote net.Addr, key ssh.PublicKey) error {
	err := k.book.db.HostKeyCallback()(endpoint, remote, key)
	k.verified = err == nil
	if err == nil {
		return nil
	}
	var mismatch *xknownhosts.KeyError
	var revoked *xknownhosts.RevokedError
	switch {
	case errors.As(err, &revoked):
		k.refused = fmt.Errorf("host key of %s is revoked in %s:%d", endpoint, revoked.Revoked.Filename, revoked.Revoked.Line)
	case errors.As(err, &mismatch) && len(mismatch.Want) > 0:
		k.refused = k.changed(endpoint, key, mismatch.Want)
	case errors.As(err, &mismatch):
		k.refused = k.unknown(endpoint, key)
	default:
		k.refused = fmt.Errorf("host key of %s: %w", endpoint, err)
	}
	return k.refused
}

func (k *keyCheck) unknown(endpoint string, key ssh.PublicKey) error {
	file := "~/.ssh/known_hosts"
	if len(k.target.KnownHosts) > 0 {
		file = fabric.ShellWord(k.target.KnownHosts[0])
	}
	return fmt.Errorf("unknown host key of %s: %s %s; look: %s | ssh-keygen -lf -; compare with what the host itself says: ssh-keygen -lf /etc/ssh/ssh_host_*_key.pub; add: %s >> %s",
		endpoint, key.Type(), ssh.FingerprintSHA256(key), k.keyscan(), k.keyscan(), file)
}

// keyscan is the command that shows the keys of the host, from its last jump host where there is one.
func (k *keyCheck) keyscan() string {
	command := "ssh-keyscan "
	if k.target.Port != defaultPort {
		command += "-p " + strconv.Itoa(k.target.Port) + " "
	}
	command += fabric.ShellWord(strings.ToLower(k.target.Address))
	if n := len(k.target.Jump); n > 0 {
		command = "ssh " + fabric.ShellWord(k.target.Jump[n-1].Name) + " " + command
	}
	return command
}

func (k *keyCheck) changed(endpoint string, key ssh.PublicKey, want []xknownhosts.KnownKey) error {
	var known, remove []string
	for _, w := range want {
		known = append(known, fmt.Sprintf("%s:%d: %s %s", w.Filename, w.Line, w.Key.Type(), ssh.FingerprintSHA256(w.Key)))
		command := fmt.Sprintf("ssh-keygen -f %s -R %s", fabric.ShellWord(w.Filename), fabric.ShellWord(knownhosts.Normalize(endpoint)))
		if !slices.Contains(remove, command) {
			remove = append(remove, command)
		}
	}
	return fmt.Errorf("WARNING: host key of %s HAS CHANGED: it now presents %s %s, the known key is %s; this may be a man-in-the-middle attack, or the host was reinstalled: verify with its administrator first, then: %s",
		endpoint, key.Type(), ssh.FingerprintSHA256(key), strings.Join(known, ", "), strings.Join(remove, "; "))
}
