package kube

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

const podKinds = `{"kind":"APIResourceList","groupVersion":"v1","resources":[{"name":"pods","namespaced":true,"kind":"Pod"},{"name":"events","namespaced":true,"kind":"Event"}]}`

// Events come as the old and the new recorder write them, and the oldest is first; one without times comes before all.
func TestEvents(t *testing.T) {
	var query string
	do := served()
	do["GET /api/v1"] = say(podKinds)
	do["GET /api/v1/namespaces/jobs/events"] = func(w http.ResponseWriter, r *http.Request) {
		query = r.URL.Query().Get("fieldSelector")
		say(`{"kind":"EventList","items":[
			{"metadata":{"name":"a"},"type":"Warning","reason":"BackOff","message":"m","count":4,"lastTimestamp":"2026-01-01T00:00:09Z"},
			{"metadata":{"name":"b"},"type":"Normal","reason":"Scheduled","eventTime":"2026-01-01T00:00:01.000001Z","lastTimestamp":null},
			{"metadata":{"name":"c"},"type":"Warning","reason":"FailedScheduling","eventTime":"2026-01-01T00:00:01.000001Z","series":{"count":7,"lastObservedTime":"2026-01-01T00:00:05.000001Z"}},
			{"metadata":{"name":"d"},"reason":"Odd"},
			{"metadata":{"name":"e"},"reason":5}]}`)(w, r)
	}
	c := newFake(t, do).client(t)
	events, err := c.Events(t.Context(), Object{APIVersion: "v1", Kind: "Pod", Namespace: "jobs", Name: "a", UID: "uid-1"})
	if err != nil || query != "involvedObject.uid=uid-1" || len(events) != 4 {
		t.Fatalf("%q %+v %v", query, events, err)
	}
	var order []string
	for _, e := range events {
		order = append(order, e.Reason)
	}
	if strings.Join(order, " ") != "Odd Scheduled FailedScheduling BackOff" || events[2].Count != 7 || events[3].Count != 4 || events[0].Count != 1 || !events[0].Last.IsZero() {
		t.Errorf("%+v", events)
	}
	if got := events[2].Last.UTC(); got != time.Date(2026, 1, 1, 0, 0, 5, 1000, time.UTC) {
		t.Error(got)
	}
}

func TestLastLines(t *testing.T) {
	pod := Object{APIVersion: "v1", Kind: "Pod", Namespace: "jobs", Name: "a"}
	do := served()
	do["GET /api/v1"] = say(podKinds)
	do["GET /api/v1/namespaces/jobs/pods/a/log"] = func(w http.ResponseWriter, r *http.Request) {
		switch q := r.URL.Query(); {
		case q.Get("container") == "none":
			refuse(w, 400, "BadRequest", `container "none" in pod "a" is waiting to start`, "")
		case q.Get("previous") == "true":
			_, _ = w.Write([]byte("before\n"))
		case q.Get("tailLines") == "2":
			_, _ = w.Write([]byte("one\n{not JSON\n"))
		}
	}
	c := newFake(t, do).client(t)
	for _, test := range []struct {
		container string
		previous  bool
		lines     int
		want      string
	}{{"main", false, 2, "one|{not JSON"}, {"main", true, 2, "before"}, {"main", false, 9, ""}} {
		got, err := c.LastLines(t.Context(), pod, test.container, test.previous, test.lines)
		if err != nil || strings.Join(got, "|") != test.want {
			t.Errorf("%+v: %q %v", test, got, err)
		}
	}
	if _, err := c.LastLines(t.Context(), pod, "none", false, 2); err == nil || !strings.Contains(err.Error(), "log of container none of Pod jobs/a: container") {
		t.Error(err)
	}
}

// A server that does not admit an object says something about it; one that does not let the client ask does not.
func TestRefused(t *testing.T) {
	pod := Object{APIVersion: "v1", Kind: "Pod", Namespace: "jobs", Name: "a", JSON: []byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","namespace":"jobs"}}`)}
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   bool
	}{
		"Pod Security": {refusal(403, "Forbidden", `pods "a" is forbidden: violates PodSecurity "baseline:latest": host namespaces`, ""), true},
		"quota":        {refusal(403, "Forbidden", `pods "a" is forbidden: exceeded quota: gpus, requested: 8`, ""), true},
		"not allowed":  {refusal(403, "Forbidden", `pods is forbidden: User "me" cannot create resource "pods" in API group "" in the namespace "jobs"`, ""), false},
		"not valid":    {refusal(422, "Invalid", `Pod "a" is invalid`, ""), true},
		"no namespace": {refusal(404, "NotFound", `namespaces "jobs" not found`, ""), false},
		"not well":     {refusal(500, "InternalError", "no", ""), false},
	} {
		do := served()
		do["GET /api/v1"] = say(podKinds)
		do["POST /api/v1/namespaces/jobs/pods"] = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("dryRun") != "All" {
				t.Error("it would be made")
			}
			test.answer(w, r)
		}
		if err := newFake(t, do).client(t).TryCreate(t.Context(), pod); err == nil || Refused(err) != test.want {
			t.Errorf("%s: %v: %v", name, Refused(err), err)
		}
	}
	if Refused(nil) {
		t.Error("nothing is refused")
	}
}

func TestNamesOfPaths(t *testing.T) {
	do := served()
	f := newFake(t, do)
	for _, name := range []string{"deepseek-ai/DeepSeek-R1", "..", "a%2Fb"} {
		_, err := f.client(t).Get(t.Context(), Object{APIVersion: "v1", Kind: "Pod", Namespace: "jobs", Name: name})
		if err == nil || !strings.Contains(err.Error(), "may not") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := f.saw("GET /api/v1/"); n != 0 {
		t.Errorf("asked %d times", n)
	}
}
