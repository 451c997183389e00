package pipeline

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/switchos"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

func (s SwitchSource) overSSH() bool { return strings.HasPrefix(s.From, "ssh://") }

// answerWithin is how long a switch may take for one command: the whole configuration of a chassis takes a minute.
const answerWithin = 2 * time.Minute

// ask runs the show commands of the planned OS on the switch. They change nothing.
func (s SwitchSource) ask(ctx context.Context, from files.Files, dialer *host.Dialer, plan *fabric.Plan) answer {
	if _, whole := from.(files.Disk); !whole {
		return answer{err: errors.New("machines are not reached from here: give a file")}
	}
	os, err := plannedOS(plan, s.Name)
	if err != nil {
		return answer{err: err}
	}
	target, err := sshTarget(s.From)
	if err != nil {
		return answer{err: err}
	}
	login, err := dialer.Dial(ctx, target)
	if err != nil {
		return answer{lost: err}
	}
	defer login.Close()
	return shows(ctx, login, os.Shows(), answerWithin)
}

// teller is a switch that answers commands.
type teller interface {
	Say(ctx context.Context, command string) ([]byte, error)
}

// shows asks for everything, one command after another. A switch that does not answer in time is not asked further.
func shows(ctx context.Context, login teller, commands []string, within time.Duration) answer {
	var out []switchtext.Text
	var failed []string
	for _, command := range commands {
		b, err := say(ctx, login, command, within)
		if err != nil {
			failed = append(failed, err.Error())
			if errors.Is(err, context.DeadlineExceeded) {
				break
			}
			continue
		}
		if _, err := switchos.Language(b); err == nil { // an OS may not have a command: then its words are no text of it
			out = append(out, switchtext.Text{File: command, Bytes: b})
		}
	}
	if len(out) == 0 {
		return answer{lost: errors.New(strings.Join(append([]string{"it answered no show command with a text that is read"}, failed...), "; "))}
	}
	return answer{texts: out}
}

func say(ctx context.Context, login teller, command string, within time.Duration) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, &host.NoAnswerError{Within: within})
	defer cancel()
	return login.Say(ctx, command)
}
func plannedOS(plan *fabric.Plan, name string) (switchos.OS, error) {
	if plan == nil {
		return nil, errors.New("over SSH it needs a cluster file (-f): the plan says which OS it has")
	}
	i := slices.IndexFunc(plan.Switches, func(s fabric.Switch) bool { return s.Name == name })
	return switchos.Find(plan.Switches[i].OS)
}

func sshTarget(text string) (host.Target, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Path != "" && u.Path != "/" {
		return host.Target{}, errors.New("its address must be ssh://[user@]host[:port]") // it may have a password: not shown
	}
	if _, has := u.User.Password(); has {
		return host.Target{}, errors.New("a password on the command line is not taken: use a key or an agent")
	}
	config, err := host.LoadSSHConfig("")
	if err != nil {
		return host.Target{}, err
	}
	target, err := config.Target(u.Hostname(), u.User.Username())
	if err == nil && u.Port() != "" {
		if target.Port, err = strconv.Atoi(u.Port()); err != nil || target.Port < 1 || target.Port > 65535 {
			return host.Target{}, fmt.Errorf("port %s: must be 1 to 65535", u.Port())
		}
	}
	return target, err
}
