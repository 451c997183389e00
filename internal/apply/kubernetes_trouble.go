package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/rollout"
)

// findTrouble looks for what keeps an object from getting ready: what its controller says, what one of its pods says, what is said of
// that pod, and what is said of the objects that should have made pods. A claim that gets its volume with its first pod is ready.
func (c Kubernetes) findTrouble(ctx context.Context, w *watched, state rollout.State) {
	if state.Stuck != "" {
		w.trouble = &rollout.Trouble{Text: state.Stuck, Retried: true}
	}
	some := c.findPod(ctx, w, state)
	if w.trouble != nil {
		w.settle(state)
		return
	}
	of := []kube.Object{w.object}
	switch {
	case w.pod.Name != "":
		of = []kube.Object{w.pod}
	case some:
		return // pods that are ready are not in the way
	default:
		for _, m := range state.Makes {
			made, err := c.Client.List(ctx, m.APIVersion, m.Kind, kube.Selection{Namespace: w.object.Namespace, Labels: m.Labels})
			if err == nil {
				of = append(of, made...)
			}
		}
	}
	for _, o := range of {
		events, err := c.Client.Events(ctx, o)
		if err != nil || len(events) == 0 {
			continue
		}
		if w.object.Kind == "PersistentVolumeClaim" && slices.ContainsFunc(events, func(e kube.Event) bool { return said(e).AwaitsPod() }) {
			w.ready = true
			return
		}
		last := events[len(events)-1]
		if retried, blocks := said(last).Blocks(); blocks && w.trouble == nil {
			w.trouble = &rollout.Trouble{Text: last.Reason + ": " + last.Message, Retried: retried}
		}
	}
	w.settle(state)
}

// settle: where a controller counts what fails, a failure that is tried again is its business.
func (w *watched) settle(state rollout.State) {
	if state.Counts && w.trouble != nil && w.trouble.Retried {
		w.far, w.trouble = w.text(), nil
	}
}

func said(e kube.Event) rollout.Event { return rollout.Event{Reason: e.Reason, Message: e.Message} }

// findPod finds the first pod that has a trouble, or else one that is not ready; some reports whether there are pods at all.
func (c Kubernetes) findPod(ctx context.Context, w *watched, state rollout.State) (some bool) {
	pods := []kube.Object{w.object}
	if w.object.Kind != "Pod" || w.object.APIVersion != "v1" {
		if state.Pods == "" {
			return false
		}
		var err error
		if pods, err = c.Client.List(ctx, "v1", "Pod", kube.Selection{Namespace: w.object.Namespace, Labels: state.Pods}); err != nil {
			return false
		}
	}
	for _, p := range pods {
		if t, ok := rollout.TroubleOf(p.JSON); ok {
			w.pod = p
			if w.trouble == nil || w.trouble.Retried {
				w.trouble = &t
			}
			return true
		}
	}
	for _, p := range pods {
		if container, quiet := rollout.Quiet(p.JSON); quiet {
			w.pod, w.quiet = p, container
			return true
		}
	}
	return len(pods) > 0
}

// What is shown of an object that did not get ready.
const (
	shownEvents = 5  // of the object, and of its pod
	shownLines  = 10 // of a log
)

// seen is what was seen of an object in the end: events, and the log of a container that failed or is not ready.
func (c Kubernetes) seen(ctx context.Context, o kube.Object, w watched) Unready {
	u := Unready{Object: o.String(), Text: w.text()}
	of := []kube.Object{w.object}
	if w.pod.Name != "" && w.pod.UID != w.object.UID {
		of = []kube.Object{w.pod, w.object}
	}
	for _, o := range of {
		u.Events = append(u.Events, c.eventsOf(ctx, o)...)
	}
	container, previous := w.quiet, false
	if w.trouble != nil && w.trouble.Container != "" {
		container, previous = w.trouble.Container, w.trouble.Previous
	}
	if w.pod.Name == "" || container == "" {
		return u
	}
	u.Of = fmt.Sprintf("container %s of %s", container, w.pod)
	if previous {
		u.Of += ", run before this one"
	}
	lines, err := c.Client.LastLines(ctx, w.pod, container, previous, shownLines)
	if err != nil {
		lines = []string{"unknown: " + err.Error()}
	}
	u.Log = lines
	return u
}

// eventsOf are the last events of an object, the newest first; of one that was never read, none.
func (c Kubernetes) eventsOf(ctx context.Context, o kube.Object) (texts []string) {
	if o.UID == "" {
		return nil
	}
	events, err := c.Client.Events(ctx, o)
	if err != nil {
		return []string{"events of " + o.String() + ": unknown: " + err.Error()}
	}
	slices.Reverse(events)
	for _, e := range events[:min(len(events), shownEvents)] {
		texts = append(texts, o.String()+": "+eventText(e))
	}
	return texts
}

// eventText is an event with how often and how long ago it was said.
func eventText(e kube.Event) string {
	text := e.Reason + ": " + strings.Join(strings.Fields(e.Message), " ")
	if e.Count > 1 {
		text += fmt.Sprintf(" (%d times)", e.Count)
	}
	if !e.Last.IsZero() {
		text += fmt.Sprintf(" (%s ago)", max(time.Since(e.Last), 0).Round(time.Second))
	}
	return text
}
