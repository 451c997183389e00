package envtext

import (
	"regexp"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// variable is a name of the environment that is read, value one of a program or a document.
const (
	variable = `((?:NCCL|RCCL|HSA|UCX)_[A-Z0-9_]+)`
	value    = `("[^"]*"|'[^']*'|[^\s,;{}()\[\]]+)`
)

var (
	// Kubernetes, core/v1 EnvVar: name, then value; in flow style and in JSON on one line, else on two.
	entry     = pattern.Plain(`["']?\bname["']?:\s*["']?` + variable + `["']?\s*,\s*["']?value["']?:\s*` + value)
	nameLine  = pattern.Plain(`^(?:- )?\s*["']?name["']?:\s*["']?` + variable + `["']?,?$`)
	valueLine = pattern.Plain(`^["']?value["']?:\s*(.*)$`)

	// Docker compose, services: the environment as a list of NAME=value.
	listLine = pattern.Plain(`^["']?(?:environment|env)["']?:\s*\[?$`)

	// The environment of a program: os.environ["X"] = "1" of Python, ENV["X"] = "1" of Ruby and Julia; setdefault of Python,
	// setenv of POSIX, Go and Lmod, putenv of Python, env of Rust.
	subscript = pattern.Plain(`\[\s*["']` + variable + `["']\s*\]\s*=\s*("[^"]*"|'[^']*'|\d+)`)
	call      = pattern.Plain(`\b(?i:setenv|putenv|setdefault|set_env|env)\s*\(\s*["']` + variable + `["']\s*,\s*("[^"]*"|'[^']*'|\d+)`)

	// A mapping of JSON, of Python and of YAML with quotes; one of YAML without them, in a line of its own or in flow style;
	// a table of TOML.
	pair     = pattern.Plain(`["']` + variable + `["']\s*:\s*` + value)
	mapping  = pattern.Plain(`^(?:- )?` + variable + `:\s+(.*)$`)
	flow     = pattern.Plain(`[{,]\s*` + variable + `:\s+` + value)
	inTable  = pattern.Plain(`[{,]\s*` + variable + `\s*=\s*("[^"]*"|'[^']*'|\d+)`)
	keyValue = pattern.Plain(`^(?:export\s+)?(?:\$env:)?` + variable + `\s*(?:[:?]?=|\s=)\s+(.*)$|^(?:export\s+)?(?:\$env:)?` + variable + `\s+[:?]?=\s*(.*)$|^\$env:` + variable + `=(.*)$`)

	// Options and commands behind which a name and its value stand as two words: mpiexec of MPICH and Intel MPI (-genv, -env),
	// csh and environment modules (setenv), fish (set -x), the older form of ENV in a Dockerfile.
	twoWords = pattern.Plain(`(?:^|\s)(?:-genv|-env|setenv|set\s+-[A-Za-z]*x[A-Za-z]*|set\s+--export|ENV)\s+` + variable + `\s+([^=\s].*)$`)

	// Options, commands and keys behind which names with values stand, NAME=value: shells (export, declare, env, set of
	// cmd.exe), Open MPI (-x), containers (-e, --env), MPICH (-genv, -env), Slurm (--export), qsub (-v), Dockerfiles (ENV),
	// systemd and Supervisor (Environment=).
	behind     = pattern.Plain(`(?:^|[\s;&|("'])(?:export|declare\s+-x|typeset\s+-x|env|ENV|-x|-e|-v|--env|-env|-genv|--export|-E)(?:\s+|=)|\b[Ee]nvironment\s*=\s*|^set\s+`)
	assignment = pattern.Plain(`^([A-Za-z_][A-Za-z0-9_]*)=`)

	promptForm = pattern.Plain(`^(?:\([^)]*\)\s*)?(?:\[[^\]]*\]|[\w.@:~/-]*)\s*[$>%#]\s+`)

	unset   = pattern.Plain(`(?:^|[\s;&|])(?:unset|unsetenv|env\s+-u)\s+((?:-v\s+)?[A-Za-z_][A-Za-z0-9_ \t]*)`)
	removed = pattern.Plain(`(?:\bdel\s+\S*environ\[|environ\.pop\()\s*["']` + variable + `["']`)
)

// taken are variables that a line takes out of the environment.
func taken(text string) (out []Setting) {
	if !has(text, "unset", "environ", "env -u") {
		return nil
	}
	for _, m := range unset().FindAllStringSubmatch(text, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			if ours(name) {
				out = append(out, Setting{Name: strings.Clone(name), Unset: true})
			}
		}
	}
	for _, m := range removed().FindAllStringSubmatch(text, -1) {
		out = append(out, Setting{Name: strings.Clone(m[1]), Unset: true})
	}
	return out
}

func entries(text string) []Setting {
	if !has(text, "value") {
		return nil
	}
	return all(entry(), text, scalar)
}

func calls(text string) []Setting {
	if !has(text, "(", "[") {
		return nil
	}
	return append(all(subscript(), text, constant), all(call(), text, constant)...)
}

// pairs are the entries of mappings and tables.
func pairs(text string) []Setting {
	colon, spaced := has(text, ":"), has(text, " =", "\t=", "= ", "$env", ":=", "?=")
	if !colon && !spaced && !has(text, "{") {
		return nil
	}
	if m := mapping().FindStringSubmatch(text); m != nil {
		return one(m[1], m[2])
	}
	if m := keyValue().FindStringSubmatch(text); m != nil {
		for i := 1; i < len(m); i += 2 {
			if m[i] != "" {
				return one(m[i], m[i+1])
			}
		}
	}
	out := append(all(pair(), text, scalar), all(flow(), text, scalar)...)
	return append(out, all(inTable(), text, scalar)...)
}

func one(name, text string) []Setting {
	value, ok := scalar(text)
	if !ok {
		return nil
	}
	return []Setting{{Name: strings.Clone(name), Value: value}}
}

// all are the matches of a form with a name and a value.
func all(form *regexp.Regexp, text string, read func(string) (string, bool)) (out []Setting) {
	for _, m := range form.FindAllStringSubmatch(text, -1) {
		if value, ok := read(m[2]); ok {
			out = append(out, Setting{Name: strings.Clone(m[1]), Value: value})
		}
	}
	return out
}

// words are what options and commands are given.
func words(text string) (out []Setting) {
	if !has(text, "export", "declare", "typeset", "env", "ENV", "-x", "-e", "-v", "-E", "nvironment", "set") {
		return nil
	}
	if m := twoWords().FindStringSubmatch(text); m != nil {
		value, _ := word(m[2], 0)
		if strings.Contains(text, "ENV "+m[1]) { // all that is left of the line
			value = strings.TrimSpace(m[2])
			value, _ = quoted(value)
		}
		if value, ok := literal(value); ok {
			out = append(out, Setting{Name: strings.Clone(m[1]), Value: value})
		}
	}
	end := 0
	for _, at := range behind().FindAllStringIndex(text, -1) {
		if at[1] > end { // else it stands within what was read
			found, used := chain(text[at[1]:], true)
			out, end = append(out, found...), at[1]+used
		}
	}
	return out
}

// chain reads names with their values one after the other, between white space, commas and quotes, and, as a list for Slurm
// may have them, names without a value. end is where something else begins.
func chain(text string, list bool) (out []Setting, end int) {
	var inside byte
	for {
		for end < len(text) && strings.IndexByte(" \t,\"'", text[end]) >= 0 {
			switch c := text[end]; c {
			case inside:
				inside = 0
			case '"', '\'':
				inside = c
			}
			end++
		}
		if bare := strings.IndexByte(text[end:], ','); list && bare > 0 && isName(text[end:end+bare]) {
			end += bare
			continue
		}
		m := assignment().FindStringSubmatch(text[end:])
		if m == nil {
			return out, end
		}
		value, length := word(text[end+len(m[0]):], inside)
		end += len(m[0]) + length
		if value, ok := literal(value); ok && ours(m[1]) {
			out = append(out, Setting{Name: strings.Clone(m[1]), Value: value})
		}
	}
}

func isName(text string) bool {
	return text != "" && strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// statement is a line of a shell, or of a file with one variable a line: assignments that nothing follows, or a command.
func statement(text string) []Setting {
	if !has(text, "=") {
		return nil
	}
	text = text[len(promptForm().FindString(text)):]
	if strings.Contains(text, "_perf") { // a benchmark with what was set for it, wherever that stands
		return everywhere(text)
	}
	out, end := chain(text, false)
	if !command(text[end:]) {
		return nil
	}
	return out
}

// everywhere are the assignments of a command, each at the beginning of a word.
func everywhere(text string) (out []Setting) {
	for at := 0; at < len(text); {
		found, end := chain(text[at:], false)
		out = append(out, found...)
		next := strings.IndexAny(text[at+end:], " \t")
		if next < 0 {
			break
		}
		at += end + next + 1
	}
	return out
}

// command reports whether what follows assignments is nothing, or has the shape of a command: an option, a path or the name
// of a script. A sentence has none.
func command(rest string) bool {
	rest = strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(rest), "\\;"))
	if rest == "" || strings.HasPrefix(rest, "&&") {
		return true
	}
	for w := range strings.FieldsSeq(rest) {
		option := strings.HasPrefix(w, "-") && len(w) > 1 && (isLetter(w[1]) || w[1] == '-')
		script := strings.HasSuffix(w, ".py") || strings.HasSuffix(w, ".sh")
		path := strings.HasPrefix(w, "/") || strings.HasPrefix(w, "./") || strings.HasPrefix(w, "../")
		if option || script || path {
			return true
		}
	}
	return false
}
