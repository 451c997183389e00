package host

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// AsRoot returns a Runner whose commands run as root: r itself where its login is root, else through
// `sudo -n`, which never asks. It is an error where sudo refuses.
func AsRoot(ctx context.Context, r Runner) (Runner, error) {
	id, err := Output(ctx, r, Command{Argv: []string{"id", "-u"}, Budget: NewBudget(0)})
	if err != nil {
		return nil, fmt.Errorf("user id: %w", err)
	}
	if strings.TrimSpace(string(id)) == "0" {
		return r, nil
	}
	root := sudo{r}
	id, err = Output(ctx, root, Command{Argv: []string{"id", "-u"}, Env: []string{"LC_ALL=C"}, Budget: NewBudget(0)})
	var refused *ExitError
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("root rights: %w; log in as root or allow it in sudoers: USER ALL=(root) NOPASSWD: ALL", err)
	}
	if err != nil {
		return nil, fmt.Errorf("root rights: %w", err)
	}
	if strings.TrimSpace(string(id)) != "0" {
		return nil, fmt.Errorf("root rights: sudo runs as user id %q, not 0", strings.TrimSpace(string(id)))
	}
	return root, nil
}

// sudo runs commands as root. A command that is killed here sees its standard input end: the signal does
// not reach another user's process.
type sudo struct{ Runner }

// Start runs a command as root.
func (s sudo) Start(ctx context.Context, c Command) (*Process, error) {
	argv := c.Argv
	if len(c.Env) > 0 { // sudo drops the environment
		var err error
		if argv, err = withEnv(c); err != nil {
			return nil, err
		}
	}
	return s.Runner.Start(ctx, Command{Argv: append([]string{"sudo", "-n", "--"}, argv...), Stdin: c.Stdin})
}
