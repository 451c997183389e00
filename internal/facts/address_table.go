package facts

import (
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// addressTool are addresses and cables as people write them down, brought into lines of one form:
//
//	address enp1s0f0np0 10.100.178.2
//	cable p0 03 p0
const addressTool = "address table"

// tableRow is such a line and its host.
type tableRow struct{ host, line string }

// addressTable follows a table in Markdown whose columns are interfaces: | node | enp1s0f0np0 | enP2p1s0f0np0 |.
type addressTable struct{ columns []string }

var (
	// "A f0 10.99.3.1 <-> C f1 10.99.3.2"
	ringLine = pattern.New(`^[-*\s]*([A-Za-z][\w-]{0,30})[ .:](f[01]|p[01]|port[ ]?[01])\s+([0-9.]+(?:/[0-9]{1,2})?)\s*(?:<-+>|-+>|↔|=)\s*([A-Za-z][\w-]{0,30})[ .:](f[01]|p[01]|port[ ]?[01])\s+([0-9.]+(?:/[0-9]{1,2})?)`)
	// "01-p0<->03-p0" and "`node-a.port0` -> `node-b.port1`", several in a line
	cableText = pattern.New("`?([A-Za-z0-9][\\w-]{0,30}?)[-.: ](?:p|port|port )([01])`?\\s*(?:<-+>|-+>|↔|–)\\s*`?([A-Za-z0-9][\\w-]{0,30}?)[-.: ](?:p|port|port )([01])\\b")
	// "spark1 enp1s0f1np1 192.168.100.10/24, enP2p1s0f1np1 192.168.101.10"
	hostAddresses = pattern.New(`^[-*\s]*([A-Za-z][\w-]{0,30}):?\s+(en[\w]{2,13}:?\s+[0-9]+\.[0-9.]+(?:/[0-9]{1,2})?.*)$`)
	// "sudo ip addr add 192.168.100.10/24 dev enp1s0f0np0", of guides and of people who tell what they typed (ip-address(8))
	addressAdd = pattern.New(`\bip (?:-4 )?a(?:ddr|ddress)? (?:add|replace) ([0-9.]+(?:/[0-9]{1,2})?) (?:brd \S+ )?dev (en[A-Za-z0-9]{2,13})\b`)
	nicAddress = pattern.New(`\b(en[A-Za-z0-9]{2,13}):?\s+([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+(?:/[0-9]{1,2})?)`)
)

// interfaceSign is before the name of an interface.
const interfaceSign = " en"

// joints are what people put between the names of two ends beside arrows.
var joints = []string{"↔", "–"}

// line returns what a line says; nil: it is none of these. may is what lineSigns find in it.
func (t *addressTable) line(line string, may *pattern.Members) []tableRow {
	text := strings.TrimSpace(line)
	if strings.HasPrefix(text, "|") {
		return t.row(text)
	}
	t.columns = nil
	if isAddressRow(text) {
		return nil
	}
	if strings.HasPrefix(text, "#") {
		return nil
	}
	if isJoined(text, may) {
		return cableRows(text)
	}
	if !may.Has(lineSigns().address) || !strings.Contains(text, interfaceSign) {
		return nil
	}
	if m := addressAdd().FindStringSubmatch(text); m != nil {
		return []tableRow{{"", "address " + m[2] + " " + m[1]}} // of the host that a prompt or a heading names
	}
	m := hostAddresses().FindStringSubmatch(text)
	if m == nil || isPredictable(m[1]) {
		return nil
	}
	var rows []tableRow
	for _, pair := range nicAddress().FindAllStringSubmatch(m[2], -1) {
		rows = append(rows, tableRow{m[1], "address " + pair[1] + " " + pair[2]})
	}
	return rows
}

// isJoined reports whether a line has an arrow or a dash between two names. All lines that nobody claims come here, and few have
// the bytes of these.
func isJoined(text string, may *pattern.Members) bool {
	return strings.IndexByte(text, '>') >= 0 && strings.Contains(text, "->") || strings.IndexByte(text, '<') >= 0 && strings.Contains(text, "<-") ||
		may.Has(lineSigns().joined) && slices.ContainsFunc(joints, func(joint string) bool { return strings.Contains(text, joint) })
}

// cableRows reads a line that joins ports of hosts.
func cableRows(text string) []tableRow {
	if m := ringLine().FindStringSubmatch(text); m != nil {
		a, b := "p"+last(m[2]), "p"+last(m[5])
		return []tableRow{
			{m[1], "address " + a + " " + m[3]}, {m[1], "cable " + a + " " + m[4] + " " + b},
			{m[4], "address " + b + " " + m[6]}, {m[4], "cable " + b + " " + m[1] + " " + a},
		}
	}
	var rows []tableRow
	for _, m := range cableText().FindAllStringSubmatch(text, -1) {
		a, b := "p"+m[2], "p"+m[4]
		rows = append(rows, tableRow{m[1], "cable " + a + " " + m[3] + " " + b}, tableRow{m[3], "cable " + b + " " + m[1] + " " + a})
	}
	return rows
}

func last(text string) string { return text[len(text)-1:] }

// row reads a line of a table: its head, the rule below it, or a host.
func (t *addressTable) row(text string) []tableRow {
	cells := strings.Split(strings.Trim(text, "|"), "|")
	for i := range cells {
		cells[i] = strings.Trim(cells[i], " *`")
	}
	interfaces := 0
	for _, c := range cells {
		if strings.HasPrefix(c, "en") && isInterfaceName(c) {
			interfaces++
		}
	}
	if interfaces > 0 && len(cells) > 1 {
		t.columns = cells
		return []tableRow{}
	}
	if len(t.columns) == 0 || len(cells) != len(t.columns) {
		return nil
	}
	host, _, _ := strings.Cut(cells[0], " ")
	rows := []tableRow{}
	for i := 1; i < len(cells); i++ {
		if _, ok := tableAddress(cells[i]); ok && isInterfaceName(t.columns[i]) && host != "" {
			rows = append(rows, tableRow{host, "address " + t.columns[i] + " " + cells[i]})
		}
	}
	return rows
}

// tableAddress reads an address with or without its mask, which is 0 bits where it is not there.
func tableAddress(text string) (netip.Prefix, bool) {
	if p, err := netip.ParsePrefix(text); err == nil {
		return p, p.Addr().Is4()
	}
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is4() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(a, 32), true
}

var addressRow = pattern.New(`^(?:address \S+ [0-9.]+(?:/[0-9]{1,2})?|cable p[01] \S+ p[01])$`)

func isAddressRow(line string) bool {
	return (strings.HasPrefix(line, "address ") || strings.HasPrefix(line, "cable ")) && addressRow().MatchString(strings.TrimSpace(line))
}

func knowsAddressList(text string) bool {
	return hasLine(text, isAddressRow)
}

// parseAddressList reads the lines of one host. An address without its mask stands as one of 32 bits.
func parseAddressList(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		switch {
		case len(words) == 3 && words[0] == "address" && isInterfaceName(words[1]):
			p, ok := tableAddress(words[2])
			if !ok {
				continue
			}
			f.NICs = append(f.NICs, fabric.NIC{Name: words[1], Addresses: []netip.Prefix{p}})
		case len(words) == 4 && words[0] == "cable":
			f.LLDP = append(f.LLDP, fabric.LLDPNeighbour{NIC: words[1], System: fabric.Printable(words[2]), Port: words[3], Source: "text"})
		}
	}
	if len(f.NICs)+len(f.LLDP) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
