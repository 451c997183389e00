package vsphere

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"flag"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/vapi/namespace"
	"github.com/vmware/govmomi/vim25/types"
	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// sample is two hosts with two virtual machines of a pair of GPUs each; the second host's devices are as the first's.
func sample() fabric.VSphere {
	class := func(name string, modules []int) fabric.VMClass {
		c := fabric.VMClass{Name: name, Nodes: []string{"w1", "w2"}, GPUs: 2, NICs: 2, Modules: modules, CPUs: 24, MemoryMB: 262144, MMIOGB: 288, MMIO: "2 GPUs x 128 GB + 32 GB for 2 NICs = 288 GB",
			Extra: []fabric.Option{{Name: "pciPassthru.use64bitMMIO", Value: "TRUE"}, {Name: "pciPassthru.64bitMMIOSizeGB", Value: "288"}}}
		for _, m := range modules {
			n := string(rune('0' + m - 1))
			c.Devices = append(c.Devices, fabric.VMClassDevice{Label: "GPU" + n, Vendor: 0x10de, Device: 0x2330}, fabric.VMClassDevice{Label: "NIC" + n, Vendor: 0x15b3, Device: 0x1021})
		}
		return c
	}
	return fabric.VSphere{Product: fabric.VCF9, Mode: fabric.Passthrough, Server: fabric.Dell, Hosts: []fabric.ESXHost{{Name: "esx1"}, {Name: "esx2"}},
		Classes: []fabric.VMClass{class("pod-2gpu-2nic-p1", []int{1, 3}), class("pod-2gpu-2nic-p2", []int{2, 4})},
		Service: &fabric.ServiceVM{CPUs: 2, MemoryMB: 4096, NVSwitches: 4, GPUs: 2, Partitions: 2, Driver: "570.148.08", Interface: "ens33", Gateway: netip.MustParseAddr("10.0.0.1"),
			DNS:    []netip.Addr{netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")},
			Guests: []fabric.ServiceVMOf{{Host: "esx1", Name: "service-esx1", Address: netip.MustParsePrefix("10.0.0.21/24")}, {Host: "esx2", Name: "service-esx2", Address: netip.MustParsePrefix("10.0.0.22/24")}}},
		Kube: &fabric.VSphereKube{Namespace: "ai", ClusterClass: "builtin-generic-v3.3.0", Version: "v1.32.0---vmware.6-fips-vkr.2", StorageClass: "vsan", Control: "guaranteed-large", Controls: 3,
			Pools: []fabric.VMPool{{Name: "gpu-p1", Class: "pod-2gpu-2nic-p1", Workers: 2}, {Name: "gpu-p2", Class: "pod-2gpu-2nic-p2", Workers: 2}}, Volume: "500Gi", OSImage: "os-name=ubuntu",
			Pods: netip.MustParsePrefix("192.168.144.0/20"), Services: netip.MustParsePrefix("10.96.0.0/12"), Library: "images"},
		Networks: []fabric.VNetwork{{Name: "management", Use: "Supervisor", Kind: "VLAN", Routed: true}, {Name: "pods", Use: "pods", Kind: "overlay", Range: netip.MustParsePrefix("192.168.144.0/20")}},
	}
}

func all(v fabric.VSphere) []fabric.Artifact {
	files := append(ClassBodies(v), ClassObjects(v)...)
	files = append(files, ServiceVMs(v)...)
	return append(files, Cluster("pod", v), Namespace(v), BIOS(v), Networks(v), SubnetManager(v.Mode, []string{"leaf1"}))
}

func TestGolden(t *testing.T) {
	v := sample()
	files := all(v)
	v.Mode, v.Server, v.Product, v.Kube.ClusterClass = fabric.SRIOVToGuests, "", fabric.VCF52, "tanzukubernetescluster"
	for _, a := range []fabric.Artifact{BIOS(v), Cluster("pod", v), SubnetManager(v.Mode, []string{"leaf1"}), IPoIB(2044, fabric.NodeAddresses{Node: "vm1", NICs: []fabric.NICAddress{{NIC: "ib0", Address: netip.MustParsePrefix("10.70.0.1/24")}}})} {
		a.File = "other_" + filepath.Base(a.File)
		files = append(files, a)
	}
	for _, a := range files {
		name := filepath.Join("testdata", filepath.Base(a.File))
		if *update {
			if err := os.WriteFile(name, a.Content, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(a.Content)); diff != "" {
			t.Errorf("%s: run the test with -update if the change is meant\n%s", name, diff)
		}
	}
}

// The types of VMware's own library read the bodies, every field of them, and find the devices in their order.
func TestBodies(t *testing.T) {
	v := sample()
	for i, a := range ClassBodies(v) {
		var body struct {
			namespace.VirtualMachineClassCreateSpec
			Description string `json:"description"`
		}
		d := json.NewDecoder(bytes.NewReader(a.Content))
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil {
			t.Fatalf("%s: %v", a.Path, err)
		}
		if body.CpuCount != 24 || body.MemoryMb != 262144 || body.MemoryReservation != 100 {
			t.Errorf("%+v", body)
		}
		var spec types.VirtualMachineConfigSpec
		if err := types.NewJSONDecoder(bytes.NewReader(body.ConfigSpec)).Decode(&spec); err != nil {
			t.Fatalf("%s: %v", a.Path, err)
		}
		keys := map[int32]bool{}
		for k, change := range spec.DeviceChange {
			p := change.GetVirtualDeviceConfigSpec().Device.(*types.VirtualPCIPassthrough)
			b := p.Backing.(*types.VirtualPCIPassthroughDynamicBackingInfo)
			want := v.Classes[i].Devices[k]
			if b.CustomLabel != want.Label || b.AllowedDevice[0].VendorId != int32(want.Vendor) || b.AllowedDevice[0].DeviceId != int32(want.Device) || keys[p.Key] {
				t.Errorf("device %d: %+v, want %+v", k, b, want)
			}
			keys[p.Key] = true
		}
		if len(keys) != 4 || len(spec.ExtraConfig) != 2 || spec.ExtraConfig[1].GetOptionValue().Value != "288" {
			t.Errorf("%d devices, %d settings", len(keys), len(spec.ExtraConfig))
		}
	}
	var body namespace.NamespaceInstanceCreateSpecV2
	d := json.NewDecoder(bytes.NewReader(Namespace(v).Content))
	d.DisallowUnknownFields()
	if err := d.Decode(&body); err != nil || len(body.VmServiceSpec.VmClasses) != 3 || len(*body.StorageSpecs) != 1 {
		t.Errorf("%v: %+v", err, body)
	}
}

// The document's own cloud-config is no YAML; its Base64 is in lines of 76 characters, which the field does not take.
func TestServiceVM(t *testing.T) {
	files := ServiceVMs(sample())
	if len(files) != 4 || bytes.Count(files[3].Content, []byte("\n")) != 1 {
		t.Fatalf("%d files", len(files))
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(string(files[3].Content)))
	if err != nil || !bytes.Equal(plain, files[2].Content) || !bytes.HasPrefix(plain, []byte("#cloud-config\n")) {
		t.Fatalf("%v: %.40q", err, plain)
	}
	var c cloudConfig
	if err := yaml.UnmarshalStrict(plain, &c); err != nil {
		t.Fatal(err)
	}
	var n netplan
	if err := yaml.UnmarshalStrict([]byte(c.Files[0].Content), &n); err != nil || n.Network.Ethernets["ens33"].Addresses[0] != "10.0.0.22/24" {
		t.Errorf("%v: %+v", err, n)
	}
	v := sample()
	v.Service.Driver = ""
	if err := CheckService(v); err == nil {
		t.Error("a service virtual machine without the version of Fabric Manager")
	}
	v.Classes[0].CPUs = 0
	if err := CheckClasses(v); err == nil {
		t.Error("a class without processors")
	}
}

// The script is run with programs that write down what is asked of them.
func TestFabricManagerScript(t *testing.T) {
	var c cloudConfig
	if err := yaml.Unmarshal(ServiceVMs(sample())[0].Content, &c); err != nil {
		t.Fatal(err)
	}
	if path, err := exec.LookPath("shellcheck"); err == nil {
		cmd := exec.Command(path, "-")
		cmd.Stdin = strings.NewReader(c.Files[1].Content)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("shellcheck: %v\n%s", err, out)
		}
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 here, which the image of the service virtual machine has")
	}
	const list = `{"maxNumPartitions":15,"partitionInfo":[{"partitionId":0,"isActive":0,"numGpus":8},{"partitionId":3,"isActive":1,"numGpus":2},{"partitionId":4,"isActive":0,"numGpus":2},{"partitionId":5,"isActive":0,"numGpus":2}]}`
	for name, x := range map[string]struct{ driver, packages, list, want, absent string }{
		"all there":      {"570.148.08", " nvidia-fabricmanager-570 | 570.148.08-1 | repo", list, "apt-get purge -y nvidia-fabricmanager-575\nsystemctl unmask nvidia-fabricmanager.service\napt-get install -y --allow-downgrades --allow-change-held-packages nvidia-fabricmanager-570=570.148.08-1", "fmpm -a 3"},
		"activated":      {"570.148.08", " nvidia-fabricmanager-570 | 570.148.08-1 | repo", list, "fmpm -a 4", "fmpm -a 5"},
		"other driver":   {"570.86.15", " nvidia-fabricmanager-570 | 570.148.08-1 | repo", list, "is 570.86.15 and has to be 570.148.08", "apt-get"},
		"no driver":      {"", " nvidia-fabricmanager-570 | 570.148.08-1 | repo", list, "is not installed and has to be", "apt-get"},
		"other package":  {"570.148.08", " nvidia-fabricmanager-570 | 570.148.081-1 | repo", list, "no package source has Fabric Manager 570.148.08", "systemctl"},
		"no partition":   {"570.148.08", " nvidia-fabricmanager-570 | 570.148.08-1 | repo", `{"partitionInfo":[]}`, "offers fewer than 2 partitions of 2 GPUs", "fmpm -a"},
		"without suffix": {"570.148.08", " nvidia-fabricmanager-570 | 570.148.08 | repo", list, "nvidia-fabricmanager-570=570.148.08\n", "fmpm -a 5"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			config := filepath.Join(dir, "fabricmanager.cfg")
			write := func(name, text string) {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write("fabricmanager.cfg", "LOG_LEVEL=4\nFABRIC_MODE=0\nFABRIC_MODE_RESTART=0\n")
			write("modinfo", "#!/bin/sh\n[ -n '"+x.driver+"' ] && echo "+x.driver+"\n")
			write("apt-cache", "#!/bin/sh\ncase \"$2\" in *-570) echo '"+x.packages+"';; esac\n")
			write("dpkg-query", "#!/bin/sh\necho 'ii |nvidia-fabricmanager-575'\necho 'ii |nvidia-fabricmanager-570'\necho 'rc |nvidia-fabricmanager-550'\n")
			write("fmpm", "#!/bin/sh\n[ \"$1\" = -l ] && echo '"+x.list+"' || echo \"fmpm $*\" >&2\n")
			for _, p := range []string{"apt-get", "apt-mark", "systemctl"} {
				write(p, "#!/bin/sh\necho "+p+" \"$@\" >&2\n")
			}
			cmd := exec.Command("sh", "-c", c.Files[1].Content)
			cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH"), "FM_CONFIG=" + config}
			out, err := cmd.CombinedOutput()
			if !strings.Contains(string(out), x.want) || strings.Contains(strings.ReplaceAll(string(out), "apt-get update", ""), x.absent) {
				t.Errorf("%v\n%s", err, out)
			}
			if good := strings.Contains(x.want, "fmpm") || strings.Contains(x.want, "570=") || strings.Contains(x.want, "purge"); good != (err == nil) {
				t.Errorf("%v\n%s", err, out)
			}
			if text, _ := os.ReadFile(config); err == nil && !strings.Contains(string(text), "FABRIC_MODE=1\nFABRIC_MODE_RESTART=0") {
				t.Errorf("%s", text)
			}
		})
	}
}

// netplan itself reads the guest's file, where it is installed.
func TestIPoIB(t *testing.T) {
	path, err := exec.LookPath("netplan")
	if err != nil {
		t.Skip("no netplan here")
	}
	dir := t.TempDir()
	a := IPoIB(4092, fabric.NodeAddresses{Node: "vm1", NICs: []fabric.NICAddress{{NIC: "ib0", Address: netip.MustParsePrefix("10.70.0.1/24")}, {NIC: "ib1", Address: netip.MustParsePrefix("10.70.0.2/24")}}})
	if err := os.MkdirAll(filepath.Join(dir, "etc/netplan"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, a.Path), a.Content, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path, "generate", "--root-dir", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	made, err := os.ReadFile(filepath.Join(dir, "run/systemd/network/10-netplan-ib0.network"))
	if err != nil || !strings.Contains(string(made), "10.70.0.1/24") || !strings.Contains(string(made), "MTUBytes=4092") {
		link, _ := os.ReadFile(filepath.Join(dir, "run/systemd/network/10-netplan-ib0.link"))
		t.Errorf("%v\n%s\n%s", err, made, link)
	}
}

// The topology file puts each GPU and the NIC of its number below one switch, at the addresses of the document's virtual machine
// (appendix I): 04:00.0 GPU, 04:01.0 NIC, and so on in the order of the class.
func TestNCCL(t *testing.T) {
	var labels []fabric.VMClassDevice
	for _, n := range []string{"0", "2"} { // a pair of Fabric Manager
		labels = append(labels, fabric.VMClassDevice{Label: "GPU" + n}, fabric.VMClassDevice{Label: "NIC" + n})
	}
	p := &fabric.Plan{Machines: []fabric.NominalMachine{{ID: "hgx-h100"}}, VSphere: &fabric.VSphere{Classes: []fabric.VMClass{
		{Name: "pair", GPUs: 2, NICs: 2, Devices: labels, Nodes: []string{"vm1", "vm2"}}, {Name: "control"},
	}}}
	if err := CheckNCCL(p); err != nil {
		t.Fatal(err)
	}
	files := NCCLFiles(p)
	if len(files) != 1 || len(files[0].Omits) != 1 {
		t.Fatalf("%d files", len(files))
	}
	text := string(files[0].Content)
	at := 0
	for _, next := range []string{`0000:11:00.0`, `0000:04:00.0`, `gpu dev="0"`, `0000:04:01.0`, `name="mlx5_0"`, `0000:1b:00.0`, `0000:04:02.0`, `gpu dev="1"`, `0000:04:03.0`, `name="mlx5_1"`} {
		i := strings.Index(text[at:], next)
		if i < 0 {
			t.Fatalf("%s does not follow in\n%s", next, text)
		}
		at += i
	}
	if n := strings.Count(text, "<gpu "); n != 2 {
		t.Errorf("%d GPUs", n)
	}
	if on := NCCLOnGuest(p); len(on) != 4 || on[2].Target != "vm2" || string(on[2].Content) != text || !strings.Contains(string(on[3].Content), ncclTopology) {
		t.Errorf("%+v", on)
	}
	if m := NCCLMap(p); !strings.Contains(string(m.Content), "pair.xml: |") || strings.Contains(string(m.Content), "control") {
		t.Errorf("%s", m.Content)
	}
	p.Machines = nil
	if err := CheckNCCL(p); err == nil {
		t.Error("a file of a machine that nobody named")
	}
}
