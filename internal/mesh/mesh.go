// Package mesh finds which fault explains which failed pairs of a mesh. It is pure.
package mesh

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Explain explains the failed pairs of a mesh: first by the findings on a NIC that such a pair touches, then
// by who asked by ARP on which port, then by what the echoes themselves show. Each cause's confidence is the share of the failed pairs that it
// accounts for; two causes that the echoes cannot distinguish share it. The status is that of the mesh.
func Explain(p *fabric.Plan, m *fabric.Mesh, findings []fabric.Finding) *fabric.Causes {
	c := &fabric.Causes{Meta: fabric.NewMeta("Causes"), Status: m.Summary().Status(), Causes: []fabric.Cause{}}
	var failed []fabric.Measurement
	for _, pair := range m.Pairs {
		if pair.Status() == fabric.Fail {
			failed = append(failed, pair)
		}
	}
	left := failed
	for _, tied := range tiedFindings(findings) {
		touched := touching(failed, tied...)
		if len(touched) == 0 {
			continue
		}
		c.Causes = append(c.Causes, byFindings(tied, touched, alone(touched, tied, findings), len(failed)))
		left = slices.DeleteFunc(slices.Clone(left), func(p fabric.Measurement) bool { return touchesAny(p, tied) })
	}
	miscabled, left := byHeard(p, m, left, len(failed))
	c.Causes = append(c.Causes, miscabled...)
	for len(left) > 0 {
		nic := mostOften(left)
		subject := fabric.NICSubject(nic.Node, nic.NIC)
		c.Causes = append(c.Causes, byEchoes(subject, touching(left, fabric.Finding{Subject: subject}), len(failed), len(p.Ports) > 0)...)
		left = slices.DeleteFunc(left, func(p fabric.Measurement) bool { return touches(p, subject) })
	}
	slices.SortStableFunc(c.Causes, func(a, b fabric.Cause) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return c
}

// touches reports whether a pair starts or ends on a NIC, or was answered on it by mistake.
func touches(p fabric.Measurement, s fabric.Subject) bool {
	nic := fabric.Endpoint{Node: s.Node, NIC: s.NIC}
	if p.From == nic || p.To == nic {
		return true
	}
	for _, e := range []fabric.Echo{p.Small, p.Full} {
		if nic.Node == p.To.Node && nic.NIC == e.ArrivedOn || nic.Node == p.From.Node && nic.NIC == e.ReturnedOn {
			return true
		}
	}
	return false
}

func touchesAny(p fabric.Measurement, findings []fabric.Finding) bool {
	return slices.ContainsFunc(findings, func(f fabric.Finding) bool {
		return slices.ContainsFunc(interfaces(f), func(s fabric.Subject) bool { return touches(p, s) })
	})
}

func touching(pairs []fabric.Measurement, findings ...fabric.Finding) []fabric.Measurement {
	var out []fabric.Measurement
	for _, p := range pairs {
		if touchesAny(p, findings) {
			out = append(out, p)
		}
	}
	return out
}

// byFindings explains pairs by findings that have one cause. What the echoes show is reported for the pairs that no
// other finding touches, where there are such.
func byFindings(tied []fabric.Finding, pairs, alone []fabric.Measurement, failed int) fabric.Cause {
	shown := alone
	if len(shown) == 0 {
		shown = pairs
	}
	c := fabric.Cause{ID: tied[0].Cause, Subject: tied[0].Subject, Confidence: share(len(pairs), failed), Fix: fixOf(tied)}
	for i, f := range tied {
		if i > 0 {
			c.With = append(c.With, f.Subject)
		}
		c.Evidence = append(c.Evidence, fabric.Evidence{Source: "check " + f.ID, Value: f.Why})
	}
	c.Evidence = append(c.Evidence, signs(shown).evidence())
	for _, f := range tied {
		c.Evidence = append(c.Evidence, f.Evidence...)
	}
	return c
}

// alone returns the pairs that no failing finding on another NIC touches.
func alone(pairs []fabric.Measurement, tied, findings []fabric.Finding) []fabric.Measurement {
	return slices.DeleteFunc(slices.Clone(pairs), func(p fabric.Measurement) bool {
		return slices.ContainsFunc(findings, func(f fabric.Finding) bool {
			own := slices.ContainsFunc(tied, func(t fabric.Finding) bool { return t.Subject == f.Subject })
			return f.Status == fabric.Fail && !own && touchesAny(p, []fabric.Finding{f})
		})
	})
}

func share(part, whole int) float64 { return float64(part) / float64(whole) }

// mostOften finds the NIC at which most of the pairs start or end; on a tie, the first in the plan's order.
func mostOften(pairs []fabric.Measurement) fabric.Endpoint {
	count := make(map[fabric.Endpoint]int)
	best := pairs[0].From
	for _, p := range pairs {
		for _, e := range []fabric.Endpoint{p.From, p.To} {
			count[e]++
			if count[e] > count[best] {
				best = e
			}
		}
	}
	return best
}

// tally counts what the echoes of failed pairs show.
type tally struct {
	pairs, silent, onlySmall, strayed int
	errors                            map[string]int
}

func signs(pairs []fabric.Measurement) tally {
	t := tally{pairs: len(pairs), errors: make(map[string]int)}
	for _, p := range pairs {
		switch {
		case !p.Small.Answered:
			t.silent++
		case p.Full.Bytes > 0 && !p.Full.Answered:
			t.onlySmall++
		default:
			t.strayed++
		}
		for _, e := range []fabric.Echo{p.Small, p.Full} {
			if e.Error != "" {
				t.errors[e.Error]++
			}
		}
	}
	return t
}

func (t tally) evidence() fabric.Evidence {
	parts := []string{fabric.Count(t.pairs, "failed pair")}
	for _, s := range []struct {
		n    int
		what string
	}{{t.silent, "without answer"}, {t.onlySmall, "answered only at the small size"}, {t.strayed, "answered over a NIC other than planned"}} {
		if s.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", s.n, s.what))
		}
	}
	if text := t.commonest(); text != "" {
		parts = append(parts, "error: "+text)
	}
	return fabric.Evidence{Source: "mesh", Value: strings.Join(parts, "; ")}
}

func (t tally) commonest() string {
	best := ""
	for _, text := range slices.Sorted(maps.Keys(t.errors)) {
		if best == "" || t.errors[text] > t.errors[best] {
			best = text
		}
	}
	return best
}

// byEchoes names what the echoes alone indicate. A NIC from and to which nothing passes may be down or
// without a route, or its cable in another port where nothing is routed: the echoes cannot tell, and both are named.
func byEchoes(s fabric.Subject, pairs []fabric.Measurement, failed int, unrouted bool) []fabric.Cause {
	t := signs(pairs)
	cause := fabric.Cause{
		Subject: s, Confidence: share(len(pairs), failed), Evidence: []fabric.Evidence{t.evidence()},
		Confirm: "railwright check on the facts of " + s.Node,
	}
	switch {
	case t.onlySmall >= t.silent && t.onlySmall >= t.strayed:
		cause.ID = fabric.CauseMTUMismatch
		return []fabric.Cause{cause}
	case t.strayed >= t.silent:
		cause.ID = fabric.CauseARPFlux
		other := cause
		other.ID = fabric.CauseMiscabled
		return halved(cause, other, "an answer over another NIC can be caused by ARP or by a cable in the wrong port: LLDP shows which")
	case unrouted:
		cause.ID = fabric.CauseMiscabled
		other := cause
		other.ID = fabric.CauseLinkDown
		return halved(cause, other, "no answer can be caused by a cable in another port or by a link: LLDP and the facts of both ends show which")
	default:
		cause.ID = fabric.CauseLinkDown
		other := cause
		other.ID = fabric.CauseRouteMissing
		return halved(cause, other, "no answer can be caused by a link or by a route: the facts of both ends show which")
	}
}

func halved(a, b fabric.Cause, why string) []fabric.Cause {
	a.Confidence, b.Confidence = a.Confidence/2, b.Confidence/2
	a.Against = []fabric.Evidence{{Source: "mesh", Value: why}}
	b.Against = a.Against
	return []fabric.Cause{a, b}
}
