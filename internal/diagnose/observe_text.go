package diagnose

import (
	"regexp"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Lines of a log that a person copied into an observation.
var (
	logVia   = regexp.MustCompile(`(?i)via (NET/[A-Za-z0-9_. ]+?)(?:/(\d+))?(?:\(\d+\))?(/GDRDMA)?(/Shared)?(?:\s|$|")`)
	logUsing = regexp.MustCompile(`(?i)NET/IB\s*:\s*Using((?:\s*\[\d+\][^\s\[]+)+)`)
	logHCA   = regexp.MustCompile(`\[\d+\]([^\s\[]+)`)
	logNet   = regexp.MustCompile(`(?i)Using network (\w+)`)
	logSock  = regexp.MustCompile(`(?i)NET/Socket\s*:\s*Using`)
)

// logText makes of a copied line what the reader of whole logs would have made of it.
func (o *observer) logText(text string) {
	if text == "" {
		return
	}
	if len(text) > maxText {
		text = text[:maxText]
	}
	l := fabric.NCCLLog{}
	for _, m := range logVia.FindAllStringSubmatch(text, 64) {
		hca, err := strconv.Atoi(m[2])
		if err != nil {
			hca = -1
		}
		l.Connections = append(l.Connections, fabric.LogConnection{Via: m[1], HCA: hca, GDR: m[3] != "", Count: 1})
	}
	if m := logUsing.FindStringSubmatch(text); m != nil {
		for _, h := range logHCA.FindAllStringSubmatch(m[1], 64) {
			l.HCAs = append(l.HCAs, h[1])
		}
	}
	if m := logNet.FindStringSubmatch(text); m != nil {
		l.Net = m[1]
	} else if logSock.MatchString(text) {
		l.Net = "Socket"
	}
	if len(l.Connections) > 0 || len(l.HCAs) > 0 || l.Net != "" {
		o.s.logs = append(o.s.logs, &l)
	}
}

// percent finds a share of what is expected.
var percent = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*(?:%|percent)\s*(?:of|below|lower|less|slower)?`)

// sentence cuts a text where one thing ends and another begins.
var sentence = regexp.MustCompile(`;|\n|\.\s|,?\s+(?:but|while|whereas|yet)\s|,\s`)

// pointsIn makes points of what an entry says without a number: "ib_write_bw is fine", "single node ok",
// "56 % of expectation across nodes".
func (o *observer) pointsIn(e fabric.Observation, p point) []point {
	text := e.Fact + "; " + e.Note
	if e.Outcome == "ok" {
		text += " ok"
	}
	var out []point
	for _, part := range sentence.Split(text, 64) {
		q := o.clause(e, p, part)
		if value, bits := numberIn(part); value > 0 && bits && q.test == "" && len(out) > 0 && out[len(out)-1].test == "perftest" {
			q = o.clause(e, p, "ib_write_bw: "+part) // "seven NICs give 393 Gb/s in ib_write_bw, mlx5_6 gives 120 Gb/s"
		}
		if q.text || q.busbw+q.gbps > 0 {
			q.fromText = true
			out = append(out, q)
		}
	}
	return out
}

func (o *observer) clause(e fabric.Observation, p point, text string) point {
	st := o.words.read(text, "")
	p.ratio = shareIn(text)
	well := st.names("fine+") && !st.names("slow+")
	badly := (st.names("slow+") || st.names("fine-")) && !st.names("fine+")
	value, bits := numberIn(text)
	switch {
	case st.names("trouble+") || st.names("onlywith"):
		return p
	case value > 0 && p.ratio == 0: // judged below
	case p.ratio >= perftestLow || p.ratio == 0 && well:
		p.quality = good
	case p.ratio > 0 || badly:
		p.quality = bad
	default:
		return p
	}
	switch {
	case e.Test == "perftest" || st.names("perftest"):
		p.test, p.scope = "perftest", scopeNet
		if st.names("gpumemory+") {
			p.memory = "gpu"
		}
	case st.names("single+") && !st.names("multi"):
		p.test, p.scope = "nccl", scopeNode
	case st.names("multi+") && !st.names("single"):
		p.test, p.scope = "nccl", scopeNet
	case e.Test == "nccl" && p.scope != scopeUnknown:
	default:
		return p
	}
	p.source, p.text = strings.TrimSpace(text), true
	if value == 0 {
		return p
	}
	return o.counted(p, st, value, bits)
}

// counted turns a sentence with a number into a measured point where it says of what it is.
func (o *observer) counted(p point, st statement, value float64, bits bool) point {
	switch {
	case p.test == "perftest" && bits:
		p.gbps, p.text = value, false
		o.rate(&p, 0, "")
	case p.test == "nccl" && !bits && st.names("allreduce+") && p.scope != scopeUnknown:
		p.busbw, p.text, p.collective = value, false, fabric.AllReduce
		if p.nodes = 1; p.scope == scopeNet {
			p.nodes = max(2, o.s.hw.Nodes)
		}
		o.collective(&p, fabric.Observation{})
	default:
		p.text = p.quality != unjudged
	}
	return p
}

// withUnit finds a bandwidth: GB/s are bytes, Gb/s bits.
var withUnit = regexp.MustCompile(`(\d+(?:\.\d+)?)\s*(GB/s|GBps|Gb/s|Gbps|Gbit/s)`)

func numberIn(text string) (value float64, bits bool) {
	m := withUnit.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || !valid(v) {
		return 0, false
	}
	return v, m[2] == "Gb/s" || m[2] == "Gbps" || m[2] == "Gbit/s"
}

// shareIn is the share that a text speaks of, 0 where it speaks of none.
func shareIn(text string) float64 {
	m := percent.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil || v <= 0 || v > 120 {
		return 0
	}
	rest := strings.ToLower(m[0])
	for _, less := range []string{"below", "lower", "less", "slower"} {
		if strings.HasSuffix(rest, less) {
			return 1 - v/100
		}
	}
	return v / 100
}
