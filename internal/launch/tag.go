package launch

import (
	"strconv"
	"strings"
	"time"
)

// level is how bad a program says that a line is.
type level uint8

const (
	plainText level = iota // no level: a print, a traceback, or a program that prints none, such as SGLang
	quiet                  // debug, info
	warning
	failing // error, fatal
)

// tagged is a line without its prefixes, and what these say.
type tagged struct {
	rank  string    // as the engine names it: "TP3", "DP0 TP0", "PP1 TP3"; "" for a process without one
	role  string    // EngineCore_DP0, APIServer, Worker
	at    time.Time // of the log; zero: no time. A year that is not printed is 0.
	level level
	body  string
}

// untag reads the prefixes of a line, in whatever order they stand:
//
//	[2025-03-08 12:29:13 TP3]                        SGLang
//	(Worker_TP0_DCP0 pid=350) INFO 05-15 03:31:21 [gpu_worker.py:462]    vLLM
//	[rank26]:[E223 10:14:43.730311765 ProcessGroupNCCL.cpp:616]          torch
//	[1;36m(RayWorkerWrapper pid=411, ip=10.0.0.2)                        Ray
//	2026-07-20T04:24:08.123456789Z                   kubectl --timestamps
//	gpu-a:212:212 [0] NCCL WARN                      NCCL
func untag(text string) tagged {
	t := tagged{body: strings.TrimLeft(text, " │")}
	for range 6 {
		b := t.body
		switch {
		case b == "":
			return t
		case b[0] == '[' && t.bracket(b):
		case b[0] == '(' && t.process(b):
		case b[0] >= '0' && b[0] <= '9' && t.stamped(b):
		case b[0] >= 'A' && b[0] <= 'Z' && (t.levelled(b) || t.counted(b)):
		default:
			if i := strings.Index(b[:min(len(b), 120)], " NCCL "); i > 0 {
				t.nccl(b[i+len(" NCCL "):])
				return t
			}
			i := behind(b)
			if i < 0 {
				return t
			}
			t.body = b[i:]
			continue
		}
		t.body = strings.TrimLeft(t.body, " ")
	}
	return t
}

// behind finds the prefix of an engine behind one of another program: "Aug 17 18:42:18 vllm[8052]: (APIServer pid=8052) ".
func behind(b string) int {
	head := b[:min(len(b), 80)]
	for _, prefix := range []string{"[rank", "[20", "(APIServer", "(EngineCore", "(Worker", "(VllmWorker", "(RayWorker"} {
		if i := strings.Index(head, prefix); i > 0 {
			return i
		}
	}
	return -1
}

func (t *tagged) nccl(rest string) {
	switch {
	case strings.HasPrefix(rest, "WARN"):
		t.level = warning
	case strings.HasPrefix(rest, "INFO"), strings.HasPrefix(rest, "TRACE"):
		t.level = quiet
	}
}

// bracket reads what an engine, torch or glog writes between brackets.
func (t *tagged) bracket(b string) bool {
	end := strings.IndexByte(b, ']')
	if end < 0 || end > 120 {
		return false
	}
	inside, rest := b[1:end], b[end+1:]
	switch {
	case t.sglang(inside):
	case strings.HasPrefix(inside, "rank") && digits(inside[4:]):
		t.setRank("TP" + inside[4:])
		rest = strings.TrimPrefix(rest, ":")
	case len(inside) > 8 && strings.IndexByte("IWEF", inside[0]) >= 0 && inside[1] >= '0' && inside[1] <= '9' && strings.Contains(inside, ":"): // glog
		t.level = map[byte]level{'I': quiet, 'W': warning, 'E': failing, 'F': failing}[inside[0]]
		if at := glogTime(inside[1:]); !at.IsZero() {
			t.at = at
		}
	case strings.Contains(inside, ".py:"): // vLLM: file and line
	default:
		return false
	}
	t.body = rest
	return true
}

// sglang reads SGLang's prefix, a time, a rank or both, in each form that it has had.
func (t *tagged) sglang(inside string) bool {
	switch {
	case len(inside) >= 19 && isDate(inside):
		t.at = timeOf(inside[:19])
		t.setRank(strings.TrimLeft(strings.TrimLeft(inside[19:], ",.0123456789"), " "))
	case len(inside) >= 8 && !clock(0, "01", "01", inside[:8]).IsZero() && (len(inside) == 8 || inside[8] == ' '): // up to 0.3: time without a day
		t.setRank(strings.TrimLeft(inside[8:], " "))
	case len(inside) < 20 && strings.HasPrefix(inside, "TP") && len(inside) > 2 && digits(strings.Fields(inside)[0][2:]): // a time that a person cut off
		t.setRank(inside)
	case len(inside) == 14 && digits(inside[:2]) && inside[2] == '-' && digits(inside[3:5]) && inside[5] == ' ': // the server of diffusion models
		t.at = yearless(inside)
	case strings.HasPrefix(inside, "gpu_id=") && digits(inside[7:]), strings.HasPrefix(inside, "gpu=") && digits(inside[4:]): // before 0.3
		t.setRank("TP" + inside[strings.IndexByte(inside, '=')+1:])
	default:
		return false
	}
	return true
}

// setRank takes the rank of a prefix: only words of parallel sizes, such as "DP0 TP0 EP0".
func (t *tagged) setRank(words string) {
	if words == "" || len(words) > 40 {
		return
	}
	var tp, pp, dp string
	for w := range strings.FieldsSeq(words) {
		name := strings.TrimRight(w, "0123456789")
		if name == w {
			return
		}
		switch name {
		case "TP", "ATTN_TP":
			tp = w
		case "PP":
			pp = w
		case "DP":
			dp = w
		}
	}
	t.rank = strings.Join(strings.Fields(dp+" "+pp+" "+tp), " ")
}

// process reads "(Worker_TP0_DCP0 pid=350) ", "(EngineCore_DP0 pid=1)", "(VllmWorkerProcess pid=411)", Ray's with an address.
func (t *tagged) process(b string) bool {
	end := strings.Index(b[:min(len(b), 120)], ") ")
	if end < 0 || !strings.Contains(b[:end], "pid=") {
		return false
	}
	inside := b[1:end]
	name, _, _ := strings.Cut(inside, " ")
	role, ranks, _ := strings.Cut(name, "_")
	t.role, t.body = role, b[end+2:]
	if strings.HasPrefix(role, "Worker") && ranks != "" {
		t.setRank(strings.ReplaceAll(ranks, "_", " "))
	}
	if t.rank == "" && strings.Contains(role, "Worker") {
		_, pid, _ := strings.Cut(inside, "pid=")
		t.rank = "pid " + strings.TrimRight(strings.TrimSpace(pid), ")")
	}
	return true
}

// stamped reads a time at the start of a line.
func (t *tagged) stamped(b string) bool {
	if len(b) < 19 || !isDate(b) {
		return false
	}
	at := timeOf(b[:19])
	if at.IsZero() {
		return false
	}
	if t.at.IsZero() {
		t.at = at
	}
	i := 19
	for i < len(b) && b[i] != ' ' {
		i++
	}
	rest := strings.TrimLeft(b[i:], " ")
	if dash, ok := strings.CutPrefix(rest, "- "); ok { // logging of Python: "2025-12-11 00:06:54,210 - INFO - autotuner.py:256 - text"
		rest = dash
	}
	for _, stream := range []string{"stdout F ", "stderr F ", "stdout P ", "stderr P "} {
		rest = strings.TrimPrefix(rest, stream)
	}
	t.body = rest
	return true
}

// levelled reads "INFO 05-15 03:30:49 [utils.py:240] " of vLLM, "INFO:     " of uvicorn, "ERROR:root: ".
func (t *tagged) levelled(b string) bool {
	var name string
	for _, n := range []string{"INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL", "WARN"} {
		if strings.HasPrefix(b, n) {
			name = n
			break
		}
	}
	if name == "" {
		return false
	}
	rest := b[len(name):]
	switch {
	case len(rest) > 15 && rest[0] == ' ' && digits(rest[1:3]) && rest[3] == '-' && digits(rest[4:6]) && rest[6] == ' ' && rest[9] == ':':
		t.at = yearless(rest[1:15])
		rest = rest[15:]
		if after, ok := strings.CutPrefix(rest, " ["); ok {
			if _, text, ok := strings.Cut(after, "] "); ok {
				rest = text
			} else if _, text, ok := strings.Cut(after, "]"); ok {
				rest = text
			}
		} else if file, text, ok := strings.Cut(strings.TrimLeft(rest, " "), "] "); ok && strings.Contains(file, ".py:") { // before 0.9: "worker.py:267] "
			rest = text
		}
	case strings.HasPrefix(rest, ":"):
		rest = strings.TrimLeft(rest[1:], " ")
	case strings.HasPrefix(rest, " - "):
		rest = rest[3:]
	default:
		return false
	}
	t.level = map[string]level{"INFO": quiet, "DEBUG": quiet, "WARNING": warning, "WARN": warning, "ERROR": failing, "CRITICAL": failing}[name]
	t.body = rest
	return true
}

// glogTime reads "223 10:14:43.730311765": month and day without a blank, the month of one or two digits.
func glogTime(s string) time.Time {
	day, rest, ok := strings.Cut(s, " ")
	if !ok || len(day) < 3 || len(day) > 4 || len(rest) < 8 {
		return time.Time{}
	}
	month := day[:len(day)-2]
	if len(month) == 1 {
		month = "0" + month
	}
	return clock(0, month, day[len(day)-2:], rest)
}

// counted reads "Rank 1: " of SGLang before 0.2.
func (t *tagged) counted(b string) bool {
	rest, ok := strings.CutPrefix(b, "Rank ")
	n, _, found := strings.Cut(rest[:min(len(rest), 12)], ": ")
	if !ok || !found || !digits(n) {
		return false
	}
	t.setRank("TP" + n)
	t.body = rest[len(n)+2:]
	return true
}

// timeOf reads 2026-11-24 03:31:17, also with a T; zero: it is none.
func timeOf(s string) time.Time {
	year, err := strconv.Atoi(s[:4])
	if err != nil || (s[10] != ' ' && s[10] != 'T') {
		return time.Time{}
	}
	return clock(year, s[5:7], s[8:10], s[11:])
}

// yearless reads 05-15 03:30:49, with the year 0.
func yearless(s string) time.Time { return clock(0, s[:2], s[3:5], s[6:]) }

func clock(year int, month, day, hms string) time.Time {
	if len(hms) < 8 || hms[2] != ':' || hms[5] != ':' {
		return time.Time{}
	}
	n := [5]int{}
	for i, part := range []string{month, day, hms[:2], hms[3:5], hms[6:8]} {
		if !digits(part) {
			return time.Time{}
		}
		n[i] = int(part[0]-'0')*10 + int(part[1]-'0')
	}
	if n[0] < 1 || n[0] > 12 || n[1] < 1 || n[1] > 31 || n[2] > 23 || n[3] > 59 || n[4] > 60 {
		return time.Time{}
	}
	return time.Date(year, time.Month(n[0]), n[1], n[2], n[3], n[4], 0, time.UTC)
}
