package report

import (
	"fmt"
	"io"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// KnownCauses writes the causes with what they are, under the titles of their topics.
func KnownCauses(w io.Writer, causes []fabric.KnownCause, o TextOptions) error {
	p := newPrinter(o)
	wide := 0
	for _, k := range causes {
		wide = max(wide, len(k.ID))
	}
	topic := ""
	for _, k := range causes {
		if k.Topic != topic {
			topic = k.Topic
			p.heading(topic)
		}
		p.hanging(fmt.Sprintf("%-*s  ", wide, k.ID), k.What)
	}
	p.blank()
	p.line(p.paint(faint, "railwright cause ID shows what speaks for one, what confirms and what fixes it"))
	return p.writeTo(w)
}

// shownMessages is how many messages are written without Verbose: the strongest say most.
const shownMessages = 5

// KnownCause writes all that is known of a cause. Commands are never wrapped, so that they can be copied.
func KnownCause(w io.Writer, k fabric.KnownCause, o TextOptions) error {
	p := newPrinter(o)
	p.line(p.paint(bold, string(k.ID)) + "  " + p.paint(faint, k.Topic))
	p.field("is", k.What)
	p.field("signs", k.Signs)
	p.field("prior", priors(k.Priors))
	p.field("reason", k.Reason)
	p.spoken(k.Messages)
	p.commands("confirm", k.Confirm)
	p.commands("fix", k.Fix)
	for _, x := range k.Platforms {
		p.field("on", x.On+": "+x.Fix)
	}
	p.fields("expected", lookedFor(k.Expects))
	if len(k.Steps) > 0 {
		p.heading("Measurements that test it")
	}
	for _, s := range k.Steps {
		p.line(p.paint(bold, s.ID) + "  " + p.paint(faint, fmt.Sprintf("%g min; needs %s", s.Minutes, strings.Join(s.Needs, ", "))))
		p.commands("run", []string{s.Command})
		p.field("shows", fmt.Sprintf("%s (%.0f %%)", s.Shows, 100*s.Probability))
	}
	return p.writeTo(w)
}

// priors writes the words of the classes with their probability: slow usual (2.4 %), ...
func priors(all []fabric.CausePrior) string {
	parts := make([]string, len(all))
	for i, c := range all {
		parts[i] = fmt.Sprintf("%s %s (%.1f %%)", c.Class, c.Word, 100*c.Probability)
	}
	return strings.Join(parts, ", ")
}

// spoken writes the messages that speak for a cause, the strongest first.
func (p *printer) spoken(messages []fabric.CauseMessage) {
	shown := messages
	if !p.o.Verbose {
		shown = messages[:min(len(messages), shownMessages)]
	}
	label := "messages"
	for _, m := range shown {
		p.field(label, fmt.Sprintf("%s (%s): %s", m.ID, m.Word, m.Means))
		label = ""
	}
	if more := len(messages) - len(shown); more > 0 {
		p.field("", fmt.Sprintf("and %s; -v lists them", fabric.Count(more, "more message")))
	}
}

func lookedFor(all []fabric.CauseEvidence) []string {
	texts := make([]string, len(all))
	for i, x := range all {
		texts[i] = x.Evidence + ", in " + x.Where
	}
	return texts
}
