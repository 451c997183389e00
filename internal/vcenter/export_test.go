package vcenter

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Lab is the vCenter of these tests for those of packages above this one.
type Lab struct {
	*sim
	first *simulator.VirtualMachine
	usual map[string]func(http.ResponseWriter)
}

// LabDevice is a device of a host of a Lab.
type LabDevice struct {
	Address        string
	Vendor, Device uint16
	Label          string
	Idle           bool // its passthrough is not in force
}

// NewLab has hosts of these names, which all have the same devices, and no virtual machines.
func NewLab(t *testing.T, hosts []string, devices []LabDevice) *Lab {
	t.Helper()
	s := newSim(t, 1)
	l := &Lab{sim: s, first: s.Map().Any("VirtualMachine").(*simulator.VirtualMachine), usual: map[string]func(http.ResponseWriter){}}
	l.first.Name = "other"
	s.host.Name = hosts[0]
	s.host.Summary.Config.Name = hosts[0]
	l.equipWith(s.host.HostSystem, devices)
	l.alone()
	l.crowd(len(hosts) - 1)
	for i, name := range hosts[1:] {
		l.Host(fmt.Sprintf("esx%04d", i)).Name = name
	}
	cluster := s.Map().Any("ClusterComputeResource").Reference().Value
	l.Answer("GET "+clusterPath, `[{"cluster":"`+cluster+`","cluster_name":"DC0_C0","config_status":"RUNNING","kubernetes_status":"READY"}]`)
	l.Answer("GET "+policyPath, `[{"policy":"p-1","name":"vSAN Default Storage Policy"},{"policy":"p-2","name":"gold"}]`)
	l.Answer("GET "+libraryPath, `["l-1"]`)
	l.Answer("GET "+libraryPath+"/l-1", `{"id":"l-1","name":"releases","type":"SUBSCRIBED"}`)
	l.Answer("GET "+itemPath, `["i-1","i-2"]`)
	l.Answer("GET "+itemPath+"/i-1", `{"id":"i-1","name":"ob-1-ubuntu-2204-amd64-vmi-k8s-v1.31.1---vmware.2-fips-vkr.2","type":"ovf"}`)
	l.Answer("GET "+itemPath+"/i-2", `{"id":"i-2","name":"ob-2-ubuntu-2204-amd64-vmi-k8s-v1.32.0---vmware.6-fips-vkr.2","type":"ovf"}`)
	clear(l.usual) // these are
	s.rest.classes["guaranteed-large"] = map[string]any{"id": "guaranteed-large", "cpu_count": 4, "memory_MB": 16384}
	return l
}

func (l *Lab) equipWith(h *simulator.HostSystem, devices []LabDevice) {
	hardware, config := *h.Hardware, *h.Config
	hardware.PciDevice, config.PciPassthruInfo = nil, nil
	for _, d := range devices {
		hardware.PciDevice = append(hardware.PciDevice, types.HostPciDevice{Id: d.Address, ClassId: 0x207, VendorId: int16(d.Vendor), DeviceId: int16(d.Device)})
		config.PciPassthruInfo = append(config.PciPassthruInfo, &types.HostPciPassthruInfo{Id: d.Address, DependentDevice: d.Address, PassthruCapable: true, PassthruEnabled: true, PassthruActive: !d.Idle, HardwareLabel: d.Label})
	}
	h.Hardware, h.Config = &hardware, &config
}

// Host is a host by name.
func (l *Lab) Host(name string) *simulator.HostSystem {
	for _, e := range l.Map().All("HostSystem") {
		if h := e.(*simulator.HostSystem); h.Name == name {
			return h
		}
	}
	return nil
}

// Equip gives one host other devices than the others have.
func (l *Lab) Equip(name string, devices []LabDevice) { l.equipWith(l.Host(name), devices) }

// Disconnect loses a host.
func (l *Lab) Disconnect(name string) {
	l.Host(name).Runtime.ConnectionState = types.HostSystemConnectionStateNotResponding
}

// AddVM makes a virtual machine that is off, with EFI.
func (l *Lab) AddVM(name, host string, cpus, memoryMB int32) *simulator.VirtualMachine {
	h := l.Host(host)
	vm := *l.first
	vm.Self.Value, vm.Name = "vm-"+name, name
	config := *vm.Config
	config.Name, config.Firmware, config.Version = name, "efi", "vmx-21"
	config.Hardware.NumCPU, config.Hardware.MemoryMB = cpus, memoryMB
	config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "mine", Value: "1"}}
	config.Hardware.Device = slices.Clone(config.Hardware.Device)
	vm.Config = &config
	at := h.Self
	vm.Runtime.Host, vm.Runtime.PowerState = &at, types.VirtualMachinePowerStatePoweredOff
	vm.Summary.Runtime.PowerState, vm.Summary.Config.Name = vm.Runtime.PowerState, name
	put := l.Map().Put(&vm).(*simulator.VirtualMachine)
	h.Vm = append(h.Vm, put.Self)
	return put
}

// PowerOn starts a virtual machine without asking.
func (l *Lab) PowerOn(vm *simulator.VirtualMachine) {
	vm.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOn
}

// Offer is what hosts say that virtual machines may be given by address.
func (l *Lab) Offer(addresses ...string) {
	target := &types.ConfigTarget{}
	for _, a := range addresses {
		target.PciPassthrough = append(target.PciPassthrough, &types.VirtualMachinePciPassthroughInfo{PciDevice: types.HostPciDevice{Id: a, VendorId: 0x15b3, DeviceId: 0x101e}, SystemId: "sys"})
	}
	l.Map().Get(l.first.EnvironmentBrowser).(*simulator.EnvironmentBrowser).QueryConfigTargetResponse.Returnval = target
}

// Open logs in.
func (l *Lab) Open(t *testing.T) *Client { return l.open(t) }

// Answer is what the JSON API says instead of what it would.
func (l *Lab) Answer(question, text string) {
	l.AnswerStatus(question, http.StatusOK, text)
}

// AnswerStatus is Answer with a status.
func (l *Lab) AnswerStatus(question string, status int, text string) {
	l.rest.lock.Lock()
	defer l.rest.lock.Unlock()
	if _, ok := l.usual[question]; !ok {
		l.usual[question] = l.rest.answer[question]
	}
	l.rest.answer[question] = func(w http.ResponseWriter) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}
}

// Usual takes an answer back.
func (l *Lab) Usual(question string) {
	l.rest.lock.Lock()
	defer l.rest.lock.Unlock()
	l.rest.answer[question] = l.usual[question]
}

// Expire ends all sessions of the JSON API.
func (l *Lab) Expire() { l.rest.expire() }

// SetClass and SetNamespace write objects as others would.
func (l *Lab) SetClass(name, text string)     { l.set(l.rest.classes, name, text) }
func (l *Lab) SetNamespace(name, text string) { l.set(l.rest.namespaces, name, text) }

func (l *Lab) set(all map[string]map[string]any, name, text string) {
	l.rest.lock.Lock()
	defer l.rest.lock.Unlock()
	delete(all, name)
	var o map[string]any
	if text == "" {
		return
	}
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		panic(err)
	}
	all[name] = o
}

// Class and Namespace are objects as they are kept.
func (l *Lab) Class(name string) map[string]any     { return l.rest.classes[name] }
func (l *Lab) Namespace(name string) map[string]any { return l.rest.namespaces[name] }

// Objects is everything that the JSON API keeps, as text.
func (l *Lab) Objects() string {
	l.rest.lock.Lock()
	defer l.rest.lock.Unlock()
	text, err := json.MarshalIndent([]any{l.rest.classes, l.rest.namespaces}, "", " ")
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Writes are the changes that were asked for.
func (l *Lab) Writes() []string {
	l.rest.lock.Lock()
	defer l.rest.lock.Unlock()
	writes := slices.Clone(l.rest.writes)
	for range l.calls.count("ReconfigVM_Task") {
		writes = append(writes, "ReconfigVM_Task")
	}
	return writes
}

// IsWrite reports whether a method, as Break gets it, changes something.
func IsWrite(method string) bool {
	path, _ := url.Parse(strings.TrimPrefix(method[strings.Index(method, " ")+1:], " "))
	write := strings.HasPrefix(method, "POST ") || strings.HasPrefix(method, "PATCH ") || strings.HasPrefix(method, "DELETE ")
	return method == "ReconfigVM_Task" || write && path != nil && path.Path != sessionPath
}

// Break closes the connection instead of an answer: before the question is looked at, or after it was done.
func (l *Lab) Break(before, after func(method string) bool) {
	l.calls.lock.Lock()
	defer l.calls.lock.Unlock()
	l.calls.broke, l.calls.lost = nil, nil
	if before != nil {
		l.calls.broke = func(method string, _ int) bool { return before(method) }
	}
	if after != nil {
		l.calls.lost = func(method string) bool { return after(method) }
	}
}

// Asked is how often a method was asked for.
func (l *Lab) Asked(method string) int { return l.calls.count(method) }
