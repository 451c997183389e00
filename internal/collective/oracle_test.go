package collective

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/ncclxml"
)

// decisions is what a version of NCCL decides on equal machines, as its own code prints it.
type decisions struct {
	Nodes    int                   `json:"nodes"`
	Channels int                   `json:"channels"`
	Searched int                   `json:"search_channels"`
	Graphs   []decidedGraph        `json:"graphs"`
	Tuning   map[string][2]float64 `json:"tuning"` // Collective/Algorithm/Protocol: latency in us, bandwidth in GB/s
	Choice   map[string][]decided  `json:"choice"` // by collective, rising sizes
}

type decidedGraph struct {
	Graph             string `json:"graph"`
	Pattern, Channels int
	BWIntra           float64 `json:"bw_intra"`
	BWInter           float64 `json:"bw_inter"`
	TypeIntra         int     `json:"type_intra"`
	TypeInter         int     `json:"type_inter"`
	CrossNIC          int     `json:"cross_nic"`
	Same              int     `json:"same_channels"`
	Intra             [][]int `json:"intra"`
	Inter             [][2]int
}

// decided is the choice from a size on.
type decided struct {
	from                int64
	algorithm, protocol string
}

func (d *decided) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&d.from, &d.algorithm, &d.protocol})
}

// at is the choice at a size.
func at(all []decided, size int64) decided {
	i, found := slices.BinarySearchFunc(all, size, func(d decided, size int64) int { return cmp.Compare(d.from, size) })
	if !found {
		i--
	}
	return all[i]
}

// oracle is a machine, and the decisions by version and number of nodes.
type oracle struct {
	name     string
	document *ncclxml.Document
	versions map[string]map[string]decisions
}

// oracles reads the machines of a folder: NAME.xml with NAME.json. None there: the test is skipped.
func oracles(t testing.TB, folder string) (all []oracle) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		o := oracle{name: strings.TrimSuffix(filepath.Base(name), ".json")}
		text, err := os.ReadFile(name)
		if err == nil {
			err = json.Unmarshal(text, &o.versions)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		if text, err = os.ReadFile(strings.TrimSuffix(name, ".json") + ".xml"); err == nil {
			o.document, err = ncclxml.Parse(text)
		}
		if err != nil {
			t.Fatal(name, err)
		}
		all = append(all, o)
	}
	return all
}

// leastChoices is the share of sizes at which the choice has to be NCCL's own.
const leastChoices = 0.98

// agreement counts what agrees.
type agreement struct{ same, all int }

func (a *agreement) add(same bool) {
	if a.all++; same {
		a.same++
	}
}

func (a agreement) String() string {
	if a.all == 0 {
		return "-"
	}
	return fmt.Sprintf("%d/%d", a.same, a.all)
}

func (a agreement) share() float64 { return float64(a.same) / float64(max(a.all, 1)) }

// compared is how far a model agrees with NCCL on one machine, or on several.
type compared struct {
	graphs, tuning agreement
	choice         map[fabric.Collective]*agreement
	first          []string // the first differences
}

func newCompared() *compared { return &compared{choice: map[fabric.Collective]*agreement{}} }

func (c *compared) differ(format string, args ...any) {
	if len(c.first) < 6 {
		c.first = append(c.first, fmt.Sprintf(format, args...))
	}
}

func (c *compared) merge(o *compared) {
	c.graphs.same, c.graphs.all = c.graphs.same+o.graphs.same, c.graphs.all+o.graphs.all
	c.tuning.same, c.tuning.all = c.tuning.same+o.tuning.same, c.tuning.all+o.tuning.all
	for f, a := range o.choice {
		if c.choice[f] == nil {
			c.choice[f] = &agreement{}
		}
		c.choice[f].same, c.choice[f].all = c.choice[f].same+a.same, c.choice[f].all+a.all
	}
}

// tabled are the collectives of NCCL's tables.
func tabled() []fabric.Collective {
	return []fabric.Collective{fabric.Broadcast, fabric.Reduce, fabric.AllGather, fabric.ReduceScatter, fabric.AllReduce}
}

// compare predicts for a machine what NCCL decided there.
func compare(t testing.TB, cat *catalog.Catalog, o oracle, version string, want decisions) *compared {
	t.Helper()
	got := newCompared()
	v, err := fabric.ParseNCCLVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ncclgraph.NewSystem(o.document, ncclgraph.Options{Nodes: want.Nodes, Version: v})
	if err != nil {
		t.Fatal(o.name, err)
	}
	compareGraphs(got, s, want)
	c, err := FromSystem(cat, s, fabric.Hardware{Nodes: want.Nodes, Net: netOf(want.Nodes)})
	if err != nil {
		t.Fatal(o.name, err)
	}
	if c.Ranks() == 1 {
		return got // nothing to choose
	}
	if c, err = c.as(v); err != nil {
		t.Fatal(o.name, err)
	}
	compareTuning(got, c, want)
	compareChoices(t, got, c, version, want)
	return got
}

func netOf(nodes int) string {
	if nodes == 1 {
		return ""
	}
	return "ib"
}

func compareGraphs(got *compared, s *ncclgraph.System, want decisions) {
	all := s.Graphs()
	ids := map[string]ncclgraph.GraphID{"ring": ncclgraph.GraphRing, "tree": ncclgraph.GraphTree, "nvls": ncclgraph.GraphNVLS}
	for _, w := range want.Graphs {
		g := all[slices.IndexFunc(all, func(g ncclgraph.Graph) bool { return g.ID == ids[w.Graph] })]
		same := 0
		if g.SameChannels {
			same = 1
		}
		head := fmt.Sprint(w.Pattern, w.Channels, w.BWIntra, w.BWInter, w.TypeIntra, w.TypeInter, w.CrossNIC, w.Same)
		mine := fmt.Sprint(int(g.Pattern), g.Channels, g.BWIntra, g.BWInter, int(g.TypeIntra), int(g.TypeInter), g.CrossNIC, same)
		equal := head == mine
		if !equal {
			got.differ("%s: %s, NCCL has %s", w.Graph, mine, head)
		}
		for i := range w.Intra {
			if i < len(g.Order) && !slices.Equal(g.Order[i].GPUs, w.Intra[i]) {
				got.differ("%s %d: %v, NCCL has %v", w.Graph, i, g.Order[i].GPUs, w.Intra[i])
				equal = false
			}
		}
		for i := range w.Inter {
			if i < len(g.Order) && s.Inter && (g.Order[i].In != w.Inter[i][0] || g.Order[i].Out != w.Inter[i][1]) {
				got.differ("%s %d: NICs %d %d, NCCL has %v", w.Graph, i, g.Order[i].In, g.Order[i].Out, w.Inter[i])
				equal = false
			}
		}
		got.graphs.add(equal)
	}
	if n := s.CollChannels(all); n != want.Channels {
		got.differ("%d channels, NCCL has %d", n, want.Channels)
		got.graphs.add(false)
	} else {
		got.graphs.add(true)
	}
}

func compareTuning(got *compared, c *Cluster, want decisions) {
	for f := range functions {
		e, err := readSettings(Job{}, f)
		if err != nil {
			panic(err)
		}
		row := ncclCells(c.shapeOf(c.decides), &c.graphs, f)
		for a := range algorithms {
			for p := range protocols {
				name := functionNames()[f] + "/" + a.String() + "/" + p.String()
				if want.Choice[functionNames()[f]] == nil {
					continue
				}
				w, has := want.Tuning[name]
				mine := row[a][p]
				registered := a == NVLS && f != fnAllReduce && c.nodes() == 1 && c.graphs.nvls.Channels > 1 // with such buffers
				runs := mine.bandwidth > 0 && (c.refuses(f, a, p, e) == "" || registered)
				if !has && !runs {
					continue
				}
				near := has && runs && math.Abs(mine.latency-w[0]) <= 0.01*w[0] && math.Abs(mine.bandwidth-w[1]) <= 0.01*w[1]
				if !near {
					got.differ("%s: %v %v, NCCL has %v", name, runs, mine, w)
				}
				got.tuning.add(near)
			}
		}
	}
}

// compareChoices compares the collectives that the decisions have.
func compareChoices(t testing.TB, got *compared, c *Cluster, version string, want decisions) {
	for _, f := range tabled() {
		if fn, _ := functionOf(f); want.Choice[functionNames()[fn]] != nil {
			got.choice[f] = &agreement{}
			compareChoice(t, got, c, f, version, want)
		}
	}
}

func compareChoice(t testing.TB, got *compared, c *Cluster, f fabric.Collective, version string, want decisions) {
	fn, _ := functionOf(f)
	sizes := []int64{}
	for size := int64(8); size <= 16<<30; size *= 2 {
		sizes = append(sizes, size)
	}
	p, err := c.Predict(Job{Collective: f, Version: version}, sizes)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range p.Rows {
		w := at(want.Choice[functionNames()[fn]], r.Size)
		same := r.Algorithm == w.algorithm && r.Protocol == w.protocol
		if !same {
			got.differ("%s %d B: %s/%s, NCCL takes %s/%s", f, r.Size, r.Algorithm, r.Protocol, w.algorithm, w.protocol)
		}
		got.choice[f].add(same)
	}
}

// TestDecisionsOnMachinesOfTheCatalog is the same for two machines of the catalog, whose figures are here: what the code of NCCL printed
// for them, run without a GPU.
func TestDecisionsOnMachinesOfTheCatalog(t *testing.T) {
	text, err := os.ReadFile("testdata/decisions.json")
	if err != nil {
		t.Fatal(err)
	}
	var machines map[string]map[string]map[string]decisions
	if err := json.Unmarshal(text, &machines); err != nil {
		t.Fatal(err)
	}
	cases := 0
	for machine, versions := range machines {
		for version, all := range versions {
			v, err := fabric.ParseNCCLVersion(version)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range all {
				cases++
				newest := newCluster(t, fabric.Hardware{Machine: machine, Nodes: want.Nodes})
				c, err := newest.as(v)
				if err != nil {
					t.Fatal(err)
				}
				s, err := newest.system.As(v)
				if err != nil {
					t.Fatal(err)
				}
				got := newCompared()
				compareGraphs(got, s, want)
				compareTuning(got, c, want)
				compareChoices(t, got, c, version, want)
				if len(got.first) > 0 {
					t.Errorf("%s, NCCL %s, %d nodes: %s", machine, version, want.Nodes, strings.Join(got.first, "; "))
				}
			}
		}
	}
	if cases < 24 {
		t.Errorf("%d cases", cases)
	}
}

// TestDecisionsOfNCCL compares graphs, tuning table and choices with what versions of NCCL decide themselves, for files that are not
// part of this repository.
func TestDecisionsOfNCCL(t *testing.T) {
	all := oracles(t, cmp.Or(os.Getenv("NCCL_ORACLE"), "../../../shared/data/nccl-oracle"))
	if len(all) == 0 {
		t.Skip("the decisions of NCCL's own code are not here")
	}
	cat, byVersion := loaded(t), map[string]*compared{}
	t.Logf("%-18s %-7s %9s %9s  %s", "machine", "NCCL", "graphs", "tuning", "choice: broadcast reduce all_gather reduce_scatter all_reduce")
	for _, o := range all {
		for _, version := range slices.Sorted(maps.Keys(o.versions)) {
			total := newCompared()
			for _, nodes := range slices.SortedFunc(maps.Keys(o.versions[version]), byNumber) {
				one := compare(t, cat, o, version, o.versions[version][nodes])
				total.merge(one)
				for _, line := range one.first {
					if testing.Verbose() {
						t.Logf("%s %s %s nodes: %s", o.name, version, nodes, line)
					}
				}
			}
			t.Log(total.row(o.name, version))
			if byVersion[version] == nil {
				byVersion[version] = newCompared()
			}
			byVersion[version].merge(total)
		}
	}
	for _, version := range slices.Sorted(maps.Keys(byVersion)) {
		got := byVersion[version]
		t.Log(got.row("all", version))
		if got.graphs.share() < 1 || got.tuning.share() < 1 {
			t.Errorf("NCCL %s: graphs %s, tuning table %s: want all", version, got.graphs, got.tuning)
		}
		for _, f := range tabled() {
			if a := got.choice[f]; a.share() < leastChoices {
				t.Errorf("NCCL %s: %s of the choices for %s agree, want %g", version, a, f, leastChoices)
			}
		}
	}
}

func byNumber(a, b string) int {
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	return cmp.Compare(x, y)
}

func (c *compared) row(name, version string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-18s %-7s %9s %9s ", name, version, c.graphs, c.tuning)
	for _, f := range tabled() {
		if a := c.choice[f]; a != nil {
			fmt.Fprintf(&b, " %5.1f%%", 100*a.share())
		}
	}
	return b.String()
}
