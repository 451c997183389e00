package cli

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// printVSphere writes the hosts below the virtual machines, what each has to be, and what is made on them.
func (a *app) printVSphere(p *fabric.Plan) error {
	v := p.VSphere
	if v == nil {
		return nil
	}
	mode := "whole devices are passed through, SR-IOV off"
	if v.Mode == fabric.SRIOVToGuests {
		mode = sprintf("SR-IOV: each NIC has %s for them", fabric.Count(v.Goal.MaxVFs, "virtual function")) +
			sprintf(" (max_vfs=%d, NUM_OF_VFS=%d)", v.Goal.MaxVFs, v.Goal.MaxVFs+1)
	}
	var hosts []string
	for _, h := range v.Hosts {
		hosts = append(hosts, h.Name)
	}
	printf(a.stdout, "\nVSPHERE  %s on %s %s, %s each, %s out of use at a time\n         %s\n", v.Product, fabric.Count(len(hosts), "ESX host"), draw.Names(hosts, 4), fabric.Count(len(v.Hosts[0].Nodes), "virtual machine"), fabric.Count(v.Parallel, "host"), mode)
	if v.Mode == fabric.SRIOVToGuests {
		printf(a.stdout, "         which virtual function a virtual machine gets, ESX chooses when it starts: each is as good\n")
	}
	w := newTable(a.stdout)
	fmt.Fprintln(w, "\nESX HOST\tVIRTUAL MACHINES")
	for _, h := range v.Hosts {
		printf(w, "%s\t%s\n", h.Name, draw.Names(h.Nodes, 8))
	}
	fmt.Fprintln(w, "\nVM CLASS\tNODES\tGPUS\tNICS\tCPUS\tMEMORY\tMMIO\tDEVICES IN ORDER")
	for _, c := range v.Classes {
		nodes, memory, cpus, mmio := "-", "-", "-", "-"
		if len(c.Nodes) > 0 {
			nodes = draw.Names(c.Nodes, 4)
		}
		if c.MemoryMB > 0 {
			memory = sprintf("%d GiB", c.MemoryMB/1024)
		}
		if c.CPUs > 0 {
			cpus = fmt.Sprint(c.CPUs)
		}
		if c.MMIOGB > 0 {
			mmio = sprintf("%d GiB", c.MMIOGB)
		}
		printf(w, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t%s\n", c.Name, nodes, c.GPUs, c.NICs, cpus, memory, mmio, deviceOrder(c.Devices))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if s := v.Service; s != nil {
		fmt.Fprintln(w, "\nSERVICE VM\tHOST\tADDRESS\tNVSWITCHES\tPARTITIONS\tFABRIC MANAGER")
		version := "unknown"
		if s.Driver != "" {
			version = s.Driver
		}
		for _, g := range s.Guests {
			printf(w, "%s\t%s\t%s\t%d\t%d of %s\t%s\n", g.Name, g.Host, g.Address, s.NVSwitches, s.Partitions, fabric.Count(s.GPUs, "GPU"), version)
		}
	}
	if len(v.Networks) > 0 {
		fmt.Fprintln(w, "\nNETWORK\tRANGE\tKIND\tROUTED\tFOR")
		for _, n := range v.Networks {
			written, routed := "unknown", "no"
			if n.Range.IsValid() {
				written = n.Range.String()
			}
			if n.Routed {
				routed = "yes"
			}
			printf(w, "%s\t%s\t%s\t%s\t%s\n", n.Name, written, n.Kind, routed, n.Use)
		}
	}
	return w.Flush()
}

// deviceOrder writes the labels of devices, short where they are many.
func deviceOrder(devices []fabric.VMClassDevice) string {
	var labels []string
	for _, d := range devices {
		labels = append(labels, d.Label)
	}
	const most = 6
	if len(labels) > most {
		labels = append(append(labels[:3:3], "..."), labels[len(labels)-2:]...)
	}
	return strings.Join(labels, " ")
}
