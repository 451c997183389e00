package junos

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// junosWord is a word of a configuration of Junos, with the line on which it stands.
type junosWord struct {
	text   string
	at     fabric.Line
	listed bool // between brackets: one of several values
}

// statement is a statement: its words, and the block that follows them. A set command is one without a block.
type statement struct {
	words []junosWord
	block []*statement
	marks []string // inactive, replace, delete, protect: what stands before it with a colon
	verb  string   // set, delete, deactivate, activate; empty: it was written with braces
	base  []string // place to which it is relative; nil: none is known
}

// junosText is what is in a text before anybody knows what its words mean.
type junosText struct {
	statements []*statement
	problems   []fabric.TextProblem
	unread     []fabric.Line // output of commands that show no configuration
	lines      int
}

// junosMarks stand before a statement (Junos CLI User Guide, load and show configuration).
var junosMarks = map[string]bool{"inactive:": true, "replace:": true, "delete:": true, "protect:": true, "active:": true}

// parser reads a text line by line: braces and semicolons across lines, commands on lines of their own.
type parser struct {
	out     junosText
	open    []*statement // blocks that are open, the innermost last
	now     *statement   // the statement that no semicolon has ended
	list    bool         // within brackets
	comment bool         // within /* */
	base    []string     // place that [edit ...], an edit command or show configuration ... named
	other   bool         // what follows is the output of another command
	last    fabric.Line
}

// parseJunos reads the curly form, as show configuration prints it, and the set form, in any mix, with or without prompts.
func parseJunos(t switchtext.Text) junosText {
	p := &parser{}
	for _, l := range switchtext.CLILines(t) {
		p.out.lines++
		p.last = l.Line
		if strings.HasPrefix(l.Command, "---(more") {
			continue
		}
		if l.Command == "!" && !p.comment && len(p.open) == 0 {
			continue // a comment of other languages, which people put between commands
		}
		if len(p.open) == 0 && p.now != nil && len(p.now.words) > 0 && !p.comment && !p.list && l.Prompt == "" && setCommand().MatchString(l.Command) {
			p.problem(fabric.TextForeign, p.now.words[0].at, "a statement has no semicolon at its end", "Junos refuses the text")
			p.finish()
		}
		idle := len(p.open) == 0 && p.now == nil && !p.comment
		if l.Prompt != "" && !p.comment || idle && p.outside(l) {
			p.command(l)
			continue
		}
		if p.other {
			p.out.unread = append(p.out.unread, l.Line)
			continue
		}
		p.line(l)
	}
	p.end()
	return p.out
}

// setCommand is a line that is a command and not the middle of a statement.
var setCommand = pattern.Plain(`^(?:set|delete|deactivate|activate) [a-z]`)

// banner is the line above a prompt: which of several routing engines answers.
var banner = pattern.Plain(`^\{[a-z]+(?::[\w-]+)?\}$`)

// outside reports whether a line is a command, a banner or a page break rather than a part of a configuration.
func (p *parser) outside(l switchtext.CLILine) bool {
	first, rest, _ := strings.Cut(l.Command, " ")
	switch first {
	case "set", "delete", "deactivate", "activate", "edit", "protect", "unprotect", "annotate", "insert", "rename", "copy", "wildcard", "replace":
		return rest != "" && !strings.HasSuffix(l.Command, "{")
	case "top", "up", "exit", "quit", "configure", "commit", "load", "run", "rollback", "show":
		return !strings.HasSuffix(l.Command, "{") && !strings.HasSuffix(l.Command, ";")
	}
	return strings.HasPrefix(l.Command, "[edit") || banner().MatchString(l.Command)
}

// command reads a line that is no part of a block.
func (p *parser) command(l switchtext.CLILine) {
	if strings.HasPrefix(l.Command, "[edit") {
		p.base = strings.Fields(strings.TrimSuffix(strings.TrimPrefix(l.Command, "[edit"), "]"))
		return
	}
	words := junosWords(l)
	if l.Prompt != "" {
		p.other = false
	}
	if len(words) == 0 {
		return
	}
	switch first := words[0].text; first {
	case "set", "delete", "deactivate", "activate":
		if len(words) > 1 {
			p.out.statements = append(p.out.statements, &statement{verb: first, words: words[1:], base: p.base})
		}
	case "edit":
		p.base = append(p.base[:len(p.base):len(p.base)], junosTexts(words[1:])...)
	case "top":
		p.base = nil
		if len(words) > 2 && words[1].text == "set" {
			p.out.statements = append(p.out.statements, &statement{verb: "set", words: words[2:], base: p.base})
		}
	case "up":
		p.base = p.base[:max(0, len(p.base)-1)]
	case "exit", "quit":
		p.base = nil
	case "show":
		p.shown(words[1:], l.Prompt)
	case "run":
		p.other = true
	case "wildcard", "rename", "copy", "load", "replace":
		p.out.statements = append(p.out.statements, &statement{verb: first, words: words})
	}
}

// shown takes the place from a show command: what follows it stands below that place. Operational mode shows much else.
func (p *parser) shown(words []junosWord, prompt string) {
	switch {
	case len(words) > 0 && words[0].text == "configuration":
		words, p.base = words[1:], nil
	case strings.HasSuffix(prompt, ">"):
		p.other = true
		return
	}
	for i, w := range words {
		if w.text == "|" {
			p.other = i+1 < len(words) && words[i+1].text == "compare"
			words = words[:i]
			break
		}
	}
	p.base = append(p.base[:len(p.base):len(p.base)], junosTexts(words)...)
}

func junosTexts(words []junosWord) []string {
	out := make([]string, 0, len(words))
	for _, w := range words {
		out = append(out, w.text)
	}
	return out
}

// junosWords splits a command into words.
func junosWords(l switchtext.CLILine) []junosWord {
	var out []junosWord
	list := false
	lexJunos(l.Command, func(token string, quoted bool) {
		switch {
		case !quoted && token == "[":
			list = true
		case !quoted && token == "]":
			list = false
		case !quoted && (token == ";" || token == "{" || token == "}"):
		default:
			out = append(out, junosWord{token, l.Line, list})
		}
	})
	return out
}

// line reads a line of the curly form.
func (p *parser) line(l switchtext.CLILine) {
	text := l.Command
	for text != "" {
		if p.comment {
			_, after, found := strings.Cut(text, "*/")
			if !found {
				return
			}
			p.comment, text = false, after
		}
		text = p.tokens(l, text)
	}
}

// tokens reads until the end of the line or the start of a comment, and returns what follows that.
func (p *parser) tokens(l switchtext.CLILine, text string) string {
	rest := lexJunos(text, func(token string, quoted bool) {
		switch {
		case quoted:
			p.word(token, l.Line)
		case token == "[":
			p.list = true
		case token == "]":
			p.list = false
		case token == ";":
			p.finish()
		case token == "{":
			p.enter(l.Line)
		case token == "}":
			p.leave(l.Line)
		default:
			p.word(token, l.Line)
		}
	})
	p.comment = rest != ""
	return strings.TrimPrefix(rest, "/*")
}

func (p *parser) word(text string, at fabric.Line) {
	if p.now == nil {
		p.now = &statement{base: p.base}
	}
	if len(p.now.words) == 0 && junosMarks[text] {
		p.now.marks = append(p.now.marks, strings.TrimSuffix(text, ":"))
		return
	}
	if n := len(p.now.words); n > 0 && !p.list && p.now.words[n-1].at.Number != at.Number && !p.now.words[n-1].listed {
		p.problem(fabric.TextForeign, p.now.words[n-1].at, "a line has no semicolon at its end", "Junos reads the next line as its continuation, or refuses the text")
	}
	p.now.words = append(p.now.words, junosWord{text, at, p.list})
}

// finish ends a statement.
func (p *parser) finish() {
	if p.now != nil && len(p.now.words) > 0 {
		if len(p.open) == 0 {
			p.out.statements = append(p.out.statements, p.now)
		} else {
			in := p.open[len(p.open)-1]
			in.block = append(in.block, p.now)
		}
	}
	p.now, p.list = nil, false
}

// junosDepth bounds blocks within blocks.
const junosDepth = 64

func (p *parser) enter(at fabric.Line) {
	s := p.now
	if len(p.open) >= junosDepth {
		p.problem(fabric.TextForeign, at, "blocks stand within blocks, deeper than any of Junos do", "what is in them is not read")
		p.now, p.open = nil, append(p.open, &statement{words: []junosWord{{text: "{", at: at}}})
		return
	}
	if s == nil || len(s.words) == 0 {
		p.problem(fabric.TextForeign, at, "a brace opens, and nothing says what", "Junos refuses the text")
		s = &statement{words: []junosWord{{text: "{", at: at}}}
		p.now = s
	}
	p.finish()
	p.open = append(p.open, s)
}

func (p *parser) leave(at fabric.Line) {
	if p.now != nil && len(p.now.words) > 0 {
		p.problem(fabric.TextForeign, p.now.words[0].at, "a statement has no semicolon at its end", "Junos refuses the text")
		p.finish()
	}
	if len(p.open) == 0 {
		p.problem(fabric.TextCut, at, "a brace closes what this text does not open", "the beginning is missing, or the brace is one too many")
		return
	}
	p.open = p.open[:len(p.open)-1]
}

// end looks at what is still open.
func (p *parser) end() {
	unfinished := p.now != nil && len(p.now.words) > 0
	if unfinished || len(p.open) > 0 || p.comment {
		what := "the text ends in the middle of a statement"
		if !unfinished && len(p.open) > 0 {
			what = "the text ends, and the block " + strings.Join(junosTexts(p.open[len(p.open)-1].words), " ") + " is still open"
		}
		p.problem(fabric.TextCut, p.last, what, "the rest is missing; Junos refuses it so")
	}
	p.finish()
}

func (p *parser) problem(kind string, at fabric.Line, what, then string) {
	p.out.problems = append(p.out.problems, fabric.TextProblem{Kind: kind, At: at, What: what, Then: then})
}

// lexJunos hands on each word, string and sign of a text, and returns what begins with a comment that may go over several
// lines. A comment begins only where a word may begin: et-0/0/* has none, and et-0/0/[0-3] is one word.
func lexJunos(text string, token func(text string, quoted bool)) (rest string) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\t':
			i++
		case c == '#':
			return ""
		case strings.HasPrefix(text[i:], "/*"):
			return text[i:]
		case c == '"':
			end := quoteEnd(text, i+1)
			token(strings.ReplaceAll(text[i+1:end], `\"`, `"`), true)
			i = end + 1
		case strings.IndexByte("{};[]", c) >= 0:
			token(text[i:i+1], false)
			i++
		default:
			end := wordEnd(text, i)
			token(text[i:end], false)
			i = end
		}
	}
	return ""
}

func quoteEnd(text string, from int) int {
	for i := from; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(text)
}

func wordEnd(text string, from int) int {
	depth := 0
	for i := from; i < len(text); i++ {
		switch text[i] {
		case ' ', '\t', '"', ';', '{', '}':
			return i
		case '[':
			depth++
		case ']':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return len(text)
}
