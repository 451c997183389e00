package apply

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// prover finds out how far a file was proved on a lab host on which everything was brought up. It derives that from what is
// there: what a program answers now, and what the kernel has. refused is what a real parser says against the file.
type prover struct {
	reads func(path string) bool
	prove func(ctx context.Context, b Bundle, file fabric.Artifact, a Activation) (p fabric.Proof, refused string)
}

// provers are asked in this order. A file that none of them reads is rendered, and not run.
func provers() []prover {
	return []prover{
		{reads: below("/etc/sysctl.d/"), prove: proveSysctls},
		{reads: below("/etc/netplan/"), prove: proveNetplan},
		{reads: below(keyfileFolder + "/"), prove: proveKeyfile},
		{reads: func(path string) bool { return unitOf(path) != "" }, prove: proveUnit},
	}
}

func below(folder string) func(string) bool {
	return func(path string) bool { return strings.HasPrefix(path, folder) }
}

// proveAll returns the proof of every file of a bundle, in its order, and which of them a real parser refused.
func proveAll(ctx context.Context, b Bundle, a Activation) (proofs []fabric.Proof, refused []string) {
	for _, file := range b.Artifacts {
		p := fabric.Proof{Level: fabric.Rendered, Reason: "it was written, and nothing on a lab host reads it"}
		for _, known := range provers() {
			if !known.reads(file.Path) {
				continue
			}
			var no string
			if p, no = known.prove(ctx, b, file, a); no != "" {
				refused = append(refused, file.Path+": "+no)
			}
			break
		}
		p.Path = file.Path
		proofs = append(proofs, p)
	}
	return proofs, refused
}

// proveSysctls asks the kernel for each value of a file that a lab host has.
func proveSysctls(_ context.Context, _ Bundle, file fabric.Artifact, _ Activation) (fabric.Proof, string) {
	return readBack(file, sysctl.notHere), ""
}

// readBack asks the kernel for each value of a file, but of those for which there is a reason that it is not here.
func readBack(file fabric.Artifact, notHere func(sysctl) string) fabric.Proof {
	all, err := sysctlsOf([]fabric.Artifact{file})
	if err != nil {
		return notProved(err.Error())
	}
	var not []string
	for _, s := range all {
		if reason := notHere(s); reason != "" {
			not = append(not, s.name+": "+reason)
		} else if d := s.differs(); d != "" {
			not = append(not, s.name+": "+d)
		}
	}
	if len(not) == len(all) {
		return notProved(strings.Join(append(not, "no value of it is in effect"), "; "))
	}
	by := fmt.Sprintf("the kernel, which has %d of %s", len(all)-len(not), fabric.Count(len(all), "value"))
	return fabric.Proof{Level: fabric.Run, By: []string{by}, Reason: strings.Join(not, "; ")}
}

// proveNetplan reads from the activation that netplan took the file, that networkd configured the NICs, and that the kernel
// has what is planned. Without networkd the file was not even read.
func proveNetplan(_ context.Context, b Bundle, _ fabric.Artifact, a Activation) (fabric.Proof, string) {
	if a.Network != ByNetworkd {
		return notProved("the NICs were configured by " + a.Network + ": " + a.Reason), ""
	}
	p := fabric.Proof{Level: fabric.Parsed, By: []string{"netplan generate"}}
	var pending []string
	for _, nic := range b.nics() {
		for _, not := range a.Pending {
			if strings.HasPrefix(not, nic+": ") {
				pending = append(pending, not)
			}
		}
	}
	switch {
	case len(pending) > 0:
		p.Reason = "not in effect: " + strings.Join(pending, "; ")
	case len(b.nics()) == 0:
		p.Reason = "it has no NIC"
	default:
		p.Level = fabric.Run
		p.By = append(p.By, "systemd-networkd, by which the kernel has MTU, address, routes and rule of "+fabric.Count(len(b.nics()), "NIC"))
	}
	return p, ""
}

// unitOf returns the unit of systemd that a file is, or is a drop-in of; empty where it is none.
func unitOf(path string) string {
	name, ok := strings.CutPrefix(path, "/etc/systemd/system/")
	if !ok {
		return ""
	}
	if folder, file := filepath.Split(name); folder != "" {
		unit, dropIn := strings.CutSuffix(strings.TrimSuffix(folder, "/"), ".d")
		if !dropIn || !strings.HasSuffix(file, ".conf") {
			return ""
		}
		name = unit
	}
	if strings.Contains(name, "/") || !strings.Contains(name, ".") {
		return ""
	}
	return name
}

// proveUnit lets systemd-analyze read a unit with its drop-ins; nothing starts units on a lab host.
func proveUnit(ctx context.Context, _ Bundle, file fabric.Artifact, _ Activation) (p fabric.Proof, refused string) {
	const analyze = "systemd-analyze"
	unit := unitOf(file.Path)
	if !onPath(analyze) {
		return notProved(analyze + " is not installed"), ""
	}
	if unit != filepath.Base(file.Path) && !unitInstalled(unit) {
		return notProved(unit + ", of which it is a part, is not installed here"), ""
	}
	// Without --recursive-errors a warning leaves the status at 0, and with "no" others' units count for nothing.
	verify := host.Command{Argv: []string{analyze, "verify", "--recursive-errors=no", unit}}
	_, err := host.Output(ctx, host.Local{}, verify)
	if err != nil {
		said := err.Error()
		if exit, ok := errors.AsType[*host.ExitError](err); ok {
			said = strings.Join(strings.Fields(exit.Stderr), " ")
		}
		if strings.Contains(said, "unrecognized option") { // before systemd 250
			return notProved(analyze + " verify does not tell errors apart: " + said), ""
		}
		said = analyze + " verify refuses it: " + said
		return notProved(said), said
	}
	return fabric.Proof{Level: fabric.Parsed, By: []string{analyze + " verify"}, Reason: "no service manager runs on a lab host"}, ""
}

// unitInstalled reports whether systemd finds a unit of this name on this machine (systemd.unit(5)).
func unitInstalled(unit string) bool {
	for _, folder := range []string{"/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"} {
		if _, err := os.Stat(filepath.Join(folder, unit)); err == nil {
			return true
		}
	}
	return false
}

func notProved(reason string) fabric.Proof {
	return fabric.Proof{Level: fabric.Rendered, Reason: reason}
}
