//go:build linux

package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// switchScript plays a switch: it has no shell, and answers commands as they are.
const switchScript = `#!/bin/sh
case "$SSH_ORIGINAL_COMMAND" in
"show running-config") echo "hostname leaf1"; echo "! a note" >&2;;
'show "a | b" $HOME; *') echo "as it is";;
"show nothing") ;;
"show wrong") echo "% Invalid input"; exit 1;;
"show stderr") echo "not allowed" >&2; exit 3;;
"show endless") yes "interface Ethernet1/1";;
"show hang") exec sleep 1000;;
"show stubborn") trap '' HUP TERM PIPE; echo begin; while :; do sleep 1; done;;
"show killed") kill -9 $$;;
*) echo "no shell: $SSH_ORIGINAL_COMMAND" >&2; exit 127;;
esac
`

func TestSay(t *testing.T) {
	s := startSSHD(t, sshdSpec{config: "ForceCommand /root/switch\n", home: map[string]string{"switch": switchScript}})
	h := s.login(t)
	for _, c := range []struct{ command, says, err string }{
		{"show running-config", "hostname leaf1\n", ""},
		{`show "a | b" $HOME; *`, "as it is\n", ""},
		{"show nothing", "", ""},
		{"show wrong", "", `host "gpu1": "show wrong": Process exited with status 1: "% Invalid input"`},
		{"show stderr", "", `status 3: "not allowed"`},
		{"show endless", "", "prints more than 16777216 bytes"},
		{"show killed", "", "exited"},
		{"", "", "no shell"},
	} {
		out, err := h.Say(t.Context(), c.command)
		if string(out) != c.says || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %.80q, %v; want %q, %q", c.command, out, err, c.says, c.err)
		}
	}
	for _, command := range []string{"show hang", "show stubborn"} {
		ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, &NoAnswerError{300 * time.Millisecond})
		began := time.Now()
		out, err := h.Say(ctx, command)
		cancel()
		if out != nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "no answer within 300ms") {
			t.Errorf("%q: %q, %v", command, out, err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%q: it took %v", command, took)
		}
	}
	if out, err := h.Say(t.Context(), "show running-config"); err != nil || len(out) == 0 {
		t.Errorf("after those that hang: %q, %v", out, err)
	}
	killTree(s.sessions(t)[0])
	if _, err := h.Say(t.Context(), "show running-config"); err == nil || !strings.Contains(err.Error(), "connection lost") {
		t.Errorf("after the switch went away: %v", err)
	}
}
