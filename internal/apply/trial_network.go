package apply

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// networkHere is the network of this machine: of a lab host, on which no systemd runs, or of a real one.
func networkHere() network {
	if InLab() {
		return labNetwork{}
	}
	return realNetwork{}
}

// labNetwork brings files into effect as an apply in the lab does.
type labNetwork struct{}

func (labNetwork) check(ctx context.Context, files []fabric.Artifact) error {
	if notByNetworkd(files) != "" {
		return nil // nothing here reads them
	}
	return generates(ctx, files)
}

func (labNetwork) up(ctx context.Context, b Bundle) (a Activation, err error) {
	a.Network = ByNetworkd
	if a.Reason = notByNetworkd(b.Artifacts); a.Reason != "" {
		a.Network = ByNetlink
		err = byNetlink(b)
	} else if a.Pending, err = byNetworkd(ctx, b); err == nil {
		err = dropOthers(b)
	}
	if err != nil {
		return a, err
	}
	differs, err := nicsDiffer(b)
	a.Pending = append(a.Pending, differs...)
	return a, err
}

// dropOthers takes the addresses away from the NICs of a bundle that are not planned for them, as networkctl reconfigure does
// on a real machine. A networkd that was started again, as that of a lab host is, does not know them for its own.
func dropOthers(b Bundle) (err error) {
	n, err := host.OpenNetwork("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	for _, planned := range b.Addresses {
		has, err := addressesOf(planned.NIC)
		if err != nil {
			return err
		}
		for _, address := range has {
			if address == planned.Address || linkLocal().Contains(address.Addr()) {
				continue
			}
			if err := n.DeleteAddress(planned.NIC, address); err != nil {
				return err
			}
		}
	}
	return nil
}

func (labNetwork) back(ctx context.Context, b Bundle, was before) error {
	if notByNetworkd(b.Artifacts) != "" {
		return was.restore(b)
	}
	_, err := run(ctx, "netplan", "generate")
	if err == nil {
		_, err = restartNetworkd("/run/railwright/networkd.log")
	}
	was.await(ctx)
	return errors.Join(err, was.restore(b))
}

// realNetwork brings files into effect by the programs of a real machine. It asks them for the NICs of the plan alone:
// netplan apply would also take down every interface that NetworkManager has from netplan, a wireless one among them.
type realNetwork struct{}

func (realNetwork) check(ctx context.Context, files []fabric.Artifact) error {
	if !hasNetplan(files) {
		return nil
	}
	if !onPath("netplan") {
		return errors.New("netplan is not installed (package netplan.io)")
	}
	return generates(ctx, files)
}

func hasNetplan(files []fabric.Artifact) bool {
	return slices.ContainsFunc(files, func(a fabric.Artifact) bool { return filepath.Dir(a.Path) == "/etc/netplan" })
}

func (n realNetwork) up(ctx context.Context, b Bundle) (a Activation, err error) {
	a.Network = b.network()
	nics := nicsOf(b)
	if hasNetplan(b.Artifacts) {
		a.Network = ByNetworkd
		err = n.networkd(ctx, nics)
	}
	if profiles := profilesOf(b.Artifacts); err == nil && len(profiles) > 0 {
		err = networkManager(ctx, profiles)
	}
	if err != nil {
		return a, err
	}
	for deadline := time.Now().Add(networkdPatience); ; {
		if a.Pending, err = nicsDiffer(b); err != nil || len(a.Pending) == 0 || time.Now().After(deadline) || ctx.Err() != nil {
			return a, err
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// networkd lets systemd-networkd take the files that netplan makes of those that are there now.
func (realNetwork) networkd(ctx context.Context, nics []string) error {
	if _, err := run(ctx, "netplan", "generate"); err != nil {
		return err
	}
	for _, nic := range managed(ctx, nics) {
		// netplan tells NetworkManager to leave them alone, which it hears at its next start.
		if _, err := run(ctx, "nmcli", "device", "set", nic, "managed", "no"); err != nil {
			return err
		}
	}
	if !isActive(ctx, "systemd-networkd") {
		if _, err := run(ctx, "systemctl", "start", "systemd-networkd"); err != nil {
			return err
		}
	}
	if _, err := run(ctx, "networkctl", "reload"); err != nil {
		return err
	}
	present := slices.DeleteFunc(slices.Clone(nics), func(nic string) bool {
		_, err := net.InterfaceByName(nic)
		return err != nil // what is not there is reported as not in effect
	})
	if len(present) == 0 {
		return nil
	}
	_, err := run(ctx, append([]string{"networkctl", "reconfigure"}, present...)...)
	return err
}

// networkManager reads its profiles again and brings up those of the plan.
func networkManager(ctx context.Context, profiles []string) error {
	if _, err := run(ctx, "nmcli", "connection", "reload"); err != nil {
		return err
	}
	for _, p := range profiles {
		const wait = "15" // seconds; without it nmcli waits for 90
		if _, err := run(ctx, "nmcli", "--wait", wait, "connection", "up", p); err != nil {
			return err
		}
	}
	return nil
}

// profilesOf are the names of the profiles that keyfiles hold.
func profilesOf(files []fabric.Artifact) (names []string) {
	for _, a := range files {
		if filepath.Dir(a.Path) == keyfileFolder {
			names = append(names, strings.TrimSuffix(filepath.Base(a.Path), filepath.Ext(a.Path)))
		}
	}
	return names
}

func (n realNetwork) back(ctx context.Context, b Bundle, was before) error {
	var errs []error
	if hasNetplan(b.Artifacts) {
		errs = append(errs, n.networkd(ctx, nicsOf(b)))
		if !was.Networkd {
			_, err := run(ctx, "systemctl", "stop", "systemd-networkd.socket", "systemd-networkd.service")
			errs = append(errs, err)
		}
		for _, nic := range was.Managed {
			_, err := run(ctx, "nmcli", "device", "set", nic, "managed", "yes")
			errs = append(errs, err)
		}
	}
	if profiles := profilesOf(b.Artifacts); len(profiles) > 0 {
		_, err := run(ctx, "nmcli", "connection", "reload")
		errs = append(errs, err)
		for _, p := range profiles {
			// Of a profile that was new there is none any more, and its interface is free.
			if _, err := os.Stat(filepath.Join(keyfileFolder, p+".nmconnection")); err == nil {
				_, err := run(ctx, "nmcli", "--wait", "15", "connection", "up", p)
				errs = append(errs, err)
			}
		}
	}
	was.await(ctx)
	return errors.Join(append(errs, was.restore(b))...)
}

// managed returns which of the NICs NetworkManager manages now; none where it does not run.
func managed(ctx context.Context, nics []string) (of []string) {
	if !onPath("nmcli") || !isActive(ctx, "NetworkManager") {
		return nil
	}
	out, err := run(ctx, "nmcli", "--terse", "--fields", "DEVICE,STATE", "device")
	if err != nil {
		return nil // it is asked again for what it does to them
	}
	for line := range strings.Lines(out) {
		nic, state, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && state != "unmanaged" && slices.Contains(nics, nic) {
			of = append(of, nic)
		}
	}
	return of
}

// isActive asks systemd for a unit.
func isActive(ctx context.Context, unit string) bool {
	_, err := run(ctx, "systemctl", "is-active", "--quiet", unit)
	return err == nil
}

// run runs a program of this machine to its end.
func run(ctx context.Context, argv ...string) (string, error) {
	out, err := host.Output(ctx, host.Local{}, host.Command{Argv: argv, Env: []string{"LC_ALL=C"}})
	return string(out), err
}

// generates lets netplan read the files together with those of this machine, in a folder of its own, so that what it
// refuses is refused before anything changes.
func generates(ctx context.Context, files []fabric.Artifact) error {
	root, err := os.MkdirTemp("", "railwright-netplan-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(root) }() // it says nothing about the node
	for _, folder := range netplanFolders() {
		names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil {
			return err
		}
		for _, name := range names {
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if err := writeBelow(root+name, content); err != nil {
				return err
			}
		}
	}
	for _, a := range files {
		if filepath.Dir(a.Path) == "/etc/netplan" {
			if err := writeBelow(filepath.Join(root, "run/netplan", filepath.Base(a.Path)), a.Content); err != nil {
				return err
			}
		}
	}
	_, err = run(ctx, "netplan", "generate", "--root-dir", root)
	if exit, ok := errors.AsType[*host.ExitError](err); ok {
		return fmt.Errorf("netplan generate refuses it: %s", strings.ReplaceAll(exit.Stderr, root+"/run/netplan", "/etc/netplan"))
	}
	return err
}

func netplanFolders() []string {
	return []string{"/lib/netplan", "/etc/netplan", "/run/netplan"}
}

func writeBelow(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// loadSysctls brings the written sysctl files into effect on a real machine, and says what the kernel did not take.
func loadSysctls(ctx context.Context, files []fabric.Artifact) (pending []string) {
	for _, a := range files {
		if filepath.Dir(a.Path) != "/etc/sysctl.d" {
			continue
		}
		if _, err := run(ctx, "sysctl", "--quiet", "--load", a.Path); err != nil {
			pending = append(pending, a.Path+": "+err.Error())
		}
	}
	return pending
}

// armHere starts the guard: as a service of systemd, which starts it again should it be killed, or where no systemd runs as a
// process of a session of its own.
func armHere(ctx context.Context, t *trial) error {
	argv := append([]string{t.places.program()}, append(slices.Clone(GuardCommand()), t.ID)...)
	// netplan makes the folder by which sd_booted(3) tells, so the first process is asked.
	if first, err := host.ReadString(host.Local{}, "/proc/1/comm"); err == nil && first == "systemd" {
		_, err := run(ctx, append([]string{"systemd-run", "--quiet", "--collect", "--unit=railwright-guard-" + t.ID,
			"--description=brings the old network back unless railwright confirms the new one",
			"--property=Restart=on-failure", "--property=RestartSec=1"}, argv...)...)
		return err
	}
	_, err := host.Local{}.Daemon(host.Command{Argv: argv}, filepath.Join(filepath.Dir(t.places.state), "guard.log"))
	return err
}

// GuardCommand and ConfirmCommand are the arguments, before the id, with which the copy of this program on a node is run.
func GuardCommand() []string { return []string{"node", "guard"} }

// ConfirmCommand is run over a new connection.
func ConfirmCommand() []string { return []string{"node", "confirm"} }
