package diagnose

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// Every cause that reference documents and users know has a signature, what confirms it and what fixes it.
func TestEveryCauseIsReached(t *testing.T) {
	for cause := range wordings {
		if r := remedyOf(cause); r.confirm == "" || r.fix == "" || r.confirm == "railwright check" {
			t.Errorf("%s has no remedy of its own: %+v", cause, r)
		}
	}
	for _, c := range []fabric.CauseID{fabric.CauseHealthy} {
		if _, ok := wordings[c]; ok {
			t.Errorf("%s is no fault", c)
		}
	}
	if len(wordings) != 53 { // the lines of the list of causes, less healthy
		t.Errorf("%d causes have wordings", len(wordings))
	}
}

// The terms of a textRule name concepts of the lexicon, and every concept is used by one.
func TestSayingsNameConcepts(t *testing.T) {
	known, used := map[string]bool{}, map[string]bool{"average": true, "single": true, "multi": true, "perftest": true, "gpumemory": true, "hostmemory": true, "training": true, "instate": true}
	known["partly"] = true // found by its form
	for _, c := range lexicon() {
		if known[c.name] {
			t.Errorf("concept %q stands twice", c.name)
		}
		known[c.name] = true
	}
	for _, c := range contrasts() {
		for _, term := range terms(c.fast + " " + c.slow) {
			used[term] = true
			if !known[term] {
				t.Errorf("%s: %q is no concept", c.why, term)
			}
		}
	}
	for _, topic := range topics() {
		used[topic.concept] = true
		if !known[topic.concept] {
			t.Errorf("%s: %q is no concept", topic.cause, topic.concept)
		}
	}
	for _, s := range append(textRules(), suspects()...) {
		for _, term := range terms(s.terms) {
			used[term] = true
			if !known[term] {
				t.Errorf("%s: %q is no concept", s.cause, term)
			}
		}
		if magnitude(s.weight) > 1 || s.weight == 0 {
			t.Errorf("%s %q: weight %v", s.cause, s.terms, s.weight)
		}
	}
	for name := range known {
		if !used[name] {
			t.Errorf("concept %q is used by no saying", name)
		}
	}
}

// Three wordings of one fact give one answer, whatever else is in the file.
func TestThreeWordings(t *testing.T) {
	base := fabric.Observations{
		Hardware: fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"},
		Observed: []fabric.Observation{{Test: "nccl", Collective: fabric.AllReduce, Nodes: 2, BusBWGBs: f(200)}},
	}
	predict := predictor(t)
	for _, texts := range [][]string{
		{"no GDRDMA in the log", "GPU Direct RDMA disabled", "none of the channels use GPUDirect RDMA"},
		{"GDRDMA on all channels", "every channel says GDRDMA", "GPUDirect RDMA is in use"},
		{"ACS is on in the PCIe switches", "lspci: ACSCtl: SrcValid+ ReqRedir+", "access control services not disabled"},
		{"the NICs train at Gen4 instead of Gen5", "LnkSta: Speed 16GT/s (downgraded)", "PCIe links of the NICs are x8 instead of x16"},
	} {
		var first []fabric.CauseID
		for i, text := range texts {
			o := base
			o.Observed = append(slices.Clone(base.Observed), fabric.Observation{Fact: text})
			r := Explain([]fabric.Result{{Kind: fabric.ObservationFile, Content: &o}}, Input{Predict: predict}).Results[0]
			if i == 0 {
				first = ids(r.Causes)
			} else if !slices.Equal(first, ids(r.Causes)) {
				t.Errorf("%q: %v, but %q: %v", texts[0], first, text, ids(r.Causes))
			}
		}
	}
}

// Denials: what a text denies counts against the cause, or not at all.
func TestDenials(t *testing.T) {
	r := newReader()
	tests := []struct {
		text    string
		term    string
		holds   bool
		comment string
	}{
		{"no GDRDMA", "gdr-", true, "denied before"},
		{"GDRDMA: disabled", "gdr-", true, "denied after"},
		{"GDRDMA is not disabled", "gdr+", true, "twice denied"},
		{"no packet loss, GDRDMA on all channels", "gdr+", true, "a denial ends at a comma"},
		{"no packet loss and GDRDMA on all channels", "gdr+", true, "and at an and"},
		{"no PFC or ECN", "ecn-", true, "and goes over an or"},
		{"PFC and ECN are off", "pfc-", true, "to the left too"},
		{"not only GDRDMA", "gdr+", true, "not only"},
		{"GPU 0 has GDRDMA", "gdr+", true, "a number of a device denies nothing"},
		{"0 drops on the ports", "drop-", true, "a count of none does"},
		{"ACS was never enabled", "acs-", true, "never"},
		{"ACS isn't on", "acs-", true, "contracted"},
		{"without GDRDMA", "gdr+", false, "without"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			if st := r.read(tt.text, ""); st.names(tt.term) != tt.holds {
				t.Errorf("%s: %q: %v", tt.comment, tt.text, st.mentions)
			}
		})
	}
}

// terms are the bare concepts of a list of terms.
func terms(list string) []string {
	var out []string
	for _, w := range strings.Fields(list) {
		out = append(out, strings.Trim(w, "!+-"))
	}
	return out
}
