package sonic

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// leaf has four ports in use, routed or not.
func leaf(routed bool) fabric.Switch {
	s := fabric.Switch{Name: "leaf1", Role: fabric.Leaf, Model: "z9664f", OS: "sonic", MTU: 9000}
	at := netip.MustParseAddr("10.64.0.0")
	for i := range 4 {
		p := fabric.SwitchPort{
			Name: fmt.Sprintf("Ethernet%d", 4*i), RateGbps: 400,
			Peer: fabric.Endpoint{Node: fmt.Sprintf("gpu%d", i/2+1), NIC: fmt.Sprintf("eth%d", i%2+1)},
		}
		if routed {
			p.Address = netip.PrefixFrom(at, 31)
			at = at.Next().Next()
		}
		s.Ports = append(s.Ports, p)
	}
	return s
}

func classes(ecn, watchdog bool) *fabric.Traffic {
	t := &fabric.Traffic{CableM: 5, Share: 50, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 48, Priority: 7}, {Name: "roce", DSCP: 26, Priority: 3, Lossless: true},
	}}
	if ecn {
		t.Classes[1].ECN = &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}
	}
	if watchdog {
		t.Watchdog = &fabric.PFCWatchdog{DetectMs: 200, RestoreMs: 400}
	}
	return t
}

// lossy has no PFC, so that the watchdog has nothing to watch, with other numbers in every field.
func lossy() *fabric.Traffic {
	return &fabric.Traffic{CableM: 40, Share: 80, Watchdog: &fabric.PFCWatchdog{DetectMs: 300, RestoreMs: 600}, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 46, Priority: 6},
		{Name: "roce", DSCP: 24, Priority: 4, ECN: &fabric.ECN{MinBytes: 3 << 20, MaxBytes: 6 << 20, Percent: 20}},
	}}
}

var cases = []struct {
	name    string
	routed  bool
	traffic *fabric.Traffic
}{
	{"routed with all", true, classes(true, true)},
	{"routed with classes alone", true, classes(false, false)},
	{"routed and lossy", true, lossy()},
	{"bridged", false, classes(false, false)},
	{"no classes", true, nil},
}

// rails is a leaf with a VLAN for each of two rails, split cages and two uplinks.
func rails() fabric.Switch {
	s := leaf(false)
	s.VLANs = []fabric.VLAN{
		{ID: 101, Name: "rail1", Gateway: netip.MustParsePrefix("10.65.1.1/24"), Rail: 1},
		{ID: 102, Name: "rail2", Gateway: netip.MustParsePrefix("10.65.2.1/24"), Rail: 2},
	}
	for i := range s.Ports {
		p := &s.Ports[i]
		p.Name, p.VLAN = fmt.Sprintf("Ethernet%d", i/2*4+i%2*2), 101+i%2
		p.Cage, p.Breakout, p.RateGbps = strconv.Itoa(i/2), 2, 200
	}
	return withUplinks(s)
}

// withUplinks adds a cable to each of two spines, and BGP.
func withUplinks(s fabric.Switch) fabric.Switch {
	s.BGP = &fabric.BGP{ASN: 4200000001, RouterID: netip.MustParseAddr("10.127.255.255")}
	for _, v := range s.VLANs {
		s.BGP.Networks = append(s.BGP.Networks, v.Gateway.Masked())
	}
	for _, p := range s.Ports {
		if p.Address.IsValid() {
			s.BGP.Networks = append(s.BGP.Networks, p.Address.Masked())
		}
	}
	for i := range 2 {
		address := netip.MustParsePrefix(fmt.Sprintf("10.127.255.%d/31", 255-2*i))
		s.Ports = append(s.Ports, fabric.SwitchPort{
			Name: fmt.Sprintf("Ethernet%d", 248+4*i), RateGbps: 400, Uplink: true, Address: address,
			Peer: fabric.Endpoint{Node: fmt.Sprintf("spine%d", i+1), NIC: "Ethernet0"},
		})
		s.BGP.Neighbours = append(s.BGP.Neighbours, fabric.BGPNeighbour{Address: address.Addr().Prev(), ASN: 4200000000})
	}
	return s
}

// spine has a cable to each of two leaves.
func spine() fabric.Switch {
	s := fabric.Switch{Name: "spine1", Role: fabric.Spine, OS: "sonic", MTU: 9100, BGP: &fabric.BGP{ASN: 4200000000, RouterID: netip.MustParseAddr("10.127.255.254")}}
	for i := range 2 {
		address := netip.MustParsePrefix(fmt.Sprintf("10.127.255.%d/31", 254-4*i))
		s.Ports = append(s.Ports, fabric.SwitchPort{
			Name: fmt.Sprintf("Ethernet%d", 4*i), RateGbps: 400, Uplink: true, Address: address,
			Peer: fabric.Endpoint{Node: fmt.Sprintf("leaf%d", i+1), NIC: "Ethernet248"},
		})
		s.BGP.Neighbours = append(s.BGP.Neighbours, fabric.BGPNeighbour{Address: address.Addr().Next(), ASN: 4200000001 + uint32(i)})
	}
	return s
}

// switches are those of cases and what only SONiC's tests have.
func switches() map[string]sonicSwitch {
	all := map[string]sonicSwitch{
		"rails with spines":  {rails(), classes(true, true)},
		"spine":              {spine(), classes(true, true)},
		"routed with spines": {withUplinks(leaf(true)), classes(true, false)},
	}
	for _, c := range cases {
		all[c.name] = sonicSwitch{leaf(c.routed), c.traffic}
	}
	return all
}

type sonicSwitch struct {
	of      fabric.Switch
	traffic *fabric.Traffic
}

func TestSONiCGolden(t *testing.T) {
	for name, c := range switches() {
		t.Run(name, func(t *testing.T) {
			got := OS{}.Render(c.of, c.traffic)
			if again := (OS{}).Render(c.of, c.traffic); !bytes.Equal(got.Text, again.Text) {
				t.Error("two renders differ")
			}
			for ending, text := range map[string][]byte{".json": got.Text, ".omits": []byte(strings.Join(got.Omits, "\n") + "\n")} {
				file := filepath.Join("testdata", ""+strings.ReplaceAll(name, " ", "-")+ending)
				if *update {
					if err := os.WriteFile(file, text, 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := gocmp.Diff(string(want), string(text)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", file, diff)
				}
			}
		})
	}
}

// tablesOf parses rendered text as SONiC does: table, row, field.
func tablesOf(t *testing.T, s fabric.Switch, traffic *fabric.Traffic) map[string]configTable {
	t.Helper()
	var all map[string]configTable
	if err := json.Unmarshal(OS{}.Render(s, traffic).Text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

type configTable map[string]map[string]string

// Other packets get the lowest priority that no class has, so that none of them is lossless by accident.
func TestOtherPacketsAreLossy(t *testing.T) {
	traffic := classes(false, false)
	traffic.Classes[1].Priority = 0
	tables := tablesOf(t, leaf(true), traffic)
	if got := tables["DSCP_TO_TC_MAP"][switchtext.QoSName]; got["26"] != "0" || got["0"] != "1" || got["48"] != "7" {
		t.Errorf("%v", got)
	}
	if got := tables["TC_TO_PRIORITY_GROUP_MAP"][switchtext.QoSName]; got["0"] != "0" || got["1"] != "1" || got["7"] != "1" {
		t.Errorf("%v", got)
	}
}

// The text is what the standard library writes for the same values, whatever the names contain.
func TestSONiCTextIsJSON(t *testing.T) {
	names := []string{"plain", "", `a"b\c`, "tab\t", "é\xff", "<&>", "\x7f"}
	var tables []table
	want := make(map[string]configTable)
	for _, name := range names {
		tables = append(tables, table{name, []row{{name, []field{{name, name}}}, {key: "none " + name}}})
		valid := strings.ToValidUTF8(name, "\ufffd")
		want[valid] = configTable{valid: {valid: valid}, "none " + valid: {}}
	}
	var got map[string]configTable
	if err := json.Unmarshal(sonicText(tables), &got); err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if text := string(sonicText(nil)); text != "{}\n" {
		t.Errorf("no table is %q", text)
	}
}

// An MTU that CONFIG_DB refuses is left out and listed.
func TestSONiCMTU(t *testing.T) {
	for _, c := range []struct {
		name string
		mtu  int
		want bool
	}{{"largest", 9216, true}, {"too large", 9217, false}} {
		t.Run(c.name, func(t *testing.T) {
			s := leaf(true)
			s.MTU = c.mtu
			got := OS{}.Render(s, nil)
			if written := bytes.Contains(got.Text, []byte(`"mtu"`)); written != c.want || strings.Contains(strings.Join(got.Omits, "\n"), "PORT mtu") == c.want {
				t.Errorf("mtu written %t, omits %q", written, got.Omits)
			}
		})
	}
}
