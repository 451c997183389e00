package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"railwright.dev/railwright/internal/fabric"
)

// manOptions are the arguments and flags of man.
type manOptions struct {
	command []string // words after railwright
	folder  string
}

func (a *app) manCommand(run func(context.Context, *cobra.Command, manOptions) error) *cobra.Command {
	var o manOptions
	c := &cobra.Command{
		Use:   "man [COMMAND...] [-d DIR]",
		Short: "Write the manual pages",
		Long: "Write the manual page of a command, of railwright itself without one, to standard output. With -d write the pages of\n" +
			"all commands into a folder.",
		RunE: func(c *cobra.Command, args []string) error {
			o.command = args
			return run(c.Context(), c.Root(), o)
		},
	}
	c.Flags().StringVarP(&o.folder, "dir", "d", "", "folder to write the pages of all commands to")
	return c
}

func (a *app) man(_ context.Context, root *cobra.Command, o manOptions) error {
	if err := a.textOnly("man", "manual pages"); err != nil {
		return err
	}
	if o.folder == "" {
		c, rest, err := root.Find(o.command)
		if err != nil || len(rest) > 0 || c.Hidden {
			return fabric.UnknownName("command", strings.Join(append([]string{"railwright"}, o.command...), " "), manual(root))
		}
		_, err = a.stdout.Write(a.manPage(c))
		return err
	}
	if len(o.command) > 0 {
		return errors.New("flag -d: writes the pages of all commands: name none")
	}
	if err := os.MkdirAll(o.folder, 0o755); err != nil {
		return fmt.Errorf("flag -d: %w", err)
	}
	var err error
	visible(root, func(c *cobra.Command) {
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		err = errors.Join(err, writeFile("dir", filepath.Join(o.folder, name), a.manPage(c)))
	})
	return err
}

// visible visits a command and all below it that the help shows.
func visible(c *cobra.Command, visit func(*cobra.Command)) {
	visit(c)
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			visible(sub, visit)
		}
	}
}

// manual are the commands that have a page.
func manual(root *cobra.Command) []string {
	var names []string
	visible(root, func(c *cobra.Command) { names = append(names, c.CommandPath()) })
	return names
}

// manPage is the manual page of a command, in the language of man(7). It has no date: the same program writes the same page.
func (a *app) manPage(c *cobra.Command) []byte {
	var b bytes.Buffer
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"railwright %s\" \"railwright\"\n", roff(strings.ToUpper(name)), roff(a.version))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(name), roff(c.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, ".B %s\n", roff(usage(c)))
	section("DESCRIPTION")
	manText(&b, orShort(c))
	if c.HasAvailableSubCommands() {
		section("COMMANDS")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
			}
		}
	}
	own, inherited := c.NonInheritedFlags(), c.InheritedFlags() // what a command inherits is known once it was asked for
	if own.HasAvailableFlags() || inherited.HasAvailableFlags() {
		section("OPTIONS")
		manFlags(&b, own)
		manFlags(&b, inherited)
	}
	section("EXIT STATUS")
	manText(&b, "0 passed, 1 something failed, 2 nothing failed but something is unknown, 64 wrong usage or input, 70 an internal error.")
	if c.Example != "" {
		section("EXAMPLES")
		manText(&b, c.Example)
	}
	return b.Bytes()
}

func orShort(c *cobra.Command) string {
	if c.Long != "" {
		return c.Long
	}
	return c.Short + "."
}

// manText writes paragraphs; lines that begin with a blank stay as they are.
func manText(b *bytes.Buffer, text string) {
	verbatim := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if indented := strings.HasPrefix(line, " "); indented != verbatim {
			verbatim = indented
			b.WriteString(map[bool]string{true: ".nf\n", false: ".fi\n"}[verbatim])
		}
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		b.WriteString(roff(line) + "\n")
	}
	if verbatim {
		b.WriteString(".fi\n")
	}
}

func manFlags(b *bytes.Buffer, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		kind, use := pflag.UnquoteUsage(f)
		text := shownFlag(f)
		if kind != "" {
			text += " " + kind
		}
		if d := f.DefValue; d != "" && d != "0" && d != "false" && d != "[]" {
			use += " (default " + d + ")"
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(text), roff(use))
	})
}

// roff writes a line of text so that nothing in it is a request or an escape.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}
