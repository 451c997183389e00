package draw

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// generation names a PCIe speed in GT/s as people do; an unknown speed is empty.
func generation(speed float64) string {
	for i, s := range [...]float64{2.5, 5, 8, 16, 32, 64, 128} { // PCIe 1.0 to 7.0
		if speed == s {
			return "Gen" + strconv.Itoa(i+1)
		}
	}
	if speed <= 0 {
		return ""
	}
	return fmt.Sprintf("%g GT/s", speed)
}

// linkName writes Gen5 x16, as far as it is known.
func linkName(speed float64, width int) string {
	gen := generation(speed)
	switch {
	case gen == "" && width <= 0:
		return "link unknown"
	case gen == "":
		return fmt.Sprintf("x%d, speed unknown", width)
	case width <= 0:
		return gen + ", width unknown"
	default:
		return fmt.Sprintf("%s x%d", gen, width)
	}
}

// linkWords adds the rate one way: Gen5 x16 63.0 GB/s.
func linkWords(speed float64, width int) string {
	if rate := topology.RawRate(speed, width); rate > 0 {
		return fmt.Sprintf("%s %.1f GB/s", linkName(speed, width), rate)
	}
	return linkName(speed, width)
}

// training is how the link above a device runs, against what both its ends can.
type training uint8

const (
	trained    training = iota // as fast as it can, or nothing else is known
	atRest                     // a GPU at Gen1: it trains down while it has nothing to do
	downgraded                 // slower or narrower than it can
)

func trainingOf(d topology.Device) training {
	slower := d.Speed > 0 && d.Speed < d.MaxSpeed
	narrower := d.Width > 0 && d.Width < d.MaxWidth
	switch {
	case narrower || slower && !(d.IsGPU() && d.Speed == 2.5):
		return downgraded
	case slower:
		return atRest
	default:
		return trained
	}
}

// trainedWords is linkWords with what the link could be.
func trainedWords(d topology.Device) string {
	text := linkWords(d.Speed, d.Width)
	most := linkWords(cmp.Or(d.MaxSpeed, d.Speed), cmp.Or(d.MaxWidth, d.Width))
	switch trainingOf(d) {
	case downgraded:
		return text + ", DOWNGRADED from " + most
	case atRest:
		return text + " at rest, of " + most
	default:
		return text
	}
}

// rateWords writes a line rate in Mb/s as 400 Gb/s.
func rateWords(mbps int) string {
	switch {
	case mbps <= 0:
		return "rate unknown"
	case mbps < 1000:
		return fmt.Sprintf("%d Mb/s", mbps)
	default:
		return fmt.Sprintf("%g Gb/s", float64(mbps)/1000)
	}
}

// cpuWords names a NUMA node and its CPU.
func cpuWords(c topology.CPU) string {
	text := "NUMA node unknown"
	if c.NUMA >= 0 {
		text = fmt.Sprintf("NUMA %d", c.NUMA)
	}
	var kind []string
	for _, word := range []string{c.Arch, c.Vendor} {
		if word != "" {
			kind = append(kind, fabric.Printable(strings.TrimSpace(word)))
		}
	}
	if c.Family > 0 {
		kind = append(kind, fmt.Sprintf("family %d model %d", c.Family, c.Model))
	}
	if len(kind) == 0 {
		return text
	}
	return text + ": " + strings.Join(kind, " ")
}

func gpuLabel(g topology.GPU) string { return "GPU" + strconv.Itoa(g.Index) }
func nicLabel(n topology.NIC) string { return "NIC" + strconv.Itoa(n.Index) }

// scaleUpWords says in one line what joins the GPUs beside PCIe; GPUs that are alike are named together.
func scaleUpWords(m *topology.Machine) string {
	label := map[string]string{}
	for _, g := range m.GPUs {
		label[g.Bus] = gpuLabel(g)
	}
	var kinds []string
	like := map[string][]string{}
	for _, g := range m.GPUs {
		for _, words := range linkBundles(g, label) {
			if like[words] == nil {
				kinds = append(kinds, words)
			}
			like[words] = append(like[words], gpuLabel(g))
		}
	}
	if len(kinds) == 0 {
		return "No NVLink or XGMI between the GPUs is known."
	}
	for i, words := range kinds {
		kind, what, _ := strings.Cut(words, ": ")
		each := ""
		if len(like[words]) > 1 {
			each = "each of "
		}
		kinds[i] = fmt.Sprintf("%s: %s%s has %s", kind, each, Names(like[words], 8), what)
	}
	return strings.Join(kinds, "; ") + "."
}

// linkBundles describes the scale-up links of one GPU: NVLink: 18 links to NVSwitches.
func linkBundles(g topology.GPU, label map[string]string) []string {
	toSwitch, toCPU, toElse := 0, 0, 0
	direct, xgmi := map[string]int{}, false
	for _, l := range g.Links {
		peer, known := label[l.Target]
		switch {
		case l.Class == topology.ClassNVSwitch:
			toSwitch += l.Count
		case l.Class == topology.ClassLinkedCPU:
			toCPU += l.Count
		case known:
			direct[peer] += l.Count
			xgmi = xgmi || l.XGMI
		default:
			toElse += l.Count
		}
	}
	kind := "NVLink"
	if xgmi {
		kind = "XGMI"
	}
	var words []string
	if toSwitch > 0 {
		words = append(words, "NVLink: "+fabric.Count(toSwitch, "link")+" to NVSwitches")
	}
	if len(direct) > 0 {
		words = append(words, kind+": "+directWords(direct, len(label)-1))
	}
	if toCPU > 0 {
		words = append(words, "NVLink: "+fabric.Count(toCPU, "link")+" to its CPU")
	}
	if toElse > 0 {
		words = append(words, kind+": "+fabric.Count(toElse, "link")+" to what is not in the tree")
	}
	if g.C2C != nil {
		words = append(words, fmt.Sprintf("NVLink-C2C: %s to its CPU, %g GB/s", fabric.Count(g.C2C.Count, "link"), float64(g.C2C.Count*g.C2C.MBytes)/1000))
	}
	return words
}

// directWords names the peers of a GPU's links; all others are not named one by one.
func directWords(direct map[string]int, others int) string {
	var peers []string
	most, least := 0, 0
	for peer, n := range direct {
		peers = append(peers, peer)
		if most == 0 {
			least = n
		}
		most, least = max(most, n), min(least, n)
	}
	slices.SortFunc(peers, Natural)
	switch {
	case most != least:
		for i, peer := range peers {
			peers[i] = fmt.Sprintf("%d to %s", direct[peer], peer)
		}
		return "links " + strings.Join(peers, ", ")
	case len(peers) == others:
		return fabric.Count(most, "link") + " to every other GPU"
	default:
		return fabric.Count(most, "link") + " to " + Names(peers, 8)
	}
}

// bond is a GPU with the NICs that are to it alike; none where it has none.
type bond struct {
	topology.Pair
	nics []topology.MatrixDevice
}

// bondsOf puts the pairs of a GPU together whose distance and cost are the same. GPUs without a NIC come
// first, then those whose NIC is far, dearest first, one of unknown cost before all; then the others as they
// come.
func bondsOf(pairs []topology.Pair) []bond {
	var all []bond
	for _, p := range pairs {
		same := func(b bond) bool {
			return p.NIC != nil && b.NIC != nil && b.GPU == p.GPU && b.Hop == p.Hop && b.Near == p.Near && costWords(b.Pair) == costWords(p)
		}
		i := slices.IndexFunc(all, same)
		if i < 0 {
			all, i = append(all, bond{Pair: p}), len(all)
		}
		if p.NIC != nil {
			all[i].nics = append(all[i].nics, *p.NIC)
		}
	}
	slices.SortStableFunc(all, func(a, b bond) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.loss(), a.loss()))
	})
	return all
}

func (b bond) class() int {
	switch {
	case b.NIC == nil:
		return 0
	case !b.Near:
		return 1
	default:
		return 2
	}
}

// loss is for sorting only.
func (b bond) loss() float64 {
	switch {
	case b.Near && b.Why == "":
		return 0
	case b.LossGBs == nil:
		return math.Inf(1)
	default:
		return *b.LossGBs
	}
}

// nicCell names the NICs of a bond; one of them with the name of its device.
func (b bond) nicCell() string {
	if len(b.nics) == 1 && b.nics[0].Name != "" && b.nics[0].Name != b.nics[0].Label {
		return fabric.Printable(b.nics[0].Label + " " + b.nics[0].Name)
	}
	return cmp.Or(deviceNames(b.nics), "none")
}

func (b bond) withWords() string {
	if b.NIC == nil {
		return "without a NIC"
	}
	return "with " + b.nicCell()
}

func deviceNames(devices []topology.MatrixDevice) string {
	var names []string
	for _, d := range devices {
		names = append(names, fabric.Printable(d.Label))
	}
	return Names(names, 0)
}

// costWords is what a GPU loses and why; empty for one that loses nothing.
func costWords(p topology.Pair) string {
	why := fabric.Printable(p.Why)
	switch {
	case p.LossGBs != nil && *p.LossGBs > 0:
		return strings.TrimSuffix(fmt.Sprintf("loses %.1f GB/s: %s", *p.LossGBs, why), ": ")
	case why == "" && p.NIC == nil:
		return "its loss is unknown"
	case why == "" && p.Limit != nil:
		return fmt.Sprintf("limited to %.1f GB/s by the PCIe link of %s", p.Limit.GBs, fabric.Printable(p.Limit.Bus))
	default:
		return why
	}
}

// nearCount counts GPUs, and those with a near NIC.
func nearCount(pairs []topology.Pair) (near, all int) {
	gpus := map[topology.MatrixDevice]bool{}
	for _, p := range pairs {
		gpus[p.GPU] = gpus[p.GPU] || p.NIC != nil && p.Near
	}
	for _, ok := range gpus {
		if ok {
			near++
		}
	}
	return near, len(gpus)
}
