package routeros

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// classes is what the switch does with kinds of packets. Ports that classify alike share tables.
type classes struct {
	*build
	profiles map[string]*profile
	order    []*profile
	maps     map[string]*[64]*mapped // by name: profile by DSCP
	byTag    map[string]*[8]*mapped  // by name: profile by VLAN priority
	pfc      map[string]*pausing
	pfcOrder []*pausing
	told     map[string]bool
	tables   map[string]*table64
	off      *fabric.Said[bool] // the switch does no QoS at all
}

// profile is a QoS profile: a class, and what packets of it are marked with where their own marks are not kept.
type profile struct {
	name  string
	at    fabric.Line
	class *fabric.Said[int]
	dscp  *fabric.Said[int]
	used  bool
	given bool // a text has it, and it is not one of the factory
}

// mapped is a profile that a DSCP or VLAN priority has.
type mapped struct {
	profile string
	at      fabric.Line
}

// pausing is a PFC profile.
type pausing struct {
	name       string
	at         fabric.Line
	priorities fabric.Said[[]int]
	rx, tx     fabric.Said[bool]
	used       bool
}

// table64 is what all DSCPs and VLAN priorities get at ports that are alike.
type table64 struct {
	dscp    [64]fabric.Treatment
	pcp     [8]fabric.Treatment
	rewrite map[string]fabric.Said[int]
}

func (b *build) readClasses() *classes {
	c := &classes{build: b, profiles: map[string]*profile{}, maps: map[string]*[64]*mapped{}, byTag: map[string]*[8]*mapped{}, pfc: map[string]*pausing{}, told: map[string]bool{}, tables: map[string]*table64{}}
	c.readProfiles()
	c.readMaps()
	c.readPausing()
	c.readOff()
	return c
}

// tells reports whether configurations tell all of a menu: what they do not say there has its default.
func (c *classes) tells(path string) bool {
	return c.whole || slices.ContainsFunc(c.of[path], func(r *record) bool { return !r.shown })
}

func (c *classes) readProfiles() {
	for _, r := range c.of[profileMenu] {
		p := &profile{name: r.is("name"), at: r.at, given: r.is("name") != "default"}
		p.class = c.small(r, "traffic-class", 7)
		p.dscp = c.small(r, "dscp", 63)
		if p.class == nil && !r.shown {
			p.class = &fabric.Said[int]{Is: 0, At: says(defaultClass)}
			if !p.given {
				p.class = &fabric.Said[int]{Is: 1, At: says(defaultProfile)}
			}
		}
		c.profiles[p.name], c.order = p, append(c.order, p)
	}
	if c.profiles["default"] == nil && c.tells(profileMenu) {
		c.profiles["default"] = &profile{name: "default", at: says(defaultProfile), class: &fabric.Said[int]{Is: 1, At: says(defaultProfile)}}
	}
}

// small reads a number of a record.
func (c *classes) small(r *record, key string, most int) *fabric.Said[int] {
	v, ok := r.get(key)
	if !ok {
		return nil
	}
	n, good := number(v.Is, 0, most)
	if !good {
		c.problem(fabric.TextRange, "", v.At, fmt.Sprintf("%s %s: must be 0 to %d", key, v.Is, most), "RouterOS refuses it.")
		return nil
	}
	return &fabric.Said[int]{Is: n, At: v.At}
}

// readMaps reads which profile packets have. Since 7.23 a profile maps its own DSCP and VLAN priority, unless automap=no.
func (c *classes) readMaps() {
	for _, r := range c.of[ipMapMenu] {
		c.mapEntry(r, "dscp", 63, func(name string, i int, m *mapped) **mapped {
			if c.maps[name] == nil {
				c.maps[name] = &[64]*mapped{}
			}
			return &c.maps[name][i]
		})
	}
	for _, r := range c.of[tagMapMenu] {
		if is, ok := yes(r.is("dei-only")); ok && is {
			continue
		}
		c.mapEntry(r, "pcp", 7, func(name string, i int, m *mapped) **mapped {
			if c.byTag[name] == nil {
				c.byTag[name] = &[8]*mapped{}
			}
			return &c.byTag[name][i]
		})
	}
	since723 := c.maps723()
	for _, r := range c.of[profileMenu] {
		automap, said := r.get("automap")
		is, ok := yes(automap.Is)
		if said && (!ok || !is) || !said && !since723 || r.is("name") == "default" {
			continue
		}
		if v := c.small(r, "dscp", 63); v != nil {
			if c.maps["default"] == nil {
				c.maps["default"] = &[64]*mapped{}
			}
			if place := &c.maps["default"][v.Is]; *place == nil {
				*place = &mapped{r.is("name"), v.At}
			}
		}
	}
}

// maps723 reports whether a profile that does not say automap maps its DSCP: it does where a text shows that the switch has
// 7.23 or later, whose settings know lossless classes, or that says so of another profile.
func (c *classes) maps723() bool {
	if _, ok := c.byID[settingsMenu]["settings"].get("lossless-traffic-class"); ok {
		return true
	}
	return c.since723 || slices.ContainsFunc(c.of[profileMenu], func(o *record) bool { _, ok := o.get("automap"); return ok })
}

// mapEntry reads one line of a map.
func (c *classes) mapEntry(r *record, key string, most int, place func(name string, i int, m *mapped) **mapped) {
	v, _ := r.get(key)
	values, ok := numbers(v.Is, most)
	if !ok {
		c.problem(fabric.TextRange, "", v.At, fmt.Sprintf("%s %s: must be 0 to %d", key, v.Is, most), "RouterOS refuses it.")
		return
	}
	if r.off() {
		return
	}
	to, said := r.get("profile")
	if !said {
		return
	}
	if c.profiles[to.Is] == nil && (c.whole || len(c.order) > 0) && to.Is != "default" {
		c.problem(fabric.TextUndefined, "", to.At, "profile "+to.Is+" is defined nowhere in the text", "RouterOS refuses the line: these packets have profile default.")
		return
	}
	for _, i := range values {
		m := &mapped{to.Is, r.at}
		at := place(cmp.Or(r.is("map"), "default"), i, m)
		if *at != nil && (*at).profile != m.profile {
			c.problem(fabric.TextDuplicate, "", r.at, fmt.Sprintf("maps %s %d again, to another profile than \"%s\"", key, i, (*at).at.Text), "RouterOS refuses the second one.")
			continue
		}
		*at = m
	}
}

func (c *classes) readPausing() {
	for _, r := range c.of[pfcMenu] {
		p := &pausing{name: r.is("name"), at: r.at}
		if v, ok := r.get("traffic-class"); ok {
			list, good := numbers(v.Is, 7)
			if !good && v.Is != "" {
				c.problem(fabric.TextRange, "", v.At, "traffic-class "+v.Is+": must be 0 to 7", "RouterOS refuses it.")
			}
			slices.Sort(list)
			p.priorities = fabric.Said[[]int]{Is: slices.Compact(list), At: v.At}
		}
		if p.priorities.Is == nil {
			p.priorities.Is = []int{}
		}
		p.priorities.At = cmp.Or(p.priorities.At, r.at)
		direction := func(key string) fabric.Said[bool] {
			v, ok := r.get(key)
			is, good := yes(v.Is)
			return fabric.Said[bool]{Is: is && good, At: cmp.Or(v.At, map[bool]fabric.Line{true: v.At, false: r.at}[ok])}
		}
		p.rx, p.tx = direction("rx"), direction("tx")
		c.pfc[p.name], c.pfcOrder = p, append(c.pfcOrder, p)
		c.buffered(p)
	}
}

// buffered names a class with PFC that the switch's buffers do not hold for: the manual asks for shared buffers, and where the
// lossless classes are listed, for a place among them.
func (c *classes) buffered(p *pausing) {
	settings := c.byID[settingsMenu]["settings"]
	listed, said := settings.get("lossless-traffic-class")
	lossless, ok := numbers(listed.Is, 7)
	for _, class := range p.priorities.Is {
		if said && ok && listed.Is != "auto" && !slices.Contains(lossless, class) {
			c.problem(fabric.TextConflict, "", listed.At, fmt.Sprintf("does not list class %d as lossless, for which \"%s\" has PFC", class, p.at.Text), "The class has no lossless buffers.")
		}
		if v, ok := c.find(queueMenu, strconv.Itoa(class)).get("use-shared-buffers"); ok && v.Is == "no" {
			c.problem(fabric.TextConflict, "", v.At, fmt.Sprintf("queue %d uses no shared buffers, and has PFC", class), "Pauses are counted by shared buffers: none is sent.")
		}
	}
	if v, ok := settings.get("lossless-buffers"); ok && len(p.priorities.Is) > 0 && strings.TrimSuffix(v.Is, "%") == "0" {
		c.problem(fabric.TextConflict, "", v.At, "leaves no buffers for lossless classes", "Packets are dropped before a pause works.")
	}
}

// readOff reports a switch that does no QoS. Chips of the CRS8xx do it always, whatever is set.
func (c *classes) readOff() {
	if strings.Contains(c.model, "CRS8") || slices.ContainsFunc(c.ports, func(p *portSaid) bool {
		return strings.HasPrefix(p.name, "qsfp56") || strings.HasPrefix(p.name, "sfp56")
	}) {
		return
	}
	r := c.byID[switchMenu]["switch1"]
	v, ok := r.get("qos-hw-offloading")
	is, good := yes(v.Is)
	switch {
	case ok && good && !is:
		c.off = &fabric.Said[bool]{Is: true, At: v.At}
	case !ok && c.whole:
		c.off = &fabric.Said[bool]{Is: true, At: says("default of RouterOS: the switch chip does no QoS (manual, Quality of Service, qos-hw-offloading)")}
	}
	if c.off != nil && len(c.of[pfcMenu]) > 0 {
		c.problem(fabric.TextConflict, "", c.off.At, "qos-hw-offloading is off, and PFC is set", "No profile, map, queue or pause of the text works.")
	}
}

// tell says a problem of many ports once.
func (c *classes) tell(kind, port string, at fabric.Line, what, then string) {
	key := fmt.Sprint(kind, at.File, at.Number, at.Text, what)
	if !c.told[key] {
		c.told[key] = true
		c.problem(kind, port, at, what, then)
	}
}

// unused names what is defined and does nothing.
func (c *classes) unused() {
	if len(c.of[qosPortMenu]) == 0 && !c.whole {
		return // an excerpt without ports
	}
	for _, p := range c.pfcOrder {
		if !p.used && p.name != "disabled" && p.at.Number > 0 {
			c.problem(fabric.TextUnattached, "", p.at, "PFC profile "+p.name+" is of no port (pfc)", "Nothing: no port has its PFC.")
		}
	}
	mapped := map[string]bool{}
	for _, path := range []string{ipMapMenu, tagMapMenu} {
		for _, r := range c.of[path] {
			mapped[r.is("profile")] = true
		}
	}
	for _, p := range c.order {
		if p.given && !p.used && !mapped[p.name] && p.at.Number > 0 && !c.byRules() {
			c.problem(fabric.TextUnattached, "", p.at, "profile "+p.name+" is of no port, and in no map that a port uses", "Nothing: no packet has it.")
		}
	}
}

// byRules reports whether lines that were not understood may use profiles: rules of the switch do.
func (c *classes) byRules() bool {
	return slices.ContainsFunc(c.unread, func(l fabric.Line) bool { return strings.Contains(l.Text, "new-qos-profile") })
}
