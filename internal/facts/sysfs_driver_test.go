package facts

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestDriverLink: a link that was cut, or that leads elsewhere, names no driver.
func TestDriverLink(t *testing.T) {
	for target, want := range map[string]string{
		"../../../../bus/pci/drivers/bnxt_en":        "bnxt_en",
		"../../../bus/virtio/drivers/virtio_net":     "virtio_net",
		"../../bus/auxiliary/drivers/mlx5_core.eth":  "mlx5_core.eth",
		"../../../../bus/pci/dri":                    "",
		"../../../../bus/pci/drivers":                "",
		"\x01garbage":                                "",
		"":                                           "",
		"../../../../bus/pci/drivers_autoprobe/nope": "",
	} {
		h := fakeHost{links: map[string]string{}}
		h.links["/d/driver"] = target
		driver, err := driverOf(h, "/d")
		if driver != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", target, driver, err)
		}
	}
	if driver, err := driverOf(fakeHost{}, "/d"); driver != "" || err != nil {
		t.Errorf("no link: %q, %v", driver, err)
	}
}

// TestRoCENICs: an Ethernet interface is asked whatever its port says of the link layer; one over InfiniBand is not.
func TestRoCENICs(t *testing.T) {
	const address = "0000:13:00.0"
	f := &fabric.Facts{HCAs: []fabric.HCA{{Name: "bnxt_re0", PCI: address, Ports: []fabric.Port{{Number: 1, LinkLayer: "InfiniBand"}}}}}
	for mac, want := range map[string]int{
		"02:00:00:01:00:01": 1, "": 1,
		"00:00:10:29:fe:80:00:00:00:00:00:00:02:00:00:ff:fe:01:00:01": 0,
	} {
		f.NICs = []fabric.NIC{{Name: "eth1", PCI: address, MAC: mac}, {Name: "eth9", MAC: mac}}
		if got := len(roceNICs(f)); got != want {
			t.Errorf("%q: %d interfaces, want %d", mac, got, want)
		}
	}
}
