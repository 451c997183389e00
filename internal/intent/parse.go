package intent

import (
	"encoding/json"
	"fmt"

	"railwright.dev/railwright/internal/catalog"
)

// Parse reads a cluster file, checks it and fills in the defaults. file is only the name that problems
// carry. Whatever is wrong with the text comes back as *Errors, all at once and sorted by position; any
// other error is an internal one. The cluster is nil with any error.
func Parse(file string, text []byte, cat *catalog.Catalog) (*Cluster, error) {
	root, problems := readSource(file, text)
	if root == nil {
		return nil, problems.sorted()
	}
	d := newDocument(file, root)
	if d.tooLarge() {
		return nil, append(problems, d.problems...).sorted()
	}
	value, err := d.checkSchema()
	if err != nil {
		return nil, err
	}
	c, err := decode(value)
	if err != nil {
		return nil, err
	}
	c.applyDefaults(cat)
	v := validator{document: d, cluster: c, catalog: cat}
	v.validate()
	if problems = append(problems, d.problems...); len(problems) > 0 {
		return nil, problems.sorted()
	}
	return c, nil
}

// decode fills the Go types from values that the schema has already accepted.
func decode(value any) (*Cluster, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("cluster file: %w", err)
	}
	var c Cluster
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("cluster file: %w", err)
	}
	return &c, nil
}
