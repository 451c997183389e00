package host

import (
	"errors"
	"fmt"
	"strings"
)

// shellWord writes s as one word of a command line that sh, bash, zsh and fish read as exactly s (csh too,
// but for a newline). Single quotes keep everything but themselves, the backslash (which fish reads in
// them) and the exclamation mark (which csh does); those three stand outside, each behind a backslash.
func shellWord(s string) string {
	if s == "" {
		return "''"
	}
	if strings.Trim(s, plain) == "" {
		return s
	}
	var b strings.Builder
	inside := false
	toggle := func(want bool) {
		if inside != want {
			b.WriteByte('\'')
			inside = want
		}
	}
	for i := range len(s) {
		c := s[i]
		special := c == '\'' || c == '\\' || c == '!'
		toggle(!special)
		if special {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	toggle(false)
	return b.String()
}

// plain are the characters that no shell gives a meaning to anywhere in a word.
const plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:,+@"

// commandLine is what a login shell is given to run a command: a POSIX shell which first prints a line with
// the marker and its process id, and then becomes the command.
func commandLine(c Command, marker string) (string, error) {
	if len(c.Argv) == 0 {
		return "", errors.New("command: empty")
	}
	argv := c.Argv
	if len(c.Env) > 0 {
		var err error
		if argv, err = withEnv(c); err != nil {
			return "", err
		}
	}
	line := "exec sh -c " + shellWord("echo "+marker+` $$; exec "$@"`) + " sh"
	for _, word := range argv {
		if strings.ContainsRune(word, 0) {
			return "", fmt.Errorf("command %q: argument %q contains a NUL byte", c.Argv[0], word)
		}
		line += " " + shellWord(word)
	}
	return line, nil
}

// withEnv is the command with its environment in front: env K=V ... COMMAND.
func withEnv(c Command) ([]string, error) {
	if strings.Contains(c.Argv[0], "=") {
		return nil, fmt.Errorf("command %q: env reads a name with '=' as a variable", c.Argv[0])
	}
	argv := []string{"env"}
	for _, v := range c.Env {
		if strings.Index(v, "=") < 1 || strings.HasPrefix(v, "-") {
			return nil, fmt.Errorf("command %q: environment %q is not NAME=VALUE", c.Argv[0], v)
		}
		argv = append(argv, v)
	}
	return append(argv, c.Argv...), nil
}
