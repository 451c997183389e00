package esx

import (
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// samples are texts of every form.
func samples() []string {
	return []string{
		kernelTable, vmObject,
		"[root@esx1:~] esxcli network nic list\nName    PCI Device    Driver      Admin Status  Link Status  Speed  Duplex  MAC Address         MTU  Description\n------  ------------  ----------  ------------  -----------  -----  ------  -----------------  ----  -----------\nvmnic4  0000:1a:00.0  nmlx5_core  Up            Up           100000  Full  02:00:00:00:00:01  9000  ConnectX-7\n",
		"[root@esx1:~] esxcli hardware pci list\n0000:1a:00.0\n   Address: 0000:1a:00.0\n   Configured Owner: VM Passthru\n   Current Owner: VM Passthru\n   Vendor ID: 0x15b3\n   Device ID: 0x1021\n   Device Class: 0x0207\n   Passthru Capable: true\n",
		"Device #1:\n----------\nDevice type:        ConnectX7\nDevice:             mt4129_pciconf0\nConfigurations:      Default     Current     Next Boot\n*       NUM_OF_VFS   0           16          8\n        SRIOV_EN     False(0)    True(1)     True(1)\n",
		"MST devices:\n------------\nmt4129_pciconf0\nPCI devices:\n------------\nDEVICE_TYPE         MST                PCI        RDMA    NET    NUMA\nConnectX7(rev:0)    mt4129_pciconf0    1a:00.0            net-vmnic4   0\n",
		"10de  ffff  bridge  false\n", "pciPassthru0.id = \"00000:026:00.0\"\npciPassthru0.vendorId = \"0x15b3\"\npciPassthru.use64bitMMIO = \"TRUE\"\n",
		"Bus      : 97\nClassId  : 2880\nDeviceId : 14280\nFunction : 0\nSlot     : 0\nState    : Active\nVendorId : -32634\n",
		"nmlx5_core enabled = 1 options = 'max_vfs=4,4 pfctx=0x08'\n", "VMware ESXi 8.0.3 build-24280767\n",
		"2025-01-02T03:04:05.678Z In(05) vmx - PCIPassthru: total number of pages needed (268435456) exceeds limit (134217728), failing\n",
		"0000:af:00.1 8086:1572 8086:0000 255/   /     A P pciPassthru        vmnic9\n0000:02:00.0 Network controller: Mellanox Technologies MT28800 Family [ConnectX-5 Ex] [vmnic2]\n",
		"# esxcli --formatter=csv software vib list\nAcceptanceLevel,CreationDate,ID,InstallDate,Name,Status,Vendor,Version,\nPartnerSupported,2024-01-01,MEL_bootbank_nmst_4.30,2024-01-02,nmst,,MEL,4.30,\n",
		"Installation Result\n   Message: Done, but the system needs to be rebooted.\n   Reboot Required: true\n   VIBs Installed: MEL_bootbank_nmst_4.30.0.54-1OEM\n",
	}
}

// TestCut cuts each sample at every byte: nothing panics, and what is read of a part has no more entries than what is read of all.
func TestCut(t *testing.T) {
	for _, text := range samples() {
		most := entries(read(t, text))
		for at := range len(text) {
			if n := entries(read(t, text[:at])); n > most {
				t.Errorf("%d entries of %d bytes, %d of all %d:\n%s", n, at, most, len(text), text[:at])
				break
			}
		}
	}
}

var leaf = regexp.MustCompile(`"[^"]*":(?:"|[0-9tf])`)

// entries counts the values that were read.
func entries(r Reading) int {
	text, err := json.Marshal(r.ESX)
	if err != nil {
		return -1
	}
	return len(leaf.FindAll(text, -1)) + 3*len(r.PCI)
}

// TestSpelled reads each sample as it is spelled by terminals, editors and web pages: the same is read of it.
func TestSpelled(t *testing.T) {
	for _, text := range samples() {
		want := read(t, text)
		for name, change := range map[string]func(string) string{
			"CRLF":       func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
			"colours":    func(s string) string { return "\x1b[0m" + strings.ReplaceAll(s, "\n", "\x1b[K\n") },
			"more blank": func(s string) string { return strings.ReplaceAll(s, "\n", "   \n") },
			"hard space": func(s string) string { return strings.ReplaceAll(s, "  ", "\u00a0 ") },
			"in prose":   func(s string) string { return "This is what I see:\n\n" + s + "\nWhat is wrong?\n" },
		} {
			got := read(t, change(text))
			for i := range got.PCI {
				if i >= len(want.PCI) || got.PCI[i].Address != want.PCI[i].Address {
					t.Errorf("%s: %+v", name, got.PCI[i])
				}
			}
			for _, r := range []*Reading{&want, &got} {
				for i := range r.ESX.Refusals {
					r.ESX.Refusals[i].Line, r.ESX.Refusals[i].Text = 0, ""
				}
				for i := range r.ESX.ResetRules {
					r.ESX.ResetRules[i].Line = 0
				}
			}
			if name == "hard space" { // it is two bytes, so that a rule of dashes no longer says where columns are
				if entries(got) > entries(want) {
					t.Errorf("%s: more than was printed", name)
				}
				continue
			}
			same(t, want.ESX, got.ESX)
		}
	}
}

// TestCollapsed takes the spaces out: what is still read is what was printed.
func TestCollapsed(t *testing.T) {
	spaces := regexp.MustCompile(`  +`)
	for _, text := range samples() {
		for _, with := range []string{" ", "\t"} {
			want, got := read(t, text), read(t, spaces.ReplaceAllString(text, with))
			if got.ESX != nil && entries(got) > entries(want) {
				t.Errorf("more was read than printed: %+v\n%s", got.ESX, text)
			}
		}
	}
}

// TestNoise changes bytes at random: nothing panics.
func TestNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	all := samples()
	for range 3000 {
		text := []byte(all[random.IntN(len(all))])
		for range 1 + random.IntN(8) {
			text[random.IntN(len(text))] = byte(random.IntN(256))
		}
		Read(map[string][]byte{"text": text, "settings": text, "vms": []byte(all[random.IntN(len(all))])})
	}
}

func FuzzRead(f *testing.F) {
	for _, text := range samples() {
		f.Add(text)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		if len(text) < 1<<14 {
			Read(map[string][]byte{"text": []byte(text)})
		}
	})
}
