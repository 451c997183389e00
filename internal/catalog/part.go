package catalog

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// kind is a kind of parts, as the catalog shows it.
type kind struct {
	name    string   // singular: gpu; the folder of its files
	plural  string   // gpus
	title   string   // what its parts are
	columns []string // figures that tell its parts apart
	uses    []string // flags and fields that take a name of this kind
}

// kinds lists every kind of parts.
func kinds() []kind {
	return []kind{
		{gpuFolder, "gpus", "GPUs as PCI and the driver count them: memory, compute, links", []string{"memory", "memory bandwidth", "compute bf16", "scale up", "arch"},
			[]string{"size --gpu NAME"}},
		{nicFolder, "nics", "network adapters and their port modes", []string{"ports", "port rate", "pcie", "driver"}, nil},
		{machineFolder, "machines", "servers and cloud machine types", []string{"gpu", "gpus", "nic", "nics", "fabrics"},
			[]string{"explain --machine NAME", "predict --machine NAME", "size --machine NAME", "topo show --machine NAME", "topo pcie --machine NAME", "topo nccl --machine NAME", "nodes[].machine of a cluster file"}},
		{switchFolder, "switches", "switches and how their operating systems name ports", []string{"fabric", "ports", "port rate"},
			[]string{"fabric.leaf.model of a cluster file"}},
		{fabricFolder, "fabrics", "networks between machines, as collectives see them", []string{"link layer", "gpudirect rdma", "payload", "mtu"},
			[]string{"explain --net NAME", "predict --net NAME", "size --net NAME"}},
		{modelFolder, "models", "published language models: the fields of config.json that set their size", []string{"config model_type", "config num_hidden_layers", "config hidden_size", "config max_position_embeddings"},
			[]string{"size NAME", "serving.model of a cluster file"}},
		{engineFolder, "engines", "inference engines, and their images", []string{"images nvidia", "images amd"},
			[]string{"size --engine NAME", "serving.engine of a cluster file"}},
		{chartFolder, "charts", "software that Helm installs on a cluster of Kubernetes, at the version that plans name", []string{"version", "namespace", "repository", "chart"}, nil},
	}
}

func plural(name string) string {
	for _, k := range kinds() {
		if strings.EqualFold(k.name, name) {
			return k.plural
		}
	}
	return name
}

// Kinds are the kinds of parts, with their number.
func (c *Catalog) Kinds() []fabric.CatalogKind {
	var all []fabric.CatalogKind
	for _, k := range kinds() {
		all = append(all, k.shown(c))
	}
	return all
}

func (k kind) shown(c *Catalog) fabric.CatalogKind {
	return fabric.CatalogKind{Name: k.plural, Title: k.title, Count: len(c.parts(k)), Columns: k.columns}
}

// Kind returns a kind by its name, in the singular too; ok is false where there is none.
func (c *Catalog) Kind(name string) (shown fabric.CatalogKind, ok bool) {
	for _, k := range kinds() {
		if name == k.plural || name == k.name {
			return k.shown(c), true
		}
	}
	return fabric.CatalogKind{}, false
}

// Parts are the parts of a kind, in the order of their names; all parts where kind is empty.
func (c *Catalog) Parts(kind string) []fabric.CatalogPart {
	var all []fabric.CatalogPart
	for _, k := range kinds() {
		if kind == "" || kind == k.plural || kind == k.name {
			all = append(all, c.parts(k)...)
		}
	}
	return all
}

// Part finds a part by its name or another of its names, of a kind or, where kind is empty, of any. A name that
// stands for parts of several kinds is an error that lists them.
func (c *Catalog) Part(kind, name string) (fabric.CatalogPart, error) {
	var found []fabric.CatalogPart
	var names []string
	parts := c.Parts(kind)
	for _, p := range parts {
		own := append([]string{p.Name}, p.Aliases...)
		if f, ok := c.Fabrics[p.Name]; ok && p.Kind == fabricFolder && f.Transport != "" {
			own = append(own, f.Transport) // ib is infiniband in a cluster file
		}
		if p.Kind == modelFolder {
			own = c.Models[p.Name].names(p.Name)
		}
		names = append(names, own...)
		if slices.Contains(own, nameKey(name)) {
			found = append(found, p)
		}
	}
	switch len(found) {
	case 0:
		if kind == "" {
			return fabric.CatalogPart{}, fmt.Errorf("name %s is not in the catalog; %sknown kinds: %s", fabric.Quote(name), fabric.DidYouMean(name, names), strings.Join(kindNames(), ", "))
		}
		return fabric.CatalogPart{}, missing(noun(parts[0].Kind), name, names, len(parts))
	case 1:
		return found[0], nil
	}
	var which []string
	for _, p := range found {
		which = append(which, fmt.Sprintf("railwright catalog %s %s", plural(p.Kind), p.Name))
	}
	return fabric.CatalogPart{}, fmt.Errorf("name %q: in several kinds: %s", name, strings.Join(which, ", "))
}

// noun writes a kind within a sentence.
func noun(kind string) string {
	if kind == gpuFolder || kind == nicFolder {
		return strings.ToUpper(kind)
	}
	return kind
}

func kindNames() (names []string) {
	for _, k := range kinds() {
		names = append(names, k.plural)
	}
	return names
}

func (c *Catalog) parts(k kind) []fabric.CatalogPart {
	switch k.name {
	case gpuFolder:
		return shownParts(k, c.GPUs)
	case nicFolder:
		return shownParts(k, c.NICs)
	case machineFolder:
		return shownParts(k, c.Machines)
	case switchFolder:
		return shownParts(k, c.Switches)
	case fabricFolder:
		return shownParts(k, c.Fabrics)
	case engineFolder:
		return shownParts(k, c.Engines)
	case modelFolder:
		return shownParts(k, c.Models)
	default:
		return shownParts(k, c.Charts)
	}
}

// shownParts shows parts by the fields of their struct, so that a new field needs nothing here.
func shownParts[T any](k kind, parts map[string]T) []fabric.CatalogPart {
	var all []fabric.CatalogPart
	for id, part := range sorted(parts) {
		p := fabric.CatalogPart{Kind: k.name, Name: id, Uses: append([]string{}, k.uses...), Figures: []fabric.CatalogFigure{}}
		v := reflect.ValueOf(part)
		for i := range v.NumField() {
			name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("yaml"), ",")
			switch name {
			case "title":
				p.Title = v.Field(i).String()
			case "source":
				p.Source = v.Field(i).String()
			case "note":
				p.Note = v.Field(i).String()
			case "aliases":
				p.Aliases = v.Field(i).Interface().([]string)
			default:
				p.Figures = append(p.Figures, shownFigures(strings.ReplaceAll(name, "_", " "), v.Field(i))...)
			}
		}
		all = append(all, p)
	}
	return all
}

// shownFigures shows a field; what was found in no source shows nothing.
func shownFigures(name string, v reflect.Value) []fabric.CatalogFigure {
	if v.IsZero() {
		return nil
	}
	switch f := v.Interface().(type) {
	case Figure:
		return []fabric.CatalogFigure{{Name: name, Value: number(f.Value), Unit: f.Unit, Source: f.Source}}
	case interface{ shown() (value, source string) }:
		value, source := f.shown()
		return []fabric.CatalogFigure{{Name: name, Value: value, Source: source}}
	case Compute:
		var all []fabric.CatalogFigure
		c := reflect.ValueOf(f)
		for i := range c.NumField() {
			all = append(all, shownFigures(name+" "+c.Type().Field(i).Tag.Get("yaml"), c.Field(i))...)
		}
		return all
	case map[string]PortName:
		var all []fabric.CatalogFigure
		for os, ports := range sorted(f) {
			all = append(all, shownFigures("ports with "+os, reflect.ValueOf(ports))...)
			if breakouts := ports.Breakouts(); len(breakouts) > 0 {
				all = append(all, fabric.CatalogFigure{Name: "split cage with " + os, Value: ports.shownSplit(breakouts), Source: ports.Split.Source})
			}
		}
		return all
	case map[string]EngineImage:
		var all []fabric.CatalogFigure
		for gpu, image := range sorted(f) {
			all = append(all, fabric.CatalogFigure{Name: name + " " + gpu, Value: image.Image + ", version " + image.Version, Source: image.Source})
		}
		return all
	case map[string]any:
		var all []fabric.CatalogFigure
		for _, key := range slices.Sorted(maps.Keys(f)) {
			all = append(all, fabric.CatalogFigure{Name: name + " " + key, Value: fmt.Sprint(f[key])})
		}
		return all
	case []ChartKey:
		return eachShown("value", f)
	case []ChartImage:
		return eachShown("image", f)
	case []string:
		return []fabric.CatalogFigure{{Name: name, Value: strings.Join(f, ", ")}}
	case *bool:
		return []fabric.CatalogFigure{{Name: name, Value: map[bool]string{true: "yes", false: "no"}[*f]}}
	case bool:
		return []fabric.CatalogFigure{{Name: name, Value: "yes"}}
	default:
		return []fabric.CatalogFigure{{Name: name, Value: fmt.Sprint(f)}}
	}
}

// eachShown shows every entry of a list under one name.
func eachShown[T interface{ shown() (value, source string) }](name string, list []T) []fabric.CatalogFigure {
	var all []fabric.CatalogFigure
	for _, one := range list {
		value, source := one.shown()
		all = append(all, fabric.CatalogFigure{Name: name, Value: value, Source: source})
	}
	return all
}

func (l PCIeLink) shown() (value, source string) {
	return fmt.Sprintf("%s GT/s x%d", number(l.Speed), l.Width), l.Source
}

func (a Addresses) shown() (value, source string) { return strings.Join(a.Are, ", "), a.Source }

func (h Hidden) shown() (value, source string) {
	return map[bool]string{true: "yes", false: "no"}[h.Hidden], h.Source
}

func (r Range) shown() (value, source string) {
	return number(r.Least) + " to " + number(r.Most), r.Source
}

func (p ProcessorID) shown() (value, source string) {
	return fmt.Sprintf("family %d, model %d", p.Family, p.Model), p.Source
}

func (b Band) shown() (value, source string) {
	return fmt.Sprintf("%s to %s times the expected time", number(b.Fast), number(b.Slow)), b.Source
}

func (o Only) shown() (value, source string) {
	return strings.TrimSpace(o.Algorithm + " " + o.Protocol), o.Source
}

func (e Earlier) shown() (value, source string) {
	return fmt.Sprintf("%s with GPUs below sm_%d", e.Fabric, e.BelowSM), e.Source
}

func (p PortName) shown() (value, source string) {
	if len(p.Names) > 0 {
		return strings.Join(p.Names, ", "), p.Source
	}
	return p.Port(0) + ", " + p.Port(1) + ", ...", p.Source
}

// shownSplit writes the ports of the first cage, as 2: Ethernet1/1, Ethernet1/5.
func (p PortName) shownSplit(breakouts []int) string {
	var all []string
	for _, n := range breakouts {
		if n == p.PerCage() {
			continue // as the model has them
		}
		text := fmt.Sprintf("%d: %s", n, p.SplitPort(0, n, 0))
		if n > 1 {
			text += ", " + p.SplitPort(0, n, 1)
		}
		if n > 2 {
			text += ", ..."
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

func number(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
