package results

import (
	"slices"
	"strings"
)

// logEntry is one line of a debug log: host:pid:tid [device] NCCL INFO message, or for warnings
// host:pid:tid [device] file.cc:123 NCCL WARN message (src/debug.cc of NCCL). RCCL writes the same.
type logEntry struct {
	host    string // empty where it was lost
	thread  string // host:pid:tid
	device  string // the number in brackets: of the GPU within its process
	level   string // INFO, WARN, ...
	message string
	text    string // from the level on: NCCL INFO message
	file    string // of a warning, with its line: transport/nvls.cc:598; empty: not printed
}

var logLevels = []string{"INFO ", "WARN ", "TRACE ", "CALL ", "ABORT "}

// findLevel finds "NCCL INFO " and similar words, and returns where they begin and end.
func findLevel(text string) (at, end int) {
	for from := 0; ; {
		i := strings.Index(text[from:], "NCCL ")
		if i < 0 {
			return -1, -1
		}
		at = from + i
		from = at + len("NCCL ")
		for _, l := range logLevels {
			if strings.HasPrefix(text[from:], l) {
				return at, from + len(l)
			}
		}
	}
}

// parseLogEntry finds a log entry in a line, and what another process had written before it on the same line.
// hosts are those that began an earlier line; a new one is added.
func parseLogEntry(text string, hosts map[string]bool) (before string, e logEntry, ok bool) {
	at, end := findLevel(text)
	if at < 0 {
		return "", e, false
	}
	e = logEntry{level: strings.TrimSpace(text[at+len("NCCL ") : end]), message: text[end:], text: text[at:]}
	if e.level != "WARN" && strings.Contains(e.message, "NCCL WARN") {
		e.level = "WARN" // of two entries that were written into one line the warning counts
	}
	head := text[:at]
	e.file = sourceFile(head)
	begin, end := threadToken(head)
	if begin < 0 {
		return "", e, true
	}
	token := head[begin:end]
	if len(token) > longestHost {
		return "", e, true
	}
	e.device = deviceNumber(head[end:])
	host := token[:strings.LastIndexByte(token[:strings.LastIndexByte(token, ':')], ':')]
	if strings.TrimSpace(head[:begin]) == "" && !brokenInto(token, begin, hosts) {
		const mostHosts = 16384
		if len(hosts) < mostHosts && !hosts[host] {
			hosts[strings.Clone(host)] = true
		}
		e.host, e.thread = host, token
		return "", e, true
	}
	start := hostStart(host, hosts)
	e.host, e.thread = host[start:], token[start:]
	return head[:begin+start], e, true
}

// sourceFile is the file of NCCL that stands at the end of what is before the level: the same error of CUDA has other causes
// in another part of the library.
func sourceFile(head string) string {
	head = strings.TrimRight(head, " ")
	word := head[strings.LastIndexByte(head, ' ')+1:]
	name, line, ok := strings.Cut(word, ":")
	if at := strings.LastIndexByte(name, '.'); !ok || at < 1 || !isDigits(line) || len(word) > longestHost || !slices.Contains(sourceSuffixes, name[at:]) {
		return ""
	}
	return word
}

var sourceSuffixes = []string{".cc", ".cu", ".h", ".cpp"}

// deviceNumber reads the number of " [3] file.cc:12 ", what stands between the thread and the level.
func deviceNumber(text string) string {
	_, after, _ := strings.Cut(text, "[")
	number, _, ok := strings.Cut(after, "]")
	if !ok || !isDigits(number) {
		return ""
	}
	return number
}

// longestHost bounds host:pid:tid. A host name has at most 253 bytes (RFC 1035).
const longestHost = 280

// threadToken finds the last word of the form host:pid:tid among the last words before the level.
func threadToken(head string) (begin, end int) {
	end = len(head)
	for range 4 {
		for end > 0 && head[end-1] == ' ' {
			end--
		}
		begin = strings.LastIndexByte(head[:end], ' ') + 1
		word := head[begin:end]
		if tid := strings.LastIndexByte(word, ':'); tid > 0 && isDigits(word[tid+1:]) {
			if pid := strings.LastIndexByte(word[:tid], ':'); pid > 0 && isDigits(word[pid+1:tid]) {
				return begin, end
			}
		}
		if begin == 0 {
			break
		}
		end = begin
	}
	return -1, -1
}

// brokenInto reports whether a word at the beginning of a line ends in a known host and is longer.
func brokenInto(token string, begin int, hosts map[string]bool) bool {
	host := token[:strings.IndexByte(token, ':')]
	return begin > 0 && !hosts[host] && hostStart(host, hosts) > 0
}

// hostStart finds where the host begins in a word whose beginning another process wrote: "-1vm" is -1 and vm. A
// known host takes precedence; otherwise a name begins at its first letter.
func hostStart(word string, hosts map[string]bool) int {
	for i := range len(word) {
		if hosts[word[i:]] {
			return i
		}
	}
	for i := range len(word) {
		if c := word[i]; c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return i
		}
	}
	return 0
}
