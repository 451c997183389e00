package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
)

func (a *app) labCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "lab", Short: "A cluster of network namespaces on this machine, with faults to plant", Args: noArgs,
		RunE: a.helpOnly,
	}
	c.AddCommand(a.labUpCommand(a.labUp), labCommandWithout("down", "Stop the lab, or clean up after a killed run", a.labDown),
		labCommandWithout("status", "Show the running lab", a.labStatus), a.labExecCommand(a.labExec))
	return c
}

// labCommandWithout returns a command without flags and arguments.
func labCommandWithout(use, short string, run func(context.Context) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: noArgs, RunE: func(c *cobra.Command, _ []string) error { return run(c.Context()) }}
}

// labUpOptions are the flags of lab up.
type labUpOptions struct {
	file     string
	faults   []string
	ssh      bool
	bare     bool
	hardware string
}

func (a *app) labUpCommand(run func(context.Context, labUpOptions) error) *cobra.Command {
	var o labUpOptions
	c := &cobra.Command{
		Use:   "up [-f FILE] [--hardware RECORDING] [--ssh] [--bare] [--fault KIND=HOST[:NIC][,HOST:NIC]]...",
		Short: "Build a lab, apply the rendered files in it, then plant faults",
		Long:  "Build a lab, apply the rendered files in it, then plant faults. Without -f it is the embedded example.\n\nFaults:\n" + faultList(),
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return run(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.ssh, "ssh", false, "add a machine \"admin\" from which the hosts are reached over SSH")
	c.Flags().StringVar(&o.hardware, "hardware", "", "recording (collect --raw) with the hardware that every host shows")
	c.Flags().BoolVar(&o.bare, "bare", false, "apply nothing: leave the hosts unconfigured")
	c.Flags().StringArrayVar(&o.faults, "fault", nil, "a fault to plant, such as mtu=host1:eth3; can be repeated")
	c.MarkFlagsMutuallyExclusive("bare", "fault")
	return c
}

func faultList() string {
	var b strings.Builder
	for _, k := range lab.FaultKinds() {
		fmt.Fprintf(&b, "  %-12s %s (%s)\n", k.Name, k.Doc, k.Cause)
	}
	return b.String()
}

func (a *app) labUp(ctx context.Context, o labUpOptions) error {
	a.doing("building the lab: namespaces, cables, leaf")
	in, faults, err := a.labInput(o.file, o.faults)
	if err != nil {
		return err
	}
	recording, err := readHardware(o.hardware)
	if err != nil {
		return err
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	l, err := lab.Up(ctx, in.plan, lab.Options{SSH: o.ssh, Hardware: recording, Faults: faults})
	if err != nil {
		return err
	}
	if l.Cleared {
		a.progress("cleared the lab that a killed run left")
	}
	err = pipeline.SetUpLab(ctx, l, pipeline.LabSetup{SSH: o.ssh, Bare: o.bare, Faults: faults}, a.progress)
	if err == nil {
		err = l.Leave()
	}
	if err != nil {
		return errors.Join(err, l.Down())
	}
	return a.printLab(l)
}

// readHardware reads a recording and checks that it contains hardware, before anything is built.
func readHardware(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("flag --hardware: %w", err)
	}
	defer f.Close()
	recording, err := io.ReadAll(io.LimitReader(f, host.MaxRecording+1))
	if err != nil {
		return nil, fmt.Errorf("flag --hardware: %w", err)
	}
	if len(recording) > host.MaxRecording {
		return nil, fmt.Errorf("flag --hardware: %q: longer than %d bytes", file, host.MaxRecording)
	}
	if err := facts.LayHardware(&fabric.Facts{}, recording, now()); err != nil {
		return nil, fmt.Errorf("flag --hardware: %q: %w", file, err)
	}
	return recording, nil
}

// labInput returns the specification of a lab and the faults to plant in it.
func (a *app) labInput(file string, faults []string) (*input, []lab.Fault, error) {
	in, err := exampleCluster()
	if file != "" {
		in, err = a.readCluster(file)
	}
	if err != nil {
		return nil, nil, err
	}
	spec, err := lab.NewSpec(in.plan)
	if err != nil {
		return nil, nil, err
	}
	planted, err := spec.ParseFaults(faults)
	return in, planted, err
}

func (a *app) labDown(ctx context.Context) error {
	if err := a.begin(ctx); err != nil {
		return err
	}
	found, err := lab.Clear()
	if err != nil {
		return err
	}
	a.progress("%s", found)
	return nil
}

func (a *app) labStatus(context.Context) error {
	l, err := lab.Open()
	if err != nil {
		return err
	}
	return a.printLab(l)
}

func (a *app) printLab(l *lab.Lab) error {
	if a.json() {
		return report.JSON(a.stdout, l)
	}
	printf(a.stdout, "lab %s is up: %s\n", l.Plan.Name, l.Spec.Shape())
	for _, f := range l.Faults {
		printf(a.stdout, "fault planted: %s\n", f)
	}
	printf(a.stdout, "look inside: railwright lab exec %s -- ip address\ncheck it:    railwright check --lab\nping it:     railwright bench --lab\nstop it:     railwright lab down\n", fabric.ShellWord(l.Plan.Nodes[0].Name))
	return nil
}

// labExecOptions are the arguments of lab exec.
type labExecOptions struct {
	host string
	argv []string
}

func (a *app) labExecCommand(run func(context.Context, labExecOptions) error) *cobra.Command {
	c := &cobra.Command{
		Use: "exec HOST -- COMMAND...", Short: "Run a command on a machine of the lab", Args: takesMore("HOST", "COMMAND"),
		RunE: func(c *cobra.Command, args []string) error {
			o := labExecOptions{host: args[0], argv: args[1:]}
			if o.argv[0] == "--" {
				o.argv = o.argv[1:]
			}
			return run(c.Context(), o)
		},
	}
	c.Flags().SetInterspersed(false) // flags after the host belong to the command
	return c
}

func (a *app) labExec(ctx context.Context, o labExecOptions) error {
	l, err := lab.Open()
	if err != nil {
		return err
	}
	h, err := l.Host(o.host)
	if err != nil {
		return err
	}
	if err := a.begin(ctx); err != nil {
		return err
	}
	status, err := h.Attach(ctx, o.argv)
	if err == nil && status != 0 {
		return verdict(status)
	}
	return err
}
