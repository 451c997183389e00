package diagnose

import (
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// maxText bounds what is read of one text, bytes: a person writes less.
const maxText = 8 << 10

// Lines of a log that a person copied into an observation.
var (
	logVia   = pattern.New(`(?i)via (NET/[A-Za-z0-9_. ]+?)(?:/(\d+))?(?:\(\d+\))?(/GDRDMA)?(/Shared)?(?:\s|$|")`)
	logUsing = pattern.New(`(?i)NET/IB\s*:\s*Using((?:\s*\[\d+\][^\s\[]+)+)`)
	logHCA   = pattern.New(`\[\d+\]([^\s\[]+)`)
	logNet   = pattern.New(`(?i)Using network (\w+)`)
	logSock  = pattern.New(`(?i)NET/Socket\s*:\s*Using`)
)

// logText makes of a copied line what the reader of whole logs would have made of it.
func (o *observer) logText(text string) {
	text = text[:min(len(text), maxText)]
	l := fabric.NCCLLog{}
	for _, m := range logVia().FindAllStringSubmatch(text, 64) {
		hca, err := strconv.Atoi(m[2])
		if err != nil {
			hca = -1
		}
		l.Connections = append(l.Connections, fabric.LogConnection{Via: m[1], HCA: hca, GDR: m[3] != "", Count: 1})
	}
	if m := logUsing().FindStringSubmatch(text); m != nil {
		for _, h := range logHCA().FindAllStringSubmatch(m[1], 64) {
			l.HCAs = append(l.HCAs, h[1])
		}
	}
	if m := logNet().FindStringSubmatch(text); m != nil {
		l.Net = m[1]
	} else if logSock().MatchString(text) {
		l.Net = "Socket"
	}
	if len(l.Connections) > 0 || len(l.HCAs) > 0 || l.Net != "" {
		o.s.logs = append(o.s.logs, &l)
	}
}

// withUnit finds a bandwidth: GB/s are bytes, Gb/s bits.
var withUnit = pattern.New(`(\d+(?:\.\d+)?)\s*(GB/s|GBps|Gb/s|Gbps|Gbit/s)`)

// quantity is a bandwidth in a sentence, in Gb/s, beside what it belongs to.
type quantity struct {
	gbps float64
	text string
}

// nominal are the line rates by which ports are called, Gb/s: their name is no measurement.
var nominal = []float64{10, 25, 40, 50, 100, 200, 400, 800}

// quantitiesIn returns the bandwidths of a text, each with its clause.
func quantitiesIn(text string) []quantity {
	var out []quantity
	for _, clause := range evidence.Clauses(text) {
		for _, m := range withUnit().FindAllStringSubmatch(clause, 8) {
			v, err := strconv.ParseFloat(m[1], 64)
			bits := m[2] == "Gb/s" || m[2] == "Gbps" || m[2] == "Gbit/s"
			switch {
			case err != nil || !valid(v) || bits && slices.Contains(nominal, v):
				continue
			case !bits:
				v *= 8
			}
			out = append(out, quantity{v, clause})
		}
	}
	return out
}
