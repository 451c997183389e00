package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
)

// Cluster reaches the machines of a cluster file. Close must be called.
func Cluster(ctx context.Context, c *intent.Cluster) (*Fleet, error) {
	if c.Launcher != intent.SSH {
		return nil, fmt.Errorf("launcher %q: not supported in this version; machines are reached by launcher ssh, or by --lab", c.Launcher)
	}
	names, login, err := loginsOf(c)
	if err != nil {
		return nil, err
	}
	return SSH(ctx, names, login)
}

// loginsOf returns the machines of a cluster file, and the user of those for which it names one.
func loginsOf(c *intent.Cluster) (names []string, login map[string]string, err error) {
	login = make(map[string]string)
	for _, g := range c.Nodes {
		group, err := fabric.ExpandNames(g.Names)
		if err != nil {
			return nil, nil, err
		}
		names = append(names, group...)
		for _, name := range group {
			if g.SSH != nil {
				login[name] = g.SSH.User
			}
		}
	}
	return names, login, nil
}

// SSH logs in to machines by name, as root or by sudo, and copies this program to each. login is the user where
// ssh's own configuration names none. This host itself is reached without a login. Close must be called.
func SSH(ctx context.Context, names []string, login map[string]string) (*Fleet, error) {
	config, err := host.LoadSSHConfig("")
	if err != nil {
		return nil, err
	}
	dialer := &host.Dialer{}
	members := host.RunAll(ctx, names, atOnce, reachWithin, func(ctx context.Context, name string) (Member, error) {
		if name == (host.Local{}).Name() {
			program, err := os.Executable()
			return Member{Runner: host.Local{}, Program: program}, err
		}
		target, err := config.Target(name, login[name])
		if err != nil {
			return Member{}, err
		}
		return logIn(ctx, dialer, target)
	})
	return closing(members, dialer.Close), nil
}

func logIn(ctx context.Context, dialer *host.Dialer, target host.Target) (Member, error) {
	login, err := dialer.Dial(ctx, target)
	if err != nil {
		return Member{}, err
	}
	program, remove, err := host.Deploy(ctx, login, programFor)
	if err != nil {
		return Member{}, errors.Join(err, login.Close())
	}
	leave := func(ctx context.Context) error {
		err := errors.Join(remove(ctx), login.Close())
		// Whoever used a connection that was lost has the error; what was copied is removed at the far end by itself then.
		if errors.Is(err, host.ErrLost) {
			return nil
		}
		return err
	}
	root, err := host.AsRoot(ctx, login)
	if err != nil {
		return Member{}, errors.Join(err, leave(ctx))
	}
	return Member{Runner: root, Program: program, Leave: leave, Again: again(target)}, nil
}

// again logs in by a dialer of its own, so that no jump host's connection is shared with the first login either.
func again(target host.Target) func(context.Context) (host.Runner, func() error, error) {
	return func(ctx context.Context) (host.Runner, func() error, error) {
		dialer := &host.Dialer{}
		login, err := dialer.Dial(ctx, target)
		if err != nil {
			return nil, nil, errors.Join(err, dialer.Close())
		}
		leave := func() error { return errors.Join(login.Close(), dialer.Close()) }
		root, err := host.AsRoot(ctx, login)
		if err != nil {
			return nil, nil, errors.Join(err, leave())
		}
		return root, leave, nil
	}
}

// programFor opens this program for an architecture: itself, or the one built beside it.
func programFor(arch string) (io.ReadCloser, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "linux" && arch == runtime.GOARCH {
		return os.Open(self)
	}
	f, err := os.Open(filepath.Join(filepath.Dir(self), "railwright-linux-"+arch))
	if err != nil {
		return nil, fmt.Errorf("no program for %s beside this one for %s (make build builds both): %w", arch, runtime.GOARCH, err)
	}
	return f, nil
}
