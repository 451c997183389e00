package catalog

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed data
var data embed.FS

// Load reads the embedded catalog and validates it: a figure without unit or source, an unknown field or
// a reference to a missing part is an error. All problems are reported at once.
func Load() (*Catalog, error) {
	files, err := fs.Sub(data, "data")
	if err != nil {
		return nil, err
	}
	return read(files)
}

// The folders of the catalog, one a kind of part.
const (
	gpuFolder     = "gpu"
	nicFolder     = "nic"
	machineFolder = "machine"
	switchFolder  = "switch"
	fabricFolder  = "fabric"
	engineFolder  = "engine"
)

func folders() []string {
	return []string{gpuFolder, nicFolder, machineFolder, switchFolder, fabricFolder, modelFolder, engineFolder, chartFolder}
}

// read loads and validates a catalog whose root holds the folders.
func read(files fs.FS) (*Catalog, error) {
	var c Catalog
	var gpuErr, nicErr, machineErr, switchErr, fabricErr, modelErr, engineErr, chartErr error
	c.GPUs, gpuErr = readParts[GPUModel](files, gpuFolder)
	c.NICs, nicErr = readParts[NICModel](files, nicFolder)
	c.Machines, machineErr = readParts[MachineModel](files, machineFolder)
	c.Switches, switchErr = readParts[SwitchModel](files, switchFolder)
	c.Fabrics, fabricErr = readParts[FabricModel](files, fabricFolder)
	c.Models, modelErr = readParts[LanguageModel](files, modelFolder)
	c.Engines, engineErr = readParts[EngineModel](files, engineFolder)
	c.Charts, chartErr = readParts[ChartModel](files, chartFolder)
	unread := errors.Join(checkTree(files), gpuErr, nicErr, machineErr, switchErr, fabricErr, modelErr, engineErr, chartErr)
	if err := errors.Join(unread, c.validate()); err != nil {
		return nil, err
	}
	return &c, nil
}

// checkTree refuses a file that no folder's reader would read: a part saved under a wrong name would
// otherwise be missing silently.
func checkTree(files fs.FS) error {
	var wrong []error
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if !slices.Contains(folders(), path.Dir(name)) || path.Ext(name) != ".yaml" {
			wrong = append(wrong, fmt.Errorf("catalog %q: not a .yaml file in one of %s",
				name, strings.Join(folders(), ", ")))
		}
		return nil
	})
	return errors.Join(append(wrong, err)...)
}

// readParts returns the parts of a folder by id, and what could not be read of the others.
func readParts[T any](files fs.FS, folder string) (map[string]T, error) {
	names, err := fs.Glob(files, path.Join(folder, "*.yaml"))
	if err != nil {
		return nil, err
	}
	parts := make(map[string]T, len(names))
	var unread []error
	for _, name := range names {
		part, err := readPart[T](files, name)
		if err != nil {
			unread = append(unread, fmt.Errorf("catalog %q: %w", name, err))
			continue
		}
		parts[strings.TrimSuffix(path.Base(name), ".yaml")] = part
	}
	return parts, errors.Join(unread...)
}

// readPart decodes a file of exactly one YAML document without unknown fields.
func readPart[T any](files fs.FS, name string) (part T, err error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return part, err
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&part); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("empty")
		}
		return part, err
	}
	var more any
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return part, errors.New("holds more than one document")
	}
	return part, nil
}
