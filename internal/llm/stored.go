package llm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// fromHeaders builds a model whose weights are those of the headers, and whose layers are those of the config. Where
// the model type is unknown, the layers are derived from names and shapes.
func fromHeaders(folder string, text, quantText []byte, tensors []stored) (*Model, error) {
	m, err := readConfig(folder, text, quantText)
	if err != nil && !errors.Is(err, errUnknownType) {
		var plain error // the headers show formats that a config does not
		if m, plain = readUnquantised(folder, text); plain != nil {
			return nil, err
		}
		err = nil
	}
	bits := 4.0
	if m != nil && m.Quantisation.Format.Bits > 0 {
		bits = m.Quantisation.Format.Bits
	}
	if errors.Is(err, errUnknownType) {
		return fromShapes(folder, text, quantText, tensors)
	}
	formula := m.Parameters()
	classes := map[string]Class{}
	for _, t := range m.Tensors {
		pattern, _ := starred(t.Name)
		classes[strip(pattern)] = t.Class
	}
	m.Tensors = nil
	m.gather(tensors, bits, m.storedLayers(), func(n weightName) Class { return classes[strip(n.pattern)] })
	if m.Parameters().MTP == 0 {
		m.MTP = 0
	}
	if real := m.Parameters(); 100*abs(real.Total-formula.Total) > formula.Total {
		m.assume("parameters", fmt.Sprintf("%d", real.Total), fmt.Sprintf("headers; the formula for %s gives %d", m.Type, formula.Total))
	}
	return m, nil
}

// readUnquantised reads the config as if nothing were quantised.
func readUnquantised(folder string, text []byte) (*Model, error) {
	object, err := decodeObject(text)
	if err != nil {
		return nil, err
	}
	delete(object, "quantization_config")
	for _, value := range object {
		if inner, ok := value.(map[string]any); ok {
			delete(inner, "quantization_config")
		}
	}
	return readConfig(folder, encode(object), nil)
}

// gather turns stored tensors into groups of equal ones and sums the bytes.
func (m *Model) gather(tensors []stored, bits float64, depth int, known func(weightName) Class) {
	m.Scale, m.Certainty, m.DiskBytes = 1, FromHeaders, 0
	type key struct {
		pattern    string
		layer      int
		dtype      string
		rows, cols int64
	}
	at := map[key]int{}
	lost := int64(0)
	names, widths := newNameReader(depth), dtypeBits()
	for _, s := range tensors {
		m.DiskBytes += s.bytes
		n := names.read(s.name)
		if class := known(n); class != "" && n.class != ClassMTP && n.class != ClassVision {
			n.class = class
		}
		if n.class == "" {
			n.class = ClassReplicated
			if len(s.shape) > 1 {
				lost += s.bytes
			}
		}
		if n.layer >= 0 && m.Type == "longcat_flash" || m.Type == "falcon_h1" {
			n.layer *= len(m.Layers) / max(1, depth)
		}
		for _, t := range m.split(n, s.tensor(n, float64(widths[s.dtype]), bits)) {
			k := key{t.Name, t.Layer, t.Format.Name + string(t.Class), t.Rows, t.Cols}
			if i, ok := at[k]; ok {
				m.Tensors[i].Count += t.Count
				continue
			}
			at[k] = len(m.Tensors)
			m.Tensors = append(m.Tensors, t)
		}
	}
	slices.SortStableFunc(m.Tensors, func(a, b Tensor) int { return cmp.Or(cmp.Compare(a.Layer, b.Layer), strings.Compare(a.Name, b.Name)) })
	if lost > 0 {
		m.assume("weights", fmt.Sprintf("%d bytes whole on every rank", lost), "their names are unknown")
	}
}

func (m *Model) assume(what, value, source string) {
	m.Assumptions = append(m.Assumptions, assumption(what, value, source))
}

// tensor returns the group that a stored tensor is, of one or of as many as it stacks experts. An element has width bits;
// where several weights share one, a weight has bits.
func (s stored) tensor(n weightName, width, bits float64) Tensor {
	t := Tensor{Name: n.pattern, Class: n.class, Layer: n.layer, Rows: 1, Cols: 1, Count: 1, Auxiliary: n.auxiliary}
	shape := s.shape
	if n.class == ClassExpert && len(shape) > 2 {
		t.Count, shape = shape[0], shape[1:]
	}
	for i, size := range shape {
		if i == 0 {
			t.Rows = size
		} else {
			t.Cols *= size
		}
	}
	t.Format = Format{Name: storedFormat(s.dtype), Bits: width}
	switch { // several weights per element
	case n.auxiliary:
	case s.dtype == "I32" && n.packed:
		t.Format = Format{Name: fmt.Sprintf("int%g", bits), Bits: bits}
		t.Cols = int64(float64(t.Cols) * 32 / bits)
	case s.dtype == "U8":
		t.Format = Format{Name: "fp4", Bits: 4}
		t.Cols *= 2
	}
	return t
}

func storedFormat(dtype string) string {
	switch {
	case dtype == "BF16", dtype == "F16":
		return map[string]string{"BF16": "bf16", "F16": "fp16"}[dtype]
	case dtype == "F32":
		return "fp32"
	case strings.HasPrefix(dtype, "F8"):
		return "fp8"
	}
	return strings.ToLower(dtype)
}

// split cuts a matrix of queries, keys and values into the part that heads divide and the part that KV heads divide.
func (m *Model) split(n weightName, t Tensor) []Tensor {
	if !n.fused || n.layer < 0 || n.layer >= len(m.Layers) {
		return []Tensor{t}
	}
	a := m.Layers[n.layer].Attention
	q, kv := a.Heads*a.HeadDim, a.KVHeads*(a.HeadDim+a.VDim)
	if a.Kind != GQA || q+kv == 0 || t.Rows*q%(q+kv) != 0 {
		return []Tensor{t}
	}
	keys := t
	t.Rows = t.Rows * q / (q + kv)
	keys.Rows -= t.Rows
	t.Class, keys.Class = ClassAttention, ClassKV
	return []Tensor{t, keys}
}

func abs(n int64) int64 { return max(n, -n) }
