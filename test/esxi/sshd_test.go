//go:build linux

package esxi

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/host"
)

// overSSH puts a real sshd before a host, on the loopback interface, in a mount namespace of its own. Its forced command is the host.
func (p *played) overSSH() *played {
	t := p.t
	t.Helper()
	for _, program := range []string{"/usr/sbin/sshd", "/usr/bin/unshare"} {
		if _, err := os.Stat(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	dir := t.TempDir()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	_ = l.Close()
	files := map[string]string{
		"authorized_keys": key(t, dir+"/id"),
		"known_hosts":     fmt.Sprintf("[127.0.0.1]:%d %s", port, key(t, dir+"/host")),
		"config": fmt.Sprintf("ForceCommand exec %s %s\nListenAddress 127.0.0.1:%d\nHostKey %s/host\nAuthorizedKeysFile %s/authorized_keys\nPidFile none\nStrictModes no\nUsePAM no\n"+
			"PasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitRootLogin yes\nMaxStartups 200\n", p.program, p.folder, port, dir, dir),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	server, err := host.Local{}.Start(ctx, host.Command{Argv: []string{"unshare", "--mount", "sh", "-c", "mount -t tmpfs tmpfs /run && mount -t tmpfs tmpfs /root && mkdir /run/sshd && exec timeout 600 /usr/sbin/sshd -D -e -f " + dir + "/config"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = server.Wait() // it was killed
	})
	target := host.Target{Name: p.name, Address: "127.0.0.1", Port: port, User: "root", KeyFiles: []string{dir + "/id"}, KnownHosts: []string{dir + "/known_hosts"}}
	p.dialer = func(ctx context.Context) (apply.ESXShell, error) { return (&host.Dialer{}).Dial(ctx, target) }
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		s, err := p.dialer(t.Context())
		if err == nil {
			_ = s.Close()
			return p
		}
		if time.Now().After(deadline) {
			t.Fatalf("sshd does not let in: %v", err)
		}
	}
}

// key writes a private key, and gives its public half.
func key(t testing.TB, file string) string {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	line, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(line))
}
