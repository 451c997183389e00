package eos

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// eosWords is a line with single blanks, and the word that people shorten when they type it in full.
func eosWords(c string) string {
	f := strings.Fields(c)
	if len(f) > 1 && len(f[0]) >= 3 && strings.HasPrefix("interface", f[0]) {
		f[0] = "interface"
	}
	return strings.Join(f, " ")
}

// eosFirst reports whether a line begins with one of some words.
func eosFirst(c string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return c == w || strings.HasPrefix(c, w+" ") })
}

// eosNot takes the negation from a line: `no` removes a setting and `default` gives it its default, which for the settings
// that are read here is the same.
func eosNot(c string) (rest string, not bool) {
	for _, w := range []string{"no ", "default "} {
		if r, ok := strings.CutPrefix(c, w); ok {
			return r, true
		}
	}
	return c, false
}

var eosInterface = pattern.Plain(`(?i)^(ethernet|eth|et|port-channel|po|vlan|vl|loopback|lo|management|ma|vxlan|vx|tunnel|tu|recirc-channel) ?(\d[\d/,.$ -]*)$`)

var kinds = map[string]string{
	"ethernet": "Ethernet", "eth": "Ethernet", "et": "Ethernet", "port-channel": "Port-Channel", "po": "Port-Channel", "vlan": "Vlan", "vl": "Vlan",
	"loopback": "Loopback", "lo": "Loopback", "management": "Management", "ma": "Management", "vxlan": "Vxlan", "vx": "Vxlan", "tunnel": "Tunnel", "tu": "Tunnel",
	"recirc-channel": "Recirc-Channel",
}

// interfaces returns the kind and the numbers of an interface or a range such as Ethernet1/1-4,5/1 as EOS prints it.
// A range counts in the last number; one across the first number keeps the rest, as 1/1-4/1 does.
func interfaces(name string) (kind string, numbers []string, ok bool) {
	m := eosInterface().FindStringSubmatch(name)
	if m == nil {
		return "", nil, false
	}
	for _, part := range strings.Split(strings.ReplaceAll(m[2], " ", ""), ",") {
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			if part == "" || strings.ContainsAny(part, "$") {
				return "", nil, false
			}
			numbers = append(numbers, part)
			continue
		}
		more, good := eosRange(from, to)
		if !good {
			return "", nil, false
		}
		numbers = append(numbers, more...)
	}
	return kinds[strings.ToLower(m[1])], numbers, len(numbers) > 0
}

const mostPorts = 4096 // in one range: more than any switch has, less than a typing error can cost

func eosRange(from, to string) ([]string, bool) {
	a, b := strings.Split(from, "/"), strings.Split(to, "/")
	i := len(a) - 1 // the number that is counted
	if len(b) == len(a) {
		for j := range a {
			if a[j] != b[j] {
				i = j
				break
			}
		}
		if !slices.Equal(a[i+1:], b[i+1:]) {
			return nil, false
		}
	} else if len(b) != 1 {
		return nil, false
	} else {
		b = append(slices.Clone(a[:i]), b[0])
	}
	lo, err := strconv.Atoi(a[i])
	hi, err2 := strconv.Atoi(b[i])
	if err != nil || err2 != nil || lo > hi || hi-lo >= mostPorts {
		return nil, false
	}
	var out []string
	for n := lo; n <= hi; n++ {
		c := slices.Clone(a)
		c[i] = strconv.Itoa(n)
		out = append(out, strings.Join(c, "/"))
	}
	return out, true
}

// dscpNames are the names of DSCP values (RFC 2474, 2597, 3246).
var dscpNames = map[string]int{
	"be": 0, "default": 0, "cs0": 0, "cs1": 8, "cs2": 16, "cs3": 24, "cs4": 32, "cs5": 40, "cs6": 48, "cs7": 56, "ef": 46, "va": 44,
	"af11": 10, "af12": 12, "af13": 14, "af21": 18, "af22": 20, "af23": 22, "af31": 26, "af32": 28, "af33": 30, "af41": 34, "af42": 36, "af43": 38,
}

// eosNumbers reads a list of numbers up to most: blanks or commas between them, and ranges.
func eosNumbers(list string, most int) (out []int, ok bool) {
	for _, f := range strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }) {
		from, to, ranged := strings.Cut(f, "-")
		lo, good := eosNumber(from, most)
		hi := lo
		if ranged && good {
			hi, good = eosNumber(to, most)
		}
		if !good || lo > hi {
			return nil, false
		}
		for n := lo; n <= hi; n++ {
			out = append(out, n)
		}
	}
	return out, len(out) > 0
}

func eosNumber(s string, most int) (int, bool) {
	if n, ok := dscpNames[s]; ok && most == 63 {
		return n, true
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n >= 0 && n <= most && s[0] != '+'
}
