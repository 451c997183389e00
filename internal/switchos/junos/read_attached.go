package junos

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// attachments finds what class-of-service attaches to a port: by its name, by a range or an aggregate that it is in, by a
// pattern; what is said most precisely counts.
type attachments struct {
	cos      *junosNode
	ranges   map[string][]*junosNode
	patterns []*junosNode
	flat     []string // the patterns without slashes, which a star of path.Match does not take
}

func newJunosAttachments(r *reader) attachments {
	a := attachments{cos: r.cos.kid("interfaces"), ranges: r.ranges()}
	if a.cos == nil {
		return a
	}
	for _, n := range a.cos.kids {
		if n.word == "all" || strings.ContainsAny(n.word, "*?[") {
			a.patterns = append(a.patterns, n)
		}
	}
	slices.SortStableFunc(a.patterns, func(x, y *junosNode) int { return precision(y.word) - precision(x.word) })
	for _, p := range a.patterns {
		a.flat = append(a.flat, flatten(p.word))
	}
	return a
}

func precision(pattern string) int {
	if pattern == "all" {
		return 0
	}
	return 1 + len(pattern) - strings.Count(pattern, "*")
}

// of returns what is attached to a port, the most precise first.
func (a attachments) of(n *junosNode) []*junosNode {
	var out []*junosNode
	if own := a.cos.kid(n.word); own != nil {
		out = append(out, own)
	}
	for _, in := range a.ranges[n.word] {
		if own := a.cos.kid(in.word); own != nil {
			out = append(out, own)
		}
	}
	for _, options := range []string{"gigether-options", "ether-options"} {
		for _, ae := range n.all(options, "802.3ad") {
			if own := a.cos.kid(ae.word); own != nil {
				out = append(out, own)
			}
		}
	}
	flat := flatten(n.word)
	for i, p := range a.patterns {
		if p.word != n.word && matchFlat(a.flat[i], flat) {
			out = append(out, p)
		}
	}
	return out
}

// attached returns the first value of a path, at a port or at one of its units.
func attached(at []*junosNode, port *junosNode, path ...string) *fabric.Said[string] {
	for _, n := range at {
		var units []*junosNode
		for _, u := range port.all("unit") {
			if own := n.kid("unit", u.word); own != nil && n != port {
				units = append(units, own)
			}
		}
		if every := n.kid("unit", "*"); every != nil {
			units = append(units, every)
		}
		if port.kid("unit") == nil || n == port {
			units = append(units, n.all("unit")...)
		}
		for _, u := range append(units, n) {
			if v := u.value(path...); v != nil {
				return v
			}
		}
	}
	return nil
}

// readAttached reads what the port does with packets.
func (r *reader) readAttached(p *fabric.PortConfig, n *junosNode, a attachments) {
	at := a.of(n)
	var pfc *junosPFC
	name := attached(at, n, "congestion-notification-profile")
	if name != nil {
		pfc = r.pfc(name)
		r.headroomCovers(p, pfc)
	}
	r.readClassifiers(p, n, at, name, pfc)
	r.readPFC(p, pfc)
	r.readScheduling(p, n, at)
	if rw := attached(at, n, "rewrite-rules", "dscp"); rw != nil && rw.Is != "default" {
		p.Rewrite = r.rewrite(rw)
	}
}

// readClassifiers reads by what the port classifies, and how. A fixed class leaves nothing to a packet.
func (r *reader) readClassifiers(p *fabric.PortConfig, n *junosNode, at []*junosNode, profile *fabric.Said[string], pfc *junosPFC) {
	key := ""
	if profile != nil {
		key = profile.Is
	}
	if fixed := attached(at, n, "forwarding-class"); fixed != nil {
		p.Trust = &fabric.Said[string]{Is: "none", At: fixed.At}
		p.PCP = r.pcpTable("class "+fixed.Is+"|"+key, junosFixed(fixed, 8), pfc)
		return
	}
	dscp, pcp := attached(at, n, "classifiers", "dscp"), attached(at, n, "classifiers", "ieee-802.1")
	if dscp == nil && pcp == nil {
		if r.wired {
			r.defaultTrust(p, n, key, pfc)
		}
		return
	}
	if pcp != nil {
		p.Trust = &fabric.Said[string]{Is: "pcp", At: pcp.At}
		if points := r.points(pcp, "ieee-802.1"); points != nil {
			p.PCP = r.pcpTable(pcp.Is+"|"+key, points, pfc)
		}
	}
	if dscp != nil {
		p.Trust = &fabric.Said[string]{Is: "dscp", At: dscp.At}
		if points := r.points(dscp, "dscp"); points != nil {
			p.DSCP = r.dscpTable(dscp.Is, key, points, pfc)
			if pfc == nil && r.namesLossless(points) {
				r.unpaused[dscp.Is] = append(r.unpaused[dscp.Is], p.Name)
			}
		}
	}
}

// namesLossless reports whether a classifier names a class that the text makes no-loss.
func (r *reader) namesLossless(points []classified) bool {
	return slices.ContainsFunc(points, func(c classified) bool {
		if c.class == nil {
			return false
		}
		class := r.classes[c.class.Is]
		return class != nil && class.own && class.noLoss != nil
	})
}

// unprotected notes ports that put packets into a no-loss class and have no PFC.
func (r *reader) unprotected() {
	for _, n := range r.cos.all("classifiers", "dscp") {
		ports := r.unpaused[n.word]
		if len(ports) == 0 {
			continue
		}
		names := strings.Join(ports[:min(8, len(ports))], ", ")
		if len(ports) > 8 {
			names += fmt.Sprintf(" and %d more", len(ports)-8)
		}
		r.problem(fabric.TextConflict, n.at, fmt.Sprintf("classifier %s puts packets into a no-loss class, and no congestion-notification-profile is attached to %s", n.word, names),
			"the class is dropped there when buffers are full")
	}
}

func junosFixed(class *fabric.Said[string], n int) []classified {
	out := make([]classified, n)
	for i := range out {
		out[i] = classified{class}
	}
	return out
}

// points returns what a named classifier says; nil: the text does not show it.
func (r *reader) points(name *fabric.Said[string], kind string) []classified {
	if name.Is == "default" {
		return defaultClassifier(kind)
	}
	if known := r.named[kind+" "+name.Is]; known != nil {
		return known
	}
	n := r.definition(name, "classifiers", kind)
	if n == nil {
		return nil
	}
	out := r.classifier(n, kind, 0)
	r.named[kind+" "+name.Is] = out
	return out
}

// defaultTrust is what a port without a classifier does: a routed one has dscp-default, a trunk ieee8021p-default, an access
// port trusts nothing.
func (r *reader) defaultTrust(p *fabric.PortConfig, n *junosNode, key string, pfc *junosPFC) {
	trunk, switched := false, false
	for _, u := range n.all("unit") {
		if l2 := u.kid("family", "ethernet-switching"); l2 != nil {
			mode := l2.value("interface-mode")
			switched, trunk = true, mode != nil && mode.Is == "trunk"
		}
	}
	switch {
	case trunk:
		p.Trust = junosDefault("pcp", classDefault+"a trunk has ieee8021p-default")
		p.PCP = r.pcpTable("default|"+key, defaultClassifier("ieee-802.1"), pfc)
	case switched:
		p.Trust = junosDefault("none", classDefault+"an access port trusts no code point")
		p.PCP = r.pcpTable("untrusted|"+key, junosFixed(junosDefault("best-effort", classDefault+"an access port is best-effort"), 8), pfc)
	default:
		p.Trust = junosDefault("dscp", classDefault+"a routed port has dscp-default")
		p.DSCP = r.dscpTable("default", key, defaultClassifier("dscp"), pfc)
	}
}

func (r *reader) dscpTable(classifier, profile string, points []classified, pfc *junosPFC) *[64]fabric.Treatment {
	key := classifier + "|" + profile
	if t := r.tables[key]; t != nil {
		return t
	}
	list := r.treatments(points, "dscp", pfc)
	r.disagreements(classifier, points, list, pfc)
	t := (*[64]fabric.Treatment)(list)
	r.tables[key] = t
	return t
}

func (r *reader) pcpTable(key string, points []classified, pfc *junosPFC) *[8]fabric.Treatment {
	if t := r.priority[key]; t != nil {
		return t
	}
	t := (*[8]fabric.Treatment)(r.treatments(points, "ieee-802.1", pfc))
	r.priority[key] = t
	return t
}

// rewrite reads the DSCP that packets of each class leave with. Packets have loss priority low unless somebody colours them.
func (r *reader) rewrite(name *fabric.Said[string]) map[string]fabric.Said[int] {
	if m := r.rewrites[name.Is]; m != nil {
		return m
	}
	n := r.definition(name, "rewrite-rules", "dscp")
	if n == nil {
		return nil
	}
	m := map[string]fabric.Said[int]{}
	for _, class := range n.all("forwarding-class") {
		r.class(&fabric.Said[string]{Is: class.word, At: class.at})
		for _, loss := range class.all("loss-priority") {
			if v := loss.value("code-point"); v != nil {
				if d, ok := r.codePoint(*v, "dscp"); ok && (loss.word == "low" || m[class.word].At.Text == "") {
					m[class.word] = fabric.Said[int]{Is: d, At: v.At}
				}
			}
		}
	}
	r.rewrites[name.Is] = m
	return m
}
