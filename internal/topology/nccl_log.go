package topology

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// What a debug log may hold of graphs before it is no longer one.
const (
	maxLogLine  = 64 << 10 // bytes; NCCL itself cuts at 1024
	maxLogRanks = 4096
	maxLogKept  = 64 << 10 // lines, of all ranks
)

// LoggedGraphs is what one rank printed of its system, paths and graphs with NCCL_DEBUG=INFO and
// NCCL_DEBUG_SUBSYS=GRAPH. The lines are as printed, without what the log has before each.
type LoggedGraphs struct {
	Rank       string // as the log names it: vm:1337:1352 [0]
	System     []string
	PathLines  []string
	GraphLines []string

	MaxBW, TotalBW float64
	Paths          []LoggedPath
	Graphs         []Graph // without the order of channels, which GraphLines has
}

// LoggedPath is one path that a rank printed.
type LoggedPath struct {
	From, To string // GPU/0-60, or GPU/60 before NCCL 2.23
	Hops     int
	GBs      float64
	Type     PathType
}

var (
	patternLine = regexp.MustCompile(`^Pattern (\d+), crossNic (\d+), nChannels (\d+), (?:bw|speed) ([\d.]+)/([\d.]+), type (\w+)/(\w+), sameChannels (\d+)`)
	channelLine = regexp.MustCompile(`^ ?\d+ : (?:NET|GPU)/`)
	pathsLine   = regexp.MustCompile(`^((?:GPU|NET|GIN)/[0-9A-Fa-f-]+) :(.*)$`)
	onePath     = regexp.MustCompile(`(\w+/[0-9A-Fa-f-]+) \((\d+)/([\d.]+)/(\w+)\)`)
	systemLine  = regexp.MustCompile(`^=== System : max(?:Bw|Width|Speed) ([\d.]+)(?: total(?:Bw|Width) ([\d.]+))? ===`)
	treeLine    = regexp.MustCompile(`^ *(?:\+ \w+\[[\d.]+\] - |CPU/)`)
	ruleLine    = regexp.MustCompile(`^=+$`)
)

// ReadGraphLog reads the graph lines of a debug log, by rank in the order of their first line. Lines of other kinds
// are passed over; a log without any graph line gives none. Lines of several ranks may be mixed. An error is one of
// reading, or says which bound the log passes.
func ReadGraphLog(r io.Reader) ([]LoggedGraphs, error) {
	l := logReader{at: map[string]int{}}
	lines := bufio.NewReaderSize(r, maxLogLine)
	for {
		line, err := lines.ReadSlice('\n')
		if err == nil || errors.Is(err, io.EOF) {
			if err := l.line(strings.TrimRight(string(line), "\r\n")); err != nil {
				return nil, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return l.ranks, nil
		case errors.Is(err, bufio.ErrBufferFull): // too long for NCCL: read over it
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = lines.ReadSlice('\n')
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, fmt.Errorf("debug log: %w", err)
			}
		case err != nil:
			return nil, fmt.Errorf("debug log: %w", err)
		}
	}
}

type logReader struct {
	ranks []LoggedGraphs
	at    map[string]int // index by rank
	tree  map[int]bool   // ranks between the header and the rule of their system
	kept  int
}

func (l *logReader) line(line string) error {
	before, text, ok := strings.Cut(line, " NCCL INFO ")
	if !ok {
		return nil
	}
	before = strings.TrimSpace(before)
	keep := func() (*LoggedGraphs, error) { return l.keep(before) }
	switch {
	case systemLine.MatchString(text):
		return l.header(keep, text)
	case l.tree[l.index(before)]:
		return l.treeLine(keep, before, text)
	case pathsLine.MatchString(text):
		rank, err := keep()
		if err == nil {
			rank.PathLines = append(rank.PathLines, text)
			rank.Paths = append(rank.Paths, parsePaths(text)...)
		}
		return err
	case patternLine.MatchString(text), channelLine.MatchString(text):
		rank, err := keep()
		if err != nil {
			return err
		}
		rank.GraphLines = append(rank.GraphLines, text)
		return rank.addGraph(text)
	}
	return nil
}

// index is where a rank is kept; -1 where it is not yet.
func (l *logReader) index(rank string) int {
	if i, ok := l.at[rank]; ok {
		return i
	}
	return -1
}

func (l *logReader) keep(rank string) (*LoggedGraphs, error) {
	if l.kept++; l.kept > maxLogKept {
		return nil, fmt.Errorf("debug log: more than %d lines of graphs", maxLogKept)
	}
	i := l.index(rank)
	if i < 0 {
		if len(l.ranks) == maxLogRanks {
			return nil, fmt.Errorf("debug log: graphs of more than %d ranks", maxLogRanks)
		}
		i = len(l.ranks)
		l.at[rank] = i
		l.ranks = append(l.ranks, LoggedGraphs{Rank: strings.Clone(rank)})
	}
	return &l.ranks[i], nil
}

// header begins a rank's system. A second communicator of the same rank begins it anew: the last one is kept.
func (l *logReader) header(keep func() (*LoggedGraphs, error), text string) error {
	rank, err := keep()
	if err != nil {
		return err
	}
	*rank = LoggedGraphs{Rank: rank.Rank, System: []string{text}}
	m := systemLine.FindStringSubmatch(text)
	rank.MaxBW, _ = strconv.ParseFloat(m[1], 64) // 0 where it is no number
	rank.TotalBW, _ = strconv.ParseFloat(m[2], 64)
	if l.tree == nil {
		l.tree = map[int]bool{}
	}
	l.tree[l.at[rank.Rank]] = true
	return nil
}

func (l *logReader) treeLine(keep func() (*LoggedGraphs, error), before, text string) error {
	if !treeLine.MatchString(text) && !ruleLine.MatchString(text) {
		return nil
	}
	rank, err := keep()
	if err != nil {
		return err
	}
	rank.System = append(rank.System, text)
	if ruleLine.MatchString(text) {
		l.tree[l.at[before]] = false
	}
	return nil
}

// parsePaths reads a line of paths; of one that NCCL cut, those that are whole.
func parsePaths(line string) []LoggedPath {
	m := pathsLine.FindStringSubmatch(line)
	var paths []LoggedPath
	for _, p := range onePath.FindAllStringSubmatch(m[2], -1) {
		hops, err1 := strconv.Atoi(p[2])
		gbs, err2 := strconv.ParseFloat(p[3], 64)
		t, err3 := ParsePathType(p[4])
		if err1 == nil && err2 == nil && err3 == nil {
			paths = append(paths, LoggedPath{From: m[1], To: p[1], Hops: hops, GBs: gbs, Type: t})
		}
	}
	return paths
}

// addGraph reads a pattern line. Which graph it is follows from the pattern and from those before: a second tree of
// pattern 3 is CollNet's chain.
func (g *LoggedGraphs) addGraph(text string) error {
	m := patternLine.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	var graph Graph
	for i, to := range []*int{(*int)(&graph.Pattern), &graph.CrossNIC, &graph.Channels} {
		*to = clampInt(cInteger(m[i+1], 10))
	}
	for i, to := range []*float64{&graph.BWIntra, &graph.BWInter} {
		value, err := strconv.ParseFloat(m[i+4], 64)
		if err != nil {
			return fmt.Errorf("debug log: %q: %w", clip(text), err)
		}
		*to = value
	}
	var err1, err2 error
	graph.TypeIntra, err1 = ParsePathType(m[6])
	graph.TypeInter, err2 = ParsePathType(m[7])
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("debug log: %q: %w", clip(text), err)
	}
	graph.SameChannels = m[8] != "0"
	graph.ID = g.idOf(graph.Pattern)
	g.Graphs = append(g.Graphs, graph)
	return nil
}

func (g *LoggedGraphs) idOf(p Pattern) GraphID {
	switch p {
	case PatternRing:
		return GraphRing
	case PatternNVLS:
		return GraphNVLS
	case PatternCollNetDirect:
		return GraphCollNetDirect
	}
	for _, earlier := range g.Graphs {
		if earlier.ID == GraphTree {
			return GraphCollNetChain
		}
	}
	return GraphTree
}
