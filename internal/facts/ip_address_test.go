package facts

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// Mode and partition of an interface over InfiniBand are on a line of its details.
func TestIPoIB(t *testing.T) {
	for _, text := range []string{
		"3: ib0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 4092 qdisc mq state UP group default qlen 256\n    link/infiniband 00:00:10:49:fe:80:00:00:00:00:00:00:00:50:56:ff:fe:01:00:01 brd 00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff promiscuity 0 minmtu 0 maxmtu 0 \n    ipoib pkey  0xffff mode  datagram umcast  0000 numtxqueues 256 parentbus pci parentdev 0000:0b:00.0 \n",
		`[{"ifindex":3,"ifname":"ib0","mtu":4092,"operstate":"UP","linkinfo":{"info_kind":"ipoib","info_data":{"pkey":"0xffff","mode":"datagram","umcast":0}},"parentbus":"pci","parentdev":"0000:0b:00.0"}]`,
	} {
		f, err := parseIPAddress(text, "")
		if err != nil {
			t.Fatal(err)
		}
		n := f.NICs[0]
		if n.IPoIB == nil || *n.IPoIB != (fabric.IPoIB{Mode: "datagram", PKey: "0xffff"}) || n.PCI != "0000:0b:00.0" || n.Kind != "ipoib" {
			t.Errorf("%+v %+v", n, n.IPoIB)
		}
	}
	for _, bad := range [][2]string{{"", ""}, {"other", "x"}, {"", "0x0"}} {
		if i := ipoibOf(bad[0], bad[1]); i != nil {
			t.Errorf("%v: %+v", bad, i)
		}
	}
}
