package catalog

import "testing"

func TestByPCI(t *testing.T) {
	c := embedded(t)
	for _, test := range []struct {
		vendor, device uint16
		gpu, nic       string
	}{
		{0x10de, 0x2330, "h100-sxm", ""},
		{0x10de, 0x2335, "h200-sxm", ""},
		{0x1002, 0x74a1, "mi300x", ""},
		{0x1002, 0x7408, "mi250x-gcd", ""},
		{0x1002, 0x740c, "mi250x-gcd", ""},
		{0x15b3, 0x1021, "", "connectx7"}, // not its mounting in a DGX Spark
		{0x15b3, 0x101e, "", "connectx7-vf"},
		{0x15b3, 0x1023, "", "connectx8"}, // not its Ethernet mode
		{0x14e4, 0x1760, "", "thor2"},
		{0x1dd8, 0x1002, "", "pollara400"},
		{0x1ae0, 0x0042, "", "gvnic"}, // leading zeros count
		{0x10de, 0x22a3, "", ""},      // an NVSwitch is neither
		{0x15b3, 0x2330, "", ""},      // a GPU's device id of another vendor
		{0, 0, "", ""},
	} {
		for range 10 { // maps are walked in another order each time
			gpu, model, ok := c.GPUByPCI(test.vendor, test.device)
			if gpu != test.gpu || ok != (test.gpu != "") || model.Title != c.GPUs[test.gpu].Title {
				t.Fatalf("GPU %04x:%04x: got %q, %q, %v, want %q", test.vendor, test.device, gpu, model.Title, ok, test.gpu)
			}
			nic, card, ok := c.NICByPCI(test.vendor, test.device)
			if nic != test.nic || ok != (test.nic != "") || card.Title != c.NICs[test.nic].Title {
				t.Fatalf("NIC %04x:%04x: got %q, %q, %v, want %q", test.vendor, test.device, nic, card.Title, ok, test.nic)
			}
		}
	}
}
