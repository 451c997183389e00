package sizing

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"railwright.dev/railwright/internal/catalog"
)

// The files of a model's folder.
const (
	configFile = "config.json"
	quantFile  = "hf_quant_config.json"
)

// ReadModel reads a model by a name of the catalog, from a config.json, or from a folder that holds one beside
// model.safetensors.index.json or *.safetensors files. What stands on the disk goes before the catalog where the
// name has a slash or a dot at its begin, ends in .json, or is a folder. It reads files only and downloads nothing.
func ReadModel(name string, cat *catalog.Catalog) (*Model, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return readFolder(name)
	case err == nil:
		return readFile(name)
	case looksLikePath(name) || !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	return catalogModel(name, cat)
}

func looksLikePath(name string) bool {
	return strings.HasSuffix(name, ".json") || strings.HasPrefix(name, ".") || filepath.IsAbs(name)
}

// readFile reads a lone config.json: what stands beside it is not looked at.
func readFile(name string) (*Model, error) {
	text, err := readText(name, maxConfig)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	m, err := readConfig(name, text, nil)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", name, err)
	}
	return m, nil
}

// readFolder reads config.json, then the headers of the weights or the index, whichever is surer.
func readFolder(folder string) (*Model, error) {
	text, err := readText(filepath.Join(folder, configFile), maxConfig)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", folder, err)
	}
	quantText, err := readText(filepath.Join(folder, quantFile), maxConfig)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("model %q: %w", folder, err)
	}
	m, err := weighFolder(folder, text, quantText)
	if err != nil {
		return nil, fmt.Errorf("model %q: %w", folder, err)
	}
	return m, nil
}
