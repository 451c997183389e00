package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/kube"
)

// condition is one of the conditions of a status.
type condition struct {
	Type    string `json:"type"`
	Status  string `json:"status"`
	Message string `json:"message"`
}

// workload is the part of an object that says how many of its pods are ready.
type workload struct {
	Metadata struct {
		Generation int64 `json:"generation"`
	} `json:"metadata"`
	Spec struct {
		Replicas *int `json:"replicas"`
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
	} `json:"spec"`
	Status struct {
		Observed    int64       `json:"observedGeneration"`
		Ready       int         `json:"readyReplicas"`
		NumberReady int         `json:"numberReady"`            // of a DaemonSet
		Desired     int         `json:"desiredNumberScheduled"` // of a DaemonSet
		Conditions  []condition `json:"conditions"`
	} `json:"status"`
}

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
		var w workload
		if err == nil && json.Unmarshal(now.JSON, &w) == nil && slices.ContainsFunc(w.Status.Conditions, func(k condition) bool { return k.Type == "Established" && k.Status == "True" }) {
			c.Client.Forget()
			return nil
		}
		c.Doing("waiting until the API server serves the kind of %s", definition)
		if pause(ctx, time.Second/2) != nil {
			return fmt.Errorf("%s: the API server does not serve its kind after %s", definition, within)
		}
	}
}

// awaitPods waits until the pods of the applied objects are ready, and returns those that are not in the end, and why. What the
// scheduler says of a pod without a machine is said at once, and waited for no longer than Placed: all such pods together.
func (c Kubernetes) awaitPods(ctx context.Context, steps []kubeStep) (pending []string) {
	ctx, cancel := context.WithTimeout(ctx, c.Ready)
	defer cancel()
	var refused time.Time // when the scheduler was first found without a machine
	for _, s := range steps {
		if s.kind == Remove || !slices.Contains([]string{"StatefulSet", "DaemonSet", "Deployment"}, s.object.Kind) {
			continue
		}
		said := ""
		for {
			text, why := c.notReady(ctx, s.object)
			if text == "" {
				break
			}
			if why != "" && refused.IsZero() {
				refused = time.Now()
			}
			if why != "" && why != said && ctx.Err() == nil {
				c.Say("%s: %s", s.object, text)
				said = why
			}
			over := why != "" && time.Since(refused) >= c.Placed
			c.Doing("waiting for %s: %s", s.object, text)
			if over || pause(ctx, min(time.Second, c.Ready)) != nil {
				// Once more: an answer that was interrupted says nothing about the pods.
				last, end := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
				if text, _ = c.notReady(last, s.object); text != "" {
					pending = append(pending, fmt.Sprintf("%s: %s", s.object, text))
				}
				end()
				break
			}
		}
	}
	return pending
}

// notReady says how many pods of an object are not ready, with what the scheduler says of one that it has no machine for, which
// is why; empty: all are ready.
func (c Kubernetes) notReady(ctx context.Context, o kube.Object) (text, why string) {
	now, err := c.Client.Get(ctx, o)
	if err != nil {
		return "unknown: " + strings.TrimPrefix(err.Error(), o.String()+": "), ""
	}
	var w workload
	if err := json.Unmarshal(now.JSON, &w); err != nil {
		return "unknown: " + err.Error(), ""
	}
	ready, wanted := w.Status.Ready, 1
	if w.Spec.Replicas != nil {
		wanted = *w.Spec.Replicas
	}
	if o.Kind == "DaemonSet" {
		ready, wanted = w.Status.NumberReady, w.Status.Desired
	}
	if w.Status.Observed < w.Metadata.Generation {
		return "its controller has not seen it yet", ""
	}
	if ready >= wanted {
		return "", ""
	}
	text = fmt.Sprintf("%d of %d pods ready", ready, wanted)
	if why = c.unschedulable(ctx, now.Namespace, w.Spec.Selector.MatchLabels); why != "" {
		text += "; " + why
	}
	return text, why
}

// unschedulable is what the scheduler says of the first pod that it cannot place.
func (c Kubernetes) unschedulable(ctx context.Context, namespace string, labels map[string]string) string {
	var selector []string
	for k, v := range labels {
		selector = append(selector, k+"="+v)
	}
	slices.Sort(selector)
	pods, err := c.Client.List(ctx, "v1", "Pod", kube.Selection{Namespace: namespace, Labels: strings.Join(selector, ",")})
	if err != nil || len(selector) == 0 {
		return ""
	}
	for _, p := range pods {
		var w workload
		if json.Unmarshal(p.JSON, &w) != nil {
			continue
		}
		for _, k := range w.Status.Conditions {
			if k.Type == "PodScheduled" && k.Status == "False" && k.Message != "" {
				return p.String() + ": " + k.Message
			}
		}
	}
	return ""
}
