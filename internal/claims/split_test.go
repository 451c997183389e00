package claims

import (
	"encoding/binary"
	"strings"
	"testing"
	"unicode/utf16"
)

// wide is a text as PowerShell writes it.
func wide(text string, order binary.AppendByteOrder) (b []byte) {
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, unit)
	}
	return b
}

// A text in UTF-16 has all of its documents; without a byte order mark it is refused, not half read.
func TestEncodings(t *testing.T) {
	text := testClasses + "---" + sampleSlices
	want := Read([]File{{Name: "a", Text: []byte(text)}}).Counts()
	if want.Slices != 2 || want.Classes != 2 {
		t.Fatalf("%+v", want)
	}
	little := wide(text, binary.LittleEndian)
	for name, b := range map[string][]byte{
		"little": little, "big": wide(text, binary.BigEndian), "UTF-8 with a mark": []byte("\ufeff" + text), "Windows line ends": []byte(strings.ReplaceAll(text, "\n", "\r\n")),
	} {
		if o := Read([]File{{Name: "a", Text: b}}); o.Counts() != want || len(o.Problems()) > 0 {
			t.Errorf("%s: %+v, %+v", name, o.Counts(), o.Problems())
		}
	}
	for name, b := range map[string][]byte{"no mark": little[2:], "a zero byte": []byte("kind: ResourceSlice\napiVersion: \"a\x00\"\n")} {
		if o := Read([]File{{Name: "a", Text: b}}); o.Counts() != (Counts{}) || !strings.Contains(problems(o), "a zero byte") {
			t.Errorf("%s: %+v, %s", name, o.Counts(), problems(o))
		}
	}
}

// Lines in messages are those of the file.
func TestYAMLErrorLines(t *testing.T) {
	for text, want := range map[string]string{
		"a: 1\n---\nb: 1\nc: 2\nb: 3\n": `document from line 2: is not YAML: line 5: key "b" already set in map`,
		"a: 1\n---\nb: [1\nc: 2\n":      "document from line 2: is not YAML: line ",
		"a: 1\na: 2\nb: 3\nb: 4\n":      `document from line 1: is not YAML: line 2: key "a" already set in map line 4: key "b"`,
	} {
		o := Read([]File{{Name: "a", Text: []byte(text)}})
		if said := problems(o); !strings.Contains(said, want) {
			t.Errorf("%q: %s", text, said)
		}
	}
}
