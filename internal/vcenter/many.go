package vcenter

import (
	"context"
	"slices"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Detailed is what was read of one of many hosts, or why nothing was.
type Detailed struct {
	Name string // by which it was asked for
	Host *Host
	Err  error
}

// MostDetailed is how many hosts are asked for in one question at most: the answer about one has some 300 KB, most of it
// advanced settings.
const MostDetailed = 32

// Details reads of some hosts among those that Hosts returned what Host reads of one, in the order of their names: with one
// question, and two more for the software of each. Each host has an error of its own.
func (c *Client) Details(ctx context.Context, among []Host, names []string) []Detailed {
	out := make([]Detailed, len(names))
	places := map[types.ManagedObjectReference][]int{} // two names may be of one host
	var refs []types.ManagedObjectReference
	for i, name := range names {
		out[i].Name = name
		if out[i].Host, out[i].Err = FindHost(among, name); out[i].Err != nil {
			continue
		}
		ref := out[i].Host.reference()
		if places[ref] == nil {
			refs = append(refs, ref)
		}
		places[ref] = append(places[ref], i)
	}
	for some := range slices.Chunk(refs, MostDetailed) {
		c.detailSome(ctx, some, func(ref types.ManagedObjectReference, h *Host, err error) {
			for _, i := range places[ref] {
				out[i].Host, out[i].Err = h, err
			}
		}, func(ref types.ManagedObjectReference) *Host { return out[places[ref][0]].Host })
	}
	return out
}

// detailSome reads hosts with their virtual machines by one question, and then the software of each.
func (c *Client) detailSome(ctx context.Context, refs []types.ManagedObjectReference, set func(types.ManagedObjectReference, *Host, error), known func(types.ManagedObjectReference) *Host) {
	var objects []types.ObjectSpec
	names := map[types.ManagedObjectReference]string{}
	for _, ref := range refs {
		names[ref] = known(ref).Name
		objects = append(objects, types.ObjectSpec{Obj: ref, SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: "HostSystem", Path: "vm"}}})
	}
	all, err := c.retrieve(ctx, c.Place(), objects, map[string][]string{"HostSystem": detailProperties(), "VirtualMachine": machineProperties()})
	machines := map[string][]machine{}
	for _, m := range machinesOf(all, names) {
		machines[m.Host] = append(machines[m.Host], m)
	}
	for _, f := range all {
		v, ok := f.value.(mo.HostSystem)
		if !ok || names[f.ref] == "" {
			continue
		}
		h := known(f.ref)
		d := &detail{Host: hostOf(f, v, nil), machines: append([]machine{}, machines[h.Name]...)}
		d.Name, d.Datacenter, d.Cluster = h.Name, h.Datacenter, h.Cluster
		d.read(f, v)
		c.readSoftware(ctx, d)
		set(f.ref, &d.Host, nil)
		delete(names, f.ref)
	}
	for _, ref := range refs {
		switch {
		case names[ref] == "":
		case err != nil:
			set(ref, nil, err)
		default:
			set(ref, nil, &Error{Kind: NotFound, What: "host " + names[ref], Text: "is not there any more"})
		}
	}
}
