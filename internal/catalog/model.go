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
	// RemoteCode is set where engines run code of the model's repository, for its configuration or its tokenizer, and ask to be told
	// so: the source that says it. Model types that transformers 4.57 has itself need none, whatever their repositories hold.
	RemoteCode string `yaml:"remote_code"`
	Note       string `yaml:"note"` // what a reader should know of the figures
}

// FoundModel is what a name of a model stands for.
type FoundModel struct {
	ID        string // of the entry
	Published string // the name that was meant, as it is published: that of the entry or one of its aliases
	Cut       bool   // the name was only the beginning of Published
	Entry     LanguageModel
}

// Assumed says in words what was assumed of a name; empty where the name is that of the entry.
func (f FoundModel) Assumed() string {
	var parts []string
	if f.Cut {
		parts = append(parts, "taken as "+f.Published)
	}
	if f.Published != f.Entry.Name {
		parts = append(parts, "architecture and context of "+f.Entry.Name)
	}
	return strings.Join(parts, ", ")
}

// Model finds a model by its published name, with or without the organisation, by its id or by another name, in any
// case. The error proposes the nearest.
func (c *Catalog) Model(name string) (FoundModel, error) {
	want := nameKey(name)
	for id, m := range sorted(c.Models) {
		if published, ok := m.published(id, func(known string) bool { return known == want }); ok {
			return FoundModel{ID: id, Published: published, Entry: m}, nil
		}
	}
	// A name may be cut where the rest is not in doubt: llama-4-scout. Where it is, the error lists the candidates.
	var known []string
	var begins []FoundModel
	for id, m := range sorted(c.Models) {
		known = append(known, m.names(id)...)
		if published, ok := m.published(id, func(known string) bool { return strings.HasPrefix(known, want+"-") }); ok {
			begins = append(begins, FoundModel{ID: id, Published: published, Cut: true, Entry: m})
		}
	}
	switch len(begins) {
	case 0:
	case 1:
		return begins[0], nil
	default:
		var ids []string
		for _, f := range begins {
			ids = append(ids, f.ID)
		}
		return FoundModel{}, fmt.Errorf("model %q is ambiguous: could be %s", name, strings.Join(ids, ", "))
	}
	return FoundModel{}, fmt.Errorf("%w; for another, give a config.json or a folder with one", missing("model", name, known, len(c.Models)))
}

// published returns the published name for which one of its forms matches: that of the entry first, then the aliases.
func (m LanguageModel) published(id string, matches func(folded string) bool) (name string, ok bool) {
	if matches(id) {
		return m.Name, true
	}
	for _, name := range append([]string{m.Name}, m.Aliases...) {
		if matches(nameKey(name)) || matches(nameKey(path.Base(name))) {
			return name, true
		}
	}
	return "", false
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
