package messages

import (
	"os"
	"strings"
	"testing"
)

// printed is a line as a program prints it, written or captured by this project.
type printed struct{ program, id, line string }

// readSamples reads testdata/samples.tsv.
func readSamples(t *testing.T) (list []printed) {
	t.Helper()
	text, err := os.ReadFile("testdata/samples.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.SplitN(line, "\t", 3)
		if len(cells) != 3 {
			t.Fatalf("testdata/samples.tsv: %q has fewer than three cells", line)
		}
		list = append(list, printed{cells[0], cells[1], cells[2]})
	}
	return list
}

// Each line of testdata/samples.tsv is the message that it is a sample of.
func TestSamplesFindTheirMessage(t *testing.T) {
	c := catalogue(t)
	for _, s := range readSamples(t) {
		id := s.program + "/" + s.id
		if _, ok := c.ByID(id); !ok {
			t.Errorf("%s is no message", id)
			continue
		}
		if got, ok := c.Find(s.line); !ok || got.ID != id {
			t.Errorf("%s: %q is %v", id, s.line, name(got))
		}
	}
}

func name(m *Message) string {
	if m == nil {
		return "no message"
	}
	return m.ID
}

// Each message of a program that has samples has one: an entry without a line that it was held against is a guess.
func TestEachMessageHasASample(t *testing.T) {
	sampled, programs := map[string]bool{}, map[string]bool{}
	for _, s := range readSamples(t) {
		sampled[s.program+"/"+s.id], programs[s.program] = true, true
	}
	for _, m := range catalogue(t).All() {
		if programs[m.Program] && !sampled[m.ID] {
			t.Errorf("%s has no sample", m.ID)
		}
	}
}

// Lines of healthy runs, results and prose are no message, or one that says nothing bad.
func TestHealthyLinesAreNoFault(t *testing.T) {
	c := catalogue(t)
	text, err := os.ReadFile("testdata/healthy.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "# ") && !strings.Contains(line, "busbw") {
			continue
		}
		if got, ok := c.Find(line); ok && got.Level != Everyday && got.Level != Choice {
			t.Errorf("%q is %s, %s", line, got.ID, got.Level)
		}
	}
}
