package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/host"
)

func TestLostLogin(t *testing.T) {
	for connection, want := range map[string]string{
		"":                                 "",
		"garbage":                          "",
		"127.0.0.1 40000 127.0.0.1 22":     "",
		"192.0.2.7 40000 192.0.2.99 22":    "192.0.2.99", // TEST-NET-1: no machine has it
		"2001:db8::7 40000 2001:db8::1 22": "2001:db8::1",
	} {
		if got := lostLogin(connection); got != want {
			t.Errorf("%q: %q, want %q", connection, got, want)
		}
	}
}

// What a machine said before anything was confirmed decides whether there is anything to confirm.
func TestConfirmationIsNotNeeded(t *testing.T) {
	bundle := apply.Bundle{Node: "a", Artifacts: []fabric.Artifact{{Path: "/etc/netplan/60-railwright.yaml"}}}
	answer := apply.Result{Applied: apply.Applied{
		Node: "a", Status: fabric.Fail, Changes: []apply.Change{{Path: "/etc/netplan/60-railwright.yaml", Kind: apply.Create}},
		Activation: &apply.Activation{Network: apply.ByNothing, Pending: []string{"40-cx7.yaml"}, Proofs: []fabric.Proof{{Path: "/etc/netplan/60-railwright.yaml", Level: fabric.Rendered, Reason: "it was not written"}}},
	}}
	for _, c := range []struct {
		name string
		of   host.Outcome[apply.Result]
		want string // of the error; empty: none
	}{
		{"refused", host.Outcome[apply.Result]{Name: "a", Value: answer}, ""},
		{"of another node", host.Outcome[apply.Result]{Name: "a", Value: apply.Result{Applied: apply.Applied{Node: "b"}}}, `about "b"`},
		{"ended with an error", host.Outcome[apply.Result]{Name: "a", Err: &host.ExitError{Command: "x", Status: 64, Stderr: "no space"}}, "no space"},
		{"killed", host.Outcome[apply.Result]{Name: "a", Err: &host.ExitError{Command: "x", Status: -1}}, "taken back in"},
		{"never reached", host.Outcome[apply.Result]{Name: "a", Err: errors.New("refused")}, "refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			conf := confirmation{bundle: bundle, until: time.Now().Add(time.Minute), id: "x"}
			a, err := conf.end(t.Context(), c.of)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

// A machine that is never reached again is unknown, within its time and some seconds.
func TestConfirmationIsLost(t *testing.T) {
	unreachable := func(context.Context) (host.Runner, func() error, error) {
		return nil, nil, errors.New("no route to host")
	}
	c := confirmation{member: fleet.Member{Runner: host.Local{}, Again: unreachable}, bundle: apply.Bundle{Node: "a"}, until: time.Now().Add(time.Second), id: "x"}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	_, err := c.end(ctx, host.Outcome[apply.Result]{Name: "a", Err: errors.New("connection lost")})
	if err == nil || !strings.Contains(err.Error(), "no route to host") || !strings.Contains(err.Error(), "brings its old network back by itself") {
		t.Errorf("%v", err)
	}
}
