package evidence

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed words.yaml
var wordsText []byte

// phrase is an expression that stands for one thing.
type phrase struct {
	id   string
	says *regexp.Regexp
}

// words is what is read of prose.
type words struct {
	good, bad, same, not, until, slow, hang, fails *regexp.Regexp
	switches, topics                               []phrase
}

// loadWords reads the file of words once: it is compiled into the program, and a mistake in it fails a test.
var loadWords = sync.OnceValues(func() (*words, error) {
	var file struct {
		Good, Bad, Same, Not, Until, Slow, Hang, Fails string
		Switches, Topics                               []struct{ ID, Says string }
	}
	d := yaml.NewDecoder(bytes.NewReader(wordsText))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("words.yaml: %w", err)
	}
	w := &words{}
	for _, e := range []struct {
		to   **regexp.Regexp
		text string
	}{{&w.good, file.Good}, {&w.bad, file.Bad}, {&w.same, file.Same}, {&w.not, file.Not}, {&w.until, file.Until}, {&w.slow, file.Slow}, {&w.hang, file.Hang}, {&w.fails, file.Fails}} {
		var err error
		if *e.to, err = regexp.Compile(`(?i)(?:\b)(?:` + e.text + `)`); err != nil {
			return nil, fmt.Errorf("words.yaml: %w", err)
		}
	}
	var err error
	if w.switches, err = phrases(file.Switches); err != nil {
		return nil, err
	}
	w.topics, err = phrases(file.Topics)
	return w, err
})

func phrases(list []struct{ ID, Says string }) ([]phrase, error) {
	var out []phrase
	for _, e := range list {
		says, err := regexp.Compile(`(?i)(?:` + e.Says + `)`)
		if err != nil {
			return nil, fmt.Errorf("words.yaml: %q: %w", e.ID, err)
		}
		out = append(out, phrase{e.ID, says})
	}
	return out, nil
}

// Words returns the ids of all switches and topics, so that likelihoods can be held against them.
func Words() (switches, topics []string, err error) {
	w, err := loadWords()
	if err != nil {
		return nil, nil, err
	}
	for _, s := range w.switches {
		switches = append(switches, s.id)
	}
	for _, t := range w.topics {
		topics = append(topics, t.id)
	}
	return switches, topics, nil
}
