package apply

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/prepare"
)

// tokenFile is in the memory of the host: a start takes it away (ESXi keeps of its files only those that it was told to keep).
const tokenFile = "/tmp/railwright.start"

// restart starts the host and waits until it was started, whatever its port answers: a host that goes down answers for a while.
func (w *esxWork) restart(ctx context.Context, why []string) error {
	resumed := w.j.Restart != nil
	if !resumed {
		if err := w.beforeRestart(ctx); err != nil {
			return err
		}
	}
	again, err := w.startedAgain(ctx, w.shell)
	if err != nil && (!resumed || refused(err)) {
		return err
	}
	if err == nil && !again {
		w.Doing("%s: reboots", w.Host)
		if _, err := w.say(ctx, "esxcli system shutdown reboot -d 10 -r railwright"); refused(err) {
			return fmt.Errorf("reboot: %w", err) // a lost connection is no refusal
		}
	}
	next, err := w.await(ctx)
	if err != nil {
		return err
	}
	_ = w.shell.Close() // of before the start
	w.shell, w.rebooted = next, time.Now()
	w.note("reboot", strings.Join(why, "; "))
	w.j.Restart, w.j.Pending = nil, false
	if err := w.j.save(); err != nil {
		return err
	}
	if w.back {
		w.stage++
		return nil
	}
	return w.afterRestart(ctx)
}

// beforeRestart refuses a start after which nobody could log in, and writes down how it will be known.
func (w *esxWork) beforeRestart(ctx context.Context) error {
	// what it prints is not the same in all versions: only a plain off refuses
	if out, err := w.say(ctx, "chkconfig --list | grep '^SSH '"); err == nil && strings.HasSuffix(out, " off") {
		return errors.New("reboot: SSH is not started with the host, which could not be reached after it: set the policy of the service TSM-SSH to start and stop with the host (chkconfig SSH on); then repeat")
	}
	up, err := w.uptime(ctx, w.shell)
	if err != nil {
		return err
	}
	token := rand.Text()
	if _, err := w.say(ctx, "echo "+token+" > "+tokenFile+" && grep -qx "+token+" "+tokenFile); err != nil {
		return fmt.Errorf("reboot: a file that shows it could not be written: %w", err)
	}
	w.j.Restart = &esxRestart{Token: token, Uptime: up, Asked: time.Now()}
	return w.j.save()
}

func (w *esxWork) uptime(ctx context.Context, shell ESXShell) (int64, error) {
	out, err := shell.Say(ctx, "esxcli system stats uptime get")
	if err != nil {
		return 0, err
	}
	up, err := strconv.ParseInt(strings.TrimSpace(string(out)), 10, 64) // microseconds
	if err != nil || up < 0 {
		return 0, fmt.Errorf("uptime %q: is not a number of microseconds", out)
	}
	return up, nil
}

// startedAgain reports whether the host was started since. Its uptime grows as long as it runs, whatever its clock says: less is a
// start. More may be one too, of a host that had run for minutes only: then the token is gone. A token that is gone from a host that
// has run all the time was taken by somebody.
func (w *esxWork) startedAgain(ctx context.Context, shell ESXShell) (bool, error) {
	r := w.j.Restart
	up, err := w.uptime(ctx, shell)
	if err != nil || up < r.Uptime {
		return err == nil, err
	}
	out, err := shell.Say(ctx, "if test -e "+tokenFile+"; then cat "+tokenFile+"; else echo none; fi")
	if err != nil {
		return false, err
	}
	const slack = time.Minute
	all := time.Duration(up-r.Uptime) * time.Microsecond
	ran := time.Since(r.Asked) > 10*slack && all > time.Since(r.Asked)-slack
	return strings.TrimSpace(string(out)) != r.Token && !ran, nil
}

// await logs in until the host was started.
func (w *esxWork) await(ctx context.Context) (ESXShell, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, w.Wait, fmt.Errorf("was not rebooted within %s: look at its console, and whether SSH is started with it (chkconfig SSH on); repeat to go on from here", w.Wait))
	defer cancel()
	var last error
	for {
		next, err := w.Dial(ctx)
		if err == nil {
			var again bool
			if again, err = w.startedAgain(ctx, next); again {
				return next, nil
			}
			_ = next.Close() // it is still going down
		}
		if err != nil && ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), last)
		case <-time.After(w.Every):
		}
	}
}

// afterRestart runs the checks of what took effect with a start, of each subject the last step.
func (w *esxWork) afterRestart(ctx context.Context) error {
	for i := range w.j.Begun {
		b := &w.j.Begun[i]
		if !b.Done || !b.Starts || b.Started || b.Undone {
			continue
		}
		later := w.j.Begun[i+1:]
		over := slices.ContainsFunc(later, func(l begun) bool { return subject(l.Step) == subject(b.Step) && !l.Undone })
		if !over && !w.hidden(b.Step, later) {
			if err := w.verify(ctx, b.Step, b.Check.Started); err != nil {
				return fmt.Errorf("after the reboot: %w", err)
			}
		}
		b.Started = true
	}
	return w.j.save()
}

// subject is what a step is about: a later step about it replaces what the first one set.
func subject(s prepare.Step) string {
	words := strings.Fields(s.ID)
	switch words[0] {
	case "module-parameters":
		return words[0]
	case "nic-unlock":
		words[0] = "nic"
	}
	return strings.Join(words[:min(2, len(words))], " ")
}

// hidden reports whether mst does not show a NIC, since it was passed through after its settings.
func (w *esxWork) hidden(s prepare.Step, later []begun) bool {
	address, isNIC := strings.CutPrefix(s.ID, "nic ")
	return isNIC && slices.ContainsFunc(later, func(l begun) bool { return l.ID == "passthrough "+address+" true" && !l.Undone })
}
