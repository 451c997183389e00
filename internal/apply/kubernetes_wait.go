package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/rollout"
)

// awaitKind waits until the server serves a kind that was added.
func (c Kubernetes) awaitKind(ctx context.Context, definition kube.Object) error {
	const within = 30 * time.Second
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		now, err := c.Client.Get(ctx, definition)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && established(now) {
			c.Client.Forget()
			return nil
		}
		c.Doing("waiting until the API server serves the kind of %s", definition)
		if pause(ctx, time.Second/2) != nil {
			return fmt.Errorf("%s: the API server does not serve its kind after %s", definition, within)
		}
	}
}

func established(definition kube.Object) bool {
	var d struct {
		Status struct {
			Conditions []struct{ Type, Status string } `json:"conditions"`
		} `json:"status"`
	}
	if json.Unmarshal(definition.JSON, &d) != nil {
		return false
	}
	for _, k := range d.Status.Conditions {
		if k.Type == "Established" && k.Status == "True" {
			return true
		}
	}
	return false
}

// Unready is an object that did not get ready, with what was seen of it in the end.
type Unready struct {
	Object string   `json:"object"`
	Text   string   `json:"text"`             // how far it is, and what is in its way
	Events []string `json:"events,omitempty"` // what was said of it and of its pod last, the newest first
	Log    []string `json:"log,omitempty"`    // the last lines of a container
	Of     string   `json:"log_of,omitempty"` // which container's, of which pod and run
}

func (u Unready) String() string { return u.Object + ": " + u.Text }

// await waits until the objects of steps are ready, and returns those that are not in the end, and why. All wait from now on, each as long
// as it may take. One that something keeps from getting ready is said at once, and waited for no longer than Placed, or Ready where
// somebody tries again by himself: all of a kind together.
func (c Kubernetes) await(ctx context.Context, steps []kubeStep) (pending []Unready) {
	began := time.Now()
	p := patience{placed: c.Placed, ready: c.Ready}
	for _, s := range steps {
		if s.kind == Remove || rollout.Waits(rollout.KindOf(s.object.APIVersion, s.object.Kind)) != rollout.Waited {
			continue
		}
		if u := c.awaitOne(ctx, s, began, &p); u != nil {
			pending = append(pending, *u)
		}
	}
	return pending
}

// bound is how long an object is waited for.
func (c Kubernetes) bound(s kubeStep) time.Duration {
	if s.turn.within > 0 && !c.ReadyAsked {
		return s.turn.within
	}
	return c.Ready
}

func (c Kubernetes) awaitOne(ctx context.Context, s kubeStep, began time.Time, p *patience) *Unready {
	bound := c.bound(s)
	ctx, cancel := context.WithDeadline(ctx, began.Add(bound))
	defer cancel()
	said := ""
	for {
		w := c.watch(ctx, s.object)
		if w.ready {
			return nil
		}
		if w.trouble != nil && w.trouble.Text != said && ctx.Err() == nil {
			said = w.trouble.Text
			c.Say("%s: %s", s.object, w.text())
		}
		c.Doing("waiting for %s: %s (%s of at most %s)", s.object, w.text(), time.Since(began).Round(time.Second), bound)
		if w.failed || p.over(w.trouble) || pause(ctx, min(c.Ready, interval(time.Since(began)))) != nil {
			return c.last(ctx, s.object, bound)
		}
	}
}

// interval is how long an object is left alone between two looks: what takes hours is not asked for every second.
func interval(waited time.Duration) time.Duration {
	return min(time.Second+waited/20, 10*time.Second)
}

// last looks once more, with time of its own: an answer that was interrupted says nothing. Nil: it is ready after all.
func (c Kubernetes) last(ctx context.Context, o kube.Object, bound time.Duration) *Unready {
	ended := ctx.Err() != nil && context.Cause(ctx) != context.DeadlineExceeded
	const within = 10 * time.Second
	ctx, end := context.WithTimeout(context.WithoutCancel(ctx), within)
	defer end()
	w := c.watch(ctx, o)
	if w.ready {
		return nil
	}
	u := c.seen(ctx, o, w)
	switch {
	case ended:
		u.Text += "; the wait for it was interrupted"
	case !w.failed && w.trouble == nil:
		u.Text += fmt.Sprintf(" after %s", bound)
	}
	return &u
}

// patience is how long troubles are waited for: from the first of its kind on.
type patience struct {
	placed, ready   time.Duration
	helpless, tried time.Time // since when there is one that nobody works on, or one that is tried again
}

// over reports whether there is nothing to wait for any more.
func (p *patience) over(t *rollout.Trouble) bool {
	switch {
	case t == nil:
		p.helpless, p.tried = time.Time{}, time.Time{}
		return false
	case t.Retried:
		if p.tried.IsZero() {
			p.tried = time.Now()
		}
		return time.Since(p.tried) >= p.ready
	}
	if p.helpless.IsZero() {
		p.helpless = time.Now()
	}
	return time.Since(p.helpless) >= p.placed
}

// watched is an object that is waited for, as it is now.
type watched struct {
	ready   bool
	failed  bool // it never gets ready
	far     string
	trouble *rollout.Trouble // nil: nothing is known to be in its way
	object  kube.Object
	pod     kube.Object // which has the trouble, or is not ready; without a name: none is known
	quiet   string      // container of that pod that runs, and is not ready
}

func (w watched) text() string {
	if w.trouble == nil {
		return w.far
	}
	text := w.trouble.Text
	if w.pod.Name != "" {
		text = w.pod.String() + ": " + text
	}
	return w.far + "; " + text
}

// watch asks how far an object is.
func (c Kubernetes) watch(ctx context.Context, o kube.Object) watched {
	now, err := c.Client.Get(ctx, o)
	if err != nil {
		return watched{object: o, far: "unknown: " + strings.TrimPrefix(err.Error(), o.String()+": ")}
	}
	state, err := rollout.Of(rollout.KindOf(o.APIVersion, o.Kind), now.JSON)
	if err != nil {
		return watched{object: now, far: "unknown: " + err.Error()}
	}
	w := watched{ready: state.Ready, far: state.Text, object: now}
	switch {
	case w.ready:
	case state.Failed != "":
		w.failed, w.far = true, state.Text+"; "+state.Failed
		c.findPod(ctx, &w, state)
	default:
		c.findTrouble(ctx, &w, state)
	}
	return w
}
