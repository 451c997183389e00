package causes

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
)

//go:embed data/causes.yaml
var causesYAML []byte

//go:embed data/steps.yaml
var stepsYAML []byte

// causesFile is the form of data/causes.yaml.
type causesFile struct {
	Words  map[string]float64 `yaml:"words"`
	Other  map[Class]share    `yaml:"other"`
	Topics []topic            `yaml:"topics"`
}

// topic is a part of the list.
type topic struct {
	Title  string  `yaml:"title"`
	Causes []Entry `yaml:"causes"`
}

// share is the part of the reports of a class whose cause is none of the list.
type share struct {
	Share  float64 `yaml:"share"`
	Reason string  `yaml:"reason"`
}

// stepsFile is the form of data/steps.yaml.
type stepsFile struct {
	Words     map[string]float64 `yaml:"words"`
	Attention struct {
		Minutes float64 `yaml:"minutes"`
		Reason  string  `yaml:"reason"`
	} `yaml:"attention"`
	Needs map[string]string `yaml:"needs"`
	Steps []Step            `yaml:"steps"`
}

// Load reads the embedded causes and measurements and validates them. All problems are reported at once.
func Load() (*Set, error) { return read(causesYAML, stepsYAML) }

func read(causesText, stepsText []byte) (*Set, error) {
	var c causesFile
	var s stepsFile
	if err := errors.Join(decode("causes.yaml", causesText, &c), decode("steps.yaml", stepsText, &s)); err != nil {
		return nil, err
	}
	entries := c.entries()
	byID := make(map[fabric.CauseID]int, len(entries))
	for i, e := range entries {
		byID[e.ID] = i
	}
	if err := errors.Join(c.validate(entries), s.validate(byID)); err != nil {
		return nil, err
	}
	set := &Set{entries: entries, byID: byID, steps: s.Steps, attention: s.Attention.Minutes}
	set.other, set.prior = c.priors(entries)
	for i := range set.steps {
		set.steps[i].weigh(s.Words)
	}
	return set, nil
}

// decode reads exactly one YAML document without unknown fields.
func decode(name string, text []byte, v any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var more any
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: holds more than one document", name)
	}
	return nil
}

// entries are the causes of all topics, each with the title of its topic.
func (f *causesFile) entries() (all []Entry) {
	for _, t := range f.Topics {
		for _, e := range t.Causes {
			e.Topic = t.Title
			all = append(all, e)
		}
	}
	return all
}

// priors scales the weights of the words so that the causes of a class and its other add up to 1, and adds their means.
func (f *causesFile) priors(entries []Entry) (other map[Class]float64, prior map[Class]map[fabric.CauseID]float64) {
	other = map[Class]float64{}
	prior = map[Class]map[fabric.CauseID]float64{AnyClass: {}}
	classes := float64(len(Classes()))
	for _, class := range Classes() {
		total := 0.0
		for _, e := range entries {
			total += f.Words[e.Prior[class]]
		}
		other[class] = f.Other[class].Share
		other[AnyClass] += other[class] / classes
		prior[class] = make(map[fabric.CauseID]float64, len(entries))
		for _, e := range entries {
			p := (1 - other[class]) * f.Words[e.Prior[class]] / total
			prior[class][e.ID] = p
			prior[AnyClass][e.ID] += p / classes
		}
	}
	return other, prior
}
