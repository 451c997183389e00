// Package bundle gathers from one host what the support of a vendor asks for: the recording that check judges, the output of
// a bounded list of commands, some files, and an index that says of each how it ended and of what is missing why.
package bundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
)

// Host is a machine on which commands can be run and files be read.
type Host interface {
	host.Host
	host.Runner
}

// Options of a bundle.
type Options struct {
	Tool  string        // version of this program
	At    time.Time     // of the recording
	Salt  []byte        // of redaction; nil: nothing is redacted
	Limit time.Duration // of one command; 0: commandTime
	Doing func(what string)
}

// piece is what a command printed, or a file.
type piece struct {
	host.Piece
	entry Entry
}

// Collect gathers a bundle: the archive as tar.gz, its index, and the facts of the recording in it. The error is that of the
// context, or of redaction: whatever could not be read is in the index.
func Collect(ctx context.Context, h Host, o Options) (archive []byte, x *Index, f *fabric.Facts, err error) {
	recorder := host.NewRecorder(h, o.Tool, o.At)
	f = facts.Collect(ctx, recorder, o.At)
	pieces := gather(ctx, h, f, o)
	if err := ctx.Err(); err != nil {
		return nil, nil, nil, err
	}
	recording := recorder.Archive()
	if o.Salt != nil {
		if recording, err = redact(recording, pieces, o.Salt); err != nil {
			return nil, nil, nil, err
		}
	}
	replay, err := host.LoadRecording(bytes.NewReader(recording))
	if err != nil {
		return nil, nil, nil, err
	}
	if o.Salt != nil { // what is not read is said in redacted words too
		f = facts.Collect(ctx, replay, replay.Time())
	}
	x = &Index{
		Meta: fabric.NewMeta(IndexKind), Node: replay.Name(), Collected: replay.Time().Format(time.RFC3339), Tool: o.Tool,
		Redacted: o.Salt != nil, Recording: recordingFile, Entries: []Entry{}, NotRead: append([]fabric.Missing{}, f.Missing...), NotRun: notRun(),
	}
	archive, err = pack(x, recording, pieces, o.At)
	return archive, x, f, err
}

// redact replaces in the recording and in the pieces, whose entries follow.
func redact(recording []byte, pieces []piece, salt []byte) ([]byte, error) {
	plain := make([]host.Piece, len(pieces))
	for i := range pieces {
		plain[i] = pieces[i].Piece
		plain[i].Reason = pieces[i].entry.Reason
	}
	recording, redacted, err := host.RedactWith(recording, plain, salt)
	if err != nil {
		return nil, fmt.Errorf("redact: %w", err)
	}
	for i, r := range redacted {
		e := &pieces[i].entry
		if len(r.Data) == 0 && len(pieces[i].Data) > 0 {
			e.Status = NotSeen
		}
		pieces[i].Piece, e.Reason = r, r.Reason
	}
	return recording, nil
}

// gather runs the commands one after the other: a vendor's tools need not bear company. One that did not end in time is not
// asked again.
func gather(ctx context.Context, h Host, f *fabric.Facts, o Options) []piece {
	whole, cancel := context.WithTimeoutCause(ctx, allTime, errors.New("not run: the time for all commands was over"))
	defer cancel()
	all, leftOut := asks(f)
	hung, left := map[string]bool{}, maxPieces
	var out []piece
	for _, a := range all {
		o.Doing("running " + fabric.Printable(strings.Join(a.argv, " ")))
		p := piece{Piece: host.Piece{Argv: a.argv}}
		switch {
		case whole.Err() != nil:
			p.entry = Entry{Status: NotSeen, Reason: context.Cause(whole).Error()}
		case hung[a.argv[0]]:
			p.entry = Entry{Status: NotSeen, Reason: "not run: " + a.argv[0] + " did not end in time before"}
		case left <= 0:
			p.entry = Entry{Status: NotSeen, Reason: fmt.Sprintf("not run: the bundle has %d MiB already", maxPieces>>20)}
		default:
			p.Data, p.entry = run(whole, h, a.argv, cmp.Or(o.Limit, commandTime))
		}
		hung[a.argv[0]] = hung[a.argv[0]] || p.entry.Status == Late
		left -= len(p.Data)
		out = append(out, p)
	}
	for _, name := range leftOut {
		out = append(out, piece{Piece: host.Piece{Argv: []string{"ethtool", name}},
			entry: Entry{Status: NotSeen, Reason: fmt.Sprintf("not run: more than %d interfaces", maxNICs)}})
	}
	for _, name := range filesToRead() {
		out = append(out, read(h, name))
	}
	return out
}

// run runs one command.
func run(ctx context.Context, h Host, argv []string, limit time.Duration) ([]byte, Entry) {
	type answer struct {
		data []byte
		cut  bool
		err  error
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("did not end within %s", limit))
	defer cancel()
	start := time.Now()
	answers := make(chan answer, 1)
	host.Go(func() { // left behind where the process cannot be killed
		data, cut, err := host.OutputMost(ctx, h, host.Command{Argv: argv, Env: []string{"LC_ALL=C"}, Merged: true}, maxPiece)
		answers <- answer{data, cut, err}
	})
	var a answer
	select {
	case a = <-answers:
	case <-ctx.Done():
		const grace = 3 * time.Second // more than the time for which a killed command's pipes are waited for
		select {
		case a = <-answers:
		case <-time.After(grace):
			a.err = fmt.Errorf("%w, and cannot be stopped", context.Cause(ctx))
		}
	}
	e := Entry{Status: Whole, Seconds: time.Since(start).Seconds(), Exit: new(int)}
	exit, ended := errors.AsType[*host.ExitError](a.err)
	switch {
	case a.cut:
		e.Status, e.Exit, e.Reason = Cut, nil, fmt.Sprintf("the first %d bytes: it printed more", maxPiece)
	case a.err == nil:
	case errors.Is(a.err, host.ErrNoProgram):
		e.Status, e.Exit, e.Reason = Absent, nil, "no such program"
	case ctx.Err() != nil:
		e.Status, e.Exit, e.Reason = Late, nil, context.Cause(ctx).Error()
	case ended && exit.Status >= 0:
		e.Status, *e.Exit, e.Reason = Failed, exit.Status, fmt.Sprintf("exit status %d", exit.Status)
	default:
		e.Status, e.Exit, e.Reason = Failed, nil, a.err.Error()
	}
	return a.data, e
}

// read reads one file.
func read(h Host, name string) piece {
	p := piece{Piece: host.Piece{File: name}}
	data, err := h.ReadFile(name)
	switch {
	case err == nil:
		p.Data, p.entry = data, Entry{Status: Whole}
	case host.IsAbsent(err):
		p.entry = Entry{Status: Absent, Reason: "no such file"}
	default:
		p.entry = Entry{Status: Failed, Reason: err.Error()}
	}
	return p
}

const (
	recordingFile = "recording.txtar"
	indexFile     = "index.json"
	indexText     = "index.txt"
)

// pack writes the archive: one folder with the name of the host, the index first.
func pack(x *Index, recording []byte, pieces []piece, at time.Time) ([]byte, error) {
	names := map[string]bool{recordingFile: true, indexFile: true, indexText: true}
	contents := make([][]byte, 0, len(pieces))
	for _, p := range pieces {
		e := p.entry
		e.Command, e.Path, e.Bytes = strings.Join(p.Argv, " "), p.File, len(p.Data)
		if len(p.Data) > 0 {
			e.File = fileName(names, e.Command+e.Path)
			contents = append(contents, p.content(e))
		}
		x.Entries = append(x.Entries, e)
	}
	index, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	w := tar.NewWriter(zip)
	add := func(name string, content []byte) {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: folderName(x.Node) + "/" + name, Mode: 0o600, Size: int64(len(content)), ModTime: at.UTC().Truncate(time.Second)}
		err = errors.Join(err, w.WriteHeader(head))
		_, writeErr := w.Write(content)
		err = errors.Join(err, writeErr)
	}
	add(indexText, x.text())
	add(indexFile, append(index, '\n'))
	add(recordingFile, recording)
	for _, e := range x.Entries {
		if e.File != "" {
			add(e.File, contents[0])
			contents = contents[1:]
		}
	}
	if err := errors.Join(err, w.Close(), zip.Close()); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// content is the file of a piece: behind the command as a shell shows it, so that explain knows whose output it is, and with
// a last line that says where it is cut. A list is told by its first line, so that explain does not search it for faults.
func (p piece) content(e Entry) []byte {
	var b bytes.Buffer
	if e.Command == "" || slices.Contains(lists(), p.Argv[0]) {
		b.WriteString("railwright bundle: " + e.Command + e.Path + "\n")
	} else {
		b.WriteString("$ " + e.Command + "\n")
	}
	b.Write(p.Data)
	if e.Status == Cut || e.Status == Late {
		fmt.Fprintf(&b, "\n[railwright: not all of it: %s]\n", e.Reason)
	}
	return b.Bytes()
}

// fileName makes a name of a command or a path that no other file has.
func fileName(taken map[string]bool, text string) string {
	const most = 48 // bytes
	name := plain(text)
	name = strings.Trim(name[:min(len(name), most)], "-.")
	free := name + ".txt"
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s-%d.txt", name, n)
	}
	taken[free] = true
	return free
}

// folderName is the host's name where it is one, so that no archive leads elsewhere.
func folderName(node string) string {
	name := strings.Trim(plain(node), "-.")
	if name == "" {
		return "host"
	}
	return name
}

// plain keeps letters, digits, dots and underscores, and makes one dash of anything between them.
func plain(text string) string {
	var b strings.Builder
	for _, c := range text {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '.', c == '_':
			b.WriteRune(c)
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	return b.String()
}
