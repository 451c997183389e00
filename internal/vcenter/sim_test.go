package vcenter

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// The vCenter of these tests is the library's simulator. What it lacks is added here: passthrough of PCI devices, starting a host
// again, boot times, events of maintenance mode. What it does not check is checked by nobody: it takes any advanced setting, any
// device of a virtual machine, and knows no reservation of memory.

const (
	testUser     = "admin@vsphere.local"
	testPassword = "Tr0ub4dor&3"
)

type sim struct {
	*simulator.Model
	server *simulator.Server
	host   *simHost
	rest   *fakeREST
	calls  *counter
}

// counter counts questions by method, and breaks those that it is told to.
type counter struct {
	lock  sync.Mutex
	seen  map[string]int
	broke func(method string, n int) bool // closes the connection instead of an answer
	lost  func(method string) bool        // likewise, after it was done
}

// simHost is a host that can start again and writes events.
type simHost struct {
	*simulator.HostSystem
	lock     sync.Mutex
	restarts int
	stuck    bool // never comes back
}

// RebootHostTask is what the simulator lacks.
func (h *simHost) RebootHostTask(ctx *simulator.Context, r *types.RebootHost_Task) soap.HasFault {
	task := simulator.CreateTask(h, "rebootHost", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		h.lock.Lock()
		defer h.lock.Unlock()
		h.restarts++
		if h.stuck {
			h.Runtime.ConnectionState = types.HostSystemConnectionStateNotResponding
			return nil, nil
		}
		later := h.Runtime.BootTime.Add(10 * time.Minute)
		h.Runtime.BootTime = &later
		for _, i := range h.Config.PciPassthruInfo {
			info := i.GetHostPciPassthruInfo()
			info.PassthruActive = info.PassthruEnabled
			if s, ok := i.(*types.HostSriovInfo); ok {
				s.SriovActive, s.NumVirtualFunction = s.SriovEnabled, s.NumVirtualFunctionRequested
			}
		}
		return nil, nil
	})
	return &methods.RebootHost_TaskBody{Res: &types.RebootHost_TaskResponse{Returnval: task.Run(ctx)}}
}

// passthruSystem is what the simulator lacks: it does what it is told, and checks only that the device is there.
type passthruSystem struct {
	mo.HostPciPassthruSystem
	host *simHost
	deaf bool // says yes and does nothing
}

func (p *passthruSystem) UpdatePassthruConfig(_ *simulator.Context, r *types.UpdatePassthruConfig) soap.HasFault {
	for _, c := range r.Config {
		config := c.GetHostPciPassthruConfig()
		found := false
		for _, i := range p.host.Config.PciPassthruInfo {
			info := i.GetHostPciPassthruInfo()
			if info.Id != config.Id {
				continue
			}
			found = true
			if p.deaf {
				continue
			}
			info.PassthruEnabled, info.HardwareLabel = config.PassthruEnabled, config.HardwareLabel
			if s, ok := c.(*types.HostSriovConfig); ok {
				v := i.(*types.HostSriovInfo)
				v.SriovEnabled, v.NumVirtualFunctionRequested = s.SriovEnabled, s.NumVirtualFunction
			}
		}
		if !found {
			return &methods.UpdatePassthruConfigBody{Fault_: simulator.Fault("no such device", &types.InvalidArgument{InvalidProperty: "config.id"})}
		}
	}
	return &methods.UpdatePassthruConfigBody{Res: &types.UpdatePassthruConfigResponse{}}
}

// canStart puts the host that can start again in its place. The simulator's virtual machines want their own type of host, so it
// is only for tests without changes of machines.
func (s *sim) canStart() { s.Map().Put(s.host) }

func (h *simHost) runs() int {
	h.lock.Lock()
	defer h.lock.Unlock()
	return h.restarts
}

func (s *sim) optionManager() *simulator.OptionManager {
	return s.Map().Get(*s.host.ConfigManager.AdvancedOption).(*simulator.OptionManager)
}

// Devices of the host of these tests.
const (
	gpu0, gpu1 = "0000:18:00.0", "0000:19:00.0"
	nic0, nic1 = "0000:1a:00.0", "0000:3c:00.0"
	disk       = "0000:01:00.0"
)

func newSim(t *testing.T, hosts int) *sim {
	t.Helper()
	m := simulator.VPX()
	m.Host, m.Cluster, m.ClusterHost, m.Machine = 0, 1, hosts, 1
	m.ServiceContent.About.Version, m.ServiceContent.About.ApiVersion = "8.0.3", "8.0.3.0"
	if err := m.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Remove)
	s := &sim{Model: m, calls: &counter{seen: map[string]int{}}, rest: newFakeREST()}
	m.Service.TLS = new(tls.Config)
	m.Service.Listen = &url.URL{User: url.UserPassword(testUser, testPassword)}
	boot := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, e := range m.Map().All("HostSystem") {
		h := e.(*simulator.HostSystem)
		h.Runtime.BootTime = &boot
	}
	s.equip(m.Map().Any("HostSystem").(*simulator.HostSystem))
	s.server = m.Service.NewServer()
	handler := s.server.Config.Handler
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		breaks, lost := s.calls.breaks(r)
		if breaks {
			panic(http.ErrAbortHandler)
		}
		if lost {
			defer panic(http.ErrAbortHandler)
			w = httptest.NewRecorder()
		}
		if strings.HasPrefix(r.URL.Path, "/api/") {
			s.rest.ServeHTTP(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	})
	t.Cleanup(s.server.Close)
	return s
}

// equip gives a host devices.
func (s *sim) equip(h *simulator.HostSystem) {
	device := func(id string, class, vendor, dev uint16) types.HostPciDevice {
		return types.HostPciDevice{Id: id, ClassId: int16(class), VendorId: int16(vendor), DeviceId: int16(dev), VendorName: "V", DeviceName: "D", ParentBridge: "0000:17:01.0"}
	}
	hardware := *h.Hardware
	hardware.PciDevice = []types.HostPciDevice{device(gpu0, 0x302, 0x10de, 0x2330), device(gpu1, 0x302, 0x10de, 0x2330), device(nic0, 0x207, 0x15b3, 0x1021), device(nic1, 0x200, 0x8086, 0x8032), device(disk, 0x108, 0x144d, 0xa824)}
	h.Hardware = &hardware
	config := *h.Config
	pass := func(id string) types.HostPciPassthruInfo {
		return types.HostPciPassthruInfo{Id: id, DependentDevice: id, PassthruCapable: true}
	}
	n0 := types.HostSriovInfo{HostPciPassthruInfo: pass(nic0), SriovCapable: true, MaxVirtualFunctionSupported: 8}
	g0, g1, n1, d := pass(gpu0), pass(gpu1), pass(nic1), pass(disk)
	config.PciPassthruInfo = []types.BaseHostPciPassthruInfo{&g0, &g1, &n0, &n1, &d}
	config.PowerSystemInfo = &types.PowerSystemInfo{CurrentPolicy: types.HostPowerPolicy{Key: 2, Name: "PowerPolicy.dynamic.name", ShortName: "dynamic"}}
	network := *config.Network
	network.Pnic = slices.Clone(network.Pnic)
	network.Pnic[0].Pci = nic1
	config.Network = &network
	h.Config = &config
	product := *h.Summary.Config.Product // all hosts share one
	product.Version = "8.0.3"
	h.Summary.Config.Product = &product
	s.host = &simHost{HostSystem: h}
	system := &passthruSystem{host: s.host}
	system.Self = types.ManagedObjectReference{Type: "HostPciPassthruSystem", Value: "pci-" + h.Self.Value}
	ref := s.Map().Put(system).Reference()
	h.ConfigManager.PciPassthruSystem = &ref
}

func (s *sim) passthru() *passthruSystem {
	return s.Map().Get(*s.host.ConfigManager.PciPassthruSystem).(*passthruSystem)
}

func (s *sim) info(id string) types.BaseHostPciPassthruInfo {
	for _, i := range s.host.Config.PciPassthruInfo {
		if i.GetHostPciPassthruInfo().Id == id {
			return i
		}
	}
	return nil
}

// breaks counts a question and says whether its connection breaks, before or after it is done.
func (c *counter) breaks(r *http.Request) (before, after bool) {
	method := r.Method + " " + r.URL.Path
	if r.URL.Path == "/sdk" {
		body, err := readBody(r)
		if err != nil {
			return true, false
		}
		method = soapMethod(body)
	}
	c.lock.Lock()
	defer c.lock.Unlock()
	c.seen[method]++
	before = c.broke != nil && c.broke(method, c.seen[method])
	return before, !before && c.lost != nil && c.lost(method)
}

func (c *counter) count(method string) int {
	c.lock.Lock()
	defer c.lock.Unlock()
	return c.seen[method]
}

func (s *sim) config() Config {
	return Config{Server: s.server.URL.Host, User: testUser, Password: passwordOf(testPassword), Thumbprint: Thumbprint(s.server.Certificate()), Timeout: 10 * time.Second}
}

func (s *sim) open(t *testing.T) *Client {
	t.Helper()
	c, err := Open(t.Context(), s.config())
	if err != nil {
		t.Fatal(err)
	}
	c.poll = 5 * time.Millisecond
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// machineOn is the virtual machine of the equipped host, the only one with machines, in a state of power.
func (s *sim) machineOn(t *testing.T, power types.VirtualMachinePowerState) *simulator.VirtualMachine {
	t.Helper()
	vm := s.Map().Any("VirtualMachine").(*simulator.VirtualMachine)
	s.host.Vm = []types.ManagedObjectReference{vm.Self}
	host := s.host.Self
	vm.Runtime.Host, vm.Runtime.PowerState, vm.Summary.Runtime.PowerState = &host, power, power
	return vm
}

// crowd adds hosts that are copies of the first, without the tasks that the simulator takes for each.
func (s *sim) crowd(n int) {
	cluster := s.Map().Any("ClusterComputeResource").(*simulator.ClusterComputeResource)
	for i := range n {
		h := *s.host.HostSystem
		h.Self.Value, h.Name, h.Vm = fmt.Sprintf("host-%d", 10000+i), fmt.Sprintf("esx%04d", i), nil
		cluster.Host = append(cluster.Host, s.Map().Put(&h).Reference())
	}
}

// alone takes the virtual machines off the host.
func (s *sim) alone() { s.host.Vm = nil }

func (s *sim) maintenance(yes bool) { s.host.Runtime.InMaintenanceMode = yes }

// event writes that somebody put the host into maintenance mode.
func (s *sim) event(user string, at time.Time) {
	ctx := s.Service.Context
	m := s.Map().EventManager()
	e := &types.EnteredMaintenanceModeEvent{HostEvent: types.HostEvent{Event: types.Event{Host: &types.HostEventArgument{Host: s.host.Self}, Datacenter: &types.DatacenterEventArgument{}}}}
	m.PostEvent(ctx, &types.PostEvent{EventToPost: e})
	e.UserName, e.CreatedTime = user, at // which the simulator sets itself
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func yes() *bool            { b := true; return &b }
func no() *bool             { b := false; return &b }
func text(s string) *string { return &s }
func count(n int) *int      { return &n }

// passwordOf is a password as Config holds it.
func passwordOf(text string) func() string { return func() string { return text } }
