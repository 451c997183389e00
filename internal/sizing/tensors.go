package sizing

import (
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// Bytes is what one tensor of this format takes with its scales, as safetensors store it.
func (f Format) Bytes(rows, cols int64) int64 {
	bytes := math.Ceil(float64(rows) * float64(cols) * f.Bits / 8)
	if f.Group > 0 {
		bytes += float64(rows) * float64(ceilDiv(cols, f.Group)) * f.ScaleBytes
	}
	if f.Block[0] > 0 {
		across := int64(1)
		if f.Block[1] > 0 {
			across = ceilDiv(cols, f.Block[1])
		}
		bytes += float64(ceilDiv(rows, f.Block[0])) * float64(across) * f.ScaleBytes
	}
	return int64(math.Ceil(bytes + float64(cols)*f.ColumnBytes + f.TensorBytes))
}

// Bytes is what the whole group takes as it is stored, rescaled to the index where there is one.
func (m *Model) Bytes(t Tensor) int64 {
	bytes := t.Format.Bytes(t.Rows, t.Cols) * t.Count
	if m.Scale > 0 && m.Scale != 1 {
		return int64(math.Round(float64(bytes) * m.Scale))
	}
	return bytes
}

// Parameters counts the weights of the language model, those of it that one token uses, and apart from it those of
// multi-token prediction and of vision.
func (m *Model) Parameters() fabric.Parameters {
	var p fabric.Parameters
	for _, t := range m.Tensors {
		n := t.Parameters()
		switch t.Class {
		case ClassMTP:
			p.MTP += n
		case ClassVision:
			p.Vision += n
		case ClassExpert:
			p.Total += n
			p.Active += m.activeOf(t, n)
		default:
			p.Total += n
			p.Active += n
		}
	}
	return p
}

// activeOf is the share of a layer's routed experts that one token uses.
func (m *Model) activeOf(t Tensor, n int64) int64 {
	if t.Layer < 0 || t.Layer >= len(m.Layers) {
		return n
	}
	f := m.Layers[t.Layer].FFN
	if f.Experts < 1 {
		return n
	}
	return int64(math.Round(float64(n) * float64(f.TopK) / float64(f.Experts)))
}

// WeightsBytes is what an engine loads once, without speculative decoding: all but multi-token prediction.
func (m *Model) WeightsBytes() (bytes int64) {
	for _, t := range m.Tensors {
		if t.Class != ClassMTP {
			bytes += m.Bytes(t)
		}
	}
	return bytes
}

// bytes of all tensors.
func (m *Model) tensorBytes() (bytes int64) {
	for _, t := range m.Tensors {
		bytes += m.Bytes(t)
	}
	return bytes
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
