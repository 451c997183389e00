package manifest

import (
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// signs are what a text has that may hold a manifest; a log of gigabytes is not read whole for anything less.
var signs = pattern.Plain(`(?m)^[ \t>]*(?:apiVersion:|"apiVersion":|kind:|containers:|services:|rdmaSharedDevicePlugin:|leaderWorkerTemplate:|(?:\$ |# )?(?:sudo )?(?:docker|podman|nerdctl) (?:run|create)\b)`)

// Likely reports whether a text, or its head, may hold a manifest.
func Likely(head []byte) bool { return signs().Match(head) }

// Found is a manifest in a text.
type Found struct {
	*File
	Whole bool // the text is nothing else
}

// Find reads the manifests of a text that may hold others things too: a thread of an issue with blocks of code, a log. ok is false
// where it holds none.
func Find(name string, text []byte) (found Found, ok bool) {
	body := strings.ReplaceAll(string(text), "\r\n", "\n")
	var broken *File
	if beginsManifest(body) || onlyRuns(body) {
		f, err := Read(name, text)
		if err != nil {
			f = &File{Name: name, Broken: true, Unread: []Note{{Line: 1, What: err.Error()}}}
		}
		if len(f.Workloads)+len(f.Pools) > 0 {
			return Found{File: f, Whole: !f.Broken}, true
		}
		if f.Broken && holdsPods().MatchString(body) {
			broken = f
		}
	}
	all := &File{Name: name}
	for _, p := range blocks(body) {
		if f, err := Read(name, []byte(p.text)); err == nil {
			all.add(f, p.line-1)
		}
	}
	if len(all.Workloads)+len(all.Pools) == 0 && broken != nil {
		return Found{File: broken}, true
	}
	return Found{File: all}, len(all.Workloads)+len(all.Pools) > 0
}

// holdsPods is what a manifest of pods has, even one that is no YAML.
var holdsPods = pattern.Plain(`(?m)^[ \t-]*(?:containers|image):`)

var firstKey = pattern.Plain(`^(?:[A-Za-z"{][\w.\-/"]*:|\{\{|---|%YAML|\{)`)

// beginsManifest reports whether a text is a manifest from its first line on, comments aside: YAML or JSON with a sign of one.
func beginsManifest(body string) bool {
	if !signs().MatchString(body) {
		return false
	}
	for line := range strings.SplitSeq(strings.TrimPrefix(body, "\ufeff"), "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "#") {
			continue
		}
		return firstKey().MatchString(line)
	}
	return false
}

// onlyRuns reports whether a text is a script of docker run lines below comments, and nothing else.
func onlyRuns(body string) bool {
	runs, goesOn := 0, false
	for line := range strings.SplitSeq(body, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case goesOn, trimmed == "", runs == 0 && strings.HasPrefix(trimmed, "#") && !dockerLine().MatchString(line): // later ones may be of a table
		case dockerLine().MatchString(line):
			runs++
		default:
			return false
		}
		goesOn = strings.HasSuffix(trimmed, "\\")
	}
	return runs > 0
}

var topKey = pattern.Plain(`^[A-Za-z][\w-]*:(?: |$)`)

// blocks are the parts of a text that may be manifests: fenced code, and runs of lines that begin with a key of an object.
func blocks(body string) (out []part) {
	var at part
	var lines []string
	end := func() {
		if at.text = strings.Join(lines, "\n"); at.line > 0 && signs().MatchString(at.text) {
			out = append(out, at)
		}
		at, lines = part{}, nil
	}
	fenced := false
	for i, line := range strings.Split(body, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			end()
			fenced = !fenced
			if fenced {
				at.line = i + 2
			}
		case fenced, at.line > 0 && (goesOn(line) || strings.HasSuffix(strings.TrimRight(lines[len(lines)-1], " \t"), "\\")):
			lines = append(lines, line)
		case strings.HasPrefix(line, "apiVersion:") || strings.HasPrefix(line, "kind:") || strings.HasPrefix(line, "services:") || dockerLine().MatchString(line):
			end()
			at.line, lines = i+1, []string{line}
		default:
			end()
		}
	}
	end()
	return out
}

// goesOn reports whether a line may belong to the object above it.
func goesOn(line string) bool {
	return line == "" || line[0] == ' ' || line[0] == '-' || line[0] == '#' || topKey().MatchString(line)
}

// add takes in what another part of the same text holds.
func (f *File) add(other *File, by int) {
	other.shift(by)
	f.Documents += other.Documents
	f.Workloads = append(f.Workloads, other.Workloads...)
	f.Services = append(f.Services, other.Services...)
	f.Pools = append(f.Pools, other.Pools...)
	f.Problems = append(f.Problems, other.Problems...)
	f.Unread = append(f.Unread, other.Unread...)
}
