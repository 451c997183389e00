package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
)

// catalogModel builds a model of the catalog: its entry holds the fields of its config.json that matter.
func catalogModel(name string, cat *catalog.Catalog) (*Model, error) {
	found, err := cat.Model(name)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(found.Entry.Config)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	m, err := readConfig(strings.TrimSpace(name), text, nil)
	if err != nil {
		return nil, fmt.Errorf("model %q of the catalog: %w", found.ID, err)
	}
	m.Path, m.Assumed = found.Published, found.Assumed()
	if m.Assumed != "" {
		m.Assumptions = append(m.Assumptions, fabric.Assumption{What: m.ID + ": " + m.Assumed, Source: "catalog, model " + found.ID})
	}
	return m, nil
}

// maxConfig bounds a config.json, in bytes: the largest published ones, with one quantised layer per line, have 2 MB.
const maxConfig = 32 << 20

// reader reads models from files.
type reader struct{ from files.Files }

// readText reads a file of at most that many bytes.
func (r reader) readText(path string, most int64) ([]byte, error) {
	file, err := r.from.Open(path)
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
		return nil, errors.New("has trailing data after the object")
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

// The files of a model's folder.
const (
	configFile = "config.json"
	quantFile  = "hf_quant_config.json"
)

// Open reads a model by a name of the catalog, from a config.json, or from a folder that holds one beside
// model.safetensors.index.json or *.safetensors files. What is on disk takes precedence over the catalog where the
// name is a path, ends in .json, or names a file or folder. It reads files only and downloads nothing.
func Open(name string, cat *catalog.Catalog) (*Model, error) {
	return OpenFrom(files.Disk{}, name, cat)
}

// OpenFrom is Open with paths among these files.
func OpenFrom(from files.Files, name string, cat *catalog.Catalog) (*Model, error) {
	r := reader{from}
	info, err := from.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return r.readFolder(name)
	case err == nil:
		return r.readFile(name)
	case looksLikePath(name) || !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	return catalogModel(name, cat)
}

func looksLikePath(name string) bool {
	return strings.HasSuffix(name, ".json") || strings.HasPrefix(name, ".") || filepath.IsAbs(name)
}

// readFile reads a lone config.json and ignores what is beside it.
func (r reader) readFile(name string) (*Model, error) {
	text, err := r.readText(name, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	m, err := readConfig(name, text, nil)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	if filepath.Base(name) == configFile {
		m.Path = filepath.Dir(name)
	}
	return m, nil
}

// readFolder reads config.json, then the headers of the weights or the index, whichever is surer.
func (r reader) readFolder(folder string) (*Model, error) {
	text, err := r.readText(filepath.Join(folder, configFile), maxConfig)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", folder, err)
	}
	quantText, err := r.readText(filepath.Join(folder, quantFile), maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("model %q: %w", folder, err)
	}
	m, err := r.buildFolder(folder, text, quantText)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", folder, err)
	}
	m.Path = filepath.Clean(folder)
	return m, nil
}
