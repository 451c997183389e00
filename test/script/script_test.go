// Package script runs whole commands as sessions: each .txtar file of this folder is one, and has the files
// that it starts from. Commands are those of testscript, and "status CODE COMMAND...", which runs a command
// that has to end with exactly this exit status.
package script

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"railwright.dev/railwright/internal/host"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := sessionsAtOnce(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status, err := withBinary(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// sessionsAtOnce sets how many scripts run at once, unless the command line sets it: those with a lab mostly wait, for networkd
// and for connections that are to be cut, and the default is one per processor.
func sessionsAtOnce() error {
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if asked {
		return nil
	}
	return flag.Set("test.parallel", "4")
}

// withBinary builds the program as its users do, and puts it first on the path.
func withBinary(tests func() int) (status int, err error) {
	folder, err := os.MkdirTemp("", "railwright-script-*")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	build := host.Command{
		Argv: []string{"go", "build", "-buildvcs=false", "-o", filepath.Join(folder, "railwright"), "railwright.dev/railwright/cmd/railwright"},
		Env:  []string{"CGO_ENABLED=0"},
	}
	if _, err := host.Output(context.Background(), host.Local{}, build); err != nil {
		return 1, err
	}
	// Debian keeps lldpd and netplan where an ordinary user's path does not lead.
	if err := os.Setenv("PATH", folder+":"+os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return 1, err
	}
	return tests(), nil
}

var update = flag.Bool("update", false, "rewrite the files that cmp compares with")

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                ".",
		Setup:              ownLab,
		Condition:          condition,
		Cmds:               map[string]func(*testscript.TestScript, bool, []string){"status": status, "vcsim": vcsim, "esxhost": esxhost},
		RequireUniqueNames: true,
		UpdateScripts:      *update,
	})
}

// ownLab gives each script its own lab, and stops one that a failed script left running.
func ownLab(env *testscript.Env) error {
	env.Values[vcsimKey{}] = new(*vcenterSim)
	lab := filepath.Join(env.WorkDir, "lab")
	env.Setenv("RAILWRIGHT_LAB", lab)
	env.Defer(func() {
		if _, err := os.Stat(lab); errors.Is(err, os.ErrNotExist) {
			return
		}
		down := host.Command{Argv: []string{"railwright", "lab", "down"}, Env: []string{"RAILWRIGHT_LAB=" + lab}}
		if _, err := host.Output(context.Background(), host.Local{}, down); err != nil {
			env.T().Log("lab left behind: ", err)
		}
	})
	return nil
}

// condition knows [root]: root as a lab needs it, who may make namespaces. A container's root often may not.
func condition(name string) (bool, error) {
	if name != "root" {
		return false, fmt.Errorf("condition %q: unknown; known: root", name)
	}
	if os.Geteuid() != 0 {
		return false, nil
	}
	_, err := host.Output(context.Background(), host.Local{}, host.Command{Argv: []string{"unshare", "--mount", "--net", "--pid", "--uts", "--fork", "true"}})
	return err == nil, nil
}

// status is the script command "status CODE COMMAND...".
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	have := 0
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		have = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if have != want {
		ts.Fatalf("exit status %d, want %d", have, want)
	}
}
