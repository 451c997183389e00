package collective

import (
	"fmt"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/ncclgraph"
)

// h200x2 is what NCCL 2.28.9 printed of its search on two H200 in one machine.
func h200x2() (shape, graphs) {
	ring := ncclgraph.Graph{ID: ncclgraph.GraphRing, Pattern: ncclgraph.PatternRing, Channels: 12, BWIntra: 30, BWInter: 30, TypeIntra: ncclgraph.PathNVL, TypeInter: ncclgraph.PathPIX, SameChannels: true}
	tree := ncclgraph.Graph{ID: ncclgraph.GraphTree, Pattern: ncclgraph.PatternBalancedTree, Channels: 12, BWIntra: 60, BWInter: 60, TypeIntra: ncclgraph.PathNVL, TypeInter: ncclgraph.PathPIX}
	chain := ncclgraph.Graph{TypeIntra: ncclgraph.PathNVL}
	return shape{tables: newNCCLTables(), nodes: 1, local: 2, sm: 90, x86: true, netOverhead: 1}, graphs{ring: ring, tree: tree, chain: chain, direct: chain}
}

func functionNamed(name string) (function, bool) {
	for f := range functions {
		if functionNames()[f] == name {
			return f, true
		}
	}
	return 0, false
}

// readTuning reads a tuning table as NCCL prints it: blocks of three algorithms, a line for each collective.
func readTuning(t *testing.T) map[function]cells {
	t.Helper()
	text, err := os.ReadFile("testdata/h200x2-tuning.txt")
	if err != nil {
		t.Fatal(err)
	}
	table := map[function]cells{}
	first := -3
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(line, "|")
		name := strings.TrimSpace(fields[0])
		if name == "Algorithm" {
			first += 3
		}
		f, ok := functionNamed(name)
		if !ok {
			continue
		}
		row := table[f]
		for i, field := range fields[1 : len(fields)-1] {
			latency, bandwidth, ok := strings.Cut(strings.TrimSpace(field), "/")
			if !ok {
				t.Fatalf("cell %q", field)
			}
			l, err1 := strconv.ParseFloat(strings.TrimSpace(latency), 64)
			b, err2 := strconv.ParseFloat(strings.TrimSpace(bandwidth), 64)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			row[first+i/3][i%3] = cell{l, b}
		}
		table[f] = row
	}
	return table
}

// TestTuningTable compares every cell with NCCL's own. What NCCL switches off, it prints with a bandwidth of 0.
func TestTuningTable(t *testing.T) {
	s, g := h200x2()
	want := readTuning(t)
	if len(want) != int(functions) {
		t.Fatalf("%d collectives in the table, want %d", len(want), functions)
	}
	const printed = 0.0501 // half of the last digit, and what float32 adds
	for f, row := range want {
		got := ncclCells(s, &g, f)
		for a := range algorithms {
			for p := range protocols {
				where := fmt.Sprintf("%s %s/%s", functionNames()[f], a, p)
				if math.Abs(got[a][p].latency-row[a][p].latency) > printed {
					t.Errorf("%s: latency %.2f, NCCL has %.1f", where, got[a][p].latency, row[a][p].latency)
				}
				if a == Tree || a == Ring {
					if math.Abs(got[a][p].bandwidth-row[a][p].bandwidth) > printed {
						t.Errorf("%s: bandwidth %.2f, NCCL has %.1f", where, got[a][p].bandwidth, row[a][p].bandwidth)
					}
				}
			}
		}
	}
}

// TestChoices compares the algorithm and protocol of every size with what NCCL took.
func TestChoices(t *testing.T) {
	text, err := os.ReadFile("testdata/h200x2-choices.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := ofTopology(t, "testdata/h200x2-topo.xml")
	lines := regexp.MustCompile(`AllReduce: (\d+) Bytes -> Algo (\w+) proto (\w+)`).FindAllStringSubmatch(string(text), -1)
	if len(lines) < 20 {
		t.Fatalf("%d choices", len(lines))
	}
	for _, line := range lines {
		size, err := strconv.ParseInt(line[1], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		p, err := c.Predict(Job{Collective: "all_reduce", Version: "2.28.9", Env: map[string]string{"NCCL_NVLS_ENABLE": "0"}}, []int64{size})
		if err != nil {
			t.Fatal(err)
		}
		if r := p.Rows[0]; !strings.EqualFold(r.Algorithm, line[2]) || !strings.EqualFold(r.Protocol, line[3]) {
			t.Errorf("%d bytes: %s/%s, NCCL takes %s/%s", size, r.Algorithm, r.Protocol, line[2], line[3])
		}
	}
}
