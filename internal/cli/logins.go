package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/report"
)

// loginsOptions are the flags of logins.
type loginsOptions struct {
	file   string
	accept bool
}

func (a *app) loginsCommand(run func(context.Context, loginsOptions) error) *cobra.Command {
	var o loginsOptions
	c := &cobra.Command{
		Use:   "logins -f FILE [--accept-new]",
		Short: "Logins without a password from here to every machine, and between them, with host keys recorded",
		Long: "Set up logins without a password from here to every machine of a cluster file, and from each machine to every other one,\n" +
			"as mpirun needs them. Host keys are shown, recorded here and on the machines, and checked ever after; one that is known and\n" +
			"has changed is refused, with what to do. Where no key opens a machine, ssh asks you for its password, which goes to ssh alone.\n" +
			"Lines that are in ~/.ssh/authorized_keys and ~/.ssh/known_hosts stay; what is there already is not added again.\n\n" +
			"On each machine it is done for the user of the cluster file, or of the ssh configuration. A key that has to be made is of\n" +
			"kind ed25519 and has no passphrase, because nobody could type it while a job starts.\n\n" +
			"Exit status: 0 every machine can log in to every other one, 1 a host key was refused or a login fails, 2 a machine did not answer.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.accept, "accept-new", false, "record host keys that are new without asking; one that has changed is refused all the same")
	return c
}

func (a *app) logins(ctx context.Context, o loginsOptions) error {
	if o.file == "" {
		return errors.New("a cluster file is needed: -f FILE (make one with: railwright init)")
	}
	in, err := a.readCluster(o.file)
	if err != nil {
		return err
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	asker := bufio.NewReader(a.stdin)
	t, err := fleet.Trust(ctx, in.cluster, fabricAddresses(in.plan), fleet.TrustOptions{
		Accept: func(unknown []fleet.Trusted) (bool, error) { return a.acceptKeys(asker, unknown, o.accept) },
		Asks: func(node string) error {
			if !isTerminal(a.stdin) && os.Getenv("SSH_ASKPASS") == "" {
				return errors.New("nobody is at a terminal whom ssh could ask for the password: run railwright logins at one")
			}
			fmt.Fprintf(a.stderr, "%s accepts none of your keys yet; ssh asks for its password:\n", node)
			return nil
		},
	})
	if err != nil {
		return err
	}
	if err := a.printTrust(t); err != nil {
		return err
	}
	return exitOf(t.Status())
}

// isTerminal reports whether a stream is a person's.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// fabricAddresses are the planned addresses of each machine, by which mpirun may call it.
func fabricAddresses(p *fabric.Plan) map[string][]string {
	all := make(map[string][]string)
	for _, n := range p.Addressing.Nodes {
		for _, nic := range n.NICs {
			all[n.Node] = append(all[n.Node], nic.Address.Addr().String())
		}
	}
	return all
}

// acceptKeys shows keys that are unknown, and asks the person at the terminal.
func (a *app) acceptKeys(asker *bufio.Reader, unknown []fleet.Trusted, accept bool) (bool, error) {
	fmt.Fprintln(a.stderr, "These host keys are new here:")
	for _, n := range unknown {
		for _, k := range n.Keys {
			if !k.Known {
				fmt.Fprintf(a.stderr, "  %-16s %-20s %s\n", fabric.Printable(n.Node), k.Type, k.Fingerprint)
			}
		}
	}
	const compare = "ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub   # on the machine's own screen, or by another way that you trust"
	if accept {
		return true, nil
	}
	if !isTerminal(a.stdin) {
		return false, errors.New("nobody is at a terminal to say whether they are right: compare them with " + compare + ", and repeat with --accept-new")
	}
	fmt.Fprintf(a.stderr, "Compare them with: %s\nAre they right? Type yes to record them: ", compare)
	answer, err := asker.ReadString('\n')
	if err != nil {
		return false, fmt.Errorf("no answer: %w", err)
	}
	return strings.TrimSpace(strings.ToLower(answer)) == "yes", nil
}

func (a *app) printTrust(t fleet.Trusts) error {
	if a.json() {
		return report.JSON(a.stdout, t)
	}
	if t.Made != "" {
		printf(a.stdout, "made     %s\n", t.Made)
	}
	for _, n := range t.Nodes {
		printf(a.stdout, "%s\n", fabric.Printable(n.Node))
		for _, k := range n.Keys {
			printf(a.stdout, "  %-8s %s %s\n", "key", k.Type, k.Fingerprint)
		}
		for _, c := range n.Changed {
			printf(a.stdout, "  %-8s %s\n", "changed", fabric.Printable(c))
		}
		if n.Reason != "" {
			printf(a.stdout, "  %-8s %s\n", n.Status, fabric.Printable(n.Reason))
		}
		if n.Note != "" {
			printf(a.stdout, "  %-8s %s\n", "note", fabric.Printable(n.Note))
		}
	}
	passed := 0
	for _, p := range t.Pairs {
		if p.Status == fabric.Pass {
			passed++
			continue
		}
		printf(a.stdout, "%s to %s\n  %-8s %s\n", fabric.Printable(p.From), fabric.Printable(p.To), p.Status, fabric.Printable(p.Reason))
	}
	printf(a.stdout, "%s: %d of %s between machines work without a question\n", strings.ToUpper(t.Status().String()), passed, fabric.Count(len(t.Pairs), "login"))
	return nil
}
