package cli

import "github.com/spf13/cobra"

func (a *app) serveCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "serve", Short: "A model that is served: what is wrong with its manifests, how far its launch is, whether its API answers, and what its load tests say", Args: noArgs,
		RunE: a.helpOnly,
	}
	c.AddCommand(a.serveSmokeCommand(a.serveSmoke), a.serveLoadCommand(a.serveLoad), a.serveWatchCommand(a.serveWatch), a.serveLintCommand(a.serveLint))
	return c
}
