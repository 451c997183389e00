package llm

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// The parts of a derivation, in order.
const (
	partParameters = "Parameters"
	partBytes      = "Weights of the model"
)

// derivation collects steps that can be followed with a pocket calculator: Numbers, computed as written, give Result.
// Names and words are in Formula.
type derivation struct {
	model *Model
	part  string
	steps []fabric.Derivation
}

func (d *derivation) step(title, formula, numbers, result, source string) {
	d.steps = append(d.steps, fabric.Derivation{Part: d.part, Title: title, Formula: formula, Numbers: numbers, Result: result, Source: source})
}

// Derivation returns the steps from the shapes of the weights to the number of parameters and to the bytes that an engine
// loads.
func (m *Model) Derivation() []fabric.Derivation {
	d := &derivation{model: m}
	d.parameters()
	d.bytes()
	return d.steps
}

// layerKind is layers whose weights have the same shapes.
type layerKind struct {
	layers  []int
	tensors []Tensor
}

func (k layerKind) parameters() (n int64) {
	for _, t := range k.tensors {
		n += t.Parameters()
	}
	return n
}

// layerKinds groups the layers of the language model; weights outside the layers come separately.
func layerKinds(m *Model) (kinds []layerKind, outside []Tensor) {
	byLayer := make([][]Tensor, len(m.Layers))
	for _, t := range m.Tensors {
		switch {
		case t.Auxiliary || t.Class == ClassMTP || t.Class == ClassVision:
		case t.Layer < 0 || t.Layer >= len(m.Layers):
			outside = append(outside, t)
		default:
			byLayer[t.Layer] = append(byLayer[t.Layer], t)
		}
	}
	index := map[string]int{}
	for layer, tensors := range byLayer {
		var key strings.Builder
		for _, t := range tensors {
			fmt.Fprintln(&key, nameInLayer(t), t.Rows, t.Cols, t.Count, t.Class)
		}
		i, known := index[key.String()]
		if !known {
			i = len(kinds)
			index[key.String()] = i
			kinds = append(kinds, layerKind{tensors: tensors})
		}
		kinds[i].layers = append(kinds[i].layers, layer)
	}
	return kinds, outside
}

// nameInLayer is the end of a tensor's name, unique within its layer: mlp.experts.*.down_proj.
func nameInLayer(t Tensor) string {
	name := strings.TrimSuffix(t.Name, ".weight")
	parts := strings.Split(name, ".")
	for i, p := range parts {
		isNumber := p != "" && strings.Trim(p, "0123456789") == ""
		if (p == "*" || isNumber) && i+1 < len(parts) && i > 0 && parts[i-1] == "layers" {
			return strings.Join(parts[i+1:], ".")
		}
	}
	return name
}

// mostKinds is the kinds of layers that are written down one by one; for more of them only the sum is.
const mostKinds = 8

// parameters derives the number of weights, layer by layer, and of them those that one token uses.
func (d *derivation) parameters() {
	d.part = partParameters
	total := d.model.Parameters()
	kinds, outside := layerKinds(d.model)
	source := "config.json, " + d.model.Type
	if d.model.Certainty == FromHeaders {
		source = "headers of the weights"
	}
	var sum, names []string
	for i, k := range kinds {
		sum = append(sum, times(int64(len(k.layers)), k.parameters()))
		names = append(names, fmt.Sprintf("layers of kind %d", i+1))
		if i < mostKinds {
			d.step(fmt.Sprintf("One layer of kind %d: %s", i+1, layerNames(k.layers)), tensorNames(k.tensors), tensorNumbers(k.tensors), fabric.Thousands(k.parameters()), source)
		}
	}
	if len(kinds) > mostKinds {
		names, sum = []string{fmt.Sprintf("all %d layers, of %d kinds", len(d.model.Layers), len(kinds))}, []string{layerSum(kinds)}
	}
	others := layerKind{tensors: outside}
	d.step("Weights outside the layers", tensorNames(outside), tensorNumbers(outside), fabric.Thousands(others.parameters()), source)
	d.step("Parameters of the language model", strings.Join(append(names, "weights outside the layers"), " + "),
		strings.Join(append(sum, plainInt(others.parameters())), " + "), fabric.Thousands(total.Total), "sum of the steps above")
	d.active(kinds, total)
}

// active takes the experts that a token does not use off the parameters.
func (d *derivation) active(kinds []layerKind, p fabric.Parameters) {
	numbers := []string{plainInt(p.Total)}
	unused := map[string]int64{} // by experts of a layer, their choice and their size
	var order []string
	for _, k := range kinds {
		f := d.model.Layers[k.layers[0]].FFN
		var experts int64
		for _, t := range k.tensors {
			if t.Class == ClassExpert {
				experts += t.Parameters()
			}
		}
		if experts == 0 || f.Experts < 1 || experts%f.Experts != 0 {
			continue
		}
		key := fmt.Sprintf("(%d - %d) x %s", f.Experts, f.TopK, plainInt(experts/f.Experts))
		if unused[key] == 0 {
			order = append(order, key)
		}
		unused[key] += int64(len(k.layers))
	}
	if len(order) == 0 {
		return
	}
	for _, key := range order {
		numbers = append(numbers, fmt.Sprintf("%d x %s", unused[key], key))
	}
	d.step("Parameters used per token", "total - layers x (experts - chosen) x parameters per expert", strings.Join(numbers, " - "), fabric.Thousands(p.Active), "config.json, num_experts_per_tok")
}

// bytes derives what the weights take, format by format.
func (d *derivation) bytes() {
	d.part = partBytes
	type sum struct {
		format     Format
		parameters int64
		bytes      int64
	}
	var sums []sum
	for _, t := range d.model.Tensors {
		if t.Class == ClassMTP {
			continue
		}
		i := slices.IndexFunc(sums, func(x sum) bool { return x.format == t.Format })
		if i < 0 {
			i = len(sums)
			sums = append(sums, sum{format: t.Format})
		}
		sums[i].parameters += t.Rows * t.Cols * t.Count
		sums[i].bytes += t.Format.Bytes(t.Rows, t.Cols) * t.Count
	}
	var all []string
	for _, x := range sums {
		formula, bytes := formatBytes(x.format)
		d.step("Bytes of the weights in "+x.format.Name, formula, plainInt(x.parameters)+" x "+bytes, fabric.Thousands(x.bytes)+" B", "a partial group counts as a whole one")
		all = append(all, plainInt(x.bytes))
	}
	weights := d.model.WeightsBytes()
	formula, numbers, source := "sum of the formats", strings.Join(all, " + "), "the formula"
	if s := d.model.Scale; s > 0 && s != 1 {
		formula, numbers = formula+" x index / formula", fmt.Sprintf("(%s) x %s", numbers, strconv.FormatFloat(s, 'g', 12, 64))
		source = "model.safetensors.index.json, total_size"
	}
	d.step("Weights that an engine loads, in total", formula, numbers, fmt.Sprintf("%s B = %.2f GiB", fabric.Thousands(weights), float64(weights)/(1<<30)), source)
}

// formatBytes is the bytes of one weight of a format with its scales, in words and in numbers.
func formatBytes(f Format) (formula, numbers string) {
	formula, numbers = "weights x bits / 8", fmt.Sprintf("%s / 8", digits(f.Bits))
	scale := func(share string, n int64) {
		formula += ", plus one scale per " + share
		numbers = fmt.Sprintf("(%s + %s / %d)", numbers, digits(f.ScaleBytes), n)
	}
	switch {
	case f.Group > 0:
		scale(fmt.Sprintf("%d weights", f.Group), f.Group)
	case f.Block[0] > 0 && f.Block[1] > 0:
		scale(fmt.Sprintf("%d x %d weights", f.Block[0], f.Block[1]), f.Block[0]*f.Block[1])
	}
	return formula, numbers
}

// layerNames returns which layers: 0 to 2 (3 layers); at most a few runs of them.
func layerNames(layers []int) string {
	const most = 4
	var runs []string
	for i := 0; i < len(layers); {
		j := i
		for j+1 < len(layers) && layers[j+1] == layers[j]+1 {
			j++
		}
		run := strconv.Itoa(layers[i])
		if j > i {
			run += " to " + strconv.Itoa(layers[j])
		}
		if len(runs) == most {
			runs = append(runs, "...")
			break
		}
		runs = append(runs, run)
		i = j + 1
	}
	return fmt.Sprintf("%s (%s)", strings.Join(runs, ", "), fabric.Count(len(layers), "layer"))
}

func tensorNames(all []Tensor) string {
	var out []string
	for _, t := range all {
		if !t.Auxiliary {
			out = append(out, nameInLayer(t))
		}
	}
	return strings.Join(out, " + ")
}

// tensorNumbers is rows x columns x how many of each.
func tensorNumbers(all []Tensor) string {
	var out []string
	for _, t := range all {
		if t.Auxiliary {
			continue
		}
		text := strconv.FormatInt(t.Rows, 10)
		for _, n := range []int64{t.Cols, t.Count} {
			if n != 1 {
				text += fmt.Sprintf(" x %d", n)
			}
		}
		out = append(out, text)
	}
	return strings.Join(out, " + ")
}

// layerSum adds up kinds of layers that are too many to be written down.
func layerSum(kinds []layerKind) string {
	var n int64
	for _, k := range kinds {
		n += int64(len(k.layers)) * k.parameters()
	}
	return plainInt(n)
}

func times(n, each int64) string {
	if n == 1 {
		return plainInt(each)
	}
	return fmt.Sprintf("%d x %s", n, plainInt(each))
}

// plainInt is a number as a calculator takes it.
func plainInt(n int64) string { return strconv.FormatInt(n, 10) }

func digits(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }
