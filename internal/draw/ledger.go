package draw

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Ledger is the memory of one GPU under each of some plans, by what takes it.
type Ledger struct {
	Title string // over the picture; may be empty
	Bars  []LedgerBar
}

// LedgerBar is the memory of the heaviest rank of one plan. An entry below zero, which only slack may be, says
// how much is missing; other negative entries are not drawn.
type LedgerBar struct {
	Name    string // needed where there are several
	Memory  int64  // bytes of the GPU; 0: unknown
	Entries []fabric.LedgerEntry
}

// SizingLedger is the ledger of the first plans of a sizing, at most most, that have one.
func SizingLedger(s *fabric.Sizing, most int) Ledger {
	var l Ledger
	if s == nil {
		return l
	}
	for _, p := range s.Plans {
		if len(p.Ledger) > 0 && len(l.Bars) < most {
			l.Bars = append(l.Bars, LedgerBar{PlanName(p), s.GPU.MemoryBytes, p.Ledger})
		}
	}
	return l
}

// PlanName says a layout in a few words: 16 GPUs, tp 16 ep 2. What is 1 is left out, but for tp.
func PlanName(p fabric.SizingPlan) string {
	text := fabric.Count(p.GPUs, "GPU") + fmt.Sprintf(", tp %d", p.TP)
	for _, x := range []struct {
		name string
		n    int
	}{{"pp", p.PP}, {"ep", p.EP}, {"dp", p.DP}} {
		if x.n > 1 {
			text += fmt.Sprintf(" %s %d", x.name, x.n)
		}
	}
	return text
}

// GiB writes bytes in units of 2^30, which engines print as GB, with two digits after the point and no unit.
func GiB(bytes float64) string {
	if math.IsNaN(bytes) || math.IsInf(bytes, 0) {
		return "?"
	}
	text := fmt.Sprintf("%.2f", bytes/(1<<30))
	if text == "-0.00" {
		return "0.00"
	}
	return text
}

// The entry that is what no other takes, and those with a look of their own.
const (
	slackEntry   = "slack"
	weightsEntry = "weights"
	kvEntry      = "kv"
)

// LedgerName says an entry in words.
func LedgerName(e fabric.LedgerEntry) string {
	words := map[string]string{
		kvEntry: "KV cache", "request_pool": "request pool", "graphs": "CUDA or HIP graphs", slackEntry: "slack",
		"reserved": "driver or system", "context": "CUDA or HIP context", "communicators": "communicators", "allocator": "rounding of allocations",
		"state": "state of linear layers",
	}
	classes := map[string]string{
		"attention": "attention: q, o", "kv": "attention: k, v", "replicated": "whole on every rank", "dense": "dense FFN",
		"expert": "routed experts", "shared": "shared experts", "linear": "linear layers", "head": "output head",
		"vision": "vision tower", "mtp": "MTP",
	}
	name := words[e.Name]
	if name == "" {
		name = strings.ReplaceAll(e.Name, "_", " ")
	}
	if e.Class == "" {
		return name
	}
	class := classes[e.Class]
	if class == "" {
		class = strings.ReplaceAll(e.Class, "_", " ")
	}
	return name + ", " + class
}

// What is drawn of a ledger: parts that letters can tell apart, the last of them all that is left.
const ledgerParts = 20

// part is one kind of entry of all bars.
type part struct {
	name      string // in words
	formula   string // of the first bar
	certainty string
	look      partLook
	nth       int // of its look
}

type partLook uint8

const (
	lookWeights partLook = iota
	lookKV
	lookOther
	lookSlack
)

// letter names a part where it stands.
func letter(i int) string { return string(rune('a' + i)) }

// stack is a ledger made ready to be drawn.
type stack struct {
	title string
	parts []part
	bars  []stackBar
	more  int     // bars that are not drawn
	full  float64 // bytes at the end of the scale
}

type stackBar struct {
	name    string
	memory  float64   // bytes; 0: unknown
	bytes   []float64 // of each part; 0: none
	total   float64   // of what is drawn
	missing float64   // bytes that the GPU does not have
}

// newStack takes at most limit bars; one without an entry to draw is none.
func newStack(l Ledger, limit int) stack {
	s := stack{title: clean(l.Title, 120)}
	index := map[[2]string]int{}
	for _, b := range l.Bars {
		bar := stackBar{name: clean(b.Name, 80), memory: math.Max(float64(b.Memory), 0)}
		if len(s.bars) == limit {
			s.more++
			continue
		}
		for _, e := range b.Entries {
			if e.Name == slackEntry && e.Bytes < 0 {
				bar.missing -= float64(e.Bytes)
			}
			if e.Bytes <= 0 {
				continue
			}
			i := s.part(index, e)
			for len(bar.bytes) <= i {
				bar.bytes = append(bar.bytes, 0)
			}
			bar.bytes[i] += float64(e.Bytes)
			bar.total += float64(e.Bytes)
		}
		if bar.total == 0 {
			continue
		}
		if over := bar.total - bar.memory; bar.memory > 0 && over > 0 {
			bar.missing = over // what is drawn beyond the memory, also where slack does not say so
		}
		s.bars = append(s.bars, bar)
		s.full = max(s.full, bar.total, bar.memory)
	}
	for i := range s.bars {
		for len(s.bars[i].bytes) < len(s.parts) {
			s.bars[i].bytes = append(s.bars[i].bytes, 0)
		}
	}
	return s
}

// part returns the index of the kind of an entry, a new one where there is room.
func (s *stack) part(index map[[2]string]int, e fabric.LedgerEntry) int {
	key := [2]string{e.Name, e.Class}
	if i, ok := index[key]; ok {
		return i
	}
	p := part{name: clean(LedgerName(e), 60), formula: clean(e.Formula, 200), certainty: clean(e.Certainty, 20), look: lookOf(e)}
	switch n := len(s.parts); n {
	case ledgerParts:
		return n - 1
	case ledgerParts - 1:
		p = part{name: "all others", look: lookOther}
	}
	for _, other := range s.parts {
		if other.look == p.look {
			p.nth++
		}
	}
	index[key] = len(s.parts)
	s.parts = append(s.parts, p)
	return len(s.parts) - 1
}

// clean makes text from a file safe to print, and bounds its characters.
func clean(text string, most float64) string { return fit(fabric.Printable(text), most, 1) }

func lookOf(e fabric.LedgerEntry) partLook {
	switch e.Name {
	case weightsEntry:
		return lookWeights
	case kvEntry:
		return lookKV
	case slackEntry:
		return lookSlack
	default:
		return lookOther
	}
}

// share writes a part of the whole in per cent.
func share(v, whole float64) string {
	if !(whole > 0) || math.IsInf(v, 0) || math.IsNaN(v) {
		return "?"
	}
	return fmt.Sprintf("%.1f %%", 100*v/whole)
}

// whole is what shares are of: the memory of the GPU, or where it is unknown all that is drawn.
func (b stackBar) whole() float64 {
	if b.memory > 0 {
		return b.memory
	}
	return b.total
}
