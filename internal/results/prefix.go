package results

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// mostPrefixes is how many a line may have: the service of logs, its time, the host and the rank.
const mostPrefixes = 5

// tag is who printed a line, as far as its prefixes say.
type tag struct {
	source string // as it stands there: "1,0", "worker-3"
	host   string // empty: no prefix names one
	rank   *int   // in the job, not on the host
}

// prefixes finds what launchers and log services put before a line, and the text behind each of them:
//
//	[1,0]<stdout>:                       mpirun --tag-output, with a time before it --timestamp-output
//	[prterun-a-12@1,0][node1:77]<stdout>: prterun --output tag-detailed
//	[rank0]:                             torchrun; [default0]: counts processes of the host and is no rank
//	3:                                   srun -l
//	node1:                               pdsh, clush
//	[pod/x/y]                            kubectl logs --prefix
//	worker-1  |                          docker compose
//	(Worker pid=12, ip=10.0.0.2)         Ray
//	Nov 22 10:00:00 node1                journald, syslog (RFC 3164), with a time of RFC 3339 rsyslog
//	2026-07-20T04:24:08.123456789Z       kubectl --timestamps, and with "stdout F" containers' files
func (s *lineSource) prefixes(l *line) {
	rest := l.raw
	for l.depth < mostPrefixes {
		found, after, ok := onePrefix(rest)
		if !ok || strings.TrimSpace(after) == "" {
			break
		}
		if found.source != "" {
			l.source = found.source
		}
		if found.host != "" {
			l.host = found.host
		}
		if found.rank != nil {
			l.rank = found.rank
		}
		rest = after
		l.behind[l.depth] = int32(len(rest)) // of at most maxLine
		l.depth++
	}
	l.text = rest
}

func onePrefix(text string) (found tag, rest string, ok bool) {
	const longest = 128 // bytes; a prefix is a name, a number and a time
	head := text[:min(len(text), longest)]
	if strings.IndexByte(head, '<') >= 0 {
		for _, stream := range []string{"<stdout>:", "<stderr>:", "<stddiag>:"} {
			if i := strings.Index(head, stream); i >= 0 {
				return streamTag(head[:i]), text[i+len(stream):], true
			}
		}
	}
	trimmed := strings.TrimLeft(head, " ")
	if trimmed == "" {
		return tag{}, text, false
	}
	indent := len(head) - len(trimmed)
	switch c := trimmed[0]; {
	case c == '[':
		return bracketPrefix(text, trimmed, indent)
	case c >= '0' && c <= '9':
		return numberPrefix(text, trimmed, indent)
	case indent > 0:
		return tag{}, text, false
	case c == '(':
		return rayPrefix(text, trimmed)
	case c >= 'A' && c <= 'Z' && syslogMonth(trimmed):
		return syslogPrefix(text, trimmed)
	}
	return wordPrefix(text, trimmed)
}

// streamTag reads what mpirun writes before the name of a stream: [job,rank], and [host:pid] where it is detailed.
func streamTag(head string) tag {
	t := tag{source: strings.Trim(head[strings.LastIndexByte(head, '[')+1:], "[]")}
	for part := range strings.SplitSeq(head, "[") {
		inside, _, closed := strings.Cut(part, "]")
		if at := strings.LastIndexByte(inside, ','); closed && at > 0 {
			t.rank = rankOf(inside[at+1:])
			t.source = inside
		} else if host, pid, ok := strings.Cut(inside, ":"); closed && ok && isDigits(pid) && isHostName(host) {
			t.host = host
		}
	}
	return t
}

// rankOf reads the number of a rank; nil: it is none.
func rankOf(text string) *int {
	n, err := strconv.ParseUint(text, 10, 24) // 16 million: no job has so many
	if err != nil {
		return nil
	}
	rank := int(n)
	return &rank
}

func bracketPrefix(text, head string, indent int) (found tag, rest string, ok bool) {
	end := strings.IndexByte(head, ']')
	if end < 2 {
		return tag{}, text, false
	}
	inside, after := head[1:end], text[indent+end+1:]
	switch {
	case strings.HasPrefix(inside, "rank") && isDigits(inside[4:]):
		return tag{source: inside, rank: rankOf(inside[4:])}, strings.TrimPrefix(strings.TrimPrefix(after, ":"), " "), true
	case strings.HasPrefix(inside, "default") && isDigits(inside[7:]):
		return tag{source: inside}, strings.TrimPrefix(strings.TrimPrefix(after, ":"), " "), true
	case strings.HasPrefix(inside, "pod/"):
		pod, _, _ := strings.Cut(inside[4:], "/")
		return tag{source: inside, host: pod}, strings.TrimPrefix(after, " "), true
	case len(inside) >= 19 && isDate(inside): // [2026-07-20 04:24:08]
		return tag{}, strings.TrimPrefix(after, " "), true
	}
	return tag{}, text, false
}

// isDate reports whether a text begins with 2026-07-20 and a time behind a space or a T.
func isDate(text string) bool {
	return len(text) >= 19 && isDigits(text[:4]) && text[4] == '-' && text[7] == '-' && (text[10] == ' ' || text[10] == 'T') && text[13] == ':' && text[16] == ':'
}

func numberPrefix(text, head string, indent int) (found tag, rest string, ok bool) {
	end := 0
	for end < len(head) && head[end] >= '0' && head[end] <= '9' {
		end++
	}
	if end <= 5 && end > 0 && strings.HasPrefix(head[end:], ": ") {
		return tag{source: head[:end], rank: rankOf(head[:end])}, text[indent+end+2:], true
	}
	if !isDate(head) {
		return tag{}, text, false
	}
	const seconds = 19 // bytes up to the seconds; behind them a fraction and a zone
	space := strings.IndexByte(head[seconds:], ' ')
	if space < 0 {
		return tag{}, text, false
	}
	after := text[indent+seconds+space+1:]
	for _, stream := range []string{"stdout F ", "stderr F ", "stdout P ", "stderr P "} { // the log format of the CRI
		if line, cri := strings.CutPrefix(after, stream); cri {
			return tag{}, line, true
		}
	}
	if host, line, ok := syslogHost(after); ok && head[10] == 'T' {
		return tag{source: host, host: host}, line, true
	}
	return tag{}, after, true
}

// rayPrefix reads "(Worker pid=12, ip=10.0.0.2) ", and with rank= what vLLM and TensorRT-LLM write.
func rayPrefix(text, head string) (found tag, rest string, ok bool) {
	inside, _, closed := strings.Cut(head[1:], ") ")
	if !closed || !strings.Contains(inside, " pid=") && !strings.Contains(inside, " rank=") {
		return tag{}, text, false
	}
	found.source = inside
	for word := range strings.FieldsSeq(inside) {
		word = strings.TrimSuffix(word, ",")
		if ip, ok := strings.CutPrefix(word, "ip="); ok {
			found.host = ip
		}
		if rank, ok := strings.CutPrefix(word, "rank="); ok {
			found.rank = rankOf(rank)
		}
	}
	return found, text[len(inside)+len("() "):], true
}

// syslogMonth reports whether a text begins as RFC 3164 has it: "Nov 22 10:00:00 ".
func syslogMonth(text string) bool {
	return len(text) > 16 && text[3] == ' ' && text[6] == ' ' && text[9] == ':' && text[12] == ':' && text[15] == ' ' &&
		slices.Contains([]string{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"}, text[:3])
}

func syslogPrefix(text, head string) (found tag, rest string, ok bool) {
	const stamp = len("Nov 22 10:00:00 ")
	if host, line, ok := syslogHost(text[stamp:]); ok {
		return tag{source: host, host: host}, line, true
	}
	return tag{}, text[stamp:], true
}

// syslogHost reads the host behind the time, which is there where a program follows: "node1 kernel: ", "node1 sshd[7]: ".
func syslogHost(text string) (host, rest string, ok bool) {
	host, rest, _ = strings.Cut(text, " ")
	program, _, _ := strings.Cut(rest, " ")
	if !isHostName(host) || !strings.HasSuffix(program, ":") || len(program) < 2 {
		return "", text, false
	}
	return host, rest, true
}

// wordPrefix reads a name with a number: worker-0: of pdsh, and with a bar behind it that of docker compose.
func wordPrefix(text, head string) (found tag, rest string, ok bool) {
	end, numbered := 0, false
	for end < len(head) && !notInName(rune(head[end])) {
		numbered = numbered || isDigit(head[end])
		end++
	}
	if end < 2 || end == len(head) || !numbered || strings.IndexByte(": |", head[end]) < 0 {
		return tag{}, text, false
	}
	name, behind := head[:end], strings.TrimLeft(head[end:], " ")
	switch {
	case strings.HasPrefix(head[end:], ": "):
		found.source, rest = name, text[end+2:]
	case strings.HasPrefix(behind, "| ") && behind != head[end:]:
		found.source, rest = name, text[strings.IndexByte(text, '|')+2:]
	default:
		return tag{}, text, false
	}
	if isHostName(name) && !isDevice().MatchString(name) {
		found.host = name
	}
	if number, is := strings.CutPrefix(name, "rank"); is && isDigits(number) {
		found.rank = rankOf(number)
	}
	return found, rest, true
}

func notInName(c rune) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' || c == '/'
	return !letter
}

// isHostName reports whether a word may be the name of a host (RFC 952, RFC 1123).
func isHostName(word string) bool {
	return word != "" && len(word) <= 253 && word[0] != '-' && word[0] != '.' && !strings.ContainsFunc(word, notInName) && !strings.ContainsAny(word, "_/")
}

// isDevice knows words with a number before a colon that are devices, programs and counters, and no hosts.
var isDevice = pattern.New(`(?i)^(?:rank|local-?rank|gpu|cuda|hip|nic|port|line|step|epoch|iter\w*|ring|tree|channel|thread|worker_?|process|proc|pid|device|dev|node-?rank|phase|stage|layer|` +
	`eth|en[opsx]|ib|ibp|roce|mlx|bnxt|ionic|irdma|efa|hsi|bond|veth|docker|lo|br|usb|sd|nvme|md|cpu|numa|pcieport|amdgpu|nvidia|` +
	`python|perl|ruby|bash|gcc|g\+\+|clang|lib\w+|nccl|rccl|ipv|http|utf|sha|md|h|x|v)-?[0-9.]+[0-9a-z.]*$|^en[opsx]\w+$`)
