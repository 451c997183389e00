// Package run manages the folder of a run: its input, the output of every step, and the report. Every
// value on an arrow of the pipeline is a file there and can be loaded again.
package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// The files of a run folder.
const (
	ClusterFile  = "cluster.yaml"
	PlanFile     = "plan.json"
	FindingsFile = "findings.json"
	MeshFile     = "measurements/mesh.json"
	BenchFile    = "measurements/bench.json"
	BenchFolder  = "measurements/bench" // outputs of the tests, as printed
	CausesFile   = "causes.json"
	ClaimsFile   = "claims.json"
	AppliedFile  = "applied.json"
	RunFile      = "run.json"
	ReportFile   = "report.html"
	FactsFolder  = "facts"
	Artifacts    = "artifacts"
	IndexFile    = "index.json"
)

// The facts of a run hold kernel logs, serial numbers and addresses: only its owner may read it.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

// Folder is the folder of one run.
type Folder string

// New makes a folder for a run of a cluster below base, named by the time.
func New(base, cluster string, now time.Time) (Folder, error) {
	stamp := filepath.Join(base, now.Format("20060102-150405")+"-"+cluster)
	name := stamp
	for i := 2; ; i++ {
		if err := os.MkdirAll(filepath.Dir(name), folderMode); err != nil {
			return "", err
		}
		err := os.Mkdir(name, folderMode)
		if err == nil {
			return Folder(name), nil
		}
		if !errors.Is(err, fs.ErrExist) || i > 100 {
			return "", err
		}
		name = fmt.Sprintf("%s-%d", stamp, i)
	}
}

// Path returns the path of a file of the run.
func (f Folder) Path(name string) string { return filepath.Join(string(f), name) }

// WriteFile replaces a file atomically. Only its owner may read it.
func (f Folder) WriteFile(name string, content []byte) error {
	path := f.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), folderMode); err != nil {
		return err
	}
	if err := replacePrivate(path, content); err != nil {
		return fmt.Errorf("%q: %w", path, cause(err))
	}
	return nil
}

// Write saves a value as JSON.
func (f Folder) Write(name string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return f.WriteFile(name, append(text, '\n'))
}

// Read loads a document of a kind. A missing file is fs.ErrNotExist; another kind or version, an unknown field, something
// after the document and a truncated file are errors, with their line where there is one.
func (f Folder) Read(name, kind string, v any) error {
	path := f.Path(name)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := fabric.Decode(text, kind, v); err != nil {
		return fmt.Errorf("%q: %w", path, err)
	}
	return nil
}

// WriteFacts saves the facts of a node.
func (f Folder) WriteFacts(facts *fabric.Facts) error {
	return f.Write(filepath.Join(FactsFolder, facts.Node+".json"), facts)
}
