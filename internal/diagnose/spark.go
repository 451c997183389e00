package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/topology"
)

// What a DGX Spark carries. A port of 200 Gb/s is two PCIe functions, twins, each on four lanes of PCIe 5; both ports share the
// same two links.
const (
	// sparkPort is the line rate of a port, Gb/s.
	sparkPort = 200
	// largestPath and smallPath are the path MTUs of interfaces with an MTU of 9000 and of 1500, bytes.
	largestPath, smallPath = 4096, 1024
	// sparkTCP is the most that TCP of a degraded adapter was seen to carry, Gb/s; so much do RDMA and NCCL carry then too.
	sparkTCP = degradedTo
)

// sparkRates is what twins carry at once, one way: the first, both of its port, or all four.
func sparkRates(twins, mtu int) topology.RDMARates {
	const gen5, lanes = 32, 4
	load := topology.RDMALoad{PortGbps: sparkPort, PathMTU: mtu}
	for _, bus := range []string{"0000:01:00.0", "0002:01:00.0", "0000:01:00.1", "0002:01:00.1"}[:twins] {
		if f, ok := topology.SparkFunction(bus, gen5, lanes); ok {
			load.Functions = append(load.Functions, f)
		}
	}
	rates, _ := topology.RDMAWrite(load) // all of it is known
	return rates
}

// twinRate is what no twin exceeds, Gb/s: its PCIe link. Its port is wider.
func twinRate() float64 { return sparkRates(1, largestPath).Total.Bound }

// twinLow is the least of a healthy twin alone, Gb/s, with the path MTU that it should have.
func twinLow() float64 { return sparkRates(1, largestPath).Each[0].Low }

// portRate is what a port carries one way while both twins send, Gb/s, with the headers of RoCE v2 at a path MTU; 0: of 4096.
func portRate(mtu int) float64 {
	if mtu < 256 {
		mtu = largestPath
	}
	return sparkRates(2, mtu).Total.Expected
}

// portLow is the least that both twins of a healthy port carry together, Gb/s.
func portLow(mtu int) float64 {
	if mtu < 256 {
		mtu = smallPath
	}
	return sparkRates(2, mtu).Total.Low
}

// sparkTwin is one of the functions of a port, by the name that udev gives its RDMA device or interface.
var sparkTwin = pattern.New(`^(?:roce|en)(p|P2p)1s0f([01])(?:np[01])?$`)

// twinOf returns the port of a device, 0 or 1, and which of its twins it is, 0 or 1. ok is false for another name.
func twinOf(name string) (port, twin int, ok bool) {
	name, _, _ = strings.Cut(name, ":")
	if m := sparkTwin().FindStringSubmatch(name); m != nil {
		port = int(m[2][0] - '0')
		if m[1] == "P2p" {
			twin = 1
		}
		return port, twin, true
	}
	// Without names of udev, as in containers: in the order of PCI addresses, 0000:01:00.0, .1, 0002:01:00.0, .1.
	if i := strings.TrimPrefix(name, "mlx5_"); len(i) == 1 && i != name && i[0] >= '0' && i[0] <= '3' {
		return int(i[0]-'0') % 2, int(i[0]-'0') / 2, true
	}
	return 0, 0, false
}

// withNotes gives each result the notes of its file. Notes beside other results are dropped from the list: they say of which
// machine these are, and their numbers belong to the first of them.
func withNotes(results []fabric.Result) (kept []fabric.Result, noted []*fabric.Notes) {
	byFile := map[string]*fabric.Notes{}
	beside := map[string]bool{}
	for _, r := range results {
		if n, ok := r.Content.(*fabric.Notes); ok {
			byFile[r.File] = n
		} else {
			beside[r.File] = true
		}
	}
	for _, r := range results {
		_, own := r.Content.(*fabric.Notes)
		if own && beside[r.File] {
			continue
		}
		kept, noted = append(kept, r), append(noted, byFile[r.File])
	}
	return kept, noted
}

// recognise takes a DGX Spark from the notes of a file where nothing else says which machines it is of.
func recognise(hw fabric.Hardware, n *fabric.Notes) fabric.Hardware {
	if n != nil && n.Basis != "" && hw.Machine == "" && hw.GPU == "" {
		hw.GPU = "gb10"
	}
	return hw
}

// recognised says by what the machine was recognised.
func (o *observer) recognised(n *fabric.Notes) {
	if n == nil || !spark(o.s.hw) || o.in.Hardware.Machine != "" {
		return
	}
	switch n.Basis {
	case fabric.NotedDevices:
		o.assume("the machines are DGX Spark (GB10): "+n.Machine+" is on them", "the text")
	case fabric.NotedNames:
		o.s.guessed = n.Machine
		o.assume("the machines are DGX Spark (GB10): the name "+n.Machine+" is on them, which other machines have as well", "the text")
	}
}

// onePort takes the two twins of one port as the network of a DGX Spark of which nothing else is said: a second cable to the
// same machine shares their PCIe links.
func (o *observer) onePort() {
	hw := &o.s.hw
	if !spark(*hw) || hw.Machine != "" || hw.NICsPerNode > 0 || hw.NICGbps > 0 || hw.Nodes == 1 || hw.Wiring == fabric.WiredRing || hw.Wiring == fabric.WiredChain {
		return // in a ring both ports are used, which the model knows
	}
	hw.NICsPerNode, hw.NICGbps = 2, sparkPort/2
	if hw.Net == "" || hw.Net == "none" {
		hw.Net = "roce"
	}
	o.assume("one cable between two of the machines: both twins of its port carry it, 200 Gb/s together", "DGX Spark")
}

// notes observes what people wrote down of DGX Sparks.
func (o *observer) notes(n *fabric.Notes) {
	o.onePort()
	o.noteFacts(n)
	o.noteNumbers(n)
}

// factsOf are the facts of one kind.
func factsOf(n *fabric.Notes, what ...string) []fabric.NotedFact {
	if n == nil {
		return nil
	}
	var out []fabric.NotedFact
	for _, f := range n.Facts {
		if slices.Contains(what, f.What) {
			out = append(out, f)
		}
	}
	return out
}

// misset keeps the first thing that is set or cabled so that the cluster cannot be as fast as it is.
func (o *observer) misset(why string) {
	if o.s.missetBy == "" {
		o.s.missetBy = why
	}
}

func noteSource(line int) string { return fmt.Sprintf("text, line %d", line) }

// openOnSpark is why a slow result of a DGX Spark is no verdict: only a name speaks for the machine, or machines in a ring carry
// that much. Empty: it is one.
func (s *observed) openOnSpark(why string) string {
	worst := s.worst(func(p point) bool { return p.own })
	switch {
	case s.guessed != "" && s.kind == fabric.PerftestOutput:
		s.needs = append(s.needs, "the machine: --machine dgx-spark")
		return fmt.Sprintf("only the name %s speaks for a DGX Spark, of which this would be too slow: %s", s.guessed, why)
	case spark(s.hw) && worst != nil && worst.test == "nccl" && worst.nodes >= 4 && worst.ratio >= ringShareLow && s.missetBy == "" && s.hw.Wiring == "":
		s.needs = append(s.needs, "how the machines are cabled: --wiring switch or --wiring ring")
		return fmt.Sprintf("%s: %d machines in a ring without a switch carry about this much, through a switch it is too slow", why, worst.nodes)
	}
	return ""
}

// ringShareLow is the least share of what machines carry through a switch that they carry in a ring of four, each hop over a
// cable of its own: 13.7 of 21.3 GB/s were measured.
const ringShareLow = 0.55
