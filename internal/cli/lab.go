package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/report"
)

func (a *app) labCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "lab", Short: "A cluster of network namespaces on this machine, with faults to plant", Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.labUpCommand(), a.labDownCommand(), a.labStatusCommand(), a.labExecCommand())
	return c
}

type labUpOptions struct {
	file   string
	faults []string
	ssh    bool
	bare   bool

	hardware string
}

func (a *app) labUpCommand() *cobra.Command {
	var o labUpOptions
	c := &cobra.Command{
		Use:   "up [-f FILE] [--hardware RECORDING] [--ssh] [--bare] [--fault KIND=HOST[:NIC][,HOST:NIC]]...",
		Short: "Build a lab, apply the rendered files in it, then plant faults",
		Long:  "Build a lab, apply the rendered files in it, then plant faults. Without -f it is the embedded example.\n\nFaults:\n" + faultList(),
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.labUp(c.Context(), o) },
	}
	fileFlag(c, &o.file)
	c.Flags().BoolVar(&o.ssh, "ssh", false, "add a machine \"admin\" from which the hosts are reached over SSH")
	c.Flags().StringVar(&o.hardware, "hardware", "", "recording (collect --raw) whose hardware lies under every host")
	c.Flags().BoolVar(&o.bare, "bare", false, "apply nothing: hosts as bare as new ones")
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
	in, faults, err := a.labInput(o.file, o.faults)
	if err != nil {
		return err
	}
	recording, err := readHardware(o.hardware)
	if err != nil {
		return err
	}
	l, err := lab.Up(ctx, in.plan, lab.Options{SSH: o.ssh, Hardware: recording})
	if err != nil {
		return err
	}
	err = a.furnishLab(ctx, l, o, faults)
	if err == nil {
		err = l.Leave()
	}
	if err != nil {
		return errors.Join(err, l.Down())
	}
	return a.printLab(l)
}

// readHardware reads a recording and makes sure that it is one with hardware in it, before anything is built.
func readHardware(file string) ([]byte, error) {
	if file == "" {
		return nil, nil
	}
	recording, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("flag --hardware: %w", err)
	}
	if err := facts.LayHardware(&fabric.Facts{}, recording, now()); err != nil {
		return nil, fmt.Errorf("flag --hardware: %q: %w", file, err)
	}
	return recording, nil
}

// labInput reads what a lab is to be made of, and the faults that are to be planted in it.
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
	var planted []lab.Fault
	for _, text := range faults {
		f, err := spec.ParseFault(text)
		if err != nil {
			return nil, nil, err
		}
		planted = append(planted, f)
	}
	return in, planted, nil
}

// furnishLab applies the plan's files in a new lab, waits until it has settled, and plants faults. A bare
// lab is left as new machines are.
func (a *app) furnishLab(ctx context.Context, l *lab.Lab, o labUpOptions, faults []lab.Fault) error {
	c, err := labCrew(l)
	if err != nil {
		return err
	}
	if o.ssh {
		if err := l.StartSSH(ctx); err != nil {
			return err
		}
	}
	if !o.bare {
		results, err := c.apply(ctx, l.Plan, false)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Err != nil {
				return fmt.Errorf("host %q: %w", r.Name, r.Err)
			}
			a.progress("%s: configured by %s%s", r.Name, r.Value.Activation.Network, because(r.Value.Activation.Reason))
		}
	}
	if err := l.StartLLDP(ctx); err != nil {
		return err
	}
	if l.LLDP != "" {
		a.progress("cabling stays unknown: %s", l.LLDP)
	}
	if o.bare {
		return nil
	}
	if err := settle(ctx, c, l.LLDP == ""); err != nil || len(faults) == 0 {
		return err
	}
	if err := l.Plant(ctx, faults); err != nil {
		return err
	}
	return settle(ctx, c, l.LLDP == "")
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// settlePatience is how long a lab may take until each NIC with carrier has an address and has heard from
// its neighbour: networkd takes a second or two, and LLDP frames come each second.
const settlePatience = 10 * time.Second

// settle waits until the lab has settled: all that is expected is there, and nothing changes any more.
// One that does not settle is no error: the check will say what is missing.
func settle(ctx context.Context, c *crew, lldp bool) error {
	var before []*fabric.Facts
	for deadline := time.Now().Add(settlePatience); time.Now().Before(deadline); {
		collected, lost := c.collect(ctx)
		if len(lost) == 0 && settled(collected, lldp) && slices.EqualFunc(before, collected, sameNetwork) {
			return nil
		}
		before = collected
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
	return nil
}

// sameNetwork says whether two facts of a host show the same network; neighbour states come and go.
func sameNetwork(a, b *fabric.Facts) bool {
	return reflect.DeepEqual(a.NICs, b.NICs) && reflect.DeepEqual(a.Routes, b.Routes) &&
		reflect.DeepEqual(a.Rules, b.Rules) && reflect.DeepEqual(a.LLDP, b.LLDP)
}

func settled(nodes []*fabric.Facts, lldp bool) bool {
	for _, f := range nodes {
		heard := make(map[string]bool)
		for _, n := range f.LLDP {
			heard[n.NIC] = true
		}
		for _, nic := range f.NICs {
			if nic.Name == "lo" || nic.Carrier == nil || !*nic.Carrier {
				continue
			}
			if nic.OperState != "up" || len(nic.Addresses) == 0 || lldp && !heard[nic.Name] {
				return false
			}
		}
	}
	return true
}

func (a *app) labDownCommand() *cobra.Command {
	return &cobra.Command{
		Use: "down", Short: "End the lab, or clear one that a killed run left", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			found, err := lab.Clear()
			if err != nil {
				return err
			}
			a.progress("%s", found)
			return nil
		},
	}
}

func (a *app) labStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the lab that is up", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			l, err := lab.Open()
			if err != nil {
				return err
			}
			return a.printLab(l)
		},
	}
}

func (a *app) printLab(l *lab.Lab) error {
	if a.json() {
		return report.JSON(a.stdout, l)
	}
	fmt.Fprintf(a.stdout, "lab %s is up: %s, leaf %s\n", l.Plan.Name, fabric.Count(len(l.Plan.Nodes), "host"), l.Spec.Leaf)
	for _, f := range l.Faults {
		fmt.Fprintf(a.stdout, "fault planted: %s\n", f)
	}
	_, err := fmt.Fprintf(a.stdout, "look inside: railwright lab exec %s -- ip address\njudge it:    railwright check --lab\nping it:     railwright bench --lab\nend it:      railwright lab down\n", l.Plan.Nodes[0].Name)
	return err
}

func (a *app) labExecCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "exec HOST -- COMMAND...", Short: "Run a command on a machine of the lab", Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			l, err := lab.Open()
			if err != nil {
				return err
			}
			h, err := l.Host(args[0])
			if err != nil {
				return err
			}
			if args[1] == "--" {
				args = args[1:]
			}
			status, err := h.Attach(c.Context(), args[1:])
			if err == nil && status != 0 {
				return verdict(status)
			}
			return err
		},
	}
	c.Flags().SetInterspersed(false) // what stands behind the host is the command's
	return c
}
