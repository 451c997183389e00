package serving

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/sizing"
)

// part is one class of weights of a layer, as one rank holds it.
type part struct {
	bytes  float64
	params float64
	format string // of most of its bytes
}

// block is a layer, and how many there are like it.
type block struct {
	layer llm.Layer
	parts blockParts
	count int
}

// blockParts is comparable, so that equal layers are counted instead of computed again.
type blockParts struct {
	attention, kv, linear, replicated, dense, shared, expert part
}

func (p *blockParts) of(c llm.Class) *part {
	switch c {
	case llm.ClassAttention:
		return &p.attention
	case llm.ClassKV:
		return &p.kv
	case llm.ClassLinear:
		return &p.linear
	case llm.ClassReplicated:
		return &p.replicated
	case llm.ClassDense:
		return &p.dense
	case llm.ClassShared:
		return &p.shared
	case llm.ClassExpert:
		return &p.expert
	}
	return nil // embedding, head, vision and multi-token prediction are of no layer
}

// blocksOf divides a model's layers by kind, with the weights that one rank holds of each.
func blocksOf(p sizing.Placement) []block {
	parts := make([]blockParts, len(p.Model.Layers))
	most := make([][7]float64, len(p.Model.Layers))
	for _, t := range p.Model.Tensors {
		if t.Layer < 0 || t.Layer >= len(parts) {
			continue
		}
		held := parts[t.Layer].of(t.Class)
		if held == nil {
			continue
		}
		share := p.Share(t)
		bytes := float64(p.Model.Bytes(t)) * share
		held.bytes += bytes
		held.params += float64(t.Parameters()) * share
		if i := slices.Index(layerClasses(), t.Class); bytes > most[t.Layer][i] {
			most[t.Layer][i], held.format = bytes, t.Format.Name
		}
	}
	type kind struct {
		layer llm.Layer
		parts blockParts
	}
	at := map[kind]int{}
	var blocks []block
	for i, l := range p.Model.Layers {
		k := kind{l, parts[i]}
		n, seen := at[k]
		if !seen {
			n = len(blocks)
			at[k] = n
			blocks = append(blocks, block{layer: l, parts: parts[i]})
		}
		blocks[n].count++
	}
	return blocks
}

// layerClasses are the classes of weights that layers have.
func layerClasses() []llm.Class {
	return []llm.Class{llm.ClassAttention, llm.ClassKV, llm.ClassLinear, llm.ClassReplicated, llm.ClassDense, llm.ClassShared, llm.ClassExpert}
}

// headBytes is what one rank reads of the output projection: a tied one is the embedding.
func headBytes(p sizing.Placement) (bytes, params float64) {
	for _, t := range p.Model.Tensors {
		if t.Class == llm.ClassHead || (t.Class == llm.ClassEmbedding && p.Model.TiedHead && t.Rows == p.Model.Vocabulary) {
			share := p.Share(t)
			bytes += float64(p.Model.Bytes(t)) * share
			params += float64(t.Parameters()) * share
		}
	}
	return bytes, params
}

// peaks is what a GPU achieves: bytes and operations per second.
type peaks struct {
	stream         float64
	bf16, fp8, fp4 float64 // large products
	attention      float64
	ofGrouped      float64 // of a large product
	hasFP8, hasFP4 bool
	halved         bool // no source gives bf16: half of fp8
}

func peaksOf(m sizing.Machine) (peaks, error) {
	g := m.GPU
	if !(g.BandwidthGBs > 0) {
		return peaks{}, fmt.Errorf("gpu %q: memory bandwidth is unknown: the time per token cannot be computed", g.Name)
	}
	of := computeShareNVIDIA
	if m.Vendor == "amd" {
		of = computeShareAMD
	}
	bf16 := g.TFLOPS
	p := peaks{stream: streamShare * g.BandwidthGBs * 1e9, ofGrouped: groupedShare}
	if !(bf16 > 0) && g.TFLOPSFP8 > 0 {
		bf16, p.halved = g.TFLOPSFP8/2, true // a matrix unit does twice the products at half the width
	}
	if !(bf16 > 0) {
		return peaks{}, fmt.Errorf("gpu %q: the peak rate of matrix products is unknown: the time of prompts cannot be computed", g.Name)
	}
	p.hasFP8, p.hasFP4 = g.TFLOPSFP8 > 0, g.TFLOPSFP4 > 0
	p.bf16, p.attention = of*bf16*1e12, attentionShare*bf16*1e12
	p.fp8, p.fp4 = of*g.TFLOPSFP8*1e12, of*g.TFLOPSFP4*1e12
	return p, nil
}

// compute is the rate at which weights of a format are multiplied. Formats whose activations stay bf16 (mxfp4 of
// gpt-oss, int4, awq, gptq), and those that the GPU has no unit for, are unpacked to bf16.
func (p peaks) compute(format string) float64 {
	switch {
	case strings.HasPrefix(format, "fp8") && p.hasFP8:
		return p.fp8
	case strings.HasPrefix(format, "nvfp4") && p.hasFP4:
		return p.fp4
	case strings.HasPrefix(format, "nvfp4") && p.hasFP8:
		return p.fp8
	}
	return p.bf16
}

// quantises reports whether activations are quantised before they meet weights of this format, which is a kernel.
func (p peaks) quantises(format string) bool { return p.compute(format) > p.bf16 }

// expertsRead is how many of the experts a pass over so many tokens reads: expert i of E is missed by one token with
// probability 1-k*p_i, p_i falling as (i/E)^-routingSkew.
func expertsRead(experts, topK int64, tokens float64) float64 {
	if experts < 1 || tokens <= 0 {
		return 0
	}
	if topK >= experts {
		return float64(experts)
	}
	wanted := make([]float64, experts)
	sum := 0.
	for i := range wanted {
		wanted[i] = math.Pow((float64(i)+0.5)/float64(experts), -routingSkew)
		sum += wanted[i]
	}
	read := 0.
	for _, w := range wanted {
		read += 1 - math.Pow(1-min(1, float64(topK)*w/sum), tokens)
	}
	return read
}

// expertImbalance is how much more experts the fullest of ep ranks reads than the mean: the number that a rank reads
// varies as a binomial one, and the step waits for the largest of ep of them.
func expertImbalance(experts, read float64, ep int) float64 {
	if ep < 2 || read <= 0 || read >= experts {
		return 1
	}
	mean := read / float64(ep)
	spread := math.Sqrt(mean * (1 - read/experts))
	// Blom's estimate of the largest of ep normal numbers
	largest := math.Sqrt2 * math.Erfinv(2*(float64(ep)-0.375)/(float64(ep)+0.25)-1)
	return min(1+largest*spread/mean, experts/read)
}

// largest returns the name of the greatest value; the first of equals.
func largest(of []named) string {
	return slices.MaxFunc(of, func(a, b named) int { return cmp.Compare(a.value, b.value) }).name
}

type named struct {
	name  string
	value float64
}
