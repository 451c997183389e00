package results

import (
	"cmp"
	"errors"
	"io"
	"strings"
)

// line is a line of a file, without what terminals, launchers and documents add around it. Indentation is kept.
type line struct {
	number int
	text   string
	raw    string    // as in the file, without the bytes that are not text
	tag              // who printed it, where a prefix shows it
	log    *logEntry // the line is part of a debug log; text is then what preceded it on the same line
	cut    bool      // it was longer than maxLine

	seen *seen // what was found in it; nil: it was not searched

	behind [mostPrefixes]int32 // how long raw is without one prefix after the other, bytes
	depth  int                 // how many prefixes there are
}

// lineSource cuts a stream into lines. It reads blocks, and lines are pieces of them: who keeps one, clones it.
type lineSource struct {
	in       io.Reader
	buffer   []byte
	block    string // what of the last block is still to come
	end      error  // of the stream; io.EOF
	number   int
	markdown *strings.Replacer
	hosts    map[string]bool   // hosts that began a log line, to find where a line was interrupted
	rest     string            // of the line that carriage returns divide: what is still to come
	divided  bool              // there is such a rest
	cut      bool              // the line was longer than maxLine
	entry    *logEntry         // of the current line, where its caller wants it
	threads  map[string]string // the host of each host:pid:tid that began an entry
}

// blockSize is what is read at once, bytes.
const blockSize = 128 << 10

func newLineSource(in io.Reader) *lineSource {
	return &lineSource{in: in, buffer: make([]byte, blockSize), markdown: newMarkdown(), entry: &logEntry{}, hosts: map[string]bool{}, threads: map[string]string{}}
}

// next returns the next line, or io.EOF after the last. What it returns of a log entry is valid until the next call.
func (s *lineSource) next() (line, error) {
	raw := s.rest
	if !s.divided {
		var err error
		if raw, s.cut, err = s.fetch(); err != nil {
			return line{}, err
		}
		s.number++
		raw = trimEnd(raw)
	}
	raw, s.rest, s.divided = strings.Cut(raw, "\r") // a progress line that was overwritten may have been a fault
	text := s.plainText(raw)
	l := line{number: s.number, raw: text, cut: s.cut && !s.divided}
	if s.known(text) {
		l.log = s.entry
		return l, nil
	}
	s.prefixes(&l)
	if before, entry, ok := parseLogEntry(l.text, s.hosts); ok {
		const mostThreads = 16384
		if entry.thread != "" && strings.HasPrefix(text, entry.thread+" ") && len(s.threads) < mostThreads {
			s.threads[strings.Clone(entry.thread)] = strings.Clone(entry.host)
		}
		if entry.host == "" {
			entry.host = cmp.Or(l.host, l.source)
		}
		*s.entry = entry
		l.log, l.text = s.entry, before
	}
	return l, nil
}

// known reads an INFO entry of a thread that has written one before: nearly all lines of a log. Without it each line
// would be searched for launchers' prefixes.
func (s *lineSource) known(text string) bool {
	thread, rest, ok := strings.Cut(text, " ")
	if !ok || rest == "" || rest[0] != '[' {
		return false
	}
	host, ok := s.threads[thread]
	if !ok {
		return false
	}
	const level, deviceText = "] NCCL INFO ", 32 // bytes in which the device and the level stand
	at := strings.Index(rest[:min(len(rest), deviceText)], level)
	if at < 0 || strings.Contains(rest[at+len(level):], "NCCL WARN") {
		return false
	}
	*s.entry = logEntry{host: host, thread: thread, device: rest[1:at], level: "INFO", message: rest[at+len(level):], text: rest[at+len("] "):]}
	return true
}

// fetch returns the text up to the next newline. What a line has beyond its limit is read and dropped. A line that
// begins a JSON object may be as long as an object.
func (s *lineSource) fetch() (text string, cut bool, err error) {
	if i := strings.IndexByte(s.block, '\n'); i >= 0 { // the common case
		text, s.block = s.block[:i], s.block[i+1:]
		return text, false, nil // a block is smaller than maxLine
	}
	var long []byte
	limit := maxLine
	for {
		i := strings.IndexByte(s.block, '\n')
		part := s.block
		if i >= 0 {
			part, s.block = s.block[:i], s.block[i+1:]
		} else {
			s.block = ""
		}
		if len(long) == 0 && beginsObject(part[:min(len(part), 64)]) {
			limit = maxObject
		}
		if room := limit - len(long); len(part) > room {
			part, cut = part[:room], true
		}
		long = append(long, part...)
		if i >= 0 {
			return string(long), cut, nil
		}
		if s.end == nil {
			s.read()
		}
		switch {
		case s.block != "":
		case s.end == nil:
		case !errors.Is(s.end, io.EOF):
			return "", false, s.end
		case len(long) > 0:
			return string(long), cut, nil
		default:
			return "", false, io.EOF
		}
	}
}

// read reads the next block.
func (s *lineSource) read() {
	n, err := s.in.Read(s.buffer)
	s.block, s.end = string(s.buffer[:n]), err
}

// trimEnd drops white space and zeros at the end.
func trimEnd(text string) string {
	for n := len(text); n > 0; n-- {
		switch text[n-1] {
		case ' ', '\t', '\r', '\n', 0:
		default:
			return text[:n]
		}
	}
	return ""
}

// plainText drops the bytes that are not text: the line ending, terminal colours, zeros.
func (s *lineSource) plainText(raw string) string {
	text := trimEnd(raw)
	if strings.IndexByte(text, 0x1b) >= 0 {
		text = withoutEscapes(text)
	}
	if strings.IndexByte(text, 0) >= 0 {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	if strings.Contains(text, "\u00a0") {
		text = strings.ReplaceAll(text, "\u00a0", " ")
	}
	if strings.IndexByte(text, '\\') >= 0 || strings.HasPrefix(text, "<sup>") || strings.HasPrefix(text, ">") {
		text = s.markdown.Replace(strings.TrimLeft(text, "> ")) // or quoted, once or more often
	}
	return text
}

// withoutEscapes drops the sequences ESC [ ... letter that colour a terminal (ECMA-48).
func withoutEscapes(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != 0x1b {
			b.WriteByte(text[i])
			continue
		}
		if i+1 < len(text) && text[i+1] == '[' {
			i += 2
			for i < len(text) && (text[i] < '@' || text[i] > '~') {
				i++
			}
		}
	}
	return b.String()
}

// newMarkdown undoes the escapes that a document adds to a pasted line: rdma\_cm, <sup>#</sup>.
func newMarkdown() *strings.Replacer {
	return strings.NewReplacer(`\_`, "_", `\#`, "#", `\*`, "*", `\<`, "<", `\>`, ">", `\[`, "[", `\]`, "]", `\-`, "-", "<sup>", "", "</sup>", "")
}
