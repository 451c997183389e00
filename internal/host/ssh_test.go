//go:build linux

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func mustContain(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	t.Log(err)
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestLogin(t *testing.T) {
	s := startSSHD(t, sshdSpec{})
	answers := func(t *testing.T, target Target) {
		t.Helper()
		out, err := Output(t.Context(), s.dial(t, target), Command{Argv: []string{"echo", "there"}})
		if err != nil || string(out) != "there\n" {
			t.Errorf("have %q, %v", out, err)
		}
	}
	t.Run("key", func(t *testing.T) { answers(t, s.target(t)) })
	t.Run("agent", func(t *testing.T) {
		target := s.target(t)
		target.Agent, target.KeyFiles = startAgent(t, s.key), nil
		answers(t, target)
	})
	t.Run("encrypted key in the agent", func(t *testing.T) {
		target := s.target(t)
		target.Agent, target.IdentitiesOnly = startAgent(t, s.key), true
		target.KeyFiles = []string{encrypt(t, s.key)}
		answers(t, target)
	})
	t.Run("hashed names", func(t *testing.T) {
		target := s.target(t)
		run(t, `ssh-keygen -q -H -f "$F" 2>/dev/null; ! grep -q 127 "$F"; rm "$F.old"`, "F="+target.KnownHosts[0])
		answers(t, target)
	})
	t.Run("one of two host keys known", func(t *testing.T) {
		two := startSSHD(t, sshdSpec{config: "HostKey $DIR/second", before: `ssh-keygen -q -t ecdsa -N "" -f "$DIR/second"; `})
		for _, key := range []string{"host", "second"} {
			target := two.target(t)
			two.know(t, target.KnownHosts[0], filepath.Join(two.dir, key))
			two.dial(t, target)
		}
	})
	t.Run("certificate", func(t *testing.T) {
		ca := startSSHD(t, sshdSpec{config: "TrustedUserCAKeys $DIR/host.pub\nHostCertificate $DIR/host-cert.pub",
			before: `chmod 600 "$DIR"/host*; ssh-keygen -q -s "$DIR/host" -I h -h -n 127.0.0.1 "$DIR/host.pub"; `})
		target := ca.target(t)
		line, err := os.ReadFile(target.KnownHosts[0])
		if err != nil {
			t.Fatal(err)
		}
		authority := strings.Replace(string(line), "[", "@cert-authority [", 1)
		if err := os.WriteFile(target.KnownHosts[0], []byte(authority), 0o600); err != nil {
			t.Fatal(err)
		}
		key := filepath.Join(t.TempDir(), "id")
		newKey(t, key)
		run(t, `ssh-keygen -q -s "$CA" -I u -n root "$KEY.pub"`, "CA="+filepath.Join(ca.dir, "host"), "KEY="+key)
		target.KeyFiles = []string{key}
		out, err := Output(t.Context(), ca.dial(t, target), Command{Argv: []string{"echo", "there"}})
		if err != nil || string(out) != "there\n" {
			t.Errorf("have %q, %v", out, err)
		}
	})
}

// startAgent starts an ssh-agent that holds a key and ends with the test.
func startAgent(t *testing.T, key string) string {
	t.Helper()
	if _, err := os.Stat("/usr/bin/ssh-agent"); err != nil {
		t.Skip("ssh-agent is not installed")
	}
	socket := filepath.Join(t.TempDir(), "agent")
	p, err := Local{}.Start(context.Background(), Command{Argv: []string{"ssh-agent", "-D", "-a", socket}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Kill()
		_ = p.Wait() // it was killed
	})
	run(t, `while ! [ -S "$SSH_AUTH_SOCK" ]; do sleep 0.02; done; ssh-add -q "$KEY"`, "SSH_AUTH_SOCK="+socket, "KEY="+key)
	return socket
}

// encrypt returns a copy of a key behind a passphrase.
func encrypt(t *testing.T, key string) string {
	t.Helper()
	locked := filepath.Join(t.TempDir(), "id_locked")
	run(t, `cp "$KEY" "$TO"; ssh-keygen -q -p -N secret -f "$TO" >/dev/null`, "KEY="+key, "TO="+locked)
	return locked
}

func TestRefused(t *testing.T) {
	s := startSSHD(t, sshdSpec{})
	stranger := filepath.Join(t.TempDir(), "stranger")
	newKey(t, stranger)
	locked := encrypt(t, s.key)
	fingerprint := strings.Fields(run(t, `ssh-keygen -lf "$F"`, "F="+filepath.Join(s.dir, "host.pub")))[1]
	port := fmt.Sprint(s.port)
	for _, c := range []struct {
		name   string
		change func(*testing.T, *Target)
		want   []string
	}{
		{"key not accepted", func(_ *testing.T, target *Target) { target.KeyFiles = []string{stranger, "/absent"} },
			[]string{`host "gpu1": permission denied for user "root"`, "no agent", stranger, "/absent (absent)", "ssh-copy-id -p " + port + " root@127.0.0.1"}},
		{"agent with the wrong key", func(t *testing.T, target *Target) {
			target.KeyFiles, target.Agent = nil, startAgent(t, stranger)
		}, []string{"permission denied", "agent (1 keys)"}},
		{"agent is gone", func(_ *testing.T, target *Target) { target.KeyFiles, target.Agent = nil, "/absent/agent" },
			[]string{"permission denied", "agent (", "no such file"}},
		{"encrypted key without agent", func(_ *testing.T, target *Target) { target.KeyFiles = []string{locked} },
			[]string{"permission denied", "encrypted, and no agent holds it: ssh-add " + locked}},
		{"host unknown", func(t *testing.T, target *Target) { target.KnownHosts = []string{filepath.Join(t.TempDir(), "none")} },
			[]string{"unknown host key", fingerprint, "ssh-keyscan -p " + port + " 127.0.0.1 | ssh-keygen -lf -", "ssh-keyscan -p " + port + " 127.0.0.1 >> /"}},
		{"host key changed", func(t *testing.T, target *Target) { s.know(t, target.KnownHosts[0], stranger) },
			[]string{"HAS CHANGED", fingerprint, "known_hosts:2: ssh-ed25519", "ssh-keygen -f /", " -R '[127.0.0.1]:" + port + "'"}},
		{"host known by a key of another kind", func(t *testing.T, target *Target) {
			key := filepath.Join(t.TempDir(), "rsa")
			run(t, `ssh-keygen -q -t ecdsa -N "" -f "$KEY"`, "KEY="+key)
			s.know(t, target.KnownHosts[0], key)
		}, []string{"HAS CHANGED", fingerprint, "known_hosts:2: ecdsa"}},
		{"host key revoked", func(t *testing.T, target *Target) {
			s.know(t, target.KnownHosts[0], filepath.Join(s.dir, "host"))
			run(t, `sed -i 's/^\[/@revoked [/' "$F"`, "F="+target.KnownHosts[0])
		}, []string{"revoked", "known_hosts:2"}},
		{"known_hosts broken", func(t *testing.T, target *Target) {
			if err := os.WriteFile(target.KnownHosts[0], []byte("gpu1 ssh-ed25519 ???\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, []string{"known_hosts:1"}},
		{"port closed", func(t *testing.T, target *Target) { target.Port = freePort(t) }, []string{"connection refused"}},
		{"too many keys", func(t *testing.T, target *Target) {
			target.KeyFiles = nil
			for i := range 8 {
				name := filepath.Join(t.TempDir(), fmt.Sprint(i))
				newKey(t, name)
				target.KeyFiles = append(target.KeyFiles, name)
			}
		}, []string{"permission denied", "8 keys", "IdentitiesOnly"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := s.target(t)
			c.change(t, &target)
			h, err := new(Dialer).Dial(t.Context(), target)
			if h != nil {
				t.Fatal("logged in")
			}
			mustContain(t, err, c.want...)
		})
	}
}

func TestPasswordOnly(t *testing.T) {
	s := startSSHD(t, sshdSpec{config: "PubkeyAuthentication no\nPasswordAuthentication yes"})
	_, err := new(Dialer).Dial(t.Context(), s.target(t))
	mustContain(t, err, "permission denied", "does not accept keys", "PubkeyAuthentication")
}

func TestSilentHost(t *testing.T) {
	target := Target{Name: "gpu1", Address: "127.0.0.1", Port: silent(t), User: "root", Timeout: 300 * time.Millisecond}
	start := time.Now()
	_, err := new(Dialer).Dial(t.Context(), target)
	mustContain(t, err, "accepted the connection", "no answer within 300ms")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error("not a deadline")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	target.Timeout = time.Minute
	if _, err := new(Dialer).Dial(ctx, target); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// The second server is reached through the first, whose connection is shared.
func TestJump(t *testing.T) {
	jump, s := startSSHD(t, sshdSpec{}), startSSHD(t, sshdSpec{})
	via := jump.target(t)
	via.Name = "bastion"
	target := s.target(t)
	target.Jump = []Target{via}
	d := &Dialer{}
	defer d.Close()
	results := RunAll(t.Context(), make([]string, 8), 8, 20*time.Second, func(ctx context.Context, _ string) (string, error) {
		h, err := d.Dial(ctx, target)
		if err != nil {
			return "", err
		}
		defer h.Close()
		out, err := Output(ctx, h, Command{Argv: []string{"sh", "-c", "echo $SSH_CONNECTION"}})
		return string(out), err
	})
	for _, r := range results {
		if r.Err != nil || !strings.HasSuffix(strings.TrimSpace(r.Value), fmt.Sprint(" ", s.port)) {
			t.Errorf("have %q, %v, want a connection to port %d", r.Value, r.Err, s.port)
		}
	}
	if n := len(jump.sessions(t)); n != 1 {
		t.Errorf("%d connections to the jump host, want 1", n)
	}

	dead := target
	dead.Port = freePort(t)
	_, err := d.Dial(t.Context(), dead)
	mustContain(t, err, `host "gpu1"`, `from jump host "bastion"`, "refused")

	unknown := target
	unknown.KnownHosts = nil
	_, err = d.Dial(t.Context(), unknown)
	mustContain(t, err, "ssh bastion ssh-keyscan -p "+fmt.Sprint(s.port)+" 127.0.0.1")

	killTree(jump.pid)
	dead.Jump[0].Port = freePort(t)
	_, err = d.Dial(t.Context(), dead)
	mustContain(t, err, `jump host "bastion"`, "refused")
}

// A server that stops answering in the middle is noticed, and one that dies at once.
func TestLinkDies(t *testing.T) {
	s := startSSHD(t, sshdSpec{})
	for _, c := range []struct {
		name, want string
		do         func(pid int) error
	}{
		{"hangs", "no answer within 2s", func(pid int) error { return Signal(pid, 19) }}, // SIGSTOP
		{"killed", "connection lost", func(pid int) error { return Signal(pid, 9) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			target := s.target(t)
			target.Timeout, target.Keepalive = 2*time.Second, 200*time.Millisecond
			h := s.dial(t, target)
			p, err := h.Start(t.Context(), Command{Argv: []string{"sleep", "60"}})
			if err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			for _, pid := range s.sessions(t) {
				if err := c.do(pid); err != nil {
					t.Fatal(err)
				}
			}
			err = p.Wait()
			mustContain(t, err, `host "gpu1"`, `command "sleep 60"`, c.want)
			if !errors.Is(err, ErrLost) {
				t.Errorf("%v is not ErrLost", err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("noticed after %s", took)
			}
			if _, err := h.Start(t.Context(), Command{Argv: []string{"true"}}); err == nil {
				t.Error("a command started on a dead connection")
			}
			if err := h.Close(); err != nil {
				t.Errorf("closing what is lost: %v", err)
			}
		})
	}
}

// Who gives up on a host that hangs does not wait for it.
func TestCancelOnHangingLink(t *testing.T) {
	s := startSSHD(t, sshdSpec{})
	target := s.target(t)
	target.Timeout, target.Keepalive = time.Minute, time.Minute
	h := s.dial(t, target)
	ctx, cancel := context.WithCancel(t.Context())
	p, err := h.Start(ctx, Command{Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, pid := range s.sessions(t) {
		if err := Signal(pid, 19); err != nil { // SIGSTOP
			t.Fatal(err)
		}
	}
	start := time.Now()
	cancel()
	if _, err := io.ReadAll(p.Stdout); !errors.Is(err, os.ErrClosed) {
		t.Errorf("output: %v", err)
	}
	if err := p.Wait(); !errors.Is(err, context.Canceled) {
		t.Errorf("have %v", err)
	}
	if took := time.Since(start); took > 2*killGrace {
		t.Errorf("took %s", took)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := h.Start(ctx, Command{Argv: []string{"true"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("start: %v", err)
	}
}
