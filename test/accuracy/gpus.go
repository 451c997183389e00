package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/results"
)

// twoH200 is the machine of testdata/h200x2: two GPUs of an HGX H200 in a virtual machine, one process.
func twoH200() fabric.Hardware {
	return fabric.Hardware{GPU: "h200-sxm", Nodes: 1, GPUsPerNode: 2, Net: "none", CPU: "intel", VM: true}
}

// run is a table of two H200 beside its prediction.
type run struct {
	title string
	outcome
}

// readRuns reads a file of tables; a command line above a table gives its environment.
func readRuns(file string) ([]*fabric.Table, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	found, err := results.Read(file, f)
	if err != nil {
		return nil, err
	}
	var tables []*fabric.Table
	for _, r := range found {
		if t, ok := r.Content.(*fabric.Table); ok {
			tables = append(tables, t)
		}
	}
	return tables, nil
}

// judgeRuns predicts every table of a folder: each collective, and each forced algorithm and protocol.
func judgeRuns(cat *catalog.Catalog, folder string) ([]run, error) {
	c, err := collective.New(cat, twoH200())
	if err != nil {
		return nil, err
	}
	var all []run
	for _, name := range []string{"tables.txt", "forced.txt"} {
		tables, err := readRuns(filepath.Join(folder, name))
		if err != nil {
			return nil, err
		}
		for _, t := range tables {
			r, err := judgeRun(c, t)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			all = append(all, r)
		}
	}
	return all, nil
}

func judgeRun(c *collective.Cluster, measured *fabric.Table) (run, error) {
	job := collective.JobOf(measured.Collective, measured.Config)
	job.Processes, job.Version = 1, "2.28.9"
	r := run{outcome: outcome{table: table{Collective: measured.Collective}}}
	for _, from := range measured.Rows {
		job.DType = from.Type
		if from.TimeUS != nil && *from.TimeUS > 0 && from.Size > 0 {
			r.table.Rows = append(r.table.Rows, row{Size: from.Size, TimeUS: *from.TimeUS})
		}
	}
	if len(r.table.Rows) == 0 {
		return r, fmt.Errorf("run of %s: no row with a time", measured.Collective)
	}
	r.title = string(measured.Collective) + " " + job.DType
	if job.Env["NCCL_ALGO"] != "" {
		r.title = job.Env["NCCL_ALGO"] + " with " + job.Env["NCCL_PROTO"]
	}
	var err error
	r.prediction, err = c.Predict(job, r.table.sizes())
	return r, err
}

// printRuns writes one line a table.
func printRuns(w io.Writer, all []run) {
	fmt.Fprintf(w, "\ntwo H200, NCCL 2.28.9  | time error from 1 MiB, %% | largest size, us\n")
	fmt.Fprintf(w, "run                    |        median    most   | measured  predicted  error, %%\n")
	for _, r := range all {
		big, last := r.off(r.predicted(), mebibyte, 0), len(r.table.Rows)-1
		fmt.Fprintf(w, "%-22s | %13s %7s   | %8.0f  %9.0f  %8s\n", r.title, percent(quantile(big, 0.5)), percent(quantile(big, 1)),
			r.table.Rows[last].TimeUS, r.prediction.Rows[last].TimeUS, percent(quantile(r.off(r.predicted(), 0, 1), 0.5)))
	}
}
