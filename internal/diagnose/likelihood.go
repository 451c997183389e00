package diagnose

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

//go:embed likelihoods.yaml
var likelihoodsText []byte

// signs are likelihood ratios by cause: how much more often evidence is seen with a cause than with any other.
type signs map[fabric.CauseID]messages.Strength

// settingRow is what a setting says of causes when its value is one of When.
type settingRow struct {
	Name  string
	When  []string     // values; "any"; "<=N"
	Class causes.Class // empty: every class of failure
	Signs signs
	Why   string
}

// contrastRow is what a change says of causes, by its effect.
type contrastRow struct {
	What                string
	Better, Worse, Same signs
	Why                 string
}

// shownRow is what a measured number, a feature of a log or an asymmetry says of causes.
type shownRow struct {
	Shows, What string
	Class       causes.Class // of failure that it can cause; empty: every one
	Signs       signs
	Why         string
}

// topicRow is how much it says that a person mentions a topic.
type topicRow struct {
	Usual                   messages.Strength
	Proves, Supports, Hints []fabric.CauseID
}

func (r topicRow) of(topic fabric.CauseID) signs {
	switch {
	case slices.Contains(r.Proves, topic):
		return signs{topic: messages.Proves}
	case slices.Contains(r.Supports, topic):
		return signs{topic: messages.Supports}
	case slices.Contains(r.Hints, topic):
		return signs{topic: messages.Hints}
	default:
		return signs{topic: r.Usual}
	}
}

// likelihoods is the file of that name.
type likelihoods struct {
	Settings    []settingRow
	Contrasts   []contrastRow
	Topics      topicRow
	Asymmetries []shownRow
	Measures    []shownRow
	Stops       []shownRow
	Features    []shownRow
}

// table is the likelihoods by sign.
type table struct {
	settings []settingRow
	topics   topicRow
	bySign   map[string]signs
	why      map[string]string
	class    map[string]causes.Class
}

// loadTable reads the likelihoods once: they are compiled into the program.
var loadTable = sync.OnceValues(func() (*table, error) {
	var file likelihoods
	d := yaml.NewDecoder(bytes.NewReader(likelihoodsText))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("likelihoods.yaml: %w", err)
	}
	t := &table{settings: file.Settings, topics: file.Topics, bySign: map[string]signs{}, why: map[string]string{}, class: map[string]causes.Class{}}
	add := func(e evidence.Evidence, s signs, why string) error {
		sign := e.Sign()
		if len(s) == 0 {
			return nil
		}
		if t.bySign[sign] != nil {
			return fmt.Errorf("likelihoods.yaml: %q: twice", sign)
		}
		t.bySign[sign], t.why[sign] = s, why
		return s.check(sign)
	}
	switches, _, err := evidence.Words()
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, r := range file.Contrasts {
		if !slices.Contains(switches, r.What) {
			errs = append(errs, fmt.Errorf("likelihoods.yaml: contrast %q: no words find it", r.What))
		}
		for _, e := range []struct {
			effect evidence.Effect
			signs  signs
		}{{evidence.Better, r.Better}, {evidence.Worse, r.Worse}, {evidence.Same, r.Same}} {
			errs = append(errs, add(evidence.Contrast{What: r.What, Effect: e.effect}, e.signs, r.Why))
		}
	}
	for _, r := range file.Asymmetries {
		errs = append(errs, add(evidence.Asymmetry{What: r.What}, r.Signs, r.Why))
	}
	for _, r := range slices.Concat(file.Measures, file.Stops, file.Features) {
		errs = append(errs, add(evidence.Measure{Shows: r.Shows}, r.Signs, r.Why))
		t.class[evidence.Measure{Shows: r.Shows}.Sign()] = r.Class
	}
	for _, r := range file.Settings {
		errs = append(errs, r.Signs.check("setting "+r.Name))
	}
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return t, nil
})

// check refuses a word that is no strength.
func (s signs) check(of string) error {
	for cause, strength := range s {
		if strength.Ratio() == 0 {
			return fmt.Errorf("likelihoods.yaml: %s: %s: unknown strength %q", of, cause, strength)
		}
	}
	return nil
}

// of returns what a piece of evidence says of causes in a class of failure; nil: nothing is known of it.
func (t *table) of(e evidence.Evidence, c causes.Class, catalogue *messages.Catalogue) signs {
	switch e := e.(type) {
	case evidence.Message:
		if m, ok := catalogue.ByID(e.ID); ok {
			return m.Signs
		}
	case evidence.Setting:
		return t.setting(e, c)
	case evidence.Predicted:
		if strength := strengthOf(e.Ratio); strength != "" {
			return signs{e.Cause: strength}
		}
		return nil
	case evidence.Found:
		switch { // what a rule found is so; whether it is why a run goes wrong is another question
		case e.Failed && e.Own && e.Error:
			return signs{e.Cause: messages.Proves}
		case e.Failed && (e.Own || e.Error):
			return signs{e.Cause: messages.Strong}
		case e.Failed:
			return signs{e.Cause: messages.Supports}
		default:
			return signs{e.Cause: messages.Against}
		}
	case evidence.Statement:
		if e.Differs { // what is not the same on all machines is seldom mentioned without being the fault
			return signs{fabric.CauseID(e.Topic): messages.Strong}
		}
		return t.topics.of(fabric.CauseID(e.Topic))
	case evidence.Asymmetry:
		what, _, _ := strings.Cut(e.What, " ")
		return t.bySign[evidence.Asymmetry{What: what}.Sign()]
	}
	if only := t.class[e.Sign()]; only != "" && only != c && c != causes.AnyClass {
		return nil
	}
	return t.bySign[e.Sign()]
}

// strengthOf is the word nearest to a likelihood ratio; empty: the ratio says nothing.
func strengthOf(ratio float64) messages.Strength {
	ratio = min(max(ratio, messages.Excludes.Ratio()), messages.Proves.Ratio())
	nearest, off := messages.Strength(""), math.Abs(math.Log(ratio))
	for _, s := range []messages.Strength{messages.Proves, messages.Strong, messages.Supports, messages.Hints, messages.Against, messages.Excludes} {
		if d := math.Abs(math.Log(ratio / s.Ratio())); d < off {
			nearest, off = s, d
		}
	}
	return nearest
}

// reason returns why a piece of evidence says something of causes, in words; empty: nothing is known.
func (t *table) reason(e evidence.Evidence, c causes.Class, catalogue *messages.Catalogue) string {
	switch e := e.(type) {
	case evidence.Message:
		if m, ok := catalogue.ByID(e.ID); ok {
			return m.Means
		}
	case evidence.Setting:
		for _, r := range t.settings {
			if r.fits(e, c) {
				return r.Why
			}
		}
	case evidence.Asymmetry:
		what, _, _ := strings.Cut(e.What, " ")
		return t.why[evidence.Asymmetry{What: what}.Sign()]
	}
	return t.why[e.Sign()]
}

// fits reports whether a row is about a setting with its value in a class of failure.
func (r settingRow) fits(s evidence.Setting, c causes.Class) bool {
	return r.Name == strings.Replace(s.Name, "RCCL_", "NCCL_", 1) && (r.Class == "" || r.Class == c) &&
		slices.ContainsFunc(r.When, func(form string) bool { return isValue(form, s.Value) })
}

// setting returns what a setting says: the signs of each row that has its name and its value.
func (t *table) setting(s evidence.Setting, c causes.Class) signs {
	out := signs{}
	for _, r := range t.settings {
		if r.fits(s, c) {
			for cause, strength := range r.Signs {
				if strength.Ratio() > out[cause].Ratio() {
					out[cause] = strength
				}
			}
		}
	}
	return out
}

// isValue reports whether a value is of a form: itself, any, or at most a number. Booleans are written in several ways.
func isValue(form, value string) bool {
	value = strings.TrimSpace(value)
	switch {
	case form == "any":
		return value != ""
	case strings.HasPrefix(form, "<="):
		most, err := strconv.ParseInt(form[2:], 10, 64)
		n, err2 := strconv.ParseInt(value, 10, 64)
		return err == nil && err2 == nil && n <= most
	case form == "1":
		return slices.Contains([]string{"1", "true", "y", "yes", "on"}, strings.ToLower(value))
	case form == "0":
		return slices.Contains([]string{"0", "false", "n", "no", "off"}, strings.ToLower(value))
	}
	return strings.EqualFold(form, value)
}
