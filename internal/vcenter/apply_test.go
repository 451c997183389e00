package vcenter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/vcenter"
)

// planOf plans an example at a size, with texts replaced: old, new, old, new.
func planOf(t *testing.T, example string, nodes int, change ...string) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example(example, nodes, cat)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(change); i += 2 {
		if !bytes.Contains(text, []byte(change[i])) {
			t.Fatalf("the example has no %q", change[i])
		}
		text = bytes.Replace(text, []byte(change[i]), []byte(change[i+1]), 1)
	}
	c, err := intent.Parse("c", text, cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// devicesOf are the devices of a host that has everything of the plan's classes, with labels, and virtual functions for all.
func devicesOf(p *fabric.Plan) (devices []vcenter.LabDevice) {
	seen := map[string]bool{}
	for _, c := range p.VSphere.Classes {
		for _, d := range c.Devices {
			if !seen[d.Label] {
				seen[d.Label] = true
				devices = append(devices, vcenter.LabDevice{Address: fmt.Sprintf("0000:%02x:00.0", 0x10+len(devices)), Vendor: d.Vendor, Device: d.Device, Label: d.Label})
			}
		}
	}
	return devices
}

func hostsOf(p *fabric.Plan) (names []string) {
	for _, h := range p.VSphere.Hosts {
		names = append(names, h.Name)
	}
	return names
}

// lab is a vCenter for a plan, and what applies to it.
type lab struct {
	*vcenter.Lab
	apply.VSphere
}

func newLab(t *testing.T, p *fabric.Plan) *lab {
	t.Helper()
	l := vcenter.NewLab(t, hostsOf(p), devicesOf(p))
	return &lab{l, apply.VSphere{Client: l.Open(t), Plan: p, Folder: t.TempDir()}}
}

func (l *lab) run(t *testing.T, dryRun bool) apply.Applied {
	t.Helper()
	l.DryRun = dryRun
	all := l.Apply(t.Context())
	if len(all) != 1 || all[0].Node != fabric.OnVCenter {
		t.Fatalf("%+v", all)
	}
	return all[0]
}

// result is an outcome as text.
func result(a apply.Applied) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", a.Status, a.Error)
	for _, c := range a.Changes {
		fmt.Fprintf(&b, "%s %s (%s)\n", c.Kind, c.Path, c.Reason)
	}
	if a.Activation != nil {
		for _, p := range a.Activation.Pending {
			fmt.Fprintf(&b, "pending %s\n", p)
		}
	}
	for _, o := range a.Others {
		fmt.Fprintf(&b, "other %s\n", o)
	}
	return b.String()
}

func has(t *testing.T, a apply.Applied, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(result(a), part) {
			t.Errorf("no %q in:\n%s", part, result(a))
		}
	}
}

// The example of Cloud Foundation, from nothing to nothing to do, and back.
func TestApplyClasses(t *testing.T) {
	for _, hosts := range []int{1, 2, 200} {
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			p := planOf(t, "vcf-h100", hosts)
			l := newLab(t, p)
			before := l.Objects()
			if a := l.run(t, true); a.Status != fabric.Fail || len(l.Writes()) != 0 {
				t.Fatalf("%s%s", result(a), l.Writes())
			} else {
				has(t, a, "create class vcf-h100-8gpu-8nic (8 GPUs and 8 NICs, 96 CPUs, 1048576 MB)", "create namespace vcf-h100 (with classes guaranteed-large, vcf-h100-8gpu-8nic and storage policy vsan-default-storage-policy)")
			}
			begun := time.Now()
			if a := l.run(t, false); a.Status != fabric.Pass {
				t.Fatal(result(a))
			}
			if spent := time.Since(begun); spent > 20*time.Second {
				t.Errorf("took %s", spent)
			}
			if a := l.run(t, true); a.Status != fabric.Pass {
				t.Fatal(result(a))
			}
			writes := len(l.Writes())
			if a := l.run(t, false); a.Status != fabric.Pass || len(l.Writes()) != writes {
				t.Fatalf("%s%s", result(a), l.Writes())
			}
			if about := l.Class("vcf-h100-8gpu-8nic")["description"]; about != "8 GPUs and 8 NICs, railwright.dev/plan=vcf-h100" {
				t.Error(about)
			}
			if text, _ := json.Marshal(l.Namespace("vcf-h100")); !strings.Contains(string(text), `"vm_classes":["guaranteed-large","vcf-h100-8gpu-8nic"]`) || !strings.Contains(string(text), `"policy":"p-1"`) {
				t.Errorf("%s", text)
			}
			has(t, l.Rollback(t.Context())[0], "pass", "remove class vcf-h100-8gpu-8nic", "it stays")
			l.SetNamespace("vcf-h100", "") // what stays
			if after := l.Objects(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			has(t, l.Rollback(t.Context())[0], "unknown", "nothing was applied")
		})
	}
}

const foreign = `{"id":"vcf-h100-8gpu-8nic","description":"mine","cpu_count":4,"memory_MB":4096,"memory_reservation":50,"config_spec":{"_typeName":"VirtualMachineConfigSpec","numCoresPerSocket":2}}`

// What others made is named and left alone, unless it is asked for; then it comes back as it was.
func TestApplyForeign(t *testing.T) {
	l := newLab(t, planOf(t, "vcf-h100", 2))
	l.SetClass("vcf-h100-8gpu-8nic", foreign)
	cluster := l.Host("esx1").Parent.Value
	l.SetNamespace("vcf-h100", `{"cluster":"`+cluster+`","config_status":"RUNNING","description":"of others","vm_service_spec":{"vm_classes":["mine"],"content_libraries":[]},"storage_specs":[{"policy":"p-2","limit":5}]}`)
	before := l.Objects()
	has(t, l.run(t, true), "fail", "update class vcf-h100-8gpu-8nic (is there, was not made for this plan, and differs in CPUs, memory, reserved memory, devices and 1 more; --force-conflicts changes it)", "update namespace vcf-h100 (gets class guaranteed-large, class vcf-h100-8gpu-8nic, storage policy vsan-default-storage-policy)")
	has(t, l.run(t, false), "unknown", "--force-conflicts changes it: nothing was changed")
	if l.Objects() != before || len(l.Writes()) != 0 {
		t.Errorf("%s %s", l.Writes(), l.Objects())
	}
	l.Force = true
	if a := l.run(t, false); a.Status != fabric.Pass {
		t.Fatal(result(a))
	}
	if text, _ := json.Marshal(l.Class("vcf-h100-8gpu-8nic")); !strings.Contains(string(text), "numCoresPerSocket") {
		t.Errorf("what the plan does not have is gone: %s", text)
	}
	l.Force = false // it is of the plan now
	if a := l.run(t, true); a.Status != fabric.Pass {
		t.Fatal(result(a))
	}
	has(t, l.Rollback(t.Context())[0], "pass", "restore class", "restore namespace")
	if after := l.Objects(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// What somebody changed after the apply is named, and stays as it is.
func TestRollbackRefuses(t *testing.T) {
	name := "vcf-h100-8gpu-8nic"
	for what, test := range map[string]struct {
		change func(*lab)
		text   string
	}{
		"changed":   {func(l *lab) { l.Class(name)["cpu_count"] = 8 }, "class " + name + ": changed since it was applied"},
		"described": {func(l *lab) { l.Class(name)["description"] = "mine now" }, "changed since it was applied"},
		"in use":    {func(l *lab) { l.Class(name)["vms"] = []string{"vm-7"} }, "is in use by virtual machines vm-7"},
		"given":     {func(l *lab) { l.SetNamespace("other", `{"vm_service_spec":{"vm_classes":["`+name+`"]}}`) }, "is in use by namespace other"},
		"an entry of another shape": {func(l *lab) {
			overwrite(l, `{"apiVersion":"railwright.dev/v1alpha1","kind":"VSphereJournalEntry","writes":[{"change":"create"}]}`)
		}, "is not described completely"},
		"an entry without end": {func(l *lab) { overwrite(l, `{"apiVersion":`) }, "journal entry"},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t, planOf(t, "vcf-h100", 1))
			if a := l.run(t, false); a.Status != fabric.Pass {
				t.Fatal(result(a))
			}
			test.change(l)
			before, writes := l.Objects(), len(l.Writes())
			has(t, l.Rollback(t.Context())[0], "unknown", test.text)
			if l.Objects() != before || len(l.Writes()) != writes {
				t.Errorf("%s", l.Writes())
			}
		})
	}
}

func overwrite(l *lab, text string) {
	folder := l.Folder + "/" + l.Client.Identity() + "/000001/entry.json"
	if err := os.WriteFile(folder, []byte(text), 0o600); err != nil {
		panic(err)
	}
}

// A class that is gone, and a namespace that is, need nothing.
func TestRollbackOfWhatIsGone(t *testing.T) {
	l := newLab(t, planOf(t, "vcf-h100", 1))
	if a := l.run(t, false); a.Status != fabric.Pass {
		t.Fatal(result(a))
	}
	l.SetNamespace("vcf-h100", "")
	l.SetClass("vcf-h100-8gpu-8nic", "")
	has(t, l.Rollback(t.Context())[0], "pass")
}

// Everything that people do is said, each with its step.
func TestApplyPending(t *testing.T) {
	for what, test := range map[string]struct {
		change func(*lab)
		texts  []string
	}{
		"no supervisor": {func(l *lab) { l.Answer("GET /api/vcenter/namespace-management/clusters", `[]`) }, []string{"namespace vcf-h100 waits for a Supervisor of cluster DC0_C0: Workload Management is not enabled there (runbook: workload-management)"}},
		"a supervisor that is made": {func(l *lab) {
			l.Answer("GET /api/vcenter/namespace-management/clusters", `[{"cluster":"`+l.Host("esx1").Parent.Value+`","config_status":"CONFIGURING"}]`)
		}, []string{"which is CONFIGURING"}},
		"no policy": {func(l *lab) { l.Answer("GET /api/vcenter/storage/policies", `[{"policy":"p","name":"Gold"}]`) }, []string{"waits for storage policy vsan-default-storage-policy; there are: gold (runbook: content-library)"}},
		"two policies": {func(l *lab) {
			l.Answer("GET /api/vcenter/storage/policies", `[{"policy":"p","name":"vSAN default storage policy"},{"policy":"q","name":"vsan-default-storage-policy"}]`)
		}, []string{"have this name in Kubernetes"}},
		"no release":       {func(l *lab) { l.Answer("GET /api/content/library/item", `["i-1"]`) }, []string{"no content library has a template of the Kubernetes release v1.32.0---vmware.6-fips-vkr.2"}},
		"no control class": {func(l *lab) { l.SetClass("guaranteed-large", "") }, []string{"waits for class guaranteed-large of the control plane"}},
		"no label":         {func(l *lab) { l.Equip("esx2", devicesOf(l.Plan)[1:]) }, []string{"pending esx2: GPU0 on no device of the planned kind: a virtual machine that asks for it is not placed (runbook: passthrough, labels)"}},
		"no labels at all": {func(l *lab) { l.Equip("esx1", nil); l.Equip("esx2", nil) }, []string{"pending esx1, esx2: GPU0, NIC0, GPU1, NIC1 and 16 more unknown"}},
		"a label twice":    {func(l *lab) { l.Equip("esx2", twice(devicesOf(l.Plan))) }, []string{"GPU0 on more than one device", "NIC0 on no device"}},
		"a wrong device":   {func(l *lab) { l.Equip("esx2", wrong(devicesOf(l.Plan))) }, []string{"GPU0 on a device of another kind"}},
		"not in force":     {func(l *lab) { l.Equip("esx2", idle(devicesOf(l.Plan))) }, []string{"GPU0 on a device whose passthrough is not in force"}},
		"no host":          {func(l *lab) { l.Host("esx2").Name = "esx3" }, []string{"host esx2: vCenter shows no host of this name to this user: add it to vCenter"}},
		"a lost host":      {func(l *lab) { l.Disconnect("esx2") }, []string{"esx2: vCenter says that it is notResponding"}},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t, planOf(t, "vcf-h100", 2))
			test.change(l)
			for _, dry := range []bool{true, false} {
				a := l.run(t, dry)
				has(t, a, append(test.texts, "fail")...)
				if a.Activation == nil || len(a.Activation.Pending) == 0 {
					t.Error("nothing is pending")
				}
			}
		})
	}
}

func twice(d []vcenter.LabDevice) []vcenter.LabDevice { d[1].Label = "GPU0"; return d }
func wrong(d []vcenter.LabDevice) []vcenter.LabDevice { d[0].Device = 0x2331; return d }
func idle(d []vcenter.LabDevice) []vcenter.LabDevice  { d[0].Idle = true; return d }

// An error of vCenter, wherever it comes, leaves everything as it was, and says so.
func TestApplyErrors(t *testing.T) {
	for question, status := range map[string]int{
		"GET /api/vcenter/namespace-management/virtual-machine-classes":  403,
		"GET /api/vcenter/namespace-management/clusters":                 503,
		"GET /api/vcenter/storage/policies":                              403,
		"GET /api/content/library":                                       500,
		"GET /api/vcenter/namespaces/instances/vcf-h100":                 403,
		"POST /api/vcenter/namespace-management/virtual-machine-classes": 403,
		"POST /api/vcenter/namespaces/instances":                         400,
	} {
		t.Run(question, func(t *testing.T) {
			l := newLab(t, planOf(t, "vcf-h100", 1))
			before := l.Objects()
			l.AnswerStatus(question, status, `{"error_type":"UNAUTHORIZED","messages":[{"default_message":"not you"}]}`)
			a := l.run(t, false)
			has(t, a, "unknown", "not you", "nothing was changed")
			l.Usual(question)
			if after := l.Objects(); after != before {
				t.Errorf("before:\n%s\nafter:\n%s", before, after)
			}
			if a := l.run(t, false); a.Status != fabric.Pass {
				t.Error(result(a))
			}
		})
	}
}

// A session that ends in the middle costs nothing.
func TestApplySessionEnds(t *testing.T) {
	l := newLab(t, planOf(t, "vcf-h100", 1))
	n := 0
	l.Doing = func(string, ...any) {
		n++
		l.Expire()
	}
	if a := l.run(t, false); a.Status != fabric.Pass || n == 0 {
		t.Error(result(a))
	}
}

// scene is a state before an apply.
type scene struct {
	example string
	change  []string
	set     func(*lab)
}

func scenes() map[string]scene {
	return map[string]scene{
		"new": {example: "vcf-h100", change: []string{"vm: {cpus: 96", "service_vm: {addresses: 10.0.0.21/24, gateway: 10.0.0.1}\n  vm: {gpus: 8, cpus: 96"}},
		"changed": {example: "vcf-h100", set: func(l *lab) {
			l.SetClass("vcf-h100-8gpu-8nic", strings.Replace(foreign, `"mine"`, `"mine railwright.dev/plan=vcf-h100"`, 1))
			l.SetNamespace("vcf-h100", `{"cluster":"`+l.Host("esx1").Parent.Value+`","config_status":"RUNNING","vm_service_spec":{"vm_classes":["mine"],"content_libraries":[]},"storage_specs":[]}`)
		}},
		"machines": {example: "vsphere8-sriov", set: func(l *lab) {
			l.AddVM("vm1", "esx1", 16, 65536)
			l.AddVM("vm2", "esx2", 16, 65536)
			l.Offer("0000:10:00.0")
		}},
	}
}

func (l *lab) state(t *testing.T) string {
	t.Helper()
	vms, err := l.Client.FindVMs(t.Context(), []string{"vm1", "vm2"})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.MarshalIndent(vms, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return l.Objects() + string(text)
}

// Whatever write is the last before the program dies, before or after vCenter did it, a rollback brings back what was there, and
// another apply ends where one that was not interrupted does.
func TestApplyDies(t *testing.T) {
	for name, sc := range scenes() {
		for _, done := range []bool{false, true} {
			for at := 1; ; at++ {
				if testing.Short() && at != 2 {
					if at > 2 {
						break
					}
					continue
				}
				more := false
				t.Run(fmt.Sprintf("%s/%d/%v", name, at, done), func(t *testing.T) { more = dies(t, sc, at, done) })
				if !more {
					if at < 3 {
						t.Errorf("%s: only %d writes", name, at-1)
					}
					break
				}
			}
		}
	}
}

// dies stops at a write; false: there are not so many.
func dies(t *testing.T, sc scene, at int, done bool) bool {
	l := newLab(t, planOf(t, sc.example, 2, sc.change...))
	if sc.set != nil {
		sc.set(l)
	}
	before := l.state(t)
	n, dead := 0, false
	reached := func(method string) bool {
		if dead || !vcenter.IsWrite(method) {
			return false
		}
		n++
		return n == at
	}
	if done {
		l.Break(func(string) bool { return dead }, func(method string) bool {
			if !reached(method) {
				return false
			}
			dead = true
			return true
		})
	} else {
		l.Break(func(method string) bool {
			dead = dead || reached(method)
			return dead
		}, nil)
	}
	a := l.run(t, false)
	l.Break(nil, nil)
	if !dead {
		return false
	}
	has(t, a, "unknown", "repeat railwright apply or rollback")
	if again := l.run(t, true); !again.Interrupted {
		t.Errorf("a dry run does not say that it was interrupted: %s", result(again))
	}
	has(t, l.Rollback(t.Context())[0], "pass")
	if after := l.rolledBack(t, before); after != before {
		t.Errorf("after the rollback:\n%s\nbefore:\n%s", after, before)
	}
	if a := l.run(t, false); a.Error != "" {
		t.Fatal(result(a))
	}
	if a := l.run(t, true); strings.Contains(result(a), "create ") || strings.Contains(result(a), "update ") {
		t.Error(result(a))
	}
	has(t, l.Rollback(t.Context())[0], "pass")
	if after := l.rolledBack(t, before); after != before {
		t.Errorf("after the second rollback:\n%s\nbefore:\n%s", after, before)
	}
	return true
}

// rolledBack is the state, without a namespace that was not there before and is there without content.
func (l *lab) rolledBack(t *testing.T, before string) string {
	if n := l.Namespace("vcf-h100"); n != nil && !strings.Contains(before, `"vcf-h100"`) {
		if spec, _ := json.Marshal(n["vm_service_spec"]); string(spec) != `{"content_libraries":[],"vm_classes":[]}` {
			t.Errorf("%s", spec)
		}
		l.SetNamespace("vcf-h100", "")
	}
	return l.state(t)
}

// Virtual machines without a Supervisor get a function of their own, and give it back.
func TestApplyMachines(t *testing.T) {
	for _, hosts := range []int{1, 40} { // the simulator takes a quadratic time
		if testing.Short() && hosts > 1 {
			continue
		}
		t.Run(fmt.Sprint(hosts), func(t *testing.T) {
			p := planOf(t, "vsphere8-sriov", hosts)
			l := newLab(t, p)
			l.Offer("0000:10:00.0")
			for _, h := range p.VSphere.Hosts {
				l.AddVM(h.Nodes[0], h.Name, 16, 65536)
			}
			has(t, l.run(t, true), "fail", "update virtual machine "+p.Nodes[0].Name+" (virtual function 0000:10:00.0, all of its memory reserved)")
			if a := l.run(t, false); a.Status != fabric.Pass {
				t.Fatal(result(a))
			}
			if a := l.run(t, false); a.Status != fabric.Pass || strings.Contains(result(a), "update") || len(l.Writes()) != hosts {
				t.Error(result(a), len(l.Writes()))
			}
			has(t, l.Rollback(t.Context())[0], "pass", "restore virtual machine")
			has(t, l.run(t, true), "fail", "update virtual machine")
		})
	}
}

// Whole devices are attached by their labels, in the order of the class, with the settings that they need; and taken away again.
func TestApplyWholeDevices(t *testing.T) {
	p := planOf(t, "vcf-h100", 2, "product: vcf-9.0", "product: vsphere-8", "launcher: kubernetes", "launcher: ssh", "kubernetes:\n", "#\n", "  operators: install", "  #", "  gpu_driver: device-plugin", "  #", "  nic_driver: shared-device-plugin", "  #", "  vks: ", "  #", "    storage_class: vsan-default-storage-policy\n", "")
	l := newLab(t, p)
	l.AddVM("worker1", "esx1", 96, 1<<20)
	l.AddVM("worker2", "esx2", 96, 1<<20).Config.Firmware = "bios"
	read := func() string {
		vms, err := l.Client.FindVMs(t.Context(), []string{"worker1", "worker2"})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(vms)
		return string(text)
	}
	before := read()
	has(t, l.run(t, true), "update virtual machine worker1 (pciPassthru.allowP2P=TRUE, pciPassthru.relaxACSforP2P=TRUE, pciPassthru.use64bitMMIO=TRUE, pciPassthru.64bitMMIOSizeGB=1056 and 21 more)",
		"pending worker2: firmware bios: devices with large memory need EFI, which is chosen before the system is installed (runbook: virtual-machines)")
	has(t, l.run(t, false), "fail", "pending worker2")
	vms, err := l.Client.FindVMs(t.Context(), []string{"worker1"})
	if err != nil || len(vms[0].Devices) != 20 || vms[0].Extra["pciPassthru.64bitMMIOSizeGB"] != "1056" || vms[0].Extra["mine"] != "1" || !*vms[0].Reserved {
		t.Fatalf("%+v %v", vms, err)
	}
	for i, d := range p.VSphere.Classes[0].Devices {
		if vms[0].Devices[i].Label != d.Label {
			t.Errorf("device %d is %+v, planned %s", i, vms[0].Devices[i], d.Label)
		}
	}
	has(t, l.run(t, true), "same virtual machine worker1")
	has(t, l.Rollback(t.Context())[0], "pass")
	if after := read(); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// What somebody does between the look and the write is not overwritten.
func TestApplyOvertaken(t *testing.T) {
	l := newLab(t, planOf(t, "vcf-h100", 1))
	l.Doing = func(format string, args ...any) {
		if text := fmt.Sprintf(format, args...); strings.Contains(text, ": class ") {
			l.SetClass("vcf-h100-8gpu-8nic", foreign)
		}
	}
	has(t, l.run(t, false), "unknown", "class vcf-h100-8gpu-8nic: changed since it was looked at: repeat: nothing was changed")
	if a := l.run(t, true); a.Interrupted {
		t.Error(result(a))
	}
	if l.Class("vcf-h100-8gpu-8nic")["description"] != "mine" {
		t.Error(l.Objects())
	}
}

// What keeps a virtual machine from getting what it is planned with is said.
func TestApplyMachinesPending(t *testing.T) {
	two := []vcenter.LabDevice{{Address: "0000:10:00.1", Vendor: 0x15b3, Device: 0x101e}, {Address: "0000:10:00.2", Vendor: 0x15b3, Device: 0x101e}}
	for what, test := range map[string]struct {
		change func(*lab)
		text   string
	}{
		"none":         {func(*lab) {}, "pending vm1: vCenter has 0 virtual machines of this name: make one on esx1 (runbook: virtual-machines)"},
		"it runs":      {func(l *lab) { l.PowerOn(l.AddVM("vm1", "esx1", 16, 65536)) }, "pending vm1: is on, and is changed while it is off alone: needs virtual function 0000:10:00.0, all of its memory reserved; shut it down, then repeat"},
		"template":     {func(l *lab) { l.AddVM("vm1", "esx1", 16, 65536).Config.Template = true }, "a template"},
		"elsewhere":    {func(l *lab) { l.AddVM("vm1", "esx2", 16, 65536) }, "on host esx2, and planned on esx1"},
		"small":        {func(l *lab) { l.AddVM("vm1", "esx1", 8, 1024) }, "8 CPUs and 1024 MB, and planned with 16 and 65536"},
		"no functions": {func(l *lab) { l.Equip("esx1", nil); l.AddVM("vm1", "esx1", 16, 65536) }, "host esx1 shows no virtual function 15b3:101e: SR-IOV is not in force"},
		"none in force": {func(l *lab) {
			two[0].Idle, two[1].Idle = true, true
			l.Equip("esx1", two)
			l.AddVM("vm1", "esx1", 16, 65536)
		}, "has no virtual function left for it: of 2"},
	} {
		t.Run(what, func(t *testing.T) {
			l := newLab(t, planOf(t, "vsphere8-sriov", 2))
			l.AddVM("vm2", "esx2", 16, 65536)
			l.Offer("0000:10:00.0")
			test.change(l)
			has(t, l.run(t, true), "fail", test.text)
			has(t, l.run(t, false), "fail", test.text, "virtual machine vm2")
		})
	}
}

// Two machines of a host get two functions.
func TestApplyMachinesShareAHost(t *testing.T) {
	p := planOf(t, "vsphere8-sriov", 2, `"esx[1-2]"`, `"esx1"`)
	l := newLab(t, p)
	l.Equip("esx1", []vcenter.LabDevice{{Address: "0000:10:00.1", Vendor: 0x15b3, Device: 0x101e}, {Address: "0000:10:00.2", Vendor: 0x15b3, Device: 0x101e}})
	l.Offer("0000:10:00.1", "0000:10:00.2")
	l.AddVM("vm1", "esx1", 16, 65536)
	l.AddVM("vm2", "esx1", 16, 65536)
	if a := l.run(t, false); a.Status != fabric.Pass {
		t.Fatal(result(a))
	}
	has(t, l.run(t, true), "pass")
	vms, err := l.Client.FindVMs(t.Context(), []string{"vm1", "vm2"})
	if err != nil || len(vms) != 2 || vms[0].Devices[0].Address == vms[1].Devices[0].Address {
		t.Errorf("%+v %v", vms, err)
	}
}

// Service virtual machines are people's; what one lacks is said.
func TestApplyServiceVMs(t *testing.T) {
	p := planOf(t, "vcf-h100", 2, "vm: {cpus: 96", "service_vm: {addresses: 10.0.0.21/24, gateway: 10.0.0.1}\n  vm: {gpus: 8, cpus: 96")
	l := newLab(t, p)
	has(t, l.run(t, true), "service-esx1, service-esx2: vCenter has 0 virtual machines of this name: deploy one on each host before any virtual machine with GPUs starts (runbook: service-vms)")
	l.AddVM("service-esx1", "esx1", 2, 4096)
	l.AddVM("service-esx2", "esx1", 2, 4096)
	has(t, l.run(t, true), "service-esx1: has 0 of 4 NVSwitches", "service-esx2: on host esx1, and planned on esx2")
}

// A class of the plan that it no longer has is named.
func TestApplyLeft(t *testing.T) {
	l := newLab(t, planOf(t, "vcf-h100", 1))
	l.SetClass("old", `{"id":"old","description":"x railwright.dev/plan=vcf-h100"}`)
	l.SetClass("like", `{"id":"like","description":"x railwright.dev/plan=vcf-h1000"}`)
	a := l.run(t, true)
	has(t, a, "other class old: made for this plan, which no longer has it")
	if len(a.Others) != 1 {
		t.Error(a.Others)
	}
}

// Two at once: one is refused.
func TestApplyTwice(t *testing.T) {
	l := newLab(t, planOf(t, "vcf-h100", 1))
	var second apply.Applied
	l.Doing = func(format string, args ...any) {
		if strings.Contains(fmt.Sprintf(format, args...), "class ") && second.Node == "" {
			other := l.VSphere
			other.Doing = nil
			second.Node = "asked"
			second = other.Apply(t.Context())[0]
		}
	}
	if a := l.run(t, false); a.Status != fabric.Pass {
		t.Fatal(result(a))
	}
	has(t, second, "unknown", "another apply or rollback is running")
}
