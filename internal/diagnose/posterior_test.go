package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// inferred puts evidence together in a class of failure.
func inferred(t *testing.T, c causes.Class, seen ...evidence.Evidence) beliefs {
	t.Helper()
	table, err := loadTable()
	if err != nil {
		t.Fatal(err)
	}
	return infer(seen, c, informed(Input{}), table, (&observed{}).fits)
}

func tried(what string, effect evidence.Effect) evidence.Evidence {
	return evidence.Contrast{What: what, Effect: effect, Seen: evidence.Seen{Own: true, Text: what}}
}

func said(topic fabric.CauseID, text string) evidence.Evidence {
	return evidence.Statement{Topic: string(topic), Seen: evidence.Seen{Own: true, Text: text}}
}

// Every contrast has words that find it, and every cause of the likelihoods is one.
func TestLikelihoodsFit(t *testing.T) {
	table, err := loadTable()
	if err != nil {
		t.Fatal(err)
	}
	switches, _, err := evidence.Words()
	if err != nil {
		t.Fatal(err)
	}
	for sign, s := range table.bySign {
		if what, ok := strings.CutPrefix(sign, "contrast "); ok && !slices.Contains(switches, strings.Fields(what)[0]) {
			t.Errorf("%s: no words find it", sign)
		}
		if table.why[sign] == "" {
			t.Errorf("%s: no reason", sign)
		}
		for cause := range s {
			if !slices.Contains(fabric.CauseIDs, cause) {
				t.Errorf("%s: %q is no cause", sign, cause)
			}
		}
	}
	for _, what := range switches {
		found := false
		for sign := range table.bySign {
			found = found || strings.HasPrefix(sign, "contrast "+what+" ")
		}
		if !found {
			t.Errorf("words find %q, and no likelihood uses it", what)
		}
	}
}

func TestInfer(t *testing.T) {
	firewall := tried("firewall-off", evidence.Better)
	b := inferred(t, causes.Hang, firewall)
	if b.top().id != fabric.CauseFirewall || b.top().probability < 0.9 {
		t.Errorf("what was changed: %+v", b.list)
	}
	if again := inferred(t, causes.Hang, firewall, firewall); again.top().probability != b.top().probability {
		t.Errorf("the same change twice: %v, once %v", again.top().probability, b.top().probability)
	}
	if against := inferred(t, causes.Hang, tried("firewall-off", evidence.Same)); len(against.list) != 0 {
		t.Errorf("what speaks against it alone lists it: %+v", against.list)
	}
	if none := inferred(t, causes.Slow); len(none.list) != 0 || none.other != 1 {
		t.Errorf("without evidence: %+v", none)
	}
	sum := b.other
	for _, x := range b.list {
		sum += x.probability
	}
	if math.Abs(sum-1) > 0.02 {
		t.Errorf("probabilities add up to %v", sum)
	}
}

// Statements of people give no cause more than their share, however many there are, and a number outweighs them.
func TestProseIsWeak(t *testing.T) {
	pkey := fabric.CausePKeyMismatch
	b := inferred(t, causes.Start, said(pkey, "a"), said(pkey, "b"), said(pkey, "c"), said(pkey, "d"))
	if b.top().id != pkey || b.top().probability > proseAlone {
		t.Errorf("%+v", b.list)
	}
	hw := fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"}
	good := 468.0
	o := &fabric.Observations{Hardware: hw, Observed: []fabric.Observation{{Test: "nccl", Collective: fabric.AllReduce, Nodes: 2, BusBWGBs: &good}, {Fact: "we suspect ACS, the IOMMU and the switch"}}}
	r := explain([]fabric.Result{{Kind: fabric.ObservationFile, Content: o}}, Input{Predict: predictor(t)}).Results[0]
	if r.Verdict != fabric.VerdictHealthy {
		t.Errorf("%s: %s", r.Verdict, r.Why)
	}
}

// A message that a person tells of suggests a cause and is no verdict.
func TestQuotedMessage(t *testing.T) {
	o := &fabric.Observations{Observed: []fabric.Observation{{Fact: "it says NCCL WARN Duplicate GPU detected",
		Messages: []fabric.LogLine{{Text: "NCCL WARN Duplicate GPU detected", Message: "nccl/init-duplicate-gpu", Level: fabric.LineError}}}}}
	r := explain([]fabric.Result{{Kind: fabric.ObservationFile, Content: o}}, Input{}).Results[0]
	if r.Verdict != fabric.VerdictUnknown || firstCause(r) != fabric.CauseDuplicateGPU {
		t.Errorf("%s %s: %v", r.Verdict, r.Why, ids(r.Causes))
	}
}

// Ranks that wait for different work under one number call different collectives.
func TestDifferentWork(t *testing.T) {
	line := func(elements string) fabric.LogLine {
		return fabric.LogLine{Level: fabric.LineError, Text: "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=41, OpType=ALLREDUCE, NumelIn=" + elements + ", NumelOut=" + elements + ", Timeout(ms)=600000)"}
	}
	for _, tt := range []struct {
		other string
		want  bool
	}{{"2048", true}, {"1024", false}} {
		log := fabric.NCCLLog{Nodes: 2, Ranks: 16, Lines: []fabric.LogLine{line("1024"), line(tt.other)}}
		r := explain([]fabric.Result{logOf(log)}, Input{}).Results[0]
		if got := len(r.Causes) > 0 && r.Causes[0].ID == fabric.CauseCollectiveMismatch && r.Causes[0].Confidence > 0.8; got != tt.want {
			t.Errorf("%s: %+v", tt.other, r.Causes)
		}
	}
}

func TestIsValue(t *testing.T) {
	for _, tt := range []struct {
		form, value string
		want        bool
	}{{"1", "true", true}, {"1", "2", false}, {"0", "off", true}, {"<=4", "4", true}, {"<=4", "5", false}, {"<=4", "many", false}, {"any", "", false}, {"any", "x", true}, {"ll", "LL", true}} {
		if got := isValue(tt.form, tt.value); got != tt.want {
			t.Errorf("%s, %q: %v", tt.form, tt.value, got)
		}
	}
}
