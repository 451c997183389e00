package host

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jsimonetti/rtnetlink/v2"

	"railwright.dev/railwright/internal/linux"
)

func testRedactor() *redactor { return newRedactor([]byte("a salt for tests")) }

func sharedBits(a, b netip.Addr) int {
	x, y := a.AsSlice(), b.AsSlice()
	for i := range 8 * len(x) {
		if (x[i/8]^y[i/8])&(0x80>>(i%8)) != 0 {
			return i
		}
	}
	return 8 * len(x)
}

// TestRedactKeepsSubnets holds every pair of a list to share as many leading bits after as before.
func TestRedactKeepsSubnets(t *testing.T) {
	var all []netip.Addr
	for _, text := range strings.Fields(`
		10.64.0.0 10.64.0.1 10.64.0.2 10.64.0.3 10.64.1.0 10.65.0.1 10.192.0.1 10.255.255.255 9.255.255.255 11.0.0.0
		172.15.255.255 172.16.0.1 172.31.255.254 172.32.0.1 192.167.1.1 192.168.0.1 192.168.1.1 192.168.255.1 192.169.0.1
		100.63.0.1 100.64.0.1 100.127.0.1 100.128.0.1 169.254.0.1 169.253.0.1 8.8.8.8 1.1.1.1 1.1.0.1 203.0.113.7 223.255.255.1
		0.0.0.0 0.0.0.1 127.0.0.1 127.255.255.255 224.0.0.1 239.1.1.1 255.255.255.255 126.1.1.1 128.1.1.1`) {
		all = append(all, netip.MustParseAddr(text))
	}
	r := testRedactor()
	for i, a := range all {
		out := r.ip(a)
		if out.As4()[3] != a.As4()[3] {
			t.Errorf("%s became %s: the last byte is another", a, out)
		}
		fixed := a.IsLoopback() || a.As4()[0] == 0 || a.As4()[0] >= 224
		if (out == a) != fixed || out.IsPrivate() != a.IsPrivate() || out.IsLinkLocalUnicast() != a.IsLinkLocalUnicast() {
			t.Errorf("%s became %s", a, out)
		}
		for _, b := range all[:i] {
			if want, got := sharedBits(a, b), sharedBits(out, r.ip(b)); got != want {
				t.Errorf("%s and %s share %d bits, %s and %s share %d", a, b, want, out, r.ip(b), got)
			}
		}
	}
	for in, low := range map[string]int{"10.64.0.0/10": 22, "10.0.0.0/8": 24, "0.0.0.0/0": 32, "10.64.16.0/20": 12, "10.64.0.0/31": 1} {
		p := netip.MustParsePrefix(in)
		if out := r.subnet(p); out != out.Masked() || out.Bits() != 32-low {
			t.Errorf("%s became %s", in, out)
		}
		if inside := netip.PrefixFrom(p.Addr().Next(), p.Bits()); r.subnet(inside).Masked() != r.subnet(p) {
			t.Errorf("%s became %s, outside of %s", inside, r.subnet(inside), r.subnet(p))
		}
	}
}

func TestRedactDependsOnSalt(t *testing.T) {
	a, b := testRedactor(), newRedactor([]byte("another"))
	address := netip.MustParseAddr("10.64.0.1")
	if a.ip(address) == b.ip(address) && a.name("host1") == b.name("host1") {
		t.Error("another salt, the same replacements")
	}
	if _, err := Redact(sealed(""), nil); err == nil {
		t.Error("no salt, and no error")
	}
}

// TestRedactFollows: what was made of a MAC address is made of its replacement.
func TestRedactFollows(t *testing.T) {
	r := testRedactor()
	r.guids[[8]byte{0x94, 0x6d, 0xae, 0x03, 0x00, 0x12, 0x34, 0x56}] = true
	mac := [6]byte{0x94, 0x6d, 0xae, 0x12, 0x34, 0x56}
	r.mac(&mac)
	if [3]byte(mac[:3]) != [3]byte{0x94, 0x6d, 0xae} || [3]byte(mac[3:]) == [3]byte{0x12, 0x34, 0x56} {
		t.Errorf("MAC %x", mac)
	}
	low := fmt.Sprintf("%02x%02x:%02x%02x", 0, mac[3], mac[4], mac[5])
	for in, want := range map[string]string{
		"946d:ae03:0012:3456":                                         "946d:ae03:" + low,
		"fe80:0000:0000:0000:966d:aeff:fe12:3456":                     fmt.Sprintf("fe80:0000:0000:0000:966d:aeff:fe%02x:%02x%02x", mac[3], mac[4], mac[5]),
		"fe80:0000:0000:0000:946d:ae03:0012:3456":                     "fe80:0000:0000:0000:946d:ae03:" + low,
		"33:33:ff:12:34:56":                                           fmt.Sprintf("33:33:ff:%02x:%02x:%02x", mac[3], mac[4], mac[5]),
		"ff02::1:ff12:3456":                                           fmt.Sprintf("ff02::1:ff%02x:%x", mac[3], int(mac[4])<<8|int(mac[5])),
		"80:00:00:48:fe:80:00:00:00:00:00:00:94:6d:ae:03:00:12:34:56": fmt.Sprintf("80:00:00:48:fe:80:00:00:00:00:00:00:94:6d:ae:03:00:%02x:%02x:%02x", mac[3], mac[4], mac[5]),
		"0000:0000:0000:0000:0000:ffff:0a40:0001":                     expandedText(netip.AddrFrom16(netip.MustParseAddr("::ffff:" + r.ip(netip.MustParseAddr("10.64.0.1")).String()).As16()).As16()),
		"enx946dae123456":                                             fmt.Sprintf("enx%x", mac),
		"946d.ae12.3456":                                              "946d.ae12.3456", // not recognized as a MAC address
	} {
		if got := r.text(in, ""); got != want {
			t.Errorf("%s became %s, want %s", in, got, want)
		}
	}
	a, b := netip.MustParseAddr("2001:db8:1::1"), netip.MustParseAddr("2001:db8:2::1")
	if sharedBits(r.ip(a), r.ip(b)) != sharedBits(a, b) || r.ip(a) == a {
		t.Errorf("%s and %s became %s and %s", a, b, r.ip(a), r.ip(b))
	}
	seen := map[[3]byte]bool{}
	for i := range 1 << 14 { // each for one
		b := [3]byte{byte(i >> 8), byte(i), 7}
		r.scramble(b[:])
		if seen[b] {
			t.Fatalf("%x twice", b)
		}
		seen[b] = true
	}
}

// TestRedactText: what is between brackets on the left is replaced, and nothing else changes.
func TestRedactText(t *testing.T) {
	r := testRedactor()
	r.learnName("gpu-007.pod1.example.com")
	r.learnName("sonic") // a word of the field
	r.learnSerial("MT2244X01234")
	r.learnGUID("946dae0300123456")
	r.learnMAC("946dae123456")
	r.nets.add(netip.MustParsePrefix("218.0.0.0/16"))
	for _, tt := range []struct{ context, in string }{
		{"", "up [10.1.2.3]/24 via [10.1.2.254], brd [10.1.2.255]; 127.0.0.1 0.0.0.0/0 255.255.255.0 224.0.0.251\n"},
		{"", "firmware-version: 230.0.157.0/pkg 218.1.169.1\n"},
		{"", "firmware-version: 214.0.157.0, server [218.0.1.1]\n"},
		{"/sys/class/infiniband/bnxt_re0/fw_ver", "214.0.169.1\n"},
		{"/proc/cmdline", "ip=[10.1.2.3]::[10.1.2.254]:255.255.255.0:[gpu-007]:eth0 root=UUID=[0a1b2c3d-1111-2222-3333-444455556666] quiet\n"},
		{"", "MLNX_OFED_LINUX-24.10-1.1.4.0 (OFED-24.10-1.1.4)\n"},
		{"", "driver 535.104.5.1, then\nserver [192.168.7.1]\n"},
		{"", "Kernel 6.8.0-60-generic 1.2.3.4.5 10.1.2.3a 300.1.2.3 x10.1.2.3\n"},
		{"", "0000:18:00.0 pci0000:17 12:34:56 at 10:20 ::1 :: eth0: ok\n"},
		{"", "link/ether [94:6d:ae:12:34:56] brd ff:ff:ff:ff:ff:ff 00:00:00:00:00:00 01:00:5e:00:00:01\n"},
		{"", "addr [94-6D-AE-12-34-56], [946d.ae12.3456] and 0123.4567.89ab\n"},
		{"", "inet6 [fe80::966d:aeff:fe12:3456]/64 scope link; [2001:db8:1::]/48 dev eth0; fe80::1%eth0; see [2001:db8::5].\n"},
		{"", "CA 'mlx5_0' GUID: 0x[946dae0300123456] resource 0x00000000fe000000\n"},
		{"", "Device Serial Number [94-6d-ae-03-00-12-34-56]\n"},
		{"", "[SN] Serial number: [MT2244X01234]\n\t[PN] Part number: MCX75310AAS-NEAT\n"},
		{"", "Serial Number                         : [1652222012345]\nSerial Number : N/A\n"},
		{"", "    GPU PDI                                            : 0x[92ee26b10f98cf18]\n        ClusterUUID : 00000000-0000-0000-0000-000000000000\n"},
		{"", "        Process ID                                     : 4711\n            Type                                       : C\n            Name                                       : [/data/alice1/train]\n"},
		{"", "python3 /home/[alice1]/run.py: cwd=\"/Users/[bob.2]\", /home and /homes/x7\n"},
		{"", `{"serial_number": "[AB12CD]", "asset-tag":"[77]"}`},
		{"", "serial console, Serial: none\n"},
		{"", "GPU-[8f0d3a2c-1b2c-3d4e-5f60-718293a4b5c6], [MT2244X01234], mt2244\n"},
		{"", "/etc/machine-id [0123456789abcdef0123456789abcdef] commit 0123456789abcdef0123456789abcdef01234567\n"},
		{"", "systemd: Hostname set to <[gpu-007.pod1.example.com]>; [GPU-007] vg_[gpu-007]-root gpu-0071 xgpu-007 gpu_007 sonic [pod1.example.com]\n"},
		{"", "K\xfchlk\xf6rper [10.1.2.3]\n"},
		{"", "00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff dump\n"},
	} {
		want := regexp.MustCompile(`\[([^\] ]*[0-9][^\] ]*)\]|\[(pod1.example.com)\]`)
		plain := want.ReplaceAllString(tt.in, "$1$2")
		got := r.text(plain, tt.context)
		// Outside of the brackets all is as it was; inside nothing is.
		pattern := ""
		at := 0
		for _, m := range want.FindAllStringIndex(tt.in, -1) {
			pattern += regexp.QuoteMeta(tt.in[at:m[0]]) + "(.+?)"
			at = m[1]
		}
		pattern = `(?s)^` + pattern + regexp.QuoteMeta(tt.in[at:]) + `$`
		groups := regexp.MustCompile(strings.ToValidUTF8(pattern, ".")).FindStringSubmatch(got)
		if groups == nil {
			t.Errorf("%q\nbecame %q", plain, got)
			continue
		}
		for i, m := range want.FindAllStringSubmatch(tt.in, -1) {
			if was := m[1] + m[2]; groups[i+1] == was {
				t.Errorf("%q: %s is still there", plain, was)
			}
		}
	}
}

func TestRedactColumns(t *testing.T) {
	r := testRedactor()
	const command = "nvidia-smi --query-gpu=pci.bus_id,serial,name --format=csv,noheader"
	got := r.columns(command, "00000000:18:00.0, 1652222012345, NVIDIA H100\n00000000:2A:00.0, [N/A], NVIDIA H100\r\nNo devices\n")
	want := fmt.Sprintf("00000000:18:00.0, %s, NVIDIA H100\n00000000:2A:00.0, [N/A], NVIDIA H100\r\nNo devices\n", r.serial("1652222012345"))
	if got != want || strings.Contains(got, "1652222012345") {
		t.Errorf("%q, want %q", got, want)
	}
}

// attribute writes a struct rtattr.
func attribute(kind uint16, payload string) string {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(payload)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = append(b, payload...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return string(b)
}

func rtMessage(kind uint16, header string, attributes ...string) string {
	body := header + strings.Join(attributes, "")
	return string(message(kind, uint32(linux.SizeofNlMsghdr+len(body)), body))
}

const (
	secretMAC  = "\x94\x6d\xae\x12\x34\x56"
	secretIP   = "\x0a\x40\x01\x02"
	secretIPv6 = "\x20\x01\x0d\xb8\x00\x01\x00\x00\x96\x6d\xae\xff\xfe\x12\x34\x56"
)

func linkDump() string {
	header := string(make([]byte, linux.SizeofIfInfomsg))
	return rtMessage(linux.RTM_NEWLINK, header,
		attribute(linux.IFLA_IFNAME, "enx946dae123456\x00"), attribute(linux.IFLA_MTU, "\x28\x23\x00\x00"),
		attribute(linux.IFLA_ADDRESS, secretMAC), attribute(linux.IFLA_BROADCAST, "\xff\xff\xff\xff\xff\xff"), attribute(iflaPermanent, secretMAC),
		attribute(linux.IFLA_IFALIAS, "to leaf-1, rack 7\x00"), attribute(linux.IFLA_VFINFO_LIST, attribute(1, attribute(1, "\x00\x00\x00\x00"+secretMAC))),
		attribute(iflaPropList, attribute(iflaAltName, "enx946dae123456\x00")), attribute(linux.IFLA_PHYS_SWITCH_ID, secretMAC),
		attribute(linux.IFLA_LINKINFO, attribute(linux.IFLA_INFO_KIND, "vxlan\x00")+attribute(linux.IFLA_INFO_DATA, attribute(2, secretIP))),
		attribute(linux.IFLA_AF_SPEC, attribute(linux.AF_INET6, attribute(7, secretIPv6))),
		attribute(999, secretMAC),
	) + rtMessage(linux.NLMSG_DONE, "\x00\x00\x00\x00")
}

func TestRedactLinks(t *testing.T) {
	r := testRedactor()
	raw := []byte(linkDump())
	r.learnDump(raw)
	got, err := r.dump(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(raw) {
		t.Errorf("%d bytes, were %d", len(got), len(raw))
	}
	for _, secret := range []string{secretMAC, secretIP, secretIPv6, "946dae123456", "leaf-1"} {
		if bytes.Contains(got, []byte(secret)) {
			t.Errorf("%q is still there", secret)
		}
	}
	mac := [6]byte([]byte(secretMAC))
	r.mac(&mac)
	messages, err := Messages(got)
	if err != nil {
		t.Fatal(err)
	}
	var m rtnetlink.LinkMessage
	if err := m.UnmarshalBinary(messages[0].Data); err != nil {
		t.Fatal(err)
	}
	a := m.Attributes
	if a.Name != fmt.Sprintf("enx%x", mac) || a.MTU != 9000 || a.Address.String() != net.HardwareAddr(mac[:]).String() || a.Info.Kind != "vxlan" || a.Broadcast.String() != "ff:ff:ff:ff:ff:ff" {
		t.Errorf("%+v", a)
	}
}

func TestRedactRoutes(t *testing.T) {
	r := testRedactor()
	hop := string(binary.NativeEndian.AppendUint16(nil, 8+8)) + "\x00\x00\x02\x00\x00\x00" + attribute(linux.RTA_GATEWAY, secretIP)
	raw := []byte(rtMessage(linux.RTM_NEWROUTE, "\x02\x10\x00\x00\xfe\x04\x00\x01\x00\x00\x00\x00",
		attribute(linux.RTA_DST, "\x0a\x40\x00\x00"), attribute(linux.RTA_PREFSRC, secretIP), attribute(linux.RTA_MULTIPATH, hop),
		attribute(linux.RTA_VIA, "\x0a\x00"+secretIPv6), attribute(linux.RTA_ENCAP, secretIP), attribute(linux.RTA_TABLE, "\x64\x00\x00\x00")) +
		rtMessage(linux.RTM_NEWADDR, "\x02\x18\x00\x00\x02\x00\x00\x00", attribute(linux.IFA_LOCAL, secretIP)) +
		rtMessage(linux.RTM_NEWRULE, "\x02\x00\x20\x00\x00\x00\x00\x01\x00\x00\x00\x00", attribute(linux.FRA_SRC, secretIP)) +
		rtMessage(linux.RTM_NEWNEIGH, string(make([]byte, linux.SizeofNdMsg)), attribute(linux.NDA_DST, secretIP), attribute(linux.NDA_LLADDR, secretMAC)))
	got, err := r.dump(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != len(raw) || bytes.Contains(got, []byte(secretIP)) || bytes.Contains(got, []byte(secretIPv6)) || bytes.Contains(got, []byte(secretMAC)) {
		t.Errorf("%d bytes of %d: %x", len(got), len(raw), got)
	}
	ip := r.ip(netip.MustParseAddr("10.64.1.2")).As4()
	if n := bytes.Count(got, ip[:]); n != 5 {
		t.Errorf("the replacement stands at %d places, want 5", n)
	}
	// The destination keeps the zeros behind its 16 bits.
	if !bytes.Contains(got, []byte{ip[0], ip[1], 0, 0}) {
		t.Errorf("no destination %d.%d.0.0/16 in %x", ip[0], ip[1], got)
	}
	for name, bad := range map[string]string{
		"kind":      rtMessage(linux.RTM_NEWQDISC, secretIP),
		"short":     rtMessage(linux.RTM_NEWROUTE, "\x02"),
		"attribute": rtMessage(linux.RTM_NEWADDR, "\x02\x18\x00\x00\x02\x00\x00\x00", "\xff\x00\x01\x00"),
		"cut":       string(raw[:30]),
		"hop":       rtMessage(linux.RTM_NEWROUTE, string(make([]byte, 12)), attribute(linux.RTA_MULTIPATH, "\xff\x00\x00\x00\x00\x00\x00\x00")),
	} {
		if _, err := r.dump([]byte(bad)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestRedactConfig(t *testing.T) {
	config := make([]byte, 4096)
	for i := range config {
		config[i] = 0xaa
	}
	binary.LittleEndian.PutUint32(config[0x100:], 0x14010001)  // AER, next at 0x140
	binary.LittleEndian.PutUint32(config[0x140:], 0x100<<20|3) // serial number, next leads back
	want := bytes.Clone(config)
	clear(want[0x144:0x14c])
	if got := withoutSerial(config); !bytes.Equal(got, want) {
		t.Error("another part than the serial number changed, or it did not")
	}
	binary.LittleEndian.PutUint32(config[0x100:], 0xffc00003) // at the very end, behind a serial number
	binary.LittleEndian.PutUint32(config[0xffc:], 0x00000003)
	withoutSerial(config)
	withoutSerial(config[:64])
	withoutSerial(nil)
}

func TestRedactVPD(t *testing.T) {
	r := testRedactor()
	fields := "PN\x10MCX75310AAS-NEAT" + "SN\x0cMT2244X01234" + "V3\x08deadbeef" + "RV\x02\x00\x00"
	vpd := "\x82\x04\x00CX-7" + "\x90" + string([]byte{byte(len(fields)), 0}) + fields + "\x78"
	got, err := r.vpd([]byte(vpd))
	if err != nil {
		t.Fatal(err)
	}
	text := string(got)
	if len(text) != len(vpd) || strings.Contains(text, "MT2244X01234") || strings.Contains(text, "deadbeef") || !strings.Contains(text, "MCX75310AAS-NEAT") || !strings.Contains(text, r.serial("MT2244X01234")) {
		t.Errorf("%q", text)
	}
	var sum byte
	for _, c := range got[:len(got)-2] { // the second byte of RV is not part of it
		sum += c
	}
	if sum != 0 {
		t.Errorf("checksum %d", sum)
	}
	for _, bad := range []string{"\x90\x05", "\x90\x05\x00SN", "\x90\x04\x00SN\x09x", "\x77\x00\x00"} {
		if _, err := r.vpd([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func lldpRecord(tlvs ...string) string {
	frame := "\x01\x80\xc2\x00\x00\x0e" + secretMAC + "\x88\xcc" + strings.Join(tlvs, "") + "\x00\x00"
	return string(binary.LittleEndian.AppendUint64(nil, uint64(len(frame)))) + frame
}

func tlvOf(kind int, value string) string {
	return string(binary.BigEndian.AppendUint16(nil, uint16(kind<<9|len(value)))) + value
}

func TestRedactLLDP(t *testing.T) {
	r := testRedactor()
	record := lldpRecord(tlvOf(1, "\x04"+secretMAC), tlvOf(2, "\x05Ethernet8"), tlvOf(3, "\x00\x78"), tlvOf(4, "to gpu-007"), tlvOf(5, "leaf-1"),
		tlvOf(6, "SONiC 202311 on leaf-1"), tlvOf(8, "\x05\x01"+secretIP+"\x02\x00\x00\x00\x01\x00"), tlvOf(127, "\x00\x12\x0fsecret"))
	r.learnName("gpu-007")
	r.learnLLDP([]byte(record))
	got, err := r.lldpFile([]byte(record + record))
	if err != nil {
		t.Fatal(err)
	}
	mac := [6]byte([]byte(secretMAC))
	r.mac(&mac)
	ip := r.ip(netip.MustParseAddr("10.64.1.2")).As4()
	leaf := r.name("leaf-1")
	want := strings.Replace(lldpRecord(tlvOf(1, "\x04"+string(mac[:])), tlvOf(2, "\x05Ethernet8"), tlvOf(3, "\x00\x78"), tlvOf(4, "to "+r.name("gpu-007")), tlvOf(5, leaf),
		tlvOf(6, "SONiC 202311 on "+leaf), tlvOf(8, "\x05\x01"+string(ip[:])+"\x02\x00\x00\x00\x01\x00")), secretMAC, string(mac[:]), 1)
	if diff := cmp.Diff(want+want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for n := range len(record) - 1 {
		if _, err := r.lldpFile([]byte(record[:n+1])); err == nil {
			t.Fatalf("cut after %d bytes, and no error", n+1)
		}
	}
}

// secretHost speaks of itself wherever it can.
func secretHost() toldHost {
	return toldHost{
		asked: new(int),
		files: map[string]string{
			"/etc/hostname":                                           "host1\n",
			"/proc/sys/kernel/hostname":                               "host1.pod1.example.com\n",
			"/proc/cmdline":                                           "root=UUID=0a1b2c3d-1111-2222-3333-444455556666 ip=10.64.1.2::10.64.1.254:255.255.255.0:host1:eth1 quiet\n",
			"/proc/modules":                                           "nvidia 1 0 - Live 0x0\nmlx5_core 1 0 - Live 0x0\n",
			"/sys/class/dmi/id/product_serial":                        "7XK2ZQ3\n",
			"/sys/class/dmi/id/board_serial":                          "Not Specified\n",
			"/sys/class/dmi/id/chassis_asset_tag":                     "Rack 7 slot 3\n",
			"/sys/class/dmi/id/sys_vendor":                            "Dell Inc.\n",
			"/sys/class/infiniband/mlx5_0/node_desc":                  "host1 mlx5_0\n",
			"/sys/class/infiniband/mlx5_0/node_guid":                  "946d:ae03:0012:3456\n",
			"/sys/class/infiniband/mlx5_0/board_id":                   "MT_0000000838\n",
			"/sys/class/infiniband/mlx5_0/ports/1/gids/0":             "fe80:0000:0000:0000:946d:ae03:0012:3456\n",
			"/sys/class/infiniband/mlx5_0/ports/1/gids/3":             "0000:0000:0000:0000:0000:ffff:0a40:0102\n",
			"/sys/class/net/enx946dae123456/address":                  "94:6d:ae:12:34:56\n",
			"/sys/class/net/eth1/phys_switch_id":                      "946dae123456\n",
			"/proc/sys/net/ipv4/conf/enx946dae123456/arp_ignore":      "0\n",
			lldpFolder + "3":                                          lldpRecord(tlvOf(1, "\x04"+secretMAC), tlvOf(2, "\x05Ethernet8"), tlvOf(3, "\x00\x78"), tlvOf(5, "leaf-1")),
			"/sys/bus/pci/devices/0000:18:00.0/config":                "\xb3\x15\x21\x10" + strings.Repeat("\x00", 252) + "\x03\x00\x01\x00\x56\x34\x12\x00\x03\xae\x6d\x94",
			"/sys/firmware/acpi/tables/FACP":                          "FACP\x01\x02host1",
			"/sys/devices/virtual/net/x/uevent":                       "INTERFACE=x\n",
			"/sys/bus/pci/devices/0000:2a:00.0/unique_id":             "18e4a7b3c9d05f12\n",
			"/proc/device-tree/serial-number":                         "1423922012345\x00",
			"/sys/class/infiniband/mlx5_0/device/infiniband/10.1.2.3": "odd\n",
		},
		dirs:  map[string][]string{"/sys/class/net": {"enx946dae123456", "eth1"}, "/sys/class/infiniband": {"mlx5_0"}},
		links: map[string]string{"/sys/class/net/enx946dae123456": "../../devices/pci0000:17/0000:18:00.0/net/enx946dae123456"},
		dumps: map[uint16]string{linux.RTM_GETLINK: linkDump()},
		runs: map[string]string{
			"lldpcli|-f|json0|show|neighbors": `{"lldp":[{"interface":[{"name":"eth1","via":"LLDP","chassis":[{"id":[{"type":"mac","value":"94:6d:ae:12:34:56"}],"name":[{"value":"spine-x2"}],"mgmt-ip":[{"value":"10.64.1.2"}]}],"port":[{"id":[{"value":"Ethernet8"}],"descr":[{"value":"to host1"}]}]}]}]}` + "\n",
			"ibstat":                          "CA 'mlx5_0'\n\tNode GUID: 0x946dae0300123456\n\tFirmware version: 28.39.1002\n",
			"ibnetdiscover":                   "Ca\t1 \"H-946dae0300123456\"\t\t# \"worker77 mlx5_0\"\n[1](946dae0300123456) \"S-946dae0300abcdef\"[1]\t\t# \"MF0;ibleaf-3:MQM9700/U1\" lid 3\n",
			"nvidia-smi|-L":                   "GPU 0: NVIDIA H100 (UUID: GPU-8f0d3a2c-1b2c-3d4e-5f60-718293a4b5c6)\n",
			"rocm-smi|--showuniqueid":         "GPU[0]\t\t: Unique ID: 0x18e4a7b3c9d05f12\n",
			"dmesg":                           "[1.0] systemd[1]: Hostname set to <host1>.\n[2.0] nfs: server worker77 not responding\n[3.0] SerialNumber: 0123ABC77\n",
			"ping|-c1|10.64.1.2":              "1 packets received\n",
			"hexdump":                         "\x01\x02host1",
		},
		fail: map[string]error{
			"ssh host1":        &ExitError{Command: "ssh host1 x", Status: 255, Stderr: "host1: connection refused by 10.64.1.2"},
			"/run/leaf-1.conf": fmt.Errorf("open /run/leaf-1.conf for 10.64.1.2: %w", os.ErrPermission),
		},
	}
}

func secrets() []string {
	return []string{
		"host1", "pod1", "example.com", "7XK2ZQ3", "Rack 7 slot 3", "946d:ae03:0012:3456", "0012:3456", "12:34:56", "123456", "0a40:0102", "10.64.1", "10.1.2.3",
		"leaf-1", "spine-x2", "worker77", "ibleaf-3", "8f0d3a2c", "0a1b2c3d", "0123ABC77", "1423922012345", "18e4a7b3c9d05f12", "abcdef",
	}
}

func recordedSecrets(t testing.TB) []byte {
	t.Helper()
	h := secretHost()
	r := NewRecorder(h, "v0.3.0", recordedTime())
	for name := range h.files {
		_, _ = r.ReadFile(name)
	}
	for name := range h.dirs {
		_, _ = r.ReadDir(name)
	}
	for name := range h.links {
		_, _ = r.ReadLink(name)
	}
	_, _ = r.ReadFile("/run/leaf-1.conf")
	for command := range h.runs {
		_, _ = r.Output(t.Context(), Command{Argv: strings.Split(command, "|")})
	}
	_, _ = r.Output(t.Context(), Command{Argv: []string{"ssh host1"}})
	_, _ = r.Dump(t.Context(), linux.RTM_GETLINK, 0)
	return r.Archive()
}

// inFull is a recording with what its hexadecimal parts hold.
func inFull(t *testing.T, archive []byte) string {
	t.Helper()
	loaded, err := readRecording(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	var full strings.Builder
	full.Write(archive)
	for q, a := range loaded.answers {
		fmt.Fprintf(&full, "\n%s %s\n%s", q.op, q.key, a.data)
	}
	return strings.ToLower(full.String())
}

// TestRedactWhole greps a redacted recording for everything that it must not say.
func TestRedactWhole(t *testing.T) {
	before := recordedSecrets(t)
	after, err := Redact(before, []byte("a salt for tests"))
	if err != nil {
		t.Fatal(err)
	}
	was, is := inFull(t, before), inFull(t, after)
	for _, secret := range append(secrets(), secretMAC, secretIP, secretIPv6, "\x56\x34\x12\x00\x03") {
		secret = strings.ToLower(secret)
		if strings.Contains(is, secret) {
			t.Errorf("%q is still there", secret)
		}
		if !strings.Contains(was, secret) {
			t.Errorf("%q was never there: the test proves nothing", secret)
		}
	}
	for _, kept := range []string{"Dell Inc.", "MT_0000000838", "28.39.1002", "Ethernet8", "mlx5_0", "eth1", "NVIDIA H100", "0000:18:00.0", "Not Specified", "quiet", "nvidia", "via"} {
		if !bytes.Contains(after, []byte(kept)) {
			t.Errorf("%q is gone", kept)
		}
	}
	if n := bytes.Count(after, []byte("left out by redaction")); n != 2 {
		t.Errorf("%d entries left out, want the two of unknown binary formats", n)
	}
	again, err := Redact(before, []byte("a salt for tests"))
	if err != nil || !bytes.Equal(after, again) {
		t.Error("the same salt, another result")
	}
	golden(t, "testdata/recording/redacted.txtar", after)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *updateRecordings {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// FuzzRedact: what loads can be redacted, and the result loads.
func FuzzRedact(f *testing.F) {
	f.Add(recordedSecrets(f))
	f.Add(exampleRecording(f))
	f.Add(sealed("-- read hex " + lldpFolder + "1 --\n01\n-- read hex /sys/x/vpd --\n9001\n-- read hex /sys/x/config --\n00\n-- dump hex 18 0 --\n00\n"))
	f.Add(sealed("-- read text /sys/class/net/a/address --\n::1:::2/300 1.2.3.4/99 fe80::%x\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, err := LoadRecording(bytes.NewReader(b)); err != nil {
			b = []byte(reseal(string(b)))
			if _, err := LoadRecording(bytes.NewReader(b)); err != nil {
				return
			}
		}
		out, err := Redact(b, []byte("salt"))
		if err != nil {
			return
		}
		if _, err := LoadRecording(bytes.NewReader(out)); err != nil {
			t.Errorf("redacted, it does not load: %v", err)
		}
	})
}
