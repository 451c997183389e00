package host

import (
	"errors"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

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
	line := "exec sh -c " + fabric.ShellWord("echo "+marker+` $$; exec "$@"`) + " sh"
	for _, word := range argv {
		if strings.ContainsRune(word, 0) {
			return "", fmt.Errorf("command %q: argument %q contains a NUL byte", c.Argv[0], word)
		}
		line += " " + fabric.ShellWord(word)
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
