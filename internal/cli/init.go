package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
)

func (a *app) initCommand() *cobra.Command {
	var example string
	var nodes int
	c := &cobra.Command{
		Use:   "init [--example NAME] [--nodes N]",
		Short: "Print a commented cluster file: from what is found here, or an example at any size",
		Long:  "Print a commented cluster file: from what is found here, or an example at any size.\n\nExamples:\n" + exampleList(),
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			text, err := a.initText(c, example, nodes)
			if err != nil {
				return err
			}
			_, err = a.stdout.Write(text)
			return err
		},
	}
	c.Flags().StringVar(&example, "example", "", "name of an example")
	c.Flags().IntVar(&nodes, "nodes", 0, "number of machines (default: the example's own)")
	return c
}

func exampleList() string {
	var b strings.Builder
	for _, name := range intent.Examples() {
		doc, err := intent.ExampleDoc(name)
		if err != nil {
			doc = err.Error()
		}
		fmt.Fprintf(&b, "  %-16s %s\n", name, doc)
	}
	return b.String()
}

func (a *app) initText(c *cobra.Command, example string, nodes int) ([]byte, error) {
	if c.Flags().Changed("nodes") && nodes < 1 {
		return nil, fmt.Errorf("flag --nodes: %d: want 1 or more", nodes)
	}
	if example == "" {
		if c.Flags().Changed("nodes") {
			return nil, fmt.Errorf("flag --nodes: needs --example")
		}
		return intent.FromFacts("cluster1", facts.Collect(c.Context(), host.Local{}, now()))
	}
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	return intent.Example(example, nodes, cat)
}
