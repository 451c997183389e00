package sizing

import (
	"encoding/json"
	"fmt"

	"railwright.dev/railwright/internal/catalog"
)

// catalogModel builds a model of the catalog: its entry holds the fields of its config.json that matter.
func catalogModel(name string, cat *catalog.Catalog) (*Model, error) {
	id, entry, err := cat.Model(name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(entry.Config)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	m, err := readConfig(id, text, nil)
	if err != nil {
		return nil, fmt.Errorf("model %q of the catalog: %w", id, err)
	}
	return m, nil
}
