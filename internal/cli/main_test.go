package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// panicVariable makes this test binary run a command whose output panics.
const panicVariable = "RAILWRIGHT_TEST_PANIC"

// built is the program as its users have it, in a folder that every user can enter: some commands run
// the program again.
type built struct {
	folder string
	path   func() (string, error) // builds it, once
}

var program = newProgram()

func newProgram() *built {
	b := &built{}
	b.path = sync.OnceValues(func() (string, error) {
		path := filepath.Join(b.folder, "railwright")
		build := exec.Command("go", "build", "-buildvcs=false", "-o", path, "railwright.dev/railwright/cmd/railwright")
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // as its users have it
		out, err := build.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("go build: %w: %s", err, out)
		}
		return path, nil
	})
	return b
}

func TestMain(m *testing.M) {
	if os.Getenv(panicVariable) != "" {
		os.Exit(Main("test", []string{"version"}, nil, panicking{}, os.Stderr))
	}
	flag.Parse()
	if err := labsAtOnce(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status, err := withFolder(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// labsAtOnce sets how many tests run at once, unless the command line sets it: a lab mostly waits, for
// networkd and for LLDP frames that come each second, and with the default of one per processor they take minutes.
func labsAtOnce() error {
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if asked {
		return nil
	}
	return flag.Set("test.parallel", "8")
}

func withFolder(run func() int) (status int, err error) {
	if program.folder, err = os.MkdirTemp("", "railwright-test"); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(program.folder)) }()
	// Another user also runs the program.
	if err := os.Chmod(program.folder, 0o755); err != nil {
		return 0, err
	}
	return run(), nil
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("on purpose") }

// result is the output of a command.
type result struct {
	status         int
	stdout, stderr string
}

func (r result) String() string {
	return fmt.Sprintf("exit status %d\nstdout: %.2000s\nstderr: %.2000s", r.status, r.stdout, r.stderr)
}

// call runs a command in this process.
func call(stdin string, args ...string) result {
	var stdout, stderr bytes.Buffer
	status := Main("test", args, strings.NewReader(stdin), &stdout, &stderr)
	return result{status, stdout.String(), stderr.String()}
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	var v T
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v: %.300s", err, text)
	}
	if rest, err := io.ReadAll(d.Buffered()); err != nil || strings.TrimSpace(string(rest)) != "" {
		t.Fatalf("after the JSON: %.300q, %v", rest, err)
	}
	return v
}

// example writes a cluster file and returns its path.
func example(t *testing.T, name string, change ...string) string {
	t.Helper()
	r := call("", "init", "--example", name)
	if r.status != 0 {
		t.Fatal(r)
	}
	text := strings.NewReplacer(change...).Replace(r.stdout)
	if len(change) > 0 && text == r.stdout {
		t.Fatalf("example %s does not hold %q", name, change)
	}
	path := filepath.Join(t.TempDir(), "cluster.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}
