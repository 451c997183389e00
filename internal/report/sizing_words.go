package report

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// thousands writes a count with commas: 381,804. Less than zero, which no count is, is a question mark.
func thousands(n int64) string {
	if n < 0 {
		return "?"
	}
	return fabric.Thousands(n)
}

// count1e9 writes a number of parameters in billions.
func count1e9(n int64) string {
	switch v := float64(n) / 1e9; {
	case n <= 0:
		return "an unknown number of"
	case v >= 100:
		return fmt.Sprintf("%.1f B", v)
	case v >= 1:
		return fmt.Sprintf("%.2f B", v)
	default:
		return fmt.Sprintf("%.3f B", v)
	}
}

// gibText writes bytes in GiB with the unit; none are a question mark.
func gibText(n int64) string {
	if n <= 0 {
		return "? GiB"
	}
	return draw.GiB(float64(n)) + " GiB"
}

// ratio writes a memory fraction with as many digits as it has, at most five.
func ratio(v float64) string {
	if !finite(v) || v <= 0 {
		return "?"
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}

// duration writes seconds in the usual unit.
func duration(s float64) string {
	switch {
	case !finite(s) || s < 0:
		return "?"
	case s < 60:
		return seconds(s)
	case s < 3600:
		return fmt.Sprintf("%.1f min", s/60)
	default:
		return fmt.Sprintf("%.1f h", s/3600)
	}
}

// printable makes text from a file safe to print, and bounds it.
func printable(text string) string { return cut(fabric.Printable(text)) }

func printableAll(all []string) []string {
	out := make([]string, 0, len(all))
	for _, text := range all {
		out = append(out, printable(text))
	}
	return out
}

// modelName is the model of an answer with what was assumed of its name.
func modelName(s *fabric.Sizing) string {
	name := printable(orElse(s.Model, "No model"))
	if s.ModelAssumed != "" {
		name += " (" + printable(s.ModelAssumed) + ")"
	}
	return name
}

// commandLines is a command, ready to be pasted: broken between flags with a backslash where it is wider than width. No
// words are no command.
func commandLines(words []string, width int) []string {
	const most = 64 // words; the longest real command has some 30
	if len(words) == 0 {
		return nil
	}
	words, _ = bounded(words, most)
	groups := []string{shellWord(words[0])} // a flag with its values
	for _, word := range words[1:] {
		quoted, last := shellWord(word), groups[len(groups)-1]
		if strings.HasPrefix(word, "-") || len(last)+len(quoted) > width {
			groups = append(groups, quoted)
			continue
		}
		groups[len(groups)-1] = last + " " + quoted
	}
	var lines []string
	line := groups[0]
	for _, g := range groups[1:] {
		if len([]rune(line))+1+len([]rune(g))+2 > width {
			lines = append(lines, line+` \`)
			line = "  " + g
			continue
		}
		line += " " + g
	}
	return append(lines, line)
}

// shellWord quotes what a shell would read as more than a word. A flag that holds its value behind a blank is
// left as two words.
func shellWord(word string) string {
	word = fabric.Printable(printable(word))
	flag, value, two := strings.Cut(word, " ")
	if two && strings.HasPrefix(flag, "-") && plainWord(flag) {
		return flag + " " + shellWord(value)
	}
	if word != "" && plainWord(word) || startVariable(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plainWord says that a shell reads a word as it stands.
func plainWord(word string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	return !strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plain, r) })
}

// startVariable says that a word is a variable which the notes of a start command name, with a port or without.
func startVariable(word string) bool {
	name, port, _ := strings.Cut(word, ":")
	if strings.Trim(port, "0123456789") != "" {
		return false
	}
	switch name {
	case "$HEAD_ADDR", "$NODE_RANK", "$START_RANK", "$MODEL_PATH":
		return true
	}
	return false
}
