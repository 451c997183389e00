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
		if r.Table != nil {
			tables = append(tables, r.Table)
		}
	}
	return tables, nil
}

// printRuns compares the runs on real GPUs with their predictions.
func printRuns(w io.Writer, cat *catalog.Catalog, folder string) error {
	c, err := collective.New(cat, twoH200())
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\ntwo H200, NCCL 2.28.9  | time error from 1 MiB, %% | largest size, us\n")
	fmt.Fprintf(w, "run                    |        median    most   | measured  predicted\n")
	for _, name := range []string{"tables.txt", "forced.txt"} {
		runs, err := readRuns(filepath.Join(folder, name))
		if err != nil {
			return err
		}
		for _, r := range runs {
			if err := printRun(w, c, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func printRun(w io.Writer, c *collective.Cluster, measured *fabric.Table) error {
	job := collective.JobOf(measured.Collective, measured.Config)
	job.Processes, job.Version = 1, "2.28.9"
	o := outcome{table: table{Collective: measured.Collective}}
	for _, from := range measured.Rows {
		job.DType = from.Type
		if from.TimeUS != nil && *from.TimeUS > 0 && from.Size > 0 {
			o.table.Rows = append(o.table.Rows, row{Size: from.Size, TimeUS: *from.TimeUS})
		}
	}
	if len(o.table.Rows) == 0 {
		return fmt.Errorf("run of %s: no row with a time", measured.Collective)
	}
	p, err := c.Predict(job, o.table.sizes())
	if err != nil {
		return err
	}
	o.prediction = p
	big := o.off(o.predicted(), mebibyte, 0)
	last := len(p.Rows) - 1
	title := string(measured.Collective) + " " + job.DType
	if job.Env["NCCL_ALGO"] != "" {
		title = job.Env["NCCL_ALGO"] + " with " + job.Env["NCCL_PROTO"]
	}
	fmt.Fprintf(w, "%-22s | %13s %7s   | %8.0f  %9.0f\n", title, percent(quantile(big, 0.5)), percent(quantile(big, 1)), o.table.Rows[last].TimeUS, p.Rows[last].TimeUS)
	return nil
}
