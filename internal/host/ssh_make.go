package host

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/crypto/ssh"

	"railwright.dev/railwright/internal/fabric"
)

// OwnKey returns the public key, as a line, with which this user logs in to a host: that of the first of its key files that is
// there. Where there is none and no agent either, an ed25519 key is made; made is its file.
func OwnKey(t Target) (public, made string, err error) {
	for _, name := range t.KeyFiles {
		text, err := readKey(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", "", err
		}
		key, err := publicOf(name, text)
		if err != nil {
			return "", "", fmt.Errorf("%q: %w", name, err)
		}
		return keyLine(key) + " " + comment(), "", nil
	}
	i := &identities{target: t}
	held := i.askAgent(context.Background(), t.Agent)
	i.close()
	if len(held) > 0 {
		return keyLine(held[0].PublicKey()) + " " + comment(), "", nil
	}
	name := ""
	for _, file := range t.KeyFiles { // an ed25519 key by its usual name, else by the name that the configuration gives
		if name == "" || filepath.Base(file) == "id_ed25519" {
			name = file
		}
	}
	if name == "" {
		return "", "", errors.New("the ssh configuration allows no key file: remove IdentityFile none")
	}
	public, err = makeKey(name)
	return public, name, err
}

func publicOf(name string, text []byte) (ssh.PublicKey, error) {
	signer, err := ssh.ParsePrivateKey(text)
	if encrypted, ok := errors.AsType[*ssh.PassphraseMissingError](err); ok {
		if key := publicKey(name, encrypted); key != nil {
			return key, nil
		}
	}
	if err != nil {
		return nil, err
	}
	return signer.PublicKey(), nil
}

func keyLine(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

// makeKey makes a key without a passphrase and, beside it, its public half. A file that is there is never written over.
func makeKey(name string) (public string, err error) {
	pub, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return "", err
	}
	block, err := ssh.MarshalPrivateKey(private, comment())
	if err != nil {
		return "", err
	}
	key, err := ssh.NewPublicKey(pub)
	if err != nil {
		return "", err
	}
	public = keyLine(key) + " " + comment()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return "", err
	}
	if err := writeOnce(name, pem.EncodeToMemory(block), 0o600); err != nil {
		return "", err
	}
	if err := os.WriteFile(name+".pub", []byte(public+"\n"), 0o644); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return public, nil
}

// comment is what ssh-keygen writes too: who made a key, and where.
func comment() string {
	name := "railwright"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	return name + "@" + Local{}.Name()
}

func writeOnce(name string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	return nil
}

// AppendLines adds those of the lines to a file that it does not have, all at once or none. What the file has stays byte by
// byte, and so does its mode; a link is followed; a new file is for its owner alone.
func AppendLines(name string, lines []string) error {
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	}
	mode := fs.FileMode(0o600)
	old, err := os.ReadFile(name)
	switch info, statErr := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		err = os.MkdirAll(filepath.Dir(name), 0o700)
	case err == nil && statErr == nil:
		mode = info.Mode().Perm()
	}
	if err != nil {
		return err
	}
	text := slices.Clone(old)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	has := strings.Split(string(old), "\n")
	before := len(has)
	for _, line := range lines {
		if !slices.Contains(has, line) {
			text = append(text, line+"\n"...)
			has = append(has, line)
		}
	}
	if len(has) == before {
		return nil
	}
	aside := name + ".railwright"
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := writeOnce(aside, text, mode); err != nil {
		return err
	}
	if err := os.Rename(aside, name); err != nil {
		return errors.Join(err, os.Remove(aside))
	}
	return nil
}

// AskedSSH runs a shell script on a host by the ssh of this system, which asks the person at the terminal for a password: it
// passes through no file, argument or log of this program. Its host key must be known.
func AskedSSH(ctx context.Context, t Target, script string, stdin io.Reader) error {
	t, err := t.withDefaults()
	if err != nil {
		return err
	}
	argv := []string{
		"ssh", "-T", "-o", "StrictHostKeyChecking=yes", "-o", "UserKnownHostsFile=" + strings.Join(t.KnownHosts, " "),
		"-p", strconv.Itoa(t.Port), "-l", t.User,
	}
	if n := len(t.Jump); n > 0 {
		argv = append(argv, "-J", jumpWord(t.Jump))
	}
	argv = append(argv, "--", t.Address, "sh -c "+fabric.ShellWord(script))
	cmd := command(ctx, Command{Argv: argv})
	// In the process group of this program, so that it may read the terminal.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("host %q: ssh: %w", t.Name, err)
	}
	return nil
}

func jumpWord(chain []Target) string {
	var words []string
	for _, j := range chain {
		word := j.Address
		if j.User != "" {
			word = j.User + "@" + word
		}
		if j.Port != 0 {
			word += ":" + strconv.Itoa(j.Port)
		}
		words = append(words, word)
	}
	return strings.Join(words, ",")
}
