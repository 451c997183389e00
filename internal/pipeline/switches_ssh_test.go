package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
)

// answers is a switch that answers commands by what is in the map; others it does not know, and some it never answers.
type answers map[string]string

func (a answers) Say(ctx context.Context, command string) ([]byte, error) {
	text, known := a[command]
	switch {
	case text == "hang":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	case !known:
		return nil, errors.New("% Invalid input")
	}
	return []byte(text), nil
}

func TestShows(t *testing.T) {
	const config = "hostname leaf1\n!\ninterface Ethernet1/1\n   mtu 9100\n   qos trust dscp\n!\nend\n"
	for _, c := range []struct {
		name   string
		of     answers
		texts  int
		reason string
	}{
		{"all", answers{"one": config, "two": config}, 2, ""},
		{"one unknown command", answers{"two": config}, 1, ""},
		{"one without a text", answers{"one": "welcome\n", "two": config}, 1, ""},
		{"one that is binary", answers{"one": "\x00\x01", "two": config}, 1, ""},
		{"hangs behind the first", answers{"one": config, "two": "hang"}, 1, ""},
		{"hangs at once", answers{"one": "hang", "two": config}, 0, "no answer within 50ms"},
		{"nothing that is read", answers{"one": "welcome\n", "two": ""}, 0, "it answered no show command with a text that is read"},
		{"refuses all", answers{}, 0, "% Invalid input; % Invalid input"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := shows(t.Context(), c.of, []string{"one", "two"}, 50*time.Millisecond)
			if a.err != nil || len(a.texts) != c.texts || (a.lost == nil) != (c.reason == "") || a.lost != nil && !strings.Contains(a.lost.Error(), c.reason) {
				t.Errorf("%d texts, %v, %v", len(a.texts), a.lost, a.err)
			}
		})
	}
}

// Addresses that are wrong are errors of input, and none of them shows a password.
func TestSwitchAddresses(t *testing.T) {
	p := attackedPlan(t, "eos", "p2p31", "1", "")
	name := p.Switches[0].Name
	for from, want := range map[string]string{
		"ssh://":                          "must be ssh://[user@]host[:port]",
		"ssh://user:secret@[::1":          "must be ssh://[user@]host[:port]",
		"ssh://user:secret@127.0.0.1":     "a password on the command line is not taken",
		"ssh://127.0.0.1/path":            "must be ssh://[user@]host[:port]",
		"ssh://127.0.0.1:0":               "must be 1 to 65535",
		"ssh://127.0.0.1:99999":           "must be 1 to 65535",
		"ssh://user:secret@127.0.0.1:x%%": "must be ssh://[user@]host[:port]",
	} {
		_, err := ReadSwitches(t.Context(), files.Disk{}, p, []SwitchSource{{Name: name, From: from}})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", from, err)
		}
	}
	if _, err := ReadSwitches(t.Context(), files.Disk{}, nil, []SwitchSource{{Name: name, From: "ssh://127.0.0.1"}}); err == nil || !strings.Contains(err.Error(), "needs a cluster file") {
		t.Errorf("without a plan: %v", err)
	}
	in := strings.NewReader("")
	if _, err := ReadSwitches(t.Context(), files.Disk{}, nil, []SwitchSource{{Name: "a", From: "-", Stdin: in}, {Name: "b", From: "-", Stdin: in}}); err == nil || !strings.Contains(err.Error(), "2 switches want it") {
		t.Errorf("standard input twice: %v", err)
	}
}

// A switch that is not reached leaves every rule unknown, and the others are judged.
func TestSwitchNotReached(t *testing.T) {
	p := attackedPlan(t, "eos", "p2p31", "2", "ecn: {}")
	configs, err := ReadSwitches(t.Context(), files.Disk{}, p, []SwitchSource{{Name: p.Switches[0].Name, From: "ssh://127.0.0.1:1"}})
	if err != nil {
		t.Fatal(err)
	}
	found, err := Findings(t.Context(), Checked{Plan: p, Switches: append(configs, others(t, p)...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	unknown := 0
	for _, f := range found.Findings {
		switch {
		case f.Status == fabric.Fail:
			t.Errorf("%s %s: %s", f.ID, f.Subject, f.Why)
		case f.Subject.Node == p.Switches[0].Name && f.Status != fabric.Unknown:
			t.Errorf("%s %s is %s", f.ID, f.Subject, f.Status)
		case f.Subject.Node == p.Switches[0].Name:
			unknown++
			if f.ID == "switch-text" && !strings.Contains(f.Why, "nothing was read of it: host \"127.0.0.1\": connect to 127.0.0.1:1") {
				t.Errorf("%s: %s", f.ID, f.Why)
			}
		}
	}
	if unknown == 0 {
		t.Error("nothing is unknown")
	}
}
