package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/report"
)

func (a *app) labCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "lab", Short: "A cluster of network namespaces on this machine, with faults to plant", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.labUpCommand(), a.labDownCommand(), a.labStatusCommand(), a.labExecCommand())
	return c
}

func (a *app) labUpCommand() *cobra.Command {
	var file string
	var faults []string
	c := &cobra.Command{
		Use:   "up [-f FILE] [--fault KIND=HOST[:NIC][,HOST:NIC]]...",
		Short: "Build a lab, apply the rendered files in it, then plant faults",
		Long:  "Build a lab, apply the rendered files in it, then plant faults. Without -f it is the embedded example.\n\nFaults:\n" + faultList(),
		Args:  cobra.NoArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return a.labUp(c.Context(), file, faults) },
	}
	fileFlag(c, &file)
	c.Flags().StringArrayVar(&faults, "fault", nil, "a fault to plant, such as mtu=host1:eth3; can be repeated")
	return c
}

func faultList() string {
	var b strings.Builder
	for _, k := range lab.FaultKinds() {
		fmt.Fprintf(&b, "  %-12s %s (%s)\n", k.Name, k.Doc, k.Cause)
	}
	return b.String()
}

func (a *app) labInput(file string) (*input, error) {
	if file == "" {
		return exampleCluster()
	}
	return a.readCluster(file)
}

func (a *app) labUp(ctx context.Context, file string, faults []string) error {
	in, err := a.labInput(file)
	if err != nil {
		return err
	}
	spec, err := lab.NewSpec(in.plan)
	if err != nil {
		return err
	}
	var planted []lab.Fault
	for _, text := range faults {
		f, err := spec.ParseFault(text)
		if err != nil {
			return err
		}
		planted = append(planted, f)
	}
	l, err := lab.Up(ctx, in.plan)
	if err != nil {
		return err
	}
	if err := a.furnishLab(ctx, l, planted); err != nil {
		return errors.Join(err, l.Down())
	}
	return a.printLab(l)
}

// furnishLab applies the plan's files in a new lab, waits until it has settled, and plants faults.
func (a *app) furnishLab(ctx context.Context, l *lab.Lab, faults []lab.Fault) error {
	results, err := applyLab(ctx, l)
	if err != nil {
		return err
	}
	for _, r := range results {
		a.progress("%s: configured by %s%s", r.Node, r.Activation.Network, because(r.Activation.Reason))
	}
	if err := l.StartLLDP(ctx); err != nil {
		return err
	}
	if l.LLDP != "" {
		a.progress("cabling stays unknown: %s", l.LLDP)
	}
	if err := settle(ctx, l); err != nil {
		return err
	}
	if len(faults) == 0 {
		return nil
	}
	if err := l.Plant(ctx, faults); err != nil {
		return err
	}
	return settle(ctx, l)
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return " (" + reason + ")"
}

// self is the command line with which this program runs a step of itself at the far end.
func self(step string) ([]string, error) {
	path, err := os.Executable()
	return []string{path, "node", step}, err
}

// inLab runs a step of this program on every host of the lab at once, and decodes what each prints.
func inLab[T any](ctx context.Context, l *lab.Lab, step string, stdin func(node string) ([]byte, error)) (map[string]T, error) {
	hosts, err := l.Hosts()
	if err != nil {
		return nil, err
	}
	argv, err := self(step)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var failed error
	answers := make(map[string]T)
	host.Each(hosts, len(hosts), func(h host.Namespace) {
		var answer T
		in, err := stdin(h.Name())
		if err == nil {
			err = runOn(ctx, h, argv, in, &answer)
		}
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
		answers[h.Name()] = answer
	})
	return answers, failed
}

func runOn(ctx context.Context, h host.Namespace, argv []string, stdin []byte, answer any) error {
	out, err := host.Output(ctx, h, host.Command{Argv: argv, Stdin: bytes.NewReader(stdin)})
	if err != nil {
		return fmt.Errorf("host %q: %w", h.Name(), err)
	}
	if err := json.Unmarshal(out, answer); err != nil {
		return fmt.Errorf("host %q: %w", h.Name(), err)
	}
	return nil
}

// applyLab writes and brings into force what is rendered for each host of the lab, in plan order.
func applyLab(ctx context.Context, l *lab.Lab) ([]apply.Result, error) {
	byTarget, err := artifactsOf(l.Plan)
	if err != nil {
		return nil, err
	}
	addresses := l.Plan.Addressing.ByNode()
	answers, err := inLab[apply.Result](ctx, l, "apply", func(node string) ([]byte, error) {
		return json.Marshal(apply.Bundle{Node: node, MTU: l.Plan.MTU, Addresses: addresses[node].NICs, Artifacts: byTarget[node]})
	})
	if err != nil {
		return nil, err
	}
	var results []apply.Result
	for _, n := range l.Plan.Nodes {
		results = append(results, answers[n.Name])
	}
	return results, nil
}

// collectLab gives the facts of every host of the lab, in plan order.
func collectLab(ctx context.Context, l *lab.Lab) ([]*fabric.Facts, error) {
	answers, err := inLab[*fabric.Facts](ctx, l, "collect", func(string) ([]byte, error) { return nil, nil })
	if err != nil {
		return nil, err
	}
	var collected []*fabric.Facts
	for _, n := range l.Plan.Nodes {
		collected = append(collected, answers[n.Name])
	}
	return collected, nil
}

// settlePatience is how long a lab may take until each NIC with carrier has an address and has heard from
// its neighbour: networkd takes a second or two, and LLDP frames come each second.
const settlePatience = 10 * time.Second

// settle waits until the lab has settled: all that is expected is there, and nothing changes any more.
// One that does not settle is no error: the check will say what is missing.
func settle(ctx context.Context, l *lab.Lab) error {
	var before []*fabric.Facts
	for deadline := time.Now().Add(settlePatience); time.Now().Before(deadline); {
		collected, err := collectLab(ctx, l)
		if err != nil {
			return err
		}
		if settled(collected, l.LLDP == "") && slices.EqualFunc(before, collected, sameNetwork) {
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
		Use: "down", Short: "End the lab, or clear one that a killed run left", Args: cobra.NoArgs,
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
		Use: "status", Short: "Show the lab that is up", Args: cobra.NoArgs,
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
	fmt.Fprintf(a.stdout, "lab %s is up: %d hosts, leaf %s\n", l.Plan.Name, len(l.Plan.Nodes), l.Spec.Leaf)
	for _, f := range l.Faults {
		fmt.Fprintf(a.stdout, "fault planted: %s\n", f)
	}
	_, err := fmt.Fprintf(a.stdout, "look inside: railwright lab exec %s -- ip address\njudge it:    railwright check --lab\nping it:     railwright bench --lab\nend it:      railwright lab down\n", l.Plan.Nodes[0].Name)
	return err
}

func (a *app) labExecCommand() *cobra.Command {
	return &cobra.Command{
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
			status, err := h.Attach(c.Context(), args[1:])
			if err == nil && status != 0 {
				return verdict(status)
			}
			return err
		},
	}
}
