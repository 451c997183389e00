package intent

import (
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

func (v *validator) leaf() {
	f := v.cluster.Fabric
	if f.Leaf == nil || f.Leaf.Model == "" {
		return
	}
	at := []string{"fabric", "leaf"}
	model, ok := v.model(at, f.Leaf.Model, f.Leaf.OS)
	if !ok || f.Leaf.Breakout == 0 {
		return
	}
	if f.Leaf.OS == "" {
		v.add(step(at, "breakout"), fmt.Sprintf("needs os, which says how the ports are named; known: %s", operatingSystems(model)))
		return
	}
	if _, err := leafPorts(f.Leaf.Model, *f.Leaf, model); err != nil {
		v.add(step(at, "breakout"), err.Error())
	}
}

func (v *validator) spine() {
	f, at := v.cluster.Fabric, []string{"fabric", "spine"}
	if f.Spine == nil || f.Spine.Model == "" || !v.sound(step(at, "model")) {
		return
	}
	model, ok := v.model(at, f.Spine.Model, f.Spine.OS)
	switch {
	case !ok:
	case f.Leaf == nil:
		v.add(at, "a spine joins leaves, and there is no fabric.leaf: name one, or remove the field")
	case f.Spine.OS == "":
		v.add(step(at, "os"), fmt.Sprintf("required field is missing: switch %s has several; known: %s", f.Spine.Model, operatingSystems(model)))
	}
}

// model looks a switch up, and checks its kind and its operating system; ok is false where one of them was refused.
func (v *validator) model(at []string, id, os string) (model catalog.SwitchModel, ok bool) {
	model, err := v.catalog.Switch(id)
	if err != nil {
		v.add(step(at, "model"), err.Error())
		return model, false
	}
	ok = true
	kind := v.cluster.Fabric.Kind
	want := map[fabric.Transport]string{fabric.RoCE: "ethernet", fabric.InfiniBand: "infiniband"}[kind]
	if want != "" && model.Fabric != want {
		ok = false
		v.add(step(at, "model"), fmt.Sprintf("switch %s is an %s switch, but fabric.kind is %s: use one of %s",
			id, model.Fabric, kind, strings.Join(v.switches(want), ", ")))
	}
	if _, known := model.OS[os]; !known && os != "" {
		ok = false
		v.add(step(at, "os"), fmt.Sprintf("%s: unknown on switch %s; %sknown: %s", fabric.Quote(os), id,
			fabric.DidYouMean(os, slices.Sorted(maps.Keys(model.OS))), operatingSystems(model)))
	}
	return model, ok
}

func operatingSystems(m catalog.SwitchModel) string {
	return strings.Join(slices.Sorted(maps.Keys(m.OS)), ", ")
}

// switches lists the catalog's switches for a kind of fabric.
func (v *validator) switches(kind string) []string {
	var ids []string
	for id, model := range v.catalog.Switches {
		if model.Fabric == kind {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// capacity checks that the switches have ports for every host, and on RoCE that the pool holds every address.
func (v *validator) capacity() {
	f := v.cluster.Fabric
	if !v.sound([]string{"nodes"}, []string{"fabric"}, []string{"platform"}) || v.hosts == 0 || v.nics == 0 {
		return
	}
	if v.cluster.Platform == Spark && f.Kind == fabric.RoCE {
		v.wiring()
		return
	}
	shape := Shape{Division: filled(v.hosts, 0)}
	if f.Leaf != nil {
		var err error
		if shape, err = ShapeOf(v.cluster, v.catalog, v.cluster.Cabled(v.hosts), v.nics); err != nil {
			v.refuse(err)
			return
		}
	}
	a, at := f.Addressing, []string{"fabric", "addressing"}
	if a.Scheme == fabric.None {
		return
	}
	need, err := shape.neededAddresses(a.Scheme, v.hosts, v.nics, shape.Uplinks())
	if err != nil {
		v.add(step(at, "scheme"), err.Error())
		return
	}
	length, err := shape.NeededPrefix(a.Scheme, v.hosts, v.nics, shape.Uplinks())
	if err == nil && a.Pool.Bits() > length {
		v.add(step(at, "pool"), fmt.Sprintf("%s is too small: %d hosts of %d NICs with scheme %s%s need %d addresses: use a /%d or larger",
			a.Pool, v.hosts, v.nics, a.Scheme, shape.uplinksInWords(), need, length))
	}
}

// wiring checks that machines whose ports have twins can be cabled, and that the pool holds a /24 for each subnet.
func (v *validator) wiring() {
	w, err := WiringOf(v.cluster, v.catalog)
	if err != nil {
		v.refuse(err)
		return
	}
	if length := twinPrefix(w); v.cluster.Fabric.Addressing.Pool.Bits() > length {
		v.add([]string{"fabric", "addressing", "pool"}, fmt.Sprintf("%s is too small for the %d subnets of the twins, each a /24: use a /%d or larger",
			v.cluster.Fabric.Addressing.Pool, w.Subnets(), length))
	}
}

// twinPrefix is the length of the smallest IPv4 prefix that holds a /24 for each subnet of the twins.
func twinPrefix(w Wired) int { return 24 - bits.Len(uint(max(w.Subnets(), 1)-1)) }

// refuse reports an error of ShapeOf at its field.
func (v *validator) refuse(err error) {
	var field *FieldError
	if errors.As(err, &field) {
		v.add(field.Path, field.Message)
	}
}

func (s Shape) uplinksInWords() string {
	if s.Uplinks() == 0 {
		return ""
	}
	return " and " + fabric.Count(s.Uplinks(), "cable") + " between switches"
}
