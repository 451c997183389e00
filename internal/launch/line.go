package launch

import (
	"strconv"
	"strings"
	"time"
)

// Line is what one pod printed.
type Line struct {
	Pod  string    // name of the pod, or of the file
	At   time.Time // when it came; zero: unknown
	Text string
}

// longest is how much of a line is read: its head, and its end where it is longer. Engines print whole configurations in
// one line, and what matters in these is at the head.
const (
	longest  = 16 << 10
	tailKept = 2 << 10
)

// pieces calls do with what a terminal would show of a line one after the other: without color, and each part that a
// carriage return overwrites by itself, as progress bars do it.
func pieces(text string, do func(string)) {
	if len(text) > longest+tailKept {
		text = text[:longest] + " ... " + text[len(text)-tailKept:]
	}
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = plain(text)
	}
	for {
		i := strings.IndexByte(text, '\r')
		if i < 0 {
			break
		}
		if i > 0 {
			do(text[:i])
		}
		text = text[i+1:]
	}
	if text != "" {
		do(text)
	}
}

// plain drops the sequences that choose colors and move the cursor (ECMA-48: CSI, and OSC up to BEL or ST).
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != 0x1b {
			b.WriteByte(text[i])
			continue
		}
		if i++; i >= len(text) {
			break
		}
		switch text[i] {
		case '[':
			for i++; i < len(text) && (text[i] < 0x40 || text[i] > 0x7e); i++ {
			}
		case ']':
			for i++; i < len(text) && text[i] != 7 && text[i] != 0x1b; i++ {
			}
		}
	}
	return b.String()
}

// origin is the pod that a prefix names, and the text behind it:
//
//	[pod/vllm-0-1/engine] text          kubectl logs --prefix
//	vllm-0-1 engine text                stern, where the name ends as a pod's does
//	vllm-0-1 › engine text              stern with its arrow
//	worker-1  | text                    docker compose
func origin(text string) (pod, rest string) {
	head := text[:min(len(text), 200)]
	if inside, ok := strings.CutPrefix(head, "[pod/"); ok {
		if name, _, ok := strings.Cut(inside, "]"); ok {
			pod, _, _ = strings.Cut(name, "/")
			return pod, strings.TrimPrefix(text[len("[pod/]")+len(name):], " ")
		}
	}
	word, after, ok := strings.Cut(head, " ")
	if !ok || !podName(word) {
		return "", text
	}
	rest = strings.TrimLeft(text[len(word)+1:], " ")
	if after = strings.TrimLeft(after, " "); strings.HasPrefix(after, "| ") {
		return word, rest[2:]
	}
	if arrow := "› "; strings.HasPrefix(after, arrow) {
		after, rest = after[len(arrow):], rest[len(arrow):]
	}
	container, _, ok := strings.Cut(after, " ")
	if !ok || !lastIsNumber(word) && !strings.Contains(head, "› ") || !containerName(container) {
		return "", text
	}
	return word, strings.TrimPrefix(rest[len(container):], " ")
}

// exited reads what docker compose prints when a container ends: "worker-1 exited with code 137".
func exited(text string) (pod string, code int, ok bool) {
	pod, rest, ok := strings.Cut(text, " exited with code ")
	if !ok || !podName(pod) {
		return "", 0, false
	}
	code, err := strconv.Atoi(strings.TrimSpace(rest))
	return pod, code, err == nil
}

// podName reports whether a word may be the name of a pod: a DNS label with a dash.
func podName(word string) bool {
	return strings.Contains(word, "-") && label(word)
}

func containerName(word string) bool { return len(word) > 0 && word[0] >= 'a' && label(word) }

func label(word string) bool {
	if word == "" || len(word) > 100 || word[0] == '-' {
		return false
	}
	for _, c := range []byte(word) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '.' {
			return false
		}
	}
	return !isDate(word)
}

// lastIsNumber reports whether a name ends in -N, as pods of LeaderWorkerSets and StatefulSets do.
func lastIsNumber(name string) bool {
	i := strings.LastIndexByte(name, '-')
	return i > 0 && digits(name[i+1:])
}

func digits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return s != ""
}

// isDate reports whether a text begins as 2026-11-24 does.
func isDate(s string) bool {
	return len(s) >= 10 && digits(s[:4]) && s[4] == '-' && digits(s[5:7]) && s[7] == '-' && digits(s[8:10])
}
