package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// format is one kind of content of a file. It reads lines, JSON objects or the whole text.
type format struct {
	name string // name in error messages
	sign string // how it is recognised

	lines func(*budget) lineReader

	keys   []string // a JSON object with all of these
	object func(o jsonObject, b *budget) (fabric.Result, error)

	begins func(head []byte) bool // a text that begins like this has no other format
	whole  func(text []byte) ([]fabric.Result, error)
}

// formats are all that can be read. Each line is offered in this order, so the debug log comes before the
// tables that it is mixed with.
func formats() []format {
	return []format{
		{name: "observation file", sign: `YAML with the keys "cluster" and "observed"`, begins: beginsObservations, whole: readObservations},
		{name: "NCCL or RCCL debug log", sign: `lines with "NCCL INFO" or "NCCL WARN", or with an error of a program`},
		{name: "nccl-tests or rccl-tests table", sign: `a line "# nThread", or columns "algbw" and "busbw"`, lines: newNCCLTests},
		{name: "rccl-tests CSV", sign: `a line "numCycle,collective,..."`, lines: newRCCLTestsCSV},
		{name: "perftest output", sign: `a line "#bytes #iterations", or a title such as "RDMA_Write BW Test"`, lines: newPerftest},
		{name: "OSU benchmark", sign: `a line "# OSU MPI ... Test"`, lines: newOSU},
		{name: "table file", sign: `JSON with the keys "collective" and "rows"`, keys: []string{"collective", "rows"}, object: readTableFile},
		{name: "nccl-tests JSON", sign: `JSON with the keys "nccl_version" and "config"`, keys: []string{"nccl_version", "config"}, object: readNCCLTestsJSON},
		{name: "perftest JSON", sign: `JSON with the key "test_info"`, keys: []string{"test_info"}, object: readPerftestJSON},
		{name: "observations in JSON", sign: `JSON with the key "observed"`, keys: []string{"observed"}, object: readObservationsJSON},
	}
}

// lineReader finds the results of one format among the lines of a file.
type lineReader interface {
	// read reads a line, or returns false to leave it to the next format.
	read(l line) bool
	// results ends what is still open and returns all that was found.
	results() []fabric.Result
}

// Read returns the results in r, in the order in which they begin. name is the file in errors and results.
// An input that is empty, binary or of an unknown format is an error that lists the known formats; so is
// a table or observation file with a mistake in it, with its position. Lines longer than 1 MiB are cut, with a
// note in the result; results beyond the limits of this package are left out, with a note in the last one.
func Read(name string, r io.Reader) ([]fabric.Result, error) {
	in := bufio.NewReaderSize(r, headSize)
	head, err := in.Peek(headSize)
	if mark := []byte("\xef\xbb\xbf"); bytes.HasPrefix(head, mark) {
		_, _ = in.Discard(len(mark)) // its content is already peeked
		head = head[len(mark):]
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	if why := unreadable(head); why != "" {
		return nil, fmt.Errorf("%q: %s", name, why)
	}
	var found []fabric.Result
	if f, ok := wholeFormat(head); ok {
		found, err = readWhole(f, in)
	} else {
		found, err = readLines(in)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", name, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%q: no result found; looked for %s", name, wanted())
	}
	for i := range found {
		found[i].File = name
	}
	return found, nil
}

// unreadable returns what a file is whose first bytes are not text.
func unreadable(head []byte) string {
	switch {
	case len(head) == 0:
		return "empty"
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return "compressed by gzip: unpack it first"
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return "compressed by zstd: unpack it first"
	case bytes.HasPrefix(head, []byte{0xff, 0xfe}), bytes.HasPrefix(head, []byte{0xfe, 0xff}):
		return "text in UTF-16: convert it to UTF-8 first"
	case bytes.IndexByte(head[:min(len(head), 8<<10)], 0) >= 0:
		return "binary: it has a zero byte in its first 8 KiB"
	case len(bytes.TrimSpace(head)) == 0 && len(head) < headSize:
		return "only white space"
	}
	return ""
}

func wholeFormat(head []byte) (format, bool) {
	for _, f := range formats() {
		if f.begins != nil && f.begins(head) {
			return f, true
		}
	}
	return format{}, false
}

func readWhole(f format, in io.Reader) ([]fabric.Result, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxWhole+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxWhole {
		return nil, fmt.Errorf("the %s is larger than %d KiB", f.name, maxWhole>>10)
	}
	return f.whole(text)
}

func readLines(in *bufio.Reader) ([]fabric.Result, error) {
	b := newBudget()
	log := newNCCLLog(b)
	readers := []lineReader{log}
	for _, f := range formats() {
		if f.lines != nil {
			readers = append(readers, f.lines(b))
		}
	}
	objects := &objectReader{budget: b}
	src := newLineSource(in)
	for {
		l, err := src.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if l.cut {
			if b.cut++; b.cut == 1 {
				b.firstCut = l.number
			}
		}
		taken, err := objects.read(l)
		if err != nil {
			return nil, err
		}
		for _, other := range objects.others() {
			log.rest(other)
		}
		if taken {
			continue
		}
		if !slices.ContainsFunc(readers, func(r lineReader) bool { return r.read(l) }) {
			log.rest(l)
		}
	}
	if err := objects.end(); err != nil {
		return nil, err
	}
	for _, other := range objects.others() {
		log.rest(other)
	}
	found := objects.found
	for _, r := range readers {
		found = append(found, r.results()...)
	}
	slices.SortStableFunc(found, func(a, b fabric.Result) int { return a.Line - b.Line })
	return b.note(dropVersionOnly(found)), nil
}

// dropVersionOnly leaves out a log with nothing but the version of the library, which the tables have
// as well.
func dropVersionOnly(found []fabric.Result) []fabric.Result {
	if len(found) < 2 {
		return found
	}
	return slices.DeleteFunc(found, func(r fabric.Result) bool {
		log, ok := r.Content.(*fabric.NCCLLog)
		return ok && saysVersionOnly(log)
	})
}

func wanted() string {
	var signs []string
	for _, f := range formats() {
		signs = append(signs, fmt.Sprintf("%s (%s)", f.name, f.sign))
	}
	return strings.Join(signs, "; ")
}
