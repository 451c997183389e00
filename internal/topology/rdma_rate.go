package topology

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// RDMAFunction is a PCI function that writes to the memory of another machine: the Ethernet port that it sends through, and
// the PCIe link over which it reads its own memory.
type RDMAFunction struct {
	Name    string  // in what is said of it
	Port    int     // functions with the same number share the port
	Link    string  // functions with the same name share the PCIe link: the domain on a DGX Spark
	Speed   float64 // of the link, GT/s
	Width   int     // of the link, lanes
	Sharers int     // functions that the port has, sending or not; 0 and 1: it has the port alone
}

// SparkFunction is a function of a DGX Spark by its PCI address: its port is the number of the function, and its PCIe link
// that of the domain. Speed is GT/s, width lanes, as trained: 32 and 4 on a healthy machine. ok is false for another address.
func SparkFunction(bus string, speed float64, width int) (f RDMAFunction, ok bool) {
	bus, err := ParseBus(bus)
	if err != nil {
		return RDMAFunction{}, false
	}
	domain, _, _ := strings.Cut(bus, ":")
	number, _ := strconv.Atoi(bus[len(bus)-1:])
	if number > 1 || domain != "0000" && domain != "0002" || !strings.HasPrefix(bus[len(domain):], ":01:00.") {
		return RDMAFunction{}, false
	}
	return RDMAFunction{Name: bus, Port: number, Link: domain, Speed: speed, Width: width, Sharers: 2}, true
}

// RDMALoad is which functions of a machine write large messages to another machine at the same time, all one way.
type RDMALoad struct {
	Functions []RDMAFunction
	PortGbps  float64 // line rate of each Ethernet port, Gb/s
	PathMTU   int     // of RDMA, bytes of payload: 1024 with interfaces of 1500, 4096 with 9000
	TLP       int     // largest payload of a PCIe packet, bytes; 0: 256
}

// RDMARate is what ib_write_bw shows, Gb/s of payload. Healthy is from Low to High.
type RDMARate struct {
	Bound     float64 // no machine exceeds it
	Expected  float64
	Low, High float64
	Element   string // what sets Bound and Expected
	Formula   string // of Bound, with its figures
}

// RDMARates are the rates of each function, in the order of the load, and of all together. Runs that print their rows at
// different moments may add up to more than Total.Bound: judge them one by one, and their sum only from below.
type RDMARates struct {
	Each  []RDMARate
	Total RDMARate
}

// Shares of what is left after headers. Measured on DGX Sparks with 4096 bytes: 109.27 to 109.30 Gb/s of one function
// with one queue pair, whatever the function, 111.71 and 111.86 with four and eight; 98.03 and 98.04 of each of two
// that share a port; 4 x 54.59 of both ports ("Do I need a second cable for my DGX Spark cluster?"; DGX Spark Networking).
const (
	// linkReached is what one queue pair keeps of a PCIe link's payload (109.29 of 115.2). Flow control takes some:
	// with one packet of 8 bytes to acknowledge each of 256 it would be 112.0.
	linkReached = 0.949
	// linkLow and portLow are the least that counts as healthy. NVIDIA Sync takes 184 Gb/s of the 196 of a cable as its
	// lower bound; links of which two functions share each have less to lose than a tenth (54.59 of 57.6).
	linkLow, portLow = 0.90, 0.938
	// shareLow is the least of a function alone, of its share of the port: 97.97 Gb/s of 98.04 in "RoCE vs InfiniBand:
	// Benchmarking Two DGX Sparks", and 92.57 of 92.59 at a path MTU of 1024 with one queue pair, in two guides.
	shareLow = 0.99
	// clockTolerance is how much faster than its nominal rate an Ethernet port may run (IEEE 802.3: 100 ppm).
	clockTolerance = 1e-4
)

// Bytes around the payload of a packet.
const (
	// roceHeaders of RoCE v2: preamble 8, Ethernet header 14, FCS 4 and gap 12 (IEEE 802.3), IPv4 20, UDP 8, BTH 12, ICRC 4.
	roceHeaders = 82
	// tlpHeaders of a write to a 64 bit address: start and sequence number 4, header 16, CRC 4 (PCI Express Base
	// Specification 5.0, 2.2.4 and 4.2.2).
	tlpHeaders = 24
	// usualTLP is the largest payload that most hosts set (PCI Express Base Specification 5.0, 7.5.3.4, Max_Payload_Size).
	usualTLP = 256
)

// RDMAWrite returns what a load reaches. ok is false where a rate, the MTU or a link is unknown: nothing can be judged then.
// Functions share ports and links evenly; what one cannot use another takes.
func RDMAWrite(load RDMALoad) (rates RDMARates, ok bool) {
	limits, ok := load.limits()
	if !ok {
		return RDMARates{}, false
	}
	expected, by := evenly(limits, len(load.Functions))
	for i, f := range load.Functions {
		l := limits[by[i]]
		each := RDMARate{Expected: expected[i], Low: expected[i] * l.low, Element: "one " + l.element, Formula: l.formula}
		for _, l := range limits {
			if slices.Contains(l.of, i) && (each.Bound == 0 || l.bound < each.Bound) {
				each.Bound = l.bound
			}
		}
		if len(load.which(func(g RDMAFunction) bool { return g.Port == f.Port })) == 1 {
			each.Low = min(each.Low, shareLow*load.PortGbps*load.room()/float64(max(f.Sharers, 1)))
		}
		each.High = each.Bound
		rates.Each = append(rates.Each, each)
	}
	rates.Total = together(limits, rates.Each)
	return rates, true
}

// RDMAPayload is the path MTU of RoCE over interfaces of an MTU, both bytes; 0 where it is too small for any. The kernel takes
// off the longest headers, 96 bytes, and InfiniBand knows five path MTUs (Linux, include/rdma/ib_addr.h, iboe_get_mtu).
func RDMAPayload(mtu int) int {
	const headers = 96
	for _, path := range []int{4096, 2048, 1024, 512, 256} {
		if mtu-headers >= path {
			return path
		}
	}
	return 0
}

// limit is a port or a link, and the functions that share it, by their index.
type limit struct {
	isPort          bool
	bound, expected float64 // Gb/s
	low             float64 // share of expected that is still healthy
	element         string
	formula         string
	of              []int
}

// limits lists the ports, then the links.
func (load RDMALoad) limits() (all []limit, ok bool) {
	if len(load.Functions) == 0 || !(load.PortGbps > 0) || math.IsInf(load.PortGbps, 0) || load.PathMTU < 256 {
		return nil, false
	}
	var links []limit
	for i, f := range load.Functions {
		raw := RawRate(f.Speed, f.Width) * bitsPerByte
		if raw == 0 {
			return nil, false
		}
		if of := load.which(func(g RDMAFunction) bool { return g.Port == f.Port }); of[0] == i {
			all = append(all, load.port(of))
		}
		if of := load.which(func(g RDMAFunction) bool { return g.Link == f.Link }); of[0] == i {
			links = append(links, load.link(raw, f, of))
		}
	}
	return append(all, links...), true
}

// which lists the functions with a property.
func (load RDMALoad) which(has func(RDMAFunction) bool) (of []int) {
	for i, f := range load.Functions {
		if has(f) {
			of = append(of, i)
		}
	}
	return of
}

// room is the share of an Ethernet port that payload takes.
func (load RDMALoad) room() float64 {
	return float64(load.PathMTU) / float64(load.PathMTU+roceHeaders)
}

func (load RDMALoad) port(of []int) limit {
	rate := load.PortGbps * load.room()
	return limit{
		isPort: true, bound: rate * (1 + clockTolerance), expected: rate, low: portLow, of: of,
		element: fmt.Sprintf("Ethernet port of %g Gb/s", load.PortGbps),
		formula: fmt.Sprintf("%g Gb/s x %d/%d of packets", load.PortGbps, load.PathMTU, load.PathMTU+roceHeaders),
	}
}

// link is the PCIe link of a function that carries raw Gb/s after its line code.
func (load RDMALoad) link(raw float64, f RDMAFunction, of []int) limit {
	tlp := load.TLP
	if tlp <= 0 {
		tlp = usualTLP
	}
	bound := raw * float64(tlp) / float64(tlp+tlpHeaders)
	return limit{
		bound: bound, expected: bound * linkReached, low: linkLow, of: of,
		element: fmt.Sprintf("PCIe link of %g GT/s x%d", f.Speed, f.Width),
		formula: fmt.Sprintf("%g GT/s x %d lanes x %.4g of line code x %d/%d of packets", f.Speed, f.Width, lineCode(f.Speed), tlp, tlp+tlpHeaders),
	}
}

// evenly shares the limits among functions: all rise together until one of their limits is full, then the rest go on
// (max-min fairness). by is the limit that stops each.
func evenly(limits []limit, functions int) (rates []float64, by []int) {
	rates, by = make([]float64, functions), make([]int, functions)
	stopped := make([]bool, functions)
	left := make([]float64, len(limits))
	for i, l := range limits {
		left[i] = l.expected
	}
	for range limits {
		tight, rise := -1, math.Inf(1)
		for i, l := range limits {
			n := 0
			for _, f := range l.of {
				if !stopped[f] {
					n++
				}
			}
			if n > 0 && left[i]/float64(n) < rise {
				tight, rise = i, left[i]/float64(n)
			}
		}
		if tight < 0 {
			break
		}
		for i, l := range limits {
			for _, f := range l.of {
				if !stopped[f] {
					left[i] -= rise
				}
			}
		}
		for f := range rates {
			if !stopped[f] {
				rates[f] += rise
			}
		}
		for _, f := range limits[tight].of {
			if !stopped[f] {
				stopped[f], by[f] = true, tight
			}
		}
	}
	return rates, by
}

// together is the rate of all functions. Its bound is the least that separates memory from the wire: some of the ports, and
// the links of the functions on the others.
func together(limits []limit, each []RDMARate) (sum RDMARate) {
	var ports, links []limit
	for _, l := range limits {
		if l.isPort {
			ports = append(ports, l)
		} else {
			links = append(links, l)
		}
	}
	sum.Bound = math.Inf(1)
	for chosen := range 1 << min(len(ports), maxPorts) {
		var cut []limit
		cutOff := map[int]bool{}
		for i, p := range ports {
			if chosen>>i&1 == 1 {
				cut = append(cut, p)
				for _, f := range p.of {
					cutOff[f] = true
				}
			}
		}
		for _, l := range links {
			if slices.ContainsFunc(l.of, func(f int) bool { return !cutOff[f] }) {
				cut = append(cut, l)
			}
		}
		bound := 0.0
		for _, l := range cut {
			bound += l.bound
		}
		if bound < sum.Bound {
			sum.Bound, sum.Element, sum.Formula = bound, named(cut), formulas(cut)
		}
	}
	for _, e := range each {
		sum.Expected, sum.Low = sum.Expected+e.Expected, sum.Low+e.Low
	}
	sum.High = sum.Bound
	return sum
}

// maxPorts bounds the ports of a machine whose subsets are tried.
const maxPorts = 10

// named lists elements with how many there are of each.
func named(of []limit) string {
	var names []string
	count := map[string]int{}
	for _, l := range of {
		if count[l.element]++; count[l.element] == 1 {
			names = append(names, l.element)
		}
	}
	for i, name := range names {
		names[i] = "one " + name
		if n := count[name]; n > 1 {
			kind, rest, _ := strings.Cut(name, " of ")
			names[i] = fmt.Sprintf("%d %ss of %s", n, kind, rest)
		}
	}
	return strings.Join(names, " and ")
}

// formulas adds the formulas of elements.
func formulas(of []limit) string {
	var terms []string
	count := map[string]int{}
	for _, l := range of {
		if count[l.formula]++; count[l.formula] == 1 {
			terms = append(terms, l.formula)
		}
	}
	for i, term := range terms {
		if n := count[term]; n > 1 {
			terms[i] = fmt.Sprintf("%d x %s", n, term)
		}
	}
	return strings.Join(terms, " + ")
}
