package vcenter

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

// Host is an ESX host as vCenter knows it.
type Host struct {
	ID         string // host-1012
	Name       string
	Datacenter string
	Cluster    string // empty: it is in none
	ClusterID  string // domain-c8
	State      string // connected, disconnected, notResponding
	Power      string // poweredOn, poweredOff, standBy, unknown
	Boot       time.Time
	Vendor     string
	Model      string
	UUID       string
	ESX        *fabric.ESX        // of Hosts: version and maintenance alone
	PCI        []fabric.PCIDevice // of Host
	Missing    []fabric.Missing
}

// Connected reports whether vCenter has the host at hand: what it says of another one may be old.
func (h *Host) Connected() bool { return h.State == string(types.HostSystemConnectionStateConnected) }

const hostPlace = "the vSphere API"

// fewProperties are read of all hosts at once; they are small.
func fewProperties() []string {
	return []string{"name", "parent", "runtime.connectionState", "runtime.powerState", "runtime.inMaintenanceMode", "runtime.bootTime",
		"summary.config.product", "summary.hardware", "summary.rebootRequired"}
}

// Hosts are all hosts, by name, each with its state: one question, and one more for each five hundred.
func (c *Client) Hosts(ctx context.Context) ([]Host, error) {
	all, err := c.inventory(ctx, c.Place(), map[string][]string{
		"HostSystem": fewProperties(), "ComputeResource": {"name", "parent"}, "Folder": {"name", "parent"}, "Datacenter": {"name", "parent"}})
	if err != nil {
		return nil, err
	}
	places := placesOf(all)
	hosts := []Host{}
	for _, f := range all {
		if h, ok := f.value.(mo.HostSystem); ok {
			hosts = append(hosts, hostOf(f, h, places))
		}
	}
	slices.SortFunc(hosts, func(a, b Host) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
	})
	return hosts, nil
}

// FindHost is the host of a name among others: the whole name, else the only one whose first label it is.
func FindHost(hosts []Host, name string) (*Host, error) {
	what := "host " + name
	var same, short []*Host
	for i := range hosts {
		h := &hosts[i]
		label, _, _ := strings.Cut(h.Name, ".")
		switch {
		case strings.EqualFold(h.Name, name):
			same = append(same, h)
		case strings.EqualFold(label, name):
			short = append(short, h)
		}
	}
	if len(same) == 0 {
		same = short
	}
	switch len(same) {
	case 1:
		return same[0], nil
	case 0:
		return nil, &Error{Kind: NotFound, What: what, Text: "vCenter shows no host of this name to this user"}
	}
	var where []string
	for _, h := range same {
		where = append(where, h.Name+" in "+h.Datacenter)
	}
	return nil, refuse(what, "the name is not of one host alone: %s", strings.Join(where, ", "))
}

// place is an object above hosts.
type place struct {
	name, kind string
	parent     *types.ManagedObjectReference
}

func placesOf(all []found) map[types.ManagedObjectReference]place {
	out := map[types.ManagedObjectReference]place{}
	for _, f := range all {
		switch v := f.value.(type) {
		case mo.ComputeResource:
			out[f.ref] = place{v.Name, f.ref.Type, v.Parent}
		case mo.ClusterComputeResource:
			out[f.ref] = place{v.Name, f.ref.Type, v.Parent}
		case mo.Folder:
			out[f.ref] = place{v.Name, f.ref.Type, v.Parent}
		case mo.Datacenter:
			out[f.ref] = place{v.Name, f.ref.Type, v.Parent}
		}
	}
	return out
}

func hostOf(f found, h mo.HostSystem, places map[types.ManagedObjectReference]place) Host {
	out := Host{ID: f.ref.Value, Name: unescape(h.Name), State: string(h.Runtime.ConnectionState), Power: string(h.Runtime.PowerState), ESX: &fabric.ESX{}}
	if h.Runtime.BootTime != nil {
		out.Boot = h.Runtime.BootTime.UTC()
	}
	if hw := h.Summary.Hardware; hw != nil {
		out.Vendor, out.Model, out.UUID = hw.Vendor, hw.Model, hw.Uuid
	}
	if p := h.Summary.Config.Product; p != nil {
		out.ESX.Version, out.ESX.Build = p.Version, p.Build
	}
	if f.present["runtime.inMaintenanceMode"] && out.Connected() {
		out.ESX.Maintenance = &h.Runtime.InMaintenanceMode
	}
	if f.present["summary.rebootRequired"] && h.Summary.RebootRequired {
		out.ESX.Reboot = []fabric.RebootReason{{Source: hostPlace + ", summary.rebootRequired", Text: "the host says that it waits for a reboot"}}
	}
	out.Missing = missingOf(f)
	above := h.Parent
	const deepest = 64 // folders; a loop of parents would be a fault of the server
	for i := 0; above != nil && i < deepest; i++ {
		p, ok := places[*above]
		if !ok {
			break
		}
		switch p.kind {
		case "ClusterComputeResource":
			out.Cluster, out.ClusterID = unescape(p.name), above.Value
		case "Datacenter":
			out.Datacenter = unescape(p.name)
		}
		above = p.parent
	}
	return out
}

// unescape undoes what vCenter does to names: %, / and \ stand in them as %25, %2f and %5c.
func unescape(name string) string {
	return strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%").Replace(name)
}

// missingOf are the properties that this user may not read, or that the server could not give.
func missingOf(f found) []fabric.Missing {
	var out []fabric.Missing
	for _, path := range slices.Sorted(maps.Keys(f.unread)) {
		m := f.unread[path]
		out = append(out, fabric.Missing{What: path, Source: hostPlace, Reason: faultText(m.Fault, m.LocalizedMessage)})
	}
	return out
}

// reference is the library's name of a host.
func (h *Host) reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "HostSystem", Value: h.ID}
}

// find is a host by name, as it is now.
func (c *Client) find(ctx context.Context, name string) (*Host, error) {
	hosts, err := c.Hosts(ctx)
	if err != nil {
		return nil, err
	}
	return FindHost(hosts, name)
}

// now reads the state of a host again.
func (c *Client) now(ctx context.Context, h *Host) (*Host, error) {
	f, err := c.object(ctx, "host "+h.Name, h.reference(), fewProperties()...)
	if err != nil {
		return nil, err
	}
	v, ok := f.value.(mo.HostSystem)
	if !ok {
		return nil, &Error{Kind: NotFound, What: "host " + h.Name, Text: "is not there any more"}
	}
	again := hostOf(f, v, nil)
	again.Name, again.Datacenter, again.Cluster, again.ClusterID = h.Name, h.Datacenter, h.Cluster, h.ClusterID
	return &again, nil
}
