package pipeline

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
)

// sparkFailures are the rules that fail in a text, with what they say.
func sparkFailures(t *testing.T, name, text string) map[string]string {
	t.Helper()
	o := facts.NewOutputs()
	o.File(name, "")
	for line := range strings.Lines(text) {
		o.Line("", []string{strings.TrimRight(line, "\r\n")}, nil, false)
	}
	found, err := failuresIn(context.Background(), time.Unix(0, 0), o.Facts())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, f := range found {
		if f.Status == fabric.Fail {
			out[f.ID] += f.Subject.String() + ": " + f.Why + "\n"
		}
	}
	return out
}

// TestSparkCaptureRules holds the rules against public captures: what is wrong in them is named, and nothing else.
func TestSparkCaptureRules(t *testing.T) {
	const folder = "../../../shared/data/captures"
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err != nil {
		t.Skip("the captures are not there: ", err)
	}
	var index map[string]struct{ Verdict string }
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[string]map[string]string{
		"39": {"spark-subnets": "a /16 is also wider than the 24 bits"},
		"40": {}, "41": {"spark-subnets": "are probably in one subnet"}, "44": {"spark-mtu": "spark-2:enP2p1s0f0np0"}, "45": {"spark-mtu": "enp1s0f1np1 of port dgx-spark-1 p1 has an MTU of 1500"},
		"46": {"spark-mtu": "node3:enP2p1s0f1np1"}, "47": {"spark-mtu": "1500"}, "48": {"pcie-link": "0002:01:00.1"}, "49": {}, "51": {"spark-mtu": "1500", "spark-netplan": "not its twin enP2p1s0f0np0"},
		"53": {"spark-cabling": "swap the two plugs of 03"}, "55": {}, "61": {}, "62": {}, "63": {}, "64": {}, "65": {}, "66": {"spark-hca": "rocep1s0f1 and roceP2p1s0f1 of port"},
		"69": {}, "70": {}, "71": {}, "72": {}, "73": {}, "76": {}, "77": {"spark-hca": "not its twin roceP2p1s0f1"},
	} {
		t.Run(number, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(folder, number+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			have := sparkFailures(t, number+".txt", string(text))
			if fine := index[number].Verdict != "wrong"; fine != (len(want) == 0) {
				t.Errorf("the index says %s, and this test wants %v", index[number].Verdict, want)
			}
			for id, says := range want {
				if !strings.Contains(have[id], says) {
					t.Errorf("%s says %q, want %q", id, have[id], says)
				}
			}
			for id, said := range have {
				if _, wanted := want[id]; !wanted {
					t.Errorf("%s fails: %s", id, said)
				}
			}
		})
	}
}

// TestSparkTexts holds the readers and the rules against texts of our own, healthy and with one change.
func TestSparkTexts(t *testing.T) {
	files, err := filepath.Glob("testdata/spark/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no texts", err)
	}
	for _, tt := range []struct{ file, old, new, rule string }{
		{"pair.txt", "", "", ""},
		{"pair.txt", "mtu: 9000\n      addresses: [10.40.1.12/24]", "addresses: [10.40.1.12/24]", "spark-mtu"},
		{"pair.txt", "10.40.2.12/24", "10.40.1.13/24", "spark-subnets"},
		{"pair.txt", "NCCL_IB_HCA=rocep1s0f1,roceP2p1s0f1", "NCCL_IB_HCA=rocep1s0f1", "spark-hca"},
		{"pair.txt", "roceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Up)", "roceP2p1s0f1 port 1 ==> enP2p1s0f1np1 (Down)", "spark-twins"},
		{"pair.txt", "$ ibdev2netdev", "$ ethtool enp1s0f1np1 | grep Speed\n\tSpeed: 100000Mb/s\n$ ibdev2netdev", "spark-rate"},
		{"mesh.txt", "", "", ""},
		{"mesh.txt", "| spark3 | 10.40.5.2 | 10.40.3.2 | 10.40.6.2 | 10.40.4.2 |", "| spark3 | 10.40.3.2 | 10.40.5.2 | 10.40.4.2 | 10.40.6.2 |", "spark-cabling"},
		{"mesh.txt", "| 10.40.5.2 | 10.40.3.2 | 10.40.6.2 | 10.40.4.2 |", "| 10.40.6.2 | 10.40.3.2 | 10.40.5.2 | 10.40.4.2 |", "spark-links"},
	} {
		t.Run(tt.file+" "+tt.rule, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata/spark", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), tt.old) {
				t.Fatalf("no %q in it", tt.old)
			}
			var failed []string
			for id := range sparkFailures(t, tt.file, strings.Replace(string(text), tt.old, tt.new, 1)) {
				failed = append(failed, id)
			}
			var want []string
			if tt.rule != "" {
				want = []string{tt.rule}
			}
			if !slices.Equal(failed, want) {
				t.Errorf("%v fail, want %v", failed, want)
			}
		})
	}
}
