// Package pipeline takes a cluster through the steps of railwright: plan, render, apply, collect, check, mesh,
// explain. It writes a run folder and returns what a report shows; flags, streams and exit status belong to its caller.
package pipeline

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/lab"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// Options are the input of a run.
type Options struct {
	Text    []byte // of the cluster file
	Cluster *intent.Cluster
	Plan    *fabric.Plan

	VSphere *VSphere // the ESX hosts of the plan; nil: it has none, or a lab stands for them

	Lab    bool // in a lab of network namespaces; otherwise on the machines of the cluster file
	Keep   bool // leave the lab up
	Faults []lab.Fault

	Base     string // folder of run folders
	Version  string // of railwright
	Command  string // as it was called
	Now      func() time.Time
	Progress func(format string, args ...any)
}

// Outcome is the result of a run, complete or stopped.
type Outcome struct {
	Run     report.Run
	Report  string // absolute path of the HTML page
	Stopped error  // why it ended early; nil: it did not
}

// Up takes a cluster through all steps. An error means that no step was run, or that the run folder could not
// be written.
func Up(ctx context.Context, o Options) (Outcome, error) {
	if o.Lab {
		if err := lab.Free(); err != nil {
			return Outcome{}, err
		}
	}
	started := o.Now()
	folder, err := run.New(o.Base, o.Plan.Name, started)
	if err != nil {
		return Outcome{}, err
	}
	u := &up{Options: o, folder: folder, report: report.Run{
		Meta: fabric.NewMeta("Run"), ID: o.Plan.Name, Started: started, Version: o.Version, Plan: o.Plan, Command: o.Command,
	}}
	if o.Lab {
		u.report.Lab = report.LabWithoutHardware
	}
	stopped := u.take(ctx)
	keep := o.Keep && u.lab != nil && stopped == nil
	if keep {
		stopped = u.lab.Leave()
	}
	// A lab that is not kept ends with this process, so its state must be removed too.
	stopped = errors.Join(stopped, u.leave(keep))
	u.report.Seconds = time.Since(started).Seconds()
	u.report.Proofs = u.proofs()
	u.report.Next = u.next()
	page, err := u.save()
	return Outcome{Run: u.report, Report: page, Stopped: stopped}, err
}

// up is a run in progress: the results of its steps so far, and its folder.
type up struct {
	Options
	folder  run.Folder
	report  report.Run
	lab     *lab.Lab // nil over SSH
	fleet   *fleet.Fleet
	applied []apply.Applied
	facts   []*fabric.Facts
	lost    []fabric.Missing
}

// take runs the steps in order. A step that cannot do its work ends the run; those after it are then
// reported as not reached.
func (u *up) take(ctx context.Context) error {
	var failed error
	for _, s := range Steps() {
		if s.only != nil && !s.only(u.Options) {
			continue
		}
		if failed != nil {
			u.report.Steps = append(u.report.Steps, report.Step{Name: s.Name, Note: "not reached", Where: notRun})
			continue
		}
		started := time.Now()
		note, err := s.do(u, ctx)
		if ctx.Err() != nil {
			err = errors.New("interrupted")
		}
		done := report.Step{Name: s.Name, Seconds: time.Since(started).Seconds(), Status: fabric.Pass, Note: note, Where: u.where(s)}
		switch {
		case err != nil:
			done.Status, done.Note = fabric.Fail, err.Error()
			failed = fmt.Errorf("%s: %w", s.Name, err)
		case s.verdict != nil:
			done.Status = s.verdict(u)
		}
		u.report.Steps = append(u.report.Steps, done)
		if err == nil {
			u.Progress("%-8s %6.2f s  %s", done.Name, done.Seconds, done.Note)
		}
	}
	return failed
}

// Where a step can have run.
const (
	computed    = "computed from its input"
	inTheLab    = "run in the lab"
	onMachines  = "run on the machines"
	notRun      = "not run"
	notAnywhere = "on no machine: none was reached"
)

// where says where a step ran that is over.
func (u *up) where(s Step) string {
	switch {
	case !s.hosts:
		return computed
	case u.lab != nil:
		return inTheLab
	case u.fleet != nil && len(u.fleet.Reached()) > 0 || s.onESX && u.hasHosts() && u.VSphere.Roads():
		return onMachines
	}
	return notAnywhere
}

// leave stops the lab, or logs out of the machines.
func (u *up) leave(keep bool) error {
	var err error
	if u.fleet != nil {
		err = u.fleet.Close()
	}
	if u.VSphere != nil {
		err = errors.Join(err, u.VSphere.Close())
	}
	if u.lab != nil && !keep {
		err = errors.Join(err, u.lab.Down())
	}
	return err
}

// save writes the run's own record and the page.
func (u *up) save() (page string, err error) {
	record := u.report
	record.Plan, record.Findings, record.Mesh, record.Causes, record.Artifacts, record.Claims = nil, nil, nil, nil, nil, nil
	if err := u.folder.Write(run.RunFile, record); err != nil {
		return "", err
	}
	return WriteReport(u.folder, u.report)
}

// WriteReport writes the page of a run into its folder, and returns its absolute path.
func WriteReport(folder run.Folder, r report.Run) (string, error) {
	var page bytes.Buffer
	if err := report.HTML(&page, r); err != nil {
		return "", err
	}
	if err := folder.WriteFile(run.ReportFile, page.Bytes()); err != nil {
		return "", err
	}
	return filepath.Abs(folder.Path(run.ReportFile))
}
