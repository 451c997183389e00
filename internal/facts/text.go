package facts

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// optional reads a text that may be absent; then it is nil and Missing says why.
func optional(h host.Host, f *fabric.Facts, what, file string) *string {
	text, err := host.ReadString(h, file)
	if err != nil {
		miss(f, what, file, err)
		return nil
	}
	text = fabric.Printable(text)
	return &text
}

// keyValue splits a line such as "Firmware version: 28.39.1002" at its first colon.
func keyValue(line string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(line, ":")
	return strings.TrimSpace(key), strings.TrimSpace(value), ok
}
