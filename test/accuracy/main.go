// Command accuracy compares predictions with measured tables and prints how far they are off, beside what a
// user would have guessed without the model. It exits with 1 where a bar is missed.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"railwright.dev/railwright/internal/catalog"
)

// folders are where the measurements lie.
type folders struct {
	tables  string // the tables of the bars, some of which constants of the model were read from
	held    string // tables that no constant was read from
	runs    string // runs on two H200
	set     string // runs with settings of NCCL
	unseen  string // the same, from which nothing was read
	gains   string // recorded pairs of before and after
	sizing  sizingFolders
	threads string // public threads with confirmed answers
	planted string // logs of faults planted on real GPUs
	// formats are the messages in the sources of programs.
	formats string
}

func main() {
	var from folders
	flag.StringVar(&from.tables, "tables", "../shared/data/collectives", "folder with table files")
	flag.StringVar(&from.held, "held-out", "test/accuracy/testdata/held-out", "folder with table files that no constant was read from")
	flag.StringVar(&from.runs, "runs", "test/accuracy/testdata/h200x2", "folder with runs on two H200")
	flag.StringVar(&from.unseen, "unseen", "test/accuracy/testdata/settings-unseen.json", "file with runs from which no constant was read")
	flag.StringVar(&from.set, "settings", "test/accuracy/testdata/settings.json", "file with what runs with settings of NCCL reached")
	flag.StringVar(&from.gains, "gains", "test/accuracy/testdata/gains.json", "file with measurements before and after one change")
	flag.StringVar(&from.sizing.sizing, "sizing", "../shared/data/sizing", "folder with models, start logs and measured serving")
	flag.StringVar(&from.sizing.configs, "configs", configs, "folder with configs of quantised copies")
	flag.StringVar(&from.threads, "threads", "../shared/data/diagnosis-2026-11", "folder with public threads and their answers")
	flag.StringVar(&from.planted, "planted", "test/accuracy/testdata/planted", "folder with logs of planted faults")
	flag.StringVar(&from.formats, "formats", "../shared/data/messages", "folder with the formats of programs' messages")
	rows := flag.String("rows", "", "print every row of the tables whose id begins so")
	page := flag.String("markdown", "", "write the figures to this file too")
	flag.Parse()
	if _, err := os.Stat(from.tables); err != nil {
		fmt.Fprintf(os.Stdout, "accuracy: skipped: %v\n", err)
		return
	}
	missed, err := report(os.Stdout, from, *rows, *page)
	if err != nil {
		fmt.Fprintln(os.Stderr, "accuracy:", err)
		os.Exit(1)
	}
	if missed > 0 {
		os.Exit(1)
	}
}

// figures are everything that is printed.
type figures struct {
	tables, held []outcome
	left         []outcome // tables without the figures of their fabrics
	runs         []run
	settings     []settled
	unseen       []settled // runs from which no constant was read

	diagnosis, gains, sizing, messages string // as printed
}

func (f *figures) judgeSettings(cat *catalog.Catalog, from folders) error {
	runs, err := readSettings(from.set)
	if err != nil {
		return err
	}
	planted, err := plantedSettings(filepath.Join(from.planted, "tables"))
	if err != nil {
		return err
	}
	if f.settings, err = judgeSettings(cat, append(runs, planted...)); err != nil {
		return err
	}
	if runs, err = readSettings(from.unseen); err != nil {
		return err
	}
	f.unseen, err = judgeSettings(cat, runs)
	return err
}

// report prints everything, writes the page where one is asked for, and says how many bars were missed.
func report(w io.Writer, from folders, rows, page string) (missed int, err error) {
	cat, err := catalog.Load()
	if err != nil {
		return 0, err
	}
	var f figures
	if f.tables, err = judgeFolder(cat, from.tables); err != nil {
		return 0, err
	}
	if f.held, err = judgeFolder(cat, from.held); err != nil {
		return 0, err
	}
	if f.left, err = leftOut(cat, f.tables); err != nil {
		return 0, err
	}
	if f.runs, err = judgeRuns(cat, from.runs); err != nil {
		return 0, err
	}
	if err := f.judgeSettings(cat, from); err != nil {
		return 0, err
	}
	if rows != "" {
		for _, o := range append(f.tables[:len(f.tables):len(f.tables)], f.held...) {
			if strings.HasPrefix(o.table.ID, rows) {
				o.printRows(w)
			}
		}
	}
	printTables(w, f.tables)
	missed = printBars(w, f.tables)
	printLeftOut(w, f.tables, f.left)
	if !bandsHold(w, f.left) {
		missed++
	}
	printHeld(w, f.held)
	printRuns(w, f.runs)
	missed += printSettings(w, f.settings)
	from.sizing.curve = filepath.Join(from.tables, "P02_vmware_h100_2n_ar.json")
	var diagnosis, gains, models, known bytes.Buffer
	if !diagnosisReport(&diagnosis, cat, from.threads, from.planted) {
		missed++
	}
	if !gainsReport(&gains, cat, gainFiles{from.gains, from.runs, filepath.Join(from.planted, "tables")}) {
		missed++
	}
	if !sizingReport(&models, cat, from.sizing) {
		missed++
	}
	if !messagesReport(&known, from.formats) {
		missed++
	}
	f.diagnosis, f.gains, f.messages, f.sizing = diagnosis.String(), gains.String(), known.String(), models.String()
	fmt.Fprint(w, f.diagnosis, f.gains, f.messages, f.sizing)
	if page == "" {
		return missed, nil
	}
	var text bytes.Buffer
	f.markdown(&text)
	return missed, os.WriteFile(page, text.Bytes(), 0o644)
}

func judgeFolder(cat *catalog.Catalog, folder string) ([]outcome, error) {
	tables, err := readTables(folder)
	if err != nil {
		return nil, err
	}
	var all []outcome
	for _, t := range tables {
		o, err := judge(cat, t)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.ID, err)
		}
		all = append(all, o)
	}
	return all, nil
}
