package causes

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// problems collects what is wrong with a file, each line with the entry that it is about.
type problems struct {
	file string
	all  []error
}

func (p *problems) add(format string, args ...any) {
	p.all = append(p.all, fmt.Errorf(p.file+": "+format, args...))
}

// said complains about a text that is missing.
func (p *problems) said(of, what, text string) {
	if strings.TrimSpace(text) == "" {
		p.add("%s: %s: missing", of, what)
	}
}

// word complains about a word that the file does not define.
func (p *problems) word(of, what, word string, words map[string]float64) {
	if words[word] <= 0 {
		p.add("%s: %s: %w", of, what, fabric.UnknownName("word", word, slices.Sorted(maps.Keys(words))))
	}
}

// probabilities complains about words that are no probabilities.
func (p *problems) probabilities(words map[string]float64) {
	if len(words) == 0 {
		p.add("words: missing")
	}
	for _, word := range slices.Sorted(maps.Keys(words)) {
		if w := words[word]; !(w > 0 && w < 1) {
			p.add("words: %s: %v is not between 0 and 1", word, w)
		}
	}
}

func (f *causesFile) validate(entries []Entry) error {
	p := problems{file: "causes.yaml"}
	p.probabilities(f.Words)
	for _, class := range Classes() {
		if o := f.Other[class]; !(o.Share > 0 && o.Share < 1) || o.Reason == "" {
			p.add("other: %s: needs a share between 0 and 1 and a reason", class)
		}
	}
	if len(f.Other) != len(Classes()) {
		p.add("other: unknown class")
	}
	seen := map[fabric.CauseID]bool{}
	for i, e := range entries {
		of := cmp.Or(string(e.ID), fmt.Sprintf("cause %d", i+1))
		p.said(of, "id", string(e.ID))
		if seen[e.ID] {
			p.add("%s: twice", of)
		}
		seen[e.ID] = true
		f.entry(&p, of, e)
	}
	return errors.Join(p.all...)
}

func (f *causesFile) entry(p *problems, of string, e Entry) {
	p.said(of, "title of its topic", e.Topic)
	p.said(of, "what", e.What)
	p.said(of, "signs", e.Signs)
	p.said(of, "reason", e.Reason)
	p.said(of, "confirm", e.Confirm.String())
	p.said(of, "fix", e.Fix.String())
	for _, class := range Classes() {
		p.word(of, "prior of "+string(class), e.Prior[class], f.Words)
	}
	if len(e.Prior) != len(Classes()) {
		p.add("%s: prior: unknown class", of)
	}
	for _, x := range e.Platforms {
		p.said(of, "platform", x.On)
		p.said(of, "fix on "+x.On, x.Fix)
	}
	if len(e.Expects) == 0 {
		p.add("%s: expects: missing", of)
	}
	for _, x := range e.Expects {
		p.said(of, "evidence", x.Evidence)
		if !slices.Contains(Outputs(), x.Where) {
			p.add("%s: expects: %w", of, fabric.UnknownName("output", x.Where, Outputs()))
		}
	}
}

func (f *stepsFile) validate(known map[fabric.CauseID]int) error {
	p := problems{file: "steps.yaml"}
	p.probabilities(f.Words)
	if f.Attention.Minutes <= 0 || f.Attention.Reason == "" {
		p.add("attention: needs minutes above 0 and a reason")
	}
	seen := map[string]bool{}
	for i, s := range f.Steps {
		of := cmp.Or(s.ID, fmt.Sprintf("step %d", i+1))
		p.said(of, "id", s.ID)
		if seen[s.ID] {
			p.add("%s: twice", of)
		}
		seen[s.ID] = true
		f.step(&p, of, s, known)
	}
	return errors.Join(p.all...)
}

func (f *stepsFile) step(p *problems, of string, s Step, known map[fabric.CauseID]int) {
	p.said(of, "command", s.Command)
	p.said(of, "gives", s.Gives)
	if !(s.Minutes > 0) {
		p.add("%s: minutes: %v is not above 0", of, s.Minutes)
	}
	if len(s.Needs) == 0 {
		p.add("%s: needs: missing", of)
	}
	for _, class := range s.Classes {
		if !slices.Contains(Classes(), class) {
			p.add("%s: classes: %s: unknown class", of, class)
		}
	}
	for _, need := range s.Needs {
		if f.Needs[need] == "" {
			p.add("%s: needs: %w", of, fabric.UnknownName("word", need, slices.Sorted(maps.Keys(f.Needs))))
		}
	}
	if len(s.Outcomes) < 2 {
		p.add("%s: outcomes: a measurement with one outcome tells nothing", of)
	}
	for _, o := range s.Outcomes {
		p.said(of, "see", o.See)
		p.word(of, "others of "+fabric.Quote(o.See), o.Others, f.Words)
		for _, id := range slices.Sorted(maps.Keys(o.Likely)) {
			if _, ok := known[id]; !ok {
				p.add("%s: %s: unknown cause", of, id)
			}
			p.word(of, string(id), o.Likely[id], f.Words)
		}
	}
}
