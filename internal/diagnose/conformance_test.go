package diagnose

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// Every kind of result that can be read gets a verdict with its reason, and is saved and loaded as it is.
func TestEveryKind(t *testing.T) {
	for _, form := range fabric.ResultKinds() {
		t.Run(string(form.Kind), func(t *testing.T) {
			r := fabric.Result{File: "f", Line: 3, Kind: form.Kind, Content: form.Empty()}
			x := explain([]fabric.Result{r}, Input{Predict: predictor(t)})
			if len(x.Results) != 1 {
				t.Fatalf("%d results, want 1", len(x.Results))
			}
			e := x.Results[0]
			if e.File != "f" || e.Line != 3 || e.Kind != form.Kind || e.Verdict != fabric.VerdictUnknown || e.Why == "" {
				t.Errorf("an empty result is %+v", e)
			}
			if strings.Contains(e.Why, "not judged yet") {
				t.Errorf("nothing judges it: %s", e.Why)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			var again fabric.Result
			if err := json.Unmarshal(text, &again); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r, again); diff != "" {
				t.Errorf("loaded again (-want +got):\n%s", diff)
			}
		})
	}
}

// A kind that can be read and that nothing here judges is unknown, and says so.
func TestKindThatNothingJudges(t *testing.T) {
	type future struct{ fabric.ResultContent }
	e := explain([]fabric.Result{{File: "f", Kind: "ping", Content: future{}}}, Input{}).Results[0]
	if e.Verdict != fabric.VerdictUnknown || !strings.HasPrefix(e.Why, "read, not judged yet") {
		t.Errorf("%s: %s", e.Verdict, e.Why)
	}
}
