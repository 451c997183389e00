package cli

import (
	"context"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
	"railwright.dev/railwright/internal/report"
)

// causeOptions is the argument of cause.
type causeOptions struct {
	id string // empty: all
}

func (a *app) causeCommand(run func(context.Context, causeOptions) error) *cobra.Command {
	return &cobra.Command{
		Use:   "cause [ID]",
		Short: "Show the causes that explain knows: signs, priors, what confirms and what fixes each",
		Long: "Show what explain knows of causes: without an argument all of them, with ID one: what it is, how likely it is before\n" +
			"anything was seen and why, which messages of programs speak for it, the commands that confirm and fix it, and the\n" +
			"measurements that test it with what they cost.",
		Args: mayTake(1),
		RunE: func(c *cobra.Command, args []string) error {
			var o causeOptions
			if len(args) > 0 {
				o.id = args[0]
			}
			return run(c.Context(), o)
		},
	}
}

func (a *app) cause(_ context.Context, o causeOptions) error {
	known, err := causes.Load()
	if err != nil {
		return err
	}
	catalogue, err := messages.Load()
	if err != nil {
		return err
	}
	speaks := func(id fabric.CauseID) []fabric.CauseMessage { return speaksFor(catalogue.All(), id) }
	list := fabric.CauseList{Meta: fabric.NewMeta("CauseList")}
	var ids []string
	for _, e := range known.All() {
		ids = append(ids, string(e.ID))
		if o.id == "" || o.id == string(e.ID) {
			k, _ := known.Describe(e.ID, speaks)
			list.Causes = append(list.Causes, k)
		}
	}
	switch {
	case len(list.Causes) == 0:
		return fabric.UnknownName("cause", o.id, ids)
	case a.json():
		return report.JSON(a.stdout, list)
	case o.id == "":
		return report.KnownCauses(a.stdout, list.Causes, a.textOptions())
	default:
		return report.KnownCause(a.stdout, list.Causes[0], a.textOptions())
	}
}

// speaksFor returns the messages that make a cause more likely, in the order of their catalogue.
func speaksFor(all []messages.Message, id fabric.CauseID) (found []fabric.CauseMessage) {
	for _, m := range all {
		if s := m.Signs[id]; s.Ratio() > 1 {
			found = append(found, fabric.CauseMessage{ID: m.ID, Means: m.Means, Word: string(s), Ratio: s.Ratio()})
		}
	}
	return found
}

// causeWords are the ids of all causes with what they are.
func causeWords() []string {
	known, err := causes.Load()
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range known.All() {
		out = append(out, string(e.ID)+"\t"+e.What)
	}
	return out
}
