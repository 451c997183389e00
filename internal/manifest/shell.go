package manifest

import (
	"path"
	"slices"
	"strings"
)

// Script is what a container runs: the commands of a shell script, or the one command of an argument list.
type Script struct {
	Commands []Command
	Shell    bool // commands were read from a script; else they are the arguments as given
	ExitsOnError,
	PipeFails bool // set -e, set -o pipefail
	Loops bool   // it has a loop that may end without what it waits for
	Lines []Text // of the script; nil where there is none
	Open  bool   // what the image runs by itself is not in the file
}

// Command is one command with its words, quotes taken off.
type Command struct {
	Words []string
	Line  int
	Key   string // if, elif, then, do, else before it; empty: none
}

// Flag finds the value of a flag under any of its names: --name value, --name=value. ok is true with an empty value for a flag
// without one. _ and - are the same, as for argparse of vLLM.
func (c Command) Flag(names ...string) (value string, ok bool) {
	for i, w := range c.Words {
		name, inline, has := strings.Cut(w, "=")
		if strings.HasPrefix(name, "--") {
			name = strings.ReplaceAll(name, "_", "-")
		}
		if !slices.Contains(names, name) {
			continue
		}
		switch {
		case has:
			value = inline
		case i+1 < len(c.Words) && !strings.HasPrefix(c.Words[i+1], "--"):
			value = c.Words[i+1]
		default:
			value = ""
		}
		ok = true // the last counts
	}
	return value, ok
}

// Runs reports whether the command has the words next to each other, paths of programs cut: sglang.launch_server, vllm serve.
func (c Command) Runs(words ...string) bool {
	for i := 0; i+len(words) <= len(c.Words); i++ {
		match := true
		for j, w := range words {
			if have := c.Words[i+j]; have != w && path.Base(have) != w {
				match = false
				break
			}
		}
		if match {
			return true
		}
	}
	return false
}

// Assigned finds the values that a script gives a variable, with export or without, first to last.
func (s Script) Assigned(name string) (out []Text) {
	for _, c := range s.Commands {
		words := c.Words
		if len(words) > 0 && (words[0] == "export" || words[0] == "declare" || words[0] == "env" || words[0] == "local") {
			words = words[1:]
		}
		for _, w := range words {
			if v, ok := strings.CutPrefix(w, name+"="); ok {
				out = append(out, Text{Value: v, Line: c.Line, Open: strings.ContainsAny(v, "$`")})
				continue
			}
			if !strings.Contains(w, "=") && c.Words[0] != "export" {
				break // what follows a command's name is its arguments
			}
		}
	}
	return out
}

// scriptOf reads what a container runs from its command and arguments.
func scriptOf(command, args []Text) Script {
	all := append(slices.Clone(command), args...)
	if len(all) == 0 {
		return Script{Open: true}
	}
	for i, t := range all {
		if !isShell(t.Value) {
			continue
		}
		for j := i + 1; j < len(all); j++ {
			if f := all[j].Value; strings.HasPrefix(f, "-") && strings.HasSuffix(f, "c") && !strings.HasPrefix(f, "--") {
				if j+1 < len(all) {
					return readScript(all[j+1])
				}
			}
		}
	}
	if len(all) == 1 && strings.ContainsAny(strings.TrimSpace(all[0].Value), " \n") && len(command) == 1 {
		return readScript(all[0])
	}
	s := Script{Open: len(command) == 0}
	c := Command{Line: all[0].Line}
	for _, t := range all {
		c.Words = append(c.Words, t.Value)
	}
	s.Commands = []Command{c}
	return s
}

func isShell(word string) bool {
	return slices.Contains([]string{"sh", "bash", "ash", "dash", "zsh"}, path.Base(word))
}

// readScript reads the commands of a script. Words with substitutions are kept as they stand.
func readScript(t Text) Script {
	s := Script{Shell: true}
	lines := strings.Split(t.Value, "\n")
	for i, l := range lines {
		s.Lines = append(s.Lines, Text{Value: l, Line: t.Line + i})
	}
	p := shellParser{text: t.Value, line: t.Line}
	s.Commands = p.commands()
	for _, c := range s.Commands {
		switch {
		case len(c.Words) == 0:
		case c.Words[0] == "set":
			s.set(c.Words[1:])
		case c.Words[0] == "for" || c.Words[0] == "while" || c.Words[0] == "until":
			s.Loops = true
		}
	}
	return s
}

func (s *Script) set(words []string) {
	for i, w := range words {
		if strings.HasPrefix(w, "-") && !strings.HasPrefix(w, "--") {
			s.ExitsOnError = s.ExitsOnError || strings.Contains(w, "e")
			if strings.HasSuffix(w, "o") && i+1 < len(words) {
				s.PipeFails = s.PipeFails || words[i+1] == "pipefail"
				s.ExitsOnError = s.ExitsOnError || words[i+1] == "errexit"
			}
		}
	}
}

// shellParser cuts a script into commands and words: quotes, escapes, comments, substitutions, here documents.
type shellParser struct {
	text string
	at   int
	line int

	word    strings.Builder
	started bool
	current Command
	out     []Command
	heredoc string
}

func (p *shellParser) commands() []Command {
	for p.at < len(p.text) {
		c := p.text[p.at]
		switch {
		case c == '\\':
			p.escape()
		case c == '\'' || c == '"':
			p.quoted(c)
		case strings.HasPrefix(p.text[p.at:], "$(") || c == '`' || strings.HasPrefix(p.text[p.at:], "${"):
			p.substitution()
		case c == '#' && !p.started:
			p.skipTo('\n')
		case c == '\n' || c == ';' || c == '&' || c == '|' || c == '(' || c == ')':
			if c == '&' && p.at > 0 && p.text[p.at-1] == '>' {
				p.add(string(c))
				p.at++
				continue
			}
			p.end()
			p.at++
			if c == '\n' {
				p.line++
				p.skipHeredoc()
			}
		case c == ' ' || c == '\t':
			p.endWord()
			p.at++
		default:
			p.add(string(c))
			p.at++
		}
	}
	p.end()
	return p.out
}

func (p *shellParser) add(s string) {
	if !p.started && len(p.current.Words) == 0 {
		p.current.Line = p.line
	}
	p.started = true
	p.word.WriteString(s)
}

func (p *shellParser) endWord() {
	if !p.started {
		return
	}
	w := p.word.String()
	p.word.Reset()
	p.started = false
	if name, ok := strings.CutPrefix(w, "<<"); ok && !strings.HasPrefix(name, "<") {
		p.heredoc = strings.TrimPrefix(name, "-")
		return
	}
	first := len(p.current.Words) == 0
	if first && slices.Contains([]string{"then", "do", "else", "{", "}", "!", "exec", "if", "elif"}, w) {
		if w != "!" && w != "exec" && w != "{" && w != "}" {
			p.current.Key = w
		}
		return // what follows is the command
	}
	p.current.Words = append(p.current.Words, w)
}

func (p *shellParser) end() {
	p.endWord()
	if len(p.current.Words) > 0 {
		p.out = append(p.out, p.current)
	}
	p.current = Command{}
}

func (p *shellParser) escape() {
	if p.at+1 >= len(p.text) {
		p.at++
		return
	}
	next := p.text[p.at+1]
	if next == '\n' {
		p.endWord()
		p.line++
	} else {
		p.add(string(next))
	}
	p.at += 2
}

// quoted adds a quoted part without its quotes. In double quotes \ escapes, and substitutions are kept.
func (p *shellParser) quoted(quote byte) {
	p.add("")
	p.at++
	for p.at < len(p.text) && p.text[p.at] != quote {
		if quote == '"' && p.text[p.at] == '\\' && p.at+1 < len(p.text) {
			p.at++
		} else if quote == '"' && strings.HasPrefix(p.text[p.at:], "$(") {
			p.substitution()
			continue
		}
		if p.text[p.at] == '\n' {
			p.line++
		}
		p.add(string(p.text[p.at]))
		p.at++
	}
	p.at++
}

// substitution adds $(...), ${...} or `...` as it stands, to its end.
func (p *shellParser) substitution() {
	start, depth := p.at, 0
	open, closing := byte('('), byte(')')
	switch {
	case p.text[p.at] == '`':
		p.at++
		for p.at < len(p.text) && p.text[p.at] != '`' {
			p.at++
		}
		p.at = min(p.at+1, len(p.text))
		p.keep(start)
		return
	case strings.HasPrefix(p.text[p.at:], "${"):
		open, closing = '{', '}'
	}
	for ; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case open:
			depth++
		case closing:
			depth--
		case '\'':
			if end := strings.IndexByte(p.text[p.at+1:], '\''); end >= 0 {
				p.at += end + 1
			}
		}
		if depth == 0 && p.at > start+1 {
			p.at++
			break
		}
	}
	p.keep(start)
}

func (p *shellParser) keep(start int) {
	part := p.text[start:min(p.at, len(p.text))]
	p.add(part)
	p.line += strings.Count(part, "\n")
}

func (p *shellParser) skipTo(end byte) {
	for p.at < len(p.text) && p.text[p.at] != end {
		p.at++
	}
}

// skipHeredoc leaves out the lines of a here document: they are text for a program.
func (p *shellParser) skipHeredoc() {
	if p.heredoc == "" {
		return
	}
	name := p.heredoc
	p.heredoc = ""
	for p.at < len(p.text) {
		end := strings.IndexByte(p.text[p.at:], '\n')
		line := p.text[p.at:]
		if end >= 0 {
			line = p.text[p.at : p.at+end]
			p.at += end + 1
		} else {
			p.at = len(p.text)
		}
		p.line++
		if strings.TrimSpace(line) == name {
			return
		}
	}
}
