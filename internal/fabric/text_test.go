package fabric

import (
	"strings"
	"testing"
	"unicode"
)

func TestCount(t *testing.T) {
	for want, n := range map[string]int{"0 hosts": 0, "1 host": 1, "2 hosts": 2} {
		t.Run(want, func(t *testing.T) {
			if got := Count(n, "host"); got != want {
				t.Errorf("%q", got)
			}
		})
	}
	for noun, want := range map[string]string{"switch": "2 switches", "entry": "2 entries", "process": "2 processes", "NIC": "2 NICs", "delay": "2 delays"} {
		t.Run(noun, func(t *testing.T) {
			if got := Count(2, noun); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}

func TestThousands(t *testing.T) {
	for want, n := range map[string]int64{"0": 0, "999": 999, "1,000": 1000, "-1,234,567": -1234567, "-123": -123} {
		t.Run(want, func(t *testing.T) {
			if got := Thousands(n); got != want {
				t.Errorf("%q", got)
			}
		})
	}
}

func TestPrintable(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":            {"host1 über", "host1 über"},
		"escape sequence":  {"a\x1b[2Jb", `a\x1b[2Jb`},
		"line end and tab": {"a\nb\tc", `a\nb\tc`},
		"carriage return":  {"a\rb", `a\rb`},
		"invalid byte":     {"a\xff", `a\xff`},
		"C padding":        {"name\x00\x00", "name"},
		"bidi override":    {"a\u202eb", `a\u202eb`},
		"replacement":      {"a\ufffdb", "a\ufffdb"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Printable(c.text)
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			if Printable(got) != got {
				t.Errorf("%q changes when it is made printable again", got)
			}
		})
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b[0m\x00")
	f.Fuzz(func(t *testing.T, text string) {
		got := Printable(text)
		if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsGraphic(r) }) || Printable(got) != got {
			t.Errorf("%q becomes %q", text, got)
		}
	})
}

func TestQuote(t *testing.T) {
	if got, want := Quote(strings.Repeat("x", 100)), `"`+strings.Repeat("x", 80)+`..."`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
