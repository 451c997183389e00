//go:build linux

package host

import (
	"os/exec"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// words are what a command line must carry unharmed.
var words = []string{
	"", "plain", "two words", "it's", `"`, `'`, `''`, `\`, `\\`, `\'`, "a\nb", "\n", "\t", "$HOME", "$(id)", "`id`", "!", "a!b", "!!",
	"*", "?", "[a]", "{a,b}", "~", "~root", "#", "a#b", "&", "|", ";", "<", ">", "(", ")", "=", "=ls", "a=b", "-n", "--", "%s", "%", "^a^b",
	"ünï→", "\x01\x7f", "\xff\xfe", `'\''`, `\n`, `a\`, "$'x'", "\r\n", "!'\\", strings.Repeat("'", 100),
}

// Real shells read each word, and all of them in one line, as what they were.
func TestShellWord(t *testing.T) {
	for _, shell := range []string{"sh", "bash", "zsh", "fish", "busybox", "ksh"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		argv := []string{path}
		if shell == "busybox" {
			argv = append(argv, "sh")
		}
		line := "printf '%s\\0'"
		for _, w := range words {
			line += " " + fabric.ShellWord(w)
		}
		out, err := Output(t.Context(), Local{}, Command{Argv: append(argv, "-c", line)})
		if err != nil {
			t.Errorf("%s: %v", shell, err)
			continue
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if len(got) != len(words) {
			t.Errorf("%s: %d words, want %d", shell, len(got), len(words))
			continue
		}
		for i, w := range words {
			if got[i] != w {
				t.Errorf("%s: have %q, want %q", shell, got[i], w)
			}
		}
	}
}

// plain are the characters that may stand outside quotes: no shell gives them a meaning anywhere in a word.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:,+@"

// unread reads one word as POSIX shells do (XCU 2.2), and says whether it is one that all shells read so.
func unread(line string) (word string, one bool) {
	var b strings.Builder
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] != '\n':
			i++
			b.WriteByte(line[i])
		case c == '\'':
			inside, _, closed := strings.Cut(line[i+1:], "'")
			if !closed || strings.ContainsAny(inside, `\!`) {
				return "", false // fish reads the one in quotes, csh the other
			}
			b.WriteString(inside)
			i += len(inside) + 1
		case strings.IndexByte(plain, c) >= 0:
			b.WriteByte(c)
		default:
			return "", false
		}
	}
	return b.String(), line != ""
}

func FuzzShellWord(f *testing.F) {
	for _, w := range words {
		f.Add(w)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, one := unread(fabric.ShellWord(s)); !one || got != s {
			t.Errorf("%q became %q, read as %q (%t)", s, fabric.ShellWord(s), got, one)
		}
	})
}

func TestCommandLineRefuses(t *testing.T) {
	for name, c := range map[string]Command{
		"empty":           {},
		"zero byte":       {Argv: []string{"echo", "a\x00b"}},
		"zero in env":     {Argv: []string{"echo"}, Env: []string{"A=\x00"}},
		"no name":         {Argv: []string{"echo"}, Env: []string{"=x"}},
		"no value":        {Argv: []string{"echo"}, Env: []string{"X"}},
		"an option":       {Argv: []string{"echo"}, Env: []string{"-S=x"}},
		"name is one too": {Argv: []string{"a=b"}, Env: []string{"A=b"}},
	} {
		if line, err := commandLine(c, "m"); err == nil {
			t.Errorf("%s: %q", name, line)
		}
	}
}

// What a login shell prints before the marker is passed over, whatever it is; what follows is kept whole.
func FuzzAfterMarker(f *testing.F) {
	f.Add("", "out")
	f.Add("Welcome\n", "")
	f.Add("motd without an end", "{}\n")
	f.Add("echo M $$; exec\n", "M 7\n")
	f.Add("M 12", "M 5\nx")
	f.Add("M -3\nM 0\nM 99999999999999999999\n", "a")
	f.Fuzz(func(t *testing.T, before, after string) {
		if _, _, found := cutMarker([]byte(before), "M "); found || len(before) > 4<<10 {
			return // a real marker is chosen at random: nothing else prints it with a number
		}
		pid, rest, err := afterMarker(&dribble{s: before + "M 42\n" + after}, "M")
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		buffer := make([]byte, 64)
		for {
			n, err := rest.Read(buffer)
			b.Write(buffer[:n])
			if err != nil {
				break
			}
		}
		if pid != 42 || b.String() != after {
			t.Errorf("have %d %q, want 42 %q", pid, b.String(), after)
		}
	})
}
