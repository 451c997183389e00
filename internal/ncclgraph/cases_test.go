package ncclgraph

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/ncclxml"
)

// publicCase is the tree of a machine as NCCL printed it, and the graphs that it found on it.
type publicCase struct {
	document *ncclxml.Document
	options  Options
	want     []string // lines as NCCL printed them, GPUs by rank and NETs by dev
}

var (
	caseCPU  = regexp.MustCompile(`^CPU/(?:0-)?(\d+) \((\d)/(\d)/(-?\d)\)$`)
	caseNode = regexp.MustCompile(`^( *)\+ (\w+)\[([\d.]+)\] - (\w+)/(?:0-)?([0-9A-Fa-f]+)(?: \((.*)\))?$`)
)

func readCase(t *testing.T, file string) publicCase {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := caseReader{t: t, gdr: "1", out: publicCase{options: Options{Env: map[string]string{}}}}
	r.out.document = &ncclxml.Document{Roots: []*ncclxml.Element{{Name: "system"}}}
	for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		r.line(line)
	}
	return r.out
}

type caseReader struct {
	t       *testing.T
	sm, gcn string
	gdr     string
	open    []*ncclxml.Element // by depth, the <cpu> first
	indent  []int
	out     publicCase
}

func (r *caseReader) line(line string) {
	switch {
	case strings.HasPrefix(line, "# "):
		key, value, _ := strings.Cut(line[2:], " ")
		switch key {
		case "nodes":
			r.out.options.Nodes, _ = strconv.Atoi(value)
		case "sm":
			r.sm = value
		case "gcn":
			r.gcn = value
		case "gdr":
			r.gdr = value
		case "env":
			name, setting, _ := strings.Cut(value, "=")
			r.out.options.Env[name] = setting
		}
	case caseCPU.MatchString(line):
		m := caseCPU.FindStringSubmatch(line)
		cpu := r.out.document.Roots[0].Add("cpu", attr("numaid", m[1]), attr("arch", "x86_64"),
			attr("vendor", map[string]string{"1": "GenuineIntel", "2": "AuthenticAMD"}[m[3]]), attr("familyid", "6"),
			attr("modelid", map[string]string{"1": "79", "2": "85", "3": "143", "4": "207", "-1": "0"}[m[4]]))
		r.open, r.indent = []*ncclxml.Element{cpu}, []int{-1}
	case caseNode.MatchString(line):
		r.node(caseNode.FindStringSubmatch(line))
	default:
		r.out.want = append(r.out.want, line)
	}
}

func (r *caseReader) node(m []string) {
	for len(m[1]) <= r.indent[len(r.indent)-1] {
		r.open, r.indent = r.open[:len(r.open)-1], r.indent[:len(r.indent)-1]
	}
	up := r.open[len(r.open)-1]
	rate, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		r.t.Fatal(err)
	}
	switch m[2] + " " + m[4] {
	case "PCI PCI":
		e := pciElement(r.t, up, m[5], "0x060400", rate)
		n, _ := strconv.ParseUint(m[6], 16, 64)
		for i, key := range []string{"vendor", "device", "subsystem_vendor", "subsystem_device"} {
			e.Set(key, fmt.Sprintf("0x%04x", n>>(48-16*i)&0xffff))
		}
		r.push(e, m[1])
	case "PCI NIC":
		r.push(pciElement(r.t, up, m[5], "0x020000", rate).Add("nic"), m[1])
	case "PCI GPU":
		e := pciElement(r.t, up, m[5], "0x030200", rate).Add("gpu", attr("rank", m[6]), attr("dev", m[6]), attr("gdr", r.gdr))
		if r.gcn != "" {
			e.Set("gcn", r.gcn)
		} else {
			e.Set("sm", r.sm)
		}
		r.push(e, m[1])
	case "NET NET":
		part := strings.Split(m[6], "/")
		dev, _ := strconv.ParseUint(m[5], 16, 32)
		up.Add("net", attr("name", "mlx5_"+m[5]), attr("dev", fmt.Sprint(dev)), attr("guid", "0x"+part[0]), attr("port", part[1]),
			attr("speed", fmt.Sprint(int(rate*8000+0.5))), attr("gdr", r.gdr))
	case "NVL NVS", "NVL GPU", "XGMI GPU":
		per := float64(ncclxml.NVLinkRate(up.IntegerOr("sm", 0)))
		if r.gcn != "" {
			per = float64(ncclxml.XGMIRate(r.gcn))
		}
		name := map[string]string{"NVL": "nvlink", "XGMI": "xgmi"}[m[2]]
		class := map[string]string{"NVS": "0x068000", "GPU": "0x030200"}[m[4]]
		up.Add(name, attr("target", address16(m[5])), attr("tclass", class), attr("count", fmt.Sprint(int(math.Round(rate/per)))))
	default:
		r.t.Fatalf("no element for %q", m[0])
	}
}

func (r *caseReader) push(e *ncclxml.Element, indent string) {
	r.open, r.indent = append(r.open, e), append(r.indent, len(indent))
}

// pciElement is a <pci> with the speed and width that have the rate.
func pciElement(t *testing.T, up *ncclxml.Element, bus, class string, rate float64) *ncclxml.Element {
	for _, link := range []struct {
		speed string
		width int
		rate  float64
	}{{"32.0 GT/s PCIe", 16, 48}, {"16.0 GT/s PCIe", 16, 24}, {"8.0 GT/s PCIe", 16, 12}, {"8.0 GT/s PCIe", 8, 6}} {
		if math.Abs(link.rate-rate) < 0.05 {
			return up.Add("pci", attr("busid", address16(bus)), attr("class", class),
				attr("link_speed", link.speed), attr("link_width", fmt.Sprint(link.width)))
		}
	}
	t.Fatalf("no link of %v GB/s", rate)
	return nil
}

// address16 is a bus number as NCCL prints it, as an address.
func address16(number string) string {
	n, _ := strconv.ParseUint(number, 16, 64)
	return fmt.Sprintf("%04x:%02x:%02x.%x", n>>20, n>>12&0xff, n>>4&0xff, n&0xf)
}

// byRank is a graph's lines with GPUs by rank and NETs by dev, as older releases print them.
func (s *System) byRank(g Graph) []string {
	lines := []string{s.GraphLines(g)[0]}
	for i, channel := range g.Order {
		line := fmt.Sprintf("%2d :", i)
		if channel.In >= 0 {
			line += fmt.Sprintf(" NET/%d", channel.In)
		}
		for _, rank := range channel.GPUs {
			line += fmt.Sprintf(" GPU/%d", rank)
		}
		if channel.Out >= 0 {
			line += fmt.Sprintf(" NET/%d", channel.Out)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestSearchFindsWhatNCCLFound(t *testing.T) {
	files, err := filepath.Glob("testdata/system/*.txt")
	if err != nil || len(files) < 6 {
		t.Fatalf("%d cases, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			c := readCase(t, file)
			s := newSystem(t, c.document, c.options)
			var found [][]string
			for _, g := range s.Graphs() {
				if g.Channels > 0 {
					found = append(found, s.byRank(g))
				}
			}
			at, channel := -1, 0
			for _, want := range c.want {
				if strings.HasPrefix(want, "Pattern") { // some sources leave out the end of the line
					at, channel = slices.IndexFunc(found, func(lines []string) bool { return strings.HasPrefix(lines[0], want) }), 0
					if at < 0 {
						t.Errorf("NCCL had %q, got %q", want, found)
					}
				} else if channel++; at >= 0 && (channel >= len(found[at]) || found[at][channel] != want) {
					t.Errorf("channel %d: got %q, NCCL had %q", channel-1, found[at], want)
				}
			}
		})
	}
}

func attr(name, value string) ncclxml.Attribute { return ncclxml.Attribute{Name: name, Value: value} }
