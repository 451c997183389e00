//go:build linux

package host

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// sshd is a real OpenSSH server on the loopback interface, in a mount namespace of its own in which
// home is the home of root.
type sshd struct {
	dir  string
	port int
	pid  int
	key  string // a private key that it accepts
}

// sshdSpec is what is special about a server.
type sshdSpec struct {
	config string            // lines of sshd_config
	home   map[string]string // files in the home of root
	before string            // shell commands in its mount namespace, $DIR is its folder
}

// startSSHD starts a server and ends it with the test.
func startSSHD(t testing.TB, spec sshdSpec) *sshd {
	t.Helper()
	for _, program := range []string{"/usr/sbin/sshd", "/usr/bin/unshare"} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("a server with a mount namespace of its own needs root")
	}
	if _, err := Output(t.Context(), Local{}, Command{Argv: []string{"unshare", "--mount", "true"}}); err != nil {
		t.Skipf("no mount namespace: %v", err)
	}
	s := &sshd{dir: t.TempDir(), port: freePort(t)}
	s.key = filepath.Join(s.dir, "id")
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(s.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("authorized_keys", newKey(t, s.key))
	newKey(t, filepath.Join(s.dir, "host"))
	write("home/.keep", "")
	for name, text := range spec.home {
		write("home/"+name, text)
	}
	// The first of two lines counts in sshd_config.
	write("config", strings.ReplaceAll(spec.config, "$DIR", s.dir)+fmt.Sprintf(`
ListenAddress 127.0.0.1:%d
HostKey %[2]s/host
AuthorizedKeysFile %[2]s/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
MaxStartups 200
`, s.port, s.dir))
	script := `set -e; mount -t tmpfs tmpfs /run; mkdir /run/sshd; mount --bind "$DIR/home" /root; ` + spec.before + `
exec 3<&0
( (cat <&3 >/dev/null; kill $$) 2>/dev/null & ) # a test that dies takes the server with it
exec /usr/sbin/sshd -D -e -f "$DIR/config" 3<&-`
	p, err := Local{}.Start(context.Background(), Command{Argv: []string{"unshare", "--mount", "sh", "-c", script}, Env: []string{"DIR=" + s.dir}})
	if err != nil {
		t.Fatal(err)
	}
	s.pid = p.PID()
	t.Cleanup(func() {
		killTree(s.pid)
		_ = p.Wait() // it was killed
	})
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
		if err == nil {
			_ = conn.Close()
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("sshd does not listen: %v", p.stderr.String())
		}
	}
}

// killTree ends a process and all below it, which are those of this test: the server and its sessions.
func killTree(pid int) {
	children, err := Children(pid)
	if err == nil {
		for _, child := range children {
			killTree(child)
		}
	}
	_ = unix.Kill(pid, unix.SIGKILL)
}

// sessions are the processes of the server that serve connections.
func (s *sshd) sessions(t testing.TB) (pids []int) {
	t.Helper()
	children, err := Children(s.pid)
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range children {
		pids = append(pids, pid)
	}
	return pids
}

// target logs in with the key that the server accepts and knows its host key.
func (s *sshd) target(t testing.TB) Target {
	t.Helper()
	known := filepath.Join(t.TempDir(), "known_hosts")
	s.know(t, known, filepath.Join(s.dir, "host"))
	return Target{Name: "gpu1", Address: "127.0.0.1", Port: s.port, User: "root", KeyFiles: []string{s.key}, KnownHosts: []string{known}}
}

// know writes a line for the server with the public half of a key.
func (s *sshd) know(t testing.TB, file, key string) {
	t.Helper()
	public, err := os.ReadFile(key + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, fmt.Appendf(nil, "# known\n[127.0.0.1]:%d %s", s.port, public), 0o600); err != nil {
		t.Fatal(err)
	}
}

// dial logs in and out with the test.
func (s *sshd) dial(t testing.TB, target Target) *SSH {
	t.Helper()
	d := &Dialer{}
	h, err := d.Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.Close() // tests break it too
		_ = d.Close()
	})
	return h
}

// newKey writes a private key and, with .pub, its public half, which it gives as a line.
func newKey(t testing.TB, file string) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	line := string(ssh.MarshalAuthorizedKey(key))
	for name, text := range map[string]string{file: string(pem.EncodeToMemory(block)), file + ".pub": line} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return line
}

func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// silent accepts connections and says nothing.
func silent(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	return l.Addr().(*net.TCPAddr).Port
}

// run runs a shell script here and gives what it prints.
func run(t testing.TB, script string, env ...string) string {
	t.Helper()
	out, err := Output(t.Context(), Local{}, Command{Argv: []string{"sh", "-ec", script}, Env: env})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
