// Command accuracy compares predictions with measured tables and prints how far they are off, beside what a
// user would have guessed without the model. It exits with 1 where a bar is missed.
package main

import (
	"flag"
	"fmt"
	"os"

	"railwright.dev/railwright/internal/catalog"
)

func main() {
	folder := flag.String("tables", "../shared/data/collectives", "folder with table files")
	runs := flag.String("runs", "test/accuracy/testdata/h200x2", "folder with runs on two H200")
	rows := flag.String("rows", "", "print every row of the tables whose id begins so")
	flag.Parse()
	if _, err := os.Stat(*folder); err != nil {
		fmt.Fprintf(os.Stdout, "accuracy: skipped: %v\n", err)
		return
	}
	missed, err := report(*folder, *runs, *rows)
	if err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
	if missed > 0 {
		os.Exit(1)
	}
}

// report prints everything and says how many bars were missed.
func report(folder, runs, rows string) (missed int, err error) {
	cat, err := catalog.Load()
	if err != nil {
		return 0, err
	}
	tables, err := readTables(folder)
	if err != nil {
		return 0, err
	}
	var all []outcome
	for _, t := range tables {
		o, err := judge(cat, t)
		if err != nil {
			return 0, fmt.Errorf("table %s: %w", t.ID, err)
		}
		all = append(all, o)
		if rows != "" && len(t.ID) >= len(rows) && t.ID[:len(rows)] == rows {
			o.printRows(os.Stdout)
		}
	}
	printTables(os.Stdout, all)
	missed = printBars(os.Stdout, all)
	return missed, printRuns(os.Stdout, cat, runs)
}
