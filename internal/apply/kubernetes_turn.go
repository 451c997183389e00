package apply

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/kube"
)

// Annotations by which a plan says when an object is applied and how long it may take to get ready.
const (
	// AfterAnnotation names objects of the same namespace that are ready before this one is applied: Job/NAME, several with commas.
	AfterAnnotation = "railwright.dev/after"
	// ReadyWithinAnnotation is how long the object is waited for, as a duration of Go: 45m.
	ReadyWithinAnnotation = "railwright.dev/ready-within"
)

// turn is when an object is applied.
type turn struct {
	number int           // 0: with the first ones; else after those of the numbers before
	after  []string      // objects that are ready before it
	within time.Duration // that it may take to get ready; 0: as long as others
}

// giveTurns reads the annotations of the steps.
func giveTurns(steps []kubeStep) error {
	var problems []error
	for i := range steps {
		var err error
		if steps[i].turn, err = turnOf(steps[i].object); err != nil {
			problems = append(problems, err)
		}
	}
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	at := make(map[string]int, len(steps))
	for i, s := range steps {
		at[s.object.String()] = i
	}
	for round := 0; ; round++ {
		changed := false
		for i, s := range steps {
			for _, name := range s.turn.after {
				first, there := at[name]
				if !there {
					return fmt.Errorf("%s: annotation %s: %s is not an object of this plan", s.object, AfterAnnotation, name)
				}
				if n := steps[first].turn.number + 1; n > steps[i].turn.number {
					steps[i].turn.number, changed = n, true
				}
			}
		}
		if !changed {
			return nil
		}
		if round > len(steps) {
			return fmt.Errorf("annotation %s: objects wait for each other in a circle", AfterAnnotation)
		}
	}
}

func turnOf(o kube.Object) (t turn, err error) {
	var said struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(o.JSON, &said); err != nil {
		return t, fmt.Errorf("%s: %w", o, err)
	}
	if text, ok := said.Metadata.Annotations[ReadyWithinAnnotation]; ok {
		if t.within, err = time.ParseDuration(text); err != nil || t.within <= 0 {
			return t, fmt.Errorf("%s: annotation %s: %q is not a duration above 0, as 45m", o, ReadyWithinAnnotation, text)
		}
	}
	if text, ok := said.Metadata.Annotations[AfterAnnotation]; ok {
		for name := range strings.SplitSeq(text, ",") {
			kind, name, found := strings.Cut(strings.TrimSpace(name), "/")
			if !found || kind == "" || name == "" {
				return t, fmt.Errorf("%s: annotation %s: %q does not name objects as KIND/NAME", o, AfterAnnotation, text)
			}
			t.after = append(t.after, kube.Object{Kind: kind, Name: name, Namespace: o.Namespace}.String())
		}
	}
	return t, nil
}

// inTurns are the steps by their turns. Objects that the plan no longer has go with the last.
func inTurns(steps []kubeStep) (turns [][]kubeStep) {
	last := 0
	for _, s := range steps {
		last = max(last, s.turn.number)
	}
	turns = make([][]kubeStep, last+1)
	for _, s := range steps {
		n := s.turn.number
		if s.kind == Remove {
			n = last
		}
		turns[n] = append(turns[n], s)
	}
	return turns
}

// neededBy are the steps whose objects are ready before those of a turn are applied.
func neededBy(turn, all []kubeStep) (needed []kubeStep) {
	for _, s := range all {
		if slices.ContainsFunc(turn, func(later kubeStep) bool { return slices.Contains(later.turn.after, s.object.String()) }) {
			needed = append(needed, s)
		}
	}
	return needed
}
