package results

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// The limits of one file, so that no input fills the memory. A run of nccl-tests has some 32 rows and at most
// a few tens of thousands of ranks.
const (
	headSize   = 64 << 10 // bytes read before the format is chosen
	maxLine    = 1 << 20  // bytes of a line
	maxObject  = 8 << 20  // bytes of a JSON object, on one line or many
	maxWhole   = 256 << 10
	maxObjects = 32 << 20 // bytes of all JSON objects of a file
	maxRows    = 32768    // of all tables of a file
	maxResults = 1024     // one of them for what was not read
	maxDevices = 32768    // lines of all banners of a file
	maxText    = 16 << 20 // bytes kept of all debug logs of a file, and of settings
	maxColumns = 64       // lines that could not be read, kept per result with the reason
	maxUnread  = 32       // lines kept of a result with the reason why they could not be read
	maxFaults  = 4096     // lines kept of all debug logs of a file that speak of a fault
	maxShown   = 300      // bytes kept of such a line
	maxName    = 80       // bytes kept of the name of a host, a device, a setting
)

// budget counts what the readers of one file keep.
type budget struct {
	rows, results, devices int
	faults                 int
	text, objects          int
	over                   []string // limits that were met
	cut, firstCut          int      // lines that were cut, and the number of the first one
}

func newBudget() *budget {
	return &budget{rows: maxRows, results: maxResults - 1, devices: maxDevices, faults: maxFaults, text: maxText, objects: maxObjects}
}

func (b *budget) row() bool    { return b.take(&b.rows, "rows", maxRows) }
func (b *budget) device() bool { return b.take(&b.devices, "device lines", maxDevices) }
func (b *budget) fault() bool  { return b.take(&b.faults, "lines that speak of a fault", maxFaults) }
func (b *budget) result() bool { return b.take(&b.results, "results", maxResults) }

// room requests n bytes of text.
func (b *budget) room(n int) bool {
	if b.text < n {
		return false
	}
	b.text -= n
	return true
}

func (b *budget) take(left *int, what string, limit int) bool {
	*left--
	if *left == -1 {
		b.over = append(b.over, fmt.Sprintf("the file has more than %d %s: the rest was not read", limit, what))
	}
	return *left >= 0
}

// note adds what was not read because of a limit to the log of the file, or a log of its own: what was not seen may
// be a fault.
func (b *budget) note(found []fabric.Result) []fabric.Result {
	notes := b.over
	if b.cut > 0 {
		notes = append(notes, fmt.Sprintf("%s longer than %d MiB: cut there, the first is line %d", fabric.Count(b.cut, "line"), maxLine>>20, b.firstCut))
	}
	if len(found) == 0 || len(notes) == 0 {
		return found
	}
	i := slices.IndexFunc(found, func(r fabric.Result) bool { return r.Kind == fabric.NCCLDebugLog })
	if i < 0 {
		i = len(found)
		found = append(found, fabric.Result{Kind: fabric.NCCLDebugLog, Line: found[i-1].Line, Content: &fabric.NCCLLog{}})
	}
	log, ok := found[i].Content.(*fabric.NCCLLog)
	if !ok {
		return found
	}
	log.Cut = true
	for _, why := range notes {
		log.Lines = append(log.Lines, fabric.LogLine{Text: why, Level: fabric.LineWarning})
	}
	return found
}

// keep copies a piece of a line, so that it does not hold the whole line in memory, cut to a readable length
// and to valid UTF-8.
func keep(s string) string {
	return keepUpTo(strings.TrimSpace(s), maxShown)
}

// keepUpTo is keep with another length; it does not trim the white space around the text.
func keepUpTo(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.Clone(strings.ToValidUTF8(s, "\uFFFD"))
}

// addUnread notes a line that could not be read, the first maxUnread of them.
func addUnread(list []fabric.Unread, number int, text, format string, args ...any) []fabric.Unread {
	switch {
	case len(list) < maxUnread:
		return append(list, fabric.Unread{Line: number, Text: keep(text), Reason: keep(fmt.Sprintf(format, args...)), Message: messageID(text)})
	case len(list) == maxUnread:
		return append(list, fabric.Unread{Line: number, Reason: fmt.Sprintf("more than %d lines could not be read; the rest is not listed", maxUnread)})
	}
	return list
}
