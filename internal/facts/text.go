package facts

import (
	"strings"
	"unicode"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// printable makes text that somebody else wrote (a neighbour, the firmware) safe to show on a terminal.
func printable(text string) string {
	text = strings.Trim(text, "\x00")
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
}

// optional reads a text that may be absent; then it is nil and Missing says why.
func optional(h host.Host, f *fabric.Facts, what, file string) *string {
	text, err := host.ReadString(h, file)
	if err != nil {
		miss(f, what, file, err)
		return nil
	}
	text = printable(text)
	return &text
}

// keyValue splits a line such as "Firmware version: 28.39.1002" at its first colon.
func keyValue(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}
