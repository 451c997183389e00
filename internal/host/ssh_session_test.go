//go:build linux

package host

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// dribble reads some bytes at a time.
type dribble struct{ s string }

func (d *dribble) Read(p []byte) (int, error) {
	if d.s == "" {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), 3)], d.s)
	d.s = d.s[n:]
	return n, nil
}

func TestRemoteCommand(t *testing.T) {
	h := startSSHD(t, sshdSpec{}).login(t)
	if h.Name() != "gpu1" {
		t.Errorf("name %q", h.Name())
	}
	t.Run("arguments and environment", func(t *testing.T) {
		value := "a b'c\\d\"e\n$HOME!"
		out, err := Output(t.Context(), h, Command{
			Argv: append([]string{"sh", "-c", `printf '%s\0' "$V" "$@"`, "sh"}, words...), Env: []string{"V=" + value},
		})
		if want := value + "\x00" + strings.Join(words, "\x00") + "\x00"; err != nil || string(out) != want {
			t.Errorf("have %q, %v\nwant %q", out, err, want)
		}
	})
	t.Run("input larger than any buffer", func(t *testing.T) {
		big := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB, the window of a channel is 2
		out, err := Output(t.Context(), h, Command{Argv: []string{"cat"}, Stdin: bytes.NewReader(big)})
		if err != nil || !bytes.Equal(out, big) {
			t.Errorf("%d bytes of %d, %v", len(out), len(big), err)
		}
	})
	t.Run("input that nobody reads", func(t *testing.T) {
		out, err := Output(t.Context(), h, Command{Argv: []string{"echo", "done"}, Stdin: bytes.NewReader(make([]byte, 16<<20))})
		if err != nil || string(out) != "done\n" {
			t.Errorf("have %q, %v", out, err)
		}
	})
	t.Run("conversation", func(t *testing.T) {
		p, err := h.Start(t.Context(), Command{Argv: []string{"sh", "-c", `while read -r l; do echo "got $l"; done; echo end`}})
		if err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewScanner(p.Stdout)
		for i := range 3 {
			fmt.Fprintln(p.Stdin, i)
			if !answers.Scan() || answers.Text() != fmt.Sprint("got ", i) {
				t.Fatalf("answer %q", answers.Text())
			}
		}
		if err := p.Stdin.Close(); err != nil {
			t.Error(err)
		}
		if !answers.Scan() || answers.Text() != "end" {
			t.Errorf("last answer %q", answers.Text())
		}
		if err := p.Wait(); err != nil {
			t.Error(err)
		}
	})
	for _, c := range []struct {
		name, script string
		status       int
		stderr       string
	}{
		{"status", "echo first >&2; echo last >&2; exit 7", 7, "first\nlast"},
		{"signal", "kill -TERM $$", -1, "ended by signal TERM"},
		{"long stderr", `i=0; while [ $i -lt 2000 ]; do echo "line $i" >&2; i=$((i+1)); done; exit 1`, 1, "line 1999"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Output(t.Context(), h, sh(c.script))
			var exit *ExitError
			if !errors.As(err, &exit) || exit.Status != c.status || !strings.HasSuffix(exit.Stderr, c.stderr) || len(exit.Stderr) > tailSize {
				t.Errorf("have %#v, want status %d and %q", err, c.status, c.stderr)
			}
		})
	}
	t.Run("no such program", func(t *testing.T) {
		_, err := Output(t.Context(), h, Command{Argv: []string{"no-such-program"}})
		mustContain(t, err, "exit status 127", "no-such-program")
	})
	t.Run("wait without reading", func(t *testing.T) {
		p, err := h.Start(t.Context(), sh("echo unread; exit 3"))
		if err != nil {
			t.Fatal(err)
		}
		mustContain(t, p.Wait(), "exit status 3")
	})
}

func (s *sshd) login(t testing.TB) *SSH { return s.dial(t, s.target(t)) }

// alive reports whether a process that wrote its id into a file is there.
func alive(t *testing.T, file string) func() bool {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Sscan(string(text), &pid); err != nil {
		t.Fatal(err)
	}
	return func() bool { return Alive(pid) }
}

// Root is the hard case: its sshd refuses the signal request.
func TestRemoteKill(t *testing.T) {
	h := startSSHD(t, sshdSpec{}).login(t)
	for _, how := range []string{"cancel", "kill"} {
		t.Run(how, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			file := filepath.Join(t.TempDir(), "pid")
			p, err := h.Start(ctx, sh(`sleep 300 & echo $! >`+file+`; echo up; trap '' TERM; wait`))
			if err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(p.Stdout).ReadString('\n')
			if line != "up\n" || err != nil {
				t.Fatalf("have %q, %v", line, err)
			}
			grandchild := alive(t, file)
			if !grandchild() {
				t.Fatal("it does not run")
			}
			start := time.Now()
			if how == "cancel" {
				cancel()
			} else if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
			err = p.Wait()
			if err == nil || how == "cancel" && !errors.Is(err, context.Canceled) {
				t.Errorf("have %v", err)
			}
			if took := time.Since(start); took > 3*time.Second {
				t.Errorf("took %s", took)
			}
			eventually(t, "the end of what the command started", func() bool { return !grandchild() })
		})
	}
}

func TestGreetings(t *testing.T) {
	for _, c := range []struct{ name, rc, want string }{
		{"banner", "echo 'Welcome to the cluster {\"a\": 1}'; cat /etc/passwd", ""},
		{"banner without an end of line", "printf 'Welcome> '", ""},
		{"shows its commands", "set -xv; echo \"$BASH_EXECUTION_STRING\"", ""},
		{"reads nothing and fails", "false; cd /nonexistent", ""},
		{"ends", "echo account closed; exit 0", `the login shell ended before the command; it printed "account closed"`},
		{"replaces itself", "exec echo busy", `it printed "busy"`},
		{"never stops", "echo spam; yes", "the login shell printed"},
		{"hangs", "sleep 30", "no answer within 1s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := startSSHD(t, sshdSpec{home: map[string]string{".bashrc": c.rc}})
			target := s.target(t)
			target.Timeout = time.Second
			if c.want == "" {
				target.Timeout = 10 * time.Second
			}
			h := s.dial(t, target)
			start := time.Now()
			out, err := Output(t.Context(), h, Command{Argv: []string{"echo", "{}"}})
			if c.want != "" {
				mustContain(t, err, `host "gpu1": start "echo"`, c.want)
			} else if err != nil || string(out) != "{}\n" {
				t.Errorf("have %q, %v", out, err)
			}
			if took := time.Since(start); took > 5*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// Other login shells are given the same line.
func TestLoginShells(t *testing.T) {
	for _, shell := range []string{"/bin/dash", "/usr/bin/fish", "/usr/bin/zsh", "/usr/bin/tcsh"} {
		if _, err := os.Stat(shell); err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		h := startSSHD(t, sshdSpec{before: passwd("root:x:0:0::/root:" + shell)}).login(t)
		out, err := Output(t.Context(), h, Command{Argv: []string{"printf", "%s", `a 'b' \ $HOME !`}})
		if err != nil || string(out) != `a 'b' \ $HOME !` {
			t.Errorf("%s: have %q, %v", shell, out, err)
		}
	}
	h := startSSHD(t, sshdSpec{before: passwd("root:x:0:0::/root:/usr/sbin/nologin")}).login(t)
	_, err := Output(t.Context(), h, Command{Argv: []string{"true"}})
	mustContain(t, err, "the login shell ended before the command", "not available")
}

// passwd returns the server users of its own.
func passwd(lines ...string) string {
	return fmt.Sprintf(`printf '%%s\n' %s >"$DIR/passwd"; chmod 644 "$DIR/passwd"; mount --bind "$DIR/passwd" /etc/passwd; `,
		fabric.ShellWord(strings.Join(append(lines, "sshd:x:100:65534::/run/sshd:/usr/sbin/nologin"), "\n")))
}

func TestMaxSessions(t *testing.T) {
	h := startSSHD(t, sshdSpec{config: "MaxSessions 1"}).login(t)
	p, err := h.Start(t.Context(), Command{Argv: []string{"cat"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = h.Start(t.Context(), Command{Argv: []string{"true"}})
	mustContain(t, err, "MaxSessions")
	if err := p.Wait(); err != nil {
		t.Error(err)
	}
}

func TestAsRoot(t *testing.T) {
	user := func(t *testing.T, sudo string) *SSH {
		s := startSSHD(t, sshdSpec{
			config: "SetEnv PATH=$DIR/home/bin:/usr/bin:/bin",
			home:   map[string]string{"bin/sudo": "#!/bin/sh\n" + sudo},
			before: `chmod 755 "$DIR" "${DIR%/*}"; ` + passwd("root:x:0:0::/root:/bin/sh", "tester:x:12345:12345::/tmp:/bin/sh"),
		})
		target := s.target(t)
		target.User = "tester"
		return s.dial(t, target)
	}
	t.Run("refused", func(t *testing.T) {
		_, err := AsRoot(t.Context(), user(t, `echo "sudo: a password is required" >&2; exit 1`))
		mustContain(t, err, "root rights", "sudo -n -- ", "a password is required", "NOPASSWD")
	})
	t.Run("gives another user", func(t *testing.T) {
		_, err := AsRoot(t.Context(), user(t, `shift 2; exec "$@"`))
		mustContain(t, err, `sudo runs as user id "12345", not 0`)
	})
	t.Run("granted", func(t *testing.T) {
		// What it runs is asked for its id once, and is root as far as that goes.
		r, err := AsRoot(t.Context(), user(t, `[ "$1 $2" = "-n --" ] || exit 9; shift 2; if [ "$4" = -u ] || [ "$3" = id ]; then echo 0; else exec "$@"; fi`))
		if err != nil {
			t.Fatal(err)
		}
		out, err := Output(t.Context(), r, Command{Argv: []string{"sh", "-c", `echo "$A"`}, Env: []string{"A=b c"}})
		if err != nil || string(out) != "b c\n" {
			t.Errorf("have %q, %v", out, err)
		}
	})
	t.Run("root already", func(t *testing.T) {
		h := startSSHD(t, sshdSpec{}).login(t)
		if r, err := AsRoot(t.Context(), h); r != Runner(h) || err != nil {
			t.Errorf("have %v, %v", r, err)
		}
	})
}
