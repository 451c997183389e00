package vcenter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

// Class is a class of virtual machines of the Supervisor.
type Class struct {
	Name       string
	About      string // description
	CPUs       int
	MemoryMB   int
	Reserved   int // of the memory, in percent
	Devices    []fabric.VMClassDevice
	Extra      []fabric.Option
	Namespaces []string // that have it
	VMs        []string // made of it
	Spec       json.RawMessage
}

// classPath is the path of classes in the API.
const classPath = "/api/vcenter/namespace-management/virtual-machine-classes"

// classWire is a class as the API writes it. Devices stand in the configuration from vSphere 8.0.2 on; the list beside it is
// older, and was spelled in two ways.
type classWire struct {
	ID                string          `json:"id,omitempty"`
	About             *string         `json:"description,omitempty"`
	CPUs              int             `json:"cpu_count"`
	MemoryMB          int             `json:"memory_MB"`
	CPUReservation    *int            `json:"cpu_reservation,omitempty"`
	MemoryReservation *int            `json:"memory_reservation,omitempty"`
	Devices           *classDevices   `json:"devices,omitempty"`
	Spec              json.RawMessage `json:"config_spec,omitempty"`
	Namespaces        []string        `json:"namespaces,omitempty"`
	VMs               []string        `json:"vms,omitempty"`
}

type classDevices struct {
	Dynamic []struct {
		Vendor int64  `json:"vendor_id"`
		Device int64  `json:"device_id"`
		Label  string `json:"custom_label"`
	} `json:"dynamic_direct_path_io_devices,omitempty"` // or ..._IO_...: Go looks at no case
}

// Classes are all classes, by name.
func (c *Client) Classes(ctx context.Context) ([]Class, error) {
	var all []classWire
	if err := c.rest.call(ctx, "classes of virtual machines", http.MethodGet, classPath, nil, &all); err != nil {
		return nil, err
	}
	out := make([]Class, 0, len(all))
	for _, w := range all {
		class, err := w.class()
		if err != nil {
			return nil, err
		}
		out = append(out, class)
	}
	slices.SortFunc(out, func(a, b Class) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// class reads what the API writes. A configuration that is not the API's is an error: a class half read would be changed wrongly.
func (w classWire) class() (Class, error) {
	out := Class{Name: w.ID, CPUs: w.CPUs, MemoryMB: w.MemoryMB, Namespaces: w.Namespaces, VMs: w.VMs, Spec: w.Spec, Devices: []fabric.VMClassDevice{}, Extra: []fabric.Option{}}
	if w.MemoryReservation != nil {
		out.Reserved = *w.MemoryReservation
	}
	if w.About != nil {
		out.About = *w.About
	}
	spec, err := decodeSpec(w.Spec)
	if err != nil {
		return out, &Error{Kind: Fault, What: "class " + w.ID, Text: "its configuration is not what the vSphere API describes: " + err.Error()}
	}
	for _, change := range spec.DeviceChange {
		p, ok := change.GetVirtualDeviceConfigSpec().Device.(*types.VirtualPCIPassthrough)
		if !ok {
			continue
		}
		b, ok := p.Backing.(*types.VirtualPCIPassthroughDynamicBackingInfo)
		if !ok || len(b.AllowedDevice) == 0 {
			continue
		}
		out.Devices = append(out.Devices, fabric.VMClassDevice{Label: b.CustomLabel, Vendor: uint16(b.AllowedDevice[0].VendorId), Device: uint16(b.AllowedDevice[0].DeviceId)})
	}
	if len(out.Devices) == 0 && w.Devices != nil {
		for _, d := range w.Devices.Dynamic {
			out.Devices = append(out.Devices, fabric.VMClassDevice{Label: d.Label, Vendor: uint16(d.Vendor), Device: uint16(d.Device)})
		}
	}
	for _, o := range spec.ExtraConfig {
		out.Extra = append(out.Extra, fabric.Option{Name: o.GetOptionValue().Key, Value: fmt.Sprint(o.GetOptionValue().Value)})
	}
	return out, nil
}

func decodeSpec(text json.RawMessage) (types.VirtualMachineConfigSpec, error) {
	var spec types.VirtualMachineConfigSpec
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return spec, nil
	}
	err := types.NewJSONDecoder(bytes.NewReader(text)).Decode(&spec)
	return spec, err
}

// getClass is a class by name; nil: there is none.
func (c *Client) getClass(ctx context.Context, name string) (*classWire, error) {
	var w classWire
	err := c.rest.call(ctx, "class "+name, http.MethodGet, classPath+"/"+url.PathEscape(name), nil, &w)
	if Is(err, NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	w.ID = cmp.Or(w.ID, name)
	return &w, nil
}

// Class is a class by name; nil: there is none.
func (c *Client) Class(ctx context.Context, name string) (*Class, error) {
	w, err := c.getClass(ctx, name)
	if err != nil || w == nil {
		return nil, err
	}
	class, err := w.class()
	return &class, err
}

// PutClass makes a class, or makes one that exists as it should be. Machines that exist keep what they have. About is its
// description, which is written with a change, and is no reason for one. Before is the class as it was; nil: there was none.
// Changed is false where it was as it should be.
func (c *Client) PutClass(ctx context.Context, class fabric.VMClass, about string) (before *Class, changed bool, err error) {
	what := "class " + class.Name
	if !atLeast(c.Version(), 8, 0, 2) {
		return nil, false, refuse(what, "vCenter is %s; classes have devices and settings in their configuration from 8.0.2 on", c.Version())
	}
	old, err := c.getClass(ctx, class.Name)
	if err != nil {
		return nil, false, err
	}
	var oldSpec types.VirtualMachineConfigSpec
	if old != nil {
		was, err := old.class()
		if err != nil {
			return nil, false, err
		}
		if was.Is(class) {
			return &was, false, nil
		}
		before = &was
		oldSpec, _ = decodeSpec(old.Spec) // class has read it already
	}
	wire, err := wireOf(class, oldSpec)
	if err != nil {
		return nil, false, err
	}
	wire.About = &about
	method, path := http.MethodPost, classPath
	if old != nil {
		method, path, wire.ID = http.MethodPatch, classPath+"/"+url.PathEscape(class.Name), ""
	}
	if err := c.rest.call(ctx, what, method, path, wire, nil); err != nil {
		return nil, false, err
	}
	return before, true, c.verifyClass(ctx, class)
}

// RestoreClass takes a change of PutClass back: the class as it was, or none.
func (c *Client) RestoreClass(ctx context.Context, name string, before *Class) error {
	what := "class " + name
	if before != nil {
		wire := classWire{About: &before.About, CPUs: before.CPUs, MemoryMB: before.MemoryMB, MemoryReservation: &before.Reserved, Spec: before.Spec}
		if len(wire.Spec) == 0 { // what is left out would stay as it is
			wire.Spec = json.RawMessage(`{"_typeName":"VirtualMachineConfigSpec"}`)
		}
		return c.rest.call(ctx, what, http.MethodPatch, classPath+"/"+url.PathEscape(name), wire, nil)
	}
	now, err := c.getClass(ctx, name)
	if err != nil || now == nil {
		return err
	}
	if len(now.Namespaces) > 0 || len(now.VMs) > 0 {
		return refuse(what, "is in use by namespaces %s and machines %s", strings.Join(now.Namespaces, ", "), strings.Join(now.VMs, ", "))
	}
	return c.rest.call(ctx, what, http.MethodDelete, classPath+"/"+url.PathEscape(name), nil, nil)
}

func (c *Client) verifyClass(ctx context.Context, want fabric.VMClass) error {
	now, err := c.getClass(ctx, want.Name)
	if err != nil {
		return err
	}
	if now != nil {
		class, err := now.class()
		if err == nil && class.Is(want) {
			return nil
		}
	}
	return &Error{Kind: Fault, What: "class " + want.Name, Text: "vCenter said that it made it, and it is not as asked for"}
}

// fullReservation: a machine with devices of the host has all of its memory reserved.
const fullReservation = 100

// Is reports whether a class is as the plan has it. Settings that the plan does not have are left alone.
func (c Class) Is(want fabric.VMClass) bool {
	return len(c.Differences(want)) == 0
}

// Differences names what of a class is not as the plan has it.
func (c Class) Differences(want fabric.VMClass) (differ []string) {
	for _, d := range []struct {
		what string
		ok   bool
	}{
		{"CPUs", c.CPUs == want.CPUs}, {"memory", c.MemoryMB == want.MemoryMB}, {"reserved memory", c.Reserved == fullReservation},
		{"devices", len(c.Devices)+len(want.Devices) == 0 || slices.Equal(c.Devices, want.Devices)}, {"advanced settings", c.hasExtra(want.Extra)},
	} {
		if !d.ok {
			differ = append(differ, d.what)
		}
	}
	return differ
}

// Same reports whether two readings of a class have the same content. Who uses it is no part of that.
func (c Class) Same(other Class) bool {
	return c.About == other.About && c.CPUs == other.CPUs && c.MemoryMB == other.MemoryMB && c.Reserved == other.Reserved && sameJSON(c.Spec, other.Spec)
}

// sameJSON compares as values; a configuration without content is none.
func sameJSON(a, b json.RawMessage) bool {
	value := func(text json.RawMessage) any {
		var v any
		if len(text) == 0 || json.Unmarshal(text, &v) != nil {
			return string(text)
		}
		if m, ok := v.(map[string]any); ok && len(m) == 1 && m["_typeName"] != nil || v == nil {
			return ""
		}
		return v
	}
	return reflect.DeepEqual(value(a), value(b))
}

func (c Class) hasExtra(want []fabric.Option) bool {
	for _, w := range want {
		if !slices.ContainsFunc(c.Extra, func(o fabric.Option) bool {
			return strings.EqualFold(o.Name, w.Name) && strings.EqualFold(o.Value, w.Value)
		}) {
			return false
		}
	}
	return true
}

// wireOf is a class for the API: its devices in their order, its settings, and what else the configuration had.
func wireOf(class fabric.VMClass, spec types.VirtualMachineConfigSpec) (classWire, error) {
	full := fullReservation
	spec.DeviceChange = slices.DeleteFunc(slices.Clone(spec.DeviceChange), func(b types.BaseVirtualDeviceConfigSpec) bool {
		_, ok := b.GetVirtualDeviceConfigSpec().Device.(*types.VirtualPCIPassthrough)
		return ok
	})
	for i, d := range class.Devices {
		spec.DeviceChange = append(spec.DeviceChange, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationAdd,
			Device: &types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Key: int32(-200 - i), Backing: &types.VirtualPCIPassthroughDynamicBackingInfo{
				CustomLabel: d.Label, AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: int32(d.Vendor), DeviceId: int32(d.Device)}}}}}})
	}
	extra := map[string]fabric.Option{}
	for _, o := range class.Extra {
		extra[strings.ToLower(o.Name)] = o
	}
	spec.ExtraConfig = slices.DeleteFunc(slices.Clone(spec.ExtraConfig), func(b types.BaseOptionValue) bool {
		_, ok := extra[strings.ToLower(b.GetOptionValue().Key)]
		return ok
	})
	for _, key := range slices.Sorted(maps.Keys(extra)) {
		spec.ExtraConfig = append(spec.ExtraConfig, &types.OptionValue{Key: extra[key].Name, Value: extra[key].Value})
	}
	var text bytes.Buffer
	if err := types.NewJSONEncoder(&text).Encode(spec); err != nil {
		return classWire{}, err
	}
	return classWire{ID: class.Name, CPUs: class.CPUs, MemoryMB: class.MemoryMB, MemoryReservation: &full, Spec: bytes.TrimSpace(text.Bytes())}, nil
}
