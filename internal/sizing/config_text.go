package sizing

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxConfig bounds a config.json, in bytes: the largest published ones, with a quantised layer a line, have 2 MB.
const maxConfig = 32 << 20

// readText reads a file of at most that many bytes.
func readText(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%q: is longer than %d bytes", path, most)
	}
	return text, nil
}

// decodeObject reads one JSON object as Python writes it: with NaN and Infinity, which become null. Numbers keep
// their digits.
func decodeObject(text []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(withoutInfinity(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))))
	d.UseNumber()
	var object map[string]any
	if err := d.Decode(&object); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("is empty")
		}
		return nil, err
	}
	if object == nil {
		return nil, errors.New("is null, not an object")
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("has something behind its object")
	}
	return object, nil
}

// withoutInfinity replaces the words NaN, Infinity and -Infinity outside of strings by null.
func withoutInfinity(text []byte) []byte {
	if !bytes.Contains(text, []byte("Infinity")) && !bytes.Contains(text, []byte("NaN")) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i, inString := 0, false; i < len(text); {
		switch rest := text[i:]; {
		case inString && rest[0] == '\\' && len(rest) > 1:
			out = append(out, rest[:2]...)
			i += 2
			continue
		case rest[0] == '"':
			inString = !inString
		case !inString && wordAt(rest) > 0:
			out = append(out, "null"...)
			i += wordAt(rest)
			continue
		}
		out = append(out, text[i])
		i++
	}
	return out
}

func wordAt(text []byte) int {
	for _, word := range []string{"NaN", "-Infinity", "Infinity"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return len(word)
		}
	}
	return 0
}
