package messages

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
)

//go:embed data/*.yaml
var data embed.FS

// Catalogue is all messages of all programs. It is safe for use by many goroutines.
type Catalogue struct {
	all   []Message
	byID  map[string]int
	index index
}

// file is one file of the data: what one program prints.
type file struct {
	Program  string    `yaml:"program"`
	About    string    `yaml:"about"` // which sources were read, with versions
	Messages []Message `yaml:"messages"`
}

// Load reads the embedded catalogue and validates it. An unknown key or word, an id or pattern that two messages have
// and a pattern that is too short are errors; all are reported at once. It is read once, on first use, in some 40 ms.
func Load() (*Catalogue, error) { return embedded() }

var embedded = sync.OnceValues(func() (*Catalogue, error) { return load(data) })

func load(files fs.FS) (*Catalogue, error) {
	names, err := fs.Glob(files, "data/*.yaml")
	if err != nil {
		return nil, err
	}
	c := &Catalogue{byID: map[string]int{}}
	read, problems := readFiles(files, names)
	for _, f := range read {
		for _, m := range f.Messages {
			m.Program, m.ID = f.Program, f.Program+"/"+m.ID
			problems = append(problems, m.problems()...)
			if _, again := c.byID[m.ID]; again {
				problems = append(problems, fmt.Errorf("%s: the id is there twice", m.ID))
			}
			c.byID[m.ID] = len(c.all)
			c.all = append(c.all, m)
		}
	}
	problems = append(problems, c.repeated()...)
	if err := errors.Join(problems...); err != nil {
		return nil, err
	}
	c.index = newIndex(c.all)
	return c, nil
}

// readFiles reads the files at once: reading YAML is nearly all of the time that Load takes.
func readFiles(files fs.FS, names []string) (read []file, problems []error) {
	read, problems = make([]file, len(names)), make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names { // sorted
		all.Go(func() {
			f, err := readFile(files, name)
			if err != nil {
				problems[i] = fmt.Errorf("%s: %w", name, err)
				return
			}
			read[i] = f
		})
	}
	all.Wait()
	return read, problems
}

func readFile(files fs.FS, name string) (file, error) {
	var f file
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return f, err
	}
	in := yaml.NewDecoder(bytes.NewReader(text))
	in.KnownFields(true)
	if err := in.Decode(&f); err != nil {
		return f, err
	}
	if err := in.Decode(&struct{}{}); !errors.Is(err, io.EOF) {
		return f, errors.New("more than one document")
	}
	switch {
	case f.Program != strings.TrimSuffix(path.Base(name), ".yaml"):
		return f, fmt.Errorf("program %q is not the name of the file", f.Program)
	case f.About == "":
		return f, errors.New("about is missing: which sources were read")
	}
	return f, nil
}

// leastPart is the shortest that the longest fixed part of a pattern may be, bytes: the index finds messages by that many.
const leastPart = window

var idForm = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// problems lists what is wrong in an entry.
func (m *Message) problems() (found []error) {
	if m.Outcome != "" && m.Outcome != "hang" && m.Outcome != "refused" {
		found = append(found, fmt.Errorf("%s: outcome %q: unknown; known: hang, refused", m.ID, m.Outcome))
	}
	say := func(format string, args ...any) {
		found = append(found, fmt.Errorf("%s: %s", m.ID, fmt.Sprintf(format, args...)))
	}
	if !idForm.MatchString(strings.TrimPrefix(m.ID, m.Program+"/")) {
		say("the id is not in kebab-case")
	}
	if !slices.Contains(levels, m.Level) {
		say("level %q is unknown; known: %v", m.Level, levels)
	}
	if !slices.Contains(features, m.Feature) {
		say("feature %q is unknown; known: %v", m.Feature, features)
	}
	for cause, s := range m.Signs {
		if s.Ratio() == 0 {
			say("sign %s: strength %q is unknown", cause, s)
		}
		if !slices.Contains(fabric.CauseIDs, cause) {
			say("sign %s: no such cause", cause)
		}
	}
	if len(m.Signs) > 0 && m.Why == "" {
		say("signs without why")
	}
	if m.Means == "" || m.Source == "" {
		say("means or source is missing")
	}
	if len(m.Match) == 0 {
		say("match is missing")
	}
	for _, p := range m.Match {
		if why := patternProblem(p); why != "" {
			say("pattern %q %s", p, why)
		}
	}
	return found
}

// nameLength is from how many characters one word alone is distinctive: the name of a function or constant.
const nameLength = 16

// patternProblem says why a pattern is too weak: it needs two words or a name, and a part that is long enough to be found by.
func patternProblem(pattern string) string {
	words := strings.FieldsFunc(pattern, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	})
	longest := 0
	for _, part := range parts(pattern) {
		longest = max(longest, len(part))
	}
	switch {
	case strings.ContainsAny(pattern, "\n\r"):
		return "has a line break"
	case len(words) < 2 && (len(words) == 0 || len(words[0]) < nameLength):
		return "has fewer than two words"
	case longest < leastPart:
		return fmt.Sprintf("has no fixed part of %d characters", leastPart)
	}
	return ""
}

// repeated finds patterns that two messages have: which of them a line is could not be said.
func (c *Catalogue) repeated() (found []error) {
	owner := map[string]string{}
	for _, m := range c.all {
		for _, p := range m.Match {
			key := strings.Join(parts(p), "*")
			if other, again := owner[key]; again {
				found = append(found, fmt.Errorf("%s: pattern %q is there twice, also in %s", m.ID, p, other))
			}
			owner[key] = m.ID
		}
	}
	return found
}

// All returns every message, sorted by program, in the order of its file. Callers do not change them.
func (c *Catalogue) All() []Message { return c.all }

// ByID returns the message with an id such as nccl/ib-completion-retry.
func (c *Catalogue) ByID(id string) (*Message, bool) {
	i, ok := c.byID[id]
	if !ok {
		return nil, false
	}
	return &c.all[i], true
}

// Find returns the message that a line is: of those whose fixed parts the line has in order, the one with the most fixed
// characters; of equals the first. A line of NCCL's debug log is a message of NCCL, RCCL or a plugin before any other. What
// stands before and after is ignored, so the prefix of a log may be there or not.
func (c *Catalogue) Find(line string) (*Message, bool) {
	i := c.index.find(line)
	if i < 0 {
		return nil, false
	}
	return &c.all[c.index.all[i].message], true
}

// Cut is Find, and returns the line without what the message has of it: two messages may have been written to one line.
func (c *Catalogue) Cut(line string) (m *Message, rest string, found bool) {
	i := c.index.find(line)
	if i < 0 {
		return nil, line, false
	}
	p := c.index.all[i]
	from, to := span(line, p.parts)
	return &c.all[p.message], line[:from] + " " + line[to:], true
}
