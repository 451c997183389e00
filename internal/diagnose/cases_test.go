package diagnose

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// cases are the diagnosed cases of the public record, written as observations from their symptoms. The true
// cause is first; where the record leaves it open, the honest set is.
var cases = map[string][]fabric.CauseID{
	"D01": {fabric.CauseATSDisabled},
	"D03": {fabric.CauseACSRedirect},
	"D04": {fabric.CauseGDRDisabled},
	"D05": {fabric.CauseACSRedirect},
	"D07": {fabric.CauseTopoXMLWrong},
	"D10": {fabric.CauseATSDisabled},
	"D11": {fabric.CauseATSDisabled},
	"D12": {fabric.CauseVMTopologyMissing},
	"D14": {fabric.CauseSlowNode},
	"D16": {fabric.CauseBondHashing},
	"D18": {fabric.CauseRoCELossy},
	"D20": {fabric.CauseNetPlugin},
	"D21": {fabric.CauseHCASubset},
	"D22": {fabric.CauseMTUMismatch},
	"D23": {fabric.CauseLibraryBuild},
	"D27": {fabric.CauseGDRDisabled},
	"D29": {fabric.CauseACSRedirect, fabric.CauseNICProfile, fabric.CausePCIeDowngradedUpstream},
	"D30": {fabric.CauseTreeArtefact},
	"D32": {fabric.CauseMPINotBuilt},
	"D34": {fabric.CauseVMTopologyMissing},
	"D37": {fabric.CauseGPUNICMisaligned},
	"D38": {fabric.CauseGPUNICMisaligned},
	"D39": {fabric.CauseCPUAffinity, fabric.CauseNetPlugin},
	"D40": {fabric.CauseFirstUse},
}

func TestCases(t *testing.T) {
	predict := predictor(t)
	first, three := 0, 0
	for _, f := range glob(t, "testdata/cases/*.yaml") {
		name := filepath.Base(f)[:3]
		r := Explain(read(t, f), Input{Predict: predict}).Results[0]
		got := ids(r.Causes)
		at := slices.IndexFunc(got, func(c fabric.CauseID) bool { return slices.Contains(cases[name], c) })
		if at == 0 {
			first++
		}
		if 0 <= at && at < 3 {
			three++
		}
		if at != 0 || os.Getenv("EXPLAIN_SHOW") != "" {
			t.Logf("%s: %s: %s", name, r.Verdict, r.Why)
			for _, c := range r.Causes {
				t.Logf("    %-22s %.2f for %v against %v", c.ID, c.Confidence, c.Evidence, c.Against)
			}
		}
		if r.Verdict == fabric.VerdictHealthy && name != "D40" { // D40 is jitter on a healthy cluster
			t.Errorf("%s is called healthy: %s", name, r.Why)
		}
	}
	t.Logf("%d cases: first %d, among the first three %d", len(cases), first, three)
	if 100*first < 80*len(cases) || 100*three < 95*len(cases) {
		t.Errorf("of %d cases the true cause is first in %d and among the first three in %d", len(cases), first, three)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no files %s: %v", pattern, err)
	}
	return files
}

// retold are the cases written a second time, before they were run: 18 of 23 were right at once, 21 among the
// first three, one (the tree) was called healthy. The rules have learned from them since.
//
// The causes are in the order of the file.
var retold = []fabric.CauseID{
	fabric.CauseATSDisabled, fabric.CauseACSRedirect, fabric.CauseGDRDisabled, fabric.CauseACSRedirect, fabric.CauseTopoXMLWrong,
	fabric.CauseATSDisabled, fabric.CauseATSDisabled, fabric.CauseVMTopologyMissing, fabric.CauseSlowNode, fabric.CauseBondHashing,
	fabric.CauseRoCELossy, fabric.CauseNetPlugin, fabric.CauseHCASubset, fabric.CauseMTUMismatch, fabric.CauseLibraryBuild,
	fabric.CauseGDRDisabled, fabric.CauseACSRedirect, fabric.CauseTreeArtefact, fabric.CauseMPINotBuilt, fabric.CauseVMTopologyMissing,
	fabric.CauseGPUNICMisaligned, fabric.CauseNetPlugin, fabric.CauseFirstUse,
}

func TestRetoldCases(t *testing.T) {
	predict := predictor(t)
	found := read(t, "testdata/retold.yaml")
	if len(found) != len(retold) {
		t.Fatalf("%d documents, %d causes", len(found), len(retold))
	}
	for i, r := range found {
		e := Explain([]fabric.Result{r}, Input{Predict: predict}).Results[0]
		if len(e.Causes) == 0 || e.Causes[0].ID != retold[i] {
			t.Errorf("line %d: %s: %s: %v, want %s first", e.Line, e.Verdict, e.Why, ids(e.Causes), retold[i])
		}
		if sick := retold[i] != fabric.CauseFirstUse; sick && e.Verdict == fabric.VerdictHealthy {
			t.Errorf("line %d is called healthy: %s", e.Line, e.Why)
		}
	}
}
