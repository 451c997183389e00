package host

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Redact replaces what names a machine or its place in a recording: host names and those of neighbours, serial
// numbers, UUIDs, GUIDs, MAC addresses, IPv4 and IPv6 addresses; in file contents, command outputs, errors and
// the names of entries. The same input gives the same replacement wherever it stands, also in another
// recording redacted with the same salt, which is to be kept secret: who has it can try names out.
//
// Kept are what rules look at: vendors (the first three bytes of a MAC address or GUID), subnets (two IPv4
// addresses share as many leading bits after as before, and the last byte stays), models, part numbers,
// versions, interface names, times. What cannot be redacted safely (a binary file of an unknown format) is left
// out: it replays as an error that says so. A name that stands only in free text, such as a server that the
// kernel's log speaks of, is not recognized as a name and stays. So does, in free text, a host name of one or two
// letters, or one that is also a word of the field, the name of a module or that of an interface.
func Redact(archive, salt []byte) ([]byte, error) {
	archive, _, err := RedactWith(archive, nil, salt)
	return archive, err
}

// Piece is a text beside a recording that is redacted with it: what a command printed, or a file.
type Piece struct {
	Argv   []string // of the command; empty: it is a file
	File   string
	Data   []byte
	Reason string // why there is no more of it
}

// RedactWith is Redact for a recording and texts of the same host: what either of them tells to be a name or a number of
// the machine is replaced in both. A piece that cannot be redacted safely comes back empty, with the reason.
func RedactWith(archive []byte, pieces []Piece, salt []byte) ([]byte, []Piece, error) {
	if len(salt) == 0 {
		return nil, nil, errors.New("redact: salt is empty")
	}
	in, err := readRecording(bytes.NewReader(archive))
	if err != nil {
		return nil, nil, err
	}
	r := newRedactor(salt)
	for _, p := range pieces {
		r.learnPiece(p)
	}
	r.learn(in)
	out, err := r.recording(in)
	if err != nil {
		return nil, nil, err
	}
	redacted := make([]Piece, 0, len(pieces))
	for _, p := range pieces {
		redacted = append(redacted, r.piece(p))
	}
	return out.format(), redacted, nil
}

func (p Piece) question() question {
	if len(p.Argv) == 0 {
		return pathQuestion(opRead, p.File)
	}
	return runQuestion(Command{Argv: p.Argv})
}

func (r *redactor) learnPiece(p Piece) {
	if q := p.question(); q.op == opRun {
		r.learnOutput(q.key, p.Data)
	} else {
		r.learnFile(q.key, p.Data)
	}
}

func (r *redactor) piece(p Piece) Piece {
	out := Piece{File: r.text(p.File, ""), Reason: r.text(p.Reason, "")}
	for _, word := range p.Argv {
		out.Argv = append(out.Argv, r.text(word, ""))
	}
	data, err := r.data(p.question(), p.Data)
	if err != nil {
		out.Reason = "left out by redaction: " + err.Error()
		return out
	}
	out.Data = data
	return out
}

// recording replaces in a recording of which everything was learned.
func (r *redactor) recording(in *recording) (*recording, error) {
	out := &recording{heading: in.heading, answers: make(map[question]answer, len(in.answers))}
	out.host = r.name(in.host)
	for q, a := range in.answers {
		to := question{q.op, r.key(q)}
		if _, taken := out.answers[to]; taken {
			return nil, fmt.Errorf("redact: entry %s %s becomes the same as another", q.op, shortened(to.key))
		}
		if err := to.check(); err != nil {
			return nil, fmt.Errorf("redact: entry %s %s: %w", q.op, shortened(to.key), err)
		}
		out.answers[to] = r.answer(q, a)
	}
	return out, nil
}

// redactor replaces. What it knows of a recording decides only where in free text something is to be replaced,
// never by what.
type redactor struct {
	salt  []byte
	words map[string][]word // names and serial numbers, by their first letters and digits in lower case
	plain map[string]bool   // words of the field, which are no names even where a host is called so
	guids map[[8]byte]bool
	macs  map[[6]byte]bool
	nets  addressSet
	bits  map[string]bool // decisions of flip
}

// word is a text to be replaced wherever it stands on its own.
type word struct{ from, to string }

func newRedactor(salt []byte) *redactor {
	r := &redactor{
		salt:  salt,
		words: map[string][]word{},
		plain: map[string]bool{},
		guids: map[[8]byte]bool{},
		macs:  map[[6]byte]bool{},
		bits:  map[string]bool{},
	}
	for _, w := range plainWords() {
		r.plain[w] = true
	}
	return r
}

// prf is 32 bytes that only the salt makes of what kind of thing this is, and of the thing.
func (r *redactor) prf(kind string, thing []byte) []byte {
	h := hmac.New(sha256.New, r.salt)
	h.Write([]byte(kind + "\x00"))
	h.Write(thing)
	return h.Sum(nil)
}

// name replaces a host name. Of a name with a domain both are replaced, so that the short name alone gives
// what stands before the first dot.
func (r *redactor) name(name string) string {
	short, domain, dotted := strings.Cut(strings.ToLower(name), ".")
	if short == "" || short == "localhost" {
		return name
	}
	const length = 4 // bytes: among 16,384 hosts of a cluster two meet once in 32 clusters
	out := fmt.Sprintf("host-%x", r.prf("name", []byte(short))[:length])
	if dotted {
		out += fmt.Sprintf(".domain-%x", r.prf("domain", []byte(domain))[:length])
	}
	return out
}

// serial replaces letters and digits by others of their kind.
func (r *redactor) serial(serial string) string {
	stream := r.prf("serial", []byte(serial))
	out := []byte(serial)
	for i, c := range out {
		if i > 0 && i%len(stream) == 0 {
			stream = r.prf("serial", stream)
		}
		n := stream[i%len(stream)]
		switch {
		case c >= '0' && c <= '9':
			out[i] = '0' + n%10
		case c >= 'A' && c <= 'Z':
			out[i] = 'A' + n%26
		case c >= 'a' && c <= 'z':
			out[i] = 'a' + n%26
		}
	}
	return string(out)
}

// hexadecimal replaces digits by others, in their case; all zero stays.
func (r *redactor) hexadecimal(kind, text string) string {
	digits := strings.Map(func(c rune) rune {
		if isHexDigit(byte(c)) {
			return c
		}
		return -1
	}, strings.ToLower(text))
	if strings.Trim(digits, "0") == "" {
		return text
	}
	stream := fmt.Sprintf("%x", r.prf(kind, []byte(digits)))
	upper := strings.ToLower(text) != text
	out := []byte(text)
	at := 0
	for i, c := range out {
		if !isHexDigit(c) {
			continue
		}
		out[i] = stream[at%len(stream)]
		if upper {
			out[i] = bytes.ToUpper(out[i : i+1])[0]
		}
		at++
	}
	return string(out)
}

func isHexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// key replaces what stands in the name of an entry.
func (r *redactor) key(q question) string {
	switch q.op {
	case opDump:
		return q.key
	case opRun:
		return r.text(q.key, "")
	}
	name, err := unquoteName(q.key)
	if err != nil {
		return q.key // the loader read it
	}
	return quoteName(r.text(name, ""))
}

// answer replaces what the host said to a question.
func (r *redactor) answer(q question, a answer) answer {
	out := answer{given: a.given}
	if a.given {
		data, err := r.data(q, a.data)
		if err != nil {
			out.given, out.fault = false, noteFault(fmt.Errorf("left out by redaction: %w", err))
			return out
		}
		out.data = data
	}
	if a.fault == nil {
		return out
	}
	f := *a.fault
	f.Text, f.Path, f.Reason = r.text(f.Text, ""), r.text(f.Path, ""), r.text(f.Reason, "")
	if f.Exit != nil {
		f.Exit = &exitNote{Command: r.text(f.Exit.Command, ""), Status: f.Exit.Status, Stderr: r.text(f.Exit.Stderr, "")}
	}
	out.fault = &f
	return out
}

func (r *redactor) data(q question, data []byte) ([]byte, error) {
	switch q.op {
	case opDump:
		return r.dump(data)
	case opList:
		return r.list(data)
	case opLink:
		return []byte(r.text(string(data), "")), nil
	case opRun:
		if isBinary(data) {
			return nil, errors.New("the output is binary")
		}
		return []byte(r.text(r.columns(q.key, string(data)), q.key)), nil
	default:
		return r.file(q.key, data)
	}
}

func (r *redactor) list(data []byte) ([]byte, error) {
	names, err := decodeNames(data)
	if err != nil {
		return nil, err
	}
	for i, n := range names {
		names[i] = r.text(n, "")
	}
	slices.Sort(names)
	return encodeNames(names), nil
}

// file replaces in a file, by its name where that tells what is in it.
func (r *redactor) file(name string, data []byte) ([]byte, error) {
	base := path.Base(name)
	switch {
	case strings.HasPrefix(name, lldpFolder):
		return r.lldpFile(data)
	case base == "config" && isBinary(data):
		return withoutSerial(data), nil
	case base == "vpd":
		return r.vpd(data)
	case isBinary(data):
		return nil, errors.New("the file is binary, of an unknown format")
	}
	text := string(data)
	value := strings.Trim(text, "\x00 \t\n")
	switch {
	case slices.Contains(nameFiles(), name):
		text = strings.Replace(text, value, r.name(value), 1)
	case slices.Contains(serialFiles(), base) && !slices.Contains(stockPhrases(), strings.ToLower(value)):
		text = strings.Replace(text, value, r.serial(value), 1)
		return []byte(text), nil
	case slices.Contains([]string{"phys_port_id", "phys_switch_id", "unique_id"}, base):
		return []byte(r.hexadecimal("id", text)), nil
	}
	return []byte(r.text(text, name)), nil
}

// isBinary reports whether data has bytes that no text has. A byte of 0 ends the texts of a device tree.
func isBinary(data []byte) bool {
	return slices.ContainsFunc(data, func(c byte) bool {
		return c < ' ' && !slices.Contains([]byte("\x00\t\n\f\r\x1b"), c)
	})
}
