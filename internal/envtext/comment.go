package envtext

import "strings"

// directives begin lines that are comments for a shell and words for a batch system (sbatch, qsub, bsub, flux-batch: their
// manuals).
func directives() []string {
	return []string{"#SBATCH", "#PBS", "#BSUB", "#FLUX:", "# flux:", "#flux:"}
}

// code is a line without white space around it and without its comments; empty: it is one. Comments begin with # in shells,
// YAML, TOML, Dockerfiles and Python, with // in JSON5, C and Go, with ; in ini files and with -- in Lua.
func code(text string) string {
	text = strings.TrimSpace(text)
	for _, d := range directives() {
		if rest, ok := strings.CutPrefix(text, d); ok {
			return code(rest)
		}
	}
	for _, mark := range []string{"#", "//", ";", "-- ", "REM "} {
		if strings.HasPrefix(text, mark) {
			return ""
		}
	}
	return strings.TrimSpace(text[:commentAt(text)])
}

// commentAt is where a comment begins behind code: a # or // after white space, outside of quotes. len(text): nowhere.
func commentAt(text string) int {
	var quote byte
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'' && (i == 0 || !isLetter(text[i-1])): // not the apostrophe of a word
			quote = c
		case (c == '#' || strings.HasPrefix(text[i:], "// ")) && i > 0 && (text[i-1] == ' ' || text[i-1] == '\t') && !prompt(text[:i]):
			return i
		}
	}
	return len(text)
}

// prompt reports whether what stands before a # is that of a shell which the superuser has: host:~ #, [root@host dir] #.
func prompt(before string) bool {
	before = strings.TrimSpace(before)
	return before != "" && !strings.ContainsAny(before, "=\"'") && (strings.HasSuffix(before, "]") || strings.HasSuffix(before, "~") || strings.Contains(before, "@") && !strings.Contains(before, " "))
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
