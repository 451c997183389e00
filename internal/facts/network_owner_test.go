package facts

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestNetworkOwner(t *testing.T) {
	for want, files := range map[string][]string{
		"":                         {"/run/systemd/netif/leases/", "/run/NetworkManager/", "/run/other"},
		"networkd":                 {"/run/systemd/netif/state"},
		"NetworkManager":           {"/run/NetworkManager/devices/2"},
		"networkd, NetworkManager": {"/run/systemd/netif/state", "/run/NetworkManager/devices/2"},
		"wicked":                   {"/run/wicked/state.xml"},
		"NetworkManager, ifupdown": {"/run/NetworkManager/devices/2", ifupdownState},
	} {
		h := fakeHost{files: map[string]string{}}
		for _, name := range files {
			h.files[name] = "lo=lo\neth9=eth9\n"
		}
		got, err := networkOwner(h)
		if err != nil || got == nil != (want == "") || got != nil && *got != want {
			t.Errorf("%q: %v, %v", want, got, err)
		}
	}
	if got, err := networkOwner(fakeHost{files: map[string]string{ifupdownState: "lo=lo\n"}}); got != nil || err != nil {
		t.Errorf("the loopback alone: %v, %v", *got, err)
	}
}

func TestNICOwners(t *testing.T) {
	networkd := func(state string) map[string]string {
		return map[string]string{"/run/systemd/netif/links/2": "ADMIN_STATE=" + state + "\nOPER_STATE=routable\n"}
	}
	manager := func(managed string) map[string]string {
		return map[string]string{"/run/NetworkManager/devices/2": "[device]\nmanaged=" + managed + "\nperm-hw-addr-fake=42:1D:94:A3:35:DC\n"}
	}
	for _, c := range []struct {
		name  string
		files []map[string]string
		want  string // an owner, or with a colon what is missing
	}{
		{"networkd", []map[string]string{networkd("configured")}, "networkd"},
		{"networkd failed", []map[string]string{networkd("failed")}, "networkd"},
		{"NetworkManager", []map[string]string{networkd("unmanaged"), manager("true")}, "NetworkManager"},
		{"NetworkManager keeps off", []map[string]string{networkd("configured"), manager("false")}, "networkd"},
		{"both", []map[string]string{networkd("configuring"), manager("true")}, "networkd, NetworkManager"},
		{"neither", []map[string]string{networkd("unmanaged"), manager("false")}, "none"},
		{"ifupdown too", []map[string]string{networkd("configured"), {ifupdownState: "lo=lo\neth1=eth1\n"}}, "networkd, ifupdown"},
		{"of another index", []map[string]string{{"/run/systemd/netif/links/3": "ADMIN_STATE=configured\n"}}, "none"},
		{"pending", []map[string]string{networkd("pending")}, `nics.owner eth1: networkd is in state "pending": it has not decided yet`},
		{"half a file", []map[string]string{{"/run/systemd/netif/links/2": "OPER_STATE=rou"}}, "nics.owner eth1: networkd's state has no line ADMIN_STATE"},
		{"empty file", []map[string]string{{"/run/NetworkManager/devices/2": ""}}, `nics.owner eth1: NetworkManager's state says managed=""`},
		{"another word", []map[string]string{manager("full")}, `nics.owner eth1: NetworkManager's state says managed="full"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := fakeHost{files: map[string]string{}}
			for _, f := range c.files {
				maps.Copy(h.files, f)
			}
			f := fabric.Facts{NICs: []fabric.NIC{{Name: "lo", Index: 1}, {Name: "eth1", Index: 2, PCI: "0000:18:00.0"}}}
			readNICOwners(context.Background(), h, &f)
			got := ""
			if f.NICs[1].Owner != nil {
				got = *f.NICs[1].Owner
			}
			for _, m := range missingText(&f) {
				got += m
			}
			if got != c.want || f.NICs[0].Owner != nil {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Of ten thousand interfaces of containers none is asked about.
func TestNICOwnersOfContainers(t *testing.T) {
	h := fakeHost{files: map[string]string{}}
	var f fabric.Facts
	for i := range 10_000 {
		f.NICs = append(f.NICs, fabric.NIC{Name: fmt.Sprintf("veth%d", i), Index: i + 2, Kind: "veth"})
		h.files[fmt.Sprintf("/run/systemd/netif/links/%d", i+2)] = "" // an error, were it read
	}
	readNICOwners(context.Background(), h, &f)
	if len(f.Missing) > 0 {
		t.Errorf("%d missing", len(f.Missing))
	}
}
