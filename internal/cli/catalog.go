package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/report"
)

// catalogOptions are the arguments of catalog, which select the kinds, one kind, or one part.
type catalogOptions struct {
	words []string // KIND, NAME or both
}

func (a *app) catalogCommand(run func(context.Context, catalogOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:   "catalog [KIND] [NAME]",
		Short: "Show the GPUs, NICs, machines, switches, fabrics, models and Helm charts that are known, with the source of every figure",
		Long: "Show what is known: without arguments the kinds (gpus, nics, machines, switches, fabrics, models, charts); with KIND its\n" +
			"parts; with NAME every figure of a part with its unit and source, its other names, and the flags that take it.\n" +
			"A source names a document, a thread or a file; docs/sources.md of the repository has the addresses of the documents.",
		Args: mayTake(2),
		RunE: func(c *cobra.Command, args []string) error { return run(c.Context(), catalogOptions{words: args}) },
	}
}

func (a *app) catalog(_ context.Context, o catalogOptions) error {
	cat, err := catalog.Load()
	if err != nil {
		return err
	}
	if len(o.words) == 0 {
		return a.catalogKinds(cat)
	}
	kind, isKind := cat.Kind(o.words[0])
	switch {
	case len(o.words) == 2 && !isKind:
		var names []string
		for _, k := range cat.Kinds() {
			names = append(names, k.Name)
		}
		return fmt.Errorf("catalog: %w", fabric.UnknownName("kind", o.words[0], names))
	case len(o.words) == 2:
		return a.catalogPart(cat, kind.Name, o.words[1])
	case isKind:
		return a.catalogKind(kind, cat.Parts(kind.Name))
	default:
		return a.catalogPart(cat, "", o.words[0])
	}
}

func (a *app) catalogKinds(cat *catalog.Catalog) error {
	if a.json() {
		return report.JSON(a.stdout, fabric.CatalogList{Meta: fabric.NewMeta("Catalog"), Kinds: cat.Kinds()})
	}
	return report.CatalogKinds(a.stdout, cat.Kinds(), a.textOptions())
}

func (a *app) catalogKind(kind fabric.CatalogKind, parts []fabric.CatalogPart) error {
	if a.json() {
		return report.JSON(a.stdout, fabric.CatalogList{Meta: fabric.NewMeta("Catalog"), Parts: parts})
	}
	return report.CatalogTable(a.stdout, kind, parts, a.textOptions())
}

func (a *app) catalogPart(cat *catalog.Catalog, kind, name string) error {
	part, err := cat.Part(kind, name)
	if err != nil {
		return err
	}
	if a.json() {
		return report.JSON(a.stdout, fabric.CatalogList{Meta: fabric.NewMeta("Catalog"), Parts: []fabric.CatalogPart{part}})
	}
	return report.CatalogPart(a.stdout, part, a.textOptions())
}
