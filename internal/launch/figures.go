package launch

import (
	"strconv"
	"strings"
)

// figures takes the numbers of a line.
func (r *Reader) figures(p *process, f *form, text string) {
	for _, g := range f.gets {
		if g.unit == "list" {
			if n, ok := lastOfList(text, g.key); ok {
				p.put(g.what, "requests", n)
			}
			continue
		}
		n, ok := number(text, g)
		if !ok {
			if len(f.gets) > 1 {
				r.wrapped = wrapped{form: f, of: p, text: text}
			}
			continue
		}
		p.put(g.what, g.unit, n)
		if g.what == "world" {
			r.world = max(r.world, int(n))
		}
	}
}

// number reads the number behind a key, or before it, with commas between thousands and a unit that may touch it.
func number(text string, g field) (float64, bool) {
	before, after, ok := strings.Cut(text, g.key)
	if !ok {
		return 0, false
	}
	if g.last {
		i := len(before)
		for i > 0 && strings.IndexByte("0123456789.", before[i-1]) >= 0 {
			i--
		}
		return parsed(before[i:])
	}
	after = strings.TrimLeft(after, " =:'\"~")
	i := 0
	for i < len(after) && i < 40 && (strings.IndexByte("0123456789.,", after[i]) >= 0 || i == 0 && after[i] == '-') {
		i++
	}
	n, ok := parsed(strings.TrimRight(after[:i], ".,"))
	if ok && g.unit == seconds && strings.HasPrefix(after[i:], "min") {
		n *= 60
	}
	return n, ok
}

func parsed(s string) (float64, bool) {
	n, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	return n, err == nil
}

// lastOfList reads the largest number of "[1, 2, 4]", which is the largest batch of a graph.
func lastOfList(text, key string) (float64, bool) {
	_, after, ok := strings.Cut(text, key)
	if !ok {
		return 0, false
	}
	inside, _, closed := strings.Cut(after, "]")
	if !closed {
		return 0, false
	}
	most, any := 0.0, false
	for w := range strings.SplitSeq(inside, ",") {
		if n, err := strconv.ParseFloat(strings.TrimSpace(w), 64); err == nil {
			most, any = max(most, n), true
		}
	}
	return most, any
}

// unwrap looks for the figures that the line before lacked, where this one begins like no line of a log.
func (r *Reader) unwrap(text string) {
	w := r.wrapped
	if r.wrapped = (wrapped{}); w.form == nil || len(w.text) > longest/2 {
		return
	}
	if t := untag(text); t.rank != "" || t.role != "" || !t.at.IsZero() || t.level != plainText {
		return
	}
	whole := w.text + " " + text
	for _, g := range w.form.gets {
		if _, had := number(w.text, g); had || g.unit == "list" {
			continue
		}
		if n, ok := number(whole, g); ok {
			w.of.put(g.what, g.unit, n)
		}
	}
}
