package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Event is what a component said of an object.
type Event struct {
	Reason  string
	Message string
	Count   int       // times that it was said; at least 1
	Last    time.Time // by the clock of who said it; zero: unknown
}

// Events returns what was said of an object, the oldest first. Servers keep it for an hour (kube-apiserver, --event-ttl). Events of an
// object without a namespace are in the namespace default.
func (c *Client) Events(ctx context.Context, o Object) ([]Event, error) {
	s := Selection{Namespace: cmp.Or(o.Namespace, "default"), Fields: "involvedObject.uid=" + o.UID}
	found, err := c.List(ctx, "v1", "Event", s)
	if err != nil {
		return nil, err
	}
	var events []Event
	for _, f := range found {
		var e struct {
			Reason, Message string
			Count           int
			LastTimestamp   *time.Time
			EventTime       *time.Time
			Series          *struct {
				Count            int
				LastObservedTime *time.Time
			}
		}
		if json.Unmarshal(f.JSON, &e) != nil {
			continue // not one that people need: other events say the same
		}
		one := Event{Reason: e.Reason, Message: e.Message, Count: max(e.Count, 1)}
		if e.Series != nil {
			one.Count = max(e.Series.Count, one.Count)
			e.LastTimestamp = cmp.Or(e.Series.LastObservedTime, e.LastTimestamp)
		}
		if last := cmp.Or(e.LastTimestamp, e.EventTime); last != nil {
			one.Last = *last
		}
		events = append(events, one)
	}
	slices.SortStableFunc(events, func(a, b Event) int { return a.Last.Compare(b.Last) })
	return events, nil
}
