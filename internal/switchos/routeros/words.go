package routeros

import (
	"strconv"
	"strings"
)

// yes reads a boolean value; ok is false for anything else.
func yes(value string) (is, ok bool) {
	switch value {
	case "yes", "true", "on":
		return true, true
	case "no", "false", "off":
		return false, true
	}
	return false, false
}

// number reads a whole number from least to most.
func number(value string, least, most int) (int, bool) {
	n, err := strconv.Atoi(value)
	return n, err == nil && n >= least && n <= most && value[0] != '+'
}

// numbers reads a list such as 1,3-4 of numbers up to most.
func numbers(value string, most int) (out []int, ok bool) {
	for part := range strings.SplitSeq(value, ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		lo, okLo := number(from, 0, most)
		hi, okHi := number(to, 0, most)
		if !okLo || !okHi || lo > hi {
			return nil, false
		}
		if len(out) > 4*most { // nobody writes the same numbers so often
			return nil, false
		}
		for n := lo; n <= hi; n++ {
			out = append(out, n)
		}
	}
	return out, len(out) > 0
}

// link is what a speed such as 200G-baseCR4 says.
type link struct {
	gbps  float64
	lanes int // of the cage; 0: the word does not tell
}

// linkOf reads a speed of RouterOS: 200G-baseCR4, 100G-baseSR4-LR4, 2.5G-baseT, 10M-baseT-full, and before 7.12 100Gbps.
func linkOf(word string) (link, bool) {
	rate, kind, based := strings.Cut(word, "-base")
	gbps, ok := gigabits(rate)
	if !ok || !based && !strings.HasSuffix(rate, "bps") {
		return link{}, false
	}
	l := link{gbps: gbps}
	first, _, _ := strings.Cut(kind, "-")
	for _, medium := range []string{"CR", "SR", "LR", "DR", "FR"} {
		digits, found := strings.CutPrefix(first, medium)
		if !found {
			continue
		}
		if l.lanes = 1; digits != "" {
			if l.lanes, ok = number(digits, 1, 16); !ok {
				return link{}, false
			}
		}
	}
	return l, true
}

// gigabits reads a rate with its unit, 200.0Gbps, 200G, 2500M or 100Mbps, in Gb/s. Without a unit it is bits a second.
func gigabits(word string) (float64, bool) {
	word = strings.TrimSuffix(word, "bps")
	scale := 1e-9
	for _, u := range []struct {
		unit  string
		scale float64
	}{{"G", 1}, {"M", 1e-3}, {"k", 1e-6}} {
		if rest, found := strings.CutSuffix(word, u.unit); found {
			word, scale = rest, u.scale
			break
		}
	}
	n, err := strconv.ParseFloat(word, 64)
	return n * scale, err == nil && n >= 0 && n*scale <= 1e5 && word[0] != '+' && word[0] != '-'
}

// cage is where an interface sits: one of the lanes of a QSFP cage. RouterOS has an interface for each lane, and a link of
// several lanes is that of its first (MikroTik manual, wired interface compatibility).
type cage struct {
	name  string // such as qsfp56-dd-1
	lane  int    // 1-based
	lanes int    // of the cage
}

// cageOf reads qsfp56-dd-1-5, qsfp56-1-1, qsfp28-1-3 or qsfpplus1-1.
func cageOf(port string) (cage, bool) {
	i := strings.LastIndexByte(port, '-')
	if !strings.HasPrefix(port, "qsfp") || i < 0 {
		return cage{}, false
	}
	c := cage{name: port[:i], lanes: 4}
	if strings.Contains(c.name, "-dd-") {
		c.lanes = 8
	}
	lane, ok := number(port[i+1:], 1, c.lanes)
	if last := c.name[len(c.name)-1]; !ok || last < '0' || last > '9' {
		return cage{}, false
	}
	c.lane = lane
	return c, true
}

// over reports whether a link takes more lanes than the cage of a port has from its first on.
func (l link) over(port string) bool {
	c, ok := cageOf(port)
	return ok && c.lane-1+l.lanes > c.lanes
}

// physical reports whether a name is one that RouterOS gives to a port of a switch.
func physical(name string) bool {
	for _, kind := range []string{"ether", "sfp", "qsfp", "combo"} {
		if rest, ok := strings.CutPrefix(name, kind); ok && rest != "" && strings.ContainsAny(rest[len(rest)-1:], "0123456789") {
			return true
		}
	}
	return false
}
