package vcenter

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func wantedClass() fabric.VMClass {
	return fabric.VMClass{Name: "gpu-8", GPUs: 1, NICs: 1, CPUs: 16, MemoryMB: 65536, MMIOGB: 160,
		Devices: []fabric.VMClassDevice{{Label: "GPU0", Vendor: 0x10de, Device: 0x2330}, {Label: "NIC0", Vendor: 0x15b3, Device: 0x1021}},
		Extra:   []fabric.Option{{Name: "pciPassthru.use64bitMMIO", Value: "TRUE"}, {Name: "pciPassthru.64bitMMIOSizeGB", Value: "160"}}}
}

func TestPutClass(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	want := wantedClass()
	before, changed, err := c.PutClass(t.Context(), want, "of a test")
	if before != nil || !changed || err != nil {
		t.Fatalf("%v %v %v", before, changed, err)
	}
	spec, _ := json.Marshal(s.rest.classes["gpu-8"]["config_spec"])
	for _, part := range []string{`"_typeName":"VirtualMachineConfigSpec"`, `"customLabel":"GPU0"`, `"vendorId":4318`, `"_typeName":"VirtualPCIPassthroughDynamicBackingInfo"`, `"pciPassthru.64bitMMIOSizeGB"`} {
		if !strings.Contains(string(spec), part) {
			t.Errorf("%s is not in %s", part, spec)
		}
	}
	all := must(c.Classes(t.Context()))(t)
	if len(all) != 1 || all[0].Reserved != 100 || all[0].CPUs != 16 {
		t.Fatalf("%+v", all)
	}
	if diff := cmp.Diff(want.Devices, all[0].Devices); diff != "" {
		t.Error(diff)
	}
	if _, changed, err := c.PutClass(t.Context(), want, "of a test"); changed || err != nil || len(s.rest.writes) != 1 {
		t.Errorf("%v %v %v", changed, err, s.rest.writes)
	}
	want.MemoryMB, want.Devices = 131072, want.Devices[:1]
	before, changed, err = c.PutClass(t.Context(), want, "of a test")
	if before == nil || before.MemoryMB != 65536 || len(before.Devices) != 2 || !changed || err != nil {
		t.Fatalf("%+v %v %v", before, changed, err)
	}
	if err := c.RestoreClass(t.Context(), "gpu-8", before); err != nil {
		t.Fatal(err)
	}
	if now := must(c.Classes(t.Context()))(t)[0]; now.MemoryMB != 65536 || len(now.Devices) != 2 || len(now.Extra) != 2 {
		t.Errorf("%+v", now)
	}
	if err := c.RestoreClass(t.Context(), "gpu-8", nil); err != nil || len(s.rest.classes) != 0 {
		t.Errorf("%v %v", err, s.rest.classes)
	}
}

func TestPutClassKeepsWhatItDoesNotKnow(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.rest.classes["gpu-8"] = map[string]any{"id": "gpu-8", "cpu_count": 4, "memory_MB": 1024, "vms": []string{"vm-1"}, "config_spec": json.RawMessage(
		`{"_typeName":"VirtualMachineConfigSpec","numCoresPerSocket":2,"extraConfig":[{"_typeName":"OptionValue","key":"other","value":{"_typeName":"string","_value":"1"}},{"_typeName":"OptionValue","key":"PCIPASSTHRU.use64bitMMIO","value":{"_typeName":"string","_value":"FALSE"}}]}`)}
	before, _, err := c.PutClass(t.Context(), wantedClass(), "of a test")
	if err != nil || before == nil || len(before.VMs) != 1 {
		t.Fatalf("%+v %v", before, err)
	}
	spec, _ := json.Marshal(s.rest.classes["gpu-8"]["config_spec"])
	if text := string(spec); !strings.Contains(text, `"numCoresPerSocket":2`) || !strings.Contains(text, `"key":"other"`) || strings.Count(strings.ToLower(text), "use64bitmmio") != 1 {
		t.Error(text)
	}
}

func TestClassOfOlderForm(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	for i, field := range []string{"dynamic_direct_path_io_devices", "dynamic_direct_path_IO_devices"} {
		name := "old" + string(rune('0'+i))
		s.rest.classes[name] = map[string]any{"id": name, "devices": map[string]any{field: []map[string]any{{"vendor_id": 4318, "device_id": 9008, "custom_label": "G"}}}}
	}
	for _, class := range must(c.Classes(t.Context()))(t) {
		if diff := cmp.Diff([]fabric.VMClassDevice{{Label: "G", Vendor: 0x10de, Device: 0x2330}}, class.Devices); diff != "" {
			t.Errorf("%s: %s", class.Name, diff)
		}
	}
}

func TestClassRefuses(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.rest.classes["gpu-8"] = map[string]any{"id": "gpu-8", "namespaces": []string{"ns"}, "config_spec": "half"}
	if _, _, err := c.PutClass(t.Context(), wantedClass(), "of a test"); !Is(err, Fault) || len(s.rest.writes) != 0 {
		t.Error(err)
	}
	s.rest.classes["gpu-8"]["config_spec"] = nil
	if err := c.RestoreClass(t.Context(), "gpu-8", nil); !Is(err, Refused) || !strings.Contains(err.Error(), "ns") {
		t.Error(err)
	}
	c.vim.ServiceContent.About.Version = "8.0.1"
	if _, _, err := c.PutClass(t.Context(), wantedClass(), "of a test"); !Is(err, Refused) || !strings.Contains(err.Error(), "8.0.2") {
		t.Error(err)
	}
}

func TestRefusalsOfTheJSONAPI(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	for status, kind := range map[int]Kind{403: NotPermitted, 404: NotFound, 409: Changed, 500: Fault, 503: NoAnswer} {
		s.rest.answer["GET "+classPath] = func(w http.ResponseWriter) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error_type":"SOME","messages":[{"default_message":"not like this, `+testPassword+`"}]}`)
		}
		_, err := c.Classes(t.Context())
		if !Is(err, kind) || !strings.Contains(err.Error(), "not like this") {
			t.Errorf("%d: %v", status, err)
		}
		noPassword(t, testPassword, err)
	}
	s.rest.answer["GET "+classPath] = func(w http.ResponseWriter) { _, _ = io.WriteString(w, `<html>`) }
	if _, err := c.Classes(t.Context()); !Is(err, Fault) {
		t.Error(err)
	}
	s.rest.answer["GET "+classPath] = func(w http.ResponseWriter) { w.Header().Set("Location", "https://127.0.0.1:1/"); w.WriteHeader(302) }
	if _, err := c.Classes(t.Context()); err == nil || !strings.Contains(err.Error(), "302") {
		t.Error(err)
	}
}

func TestPutNamespace(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	if _, _, err := c.PutClass(t.Context(), wantedClass(), "of a test"); err != nil {
		t.Fatal(err)
	}
	want := Namespace{Name: "train", Cluster: "domain-c1", Classes: []string{"gpu-8"}, Policies: []string{"p-1"}, Libraries: []string{"l-1"}}
	before, changed, err := c.PutNamespace(t.Context(), want)
	if before != nil || !changed || err != nil {
		t.Fatalf("%v %v %v", before, changed, err)
	}
	if _, changed, err := c.PutNamespace(t.Context(), want); changed || err != nil {
		t.Errorf("%v %v", changed, err)
	}
	s.rest.namespaces["train"]["vm_service_spec"] = map[string]any{"vm_classes": []string{"mine"}}
	s.rest.namespaces["train"]["storage_specs"] = []map[string]any{{"policy": "p-0", "limit": 1024}}
	before, changed, err = c.PutNamespace(t.Context(), want)
	if before == nil || !changed || err != nil {
		t.Fatalf("%v %v %v", before, changed, err)
	}
	now := must(c.Namespaces(t.Context()))(t)[0]
	if diff := cmp.Diff(Namespace{Name: "train", Cluster: "domain-c1", Status: "RUNNING", Classes: []string{"mine", "gpu-8"}, Policies: []string{"p-0", "p-1"}, Libraries: []string{"l-1"}}, now); diff != "" {
		t.Error(diff)
	}
	if text, _ := json.Marshal(s.rest.namespaces["train"]); !strings.Contains(string(text), `"limit":1024`) {
		t.Errorf("the limit is gone: %s", text)
	}
	if err := c.TakeFromNamespace(t.Context(), want, before); err != nil {
		t.Fatal(err)
	}
	if now := must(c.Namespaces(t.Context()))(t)[0]; len(now.Classes) != 1 || len(now.Policies) != 1 || len(now.Libraries) != 0 {
		t.Errorf("%+v", now)
	}
	if text, _ := json.Marshal(s.rest.namespaces["train"]); !strings.Contains(string(text), `"limit":1024`) {
		t.Errorf("the limit is gone: %s", text)
	}
	if err := c.TakeFromNamespace(t.Context(), Namespace{Name: "none"}, nil); !Is(err, NotFound) {
		t.Error(err)
	}
}

func TestPutNamespaceRefuses(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	for name, test := range map[string]struct {
		want Namespace
		text string
	}{
		"no supervisor":      {Namespace{Cluster: "domain-c9"}, "no Supervisor"},
		"one that is coming": {Namespace{Cluster: "domain-c2"}, "CONFIGURING"},
		"no class":           {Namespace{Cluster: "domain-c1", Classes: []string{"none"}}, "no class none"},
		"no policy":          {Namespace{Cluster: "domain-c1", Policies: []string{"p-9"}}, "p-9"},
		"on another cluster": {Namespace{Name: "there", Cluster: "domain-c1"}, "is on cluster domain-c7"},
		"being removed":      {Namespace{Name: "leaving", Cluster: "domain-c1"}, "being removed"},
	} {
		s.rest.namespaces["there"] = map[string]any{"cluster": "domain-c7", "config_status": "RUNNING"}
		s.rest.namespaces["leaving"] = map[string]any{"cluster": "domain-c1", "config_status": "REMOVING"}
		if test.want.Name == "" {
			test.want.Name = "train"
		}
		if _, _, err := c.PutNamespace(t.Context(), test.want); !Is(err, Refused) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(s.rest.writes) != 0 {
		t.Error(s.rest.writes)
	}
}

func TestNamed(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	if got := must(c.StoragePolicies(t.Context()))(t); len(got) != 1 || got[0] != (Named{ID: "p-1", Name: "vSAN gold"}) || PolicyName(got[0].Name) != "vsan-gold" {
		t.Errorf("%+v", got)
	}
	if got := must(c.Libraries(t.Context()))(t); len(got) != 1 || got[0] != (Named{ID: "l-1", Name: "dlvm", Kind: "subscribed"}) {
		t.Errorf("%+v", got)
	}
	if got := must(c.Clusters(t.Context()))(t); len(got) != 1 || got[0].Name != "DC0_C0" {
		t.Errorf("%+v", got)
	}
}
