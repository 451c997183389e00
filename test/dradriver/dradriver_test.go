// Package dradriver carries out allocations of claims: a DRA driver moves the interfaces that railwright's allocation gave a
// pod into its network namespace and back, driven by what stands for the kubelet and the container runtime over their real
// protocols. The node, its NICs (veth pairs) and its pods are network namespaces. `make dradriver` builds the driver and
// the kubelet, which are a module of their own in the folder node.
package dradriver

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/cli"
	"railwright.dev/railwright/internal/host"
)

// Variables of this test's own processes: a test in namespaces of its own, and railwright.
const (
	apartVariable   = "RAILWRIGHT_TEST_DRADRIVER_APART"
	commandVariable = "RAILWRIGHT_TEST_DRADRIVER_COMMAND"
)

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		os.Exit(cli.Main("test", os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
	if os.Getenv(apartVariable) != "" {
		go endWithStarter()
	}
	os.Exit(m.Run())
}

// limit bounds a test with all that it starts.
const limit = 2 * time.Minute

// endWithStarter ends a test in namespaces of its own, and so all that they hold, when the test that has started it is
// killed or runs out of time: neither can clean up.
func endWithStarter() {
	_, _ = io.Copy(io.Discard, os.Stdin) // it ends with the other end, however that goes
	os.Exit(1)
}

// apart runs the test that calls it once more, in namespaces that end with it and take along every process, interface,
// socket and file. It returns true there, and false in the test that has started it.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(apartVariable) != "" {
		return true
	}
	if os.Geteuid() != 0 {
		t.Skip("needs root: pods are network namespaces with names")
	}
	if why := missingProgram(t.Context()); why != "" {
		t.Skip(why)
	}
	unshare := []string{"unshare", "--mount", "--net", "--uts", "--ipc", "--pid", "--fork", "--kill-child", "--mount-proc"}
	probe := "ip link add name nic type veth peer name port && mount -t tmpfs none /run && hostname node1"
	if _, err := host.Output(t.Context(), host.Local{}, host.Command{Argv: append(slices.Clone(unshare), "sh", "-ec", probe)}); err != nil {
		t.Skipf("no namespaces with veth pairs can be made here: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit+10*time.Second)
	defer cancel()
	alive, end := io.Pipe() // nothing is ever written
	defer end.Close()
	const enter = `mount -t tmpfs none "$TMPDIR" && exec "$0" "$@"`
	out, err := host.Output(ctx, host.Local{}, host.Command{
		Argv: append(slices.Clone(unshare), "sh", "-c", enter, self, "-test.run", "^"+t.Name()+"$", "-test.v", "-test.timeout", limit.String()),
		Env:  []string{apartVariable + "=yes", "TMPDIR=" + t.TempDir()}, Stdin: alive, Merged: true,
	})
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// program is that of the driver and the kubelet.
func program(ctx context.Context) (string, error) {
	out, err := host.Output(ctx, host.Local{}, host.Command{Argv: []string{"sh", "node/build.sh", "-n"}})
	return strings.TrimSpace(string(out)), err
}

func missingProgram(ctx context.Context) string {
	file, err := program(ctx)
	if err == nil {
		_, err = os.Stat(file)
	}
	if err != nil {
		return fmt.Sprintf("the driver and the kubelet are not built (make dradriver): %v", err)
	}
	return ""
}
