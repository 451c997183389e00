package topology

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// pcieHost is a root port with a switch, and below it a GPU, a NIC, and a NIC with two virtual functions.
func pcieHost() *fabric.Facts {
	f := &fabric.Facts{Node: "host1", Source: "tree"}
	add := func(address, parent string, class uint32) {
		f.PCI = append(f.PCI, fabric.PCIDevice{
			Address: address, Parent: parent, Class: class, Vendor: 0x1000, Device: 0xc030, ACS: &fabric.ACS{}, ATS: &fabric.ATS{},
			Control: &fabric.PCIControl{MaxPayload: 256, MaxReadRequest: 512}, Link: &fabric.PCILink{Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16},
		})
	}
	add("0000:10:01.0", "", classBridge)
	add("0000:11:00.0", "0000:10:01.0", classBridge)
	for i, class := range []uint32{classAccelerator, classEthernet, classEthernet} {
		port := fmt.Sprintf("0000:12:%02x.0", i)
		add(port, "0000:11:00.0", classBridge)
		add(fmt.Sprintf("0000:%02x:00.0", 0x13+i), port, class)
	}
	for fn := 1; fn <= 2; fn++ { // their registers of the link read as zeros
		add(fmt.Sprintf("0000:15:00.%d", fn), "0000:12:02.0", classEthernet)
		f.PCI[len(f.PCI)-1].Link = &fabric.PCILink{MaxSpeed: 32, MaxWidth: 16}
	}
	f.GPUs = []fabric.GPU{{PCI: "0000:13:00.0", Vendor: "amd"}}
	f.NICs = []fabric.NIC{{Name: "eth1", PCI: "0000:14:00.0"}}
	return f
}

const (
	testUp, testGPUPort, testGPU, testNICPort, testNIC = "0000:11:00.0", "0000:12:00.0", "0000:13:00.0", "0000:12:01.0", "0000:14:00.0"
)

func pciOf(f *fabric.Facts, address string) *fabric.PCIDevice {
	return NewPCIFunctions(f.PCI).Function(address)
}

func TestPCIeLinkStates(t *testing.T) {
	both := func(change func(*fabric.PCILink)) func(*fabric.Facts) {
		return func(f *fabric.Facts) {
			change(pciOf(f, testNIC).Link)
			change(pciOf(f, testNICPort).Link)
		}
	}
	for name, c := range map[string]struct {
		change func(*fabric.Facts)
		state  LinkState
		gbs    string
		why    string
		status fabric.Status
	}{
		"full":   {func(*fabric.Facts) {}, LinkFull, "63.0 of 63.0", "", fabric.Pass},
		"narrow": {both(func(l *fabric.PCILink) { l.Width = 8 }), LinkDowngraded, "31.5 of 63.0", "both ends support 32 GT/s x16", fabric.Fail},
		"slow":   {both(func(l *fabric.PCILink) { l.Speed = 2.5 }), LinkDowngraded, "4.0 of 63.0", "runs at 2.5 GT/s x16", fabric.Fail},
		"slow slot": {func(f *fabric.Facts) {
			pciOf(f, testNICPort).Link.MaxSpeed = 16
			both(func(l *fabric.PCILink) { l.Speed = 16 })(f)
		}, LinkLimited, "31.5 of 31.5", "the upper one 16 GT/s x16", fabric.Pass},
		"unreported": {both(func(l *fabric.PCILink) { l.Speed = 0 }), LinkUnknown, "0.0 of 0.0", "was not read", fabric.Unknown},
		"one end":    {func(f *fabric.Facts) { pciOf(f, testNICPort).Link = nil }, LinkFull, "63.0 of 63.0", "", fabric.Pass},
		"one end, below its maximum": {func(f *fabric.Facts) { pciOf(f, testNICPort).Link = nil; pciOf(f, testNIC).Link.Width = 8 }, LinkUnknown, "31.5 of 0.0",
			"what both of its ends support was not read", fabric.Unknown},
		"the maximum unknown": {both(func(l *fabric.PCILink) { l.MaxSpeed = 0 }), LinkUnknown, "63.0 of 0.0", "was not read", fabric.Unknown},
		"contradiction":       {func(f *fabric.Facts) { pciOf(f, testNIC).Link.Width = 8 }, LinkUnknown, "0.0 of 0.0", "contradict each other", fabric.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			f := pcieHost()
			c.change(f)
			r := Report(f, true)
			for _, l := range r.Links {
				if l.Lower != testNIC {
					continue
				}
				if gbs := fmt.Sprintf("%.1f of %.1f", l.GBs, l.MostGBs); l.State != c.state || gbs != c.gbs || !strings.Contains(l.Why, c.why) || (l.State == LinkFull) != (l.Why == "") {
					t.Errorf("%+v, %s", l, gbs)
				}
			}
			if r.Status() != c.status {
				t.Errorf("%s, want %s", r.Status(), c.status)
			}
		})
	}
}

func TestPCIeReport(t *testing.T) {
	f := pcieHost()
	for _, at := range []string{testUp, "0000:10:01.0"} {
		pciOf(f, at).Link.Width = 8
	}
	pciOf(f, testNICPort).ACS = &fabric.ACS{Present: true, Capability: 0x5f, Control: 0x1d}
	pciOf(f, testGPUPort).ACS = &fabric.ACS{Present: true, Capability: 0x5f}
	pciOf(f, testGPU).ACS = nil
	r := Report(f, true)
	links := []string{}
	for _, l := range r.Links {
		links = append(links, fmt.Sprintf("%s below %s %d %s", l.Lower, l.Upper, l.Functions, l.State))
	}
	want := []string{
		"0000:11:00.0 below 0000:10:01.0 0 downgraded", "0000:13:00.0 below 0000:12:00.0 0 full",
		"0000:14:00.0 below 0000:12:01.0 0 full", "0000:15:00.0 below 0000:12:02.0 3 full",
	}
	if diff := cmp.Diff(want, links); diff != "" {
		t.Errorf("links (-want +got):\n%s", diff)
	}
	paths := []string{}
	for _, p := range r.Paths {
		paths = append(paths, fmt.Sprintf("%s %s %d %.1f of %.1f at %s: %s", p.Name, p.Address, p.Functions, p.GBs, p.MostGBs, p.Narrowest, strings.Join(p.Links, " ")))
	}
	want = []string{
		"GPU0 0000:13:00.0 0 31.5 of 63.0 at 0000:11:00.0: 0000:13:00.0 0000:11:00.0",
		"eth1 0000:14:00.0 0 31.5 of 63.0 at 0000:11:00.0: 0000:14:00.0 0000:11:00.0",
		" 0000:15:00.0 3 31.5 of 63.0 at 0000:11:00.0: 0000:15:00.0 0000:11:00.0",
	}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("paths (-want +got):\n%s", diff)
	}
	if r.Worst == nil || r.Worst.Lower != testUp || fmt.Sprintf("%.1f", r.Worst.CostGBs) != "31.5" || len(r.Worst.Below) != 3 {
		t.Errorf("worst %+v", r.Worst)
	}
	acs := ACSLists{
		Enabled:  []ACSFunction{{testNICPort, 0x1d, "SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-", true}},
		Disabled: []ACSFunction{{testGPUPort, 0, "SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-", false}},
		Unread:   []string{testGPU}, Without: 7,
	}
	if diff := cmp.Diff(acs, r.ACS); diff != "" {
		t.Errorf("ACS (-want +got):\n%s", diff)
	}
}

// TestPCIePathsThatAreNotWhole: what could not be read is never the root.
func TestPCIePathsThatAreNotWhole(t *testing.T) {
	f := pcieHost()
	pciOf(f, testUp).Parent = "0000:0f:00.0" // which is not in the facts
	r := Report(f, false)
	for _, p := range r.Paths {
		if p.GBs != 0 || p.Narrowest != "" || p.Why == "" {
			t.Errorf("%+v", p)
		}
	}
	if r.Status() != fabric.Unknown {
		t.Error(r.Status())
	}
	pciOf(f, "0000:10:01.0").Parent, pciOf(f, testUp).Parent = testUp, "0000:10:01.0" // no end
	if r := Report(f, false); r.Paths[0].Why == "" || r.Status() == fabric.Pass {
		t.Errorf("%+v", r.Paths[0])
	}
	for name, f := range map[string]*fabric.Facts{"nothing": {}, "nothing read": {Missing: []fabric.Missing{{What: "pci", Reason: "denied"}}}, "no GPU and no NIC": {PCI: pcieHost().PCI[:1]}} {
		if r := Report(f, true); r.Status() != fabric.Unknown || r.Worst != nil {
			t.Errorf("%s: %s", name, r.Status())
		}
	}
}

// TestPCIeGuest: a virtual machine shows a device without the port above it.
func TestPCIeGuest(t *testing.T) {
	f := &fabric.Facts{GPUs: []fabric.GPU{{PCI: "0000:00:05.0"}}, PCI: []fabric.PCIDevice{{Address: "0000:00:05.0", Class: class3D, ACS: &fabric.ACS{},
		Link: &fabric.PCILink{Speed: 16, Width: 16, MaxSpeed: 32, MaxWidth: 16}}}}
	r := Report(f, true)
	if len(r.Links) != 1 || r.Links[0].State != LinkUnknown || r.Links[0].GBs == 0 || r.Status() != fabric.Unknown {
		t.Errorf("%+v", r.Links)
	}
}

func TestCompareLayout(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	f := pcieHost()
	if err := Report(f, true).Compare(f, cat, "cray"); err == nil {
		t.Error("a machine that the catalog does not have was compared")
	}
	r := Report(f, true)
	if err := r.Compare(f, cat, "xe9680-mi300x-thor2"); err != nil || r.Layout.Status != fabric.Unknown || len(r.Layout.Differences) == 0 {
		t.Errorf("%v %+v", err, r.Layout)
	}
	pciOf(f, testGPU).Vendor, pciOf(f, testGPU).Device = 0x1002, 0x74a1
	pciOf(f, testNIC).Vendor, pciOf(f, testNIC).Device = 0x14e4, 0x1760
	r = Report(f, true)
	if err := r.Compare(f, cat, "xe9680-mi300x-thor2"); err != nil {
		t.Fatal(err)
	}
	want := []string{"1 PCIe switch of 8 were found above GPUs and NICs", "switch 0000:11:00.0 has 3 downstream ports, not 4 to 5"}
	if diff := cmp.Diff(want, r.Layout.Differences); diff != "" || r.Status() != fabric.Fail {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPCIeOfTenThousand keeps the report linear in the number of functions.
func TestPCIeOfTenThousand(t *testing.T) {
	f := &fabric.Facts{}
	for n := range 2500 {
		at := func(bus int) string { return fmt.Sprintf("%04x:%02x:00.0", n/50, n%50*4+bus) }
		for bus, class := range []uint32{classBridge, classBridge, classBridge, classEthernet} {
			d := fabric.PCIDevice{Address: at(bus), Class: class, Link: &fabric.PCILink{Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16}}
			if bus > 0 {
				d.Parent = at(bus - 1)
			}
			f.PCI = append(f.PCI, d)
			f.Missing = append(f.Missing, fabric.Missing{What: fabric.FactPCILink + " " + d.Address, Reason: "cut"})
		}
	}
	start := time.Now()
	r := Report(f, true)
	if took := time.Since(start); took > 5*time.Second { // it takes some 50 ms on an idle machine
		t.Errorf("took %v", took)
	}
	if len(r.Paths) != 2500 || len(r.Links) != 5000 || len(r.Switches) != 2500 {
		t.Errorf("%d paths, %d links, %d switches", len(r.Paths), len(r.Links), len(r.Switches))
	}
}
