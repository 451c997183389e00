package fabric

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestResultRefuses(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown kind", `{"file":"f","kind":"ping"}`, `result kind "ping": unknown; known: nccl-tests, table, osu, perftest, nccl-log, observations`},
		{"no content", `{"file":"f","kind":"osu"}`, `result of kind "osu": field "table" is missing`},
		{"content of another kind", `{"file":"f","kind":"osu","log":{}}`, `field "table" is missing`},
		{"null", `{"file":"f","kind":"perftest","perftest":null}`, `field "perftest" is missing`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r Result
			if err := json.Unmarshal([]byte(tt.text), &r); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if _, err := json.Marshal(Result{Kind: "ping"}); err == nil {
		t.Error("a result of an unknown kind was written")
	}
}
