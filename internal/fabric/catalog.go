package fabric

// CatalogList is what the catalog knows: its kinds of parts, or the parts of one kind, or one part. Its kind is Catalog.
type CatalogList struct {
	Meta
	Kinds []CatalogKind `json:"kinds,omitempty"`
	Parts []CatalogPart `json:"parts,omitempty"`
}

// CatalogKind is a kind of parts.
type CatalogKind struct {
	Name    string   `json:"name"` // plural: gpus
	Title   string   `json:"title"`
	Count   int      `json:"count"`
	Columns []string `json:"-"` // figures that tell its parts apart
}

// CatalogPart is a GPU, NIC, machine, switch, fabric or model of the catalog.
type CatalogPart struct {
	Kind    string          `json:"kind"` // singular: gpu
	Name    string          `json:"name"` // by which flags and the cluster file take it
	Title   string          `json:"title"`
	Aliases []string        `json:"aliases,omitempty"`
	Uses    []string        `json:"uses"` // flags and fields that take the name
	Figures []CatalogFigure `json:"figures"`
	Source  string          `json:"source,omitempty"` // of the figures without a source of their own
	Note    string          `json:"note,omitempty"`
}

// CatalogFigure is a figure or a fact of a part. Value is its text, without the unit.
type CatalogFigure struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Unit   string `json:"unit,omitempty"`
	Source string `json:"source,omitempty"`
}

// Figure returns a figure by its name; the zero value where the part has none.
func (p CatalogPart) Figure(name string) CatalogFigure {
	for _, f := range p.Figures {
		if f.Name == name {
			return f
		}
	}
	return CatalogFigure{}
}
