package collective

import (
	"math"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/ncclxml"
)

// inGuest is a virtual machine of two H100 and two NICs, as it is without a topology file: flat, or with a
// switch for each GPU and its NIC.
func inGuest(switches bool) string {
	var b strings.Builder
	b.WriteString("<system version=\"1\">\n<cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\">\n")
	for i, n := range []string{"1", "2"} {
		if switches {
			b.WriteString(`<pci busid="0000:` + n + `0:00.0" class="0x060400" link_speed="32.0 GT/s PCIe" link_width="16">`)
		}
		b.WriteString(`<pci busid="0000:` + n + `1:00.0" class="0x030200" link_speed="32.0 GT/s PCIe" link_width="16"><gpu dev="` + string(rune('0'+i)) + `" sm="90" rank="` + string(rune('0'+i)) + `" gdr="1"><nvlink target="fffffff:ff:ff.0" count="18" tclass="0x068000"/></gpu></pci>`)
		b.WriteString(`<pci busid="0000:` + n + `2:00.0" class="0x020700" link_speed="32.0 GT/s PCIe" link_width="16"><nic><net name="mlx5_` + string(rune('0'+i)) + `" dev="` + string(rune('0'+i)) + `" speed="400000" port="1" guid="0x` + n + `" maxconn="131072" gdr="1"/></nic></pci>`)
		if switches {
			b.WriteString("</pci>")
		}
		b.WriteString("\n")
	}
	b.WriteString("</cpu>\n</system>\n")
	return b.String()
}

func guest(t *testing.T, switches bool) *Cluster {
	t.Helper()
	return inText(t, inGuest(switches), 2)
}

// inText is the cluster of nodes that a topology file describes.
func inText(t *testing.T, text string, nodes int) *Cluster {
	t.Helper()
	d, err := ncclxml.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := ncclgraph.NewSystem(d, ncclgraph.Options{Nodes: nodes})
	if err != nil {
		t.Fatal(err)
	}
	c, err := FromSystem(loaded(t), s, fabric.Hardware{Nodes: nodes, Net: "ib"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestGuestWithoutTopology: NCCL finds every NIC behind a host bridge, and GPUDirect RDMA is off.
func TestGuestWithoutTopology(t *testing.T) {
	flat, told := guest(t, false), guest(t, true)
	if hw := told.hw; hw.GPU != "h100-sxm" || hw.GPUsPerNode != 2 || hw.NICsPerNode != 2 || hw.NICGbps != 400 || hw.CPU != "intel" {
		t.Errorf("read %+v", hw)
	}
	job := Job{Collective: fabric.AllGather}
	without, with := predict(t, flat, job, 8<<30)[0], predict(t, told, job, 8<<30)[0]
	if with.BusBW < 90 {
		t.Errorf("with switches: %.1f GB/s of 100", with.BusBW)
	}
	if without.BusBW > 0.6*with.BusBW {
		t.Errorf("without: %.1f GB/s, with switches %.1f", without.BusBW, with.BusBW)
	}
	p, err := flat.Predict(job, []int64{8})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range p.Assumptions {
		if strings.Contains(a.What, "through host memory") {
			return
		}
	}
	t.Errorf("nothing says why: %+v", p.Assumptions)
}

func TestFromNothing(t *testing.T) {
	if _, err := FromSystem(loaded(t), nil, fabric.Hardware{}); err == nil {
		t.Error("no system: no error")
	}
	c := ofTopology(t, "testdata/h200x2-topo.xml")
	if hw := c.hw; hw.GPU != "h100-sxm" || hw.GPUsPerNode != 2 {
		t.Errorf("two H200, from their architecture alone: %+v", hw)
	}
}

// TestFabricOfAnotherVendor: the fabric between machines with A100 is that of their NICs: of AWS it is EFA, others are as in the
// design of NVIDIA.
func TestFabricOfAnotherVendor(t *testing.T) {
	for vendor, want := range map[string]string{"0x15b3": "ib", "0x1d0f": "efa", "0x1dd8": "ib", "0x0000": "ib"} {
		text := strings.ReplaceAll(strings.ReplaceAll(inGuest(true), `sm="90"`, `sm="80"`), `class="0x020700"`, `class="0x020700" vendor="`+vendor+`" device="0x101b"`)
		text = strings.ReplaceAll(text, "GenuineIntel", "AuthenticAMD")
		d, err := ncclxml.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		s, err := ncclgraph.NewSystem(d, ncclgraph.Options{Nodes: 2})
		if err != nil {
			t.Fatal(err)
		}
		if s.NETs[0].Vendor != strings.TrimPrefix(strings.TrimPrefix(vendor, "0x"), "0000") {
			t.Errorf("%s is read as %q", vendor, s.NETs[0].Vendor)
		}
		c, err := FromSystem(loaded(t), s, fabric.Hardware{Nodes: 2})
		if err != nil {
			t.Fatal(err)
		}
		if c.hw.Net != want {
			t.Errorf("NICs of %s: fabric %s, want %s", vendor, c.hw.Net, want)
		}
	}
}

// TestFewerLinks: where one GPU has a third of its NVLinks, all go at its pace, and the bound says so.
func TestFewerLinks(t *testing.T) {
	at := func(links string) fabric.PredictionRow {
		text := strings.Replace(inGuest(true), `count="18"`, `count="`+links+`"`, 1)
		return predict(t, inText(t, text, 1), Job{Collective: fabric.AllReduce}, 8<<30)[0]
	}
	whole, third := at("18"), at("6")
	if ratio := third.BusBW / whole.BusBW; math.Abs(ratio-1./3) > 0.01 || third.Bound.BusBW > 0.34*whole.Bound.BusBW || third.Band[1] > third.Bound.BusBW {
		t.Errorf("a third of the links of one GPU: %.1f of %.1f GB/s, band %v, bound %.1f", third.BusBW, whole.BusBW, third.Band, third.Bound.BusBW)
	}
}
