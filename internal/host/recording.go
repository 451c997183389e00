package host

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// A recording is one txtar archive: what was asked of a host, and what it answered, errors included.
//
//	railwright recording 1
//	tool v0.3.0
//	host host1
//	time 2026-03-01T10:00:00Z
//	-- OPERATION FORM QUESTION --
//	the answer
//	-- end --
//	entries 412
//	sha256 of all before the end entry
//
// The operations are read (a file), list (a directory, a name a line), link (a symbolic link), dump (a netlink
// table: message type and address family in decimal) and run (a command, words with spaces quoted, its
// environment first: LC_ALL=C -- lspci -vvv). The forms are text, line (text without a newline at its end),
// hex, and error (JSON). An operation that gave both output and an error has two entries.
const (
	recordingMagic   = "railwright recording "
	recordingVersion = "1"

	// MaxRecording bounds a recording, in bytes: a node of 250 PCI functions takes some MiB.
	MaxRecording = 128 << 20
	// maxEntries bounds the entries of a recording: a node of 250 PCI functions has some thousands.
	maxEntries = 1 << 20
	// maxPath bounds a path, in bytes: PATH_MAX of Linux.
	maxPath = 4096
)

// Errors of loading a recording, and of asking one.
var (
	ErrNotRecording = errors.New(`not a recording: the first line is not "` + recordingMagic + recordingVersion + `"`)
	ErrCut          = errors.New("recording is cut: its end entry is missing or incomplete")
	// ErrNotRecorded says that this was not asked of the host when it was recorded: it is unknown, not absent.
	ErrNotRecorded = errors.New("not recorded")
)

// operation is the kind of a question.
type operation string

const (
	opRead operation = "read"
	opList operation = "list"
	opLink operation = "link"
	opDump operation = "dump"
	opRun  operation = "run"
)

func operations() []operation { return []operation{opRead, opList, opLink, opDump, opRun} }

// question is what was asked of a host. The key is as it stands in the archive.
type question struct {
	op  operation
	key string
}

// answer is what the host said: data, an error, or both.
type answer struct {
	data  []byte
	given bool // data was given, if only of no bytes
	fault *fault
}

// heading is the comment of the archive.
type heading struct {
	tool string
	host string
	time time.Time
}

// recording is an archive in memory.
type recording struct {
	heading
	answers map[question]answer
}

// format writes the archive; the same answers give the same bytes.
func (r *recording) format() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s\ntool %s\nhost %s\ntime %s\n", recordingMagic, recordingVersion, quoteName(r.tool), quoteName(r.host), r.time.UTC().Format(time.RFC3339))
	entries := 0
	for _, q := range slices.SortedFunc(maps.Keys(r.answers), compareQuestions) {
		a := r.answers[q]
		if a.given {
			form, content := q.encode(a.data)
			fmt.Fprintf(&b, "-- %s %s %s --\n", q.op, form, q.key)
			b.Write(content)
			entries++
		}
		if a.fault != nil {
			fmt.Fprintf(&b, "-- %s %s %s --\n%s\n", q.op, formError, q.key, a.fault.text())
			entries++
		}
	}
	sum := sha256.Sum256(b.Bytes())
	fmt.Fprintf(&b, "%sentries %d\nsha256 %x\n", endMarker[1:], entries, sum)
	return b.Bytes()
}

func compareQuestions(a, b question) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(string(a.op), string(b.op)))
}

const (
	formText  = "text"
	formLine  = "line"
	formHex   = "hex"
	formError = "error"

	endMarker = "\n-- end --\n"
	hexLine   = 32 // bytes a line
)

// encode writes data as text where an archive holds it unchanged, else, and every dump, as hexadecimal.
func (q question) encode(data []byte) (form string, content []byte) {
	switch {
	case q.op == opDump || !isText(data):
		var b bytes.Buffer
		for line := range slices.Chunk(data, hexLine) {
			b.WriteString(hex.EncodeToString(line))
			b.WriteByte('\n')
		}
		return formHex, b.Bytes()
	case len(data) > 0 && data[len(data)-1] != '\n':
		return formLine, append(slices.Clip(data), '\n')
	default:
		return formText, data
	}
}

// isText holds for UTF-8 without control characters and without a line that reads as the head of an entry.
func isText(data []byte) bool {
	if !utf8.Valid(data) || bytes.HasPrefix(data, []byte("-- ")) || bytes.Contains(data, []byte("\n-- ")) {
		return false
	}
	return !bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' && r != '\t' && r != '\n' || r == 0x7f })
}

func decode(form string, content []byte) ([]byte, error) {
	switch form {
	case formText:
		return content, nil
	case formLine:
		line, ok := bytes.CutSuffix(content, []byte("\n"))
		if !ok || len(line) == 0 {
			return nil, errors.New("line is empty")
		}
		return line, nil
	case formHex:
		digits := bytes.ReplaceAll(content, []byte("\n"), nil)
		data := make([]byte, hex.DecodedLen(len(digits)))
		_, err := hex.Decode(data, digits)
		return data, err
	default:
		return nil, fmt.Errorf("form %q: unknown; known: text, line, hex, error", form)
	}
}

// readRecording reads an archive and checks it: whole, unchanged, of this version, every entry once and
// understood.
func readRecording(in io.Reader) (*recording, error) {
	b, err := io.ReadAll(io.LimitReader(in, MaxRecording+1))
	if err != nil {
		return nil, err
	}
	if len(b) > MaxRecording {
		return nil, fmt.Errorf("recording is larger than %d bytes", MaxRecording)
	}
	return parseRecording(b)
}

func parseRecording(b []byte) (*recording, error) {
	if err := checkMagic(b); err != nil {
		return nil, err
	}
	body, entries, err := checkEnd(b)
	if err != nil {
		return nil, err
	}
	head, rest := cutEntry(body)
	r := &recording{answers: make(map[question]answer, min(entries, len(body)/len("-- run text a --\n")))}
	if err := r.readHeading(string(head)); err != nil {
		return nil, err
	}
	found := 0
	for ; len(rest) > 0; found++ {
		if found == maxEntries {
			return nil, fmt.Errorf("recording has more than %d entries", maxEntries)
		}
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		var content []byte
		content, rest = cutEntry(after)
		if err := r.readEntry(string(line), content); err != nil {
			return nil, fmt.Errorf("recording entry %d, %q: %w", found+1, shortened(string(line)), err)
		}
	}
	if found != entries {
		return nil, fmt.Errorf("recording has %d entries, its end entry says %d", found, entries)
	}
	return r, nil
}

func checkMagic(b []byte) error {
	first, _, _ := bytes.Cut(b[:min(len(b), len(recordingMagic)+len(recordingVersion)+16)], []byte("\n"))
	is, ok := strings.CutPrefix(string(first), recordingMagic)
	switch {
	case ok && is == recordingVersion:
		return nil
	case ok && is != "":
		return fmt.Errorf("recording has version %q, supported is %q", shortened(is), recordingVersion)
	case strings.HasPrefix(recordingMagic, string(first)) && len(first) > 0:
		return ErrCut
	default:
		return ErrNotRecording
	}
}

// checkEnd finds the end entry and holds the rest against it.
func checkEnd(b []byte) (body []byte, entries int, err error) {
	at := bytes.LastIndex(b, []byte(endMarker))
	if at < 0 {
		return nil, 0, ErrCut
	}
	body = b[:at+1]
	end := string(b[at+len(endMarker):])
	var sum string
	n, err := fmt.Sscanf(end, "entries %d\nsha256 %64s\n", &entries, &sum)
	if n < 2 || err != nil || end != fmt.Sprintf("entries %d\nsha256 %s\n", entries, sum) || len(sum) != 2*sha256.Size {
		return nil, 0, ErrCut
	}
	if is := sha256.Sum256(body); sum != hex.EncodeToString(is[:]) {
		return nil, 0, fmt.Errorf("recording was changed after it was written: SHA-256 is %x, its end entry says %s", is, sum)
	}
	return body, entries, nil
}

// cutEntry splits before the next line that is the head of an entry.
func cutEntry(b []byte) (content, rest []byte) {
	if bytes.HasPrefix(b, []byte("-- ")) {
		return nil, b
	}
	at := bytes.Index(b, []byte("\n-- "))
	if at < 0 {
		return b, nil
	}
	return b[:at+1], b[at+1:]
}

func (r *recording) readHeading(comment string) error {
	values := make(map[string]string)
	for line := range strings.Lines(comment) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		values[key] = value
	}
	var err error
	if r.tool, err = unquoteName(values["tool"]); err != nil {
		return fmt.Errorf("recording: tool: %w", err)
	}
	if r.host, err = unquoteName(values["host"]); err != nil {
		return fmt.Errorf("recording: host: %w", err)
	}
	if r.host == "" {
		return errors.New("recording does not name its host")
	}
	if r.time, err = time.Parse(time.RFC3339, values["time"]); err != nil {
		return fmt.Errorf("recording: time %q is not RFC 3339", shortened(values["time"]))
	}
	return nil
}
