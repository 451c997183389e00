package sonic

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// sonicPort is the name of a port, not of a group of ports, a VLAN or a part of a port with a tag.
var sonicPort = pattern.Plain(`^Eth(?:ernet)?[-A-Za-z]*\d[\w/:-]*$`)

func physical(name string) bool { return sonicPort().MatchString(name) }

// portsIn returns the ports of a key, which was a list in SONiC until 2021.
func portsIn(key string) []string {
	if !strings.Contains(key, ",") {
		return []string{key}
	}
	var out []string
	for _, name := range strings.Split(key, ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	return out
}

// findPorts lists the ports in the order of the text: those of PORT, and where it was not read, those that other tables name.
func (r *reader) findPorts() {
	for _, row := range r.db.rowsOf("PORT") {
		r.port(row.key, row.at)
	}
	known := len(r.ports) > 0 && r.db.complete("PORT")
	told := make(map[string]bool)
	add := func(name, table string, at fabric.Line) {
		switch {
		case !physical(name) || r.byName[name] != nil:
		case !known:
			r.port(name, at)
		case !told[name]:
			told[name] = true
			r.problem(fabric.TextUndefined, name, at, fmt.Sprintf("%s names the port %s, which PORT has not", table, name), "the row has no effect")
		}
	}
	for _, table := range []string{"PORT_QOS_MAP", "QUEUE", "PFC_WD", "BUFFER_PG", "BUFFER_QUEUE", "INTERFACE"} {
		for _, row := range r.db.rowsOf(table) {
			names, ok := r.keyPorts(table, row.key)
			for _, name := range names {
				if ok {
					add(name, table, row.at)
				}
			}
		}
	}
	for _, row := range r.db.rowsOf("VLAN_MEMBER") {
		if _, name, ok := strings.Cut(row.key, "|"); ok {
			add(name, "VLAN_MEMBER", row.at)
		}
	}
}

func (r *reader) port(name string, at fabric.Line) {
	p := &fabric.PortConfig{Name: name, At: at}
	r.ports, r.byName[name] = append(r.ports, p), p
}

// keyPorts returns the ports of a row. A key of four parts is of a chassis, where the switch has rows for the ports of the
// other line cards too: ok is false for those.
func (r *reader) keyPorts(table, key string) (names []string, ok bool) {
	parts := strings.Split(key, "|")
	if len(parts) >= 4 && (table == "QUEUE" || table == "BUFFER_QUEUE") {
		return portsIn(parts[2]), strings.EqualFold(parts[0]+"|"+parts[1], r.ownCard())
	}
	return portsIn(parts[0]), true
}

// ownCard is the line card that the texts are of, as host|asic. Where they do not say it, it is the one with the most rows.
func (r *reader) ownCard() string {
	if r.card != "" {
		return r.card
	}
	local := r.db.row("DEVICE_METADATA", "localhost")
	host, asic := local.get("hostname"), local.get("asic_name")
	count := make(map[string]int)
	for _, row := range r.db.rowsOf("QUEUE") {
		if parts := strings.Split(row.key, "|"); len(parts) == 4 {
			if (host == nil || strings.EqualFold(host.value, parts[0])) && (asic == nil || strings.EqualFold(asic.value, parts[1])) {
				count[parts[0]+"|"+parts[1]]++
			}
		}
	}
	r.card = "none"
	for card, n := range count {
		if n > count[r.card] || n == count[r.card] && card < r.card {
			r.card = card
		}
	}
	return r.card
}

// number reads a field as a number between two bounds; a wrong one is a problem.
func (r *reader) number(f *sonicField, port string, least, most int64) *fabric.Said[int64] {
	if f == nil {
		return nil
	}
	v, err := strconv.ParseInt(strings.TrimSpace(f.value), 10, 64)
	if err != nil || v < least || v > most {
		if r.told(f) {
			return nil
		}
		r.problem(fabric.TextRange, port, f.at, fmt.Sprintf("%s is %q, not a number from %d to %d", f.name, short(f.value), least, most),
			"SONiC refuses it, or it has no effect")
		return nil
	}
	return said(v, f.at)
}

func (r *reader) small(f *sonicField, port string, least, most int64) *fabric.Said[int] {
	if v := r.number(f, port, least, most); v != nil {
		return said(int(v.Is), v.At)
	}
	return nil
}

// portRows reads what PORT, CABLE_LENGTH, BREAKOUT_CFG and INTERFACE say of each port.
func (r *reader) portRows() {
	for _, p := range r.ports {
		row := r.db.row("PORT", p.Name)
		if row == nil {
			continue
		}
		if p.MTU = r.small(row.get("mtu"), p.Name, 68, MaxMTU); p.MTU == nil && row.get("mtu") == nil && row.closed {
			p.MTU = byDefault(9100, "MTU 9100 (sonic-swss, cfgmgr/portmgr.h, DEFAULT_MTU_STR)")
		}
		if v := r.number(row.get("speed"), p.Name, 1, 1600000); v != nil {
			p.RateGbps = said(float64(v.Is)/1000, v.At)
		}
		p.Up = r.up(row, p.Name)
		if f := row.get("fec"); f != nil {
			p.FEC = said(strings.ToLower(f.value), f.at)
		}
	}
	r.cables()
	r.breakouts()
	for _, row := range r.db.rowsOf("INTERFACE") {
		r.address(row)
	}
}

func (r *reader) up(row *sonicRow, port string) *fabric.Said[bool] {
	f := row.get("admin_status")
	switch {
	case f == nil && row.closed:
		return byDefault(false, "admin_status down (sonic-port.yang; sonic-swss, cfgmgr/portmgr.h, DEFAULT_ADMIN_STATUS_STR)")
	case f == nil:
		return nil
	case f.value != "up" && f.value != "down":
		r.problem(fabric.TextForeign, port, f.at, fmt.Sprintf("admin_status is %q, neither up nor down", f.value), "")
		return nil
	}
	return said(f.value == "up", f.at)
}

func (r *reader) cables() {
	for _, row := range r.db.rowsOf("CABLE_LENGTH") {
		for i := range row.fields {
			f := row.fields[i]
			p := r.byName[f.name]
			if p == nil || f.value == "None" { // which the buffer daemon passes over (cfgmgr/buffermgr.cpp, doCableTask)
				continue
			}
			f.name, f.value = "CABLE_LENGTH of "+f.name, strings.TrimSuffix(f.value, "m")
			p.CableM = r.small(&f, p.Name, 0, 1_000_000)
		}
	}
}

// address reads a row of INTERFACE: a port that is routed, or one of its addresses.
func (r *reader) address(row *sonicRow) {
	name, text, ok := strings.Cut(row.key, "|")
	p := r.byName[name]
	if p == nil {
		return
	}
	r.routed[name] = row.at
	if !ok {
		return
	}
	if a := r.prefix(text, name, row.at); a != nil {
		p.Addresses = append(p.Addresses, *a)
	}
}

func (r *reader) prefix(text, port string, at fabric.Line) *fabric.Said[netip.Prefix] {
	a, err := netip.ParsePrefix(text)
	if err != nil {
		r.problem(fabric.TextRange, port, at, fmt.Sprintf("%q is not an address with a prefix length", short(text)), "SONiC refuses the value")
		return nil
	}
	if other, taken := r.addresses[a.Addr()]; taken && !a.Addr().IsLinkLocalUnicast() {
		r.problem(fabric.TextConflict, port, at, fmt.Sprintf("the address %s is set in line %d too", a.Addr(), other.Number), "the switch answers for it at one of the two places")
	}
	r.addresses[a.Addr()] = at
	return said(a, at)
}

// breakoutMode is a part of the mode of a cage, such as 2x400G, 1x100G(2)+2x50G(2) or 4x25G[10G], where the bracket has
// further rates: SONiC, doc/dynamic-port-breakout.
var breakoutMode = pattern.Plain(`^\s*(\d{1,3})x(\d{1,5})G(\[[^\]]*\])?(?:\(\d+\))?\s*$`)

// cage is how a cage is split.
type cage struct {
	lane  int // the first
	ports *fabric.Said[int]
	rates []float64
	index *sonicField // on the front panel
}

// breakouts tells each port into how many its cage is split: by BREAKOUT_CFG, whose ports are the first of each cage and
// which are numbered by lanes, or by the ports of a whole database that have the same front panel number.
func (r *reader) breakouts() {
	var cages []cage
	for _, row := range r.db.rowsOf("BREAKOUT_CFG") {
		lane, ok := laneOf(row.key)
		if f := row.get("brkout_mode"); ok && f != nil {
			if c := r.cage(row.key, f); c.ports != nil {
				c.lane, c.index = lane, r.db.row("PORT", row.key).get("index")
				cages = append(cages, c)
			}
		}
	}
	if len(cages) > 0 {
		r.breakoutByLane(cages)
	} else if r.db.whole {
		r.breakoutByIndex()
	}
}

// cage reads the mode of a cage.
func (r *reader) cage(port string, f *sonicField) cage {
	var c cage
	ports := 0
	for _, part := range strings.Split(f.value, "+") {
		m := breakoutMode().FindStringSubmatch(part)
		n := 0
		if m != nil {
			n, _ = strconv.Atoi(m[1])
		}
		if n < 1 || n > 64 {
			r.problem(fabric.TextForeign, port, f.at, fmt.Sprintf("the breakout mode %q is none", short(f.value)), "")
			return cage{}
		}
		ports += n
		for _, rate := range strings.FieldsFunc(m[2]+","+m[3], func(r rune) bool { return r < '0' || r > '9' }) {
			v, _ := strconv.ParseFloat(rate, 64)
			c.rates = append(c.rates, v)
		}
	}
	c.ports = said(ports, f.at)
	return c
}

// breakoutByLane gives the ports of each cage its mode: as many as it has, from its first lane on.
func (r *reader) breakoutByLane(cages []cage) {
	const lanes = 16 // no cage has more
	slices.SortFunc(cages, func(a, b cage) int { return cmp.Compare(a.lane, b.lane) })
	left := make([]int, len(cages))
	for i, c := range cages {
		left[i] = c.ports.Is
	}
	ports := slices.Clone(r.ports)
	slices.SortStableFunc(ports, func(a, b *fabric.PortConfig) int {
		i, _ := laneOf(a.Name)
		j, _ := laneOf(b.Name)
		return cmp.Compare(i, j)
	})
	at := -1
	for _, p := range ports {
		lane, ok := laneOf(p.Name)
		if !ok {
			continue
		}
		for at+1 < len(cages) && cages[at+1].lane <= lane {
			at++
		}
		if at < 0 || left[at] == 0 || lane-cages[at].lane >= lanes {
			continue
		}
		c, index := cages[at], r.db.row("PORT", p.Name).get("index")
		if p.RateGbps != nil && !slices.Contains(c.rates, p.RateGbps.Is) || index != nil && c.index != nil && index.value != c.index.value {
			continue
		}
		left[at]--
		p.Breakout = c.ports
	}
}

func (r *reader) breakoutByIndex() {
	cages := make(map[string]int)
	for _, row := range r.db.rowsOf("PORT") {
		if f := row.get("index"); f != nil {
			cages[f.value]++
		}
	}
	for _, p := range r.ports {
		if f := r.db.row("PORT", p.Name).get("index"); f != nil {
			p.Breakout = said(cages[f.value], f.at)
		}
	}
}

func laneOf(port string) (int, bool) {
	digits := strings.TrimPrefix(port, "Ethernet")
	n, err := strconv.Atoi(digits)
	return n, err == nil && digits != port && n >= 0 && n < 1<<20
}
