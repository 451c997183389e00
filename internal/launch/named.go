package launch

import (
	"strconv"
	"strings"
)

// named takes names from a line: versions, NCCL's network, ranks.
func (r *Reader) named(form, text string) {
	switch {
	case strings.HasPrefix(form, "NCCL INFO Using network"):
		r.network = word(text, "Using network ")
	case strings.HasPrefix(form, "NET/IB : Using"):
		r.network = "IB"
	case strings.HasPrefix(form, "world_size=*"):
		if n, err := strconv.Atoi(strings.TrimRight(word(text, " rank="), ",")); err == nil {
			r.seen[n] = true
		}
		if n, err := strconv.Atoi(strings.TrimRight(word(text, "world_size="), ",")); err == nil {
			r.world = max(r.world, n)
		}
	case strings.HasPrefix(form, "rank * in world"):
		if n, ok := number(text, field{key: " in world size ", last: true}); ok {
			r.seen[int(n)] = true
		}
	case strings.HasPrefix(form, "[Gloo]"):
		r.gloo(text)
	case strings.HasSuffix(form, "is using nccl=="):
		r.nccl = word(text, "nccl==")
	case strings.HasPrefix(form, "NCCL version"):
		if v := word(text, "NCCL version "); v != "" && v[0] >= '0' && v[0] <= '9' {
			r.nccl = strings.TrimRight(v, ",.")
		}
	case strings.HasPrefix(form, "DP group leader"), strings.HasPrefix(form, "server_args="), strings.HasPrefix(form, "non-default"):
		for _, key := range []string{"node_rank=", "'node_rank': "} {
			if n, err := strconv.Atoi(strings.Trim(word(text, key), ",}")); err == nil {
				r.nodeRank = n
			}
		}
	}
}

func (r *Reader) versionOf(body string) {
	for _, key := range []string{"API server version ", "vLLM server version ", "█  version ", "LLM engine (v"} {
		if v := strings.TrimRight(word(body, key), ",)"); v != "" {
			r.version = v
		}
	}
}

// word returns the text behind a key, up to a blank.
func word(text, key string) string {
	_, rest, ok := strings.Cut(text, key)
	if !ok {
		return ""
	}
	rest = rest[:min(len(rest), 80)]
	if i := strings.IndexAny(rest, " \t)"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// shown is a line as it is quoted: bounded.
func shown(text string) string {
	const most = 300
	text = strings.TrimSpace(text)
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && text[cut]&0xc0 == 0x80 { // not in the middle of a character
		cut--
	}
	return text[:cut] + " ..."
}
