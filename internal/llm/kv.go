package llm

import "math"

// A KV dtype is what one element of the cache is stored in.
const (
	KVBF16  = "bf16"
	KVFP8   = "fp8"   // one byte, scales negligible
	KVFP4   = "fp4"   // half a byte and a byte of scale for 16 elements (SGLang, fp4_e2m1)
	KVMXFP8 = "mxfp8" // one byte and a byte of scale for 32 elements
	// KVFP8DSMLA is vLLM's and FlashMLA's row of sparse MLA: 512 bytes of latent, 16 of scales, 128 of rope in bf16.
	KVFP8DSMLA = "fp8_ds_mla"
)

// KVDTypes lists the dtypes that KV bytes can be computed for.
func KVDTypes() []string { return []string{KVBF16, "fp16", KVFP8, KVFP4, KVMXFP8, KVFP8DSMLA, "fp32"} }

// KVElementBytes is what an element of the cache takes with its share of scales. Scales of fp4 and mxfp8 are a byte
// for 16 and for 32 elements (SGLang mem_cache/memory_pool.py; OCP Microscaling Formats 1.0, 5.2).
func KVElementBytes(dtype string) (bytes float64, known bool) {
	switch dtype {
	case "fp32", "float32":
		return 4, true
	case KVBF16, "fp16", "bfloat16", "float16", "half", "":
		return 2, true
	case KVFP8, "fp8_e4m3", "fp8_e5m2", "int8", KVFP8DSMLA:
		return 1, true
	case KVFP4, "fp4_e2m1", "nvfp4", "mxfp4":
		return 0.5 + 1./16, true
	case KVMXFP8:
		return 1 + 1./32, true
	}
	return 0, false
}

// KnownKVDType reports whether KVBytesPerToken can be computed for a dtype.
func KnownKVDType(dtype string) bool {
	_, known := KVElementBytes(dtype)
	return known
}

// PerToken is what this attention keeps of a token on each of tp ranks, in bytes. 0 where it keeps nothing, or a
// state of fixed size; the dtype must be a known one.
func (a Attention) PerToken(tp int64, dtype string) float64 {
	b, _ := KVElementBytes(dtype)
	if a.Shared {
		return 0
	}
	switch a.Kind {
	case GQA:
		heads := max(1, float64(a.KVHeads)/float64(max(1, tp)))
		return heads*float64(a.HeadDim+a.VDim)*b + a.IndexPerToken()
	case MLA: // every rank keeps the whole latent
		row := float64(a.KVLoraRank+a.RopeDim) * b
		if dtype == KVFP8DSMLA {
			row = float64(a.KVLoraRank) + 4*float64(ceilDiv(a.KVLoraRank, 128)) + 2*float64(a.RopeDim)
		}
		return row + a.IndexPerToken()
	}
	return 0
}

// IndexPerToken is the fp8 key of the sparse index with an fp32 scale for 128 elements (SGLang mem_cache,
// DeepSeek-V3.2's index_k_with_scale_buffer). Every rank keeps it whole.
func (a Attention) IndexPerToken() float64 {
	if a.IndexDim == 0 {
		return 0
	}
	return float64(a.IndexDim) + 4*float64(ceilDiv(a.IndexDim, 128))
}

// StatePerRequest is the state of fixed size that this attention keeps of a request on each of tp ranks, in bytes:
// the inputs of the convolution in bf16 and the recurrent state. Heads are divided, at least one per rank.
func (a Attention) StatePerRequest(tp int64) float64 {
	tp = max(1, tp)
	switch a.Kind {
	case Linear:
		width := 2*a.KeyHeads*a.KeyDim + a.ValueHeads*a.ValueDim
		conv := float64(width*max(0, a.ConvKernel-1)) * 2
		state := float64(a.ValueHeads*a.KeyDim*a.ValueDim) * float64(a.StateBytes)
		return (conv + state) / float64(tp)
	case Mamba:
		groups := float64(a.Groups) * max(1, float64(tp)/float64(max(1, a.Groups))) // replicated where tp is above them
		width := float64(a.InnerDim) + 2*groups*float64(a.StateSize)
		conv := width * float64(max(0, a.ConvKernel-1)) * 2
		return (conv + float64(a.InnerDim*a.StateSize)*float64(a.StateBytes)) / float64(tp)
	}
	return 0
}

// KVBytesPerToken is what a token takes in the cache on each of tp ranks, all layers of the language model together,
// ignoring windows. An unknown dtype gives 0.
func (m *Model) KVBytesPerToken(tp int, dtype string) int64 {
	if !KnownKVDType(dtype) {
		return 0
	}
	var bytes float64
	for _, l := range m.Layers {
		bytes += l.Attention.PerToken(int64(tp), dtype)
	}
	return int64(math.Round(bytes))
}

// StateBytesPerRequest is the state of fixed size of a request on each of tp ranks, all layers together.
func (m *Model) StateBytesPerRequest(tp int) int64 {
	var bytes float64
	for _, l := range m.Layers {
		bytes += l.Attention.StatePerRequest(int64(tp))
	}
	return int64(math.Round(bytes))
}
