package vcenter

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

// hostsPerQuestion bounds an answer: a host has some hundred devices, of which the API writes about a kilobyte each.
const hostsPerQuestion = 32

// HostDevices reads hosts of these names with their devices, and the virtual machines on them. Hosts are in the order of the names.
// Of one that vCenter does not show, or whose name is not of one host alone, the error is in absent.
func (c *Client) HostDevices(ctx context.Context, names []string) (hosts []Host, absent []error, err error) {
	all, err := c.Hosts(ctx)
	if err != nil {
		return nil, nil, err
	}
	var found []Host
	for _, name := range names {
		h, err := FindHost(all, name)
		if err != nil {
			absent = append(absent, err)
			continue
		}
		if !slices.ContainsFunc(found, func(f Host) bool { return f.ID == h.ID }) {
			found = append(found, *h)
		}
	}
	out := make([]Host, len(found))
	for from := 0; from < len(found); from += hostsPerQuestion {
		to := min(from+hostsPerQuestion, len(found))
		if err := c.hostDevices(ctx, found[from:to], out[from:to]); err != nil {
			return nil, nil, err
		}
	}
	return out, absent, nil
}

// hostDevices reads some hosts in one question.
func (c *Client) hostDevices(ctx context.Context, hosts, out []Host) error {
	var specs []types.ObjectSpec
	for _, h := range hosts {
		specs = append(specs, types.ObjectSpec{Obj: h.reference(), SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "HostSystem", Path: "vm"}}})
	}
	properties := append(fewProperties(), "hardware.pciDevice", "config.pciPassthruInfo")
	all, err := c.retrieve(ctx, fmt.Sprintf("devices of host %s and %d more", hosts[0].Name, len(hosts)-1), specs, map[string][]string{"HostSystem": properties, "VirtualMachine": machineProperties()})
	if err != nil {
		return err
	}
	for i, h := range hosts {
		j := slices.IndexFunc(all, func(f found) bool { return f.ref == h.reference() })
		v, ok := mo.HostSystem{}, false
		if j >= 0 {
			v, ok = all[j].value.(mo.HostSystem)
		}
		if !ok {
			return &Error{Kind: NotFound, What: "host " + h.Name, Text: "is not there any more"}
		}
		d := &detail{Host: hostOf(all[j], v, nil)}
		d.Name, d.Datacenter, d.Cluster, d.ClusterID = h.Name, h.Datacenter, h.Cluster, h.ClusterID
		for _, m := range machinesOf(all, map[types.ManagedObjectReference]string{h.reference(): h.Name}) {
			if m.host != nil && *m.host == h.reference() {
				d.machines = append(d.machines, m)
			}
		}
		if !d.Connected() {
			d.Missing = append(d.Missing, fabric.Missing{What: "host", Source: hostPlace, Reason: "vCenter says that it is " + d.State})
		} else {
			d.readDevices(all[j], v)
		}
		out[i] = d.Host
	}
	return nil
}

// readDevices makes facts of the devices and of the virtual machines.
func (d *detail) readDevices(f found, h mo.HostSystem) {
	if h.Hardware != nil && f.present["hardware.pciDevice"] {
		d.PCI, d.devices = pciOf(h.Hardware.PciDevice)
	}
	if h.Config != nil && f.present["config.pciPassthruInfo"] && d.devices != nil {
		d.ESX.Devices = d.passthroughs(h.Config.PciPassthruInfo)
	}
	if d.ESX.Devices == nil {
		d.Missing = append(d.Missing, fabric.Missing{What: fabric.FactESXDevices, Source: hostPlace, Reason: "vCenter gives no devices"})
	}
	d.ESX.VMs = []fabric.VM{}
	for _, m := range d.machines {
		d.ESX.VMs = append(d.ESX.VMs, m.VM)
	}
}

// Machine is a virtual machine, or a template.
type Machine struct {
	fabric.VM
	Template bool
	Unread   bool // this user may not read its configuration
}

// FindVMs reads the virtual machines of these names: names of all in one question, then everything of those that were found. A name
// that several have is there several times.
func (c *Client) FindVMs(ctx context.Context, names []string) ([]Machine, error) {
	all, err := c.inventory(ctx, c.Place(), map[string][]string{"HostSystem": {"name"}, "VirtualMachine": {"name"}})
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, n := range names {
		wanted[n] = true
	}
	var specs []types.ObjectSpec
	for ref, v := range valuesOf[mo.VirtualMachine](all) {
		if wanted[unescape(v.Name)] {
			specs = append(specs, types.ObjectSpec{Obj: ref})
		}
	}
	out := []Machine{}
	hosts := hostNames(all)
	for some := range slices.Chunk(specs, mostObjects) {
		read, err := c.retrieve(ctx, fmt.Sprintf("%d virtual machines", len(specs)), some, map[string][]string{"VirtualMachine": machineProperties()})
		if err != nil {
			return nil, err
		}
		for _, m := range machinesOf(read, hosts) {
			out = append(out, Machine{VM: m.VM, Template: m.template, Unread: !m.readable})
		}
	}
	slices.SortFunc(out, func(a, b Machine) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Host, b.Host)) })
	return out, nil
}
