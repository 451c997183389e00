package main

import (
	"fmt"
	"sort"
	"strings"
)

// shown are the NICs that mst shows, in its order: not those of virtual machines, and not those that need a start in recovery mode.
func (h *machine) shown() (all []*device) {
	for _, d := range h.Devices {
		if d.Driver == "nmlx5_core" && !d.Active && !d.Broken && h.module("nmlx5_core").Loaded {
			all = append(all, d)
		}
	}
	return all
}

func mst(h *machine, args []string) (string, int, error) {
	names := h.shown()
	switch strings.Join(args, " ") {
	case "status":
		out := "MST devices:\n------------\n"
		for i := range names {
			out += fmt.Sprintf("mt4129_pciconf%d\n", i)
		}
		return out + "\n", 0, nil
	case "status -vv":
		out := "PCI devices:\n------------\nDEVICE_TYPE             MST                           PCI       RDMA            NET                                     NUMA  \n"
		for i, d := range names {
			net := ""
			if option(h.module("nmlx5_core").Running, "mst_recovery") != "1" {
				net = "net-" + d.Alias
			}
			out += fmt.Sprintf("%-24s%-30s%-10s%-16s%-40s\n", "ConnectX7(rev:0)", fmt.Sprintf("mt4129_pciconf%d", i), d.Address[5:], "", net)
		}
		return out + "\n", 0, nil
	}
	return "", 1, fmt.Errorf("-E- mst: %q: unknown", args)
}

func mlxconfig(h *machine, args []string) (string, int, error) {
	if len(args) < 3 || args[0] != "-d" {
		return "", 1, fmt.Errorf("-E- mlxconfig: %q: unknown", args)
	}
	var d *device
	for i, one := range h.shown() {
		if args[1] == fmt.Sprintf("mt4129_pciconf%d", i) {
			d = one
		}
	}
	if d == nil {
		return "", 3, fmt.Errorf("-E- Failed to open device: %s. No such file or directory", args[1])
	}
	head := "\nDevice #1:\n----------\n\nDevice type:        ConnectX7           \nName:               N/A                 \nDescription:        N/A                 \nDevice:             " + args[1] + "     \n\n"
	switch rest := args[2:]; {
	case strings.Join(rest, " ") == "-e q":
		return head + d.query(), 0, nil
	case len(rest) > 2 && rest[0] == "-y" && rest[1] == "set":
		out, err := d.set(rest[2:], has(h.Slips, "nic "+d.Address))
		if err != nil {
			return "", 3, err
		}
		return head + out, 0, nil
	}
	return "", 1, fmt.Errorf("-E- mlxconfig: %q: unknown", args)
}

// text is a value as mlxconfig prints it.
func text(name, value string) string {
	if name == "NUM_OF_VFS" {
		return value
	}
	return map[string]string{"0": "False(0)", "1": "True(1)"}[value]
}

func (d *device) listed(name string) bool {
	s := d.Config[name]
	return s != nil && (s.Behind == "" || d.Config[s.Behind].Next == "1")
}

func (d *device) query() string {
	out := fmt.Sprintf("%-44s%-20s%-20s%-20s\n", "Configurations:", "Default", "Current", "Next Boot")
	names := make([]string, 0, len(d.Config))
	for name := range d.Config {
		names = append(names, name)
	}
	sort.Strings(names)
	starred := false
	for _, name := range names {
		s, star := d.Config[name], " "
		if !d.listed(name) {
			continue
		}
		if s.Next != s.Default || s.Next != s.Current {
			star, starred = "*", true
		}
		out += fmt.Sprintf("%s       %-36s%-20s%-20s%-20s\n", star, name, text(name, s.Default), text(name, s.Current), text(name, s.Next))
	}
	if starred {
		out += "The '*' shows parameters with next value different from default/current value.\n"
	}
	return out
}

func (d *device) set(words []string, slips bool) (string, error) {
	out := fmt.Sprintf("%-44s%-20s%-20s\n", "Configurations:", "Next Boot", "New")
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		if !d.listed(name) {
			return "", fmt.Errorf("-E- The Device doesn't support %s parameter", name)
		}
		if text(name, value) == "" {
			return "", fmt.Errorf("-E- Failed to parse %s=%s", name, value)
		}
		out += fmt.Sprintf("        %-36s%-20s%-20s\n", name, text(name, d.Config[name].Next), text(name, value))
	}
	for _, w := range words {
		if name, value, _ := strings.Cut(w, "="); !slips {
			d.Config[name].Next = value
		}
	}
	return out + "\n Apply new Configuration? (y/n) [n] : y\nApplying... Done!\n-I- Please reboot machine to load new configurations.\n", nil
}
