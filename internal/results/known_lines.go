package results

import (
	"slices"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
	"railwright.dev/railwright/internal/pattern"
)

// catalogue is the messages of all programs, read when the first line is looked up. It is part of this program, and the
// tests of its package load it.
var catalogue = sync.OnceValue(func() *messages.Catalogue {
	c, err := messages.Load()
	if err != nil {
		panic(err)
	}
	return c
})

// said is what a line says of a run. A level without a message is an unrecognised message in the form of a fault.
type said struct {
	message *messages.Message // nil: none is known
	level   fabric.LineLevel
}

// nothing reports whether a line tells nothing.
func (s said) nothing() bool {
	return s.level == "" && (s.message == nil || s.message.Level == messages.Everyday)
}

// id is the id of the message, empty where none is known.
func (s said) id() string {
	if s.message == nil {
		return ""
	}
	return s.message.ID
}

// messageID is the id of the message that a text is; empty: none is known.
func messageID(text string) string {
	m, _ := catalogue().Find(text)
	return said{message: m}.id()
}

// optional are features that healthy runs often lack, so that the warning of a program that goes on without one speaks of
// no fault: NCCL warns of a plugin for network or tuning that was never installed, and NVLS needs NVSwitch.
var optional = []messages.Feature{messages.Plugin, messages.Tuner, messages.NVLS}

// levelOf is the level of a line with a known message. A fallback is a fault where its program printed it as a warning: the
// program expected the feature. Printed for information it is a choice that may cost time, and numbers tell whether it does.
func levelOf(m *messages.Message, warned bool) fabric.LineLevel {
	switch m.Level {
	case messages.Warning:
		return fabric.LineWarning
	case messages.Error, messages.Fatal:
		return fabric.LineError
	case messages.Fallback:
		if warned && !slices.Contains(optional, m.Feature) {
			return fabric.LineWarning
		}
	}
	return ""
}

// warned is how programs mark a warning.
var warned = pattern.New(`(?i)\bwarn(?:ing)?\b`)

// levelIn is the level of a line outside a debug log with a known message.
func levelIn(m *messages.Message, text string) fabric.LineLevel {
	return levelOf(m, m.Level == messages.Fallback && warned().MatchString(text))
}

// mostMessages bounds how many messages are looked for on one line: processes that write at once glue two, rarely three.
const mostMessages = 4

// known is the message that a text is, and what stands beside it.
type known struct {
	message *messages.Message // nil: none is known
	rest    string
}

func knownIn(text string) (k known) {
	k.message, k.rest, _ = catalogue().Cut(text)
	return k
}

// saysOf is what a line says that belongs to no result and is no entry of a debug log. A message without a fault hides only
// itself: another message on the line counts, and a form that is no prefix of the first. mayFault: it may have a form of one.
func saysOf(text string, is known, judged judgedForms, mayFault bool) said {
	m, rest, found := is.message, is.rest, is.message != nil
	switch {
	case !found && !mayFault:
		return said{}
	case !found:
		return said{level: judged.level(text)}
	}
	s := said{m, levelIn(m, text)}
	for range mostMessages {
		if s.level != "" || !found {
			break
		}
		if m, rest, found = catalogue().Cut(rest); found {
			if level := levelIn(m, rest); level != "" {
				s = said{m, level}
			}
		}
	}
	if s.level == "" {
		if level := formLevel(rest, true); level != "" {
			return said{level: level}
		}
	}
	return s
}

// faultLevel is the level of a line that belongs to no result; empty: it speaks of no fault.
func faultLevel(text string) fabric.LineLevel { return saysOf(text, knownIn(text), nil, true).level }

// says is what an entry of a debug log says. Of two entries that were written into one line the warning counts.
func (e *logEntry) says() said {
	text, file := e.text, e.file
	if at := strings.LastIndex(text, "NCCL WARN "); at > 0 {
		text, file = text[at:], sourceFile(text[:at])
	}
	if file != "" {
		text = file + " " + text
	}
	m, found := catalogue().Find(text)
	switch {
	case !found:
		return said{level: entryLevel(e)}
	case e.level == "INFO" && m.Level != messages.Everyday:
		return said{m, informed(e.message)}
	}
	return said{m, levelOf(m, true)}
}

// informed is the level of a known message of level INFO. NCCL prints as information what it handles itself: a failure that
// it expects (NOWARN, CUDACHECKIGNORE in its sources), a try that it repeats. It is evidence of what happened and no fault,
// but for an error that a function returned and for an abort.
func informed(message string) fabric.LineLevel {
	switch {
	case returnedError(message):
		return fabric.LineError
	case strings.Contains(message, "bort ") && logAbort().MatchString(message):
		return fabric.LineWarning
	}
	return ""
}

// copiedLines are the lines that say something of a text that a person copied: of a log every one that speaks of a fault, of
// other text those whose message is known. number is the line of the entry in its file.
func copiedLines(text string, number int, log bool) (lines []fabric.LogLine, worst fabric.LineLevel) {
	for one := range strings.Lines(text) {
		one = strings.TrimSpace(one)
		_, e, entry := parseLogEntry(one, map[string]bool{})
		var s said
		switch {
		case entry:
			s = e.says()
		case log:
			s = saysOf(one, knownIn(one), nil, true)
		default:
			m, found := catalogue().Find(one)
			if !found {
				continue
			}
			s = said{m, levelIn(m, one)}
		}
		if s.nothing() || len(lines) >= maxCopied {
			continue
		}
		lines = append(lines, fabric.LogLine{Line: number, Text: keep(one), Level: s.level, Message: s.id(), Host: keepUpTo(e.host, longestHost), Count: 1})
		if slices.Index(lineLevels, s.level) > slices.Index(lineLevels, worst) {
			worst = s.level
		}
	}
	return lines, worst
}

// maxCopied bounds the lines that are kept of one observation.
const maxCopied = 64

// lineLevels are in the order from the least.
var lineLevels = []fabric.LineLevel{"", fabric.LineSuspect, fabric.LineWarning, fabric.LineError}
