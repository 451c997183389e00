package cli

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// collectOptions are the flags of collect.
type collectOptions struct {
	root   string
	text   string
	raw    string
	bundle string
	redact bool
	hosts  string
	file   string
	folder string
}

func (a *app) collectCommand(run func(context.Context, collectOptions) error) *cobra.Command {
	var o collectOptions
	c := &cobra.Command{
		Use:   "collect [--root DIR | --text DIR | (--hosts RANGE | -f FILE) [-d DIR]] [--raw FILE [--redact]] | --bundle FILE.tar.gz [--redact]",
		Short: "Print the facts of this host, of a captured tree, or of hosts, as JSON",
		Long: "Print the facts of this host, of a captured tree, or over SSH of a range of hosts, as JSON: for hosts one\n" +
			"document per line, or with -d one file per host, for check --snapshot. With -f the hosts are those of a cluster\n" +
			"file; the ESX hosts of platform vsphere answer over SSH (vsphere.ssh), by the vSphere API (vsphere.vcenter, as the\n" +
			"user of RAILWRIGHT_VCENTER_USER with RAILWRIGHT_VCENTER_PASSWORD), or both, and nothing is copied to them.\n" +
			"With --text the facts come from a folder\n" +
			"that holds the output of tools, such as lspci -vvv, ip -details address, ibstat and nvidia-smi: one file each, with\n" +
			"any name; the folder's name is the host's. With --raw everything that was read is saved in a recording, one text\n" +
			"file that only its owner can read and that check and diff accept like a live host; the facts are then not printed.\n" +
			"--redact removes names, serial numbers, GUIDs and addresses from it.\n\n" +
			"--bundle writes what the support of a vendor asks for: the recording, the output of a list of commands of the kernel's,\n" +
			"NIC's and GPU's tools with its exit status and time, some files, and an index that says what is missing and why. Each\n" +
			"command has a time limit and a bound on its output. check --snapshot and explain take the bundle as it is.\n\n" +
			"Exit status 0: what every check of such a host needs was read; 2: something of it was not; see missing.",
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	c.Flags().StringVar(&o.root, "root", "", "folder with a captured /sys, /proc, /etc")
	c.Flags().StringVar(&o.text, "text", "", "folder with the output of tools, one file each")
	outputFlag(c, &o.raw, "raw", "file to write a recording to instead of printing the facts; - writes it to standard output")
	outputFlag(c, &o.bundle, "bundle", "file to write a support bundle of this host to, as tar.gz")
	c.Flags().BoolVar(&o.redact, "redact", false, "with --raw and --bundle: replace names, serial numbers, GUIDs and addresses")
	c.Flags().StringVar(&o.hosts, "hosts", "", "hosts to reach over SSH, such as gpu[001-512]")
	fileFlag(c, &o.file)
	c.Flags().StringVarP(&o.folder, "dir", "d", "", "with --hosts and -f: folder to write one file per host to")
	c.MarkFlagsMutuallyExclusive("root", "text", "hosts", "file")
	c.MarkFlagsMutuallyExclusive("raw", "hosts")
	c.MarkFlagsMutuallyExclusive("raw", "file")
	c.MarkFlagsMutuallyExclusive("raw", "text")
	for _, other := range []string{"raw", "root", "text", "hosts", "file", "dir"} {
		c.MarkFlagsMutuallyExclusive("bundle", other)
	}
	return c
}

func (a *app) collect(ctx context.Context, o collectOptions) (err error) {
	switch {
	case o.redact && o.raw == "" && o.bundle == "":
		return errors.New("flag --redact: needs --raw or --bundle")
	case o.folder != "" && o.hosts == "" && o.file == "":
		return errors.New("flag -d: needs --hosts or -f")
	case o.file != "":
		return a.collectCluster(ctx, o)
	case o.hosts != "":
		return a.collectHosts(ctx, o.hosts, o.folder)
	case o.bundle != "":
		return a.collectBundle(ctx, o)
	}
	var h host.Host = host.Local{}
	if o.root != "" {
		tree, err := openTree(o.root)
		if err != nil {
			return err
		}
		defer tree.Close()
		h = tree
	}
	a.doing("reading %s", fabric.Printable(h.Name()))
	f, recording, err := a.collectHost(ctx, h, o)
	if err != nil {
		return err
	}
	if o.raw == "" {
		err = report.JSON(a.stdout, f)
	} else {
		err = a.writeRecording(recording, o)
	}
	if err != nil {
		return err
	}
	lost := check.Unread(f)
	if len(lost) == 0 {
		return nil
	}
	if o.raw != "" { // the facts, which list it, are not printed
		a.printUnread(lost)
	}
	return verdict(exitUnknown)
}

func (a *app) printUnread(lost []fabric.Missing) {
	for _, m := range lost {
		fmt.Fprintf(a.stderr, "railwright: not read: %s: %s (%s)\n", fabric.Printable(m.What), fabric.Printable(m.Reason), fabric.Printable(m.Source))
	}
}

// collectHost reads one host, and with --raw records what was read.
func (a *app) collectHost(ctx context.Context, h host.Host, o collectOptions) (f *fabric.Facts, recording []byte, err error) {
	if o.text != "" {
		f, err = facts.LoadText(o.text)
		return f, nil, err
	}
	at := now()
	if o.raw == "" {
		return facts.Collect(ctx, h, at), nil, nil
	}
	recorder := host.NewRecorder(h, a.version, at)
	f = facts.Collect(ctx, recorder, at)
	return f, recorder.Archive(), nil
}

// writeRecording writes a recording, redacted where that is asked for.
func (a *app) writeRecording(archive []byte, o collectOptions) error {
	if o.redact {
		var err error
		if archive, err = host.Redact(archive, newSalt()); err != nil {
			return fmt.Errorf("redact: %w", err)
		}
	}
	if o.raw == "-" {
		_, err := a.exact().Write(archive)
		return err
	}
	return writeThrough(run.WritePrivate, "raw", o.raw, archive)
}

// newSalt is a secret of this call alone.
func newSalt() []byte {
	salt := make([]byte, 32)
	rand.Read(salt) // crypto/rand.Read never fails
	return salt
}

func openTree(root string) (*host.Tree, error) {
	if info, err := os.Stat(filepath.Join(root, "sys")); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("captured tree %q: no folder sys in it: give the folder that corresponds to /", root)
	}
	return host.OpenTree(filepath.Base(filepath.Clean(root)), root)
}

// collectHosts returns the facts of a range of hosts. Hosts that did not answer are listed on standard error.
func (a *app) collectHosts(ctx context.Context, hosts, folder string) (err error) {
	names, err := fabric.ExpandNames(hosts)
	if err != nil {
		return fmt.Errorf("flag --hosts: %w", err)
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	a.doingSSH("logging in to", names)
	f, err := fleet.SSH(ctx, names, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	a.doingSSH("reading", names)
	nodes, lost := pipeline.Collect(ctx, f)
	return a.writeFacts(ctx, folder, nodes, lost)
}

// collectCluster returns the facts of the machines of a cluster file, and of the ESX hosts below them.
func (a *app) collectCluster(ctx context.Context, o collectOptions) (err error) {
	g, err := a.gather(ctx, fleetOptions{file: o.file}, pipeline.CollectOfPods)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.close()) }()
	return a.writeFacts(ctx, o.folder, g.nodes, g.lost)
}

// writeFacts writes what was read, and names on standard error what was not.
func (a *app) writeFacts(ctx context.Context, folder string, nodes []*fabric.Facts, lost []fabric.Missing) (err error) {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	incomplete := len(lost) > 0
	for _, f := range nodes {
		incomplete = incomplete || len(check.Unread(f)) > 0
		if folder != "" {
			err = run.Folder(folder).Write(f.Node+".json", f)
		} else {
			err = json.NewEncoder(a.stdout).Encode(f)
		}
		if err != nil {
			return err
		}
	}
	for _, same := range sameReason(lost) {
		printf(a.stderr, "railwright: no facts of %s: %s\n", draw.Names(same.names, 8), same.reason)
	}
	if incomplete {
		return verdict(exitUnknown)
	}
	return nil
}

// notReached is machines without facts for one reason.
type notReached struct {
	names  []string
	reason string
}

// sameReason groups machines by why there are no facts of them, in the order of the first of each.
func sameReason(lost []fabric.Missing) (groups []notReached) {
	for _, m := range lost {
		i := slices.IndexFunc(groups, func(g notReached) bool { return g.reason == m.Reason })
		if i < 0 {
			i, groups = len(groups), append(groups, notReached{reason: m.Reason})
		}
		groups[i].names = append(groups[i].names, m.What)
	}
	return groups
}
