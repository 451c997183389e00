package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/mcp"
)

// mcpOptions are the flags of mcp.
type mcpOptions struct {
	root string
}

func (a *app) mcpCommand(run func(context.Context, mcpOptions) error) *cobra.Command {
	var o mcpOptions
	c := &cobra.Command{
		Use:   "mcp [--root DIR]",
		Short: "Offer the commands that only compute to a language model, as an MCP server",
		Long: "Offer the commands that only compute to a language model: a server of the Model Context Protocol on standard input\n" +
			"and output, which an MCP client starts. Its tools are explain, check (of saved facts), diff, predict, size, claims,\n" +
			"topo_show, topo_lint, plan, catalog, cause and rule; each answers with the JSON of the command.\n\n" +
			"The tools read files below DIR and nothing else; they write no file, start no process and reach no machine. A link\n" +
			"that leads out of DIR is refused. Messages go to standard error. The server ends with standard input.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.root, "root", ".", "folder whose files the tools may read")
	return c
}

func (a *app) mcp(ctx context.Context, o mcpOptions) (err error) {
	if err := a.textOnly("mcp", "the protocol"); err != nil {
		return err
	}
	folder, err := files.OpenFolder(o.root)
	if err != nil {
		return fmt.Errorf("flag --root: %w", err)
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	server := mcp.New(mcp.Config{Version: a.version, Folder: folder, Commands: a.commandPaths(), Words: toolWords, Run: a.tool, Log: a.stderr})
	return server.Serve(ctx, a.stdin, a.exact())
}

// tool runs a command for a client, apart from this one: with its own streams, files and flags.
func (a *app) tool(ctx context.Context, c mcp.Command) int {
	b := newApp(a.version, c.Stdin, c.Stdout, c.Stderr)
	b.files, b.unwatched = c.Files, true
	return b.end(b.execute(ctx, c.Args))
}

// commandPaths are all commands, without the name of the program.
func (a *app) commandPaths() (paths []string) {
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		_, path, _ := strings.Cut(c.CommandPath(), " ")
		paths = append(paths, path)
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(a.root())
	return paths
}

// toolWords are the words of a flag or argument that takes one of a closed set, without their descriptions.
func toolWords(name string) []string {
	var all []string
	switch name {
	case "dtype":
		return collective.DTypes()
	case "kind":
		cat, err := catalog.Load()
		if err != nil {
			return nil
		}
		for _, k := range cat.Kinds() {
			all = append(all, k.Name)
		}
	default:
		if list, known := flagWords()[name]; known {
			for _, word := range list() {
				word, _, _ = strings.Cut(word, "\t")
				all = append(all, word)
			}
		}
	}
	return all
}
