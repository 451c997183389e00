package catalog

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

const modelFolder = "model"

// LanguageModel is a published language model: the facts of its config.json that set how large it is.
type LanguageModel struct {
	Title   string         `yaml:"title"`
	Name    string         `yaml:"name"`    // organisation/name, as it is published
	Aliases []string       `yaml:"aliases"` // other published names with the same configuration, with or without organisation
	Source  string         `yaml:"source"`  // of the configuration
	Config  map[string]any `yaml:"config"`  // fields of config.json, under their own names
	Note    string         `yaml:"note"`    // what a reader should know of the figures
}

// Model finds a model by its published name, with or without the organisation, by its id or by another name, in any
// case, and gives its id. The error proposes the nearest.
func (c *Catalog) Model(name string) (id string, model LanguageModel, err error) {
	want := nameKey(name)
	for id, m := range sorted(c.Models) {
		if slices.Contains(m.names(id), want) {
			return id, m, nil
		}
	}
	// A name may be cut where the rest is not in doubt: llama-4-scout. Where it is, the error lists the candidates.
	var known, begins []string
	for id, m := range sorted(c.Models) {
		known = append(known, m.names(id)...)
		if slices.ContainsFunc(m.names(id), func(full string) bool { return strings.HasPrefix(full, want+"-") }) {
			begins = append(begins, id)
		}
	}
	switch len(begins) {
	case 0:
	case 1:
		return begins[0], c.Models[begins[0]], nil
	default:
		return "", LanguageModel{}, fmt.Errorf("model %q is ambiguous: could be %s", name, strings.Join(begins, ", "))
	}
	err = missing("model", name, known, len(c.Models))
	return "", LanguageModel{}, fmt.Errorf("%w; for another, give a config.json or a folder with one", err)
}

// names returns all names of a model, folded.
func (m LanguageModel) names(id string) []string {
	names := []string{id, nameKey(m.Name), nameKey(path.Base(m.Name))}
	for _, alias := range m.Aliases {
		names = append(names, nameKey(alias), nameKey(path.Base(alias)))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// nameKey folds a name: case, and dots and underscores, which ids write as hyphens.
func nameKey(name string) string {
	return strings.NewReplacer(".", "-", "_", "-").Replace(strings.ToLower(strings.TrimSpace(name)))
}

func (p *problems) model(id string, m LanguageModel) {
	p.head(id, m.Title)
	p.text("source", m.Source)
	if strings.Count(m.Name, "/") != 1 {
		p.add("name", "%q is not organisation/name", m.Name)
	}
	if len(m.Config) == 0 {
		p.add("config", "is empty")
	}
}

// modelNames finds names that stand for two models.
func modelNames(models map[string]LanguageModel) (found []error) {
	owner := map[string]string{}
	for id, m := range sorted(models) {
		p := problems{file: path.Join(modelFolder, id+".yaml")}
		for _, name := range m.names(id) {
			if owner[name] != "" {
				p.add("name", "%q is also that of %s", name, owner[name])
			}
			owner[name] = id
		}
		found = append(found, p.found...)
	}
	return found
}
