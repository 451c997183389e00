package envtext

import "strings"

// literal is a value as it will be in the environment; ok is false where something else fills it in: a variable of the
// shell, a template, a command.
func literal(value string) (string, bool) {
	if strings.ContainsAny(value, "$`") || strings.Contains(value, "{{") || strings.HasPrefix(value, "<") {
		return "", false
	}
	return value, true
}

// quoted takes the quotes off a value that stands in them whole.
func quoted(value string) (string, bool) {
	if len(value) >= 2 && (value[0] == '"' || value[0] == '\'') && value[len(value)-1] == value[0] {
		return value[1 : len(value)-1], true
	}
	return value, false
}

// scalar is a value of YAML, JSON or TOML; ok is false for none, such as null, and for what is no single word.
func scalar(text string) (string, bool) {
	text = strings.TrimSpace(strings.TrimRight(strings.TrimSpace(text), ",;"))
	if value, ok := quoted(text); ok {
		return literal(value)
	}
	switch strings.ToLower(text) {
	case "", "null", "~", "|", ">", "none()":
		return "", false
	}
	if strings.ContainsAny(text, " \t\"'{}[]()") {
		return "", false
	}
	return literal(text)
}

// constant is a value in a program; ok is false for a name or an expression.
func constant(text string) (string, bool) {
	text = strings.TrimSpace(text)
	if value, ok := quoted(text); ok {
		return literal(value)
	}
	return text, text != "" && strings.Trim(text, "0123456789") == ""
}

// word is the shell's word at the beginning of a text, without its quotes, and where it ends. inside is the quote in which the
// text stands; 0: in none. A comma ends it where a name with its value follows, as in the lists of sbatch.
func word(text string, inside byte) (value string, end int) {
	var out strings.Builder
	var quote byte
	for end < len(text) {
		c := text[end]
		switch {
		case quote == 0 && inside != 0 && c == inside:
			return out.String(), end
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && inside == 0 && strings.IndexByte(" \t;&|)<>`", c) >= 0:
			return out.String(), end
		case quote == 0 && inside != 0 && (c == ' ' || c == '\t') && assignment().MatchString(text[end+1:]):
			return out.String(), end
		case quote == 0 && c == ',' && assignment().MatchString(text[end+1:]):
			return out.String(), end
		default:
			out.WriteByte(c)
		}
		end++
	}
	return out.String(), end
}
