package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// observed is what was seen in one result, and of the others of the same call.
type observed struct {
	file string
	line int
	kind fabric.ResultKind

	hw        fabric.Hardware
	guest     bool    // a text speaks of a virtual machine
	points    []point // measured numbers; those of this result are own
	seen      []evidence.Evidence
	call      *call
	number    int         // of the result in its call
	platforms platformSet // of which the first of seen speak
	heard     int         // how many of seen these are
	rdma      bool        // something of the first of seen names RDMA devices
	searched  int         // how many of seen these are
	settings  []setting
	overruled []string // names of settings that were hardly in force, by what was measured
	shape     shape    // of a table
	logs      []*fabric.NCCLLog
	said      []quantity // bandwidths that sentences tell
	cutShort  bool       // the table has a banner and no footer: its run did not end by itself
	empty     bool       // a log without lines, which stands for outputs of tools
	onlyFacts bool       // nothing of a run is at hand, only what tools say of machines
	rowsSeen  int        // of the tables of this file
	ended     bool       // a table of the file has its footer
	whole     bool       // the file begins with the banner of a benchmark: it holds all that the run printed
	copies    int        // of the banner of a table, where each process printed its own
	job       Job        // of the measured collective
	workers   *workers   // that have part of a machine each; nil: whole machines, or unknown
	slowPairs bool       // some pairs of a matrix are far below the others

	missetBy string // what is set or cabled so that the cluster cannot be as fast as it is
	guessed  string // the name by which alone the machine was recognised, which others have as well

	limitedBy string // settings that keep a result far below what is possible

	rows          []fabric.RowVerdict
	notes         []fabric.Evidence
	assumed       []fabric.Assumption
	failed        []fabric.Evidence // what makes the verdict failed: wrong results, errors, a hang
	broken        []fabric.Evidence // lines by which a program names its failure
	copiedFailure bool              // a person copied such a line
	doubts        []fabric.Evidence // what forbids to call the result healthy, without deciding what it is
	unusable      string            // why no verdict can rest on the numbers; empty: it can
	needs         []string          // what would have to be known for a verdict
}

// setting is an environment variable or option, and where it was seen.
type setting struct {
	name, value, source string
	pasted              bool // a text beside the results sets it, and no program says that it took it
}

// quality is what a measured number is worth. The zero value was not judged.
type quality uint8

const (
	unjudged quality = iota
	good             // within the band
	bad              // below the band
	above            // above the bound: an artefact or a wrong description of the hardware
)

// scope says over what a test ran.
type scope uint8

const (
	scopeUnknown scope = iota
	scopeNode          // within one machine
	scopeNet           // across machines
)

// point is one measured number.
type point struct {
	own        bool
	source     string // for evidence
	test       string // nccl, perftest, tcp
	scope      scope
	collective fabric.Collective
	nodes      int
	size       int64
	large      bool   // the size is one at which bandwidth and not latency decides
	algorithm  string // as said; empty: NCCL's own choice
	memory     string // host, gpu
	busbw      float64
	gbps, us   float64   // of perftest and tcp; gbps one way
	average    bool      // over all sizes of a table
	mtu        int       // path MTU, bytes; 0: unknown
	together   bool      // all twins of a port, or of both, sent at once
	parts      []float64 // of each twin then, Gb/s
	changed    string    // what was different from the other points of this test
	pair       []string
	text       bool // known from a sentence, without a number
	fromText   bool // known from a sentence

	quality  quality
	ratio    float64 // to what was expected; 0: unknown
	share    float64 // of a NIC's line rate that went over one NIC; 0: unknown
	expected fabric.Expected
	bound    *fabric.Bound
}

// pointFilter reports whether a point passes a filter; a nil filter passes all.
type pointFilter func(point) bool

func (s *observed) filter(f pointFilter) []point {
	var out []point
	for _, p := range s.points {
		if f(p) {
			out = append(out, p)
		}
	}
	return out
}

func (s *observed) any(f pointFilter) bool { return slices.ContainsFunc(s.points, f) }

// worst is the point with the lowest ratio among those that are bad; nil where none is.
func (s *observed) worst(f pointFilter) *point {
	var found *point
	for i, p := range s.points {
		if p.quality == bad && f(p) && (found == nil || p.ratio > 0 && (found.ratio == 0 || p.ratio < found.ratio)) {
			found = &s.points[i]
		}
	}
	return found
}

func (p point) steady() bool { return p.changed == "" }

func acrossNodes(p point) bool { return p.test == "nccl" && p.scope == scopeNet }
func inOneNode(p point) bool   { return p.test == "nccl" && p.scope == scopeNode }
func onHost(p point) bool      { return p.test == "perftest" && p.memory != "gpu" && p.us == 0 }
func onGPU(p point) bool       { return p.test == "perftest" && p.memory == "gpu" && p.us == 0 }

func (s *observed) slowAcross() *point {
	return s.worst(func(p point) bool { return acrossNodes(p) && p.steady() && p.pair == nil })
}
func (s *observed) slowInside() *point {
	return s.worst(func(p point) bool { return inOneNode(p) && p.steady() })
}
func (s *observed) goodInside() bool {
	return s.any(func(p point) bool { return inOneNode(p) && p.quality == good })
}
func (s *observed) goodHost() bool {
	return s.any(func(p point) bool { return onHost(p) && p.quality == good })
}
func (s *observed) badHost() *point {
	return s.worst(onHost)
}
func (s *observed) goodGPU() bool {
	return s.any(func(p point) bool { return onGPU(p) && p.quality == good })
}
func (s *observed) badGPU() *point {
	return s.worst(onGPU)
}

func (p point) evidence() fabric.Evidence {
	value := p.source
	switch {
	case p.busbw > 0:
		value = fmt.Sprintf("%s: %s GB/s", p.source, number(p.busbw))
	case p.gbps > 0:
		value = fmt.Sprintf("%s: %s Gb/s", p.source, number(p.gbps))
	case p.us > 0:
		value = fmt.Sprintf("%s: %s us", p.source, number(p.us))
	}
	if p.ratio > 0 {
		value += fmt.Sprintf(", %.0f %% of what is expected", 100*p.ratio)
	}
	return fabric.Evidence{Source: "measured", Value: value}
}

// number prints four significant figures, without an exponent.
func number(v float64) string {
	if v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Sprint(v)
	}
	decimals := min(4, max(0, 3-int(math.Floor(math.Log10(v)))))
	text := fmt.Sprintf("%.*f", decimals, v)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

func valid(v float64) bool { return v > 0 && !math.IsInf(v, 0) && !math.IsNaN(v) }

// record reports whether the result is a file that says itself which machines it is of. Two of those are of two
// clusters, or of two days: neither speaks of the other.
func (s *observed) record() bool {
	return s.kind == fabric.TableFile || s.kind == fabric.ObservationFile
}

// virtual reports whether the machines are virtual.
func (s *observed) virtual() bool { return s.hw.VM || s.guest }

// filled takes from b what a does not say.
func filled(a, b fabric.Hardware) fabric.Hardware {
	text := func(to *string, from string) {
		if *to == "" {
			*to = from
		}
	}
	count := func(to *int, from int) {
		if *to == 0 {
			*to = from
		}
	}
	text(&a.Machine, b.Machine)
	text(&a.GPU, b.GPU)
	text(&a.Net, b.Net)
	text(&a.NIC, b.NIC)
	text(&a.CPU, b.CPU)
	count(&a.Nodes, b.Nodes)
	count(&a.GPUsPerNode, b.GPUsPerNode)
	count(&a.NICsPerNode, b.NICsPerNode)
	if a.NICGbps == 0 {
		a.NICGbps = b.NICGbps
	}
	if a.Oversubscription == 0 {
		a.Oversubscription = b.Oversubscription
	}
	a.VM = a.VM || b.VM
	if a.Spine == nil {
		a.Spine = b.Spine
	}
	if a.NVLink == nil {
		a.NVLink = b.NVLink
	}
	return a
}
