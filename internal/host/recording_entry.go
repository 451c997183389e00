package host

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// readEntry takes in one entry of an archive, head and content.
func (r *recording) readEntry(head string, content []byte) error {
	inner, ok := strings.CutSuffix(strings.TrimPrefix(head, "-- "), " --")
	words := strings.SplitN(inner, " ", 3)
	if !ok || len(words) != 3 {
		return errors.New("must be -- OPERATION FORM QUESTION --")
	}
	q := question{op: operation(words[0]), key: words[2]}
	if err := q.check(); err != nil {
		return err
	}
	a := r.answers[q]
	if form := words[1]; form == formError {
		if a.fault != nil {
			return errors.New("is listed twice")
		}
		f, err := parseFault(content)
		if err != nil {
			return err
		}
		a.fault = f
	} else {
		if a.given {
			return errors.New("is listed twice")
		}
		data, err := decode(form, content)
		if err != nil {
			return err
		}
		a.data, a.given = data, true
	}
	r.answers[q] = a
	return nil
}

// check refuses a question that no host was ever asked. Paths are held to be clean and absolute, so that
// whoever lays a recording down as files stays below the folder that he chose.
func (q question) check() error {
	switch q.op {
	case opRead, opList, opLink:
		name, err := unquoteName(q.key)
		if err != nil {
			return err
		}
		if len(name) > maxPath || strings.ContainsRune(name, 0) || !path.IsAbs(name) || path.Clean(name) != name {
			return errors.New("path is not absolute and clean")
		}
		return nil
	case opDump:
		var messageType uint16
		var family uint8
		if n, err := fmt.Sscanf(q.key, "%d %d", &messageType, &family); n != 2 || err != nil || q.key != dumpKey(messageType, family) {
			return errors.New("must be a message type and an address family")
		}
		return nil
	case opRun:
		if !isTyped(q.key) {
			return errors.New("command is not printable")
		}
		return nil
	default:
		return fmt.Errorf("operation %q: unknown; known: %v", shortened(string(q.op)), operations())
	}
}

func pathQuestion(op operation, name string) question {
	return question{op, quoteName(path.Clean("/" + name))}
}

func dumpKey(messageType uint16, family uint8) string {
	return fmt.Sprintf("%d %d", messageType, family)
}

// runQuestion writes a command with its environment so that no two of them look alike.
func runQuestion(c Command) question {
	var words []string
	for _, e := range c.Env {
		words = append(words, quoteWord(e))
	}
	if len(words) > 0 {
		words = append(words, "--")
	}
	for _, a := range c.Argv {
		words = append(words, quoteWord(a))
	}
	return question{opRun, strings.Join(words, " ")}
}

func quoteWord(word string) string {
	plain := word != "" && word != "--" && !strings.ContainsFunc(word, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || r == '"' || r == '\\'
	})
	if plain {
		return word
	}
	return strconv.QuoteToASCII(word)
}

// quoteName writes a name as it is where it can stand in a line, else as a Go string.
func quoteName(name string) string {
	if name != "" && isTyped(name) && name[0] != '"' && strings.TrimSpace(name) == name {
		return name
	}
	return strconv.Quote(name)
}

// unquoteName reads what quoteName wrote, and nothing else: a name has one spelling.
func unquoteName(text string) (string, error) {
	name := text
	if strings.HasPrefix(text, `"`) {
		var err error
		if name, err = strconv.Unquote(text); err != nil {
			return "", fmt.Errorf("name %s: %w", shortened(text), err)
		}
	}
	if quoteName(name) != text {
		return "", fmt.Errorf("name %q is not in canonical form: %s", shortened(text), shortened(quoteName(name)))
	}
	return name, nil
}

func isTyped(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// shortened bounds what an error quotes of a foreign text.
func shortened(text string) string {
	const most = 120
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// encodeNames writes a directory, a name a line.
func encodeNames(names []string) []byte {
	var b strings.Builder
	for _, n := range names {
		b.WriteString(quoteName(n))
		b.WriteByte('\n')
	}
	return []byte(b.String())
}

func decodeNames(data []byte) ([]string, error) {
	var names []string
	for line := range strings.Lines(string(data)) {
		name, err := unquoteName(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return nil, err
		}
		if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
			return nil, fmt.Errorf("name %q cannot stand in a directory", shortened(name))
		}
		names = append(names, name)
	}
	if !slices.IsSorted(names) {
		return nil, errors.New("names are not sorted")
	}
	return names, nil
}
