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
	Causes []Entry            `yaml:"causes"`
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
	if err := errors.Join(c.validate(), s.validate(c.ids())); err != nil {
		return nil, err
	}
	set := &Set{entries: c.Causes, byID: c.ids(), other: c.Other, prior: c.priors(), steps: s.Steps, attention: s.Attention.Minutes}
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

// ids returns the place of each cause in the list.
func (f *causesFile) ids() map[fabric.CauseID]int {
	ids := make(map[fabric.CauseID]int, len(f.Causes))
	for i, e := range f.Causes {
		ids[e.ID] = i
	}
	return ids
}

// priors scales the weights of the words so that the causes of a class and its other add up to 1.
func (f *causesFile) priors() map[Class]map[fabric.CauseID]float64 {
	out := make(map[Class]map[fabric.CauseID]float64, len(Classes()))
	for _, class := range Classes() {
		total := 0.0
		for _, e := range f.Causes {
			total += f.Words[e.Prior[class]]
		}
		known := 1 - f.Other[class].Share
		out[class] = make(map[fabric.CauseID]float64, len(f.Causes))
		for _, e := range f.Causes {
			out[class][e.ID] = known * f.Words[e.Prior[class]] / total
		}
	}
	return out
}
