package fabric

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Count returns a number with its noun, in the plural where needed: 1 host, 3 NICs, 2 switches, 4 entries.
func Count(n int, noun string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(noun, "ch") || strings.HasSuffix(noun, "s") || strings.HasSuffix(noun, "x"):
		noun += "es"
	case strings.HasSuffix(noun, "ry"):
		noun = strings.TrimSuffix(noun, "y") + "ies"
	default:
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

// Thousands returns a number with commas: 1,048,576.
func Thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

// Printable returns foreign text (of a machine, a neighbour, a file) in a form that is safe to show on a terminal.
// Control and formatting characters, and bytes that are not UTF-8, are written as in Go (\x1b, \n). The NULs at
// either end, with which C pads its strings, are dropped.
func Printable(text string) string {
	text = strings.Trim(text, "\x00")
	if isPrintable(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsGraphic(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		i += size
	}
	return b.String()
}

func isPrintable(text string) bool {
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsGraphic(r) {
			return false
		}
	}
	return true
}

// Quote returns user input in quotes, cut after 80 characters: it may be a whole file by mistake.
func Quote(word string) string {
	const longest = 80
	if r := []rune(word); len(r) > longest {
		word = string(r[:longest]) + "..."
	}
	return strconv.Quote(word)
}

// Ranges writes ascending numbers, those that follow each other as a range: 0-25, 27-47. No number at all is none.
func Ranges(list []int, none string) string {
	var out []string
	for i := 0; i < len(list); {
		j := i
		for j+1 < len(list) && list[j+1] == list[j]+1 {
			j++
		}
		word := strconv.Itoa(list[i])
		if j > i {
			word += "-" + strconv.Itoa(list[j])
		}
		out = append(out, word)
		i = j + 1
	}
	if len(out) == 0 {
		return none
	}
	return strings.Join(out, ", ")
}
