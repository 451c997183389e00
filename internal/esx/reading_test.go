package esx

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// read reads one text.
func read(t *testing.T, text string) Reading {
	t.Helper()
	return Read(map[string][]byte{"text": []byte(text)})
}

// whole reads one text of which every line has to be understood.
func whole(t *testing.T, text string) *fabric.ESX {
	t.Helper()
	r := read(t, text)
	if len(r.Unread) > 0 {
		t.Errorf("not understood: %q", r.Unread)
	}
	if r.ESX == nil {
		t.Fatal("nothing was read")
	}
	return r.ESX
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const kernelTable = `[root@esx1:~] esxcli system settings kernel list
Name                Type    Configured  Runtime  Default  Description
------------------  ------  ----------  -------  -------  -----------
atsSupport          Bool    TRUE        FALSE    TRUE     Enable PCIe ATS.
disableACSCheck     Bool    FALSE       FALSE    FALSE    Do not check for ACS.
heapMetaPct         Uint8   2           2        2        Size of a heap's meta data.
logPort             String  none                 default  Port of the log.
`

func TestKernelSettings(t *testing.T) {
	want := []fabric.ESXSetting{
		{Name: "atsSupport", Configured: "TRUE", Runtime: "FALSE", Default: "TRUE"}, {Name: "disableACSCheck", Configured: "FALSE", Runtime: "FALSE", Default: "FALSE"},
		{Name: "heapMetaPct", Configured: "2", Runtime: "2", Default: "2"}, {Name: "logPort", Configured: "none", Default: "default"},
	}
	e := whole(t, kernelTable)
	same(t, want, e.Settings)
	if !e.Whole(fabric.FactESXSettings) {
		t.Error("a list without a filter is whole")
	}
	for name, text := range map[string]string{
		"csv":      "# esxcli --formatter=csv system settings kernel list\nConfigured,Default,Description,Name,Runtime,Type,\nTRUE,TRUE,Enable PCIe ATS.,atsSupport,FALSE,Bool,\n",
		"keyvalue": "# esxcli --formatter=keyvalue system settings kernel list\nSetting[0].Configured.string=TRUE\nSetting[0].Default.string=TRUE\nSetting[0].Name.string=atsSupport\nSetting[0].Runtime.string=FALSE\nSetting[0].Type.string=Bool\n",
		"xml":      "# esxcli --formatter=xml system settings kernel list\n<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<output xmlns=\"http://www.vmware.com/Products/ESX/5.0/esxcli\">\n<root>\n<list type=\"structure\">\n<structure typeName=\"Setting\">\n<field name=\"Configured\"><string>TRUE</string></field>\n<field name=\"Default\"><string>TRUE</string></field>\n<field name=\"Name\"><string>atsSupport</string></field>\n<field name=\"Runtime\"><string>FALSE</string></field>\n<field name=\"Type\"><string>Bool</string></field>\n</structure>\n</list>\n</root>\n</output>\n",
		"json":     "[root@esx1:~] esxcli --formatter=json system settings kernel list\n[\n {\"Configured\": \"TRUE\", \"Default\": \"TRUE\", \"Name\": \"atsSupport\", \"Runtime\": \"FALSE\", \"Type\": \"Bool\"}\n]\n",
		"row":      "[root@esx1:~] esxcli system settings kernel list | grep ats\natsSupport          Bool    TRUE        FALSE    TRUE     Enable PCIe ATS.\n",
		"no space": "Name Type Configured Runtime Default Description\natsSupport Bool TRUE FALSE TRUE Enable PCIe ATS.\n",
		"tabs":     "Name\tType\tConfigured\tRuntime\tDefault\tDescription\natsSupport\tBool\tTRUE\tFALSE\tTRUE\tEnable PCIe ATS.\n",
		"ESX 5":    "Name        Type  Description       Configured  Runtime  Default\n----------  ----  ----------------  ----------  -------  -------\natsSupport  Bool  Enable PCIe ATS.  TRUE        FALSE    TRUE\n",
	} {
		t.Run(name, func(t *testing.T) {
			e := whole(t, text)
			same(t, want[:1], e.Settings)
			if isPart := name == "row" || name == "no space" || name == "tabs" || name == "ESX 5"; e.Whole(fabric.FactESXSettings) == isPart {
				t.Errorf("whole: %v", e.Whole(fabric.FactESXSettings))
			}
		})
	}
}

// TestTypes: a value that is none of its type is no setting.
func TestTypes(t *testing.T) {
	for _, line := range []string{"atsSupport  Bool  TRUE  FALS  TRUE  x", "atsSupport  Bool  1  0  1  x", "heap  Uint8  2  two  2  x"} {
		r := read(t, "Name  Type  Configured  Runtime  Default  Description\n"+line+"\n")
		if len(r.ESX.Settings) > 0 || len(r.Unread) == 0 {
			t.Errorf("%q: %+v, unread %q", line, r.ESX.Settings, r.Unread)
		}
	}
}

func TestHostFacts(t *testing.T) {
	e := whole(t, `[root@esx1:~] vmware -vl
VMware ESXi 8.0.3 build-24280767
VMware ESXi 8.0 Update 3
[root@esx1:~] esxcli system version get
   Product: VMware ESXi
   Version: 8.0.3
   Build: Releasebuild-24280767
   Update: 3
   Patch: 35
[root@esx1:~] esxcli system maintenanceMode get
Enabled
[root@esx1:~] esxcli system settings advanced list -o /Power/CpuPolicy
   Path: /Power/CpuPolicy
   Type: string
   Int Value: 0
   Default Int Value: 0
   Min Value: 0
   Max Value: 0
   String Value: static
   Default String Value: dynamic
   Valid Characters: *
   Description: Which policy.
[root@esx1:~] esxcli network sriovnic vf list -n vmnic4
VF ID  Active  PCI Address   Owner World ID
-----  ------  ------------  --------------
    0    true  0000:1b:00.1  2103475
    1   false  0000:10:00.2  -
[root@esx1:~] esxcli system module list | grep nmlx5
nmlx5_core                          true        true
nmlx5_rdma                         false        true
[root@esx1:~] esxcli system module parameters list -m nmlx5_core
Name          Type           Value  Description
------------  -------------  -----  -----------
max_vfs       array of uint  4,0    Number of functions
 Values : 0-128
mst_recovery  uint                  Recovery mode
pfctx         uint           0x08   Priorities
[root@esx1:~] vmkload_mod -l
Name                     Used Size (kb)
vmkernel                 0    1
nmlx5_core               2    1368
[root@esx1:~] esxcli software vib list
Name        Version                              Vendor  Acceptance Level  Install Date  Platforms
----------  -----------------------------------  ------  ----------------  ------------  ---------
esx-base    8.0.3-0.35.24280767                  VMware  VMwareCertified   2024-08-01    host
nmst        4.30.0.54-1OEM.703.0.0.18644231      MEL     PartnerSupported  2024-08-02    host
`)
	if e.Version != "8.0.3" || e.Build != "24280767" || e.Major() != 8 || !*e.Maintenance || e.PowerPolicy != "High Performance" {
		t.Errorf("%+v", e)
	}
	same(t, []fabric.ESXVirtual{{Of: "vmnic4", Number: 0, Address: "0000:1b:00.1", Active: new(true), Owner: "2103475"}, {Of: "vmnic4", Number: 1, Address: "0000:10:00.2", Active: new(false)}}, e.VFs)
	same(t, map[string]string{"max_vfs": "4,0", "pfctx": "0x08"}, e.Module("nmlx5_core").Parameters)
	if !*e.Module("nmlx5_core").Loaded || *e.Module("nmlx5_rdma").Loaded || !*e.Module("nmlx5_rdma").Enabled || !e.Whole(fabric.FactESXModules) || !e.Whole(fabric.FactESXVIBs) {
		t.Errorf("modules %+v, parts %q", e.Modules, e.Parts)
	}
	same(t, []fabric.VIB{{Name: "esx-base", Version: "8.0.3-0.35.24280767", Vendor: "VMware", Acceptance: "VMwareCertified"}, {Name: "nmst", Version: "4.30.0.54-1OEM.703.0.0.18644231", Vendor: "MEL", Acceptance: "PartnerSupported"}}, e.VIBs)
}

// TestVirtualFunctionBase: one text means two devices, by the version of ESX.
func TestVirtualFunctionBase(t *testing.T) {
	const list = "# esxcli network sriovnic vf list -n vmnic1\nVF ID  Active  PCI Address   Owner World ID\n    0   false  %  -\n"
	for _, tt := range []struct{ version, printed, want string }{
		{"8.0.2", "0000:16:00.1", "0000:10:00.1"}, {"8.0.3", "0000:16:00.1", "0000:16:00.1"}, {"9.0.0", "0000:af:00.1", "0000:af:00.1"},
		{"", "0000:16:00.1", ""}, {"", "0000:03:00.1", "0000:03:00.1"}, {"", "0000:af:00.1", "0000:af:00.1"}, {"8.0.3", "00000:101:00.1", "0000:65:00.1"}, {"7.0.3", "00000:101:00.1", "0000:65:00.1"},
	} {
		head := ""
		if tt.version != "" {
			head = "VMware ESXi " + tt.version + " build-24280767\n"
		}
		r := read(t, head+strings.Replace(list, "%", tt.printed, 1))
		if got := r.ESX.VFs[0].Address; got != tt.want || (got == "") != (len(r.Missing) > 0) {
			t.Errorf("ESX %q, %s: %q, want %q; missing %+v", tt.version, tt.printed, got, tt.want, r.Missing)
		}
	}
}

func TestEmptyLists(t *testing.T) {
	e := whole(t, "[root@esx1:~] /opt/mellanox/bin/mst status\nMST devices:\n------------\n\n[root@esx1:~] esxcli network sriovnic vf list -n vmnic4\nVF ID  Active  PCI Address  Owner World ID\n-----  ------  -----------  --------------\n[root@esx1:~] vmkload_mod -l | grep nmlx5_core\n[root@esx1:~] esxcli software vib list | grep -i nmst\n[root@esx1:~] esxcli software vib list | grep -v nmst\n[root@esx1:~] \n")
	if e.MST == nil || len(e.MST) > 0 || !e.Whole(fabric.FactESXMST) || e.VFs == nil || len(e.VFs) > 0 {
		t.Errorf("%+v", e)
	}
	if m := e.Module("nmlx5_core"); m == nil || *m.Loaded {
		t.Errorf("modules: %+v", e.Modules)
	}
	same(t, []string{"nmst"}, e.NoVIBs)
	if e.Whole(fabric.FactESXModules) || e.Whole(fabric.FactESXVIBs) || e.Whole(fabric.FactESXSettings) {
		t.Errorf("parts: %q", e.Parts)
	}
}

func TestMST(t *testing.T) {
	esx := whole(t, "[ESX] /opt/mellanox/bin/mst status -vv\nPCI devices:\n-----\nDEVICE_TYPE\tMST\tPCI\tRDMA\tNET\tNUMA\nConnectX7(rev:0)\tmt4129\\_pciconf0\t1a:00.0\t\t\t\nConnectX7(rev:0)\tmt4129\\_pciconf1\t0001:3c:00.0\t\tnet-vmnic4\t0\n")
	same(t, []fabric.MSTDevice{{Type: "ConnectX7(rev:0)", Name: "mt4129_pciconf0", Address: "0000:1a:00.0"}, {Type: "ConnectX7(rev:0)", Name: "mt4129_pciconf1", Address: "0001:3c:00.0", Net: "vmnic4"}}, esx.MST)
	r := read(t, `# mst status -v
MST modules:
------------
    MST PCI module is not loaded
    MST PCI configuration module loaded
PCI devices:
------------
DEVICE_TYPE             MST                           PCI       RDMA            NET                                     NUMA
ConnectX7(rev:0)        /dev/mst/mt4129_pciconf0      1a:00.0   mlx5_0          net-ibp26s0                             0
ConnectX7(rev:0)        /dev/mst/mt4129_pciconf1      9c:00.0   mlx5_1                                                  -1
`)
	same(t, []fabric.MSTDevice{{Type: "ConnectX7(rev:0)", Name: "mt4129_pciconf0", Address: "0000:1a:00.0", RDMA: "mlx5_0", Net: "ibp26s0"}, {Type: "ConnectX7(rev:0)", Name: "mt4129_pciconf1", Address: "0000:9c:00.0", RDMA: "mlx5_1"}}, r.ESX.MST)
	if r.Proven || len(r.Unread) > 0 {
		t.Errorf("Linux: proven %v, unread %q", r.Proven, r.Unread)
	}
	short := whole(t, "MST devices:\n------------\n/dev/mst/mt4129_pciconf0         - PCI configuration cycles access.\n                                   domain:bus:dev.fn=0000:1a:00.0 addr.reg=88 data.reg=92 cr_bar.gw_offset=-1\n                                   Chip revision is: 00\n")
	same(t, []fabric.MSTDevice{{Name: "mt4129_pciconf0"}}, short.MST)
}

func TestConfig(t *testing.T) {
	e := whole(t, `[root@esx1:/opt/mellanox/bin] ./mst status -vv
PCI devices:
------------
DEVICE_TYPE         MST                PCI        RDMA    NET                           NUMA
ConnectX7(rev:0)    mt4129_pciconf0    1a:00.0
[root@esx1:/opt/mellanox/bin] ./mlxconfig -d mt4129_pciconf0 -e q

Device #1:
----------

Device type:        ConnectX7
Name:               MCX75310AAS-NEA_Ax
Description:        NVIDIA ConnectX-7 HHHL Adapter card; 400GbE / NDR IB; Single-port OSFP; PCIe 5.0 x16
Device:             mt4129_pciconf0

Configurations:                                          Default             Current             Next Boot
        MEMIC_BAR_SIZE                              0                   0                   0
*       NUM_OF_VFS                                  0                   16                  8
*       SRIOV_EN                                    False(0)            True(1)             True(1)
        ATS_ENABLED                                 False(0)            False(0)            False(0)
        HOST_CHAINING_DESCRIPTORS                   Array[0..7]         Array[0..7]         Array[0..7]
The '*' shows parameters with next value different from default/current value.
[root@esx1:/opt/mellanox/bin] ./mlxconfig -d mt4129_pciconf1 q ATS_ENABLED | grep ATS
         ATS_ENABLED                                 True(1)
[root@esx1:/opt/mellanox/bin] ./mlxconfig -d mt4129_pciconf2 -y set ATS_ENABLED=true

Device #1:
----------

Device type:        ConnectX7
Name:               MCX75310AAS-NEA_Ax
Device:             mt4129_pciconf2

Configurations:                                          Next Boot       New
        ATS_ENABLED                                 False(0)        True(1)

 Apply new Configuration? (y/n) [n] : y
Applying... Done!
-I- Please reboot machine to load new configurations.
[root@esx1:/opt/mellanox/bin] ./mlxconfig -d mt4129_pciconf3 q
-E- Failed to open the device
`)
	want := []fabric.NICConfig{
		{Device: "mt4129_pciconf0", Type: "ConnectX7", Address: "0000:1a:00.0", Settings: map[string]fabric.NICStored{
			"MEMIC_BAR_SIZE": {Default: "0", Current: "0", Next: "0"}, "NUM_OF_VFS": {Default: "0", Current: "16", Next: "8"},
			"SRIOV_EN": {Default: "False(0)", Current: "True(1)", Next: "True(1)"}, "ATS_ENABLED": {Default: "False(0)", Current: "False(0)", Next: "False(0)"},
			"HOST_CHAINING_DESCRIPTORS": {Default: "Array[0..7]", Current: "Array[0..7]", Next: "Array[0..7]"},
		}},
		{Device: "mt4129_pciconf1", Settings: map[string]fabric.NICStored{"ATS_ENABLED": {Next: "True(1)"}}},
		{Device: "mt4129_pciconf2", Type: "ConnectX7", Settings: map[string]fabric.NICStored{"ATS_ENABLED": {Next: "True(1)"}}},
	}
	same(t, want, e.NICConfigs)
	if len(e.Reboot) != 1 {
		t.Errorf("reboot: %+v", e.Reboot)
	}
	refused := whole(t, "# mlxconfig -d mt4129_pciconf2 set ATS_ENABLED=true\nDevice #1:\nDevice: mt4129_pciconf2\nConfigurations: Next Boot New\nATS_ENABLED False(0) True(1)\nApply new Configuration? (y/n) [n] : n\n-E- Aborted by user.\n")
	same(t, map[string]fabric.NICStored{"ATS_ENABLED": {Next: "False(0)"}}, refused.NICConfigs[0].Settings)
}
