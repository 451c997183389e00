package llm

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

// patterns are names of modules as quantisation configs write them: whole names, prefixes, suffixes or single parts
// of names, globs, and regular expressions after "re:". Names match with any wrapper before them.
type patterns struct {
	written  []string
	literals map[string]bool
	globs    []glob
	regexps  []*regexp.Regexp
	all      bool
	wrong    error
}

type glob struct{ pattern, head string }

// wrappers are the prefixes of the names of a language model in one file or another.
func wrappers() []string {
	return []string{
		"model.language_model.model.", "model.language_model.", "language_model.model.", "language_model.backbone.", "language_model.", "model.",
		"backbone.", "transformer.", "gpt_neox.", "",
	}
}

// classNames are words for all linear layers that targets use.
func isClassName(pattern string) bool { return pattern == "Linear" || pattern == "FusedMoE" }

func (p *patterns) compile() {
	p.literals = make(map[string]bool, len(p.written))
	for _, written := range p.written {
		expression, isRegexp := strings.CutPrefix(written, "re:")
		switch {
		case isRegexp:
			compiled, err := regexp.Compile("^(?:" + expression + ")")
			if err != nil {
				p.wrong = fmt.Errorf("pattern %q: invalid: %w", written, err)
				return
			}
			p.regexps = append(p.regexps, compiled)
		case isClassName(written):
			p.all = true
		case strings.ContainsAny(written, "*?["):
			core := strip(written)
			if _, err := path.Match(core, ""); err != nil {
				p.wrong = fmt.Errorf("pattern %q: invalid: %w", written, err)
				return
			}
			p.globs = append(p.globs, glob{core, strings.Trim(core[:strings.IndexAny(core, "*?[")], ".")})
		default:
			p.literals[strings.TrimSuffix(strip(written), ".")] = true
		}
	}
}

func strip(name string) string {
	for _, wrapper := range wrappers() {
		if rest, ok := strings.CutPrefix(name, wrapper); ok {
			return rest
		}
	}
	return name
}

// module is a linear layer's name without ".weight", in the ways in which patterns may mean it.
type module struct {
	core  string
	names []string
}

func newModule(tensor string) module {
	name := strings.ReplaceAll(strings.TrimSuffix(tensor, ".weight"), "*", "0")
	core := strip(name)
	m := module{core: core}
	for _, wrapper := range wrappers() {
		m.names = append(m.names, wrapper+core)
	}
	return m
}

// match reports whether one of the patterns names the module or something around it.
func (p patterns) match(m module) bool {
	if p.all || p.matchLiteral(m.core) {
		return true
	}
	for _, g := range p.globs {
		if strings.Contains(m.core, g.head) && g.match(m.core) {
			return true
		}
	}
	for _, r := range p.regexps {
		for _, name := range m.names {
			if r.MatchString(name) {
				return true
			}
		}
	}
	return false
}

// matchLiteral looks for every run of whole parts of the name.
func (p patterns) matchLiteral(core string) bool {
	if len(p.literals) == 0 {
		return false
	}
	for start := 0; ; {
		for end := start; ; {
			dot := strings.IndexByte(core[end:], '.')
			if dot < 0 {
				if p.literals[core[start:]] {
					return true
				}
				break
			}
			if end += dot; p.literals[core[start:end]] {
				return true
			}
			end++
		}
		dot := strings.IndexByte(core[start:], '.')
		if dot < 0 {
			return false
		}
		start += dot + 1
	}
}

// match takes the pattern as the whole name, or as what is before or after a dot.
func (g glob) match(core string) bool {
	for _, form := range []string{g.pattern, g.pattern + ".*", "*." + g.pattern, "*." + g.pattern + ".*"} {
		if ok, _ := path.Match(form, core); ok { // compile has checked the pattern
			return true
		}
	}
	return false
}
