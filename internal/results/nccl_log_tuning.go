package results

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// tuningTable reads the table of NCCL's tuning model (src/graph/tuning.cc, NCCL_DEBUG_SUBSYS=TUNING), in both
// layouts: one line with all algorithms and protocols (up to NCCL 2.18), and blocks of three algorithms.
type tuningTable struct {
	columns []tuningColumn // of the current block
	cells   []fabric.TuningCell
	seen    map[fabric.TuningCell]bool // by collective, algorithm and protocol
}

type tuningColumn struct{ algorithm, protocol string }

// protocols in the order in which the table has them.
var protocols = []string{"LL", "LL128", "Simple"}

// algorithms by the number that old logs print (NCCL_ALGO_TREE is 0), in the spelling of the table.
var algorithms = []string{"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"}

// read reads the lines of the table. room is requested before a cell is kept.
func (t *tuningTable) read(text string, room func(int) bool) bool {
	if !strings.Contains(text, "|") {
		return false
	}
	cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(text), "|"), "|")
	if len(cells) < 2 || len(cells) > maxColumns {
		return false
	}
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	switch cells[0] {
	case "Algorithm":
		t.columns = nil
		for _, a := range cells[1:] {
			for _, p := range protocols {
				t.columns = append(t.columns, tuningColumn{algorithmName(keepUpTo(a, maxName)), p})
			}
		}
		return true
	case "Latency/AlgBw":
		t.columns = nil
		for _, c := range cells[1:] {
			a, p, _ := strings.Cut(c, "/")
			t.columns = append(t.columns, tuningColumn{algorithmName(keepUpTo(strings.TrimSpace(a), maxName)), protocolName(keepUpTo(strings.TrimSpace(p), maxName))})
		}
		return true
	case "Protocol", "Max NThreads":
		return true
	}
	return t.row(cells, room)
}

// row reads the cells latency/bandwidth of one collective.
func (t *tuningTable) row(cells []string, room func(int) bool) bool {
	c, err := fabric.ParseCollective(cells[0])
	if err != nil || len(t.columns) == 0 {
		return false
	}
	const most = 512 // cells: 7 algorithms, 3 protocols and 5 collectives are 105
	for i, text := range cells[1:] {
		latency, gbs, ok := strings.Cut(text, "/")
		l, err1 := measured(strings.TrimSpace(latency))
		b, err2 := measured(strings.TrimSpace(gbs))
		if !ok || err1 != nil || err2 != nil || i >= len(t.columns) {
			continue
		}
		key := fabric.TuningCell{Collective: c, Algorithm: t.columns[i].algorithm, Protocol: t.columns[i].protocol}
		if t.seen[key] || len(t.cells) >= most || !room(256) {
			continue
		}
		if t.seen == nil {
			t.seen = map[fabric.TuningCell]bool{}
		}
		t.seen[key] = true
		key.LatencyUS, key.GBs = l, b
		t.cells = append(t.cells, key)
	}
	return true
}

// tuningChoice: "AllReduce: 8 Bytes -> Algo RING proto LL channel{Lo..Hi}={0..7}", with numbers and a time
// in older versions where the line was enabled.
var tuningChoice = pattern.New(`^(\w+): (\d+) Bytes -> Algo (\w+) proto (\w+)(?:.*\{(\d+)\.\.(\d+)\})?`)

func (g *logRun) choice(text string) bool {
	if !strings.Contains(text, "Bytes -> Algo") {
		return false
	}
	if g.chosen[text] || len(g.chosen) >= maxLogChoices || len(text) > maxShown {
		return true
	}
	m := tuningChoice().FindStringSubmatch(text)
	if m == nil {
		return false
	}
	c, err := fabric.ParseCollective(m[1])
	bytes, bad := size(m[2])
	if err != nil || bad != nil || !g.room(2*len(text)) {
		return false
	}
	choice := fabric.TuningChoice{Collective: c, Size: bytes, Algorithm: strings.Clone(algorithmName(m[3])), Protocol: strings.Clone(protocolName(m[4]))}
	if m[6] != "" {
		choice.Channels = max(small(m[6])-small(m[5])+1, 0)
	}
	g.chosen[strings.Clone(text)] = true
	g.log.Chosen = append(g.log.Chosen, choice)
	return true
}

// algorithmName writes RING, COLLNET_DIRECT, NVLS_TREE and 1 as the tuning table does.
func algorithmName(text string) string {
	return named(text, algorithms)
}

func protocolName(text string) string {
	return named(text, protocols)
}

func named(text string, known []string) string {
	plain := strings.ToLower(strings.ReplaceAll(text, "_", ""))
	for i, k := range known {
		if plain == strings.ToLower(k) || isDigits(text) && small(text) == i {
			return k
		}
	}
	return text
}
