package results

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// format is one kind of content of a file. It reads lines, JSON objects or the whole text.
type format struct {
	name string // name in error messages
	sign string // how it is recognised, for readers of this list

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
		{name: "notes", sign: `numbers with units in a text that names a DGX Spark`},
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

// settingReader takes the settings of a line that is no other part of its format, such as one of a manifest in JSON.
type settingReader interface{ paste(l line) }

// Line is a line of a file that no result claims.
type Line struct {
	Number int
	Host   string           // whose line it is, where a prefix shows it
	Texts  []string         // as in the file, then without one prefix after the other of launchers and log services; valid during the call
	Signs  *pattern.Members // that were found in it, by their places in Claims.Signs; nil: it was not searched
}

// Claims are what else is known of lines.
type Claims struct {
	Signs *Signs // what is looked for in each line; nil: what the readers here ask for
	// Line is asked about each line that no result claims, in their order: does it belong to something else that was
	// recognised? searched reports whether messages of programs are looked for in it all the same, as in a log of the
	// kernel. taken is set where a result claimed the line, which ends what went before. Nil: nothing else is known.
	Line func(l Line, taken bool) (claimed, searched bool)
}

// Content is what was read of a file. Source.Error is set where it could not be read, or not whole: the results that were
// found are returned all the same.
type Content struct {
	Results []fabric.Result
	Source  fabric.Source
	NotText bool // it is empty or binary: the error of the source says how
}

// Read returns the results in r, as Scan does, with the error of the source.
func Read(name string, r io.Reader) ([]fabric.Result, error) {
	c := Scan(name, r, Claims{})
	if c.Source.Error != "" {
		return c.Results, fmt.Errorf("%q: %s", name, c.Source.Error)
	}
	return c.Results, nil
}

// Scan returns the results in r, in the order in which they begin, and what became of the lines. name is the file in
// the results. claim is asked about lines that belong to no result; nil: nothing else is known. A text without results is
// no error: all of its lines are unclaimed. Content that is empty or binary, and a table or an observation file with a
// mistake in it, is the error of the source, with its position; everything else in the file is read all the same. Lines
// longer than 1 MiB are cut, with a note in the result; results beyond the limits of this package are left out, with a
// note in the last one.
func Scan(name string, r io.Reader, claims Claims) Content {
	c := Content{Source: fabric.Source{File: name}}
	in := decoded(r)
	head, err := in.Peek(headSize)
	switch why := unreadable(head); {
	case err != nil && !errors.Is(err, io.EOF):
		c.Source.Error = err.Error()
		return c
	case why != "":
		c.Source.Error, c.NotText = why, true
		return c
	}
	if f, ok := wholeFormat(head); ok {
		c.readWhole(f, in, claims)
	} else {
		c.readLines(in, claims)
	}
	for i := range c.Results {
		c.Results[i].File = name
		if kind := string(c.Results[i].Kind); !slices.Contains(c.Source.Holds, kind) {
			c.Source.Holds = append(c.Source.Holds, kind)
		}
	}
	return c
}

// fail keeps the first error of a source.
func (c *Content) fail(err error) {
	if err != nil && c.Source.Error == "" {
		c.Source.Error = err.Error()
	}
}

// decoded turns UTF-16 with a byte order mark into UTF-8, and drops the mark of UTF-8.
func decoded(r io.Reader) *bufio.Reader {
	in := bufio.NewReaderSize(r, headSize)
	mark, _ := in.Peek(len("\xef\xbb\xbf")) // an error comes again
	for _, known := range []string{"\xef\xbb\xbf", "\xfe\xff", "\xff\xfe"} {
		if bytes.HasPrefix(mark, []byte(known)) {
			return bufio.NewReaderSize(transform.NewReader(in, unicode.BOMOverride(transform.Nop)), headSize)
		}
	}
	return in // nearly every file: it is not copied once more
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
	case bytes.HasPrefix(head, []byte("\xfd7zXZ\x00")):
		return "compressed by xz: unpack it first"
	case len(bytes.Trim(head, "\x00")) == 0:
		return "nothing but zero bytes in its first 64 KiB"
	case isBinary(head[:min(len(head), 8<<10)]):
		return "binary: its first 8 KiB are not text"
	case len(bytes.TrimSpace(head)) == 0 && len(head) < headSize:
		return "only white space"
	}
	return ""
}

// isBinary reports whether bytes are no text. A log may have holes of zeros, which a crash or a rotation leaves, and
// some bytes of another encoding; a program or a compressed file has control characters everywhere.
func isBinary(head []byte) bool {
	// A tenth: Latin-1 text has fewer letters outside ASCII; random bytes are of this kind in three of five cases. One in
	// a hundred beside zeros: machine code.
	const most, mostWithZeros = 10, 100
	zeros, odd, rest := 0, 0, head
	for len(rest) > 0 {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == 0:
			zeros++
		case r == utf8.RuneError && size == 1 && len(rest) >= utf8.UTFMax: // not a rune that the end cuts
			odd++
		case r < ' ' && !strings.ContainsRune("\t\n\r\v\f\b\a\x1b", r), r == 0x7f:
			odd++
		}
		rest = rest[size:]
	}
	return odd*most > len(head) || zeros > 0 && odd*mostWithZeros > len(head)-zeros
}

func wholeFormat(head []byte) (format, bool) {
	for _, f := range formats() {
		if f.begins != nil && f.begins(head) {
			return f, true
		}
	}
	return format{}, false
}

// readWhole reads a text of one format. One with a mistake in it is still searched for messages.
func (c *Content) readWhole(f format, in io.Reader, claims Claims) {
	text, err := io.ReadAll(io.LimitReader(in, maxWhole+1))
	if err == nil && len(text) > maxWhole {
		err = fmt.Errorf("the %s is larger than %d KiB", f.name, maxWhole>>10)
	}
	var found []fabric.Result
	if err == nil {
		found, err = f.whole(text)
	}
	if err != nil {
		c.fail(err)
		c.readLines(io.MultiReader(bytes.NewReader(text), in), claims)
		return
	}
	c.Results = found
	for line := range bytes.Lines(text) {
		if len(bytes.TrimSpace(line)) > 0 {
			c.Source.Lines++
		}
	}
}

// pass is a file that is being read by lines.
type pass struct {
	*Content
	claims  Claims
	log     *ncclLog
	readers []lineReader
	objects *objectReader
	notes   *notes
	texts   []string // of the line that is offered
	open    []int    // lines that nobody claims, of the first
}

func (c *Content) readLines(in io.Reader, claims Claims) {
	b := newBudget()
	s := pass{Content: c, claims: claims, log: newNCCLLog(b), objects: &objectReader{budget: b}, notes: newNotes()}
	s.readers = []lineReader{s.log}
	for _, f := range formats() {
		if f.lines != nil {
			s.readers = append(s.readers, f.lines(b))
		}
	}
	err := readAhead(newLineSource(in), cmp.Or(claims.Signs, ownSigns())).each(func(l line) {
		if l.cut {
			if b.cut++; b.cut == 1 {
				b.firstCut = l.number
			}
		}
		s.line(l)
	})
	if !errors.Is(err, io.EOF) {
		c.fail(err)
	}
	c.fail(s.objects.end())
	s.foreign()
	found := s.objects.found
	for _, r := range s.readers {
		found = append(found, r.results()...)
	}
	if noted, ok := s.notes.result(b, len(found) > 0); ok {
		found = append(found, noted)
		s.understood()
	}
	slices.SortStableFunc(found, func(a, b fabric.Result) int { return a.Line - b.Line })
	c.Results = append(c.Results, b.note(dropVersionOnly(found))...)
}

// line offers a line to each reader, then to the tools, then to the messages.
func (s *pass) line(l line) {
	blank := strings.TrimSpace(l.raw) == ""
	if !blank {
		s.Source.Lines++
	}
	taken, err := s.objects.read(l)
	s.fail(err)
	s.foreign()
	object := taken
	taken = taken || slices.ContainsFunc(s.readers, func(r lineReader) bool { return r.read(l) })
	claimed, searched := s.offer(l, taken)
	if !object {
		s.notes.read(l, taken || claimed && !searched)
	}
	if taken || blank || claimed && !searched {
		return
	}
	if known := s.log.rest(l); !known && !claimed && l.log == nil && !isFurniture(l) {
		s.unclaimed(l)
	}
}

func (s *pass) offer(l line, taken bool) (claimed, searched bool) {
	if s.claims.Line == nil {
		return false, false
	}
	s.texts = append(s.texts[:0], l.raw)
	for _, n := range l.behind[:l.depth] {
		s.texts = append(s.texts, l.raw[len(l.raw)-int(n):])
	}
	offered := Line{Number: l.number, Host: l.host, Texts: s.texts}
	if l.seen != nil {
		offered.Signs = &l.seen.members
	}
	return s.claims.Line(offered, taken)
}

// classOffer offers the lines of a class of virtual machines, one field on each however it was written.
func (s *pass) classOffer(o jsonObject) {
	var text bytes.Buffer
	claimed := false
	if s.claims.Line != nil && json.Indent(&text, o.text, "", "  ") == nil {
		for l := range strings.Lines(text.String()) {
			is, _ := s.claims.Line(Line{Number: o.line, Texts: []string{strings.TrimRight(l, "\n")}}, false)
			claimed = claimed || is
		}
	}
	if !claimed {
		s.Source.Unclaimed += bytes.Count(o.text, []byte("\n")) + 1
	}
}

// foreign searches the objects of other programs for messages. Their lines are unclaimed.
func (s *pass) foreign() {
	for _, o := range s.objects.classes {
		s.classOffer(o)
	}
	s.objects.classes = nil
	for _, l := range s.objects.set {
		for _, r := range s.readers {
			if r, ok := r.(settingReader); ok {
				r.paste(l)
			}
		}
	}
	s.objects.set = nil
	for _, other := range s.objects.others() {
		s.log.rest(other)
	}
	s.Source.Unclaimed += s.objects.unclaimed
	s.objects.unclaimed = 0
}

// mostSamples is how many of the lines that nobody claims are kept of a file.
const mostSamples = 20

func (s *pass) unclaimed(l line) {
	s.Source.Unclaimed++
	if len(s.open) < maxNotedLines {
		s.open = append(s.open, l.number)
	}
	if len(s.Source.Samples) < mostSamples {
		s.Source.Samples = append(s.Source.Samples, fabric.LogLine{Line: l.number, Text: keep(l.raw), Host: strings.Clone(l.host), Rank: l.rank})
	}
}

// understood takes the lines that notes hold from those that nobody claims.
func (s *pass) understood() {
	s.Source.Samples = slices.DeleteFunc(s.Source.Samples, func(l fabric.LogLine) bool { return s.notes.used[l.Line] })
	for _, line := range s.open {
		if s.notes.used[line] {
			s.Source.Unclaimed--
		}
	}
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
