package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pipeline"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// reportOptions name the run folder to report.
type reportOptions struct {
	folder string
}

func (a *app) reportCommand(run func(context.Context, reportOptions) error) *cobra.Command {
	var o reportOptions
	return &cobra.Command{
		Use: "report RUN", Short: "Write the HTML report of a run folder again", Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			o.folder = args[0]
			return run(c.Context(), o)
		},
	}
}

func (a *app) report(_ context.Context, o reportOptions) error {
	folder := run.Folder(o.folder)
	r, err := readRun(folder)
	if err != nil {
		return err
	}
	path, err := pipeline.WriteReport(folder, r)
	if err != nil {
		return err
	}
	if a.json() {
		return report.JSON(a.stdout, r)
	}
	printf(a.stdout, "%s\n", path)
	return nil
}

// readRun loads a run folder. The record of the run itself is required; whatever else is missing was not
// checked, and the report says so.
func readRun(folder run.Folder) (report.Run, error) {
	var r report.Run
	if err := folder.Read(run.RunFile, "Run", &r); err != nil {
		return r, fmt.Errorf("run folder %q: %w", string(folder), err)
	}
	var err error
	r.Plan, err = part[fabric.Plan](folder, run.PlanFile, "Plan", err)
	r.Findings, err = part[fabric.Findings](folder, run.FindingsFile, "Findings", err)
	r.Mesh, err = part[fabric.Mesh](folder, run.MeshFile, "Mesh", err)
	r.Causes, err = part[fabric.Causes](folder, run.CausesFile, "Causes", err)
	r.Claims, err = part[fabric.Allocation](folder, run.ClaimsFile, "Allocation", err)
	r.Artifacts, err = part[fabric.Index](folder, filepath.Join(run.Artifacts, run.IndexFile), "Index", err)
	return r, err
}

func part[T any](folder run.Folder, name, kind string, before error) (*T, error) {
	if before != nil {
		return nil, before
	}
	v := new(T)
	err := folder.Read(name, kind, v)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}
