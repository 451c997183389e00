package script

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/host"
)

// The vCenter of scripts is govmomi's simulator. What it lacks is added here: PCI devices and their passthrough, boot options of the
// VMkernel, installed packages, kernel modules, and the JSON API of a Supervisor. It takes any setting and any device of a virtual
// machine, and does not start hosts.

const (
	vcsimUser     = "admin@vsphere.local"
	vcsimPassword = "Tr0ub4dor&3"
)

// vcsim is the script command "vcsim start [hosts=N] [machine=hgx-h100|cx7] [vms=NAME,NAME] [off]" and others; see its usage. It sets
// VCENTER, THUMBPRINT and the credentials in the environment of the script.
func vcsim(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: vcsim start [KEY=VALUE...] | set HOST KEY=VALUE | stop")
	}
	switch args[0] {
	case "start":
		v, err := startVCSim(options(args[1:]))
		ts.Check(err)
		ts.Defer(v.server.Close)
		ts.Setenv("VCENTER", v.server.URL.Host)
		ts.Setenv("THUMBPRINT", v.thumbprint())
		ts.Setenv("RAILWRIGHT_VCENTER_USER", vcsimUser)
		ts.Setenv("RAILWRIGHT_VCENTER_PASSWORD", vcsimPassword)
		*running(ts) = v
	case "set":
		ts.Check((*running(ts)).set(args[1], options(args[2:])))
	case "stop":
		(*running(ts)).server.Close()
	default:
		ts.Fatalf("vcsim: unknown command %s", args[0])
	}
}

// vcsimKey is where a script keeps its vCenter.
type vcsimKey struct{}

func running(ts *testscript.TestScript) **vcenterSim { return ts.Value(vcsimKey{}).(**vcenterSim) }

func options(args []string) map[string]string {
	out := map[string]string{}
	for _, a := range args {
		key, value, _ := strings.Cut(a, "=")
		out[key] = value
	}
	return out
}

type vcenterSim struct {
	*simulator.Model
	server *simulator.Server
	hosts  map[string]*simulator.HostSystem
	lock   sync.Mutex
	breaks int                  // questions until the connection breaks, for one question; 0: never
	shells map[string][2]string // the program and the folder of a played ESX host, by the id of the host
}

func startVCSim(o map[string]string) (*vcenterSim, error) {
	m := simulator.VPX()
	count := 2
	if o["hosts"] != "" {
		var err error
		if count, err = strconv.Atoi(o["hosts"]); err != nil {
			return nil, err
		}
	}
	machines := strings.FieldsFunc(o["vms"], func(r rune) bool { return r == ',' })
	m.Host, m.Cluster, m.ClusterHost, m.Machine = 0, 1, min(count, 2), len(machines)
	m.ServiceContent.About.Version, m.ServiceContent.About.ApiVersion = "9.0.0", "9.0.0.0"
	if err := m.Create(); err != nil {
		return nil, err
	}
	v := &vcenterSim{Model: m, hosts: map[string]*simulator.HostSystem{}, shells: map[string][2]string{}}
	m.Service.TLS = new(tls.Config)
	m.Service.Listen = &url.URL{User: url.UserPassword(vcsimUser, vcsimPassword)}
	v.equip(count, o)
	v.place(machines)
	v.server = m.Service.NewServer()
	rest, soapAPI := newVCSimREST(), v.server.Config.Handler
	v.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case v.broken():
			panic(http.ErrAbortHandler)
		case strings.HasPrefix(r.URL.Path, "/api/"):
			rest.ServeHTTP(w, r)
		default:
			// vCenter spells this answer in lower case; the simulator does not.
			answer := httptest.NewRecorder()
			question, err := io.ReadAll(r.Body)
			if err != nil {
				panic(http.ErrAbortHandler)
			}
			r.Body = io.NopCloser(bytes.NewReader(question))
			v.notice()
			soapAPI.ServeHTTP(answer, r)
			v.maintain(string(question))
			maps.Copy(w.Header(), answer.Header())
			w.WriteHeader(answer.Code)
			_, _ = w.Write(bytes.Replace(answer.Body.Bytes(), []byte("FetchSoftwarePackagesResponse"), []byte("fetchSoftwarePackagesResponse"), 2))
		}
	})
	return v, nil
}

// notice sees what was done in the shell of a played host, as vCenter does: maintenance mode.
func (v *vcenterSim) notice() {
	for _, h := range v.hosts {
		at, ok := v.shells[h.Self.Value]
		if !ok {
			continue
		}
		text, err := os.ReadFile(filepath.Join(at[1], ".state", "host.json"))
		var state struct{ Maintenance bool }
		if err == nil && json.Unmarshal(text, &state) == nil {
			h.Runtime.InMaintenanceMode = state.Maintenance
		}
	}
}

// maintain tells a played host that vCenter put it into maintenance mode, or out of it.
func (v *vcenterSim) maintain(question string) {
	for id, at := range v.shells {
		for task, on := range map[string]string{"EnterMaintenanceMode_Task": "true", "ExitMaintenanceMode_Task": "false"} {
			if strings.Contains(question, task) && strings.Contains(question, ">"+id+"<") {
				_, _ = host.Output(context.Background(), host.Local{}, host.Command{Argv: at[:], Env: []string{"SSH_ORIGINAL_COMMAND=esxcli system maintenanceMode set -e " + on}})
			}
		}
	}
}

// broken ends the connection of one question, the one that was asked for.
func (v *vcenterSim) broken() bool {
	v.lock.Lock()
	defer v.lock.Unlock()
	if v.breaks == 0 {
		return false
	}
	v.breaks--
	return v.breaks == 0
}

func (v *vcenterSim) thumbprint() string {
	sum := sha256.Sum256(v.server.Certificate().Raw)
	pairs := make([]string, len(sum))
	for i := range sum {
		pairs[i] = strings.ToUpper(hex.EncodeToString(sum[i : i+1]))
	}
	return strings.Join(pairs, ":")
}

// equip names the hosts esx1, esx2 and so on, and gives each the devices of a machine and the settings of ESX as it is installed.
func (v *vcenterSim) equip(count int, o map[string]string) {
	cluster := v.Map().Any("ClusterComputeResource").(*simulator.ClusterComputeResource)
	cluster.Name = "gpus"
	boot := time.Now().Add(-time.Hour).UTC()
	for i := range count {
		var h *simulator.HostSystem
		if i < len(cluster.Host) {
			h = v.Map().Get(cluster.Host[i]).(*simulator.HostSystem)
		} else { // a copy: the simulator takes a task for each host of its own
			one := *v.Map().Get(cluster.Host[0]).(*simulator.HostSystem)
			one.Self.Value, one.Vm = fmt.Sprintf("host-%d", 10000+i), nil
			h = &one
			cluster.Host = append(cluster.Host, v.Map().Put(h).Reference())
		}
		h.Name = fmt.Sprintf("esx%0*d.example.com", len(strconv.Itoa(count)), i+1)
		h.Summary.Config.Name = h.Name
		h.Runtime.BootTime = &boot
		v.device(h, o["machine"])
		v.hosts[fmt.Sprintf("esx%d", i+1)] = h
	}
}

// device gives a host its PCI devices, boot options, power policy and software.
func (v *vcenterSim) device(h *simulator.HostSystem, machine string) {
	pci, pass := h100Devices()
	if machine == "cx7" {
		pci, pass = cx7Devices()
	}
	hardware, config := *h.Hardware, *h.Config
	hardware.PciDevice = pci
	h.Hardware = &hardware
	config.PciPassthruInfo = pass
	config.Option = append(slices.Clone(config.Option), &types.OptionValue{Key: "VMkernel.Boot.disableACSCheck", Value: true}, &types.OptionValue{Key: "VMkernel.Boot.atsSupport", Value: false},
		&types.OptionValue{Key: "VMkernel.Boot.enableACSDTP2P", Value: false})
	config.PowerSystemInfo = &types.PowerSystemInfo{CurrentPolicy: types.HostPowerPolicy{Key: 2, Name: "PowerPolicy.dynamic.name", ShortName: "dynamic"}}
	h.Config = &config
	product := *h.Summary.Config.Product
	product.Version, product.Build = "9.0.0", "24755229"
	if machine == "cx7" {
		product.Version, product.Build = "8.0.3", "24280767"
	}
	h.Summary.Config.Product = &product
	put := func(kind string, o mo.Reference) *types.ManagedObjectReference {
		ref := v.Map().Put(o).Reference()
		_ = kind
		return &ref
	}
	self := func(kind string) types.ManagedObjectReference {
		return types.ManagedObjectReference{Type: kind, Value: kind + "-" + h.Self.Value}
	}
	system := &passthrough{host: h}
	system.Self = self("HostPciPassthruSystem")
	h.ConfigManager.PciPassthruSystem = put("", system)
	packages := &packages{}
	packages.Self = self("HostImageConfigManager")
	h.ConfigManager.ImageConfigManager = put("", packages)
	modules := &modules{}
	modules.Self = self("HostKernelModuleSystem")
	h.ConfigManager.KernelModuleSystem = put("", modules)
}

func pciDevice(address, parent string, class, vendor, device uint16, name string) types.HostPciDevice {
	return types.HostPciDevice{Id: address, ParentBridge: parent, ClassId: int16(class), VendorId: int16(vendor), DeviceId: int16(device), DeviceName: name}
}

// h100Devices are eight GPUs, each with a NIC below the same PCIe switch, and four NVSwitches.
func h100Devices() (pci []types.HostPciDevice, pass []types.BaseHostPciPassthruInfo) {
	passed := func(d types.HostPciDevice) {
		pci = append(pci, d)
		pass = append(pass, &types.HostPciPassthruInfo{Id: d.Id, DependentDevice: d.Id, PassthruCapable: true})
	}
	for i := range 8 {
		bus := 0x10 + 0x10*i
		at := func(bus, device int) string { return fmt.Sprintf("0000:%02x:%02x.0", bus, device) }
		root, up := at(0, i+1), at(bus, 0)
		pci = append(pci, pciDevice(root, "", 0x604, 0x8086, 0x352a, "root port"), pciDevice(up, root, 0x604, 0x1000, 0xc030, "switch"),
			pciDevice(at(bus+1, 0), up, 0x604, 0x1000, 0xc030, "switch"), pciDevice(at(bus+1, 1), up, 0x604, 0x1000, 0xc030, "switch"))
		passed(pciDevice(at(bus+2, 0), at(bus+1, 0), 0x302, 0x10de, 0x2330, "GH100 [H100 SXM5 80GB]"))
		passed(pciDevice(at(bus+3, 0), at(bus+1, 1), 0x207, 0x15b3, 0x1021, "MT2910 Family [ConnectX-7]"))
	}
	for i := range 4 {
		bus := 0x95 + i
		passed(pciDevice(fmt.Sprintf("0000:%02x:00.0", bus), "", 0x680, 0x10de, 0x22a3, "GH100 [H100 NVSwitch]"))
	}
	return pci, pass
}

// cx7Devices is one NIC that can have virtual functions.
func cx7Devices() ([]types.HostPciDevice, []types.BaseHostPciPassthruInfo) {
	const address = "0000:9c:00.0" // as the host that test/esxi plays
	return []types.HostPciDevice{pciDevice(address, "", 0x207, 0x15b3, 0x1021, "MT2910 Family [ConnectX-7]")},
		[]types.BaseHostPciPassthruInfo{&types.HostSriovInfo{HostPciPassthruInfo: types.HostPciPassthruInfo{Id: address, DependentDevice: address, PassthruCapable: true}, SriovCapable: true, MaxVirtualFunctionSupported: 8}}
}

// place names the virtual machines, and puts them on the hosts in order, off.
func (v *vcenterSim) place(names []string) {
	all := v.Map().All("VirtualMachine")
	for _, h := range v.hosts {
		h.Vm = nil
	}
	each := (len(names) + len(v.hosts) - 1) / max(len(v.hosts), 1)
	for i, name := range names {
		vm, h := all[i].(*simulator.VirtualMachine), v.hosts[fmt.Sprintf("esx%d", i/max(each, 1)+1)]
		self := h.Self
		vm.Name, vm.Config.Name, vm.Runtime.Host = name, name, &self
		vm.Runtime.PowerState, vm.Summary.Runtime.PowerState = types.VirtualMachinePowerStatePoweredOff, types.VirtualMachinePowerStatePoweredOff
		h.Vm = append(h.Vm, vm.Self)
	}
}

// set changes the state of a host, or with the name "vcenter" that of vCenter.
func (v *vcenterSim) set(name string, o map[string]string) error {
	for key, value := range o {
		if name == "vcenter" && key == "break" {
			n, err := strconv.Atoi(value)
			if err != nil {
				return err
			}
			v.lock.Lock()
			v.breaks = n
			v.lock.Unlock()
			continue
		}
		h := v.hosts[name]
		if h == nil {
			return fmt.Errorf("vcsim has no host %s", name)
		}
		switch key {
		case "name":
			h.Name = value
		case "state":
			h.Runtime.ConnectionState = types.HostSystemConnectionState(value)
		case "maintenance":
			h.Runtime.InMaintenanceMode = value == "true"
		case "shell": // PROGRAM:FOLDER
			program, folder, _ := strings.Cut(value, ":")
			v.shells[h.Self.Value] = [2]string{program, folder}
		case "started": // what was configured is in force
			for _, i := range h.Config.PciPassthruInfo {
				info := i.GetHostPciPassthruInfo()
				info.PassthruActive = info.PassthruEnabled
			}
		default:
			return fmt.Errorf("vcsim: unknown %s", key)
		}
	}
	return nil
}

// passthrough does what it is told, and checks only that the device is there.
type passthrough struct {
	mo.HostPciPassthruSystem
	host *simulator.HostSystem
}

func (p *passthrough) UpdatePassthruConfig(_ *simulator.Context, r *types.UpdatePassthruConfig) soap.HasFault {
	for _, c := range r.Config {
		config := c.GetHostPciPassthruConfig()
		i := slices.IndexFunc(p.host.Config.PciPassthruInfo, func(i types.BaseHostPciPassthruInfo) bool { return i.GetHostPciPassthruInfo().Id == config.Id })
		if i < 0 {
			return &methods.UpdatePassthruConfigBody{Fault_: simulator.Fault("no such device", &types.InvalidArgument{InvalidProperty: "config.id"})}
		}
		info := p.host.Config.PciPassthruInfo[i].GetHostPciPassthruInfo()
		info.PassthruEnabled, info.HardwareLabel = config.PassthruEnabled, config.HardwareLabel
	}
	return &methods.UpdatePassthruConfigBody{Res: &types.UpdatePassthruConfigResponse{}}
}

// packages is the installed software of a host.
type packages struct{ mo.HostImageConfigManager }

func (p *packages) FetchSoftwarePackages(*simulator.Context, *types.FetchSoftwarePackages) soap.HasFault {
	vib := types.SoftwarePackage{Name: "nmlx5-core", Version: "4.24.0.7-15vmw.900.0.24755229", Vendor: "VMW", AcceptanceLevel: "VMwareCertified", Type: "bootbank"}
	return &methods.FetchSoftwarePackagesBody{Res: &types.FetchSoftwarePackagesResponse{Returnval: []types.SoftwarePackage{vib}}}
}

// modules is the kernel of a host.
type modules struct{ mo.HostKernelModuleSystem }

func (m *modules) QueryModules(*simulator.Context, *types.QueryModules) soap.HasFault {
	module := types.KernelModuleInfo{Name: "nmlx5_core", Loaded: true, Enabled: true}
	return &methods.QueryModulesBody{Res: &types.QueryModulesResponse{Returnval: []types.KernelModuleInfo{module}}}
}
