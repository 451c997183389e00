package cli

import "github.com/spf13/cobra"

func (a *app) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "A model that is served: how far its launch is, and why it stops", Args: noArgs,
		RunE: a.helpOnly,
	}
	c.AddCommand(a.serveWatchCommand(a.serveWatch))
	return c
}
