package launch

import (
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// bar reads a progress bar, and the line of another process that stands behind it: bars end without a line feed.
//
//	Loading safetensors checkpoint shards:  98% Completed | 159/163 [31:48<00:40, 10.19s/it]
func (r *Reader) bar(at time.Time, text string, when moment) bool {
	is := false
	for _, h := range r.hits {
		is = is || r.scan.forms[h].does == bar
	}
	if !is {
		return false
	}
	end := -1
	for _, unit := range []string{"it/s]", "s/it]", "it/s, ", "s/it, "} {
		if i := strings.Index(text, unit); i >= 0 && (end < 0 || i < end) {
			end = i
		}
	}
	close := strings.IndexByte(text[end:], ']')
	if close < 0 {
		return false
	}
	end += close + 1
	head, rest := text[:end], text[end:]
	t := untag(head)
	p := r.processOf(t)
	r.hits = r.scan.find(head, r.hits[:0])
	for _, h := range r.hits {
		if f := &r.scan.forms[h]; f.does == begins && ordinal(f.stage) >= p.stage {
			p.enter(ordinal(f.stage), when)
		}
	}
	r.progressed(head, p, when)
	if strings.TrimSpace(rest) != "" {
		r.piece(at, rest)
	}
	return true
}

// progressed takes what a bar shows. A bar that shows the same again is no progress.
func (r *Reader) progressed(text string, p *process, when moment) {
	done, total, elapsed, ok := counts(text)
	if !ok {
		return
	}
	l := r.now
	stage, bare := p.stage, !strings.Contains(text, ": ")
	if stage < 0 || bare { // a bare bar is of the stage that the pod is in
		stage = l.stage()
	}
	if stage != l.barStage || done != l.done || total != l.total {
		l.progress = when
	}
	l.barStage, l.done, l.total, l.barSecs, l.percent = stage, done, total, elapsed, 100*done/total
	if stage == ordinal(fabric.StageWeights) && done > 0 && !bare {
		p.once("shards", "files", float64(total))
		if done == total && elapsed > 0 && l.done == total {
			p.once("reading", seconds, elapsed)
		}
	}
}

// counts reads "159/163 [31:48<00:40".
func counts(text string) (done, total int, elapsed float64, ok bool) {
	i := strings.LastIndex(text, " [")
	if i < 0 {
		return 0, 0, 0, false
	}
	head := text[:i]
	head = head[strings.LastIndexAny(head, " |")+1:]
	a, b, ok := strings.Cut(head, "/")
	if !ok {
		return 0, 0, 0, false
	}
	done, err1 := strconv.Atoi(a)
	total, err2 := strconv.Atoi(b)
	if err1 != nil || err2 != nil || total < 1 || done < 0 || done > total {
		return 0, 0, 0, false
	}
	clock, _, _ := strings.Cut(text[i+2:], "<")
	for part := range strings.SplitSeq(clock, ":") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return done, total, 0, true
		}
		elapsed = 60*elapsed + float64(n)
	}
	return done, total, elapsed, true
}
