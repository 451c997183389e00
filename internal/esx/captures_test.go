package esx

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// captures are texts from public pages, which lie beside the repository.
const captures = "../../../shared/data/captures"

// capture reads one of them; the test is skipped where they are absent.
func capture(t *testing.T, number string) Reading {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(captures, number+".txt"))
	if err != nil {
		t.Skip("the captures are not beside the repository")
	}
	return Read(map[string][]byte{number + ".txt": text})
}

// foreign are lines that stand in a capture and that no tool of an ESX host printed: of guests, of people, of manifests.
func foreign() map[string]string {
	return map[string]string{
		"20": `^(?:Region \d|NVRM: )`, "28": `.`, "29": `^(?:\d\) /spec|vmx-17|- deviceId|vendorId)`, "30": `.`, "32": `^(?:cuDevice|GPU|guest lspci|ESXi capList|idle)`,
	}
}

// TestCapturesLeaveNothing: every line that a tool of an ESX host printed is read.
func TestCapturesLeaveNothing(t *testing.T) {
	for n := 1; n <= 36; n++ {
		number := fmt.Sprintf("%02d", n)
		r := capture(t, number)
		ok := regexp.MustCompile(`^$`)
		if f := foreign()[number]; f != "" {
			ok = regexp.MustCompile(f)
		}
		for _, line := range r.Unread {
			if _, text, _ := strings.Cut(line, ": "); !ok.MatchString(text) {
				t.Errorf("unread: %s", line)
			}
		}
	}
	for n := 37; n <= 97; n++ {
		if r := capture(t, fmt.Sprint(n)); r.Proven {
			t.Errorf("%d is taken for an ESX host: %+v", n, r.ESX)
		}
	}
}

// TestCaptures asserts for each capture what was read of it: each word stands in the facts as JSON, each of not does not.
func TestCaptures(t *testing.T) {
	for _, tt := range []struct {
		number string
		want   []string
		not    []string
	}{
		{"01", []string{`"device":"mt4121_pciconf0"`, `"NUM_OF_VFS":{"current":"0"}`, `"SRIOV_EN":{"current":"False(0)"}`}, []string{"ATS_ENABLED", `"next"`}},
		{"02", []string{`"NUM_OF_VFS":{"next":"8"}`, `"SRIOV_EN":{"next":"True(1)"}`, "Please reboot machine"}, []string{`"current"`}},
		{"03", []string{`"name":"mst","loaded":true`, `"name":"mt4121_pciconf0","address":"0000:02:00.0","net":"vmnic2"`, `"name":"mt4121_pciconf0.1","address":"0000:02:00.1","net":"vmnic3"`}, []string{`"rdma"`}},
		{"04", []string{`"name":"vmnic2","address":"0000:02:00.0","driver":"nmlx5_core","up":true,"mbps":100000,"mtu":1500`, `"name":"vmnic3","address":"0000:02:00.1","driver":"nmlx5_core","up":false,"mbps":0`, "[ConnectX-5 Ex]"}, []string{`"parts"`}},
		{"05", []string{`"address":"0000:02:00.0"`, `"address":"0000:02:00.1"`, `"vmnic2"`, `"parts":["esx.devices","esx.uplinks"]`}, []string{`"vfs"`}},
		{"06", []string{`"name":"nmlx5_core"`}, []string{"Number", `"max_vfs"`}},
		{"07", []string{`"of":"vmnic0","number":0,"address":"0000:65:00.1","active":false`, `"number":3,"address":"0000:65:00.4"`}, []string{`"owner"`}},
		{"08", []string{`"max_vfs":"4,4"`, `"pfctx":"0x08"`, `"dscp_force":"26"`, `"enabled":true`}, nil},
		{"09", []string{`"name":"mft","version":"4.18.1.14-0","vendor":"MEL"`, `"name":"nmst","version":"4.18.1.14-1OEM.700.1.0.15843807"`, `"parts":["esx.vibs"]`}, nil},
		{"10", []string{`"name":"mt4099_pciconf0","address":"0000:01:00.0","net":"vmnic0"`, `"name":"mt4099_pci_cr0"`, `"name":"mst","loaded":true`}, []string{`"rdma"`}},
		{"11", []string{`"name":"nmst","version":"4.22.1.11-1OEM.703.0.0.18434556"`, `"name":"mft","version":"4.22.1.11-0"`, "needs to be rebooted"}, nil},
		{"12", []string{`"device":"0000:18:00.0","version":"14.22.1002","released":"23.2.2018","psid":"MT_2420110034","original_psid":"HUA0000000001"`}, nil},
		{"13", []string{`"vm":"example_vm","kind":"no-vf","device":"0000:af:00.0"`, `"name":"vmnic1","address":"0000:af:00.1","vfs":4`}, nil},
		{"14", []string{`"kind":"mmio"`, `"needed":4206594,"limit":917504`}, []string{`"power-on"`}},
		{"15", []string{`"needed":33566722,"limit":917504`, `"pciPassthru.64bitMMIOSizeGB":"256"`, `"pciPassthru.use64bitMMIO":"TRUE"`}, nil},
		{"16", []string{`"kind":"not-passthrough","device":"0000:06:00.0"`, `"kind":"hot-plug","device":"0000:a9:00.0"`}, nil},
		{"17", []string{`"kind":"vectors"`}, nil},
		{"18", []string{`"kind":"vectors","device":"0000:08:00.0"`, `"vectors":170`}, nil},
		{"19", []string{`"kind":"direct","address":"0000:42:00.0","vendor":"0x10de","device":"0x1b38"`, `"reserved":true`, `"pciPassthru.RelaxACSCheck":"TRUE"`, `"pciPassthru.64bitMMIOSizeGB":"128"`}, []string{`"firmware"`}},
		{"20", []string{`"device":"0000:42:00.0","number":1,"bytes":34359738368`}, []string{`"refusals"`}},
		{"21", []string{`"system":"53df6eeb-0000-0000-0000-000000000000"`, `"address":"0000:06:00.0","vendor":"0x110a","device":"0x4069","system":"5cf50c99-0000-0000-0000-000000000000"`}, []string{"0000:12:00.0", "0000:0c:00.0"}},
		{"22", []string{`"address":"0000:61:00.0","vendor":32902,"device":14280`, `"vm":"vm-1","kind":"identity","device":"0000:61:00.0"`}, nil},
		{"23", []string{`"address":"0000:02:00.1","vendor":32902,"device":5416`, `"capable":true,"enabled":false,"active":false`, `"name":"LSI2308_2","capable":true,"enabled":true,"active":true`}, nil},
		{"24", []string{`"address":"0000:02:00.0","enabled":true`, `"address":"0000:18:00.0","enabled":false`, `"address":"0000:af:00.1","vendor":32902,"device":5490,"active":true`, `"name":"vmnic10","address":"0000:af:00.2","driver":"i40en"`, `"address":"0000:5e:09.0"`}, nil},
		{"25", []string{`"name":"vga","configured":"FALSE","runtime":"TRUE","default":"TRUE"`, `"parts":["esx.settings"]`}, nil},
		{"26", []string{`"vendor":4318,"device":65535,"method":"bridge","shareable":"false","line":2`, `"device":5121,"method":"d3d0"`}, nil},
		{"27", []string{`"name":"nmlx5-core","version":"4.23.8.1-1vmw.803.0.100.25429389"`, `"name":"nmst","version":"4.25.0.703-1OEM.703.0.0.18644231"`, `"name":"nmlx5-core-esxio"`, "needs to be rebooted"}, nil},
		{"31", []string{`"kind":"iommu"`}, nil},
		{"32", []string{`"pciPassthru.allowP2P":"true"`, `"relaxACSforP2P":"true"`}, nil},
		{"33", []string{`"name":"bnxtnet","loaded":false`, `"name":"ntg3","loaded":true`, `"no_vibs":["bnxtnet"]`, `"version":"4.1.0.0-1vmw.650.0.0.4564106"`}, nil},
		{"34", []string{`"name":"mt4115_pciconf0","address":"0000:03:00.0","net":"vmnic4"`, `"net":"vmnic1,vmnic1000102"`}, []string{`"rdma"`}},
		{"35", []string{`"name":"vmrdma0","driver":"nenic","state":"Active","mtu":4096,"speed":"50 Gbps","uplink":"vmnic1","kernel":"vmk1"`, `"uplink":"vmnic2"`}, nil},
		{"36", []string{`"NUM_OF_VFS":{"default":"8","current":"5","next":"5"}`, `"SRIOV_EN":{"default":"True(1)","current":"True(1)","next":"True(1)"}`}, nil},
		{"89", []string{`"ATS_ENABLED":{"next":"False(0)"}`}, []string{`"current"`}},
	} {
		t.Run(tt.number, func(t *testing.T) {
			r := capture(t, tt.number)
			text, err := json.Marshal(r.ESX)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("lacks %s:\n%s", want, text)
				}
			}
			for _, not := range tt.not {
				if strings.Contains(string(text), not) {
					t.Errorf("has %s:\n%s", not, text)
				}
			}
			unproven := []string{"19", "21", "31", "32", "36", "89"} // what other systems have too, or no host printed
			if r.Proven == slices.Contains(unproven, tt.number) {
				t.Errorf("an ESX host: %v", r.Proven)
			}
		})
	}
	if p := capture(t, "23").PCI; len(p) != 2 || p[0].Parent != "0000:00:01.1" || p[0].Driver != "ixgbe" || p[1].Class != 0x010700 {
		t.Errorf("PCI functions: %+v", p)
	}
	if e := capture(t, "04").ESX; !e.Whole(fabric.FactESXUplinks) {
		t.Error("04 is the whole list")
	}
}
