package fabric

import "strings"

// ShellWord writes s as one word of a command line that sh, bash, zsh and fish read as exactly s (csh too,
// but for a newline). Single quotes keep everything but themselves, the backslash (which fish reads in
// them) and the exclamation mark (which csh does); those three stand outside, each behind a backslash.
func ShellWord(s string) string {
	if s == "" {
		return "''"
	}
	if strings.Trim(s, plainWord) == "" {
		return s
	}
	var b strings.Builder
	inside := false
	toggle := func(want bool) {
		if inside != want {
			b.WriteByte('\'')
			inside = want
		}
	}
	for i := range len(s) {
		c := s[i]
		special := c == '\'' || c == '\\' || c == '!'
		toggle(!special)
		if special {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	toggle(false)
	return b.String()
}

// plainWord are the characters that no shell gives a meaning to anywhere in a word.
const plainWord = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:,+@"
