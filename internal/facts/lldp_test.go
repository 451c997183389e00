package facts

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// tlv writes an LLDP TLV.
func tlv(kind int, value string) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(kind<<tlvLengthBits|len(value))), value...)
}

func lldpFrame(tlvs ...[]byte) []byte {
	header := []byte{0x01, 0x80, 0xc2, 0, 0, 0x0e, 2, 0, 0, 0, 2, 1, 0x88, 0xcc}
	return append(header, bytes.Join(tlvs, nil)...)
}

// mandatory are the three TLVs that every frame starts with, with a port id.
func mandatory(port string) []byte {
	return slices.Concat(tlv(tlvChassisID, "\x04\x02\x00\x00\x00\x02\x01"), tlv(tlvPortID, port), tlv(tlvTimeToLive, "\x00\x78"))
}

func TestParseLLDPFrame(t *testing.T) {
	end := tlv(tlvEnd, "")
	tests := map[string]struct {
		frame []byte
		want  fabric.LLDPNeighbour
		err   string
	}{
		"interface name":     {frame: lldpFrame(mandatory("\x05Ethernet8"), tlv(tlvSystemName, "leaf1"), tlv(tlvPortDescription, "to host1"), tlv(127, "\x00\x12\x0f\x01"), end), want: fabric.LLDPNeighbour{System: "leaf1", Port: "Ethernet8", PortText: "to host1"}},
		"MAC":                {frame: lldpFrame(mandatory("\x03\x02\x00\x00\x00\x02\x02"), end), want: fabric.LLDPNeighbour{Port: "02:00:00:00:02:02"}},
		"local":              {frame: lldpFrame(mandatory("\x07etp1\x00"), end), want: fabric.LLDPNeighbour{Port: "etp1"}},
		"network address":    {frame: lldpFrame(mandatory("\x04\x01\x0a\x40\x00\x02"), end), want: fabric.LLDPNeighbour{Port: "10.64.0.2"}},
		"unknown kind":       {frame: lldpFrame(mandatory("\x02\x01\x02"), end), want: fabric.LLDPNeighbour{Port: "0102"}},
		"terminal escapes":   {frame: lldpFrame(mandatory("\x05\x1b[2J"), tlv(tlvSystemName, "a\xff\n"), end), want: fabric.LLDPNeighbour{System: "a\\xff\\n", Port: "\\x1b[2J"}},
		"what follows end":   {frame: append(lldpFrame(mandatory("\x05p1"), end), 0xff), want: fabric.LLDPNeighbour{Port: "p1"}},
		"another protocol":   {frame: append(make([]byte, 12), 8, 0, 0, 0), err: "not an LLDP frame"},
		"no end":             {frame: lldpFrame(mandatory("\x05p1")), err: "LLDP: no end"},
		"cut in a value":     {frame: lldpFrame(mandatory("\x05p1"), tlv(tlvSystemName, "leaf1")[:4]), err: "LLDP: value of 5 bytes in 2"},
		"cut in a header":    {frame: lldpFrame(mandatory("\x05p1"), []byte{0}), err: "LLDP: cut short"},
		"wrong order":        {frame: lldpFrame(tlv(tlvPortID, "\x05p1"), end), err: "LLDP: type 2 at place 1"},
		"port id again":      {frame: lldpFrame(mandatory("\x05p1"), tlv(tlvPortID, "\x05p2"), end), err: "LLDP: type 2 at place 4"},
		"end at once":        {frame: lldpFrame(end), err: "LLDP: type 0 at place 1"},
		"empty port id":      {frame: lldpFrame(mandatory("\x05"), end), err: "LLDP: empty port id"},
		"empty chassis id":   {frame: lldpFrame(tlv(tlvChassisID, "\x04"), end), err: "LLDP: empty chassis id"},
		"time to live short": {frame: lldpFrame(mandatory("\x05p1")[:len(mandatory("\x05p1"))-4], tlv(tlvTimeToLive, "x"), end), err: "LLDP: time to live cut short"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseLLDPFrame(tt.frame)
			switch {
			case tt.err != "":
				if err == nil || err.Error() != tt.err {
					t.Errorf("error %v, want %s", err, tt.err)
				}
			case err != nil:
				t.Error(err)
			default:
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("neighbour (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// fromNetworkd is what the switch of testdata/lldp/capture.sh says of its second port.
func fromNetworkd() fabric.LLDPNeighbour {
	return fabric.LLDPNeighbour{NIC: "eth2", System: "leaf-1", Port: "Ethernet1/2", PortText: "p1_2", Source: "networkd"}
}

func lldpHost(t testing.TB) fakeHost {
	return fakeHost{files: map[string]string{
		networkdLLDP + "/3":        string(readHexFile(t, "lldp/networkd.hex")),
		networkdLLDP + "/.#3b1946": "not finished",
	}}
}

func factsWithNICs() *fabric.Facts {
	return &fabric.Facts{NICs: []fabric.NIC{{Name: "eth1", Index: 2}, {Name: "eth2", Index: 3}}}
}

func TestReadLLDPFromNetworkd(t *testing.T) {
	f := factsWithNICs()
	readLLDP(context.Background(), lldpHost(t), f)
	if diff := cmp.Diff([]fabric.LLDPNeighbour{fromNetworkd()}, f.LLDP); diff != "" || len(f.Missing) > 0 {
		t.Errorf("missing %v, neighbours (-want +got):\n%s", f.Missing, diff)
	}
}

func TestReadLLDPReasons(t *testing.T) {
	record := readHexFile(t, "lldp/networkd.hex")
	for name, tt := range map[string]struct {
		host fakeHost
		keep int
		want []string
	}{
		"nothing there":     {fakeHost{}, 0, []string{"lldp: neither networkd nor lldpd has saved anything"}},
		"networkd is empty": {fakeHost{files: map[string]string{networkdLLDP + "/": ""}}, 0, []string{"lldp: networkd saved no neighbours, and lldpd is not running"}},
		"lldpd in a tree":   {fakeHost{files: map[string]string{lldpdSocket: ""}}, 0, []string{"lldp: " + host.ErrNotSupported.Error()}},
		"not allowed":       {fakeHost{fail: map[string]error{networkdLLDP: os.ErrPermission}}, 0, []string{"lldp: permission denied"}},
		"unknown index":     {fakeHost{files: map[string]string{networkdLLDP + "/9": string(record)}}, 0, []string{"lldp: the interface index has no name", "lldp: networkd saved no neighbours, and lldpd is not running"}},
		"second record cut": {fakeHost{files: map[string]string{networkdLLDP + "/2": string(record) + string(record[:20])}}, 1, []string{"lldp eth1: record of 123 bytes in 12"}},
		"length cut":        {fakeHost{files: map[string]string{networkdLLDP + "/2": string(record) + "abc"}}, 1, []string{"lldp eth1: record cut short: 3 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := factsWithNICs()
			readLLDP(context.Background(), tt.host, f)
			if diff := cmp.Diff(tt.want, missingText(f)); diff != "" || len(f.LLDP) != tt.keep {
				t.Errorf("%d neighbours, missing (-want +got):\n%s", len(f.LLDP), diff)
			}
		})
	}
}

// lldpdHost answers every command with what lldpcli printed when it was captured.
type lldpdHost struct {
	fakeHost
	argv *[]string
}

func (h lldpdHost) Output(_ context.Context, c host.Command) ([]byte, error) {
	*h.argv = c.Argv
	return os.ReadFile("testdata/lldp/lldpcli.json")
}

func TestReadLLDPTrustsNetworkdFirst(t *testing.T) {
	h := lldpHost(t)
	h.files[lldpdSocket] = ""
	var argv []string
	f := factsWithNICs()
	readLLDP(context.Background(), lldpdHost{h, &argv}, f)
	want := []fabric.LLDPNeighbour{
		fromNetworkd(),
		{NIC: "eth1", System: "leaf-1", Port: "02:00:00:00:02:01", PortText: "p1_1", Source: "lldpd"},
	}
	if diff := cmp.Diff(want, f.LLDP); diff != "" || len(f.Missing) > 0 {
		t.Errorf("missing %v, neighbours (-want +got):\n%s", f.Missing, diff)
	}
	if diff := cmp.Diff([]string{"lldpcli", "-f", "json0", "show", "neighbors"}, argv); diff != "" {
		t.Errorf("command (-want +got):\n%s", diff)
	}
}

func TestParseLLDPCLI(t *testing.T) {
	for name, tt := range map[string]struct {
		in   string
		want []fabric.LLDPNeighbour
		bad  bool
	}{
		"no neighbours":    {in: `{"lldp":[{}]}`},
		"another protocol": {in: `{"lldp":[{"interface":[{"name":"eth1","via":"CDPv2","port":[{"id":[{"value":"Gi1"}]}]}]}]}`},
		"no names":         {in: `{"lldp":[{"interface":[{"name":"eth1","via":"LLDP","chassis":[{}],"port":[{}]}]}]}`, want: []fabric.LLDPNeighbour{{NIC: "eth1", Source: "lldpd"}}},
		"not json0":        {in: `{"lldp":{"interface":{"eth1":{"via":"LLDP"}}}}`, bad: true},
		"cut short":        {in: `{"lldp":[{"interface":[{"na`, bad: true},
		"something else":   {in: `{}`, bad: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseLLDPCLI([]byte(tt.in))
			if (err != nil) != tt.bad {
				t.Fatalf("error %v, want one: %v", err, tt.bad)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("neighbours (-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzParseNetworkd(f *testing.F) {
	record := readHexFile(f, "lldp/networkd.hex")
	f.Add(record)
	f.Add(append(slices.Clone(record), record[:30]...))
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		found, _ := parseNetworkd(b)
		for _, n := range found {
			if fabric.Printable(n.System) != n.System || fabric.Printable(n.Port) != n.Port || fabric.Printable(n.PortText) != n.PortText {
				t.Errorf("not printable: %+q", n)
			}
		}
	})
}

func FuzzParseLLDPCLI(f *testing.F) {
	real, err := os.ReadFile("testdata/lldp/lldpcli.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(real)
	f.Add([]byte(`{"lldp":[{"interface":[{"name":"eth1","via":"LLDP","chassis":[{"name":[]}],"port":[{"id":[]}]}]}]}`))
	f.Add([]byte(`{"lldp":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		found, err := parseLLDPCLI(b)
		if err != nil && found != nil {
			t.Error("neighbours from an answer that could not be read")
		}
		for _, n := range found {
			if n.NIC == "" {
				t.Errorf("a neighbour of no interface: %+v", n)
			}
		}
	})
}
