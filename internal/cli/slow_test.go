package cli

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// streamTo is a stream of an app that writes to w.
func streamTo(w io.Writer) *screen { return &screen{to: w} }

// What takes longer than a second says what it waits for; what is quiet or quick says nothing.
func TestWatch(t *testing.T) {
	for name, c := range map[string]struct {
		quiet bool
		takes time.Duration
		want  string
	}{
		"slow":           {false, silence * 3 / 2, "railwright: logging in to gpu[1-3] over SSH; a host that does not answer takes 10 s (1 s so far)\n"},
		"quick":          {false, silence / 4, ""},
		"slow and quiet": {true, silence * 3 / 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			a := &app{quiet: c.quiet, stderr: streamTo(&out)}
			stop := a.watch(&cobra.Command{Use: "railwright"})
			a.doingSSH("logging in to", []string{"gpu1", "gpu2", "gpu3"})
			time.Sleep(c.takes)
			stop()
			if out.String() != c.want {
				t.Errorf("%q, want %q", out.String(), c.want)
			}
		})
	}
}

// What has just been said is not silence.
func TestWatchAfterProgress(t *testing.T) {
	var out strings.Builder
	a := &app{stderr: streamTo(&out)}
	stop := a.watch(&cobra.Command{Use: "railwright"})
	for range 4 {
		time.Sleep(silence / 2)
		a.progress("step")
	}
	stop()
	if out.String() != strings.Repeat("step\n", 4) {
		t.Errorf("%q", out.String())
	}
}

// silentHost takes connections to the port of SSH, says nothing, and hangs up after a second and a half.
func silentHost(t *testing.T) (address string) {
	t.Helper()
	const silent = "127.77.7.77"
	listener, err := net.Listen("tcp", silent+":22") //nolint:forbidigo // a host that nothing of this program plays
	if err != nil {
		t.Skipf("no port 22 to listen on: %v", err)
	}
	t.Cleanup(func() { _ = listener.Close() }) //nolint:forbidigo // as above
	go func() {
		for {
			c, err := listener.Accept() //nolint:forbidigo // as above
			if err != nil {
				return
			}
			time.Sleep(silence * 3 / 2)
			_ = c.Close()
		}
	}()
	return silent
}

// A host that takes the connection and is silent: the command says what it waits for.
func TestSSHSaysWhatItWaitsFor(t *testing.T) {
	silent := silentHost(t)
	r := call("", "collect", "--hosts", silent)
	if r.status != exitUnknown || !strings.Contains(r.stderr, "railwright collect: logging in to "+silent+" over SSH; a host that does not answer takes 10 s (1 s so far)\n") {
		t.Error(r)
	}
	if r := call("", "collect", "--hosts", silent, "-q"); strings.Contains(r.stderr, "so far") {
		t.Errorf("quiet: %s", r)
	}
}
