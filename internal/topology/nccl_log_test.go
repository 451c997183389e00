package topology

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"
)

func TestReadGraphLog(t *testing.T) {
	text, err := os.ReadFile("testdata/system/h200x2.log")
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := ReadGraphLog(bytes.NewReader(text))
	if err != nil || len(ranks) != 2 {
		t.Fatalf("%d ranks, %v", len(ranks), err)
	}
	r := ranks[0]
	if r.Rank != "vm:1337:1353 [1]" || r.MaxBW != 370.8 || r.TotalBW != 370.8 || len(r.System) != 9 || len(r.PathLines) != 3 || len(r.GraphLines) != 26 {
		t.Errorf("read %+v", r)
	}
	if want := (LoggedPath{"GPU/0-60", "GPU/0-70", 2, 370.8, PathNVL}); len(r.Paths) != 14 || r.Paths[1] != want {
		t.Errorf("paths %+v, want second %+v", r.Paths, want)
	}
	ring := Graph{ID: GraphRing, Pattern: PatternRing, Channels: 12, BWIntra: 30, BWInter: 30, TypeIntra: PathNVL, TypeInter: PathPIX, SameChannels: true}
	tree := Graph{ID: GraphTree, Pattern: PatternBalancedTree, Channels: 12, BWIntra: 60, BWInter: 60, TypeIntra: PathNVL, TypeInter: PathPIX}
	if !reflect.DeepEqual(r.Graphs, []Graph{ring, tree}) {
		t.Errorf("graphs %+v", r.Graphs)
	}
}

func TestReadGraphLogForms(t *testing.T) {
	before := "0: host:1:2 [3] NCCL INFO "
	log := strings.Join([]string{
		before + "=== System : maxWidth 24.0 totalWidth 24.0 ===", // before NCCL 2.13
		before + "CPU/0 (1/2/-1)",
		before + "+ PCI[24.0] - GPU/81000 (0)",
		"another:1:2 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 4, speed 1.200000/1.200000, type SYS/SYS, sameChannels 0",
		before + "Setting affinity for GPU 0 to ff", // not of the tree
		before + "==========================================",
		before + "GPU/81000 :GPU/81000 (0/5000.000000/LOC) CPU/1 (1/24.000000/PHB) NET/1 (3/24.0", // cut
		before + "Pattern 4, crossNic 0, nChannels 1, bw 24.000000/24.000000, type LOC/PHB, sameChannels 1",
		before + "Pattern 3, crossNic 0, nChannels 1, bw 48.000000/24.000000, type LOC/PHB, sameChannels 1",
		before + "Pattern 3, crossNic 0, nChannels 0, bw 0.000000/0.000000, type LOC/PIX, sameChannels 1",
		before + strings.Repeat("x", 2*maxLogLine),
		before + "Pattern 5, crossNic 0, nChannels 8, bw 40.000000/60.000000, type XGMI/PIX, sameChannels 0",
	}, "\n")
	ranks, err := ReadGraphLog(strings.NewReader(log))
	if err != nil || len(ranks) != 2 {
		t.Fatalf("%d ranks, %v", len(ranks), err)
	}
	r := ranks[0]
	if len(r.System) != 4 || len(r.Paths) != 2 || ranks[1].Graphs[0].BWIntra != 1.2 {
		t.Errorf("read %+v and %+v", r, ranks[1])
	}
	var ids []GraphID
	for _, g := range r.Graphs {
		ids = append(ids, g.ID)
	}
	if want := []GraphID{GraphRing, GraphTree, GraphCollNetChain, GraphNVLS}; !reflect.DeepEqual(ids, want) {
		t.Errorf("graphs %v, want %v", ids, want)
	}
}

func TestReadGraphLogErrors(t *testing.T) {
	line := "h:1:1 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 1, bw 1.0/1.0, type LOC/PIX, sameChannels 1\n"
	for text, want := range map[string]string{
		strings.Replace(line, "LOC", "FAR", 1):   `path type "FAR"`,
		strings.Replace(line, "1.0", "1.0.0", 1): `invalid syntax`,
		strings.Repeat(line, maxLogKept+1):       "more than 65536 lines",
	} {
		if _, err := ReadGraphLog(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q: %v, want %q", text, err, want)
		}
	}
	if ranks, err := ReadGraphLog(strings.NewReader("no NCCL here\n")); err != nil || len(ranks) != 0 {
		t.Errorf("%v, %v of another text", ranks, err)
	}
}

func FuzzReadGraphLog(f *testing.F) {
	text, err := os.ReadFile("testdata/system/h200x2.log")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("a NCCL INFO === System : maxBw 1.0 ===\nb NCCL INFO GPU/0 :NET/1 (1/2/PXN)\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		ranks, err := ReadGraphLog(bytes.NewReader(text))
		if err != nil {
			return
		}
		for _, r := range ranks {
			if r.Rank == "" && len(r.System)+len(r.PathLines)+len(r.GraphLines) == 0 {
				t.Errorf("a rank with nothing: %+v", r)
			}
		}
	})
}
