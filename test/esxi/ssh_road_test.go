//go:build linux

package esxi

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
)

// Over a real sshd: there and back, with connections that a host cuts as it goes down.
func TestOverSSH(t *testing.T) {
	p, folder := newHost(t, "vsphere8-sriov", "esx1").overSSH(), t.TempDir()
	before := p.kept()
	p.collected("as it is delivered")
	if a := p.apply(folder); a.Status != fabric.Pass || p.starts() != 2 {
		t.Fatalf("%s %s, %d starts\n%s", a.Status, a.Error, p.starts(), lines(a.Changes))
	}
	p.collected("as planned")
	if a := p.dryRun(folder); a.Status != fabric.Pass {
		t.Errorf("dry run: %s %s\n%s", a.Status, a.Error, lines(a.Changes))
	}
	if a := p.rollback(folder); a.Status != fabric.Pass || p.kept() != before {
		t.Errorf("rollback: %s %s\n%s", a.Status, a.Error, p.kept())
	}
	p.collected("as it was")
}

// The facts of a host with GPUs are its state, before and after.
func TestCollectOverSSH(t *testing.T) {
	p := newHost(t, "vcf-h100", "esx1").overSSH()
	p.collected("as it is delivered")
	dialer := p.dialer
	p.dialer = nil
	if a := p.apply(t.TempDir()); a.Status != fabric.Pass {
		t.Fatalf("%s %s", a.Status, a.Error)
	}
	p.dialer = dialer
	p.collected("as planned")
}

// collected compares the facts of a host with its state.
func (p *played) collected(when string) {
	p.t.Helper()
	shell, err := p.dialer(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	defer shell.Close()
	f, s := facts.CollectESX(p.t.Context(), shell, p.name), p.state()
	e := f.ESX
	if e == nil {
		p.t.Fatalf("%s: nothing was read: %+v", when, f.Missing)
	}
	want := map[string]string{"version": fmt.Sprint(s["version"], " ", s["build"], " ", s["maintenance"], " ", s["power"])}
	has := map[string]string{"version": fmt.Sprint(e.Version, " ", e.Build, " ", *e.Maintenance, " ", e.PowerPolicy)}
	each := func(list string, f func(one map[string]any)) {
		items, _ := s[list].([]any)
		for _, one := range items {
			f(one.(map[string]any))
		}
	}
	each("kernel", func(k map[string]any) {
		want["kernel"] += fmt.Sprintln(k["Name"], k["Configured"], k["Runtime"], k["Default"])
	})
	for _, k := range e.Settings {
		has["kernel"] += fmt.Sprintln(k.Name, k.Configured, k.Runtime, k.Default)
	}
	each("vibs", func(v map[string]any) { want["vibs"] += fmt.Sprintln(v["Name"], v["Version"], v["Vendor"]) })
	for _, v := range e.VIBs {
		has["vibs"] += fmt.Sprintln(v.Name, v.Version, v.Vendor)
	}
	each("modules", func(m map[string]any) { want["modules"] += fmt.Sprintln(m["Name"], m["Loaded"], m["Enabled"]) })
	for _, m := range e.Modules {
		has["modules"] += fmt.Sprintln(m.Name, *m.Loaded, *m.Enabled)
	}
	vfs := 0
	each("devices", func(d map[string]any) {
		want["devices"] += fmt.Sprintln(d["Address"], d["Vendor"], d["Device"], d["Capable"], d["Enabled"], d["Active"])
		vfs += int(d["VFs"].(float64))
		config, _ := d["Config"].(map[string]any)
		if len(config) == 0 || d["Active"] == true || !strings.Contains(want["vibs"], "mft") {
			return
		}
		for _, name := range []string{"SRIOV_EN", "ATS_ENABLED", "NUM_OF_VFS"} {
			v := config[name].(map[string]any)
			want["nics"] += fmt.Sprintln(d["Address"], name, v["Default"], v["Current"], v["Next"])
		}
	})
	for _, d := range e.Devices {
		has["devices"] += fmt.Sprintln(d.Address, fmt.Sprintf("%04x %04x", d.Vendor, d.Device), *d.Capable, *d.Enabled, *d.Active)
	}
	for _, m := range e.MST {
		for _, c := range e.NICConfigs {
			for _, name := range []string{"SRIOV_EN", "ATS_ENABLED", "NUM_OF_VFS"} {
				if v := c.Settings[name]; c.Device == m.Name {
					has["nics"] += fmt.Sprintln(m.Address, name, number(v.Default), number(v.Current), number(v.Next))
				}
			}
		}
	}
	want["vfs"], has["vfs"] = fmt.Sprint(vfs), fmt.Sprint(len(e.VFs))
	for what := range want {
		w, h := sorted(want[what]), sorted(has[what])
		if w != h {
			p.t.Errorf("%s, %s: the host has\n%s\nand the facts have\n%s", when, what, w, h)
		}
	}
	for _, list := range []string{fabric.FactESXSettings, fabric.FactESXVIBs, fabric.FactESXModules, fabric.FactESXDevices, fabric.FactESXResetRules, fabric.FactESXUplinks, fabric.FactESXVFs, fabric.FactESXVMs} {
		if !e.Whole(list) {
			p.t.Errorf("%s: %s is not whole", when, list)
		}
	}
	for _, m := range f.Missing {
		if strings.HasPrefix(m.What, "text ") {
			p.t.Errorf("%s: not understood: %+v", when, m)
		}
	}
}

func sorted(text string) string {
	return strings.Join(slices.Sorted(strings.Lines(text)), "")
}

// number is what is in the brackets of True(1).
func number(text string) string {
	if _, in, ok := strings.Cut(strings.TrimSuffix(text, ")"), "("); ok {
		return in
	}
	return text
}

// What the host does not know is not found, or an error, and nothing is done.
func TestNotUnderstood(t *testing.T) {
	p := newHost(t, "small", "esx1")
	before := p.kept()
	for _, c := range []string{"mstconfig q", "esxcli system reboot", "esxcli system settings kernel set -s atsSupport", "esxcli network ip get", "/opt/mellanox/bin/mst status", "esxcli hardware pci pcipassthru set -d 0000:ff:00.0 -e true", "esxcli system module parameters set -m nmlx5_core -p 'max_vf=1'", "mlxconfig q", "vmkload_mod nmlx5_core"} {
		_, err := local{p}.run(t.Context(), c)
		if err == nil || strings.HasPrefix(c, "m") && !strings.Contains(err.Error(), "127") {
			t.Errorf("%s: %v", c, err)
		}
	}
	if p.kept() != before {
		t.Error("something was changed")
	}
	if _, err := os.Stat(filepath.Join(p.folder, "bin/esxcli")); host.IsAbsent(err) {
		t.Error(err)
	}
}
