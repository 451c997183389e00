// Package envtext reads environment variables of communication libraries out of text that people paste: shells and their
// scripts, launchers, manifests, compose files, Dockerfiles, unit files, JSON, TOML and programs. Each form is read by its
// grammar: a name in a sentence, in a comment, or with a value that something else fills in, sets nothing.
package envtext

import (
	"slices"
	"strings"
)

// Setting is a variable that a line sets, or takes back.
type Setting struct {
	Name, Value string
	Unset       bool // the line takes the variable out of the environment
}

// Signs are texts of which a line that sets something has one, unless it goes on with what the line before has begun.
func Signs() []string { return []string{"NCCL_", "RCCL_", "HSA_", "UCX_"} }

// Reader reads a text line by line. The zero value is ready; what a line begins, such as an entry of a list in YAML with its
// name and its value in two lines, the next one ends.
type Reader struct {
	open string // the name whose value is to follow
	list bool   // the entries of a list follow that is the environment of a container
}

// Open reports whether the next line may set something without any of Signs.
func (r *Reader) Open() bool { return r.open != "" || r.list }

// Line returns what a line sets, in the order in which it does.
func (r *Reader) Line(text string) []Setting {
	text = code(text)
	if text == "" {
		return nil
	}
	open := r.open
	r.open = ""
	entry, isEntry := strings.CutPrefix(text, "- ")
	switch {
	case listLine().MatchString(text):
		r.list = true
		return nil
	case open != "":
		if m := valueLine().FindStringSubmatch(text); m != nil {
			return one(open, m[1])
		}
	}
	r.list = r.list && isEntry
	if !maySet(text) {
		return nil
	}
	if m := nameLine().FindStringSubmatch(text); m != nil {
		r.open = strings.Clone(m[1])
		return nil
	}
	if r.list {
		text = strings.Trim(entry, `"'`)
	}
	return settings(text)
}

// Typed returns what a command sets that stands behind the prompt of the superuser at the beginning of a line: # is that of a
// comment too, and only what follows tells which it is.
func Typed(text string) []Setting {
	command, ok := strings.CutPrefix(strings.TrimSpace(text), "# ")
	if !ok {
		return nil
	}
	return settings(code(command))
}

// settings are those of one line, each once in whatever forms it is found.
func settings(text string) (out []Setting) {
	for _, form := range []func(string) []Setting{taken, entries, calls, pairs, words, statement} {
		for _, s := range form(text) {
			if !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// maySet reports whether a name of a line has behind it what each form has there, or a word that sets one by its place: most lines
// that speak of a variable set nothing, and the grammars take their time.
func maySet(text string) bool {
	named := false
	for _, sign := range Signs() {
		for rest := text; ; {
			at := strings.Index(rest, sign)
			if at < 0 {
				break
			}
			named, rest = true, strings.TrimLeft(rest[at+len(sign):], "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")
			if behind := strings.TrimLeft(rest, "\"'] \t"); behind != "" && strings.IndexByte("=:,?", behind[0]) >= 0 {
				return true
			}
		}
	}
	return named && has(text, "env", "ENV", "set", "name", "environ")
}

// has reports whether a text has one of some words.
func has(text string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(text, word) })
}

// ours reports whether a name is one of the variables that are read.
func ours(name string) bool {
	return slices.ContainsFunc(Signs(), func(sign string) bool { return len(name) > len(sign) && strings.HasPrefix(name, sign) })
}
