package pipeline

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/lab"
)

// LabFleet returns the hosts of a lab.
func LabFleet(l *lab.Lab) (*fleet.Fleet, error) {
	hosts, err := l.Hosts()
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var members []host.Outcome[fleet.Member]
	for _, h := range hosts {
		members = append(members, host.Outcome[fleet.Member]{Name: h.Name(), Value: fleet.Member{Runner: h, Program: program}})
	}
	return fleet.New(members), nil
}

// LabSetup are the options of a new lab.
type LabSetup struct {
	SSH    bool // sshd on every host
	Bare   bool // nothing is applied: the hosts stay unconfigured
	Faults []lab.Fault
}

// SetUpLab applies the plan's files in a new lab, waits until it has settled, and plants faults.
func SetUpLab(ctx context.Context, l *lab.Lab, o LabSetup, progress func(format string, args ...any)) error {
	f, err := LabFleet(l)
	if err != nil {
		return err
	}
	if o.SSH {
		if err := l.StartSSH(ctx); err != nil {
			return err
		}
	}
	if !o.Bare {
		if err := applyInLab(ctx, l, f, progress); err != nil {
			return err
		}
	}
	if err := l.StartLLDP(ctx); err != nil {
		return err
	}
	if l.LLDP != "" {
		progress("cabling stays unknown: %s", l.LLDP)
	}
	if o.Bare {
		return nil
	}
	if err := settle(ctx, f, l.LLDP == ""); err != nil {
		return err
	}
	return plant(ctx, l, f, o.Faults)
}

// plant plants faults, and waits after each stage until the lab has settled.
func plant(ctx context.Context, l *lab.Lab, f *fleet.Fleet, faults []lab.Fault) error {
	for _, stage := range lab.Stages(faults) {
		if err := l.Plant(ctx, stage); err != nil {
			return err
		}
		if err := settle(ctx, f, l.LLDP == ""); err != nil {
			return err
		}
	}
	return nil
}

func applyInLab(ctx context.Context, l *lab.Lab, f *fleet.Fleet, progress func(format string, args ...any)) error {
	results, err := Apply(ctx, f, l.Plan, "", true, false)
	if err != nil {
		return err
	}
	for _, r := range results {
		switch {
		case r.Error != "":
			return fmt.Errorf("host %q: %s", r.Node, r.Error)
		case r.Activation != nil && len(r.Activation.Pending) > 0:
			progress("%s: not in effect: %s", r.Node, strings.Join(r.Activation.Pending, "; "))
		case r.Activation != nil && r.Activation.Reason != "":
			progress("%s: configured by %s (%s)", r.Node, r.Activation.Network, r.Activation.Reason)
		case r.Activation != nil:
			progress("%s: configured by %s", r.Node, r.Activation.Network)
		}
	}
	return nil
}

// A lab that has not settled is waited for while its network still changes: networkd takes a second or two and LLDP frames come
// each second, but on a busy machine one look at all hosts takes seconds.
const (
	stillPatience = 30 * time.Second // without any change: what is missing then will stay so, as with some faults
	allPatience   = 3 * time.Minute
)

// settle waits until the lab has settled: everything expected is present, and nothing changes any more.
// A lab that does not settle is not an error: the check reports what is missing.
func settle(ctx context.Context, f *fleet.Fleet, lldp bool) error {
	var before []*fabric.Facts
	began := time.Now()
	for changed := began; time.Since(changed) < stillPatience && time.Since(began) < allPatience; {
		collected, lost := Collect(ctx, f)
		switch still := slices.EqualFunc(before, collected, sameNetwork); {
		case still && len(lost) == 0 && settled(collected, lldp) && !configuring(ctx, f):
			return nil
		case !still:
			changed = time.Now()
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

// networkdBusy is a shell's test whether systemd-networkd is at work on an interface. One that is up and has never had a carrier
// stays in the state "configuring".
const networkdBusy = `for f in /run/systemd/netif/links/*; do
	grep -qsE '^ADMIN_STATE=(pending|initialized)$' "$f" && exit 0
	grep -qsx ADMIN_STATE=configuring "$f" && ! grep -qsx CARRIER_STATE=no-carrier "$f" && exit 0
done
exit 1`

// configuring reports whether systemd-networkd is at work on an interface of any machine. (After a carrier that was
// gone it is too, but says "configured".) Where networkd does not run, its folder does not exist.
func configuring(ctx context.Context, f *fleet.Fleet) bool {
	busy := host.Command{Argv: []string{"sh", "-c", networkdBusy}}
	for _, m := range f.Reached() {
		if _, err := host.Output(ctx, m.Runner, busy); err == nil {
			return true
		}
	}
	return false
}

// sameNetwork reports whether two facts of a host show the same network; neighbour states are ignored.
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
