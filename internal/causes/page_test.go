package causes

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/causes.md")

// docs/causes.md shows the data: `go test ./internal/causes -update` writes it.
func TestPage(t *testing.T) {
	const page = "../../docs/causes.md"
	want := pageOf(load(t))
	if *update {
		if err := os.WriteFile(page, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not that of the data: go test ./internal/causes -update", page)
	}
}

// pageOf writes the page: a table of all causes, then each with its commands, then the measurements.
func pageOf(s *Set) []byte {
	var b bytes.Buffer
	b.WriteString("# Causes\n\nWhat `railwright explain` can name. `railwright cause ID` shows one with the measurements that test it. The data is\n" +
		"[causes.yaml](../internal/causes/data/causes.yaml) and [steps.yaml](../internal/causes/data/steps.yaml), written by hand; this page is\n" +
		"made from it. An id is never renamed.\n")
	topic := ""
	for _, e := range s.All() {
		if e.Topic != topic {
			topic = e.Topic
			fmt.Fprintf(&b, "\n## %s\n\n| id | what it is | typical signs |\n|---|---|---|\n", topic)
		}
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", e.ID, e.ID, cell(e.What), cell(e.Signs))
	}
	b.WriteString("\n## What confirms and what fixes each\n\nCapitals are placeholders. A test of perftest (ib_write_bw) runs on PEER first, without PEER at its end. The words say how likely a cause is in a class of failure before anything was seen:\n" +
		"slow, hang, crash while running, failure at start, and configuration without a run.\n")
	for _, e := range s.All() {
		writeEntry(&b, e)
	}
	b.WriteString("\n## Measurements\n\nOf these `explain` proposes what is expected to tell most about the causes that are left, per minute.\n\n" +
		"| id | command | minutes | needs |\n|---|---|---|---|\n")
	for _, step := range s.steps {
		fmt.Fprintf(&b, "| `%s` | %s | %g | %s |\n", step.ID, code(step.Command), step.Minutes, strings.Join(step.Needs, ", "))
	}
	return b.Bytes()
}

func writeEntry(b *bytes.Buffer, e Entry) {
	fmt.Fprintf(b, "\n### %s\n\n%s\n\n", e.ID, e.What)
	var words []string
	for _, class := range Classes() {
		words = append(words, string(class)+" "+e.Prior[class])
	}
	fmt.Fprintf(b, "Prior: %s. %s\n\nConfirm:\n\n```\n%s\n```\n\nFix:\n\n```\n%s\n```\n", strings.Join(words, ", "), e.Reason,
		strings.Join(e.Confirm, "\n"), strings.Join(e.Fix, "\n"))
	for i, p := range e.Platforms {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "- on %s: %s\n", p.On, prose(p.Fix))
	}
}

// cell writes a text for a cell of a table.
func cell(text string) string { return strings.ReplaceAll(prose(text), "|", `\|`) }

// prose writes a text that Markdown does not read as markup.
func prose(text string) string {
	return strings.NewReplacer("<", "&lt;", "*", `\*`, "_", `\_`, "[", `\[`).Replace(text)
}

// code writes a command in a cell; tables take no bar even within code.
func code(command string) string { return "`" + strings.ReplaceAll(command, "|", `\|`) + "`" }
