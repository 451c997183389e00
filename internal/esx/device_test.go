package esx

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestPCIList(t *testing.T) {
	r := read(t, `[root@esx1:~] esxcli hardware pci list
0000:00:00.0
   Address: 0000:00:00.0
   Segment: 0x0000
   Bus: 0x00
   Slot: 0x00
   Function: 0x0
   VMkernel Name: 
   Vendor Name: Intel Corporation
   Device Name: Host bridge
   Configured Owner: VMkernel
   Current Owner: VMkernel
   Vendor ID: 0x8086
   Device ID: 0x09a2
   Device Class: 0x0600
   Device Class Name: Host bridge
   Module Name: None
   Passthru Capable: false
   Parent Device: 

0000:1a:00.0
   Address: 0000:1a:00.0
   VMkernel Name: 
   Vendor Name: Mellanox Technologies
   Device Name: MT2910 Family [ConnectX-7]
   Configured Owner: VM Passthru
   Current Owner: VMkernel
   Vendor ID: 0x15b3
   Device ID: 0x1021
   Device Class: 0x0207
   Module ID: 21
   Module Name: nmlx5_core
   Chassis: 0
   Physical Slot: 33
   NUMA Node: 1
   Passthru Capable: true
   Parent Device: PCI 0:25:1:0
   Dependent Device: PCI 0:26:0:0
   Reset Method: Function reset
   FPT Sharable: true
`)
	if len(r.Unread) > 0 || !r.ESX.Whole(fabric.FactESXDevices) {
		t.Errorf("unread %q, parts %q", r.Unread, r.ESX.Parts)
	}
	same(t, fabric.PassthroughPCI{Address: "0000:1a:00.0", Vendor: 0x15b3, Device: 0x1021, Name: "MT2910 Family [ConnectX-7]", Capable: new(true), Enabled: new(true), Active: new(false)}, r.ESX.Devices[1])
	same(t, fabric.PCIDevice{Address: "0000:1a:00.0", Parent: "0000:19:01.0", Vendor: 0x15b3, Device: 0x1021, Class: 0x020700, Driver: "nmlx5_core", NUMANode: new(1)}, r.PCI[1])
}

func TestLspci(t *testing.T) {
	r := read(t, `[root@esx1:~] lspci -n
0000:1a:00.0 Class 0207: 15b3:1021 [vmnic4]
0000:1b:00.0 Class 0302: 10de:2330
[root@esx1:~] lspci -p
Seg:Bu:Sl.F Vend:Dvid Subv:Subd ISA/irq/Vec P M Module       Name
0000:1a:00.0 15b3:1021 15b3:0041  11/  11/0x33 A V nmlx5_core   vmnic4
0000:1b:00.0 10de:2330 10de:16c1 255/    /     A P pciPassthru
[root@esx1:~] vmkchdev -l
0000:9c:00.0 15b3:1021 15b3:0041 passthru
[root@esx1:~] lspci | grep -i mell
0000:1a:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7] [vmnic4]
0000:1a:00.1 Infiniband controller: Mellanox Technologies ConnectX Family mlx5Gen Virtual Function [PF_0.26.0_VF_0]
[root@esx1:~] lspci -v | grep -A1 H100
0000:1b:00.0 3D controller Display controller: NVIDIA Corporation GH100 [H100 SXM5 80GB]
	 Class 0302: 10de:2330
`)
	if len(r.Unread) > 0 {
		t.Errorf("unread %q", r.Unread)
	}
	same(t, []fabric.PCIDevice{{Address: "0000:1a:00.0", Vendor: 0x15b3, Device: 0x1021, Class: 0x020700}, {Address: "0000:1b:00.0", Vendor: 0x10de, Device: 0x2330, Class: 0x030200}}, r.PCI)
	same(t, []fabric.Uplink{{Name: "vmnic4", Address: "0000:1a:00.0", Driver: "nmlx5_core"}}, r.ESX.Uplinks)
	same(t, []fabric.ESXVirtual{{Of: "0000:1a:00.0", Number: 0, Address: "0000:1a:00.1"}}, r.ESX.VFs)
	active := map[string]bool{}
	for _, d := range r.ESX.Devices {
		if d.Active != nil {
			active[d.Address] = *d.Active
		}
	}
	same(t, map[string]bool{"0000:1a:00.0": false, "0000:1b:00.0": true, "0000:9c:00.0": true}, active)
	linux := read(t, "$ lspci -D\n0000:1a:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n0000:00:1f.0 ISA bridge: Intel Corporation Device 1b81 (rev 11)\n")
	if linux.ESX != nil || linux.Proven {
		t.Errorf("a list of Linux was taken for one of ESX: %+v", linux.ESX)
	}
}

func TestResetRules(t *testing.T) {
	const file = `# passthrough attributes for devices
#
# file format:  vendor-id device-id resetMethod fptShareable
# vendor/device id: xxxx (in hex) (ffff can be used for wildchar match)

# Intel 82579LM Gig NIC can be reset with d3d0
8086  1502  d3d0     default
# NVIDIA
10de  ffff  flr      false
`
	e := whole(t, "[root@esx1:~] cat /etc/vmware/passthru.map\n"+file)
	same(t, []fabric.ResetRule{{Vendor: 0x8086, Device: 0x1502, Method: "d3d0", Shareable: "default", Line: 8}, {Vendor: 0x10de, Device: 0xffff, Method: "flr", Shareable: "false", Line: 10}}, e.ResetRules)
	if !e.Whole(fabric.FactESXResetRules) {
		t.Errorf("parts: %q", e.Parts)
	}
	if part := whole(t, file); part.Whole(fabric.FactESXResetRules) { // its end does not show
		t.Error("a text that nobody printed as a whole is one")
	}
}

func TestVMX(t *testing.T) {
	e := whole(t, `.encoding = "UTF-8"
displayName = "gpu-vm1"
virtualHW.version = "21"
firmware = "efi"
numvcpus = "128"
memSize = "1048576"
sched.mem.min = "1048576"
pciPassthru0.present = "TRUE"
pciPassthru0.id = "00000:026:00.0"
pciPassthru0.deviceId = "0x1021"
pciPassthru0.vendorId = "0x15b3"
pciPassthru0.systemId = "64a1"
pciPassthru1.pfId = "00000:175:00.0"
pciPassthru1.deviceId = "0"
pciPassthru1.vendorId = "0"
pciPassthru1.systemId = "BYPASS"
pciPassthru2.allowedDevices = "0x10de:0x2330"
pciPassthru2.customLabel = "GPU0"
pciPassthru.use64bitMMIO = "TRUE"
guestOS = "ubuntu-64"
`)
	same(t, []fabric.VM{{
		Name: "gpu-vm1", Firmware: "efi", Hardware: 21, CPUs: 128, MemoryMB: 1048576, Reserved: new(true),
		Extra: map[string]string{".encoding": "UTF-8", "displayName": "gpu-vm1", "virtualHW.version": "21", "firmware": "efi", "numvcpus": "128", "memSize": "1048576", "sched.mem.min": "1048576", "pciPassthru.use64bitMMIO": "TRUE", "guestOS": "ubuntu-64"},
		Devices: []fabric.VMDevice{{Number: 0, Kind: "direct", Address: "0000:1a:00.0", Vendor: "0x15b3", Device: "0x1021", System: "64a1"},
			{Number: 1, Kind: "sriov", Address: "0000:af:00.0", Vendor: "0", Device: "0", System: "BYPASS"}, {Number: 2, Kind: "dynamic", Label: "GPU0"}},
	}}, e.VMs)
}

const vmObject = `[root@esx1:~] vim-cmd vmsvc/get.config 12
Configuration:

(vim.vm.ConfigInfo) {
   changeVersion = "2025-02-03T10:11:12.123456Z",
   name = "gpu-vm1",
   version = "vmx-21",
   memoryReservationLockedToMax = true,
   firmware = "efi",
   hardware = (vim.vm.VirtualHardware) {
      numCPU = 128,
      memoryMB = 1048576,
      device = (vim.vm.device.VirtualDevice) [
         (vim.vm.device.VirtualPCIPassthrough) {
            key = 13000,
            deviceInfo = (vim.Description) {
               label = "PCI device 0",
               summary = ""
            },
            backing = (vim.vm.device.VirtualPCIPassthrough.DynamicBackingInfo) {
               deviceName = "",
               allowedDevice = (vim.vm.device.VirtualPCIPassthrough.AllowedDevice) [
                  (vim.vm.device.VirtualPCIPassthrough.AllowedDevice) {
                     vendorId = 4318,
                     deviceId = 9008
                  }
               ],
               customLabel = "GPU0",
               assignedId = "00000:027:00.0"
            },
            connectable = (vim.vm.device.VirtualDevice.ConnectInfo) null
         },
         (vim.vm.device.VirtualPCIPassthrough) {
            key = 13001,
            backing = (vim.vm.device.VirtualPCIPassthrough.DeviceBackingInfo) {
               id = "0000:1a:00.0",
               deviceId = "0x1021",
               systemId = "64a1",
               vendorId = 5555
            }
         }
      ]
   },
   extraConfig = (vim.option.OptionValue) [
      (vim.option.OptionValue) {
         key = "pciPassthru.64bitMMIOSizeGB",
         value = "1056"
      }
   ],
   swapStorageObjectId = <unset>
}
`

func TestObjects(t *testing.T) {
	e := whole(t, vmObject)
	want := []fabric.VM{{
		Name: "gpu-vm1", Firmware: "efi", Hardware: 21, CPUs: 128, MemoryMB: 1048576, Reserved: new(true), Extra: map[string]string{"pciPassthru.64bitMMIOSizeGB": "1056"},
		Devices: []fabric.VMDevice{{Number: 0, Kind: "dynamic", Address: "0000:1b:00.0", Vendor: "4318", Device: "9008", Label: "GPU0"}, {Number: 1, Kind: "direct", Address: "0000:1a:00.0", Vendor: "5555", Device: "0x1021", System: "64a1"}},
	}}
	same(t, want, e.VMs)
	r := read(t, `[root@esx1:~] vim-cmd hostsvc/hostsummary
Listsummary:

(vim.host.Summary) {
   host = 'vim.HostSystem:ha-host',
   hardware = (vim.host.Summary.HardwareSummary) {
      vendor = "Dell Inc.",
      model = "PowerEdge XE9680",
      numNics = 4
   },
   runtime = (vim.host.RuntimeInfo) {
      connectionState = "connected",
      inMaintenanceMode = true
   },
   config = (vim.host.Summary.ConfigSummary) {
      name = "esx1",
      product = (vim.AboutInfo) {
         name = "VMware ESXi",
         version = "9.0.0",
         build = "24755229"
      }
   },
   rebootRequired = true
}
`)
	if e := r.ESX; *r.Machine.Product != "PowerEdge XE9680" || !*e.Maintenance || e.Version != "9.0.0" || len(e.Reboot) != 1 || len(r.Unread) > 0 {
		t.Errorf("%+v, unread %q", e, r.Unread)
	}
}

func TestWorlds(t *testing.T) {
	e := whole(t, `[root@esx1:~] esxcli network sriovnic vf list -n vmnic4
VF ID  Active  PCI Address   Owner World ID
    0    true  0000:af:00.1  2381189
[root@esx1:~] esxcli vm process list
gpu-vm1
   World ID: 2381189
   Process ID: 0
   VMX Cartel ID: 2381188
   UUID: 56 4d 6e 28 c8 5b fe b1-76 37 43 c0 fc 09 36 e4
   Display Name: gpu-vm1
   Config File: /vmfs/volumes/datastore1/gpu-vm1/gpu-vm1.vmx

[root@esx1:~] vim-cmd vmsvc/getallvms
Vmid    Name                 File                   Guest OS       Version   Annotation
12     gpu-vm1   [datastore1] gpu-vm1/gpu-vm1.vmx   ubuntu64Guest   vmx-21
13     spare vm   [datastore1] spare vm/spare vm.vmx   ubuntu64Guest   vmx-21
`)
	if e.VFs[0].Owner != "gpu-vm1" || len(e.VMs) != 2 || e.VMs[0].Power != "on" || e.VMs[0].Hardware != 21 || e.VMs[1].Name != "spare vm" || e.VMs[1].Power != "off" {
		t.Errorf("%+v, %+v", e.VFs, e.VMs)
	}
}

func TestNICGet(t *testing.T) {
	e := whole(t, `[root@esx1:~] esxcli network nic get -n vmnic5
   Advertised Auto Negotiation: true
   Advertised Link Modes: 100000baseT/Full, 25000baseT/Full
   Auto Negotiation: false
   Cable Type: DA
   Driver Info: 
         Bus Info: 0000:82:00:1
         Driver: nmlx5_core
         Firmware Version: 28.39.1002
         Version: 4.23.0.66
   Link Detected: true
   Link Status: Up 
   Name: vmnic5
   Supports Wakeon: false
   Wakeon: MagicPacket(tm)
`)
	same(t, []fabric.Uplink{{Name: "vmnic5", Address: "0000:82:00.1", Driver: "nmlx5_core", Up: new(true)}}, e.Uplinks)
	same(t, []fabric.NICFirmware{{Device: "0000:82:00.1", Version: "28.39.1002"}}, e.Firmware)
}

func TestOwners(t *testing.T) {
	e := whole(t, vmObject+"[root@esx1:~] vmkchdev -l\n0000:1a:00.0 15b3:1021 15b3:0041 passthru\n0000:9c:00.0 15b3:1021 15b3:0041 passthru\n")
	if e.Devices[0].Owner != "gpu-vm1" || e.Devices[1].Owner != "" {
		t.Errorf("%+v", e.Devices)
	}
}

// The configuration of a host has the hardware labels, which no other command of its shell shows.
func TestPassthroughOfHost(t *testing.T) {
	e := whole(t, `[root@esx1:~] vim-cmd hostsvc/hostconfig
(vim.host.ConfigInfo) {
   host = 'vim.HostSystem:ha-host', 
   pciPassthruInfo = (vim.host.PciPassthruInfo) [
      (vim.host.PciPassthruInfo) {
         id = "0000:18:00.0", 
         dependentDevice = "0000:18:00.0", 
         passthruEnabled = true, 
         passthruCapable = true, 
         passthruActive = false, 
         hardwareLabel = "GPU0"
      }, 
      (vim.host.SriovInfo) {
         id = "0000:1a:00.0", 
         passthruEnabled = false, 
         passthruCapable = true, 
         passthruActive = false, 
         hardwareLabel = <unset>, 
         sriovEnabled = true
      }, 
      (vim.host.PciPassthruInfo) {
         id = "0000:1b:00.0", 
         passthruCapable = false
      }
   ], 
   storageDevice = (vim.host.StorageDeviceInfo) null
}
`)
	same(t, []fabric.PassthroughPCI{
		{Address: "0000:18:00.0", Capable: new(true), Enabled: new(true), Active: new(false), Label: "GPU0", Labels: true},
		{Address: "0000:1a:00.0", Capable: new(true), Enabled: new(false), Active: new(false), Labels: true},
		{Address: "0000:1b:00.0", Capable: new(false)},
	}, e.Devices)
}
