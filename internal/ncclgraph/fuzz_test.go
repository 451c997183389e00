package ncclgraph

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/ncclxml"
)

// FuzzNewSystem feeds NewSystem what no parser has checked: any elements, any attributes. Whatever comes out is printed
// and searched.
func FuzzNewSystem(f *testing.F) {
	for _, file := range []string{"testdata/system/h200x2.xml"} {
		var b bytes.Buffer
		if _, err := readDocument(f, file).WriteTo(&b); err != nil {
			f.Fatal(err)
		}
		f.Add(b.Bytes(), uint8(1))
	}
	var b bytes.Buffer
	h := hgxH100()
	h.gpus, h.nics = 4, 4
	if _, err := h.document().WriteTo(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes(), uint8(2))
	f.Add([]byte(`<system><cpu numaid="0" arch="arm64"><pci busid="1" class="0x060400" link_speed="" link_width="">`+
		`<pci busid="2" class="0x0302" link_speed="" link_width="x"><gpu sm="100"><c2c bw="1000" count="2"/><nvlink target="3" count="1" tclass="0x03"/></gpu></pci>`+
		`<pcilink target="1"/><pci busid="3" class="0x0302" link_speed="" link_width=""><gpu sm="100" rank="5"><nvlink target="2" count="1" tclass="0x03"/></gpu></pci>`+
		`</pci><nic><net name="a"/><net name="b" dev="0"/></nic></cpu></system>`), uint8(2))
	f.Fuzz(func(t *testing.T, text []byte, nodes uint8) {
		d, err := decodeDocument(bytes.NewReader(text))
		if err != nil {
			return
		}
		start := time.Now()
		s, err := NewSystem(d, Options{Nodes: int(nodes)})
		if err != nil {
			return
		}
		s.Lines()
		s.PathLines()
		graphs := s.Graphs()
		for _, g := range graphs {
			s.GraphLines(g)
			carries(t, s, g)
		}
		s.CollChannels(graphs)
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// TestBounds has documents that no machine has: refused with the limit that they pass, or done in bounded time.
func TestBounds(t *testing.T) {
	cpu := func(inner string) string {
		return `<system version="1"><cpu numaid="0" arch="x86_64" vendor="AuthenticAMD">` + inner + `</cpu></system>`
	}
	pci := func(bus int, inner string) string {
		class := "0x030200"
		if !strings.Contains(inner, "<gpu") {
			class = "0x060400"
		}
		return fmt.Sprintf(`<pci busid="%x" class="%s" link_speed="16.0 GT/s PCIe" link_width="16">%s</pci>`, bus, class, inner)
	}
	each := func(n int, f func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(f(i))
		}
		return b.String()
	}
	gpu := func(i int) string { return pci(i, `<gpu sm="90"/>`) }
	for name, c := range map[string]struct{ text, want string }{
		"elements":       {cpu(each(9000, func(i int) string { return pci(i, "") })), "more than 8192 elements"},
		"devices":        {cpu(each(30, func(i int) string { return pci(i, each(100, func(j int) string { return pci(1000+100*i+j, "") })) })), "more than 2048 devices"},
		"GPUs":           {cpu(each(600, gpu)), "more than 512 GPUs, NETs and NUMA nodes"},
		"depth":          {cpu(strings.Repeat(`<pci busid="1" class="0x060400" link_speed="" link_width="">`, 70) + strings.Repeat(`</pci>`, 70)), "nested more than 64 deep"},
		"links of one":   {cpu(each(600, func(i int) string { return pci(i, "") })), "CPU/0-0 has more than 512 links"},
		"one address":    {cpu(gpu(1) + gpu(1)), "same address as an earlier GPU"},
		"NUMA twice":     {strings.Replace(cpu(gpu(1)), "<cpu ", `<cpu numaid="0" arch="arm64"/><cpu `, 1), "duplicate"},
		"one-way NVLink": {cpu(pci(1, `<gpu sm="90"><nvlink target="2" count="1" tclass="0x03"/></gpu>`) + gpu(2)), "which has no link back"},
		"one-way switch": {cpu(pci(1, `<pcilink target="2"/>`) + pci(2, "") + gpu(3)), "which has no link back"},
		"links":          {cpu(pci(1, `<gpu sm="90"><nvlink target="f" count="1000000" tclass="0x068000"/></gpu>`)), "count 1000000: want 0 to 512"},
		"no count":       {cpu(pci(1, `<gpu sm="90"><nvlink target="f" tclass="0x068000"/></gpu>`)), `no attribute "count"`},
		"no speed":       {cpu(`<pci busid="1" class="0x03" link_width="16"><gpu sm="90"/></pci>`), `no attribute "link_speed"`},
		"no sm":          {cpu(pci(1, `<gpu/>`)), `no attribute "sm"`},
		"no GPU":         {cpu(pci(1, "")), "no <gpu>"},
		"no CPU":         {`<system/>`, "no <cpu>"},
		"no vendor":      {strings.Replace(cpu(gpu(1)), ` vendor="AuthenticAMD"`, "", 1), `no attribute "vendor"`},
		"two hosts":      {strings.Replace(cpu(gpu(1)), "</system>", `<cpu numaid="1" arch="arm64" host_hash="0x1"/></system>`, 1), "fuses 2 hosts"},
		"wrong root":     {`<graphs/>`, "want one root element <system>"},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := decodeDocument(strings.NewReader(c.text))
			if err != nil {
				t.Fatal(err)
			}
			if _, err = NewSystem(d, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := NewSystem(nil, Options{}); err == nil {
		t.Error("a nil document is taken")
	}
	if d, err := decodeDocument(strings.NewReader(cpu(gpu(1)))); err != nil {
		t.Fatal(err)
	} else if _, err := NewSystem(d, Options{Nodes: 2}); err == nil || !strings.Contains(err.Error(), "no <net>") {
		t.Errorf("%v of two hosts without a network", err)
	}
}

// TestLargeMachine has 64 GPUs and 256 NICs: searched within bounds, and the note says so where they are met.
func TestLargeMachine(t *testing.T) {
	for _, links := range []int{18, 0} {
		t.Run(fmt.Sprintf("%d links", links), func(t *testing.T) {
			h := hgxH100()
			h.gpus, h.nics, h.links = 64, 256, links
			start := time.Now()
			s := newSystem(t, h.document(), Options{Nodes: 2, Env: map[string]string{"NCCL_NET_DISABLE_INTRA": "1"}})
			built := time.Since(start)
			for _, g := range s.Graphs() {
				t.Logf("%d links: %s %s", links, g.Line(), g.Note)
				if g.ID == GraphRing && g.Channels == 0 {
					t.Error("no ring")
				}
				carries(t, s, g)
			}
			// The bound is on link visits; the time only shows that it ends, under the race detector on a busy machine too.
			if took := time.Since(start); took > time.Minute {
				t.Errorf("took %v", took)
			} else {
				t.Logf("built in %v, searched in %v", built, took-built)
			}
		})
	}
}

// randomDocument makes a document of a few bytes: few addresses, so that links meet, cross and come back, and devices
// have addresses of others.
func randomDocument(data []byte) *ncclxml.Document {
	d := &ncclxml.Document{Roots: []*ncclxml.Element{{Name: "system"}}}
	at := []*ncclxml.Element{d.Roots[0]}
	next := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	id := func() string { return fmt.Sprintf("0000:%02x:00.0", next()%12) }
	for len(data) > 0 {
		top := at[len(at)-1]
		switch next() % 10 {
		case 0:
			at = append(at[:1], at[0].Add("cpu", attr("numaid", fmt.Sprint(next()%4)), attr("arch", []string{"x86_64", "arm64", "ppc64"}[next()%3]),
				attr("vendor", []string{"GenuineIntel", "AuthenticAMD"}[next()%2]), attr("familyid", "6"), attr("modelid", fmt.Sprint(next()))))
		case 1, 2:
			at = append(at, top.Add("pci", attr("busid", id()), attr("class", []string{"0x060400", "0x030200", "0x020700"}[next()%3]),
				attr("link_speed", []string{"16.0 GT/s PCIe", "32.0 GT/s PCIe", ""}[next()%3]), attr("link_width", fmt.Sprint(next()%17)),
				attr("vendor", "0x1000"), attr("device", "0xc030"), attr("subsystem_vendor", "0x1000"), attr("subsystem_device", fmt.Sprintf("0x%x", int(next()%2)*0x1000))))
		case 3:
			at = append(at, top.Add("gpu", attr("sm", []string{"70", "80", "90", "100"}[next()%4]), attr("gdr", fmt.Sprint(next()%2))))
		case 4:
			top.Add("nvlink", attr("target", id()), attr("count", fmt.Sprint(next()%19)), attr("tclass", []string{"0x03", "0x068000", "0x068001"}[next()%3]))
		case 5:
			top.Add("nic").Add("net", attr("name", "n"), attr("speed", fmt.Sprint(int(next())*4000)), attr("guid", fmt.Sprintf("0x%x", next()%6)))
		case 6:
			top.Add("pcilink", attr("target", id()))
		case 7:
			top.Add("c2c", attr("bw", fmt.Sprint(int(next())*100)), attr("count", fmt.Sprint(next()%4)))
		default:
			at = at[:max(len(at)-1, 1)]
		}
	}
	return d
}

// FuzzRandomSystem has what no XML reader would give in a lifetime: loops of pcilink and nvlink, one address for many
// devices, elements in places where they mean nothing.
func FuzzRandomSystem(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x01\x01\x01\x00\x00\x10\x00\x01\x02\x01\x00\x10\x00\x03\x02\x01\x04\x03\x12\x01"), false)
	f.Add([]byte("\x00\x00\x00\x01\x01\x01\x05\x00\x01\x10\x01\x06\x05\x01\x06\x01\x00\x08\x00\x03\x03\x00\x05\x64\x01\x07\x09\x02"), true)
	f.Fuzz(func(t *testing.T, data []byte, two bool) {
		if len(data) > 400 {
			return
		}
		o := Options{Nodes: 1}
		if two {
			o.Nodes = 2
		}
		s, err := NewSystem(randomDocument(data), o)
		if err != nil {
			return
		}
		s.Lines()
		s.PathLines()
		for _, g := range s.Graphs() {
			carries(t, s, g)
		}
	})
}

// TestLoop has elements that contain themselves.
func TestLoop(t *testing.T) {
	d := hgxH100().document()
	cpu := d.Roots[0].Children[0]
	cpu.Children[0].Children = append(cpu.Children[0].Children, cpu)
	if _, err := NewSystem(d, Options{}); err == nil {
		t.Error("a loop of elements is taken")
	}
}
