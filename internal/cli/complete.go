package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/sizing"
)

// wordList is what a flag or an argument may be; a tab separates a word from its description.
type wordList func() []string

// flagWords are the words of the flags that take one of a closed set, whatever the command.
func flagWords() map[string]wordList {
	return map[string]wordList{
		"machine":    ofCatalog("machines"),
		"gpu":        ofCatalog("gpus"),
		"net":        networkWords,
		"collective": func() []string { return textsOf(fabric.Collectives()) },
		"engine":     engineWords,
		"kv-dtype":   llm.KVDTypes,
		"example":    intent.Examples,
		"fault":      faultWords,
		"dry-run":    dryRunWords,
		"suite":      func() []string { return []string{"ping"} },
		"output":     func() []string { return []string{"text", "json"} },
		"nccl":       ncclWords,
		"cpu":        func() []string { return []string{"intel", "amd", "arm"} },
	}
}

// argumentWords are the words of the arguments of a command, given those before; ok is false for one that takes files.
func argumentWords(path string, before []string) (w wordList, ok bool) {
	switch {
	case path == "railwright size" && len(before) == 0:
		return ofCatalog("models"), false // or a file
	case path == "railwright catalog" && len(before) == 0:
		return catalogWords, true
	case path == "railwright catalog" && len(before) == 1:
		return ofCatalog(before[0]), true
	case path == "railwright cause" && len(before) == 0:
		return causeWords, true
	case path == "railwright rule" && len(before) == 0:
		return ruleIDs, true
	case path == "railwright schema" && len(before) == 0:
		return schemaKinds, true
	case path == "railwright lab exec" && len(before) == 0:
		return labWords, true
	case path == "railwright explain", path == "railwright diff", path == "railwright report", strings.HasPrefix(path, "railwright topo "), path == "railwright serve watch", path == "railwright serve load", path == "railwright serve lint":
		return nil, false
	}
	return nil, true
}

// commandWords are the subcommands of the command that words name, with what they do.
func commandWords(root *cobra.Command, names []string) wordList {
	return func() []string {
		c, rest, err := root.Find(names)
		if err != nil || len(rest) > 0 {
			return nil
		}
		var out []string
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				out = append(out, sub.Name()+"\t"+sub.Short)
			}
		}
		return out
	}
}

// completeWords lets the shell complete flags and arguments of a command.
func completeWords(c *cobra.Command) {
	for name, w := range flagWords() {
		if c.Flags().Lookup(name) == nil && c.PersistentFlags().Lookup(name) == nil { // before the parents' flags are merged into them, which takes a millisecond
			continue
		}
		directive := cobra.ShellCompDirectiveNoFileComp
		if name == "fault" {
			directive |= cobra.ShellCompDirectiveNoSpace // the host follows
		}
		// It fails for a flag that the command does not have, which was just looked up.
		_ = c.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return beginning(w(), begun), directive
		})
	}
	if c.HasSubCommands() {
		return // cobra completes subcommands
	}
	c.ValidArgs = nil
	c.ValidArgsFunction = func(c *cobra.Command, before []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		w, closed := argumentWords(c.CommandPath(), before)
		if c.Name() == "help" || c.Name() == "man" {
			w = commandWords(c.Root(), before)
		}
		directive := cobra.ShellCompDirectiveDefault
		if closed {
			directive = cobra.ShellCompDirectiveNoFileComp
		}
		if w == nil {
			return nil, directive
		}
		return beginning(w(), begun), directive
	}
}

// beginning are the words that begin with a text.
func beginning(all []string, text string) []string {
	return slices.DeleteFunc(all, func(word string) bool { return !strings.HasPrefix(word, text) })
}

// ofCatalog are the parts of a kind with their titles; none where the kind is unknown.
func ofCatalog(kind string) wordList {
	return func() []string {
		cat, err := catalog.Load()
		if err != nil {
			return nil
		}
		if _, known := cat.Kind(kind); !known {
			return nil
		}
		var out []string
		for _, p := range cat.Parts(kind) {
			out = append(out, p.Name+"\t"+p.Title)
		}
		return out
	}
}

// catalogWords are the kinds of the catalog, and the names of all parts.
func catalogWords() []string {
	cat, err := catalog.Load()
	if err != nil {
		return nil
	}
	var out []string
	for _, k := range cat.Kinds() {
		out = append(out, k.Name+"\t"+k.Title)
	}
	for _, p := range cat.Parts("") {
		out = append(out, p.Name+"\t"+p.Title)
	}
	return out
}

func networkWords() []string {
	cat, err := catalog.Load()
	if err != nil {
		return nil
	}
	return append(slices.Sorted(maps.Keys(cat.Fabrics)), "none")
}

func engineWords() []string {
	var out []string
	for _, e := range sizing.Engines() {
		out = append(out, e.Name)
	}
	return out
}

func faultWords() []string {
	var out []string
	for _, k := range lab.FaultKinds() {
		out = append(out, k.Name+"=\t"+k.Doc)
	}
	return out
}

// labWords are the hosts of the lab that is up.
func labWords() []string {
	l, err := lab.Open()
	if err != nil {
		return nil
	}
	var out []string
	for _, n := range l.Plan.Nodes {
		out = append(out, n.Name)
	}
	return out
}

func textsOf[T ~string](values []T) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
