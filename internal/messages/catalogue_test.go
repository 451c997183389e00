package messages

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func catalogue(t testing.TB) *Catalogue {
	t.Helper()
	c, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// one is a file of the data with entries below a valid head.
func one(entries string) fstest.MapFS {
	return fstest.MapFS{"data/x.yaml": {Data: []byte("program: x\nabout: y\nmessages:\n" + entries)}}
}

const whole = "- {id: a-b, match: [\"some words here\"], level: error, feature: network, means: m, source: s}\n"

func TestRefused(t *testing.T) {
	for _, tt := range []struct{ name, entries, want string }{
		{"unknown key", strings.Replace(whole, "means", "meaning", 1), "field meaning not found"},
		{"unknown level", strings.Replace(whole, "error", "bad", 1), `level "bad" is unknown`},
		{"unknown feature", strings.Replace(whole, "network", "net", 1), `feature "net" is unknown`},
		{"one word", strings.Replace(whole, "some words here", "somewords", 1), "fewer than two words"},
		{"short parts", strings.Replace(whole, "some words here", "some * us * here", 1), "no fixed part of 6"},
		{"no pattern", strings.Replace(whole, "\"some words here\"", "", 1), "match is missing"},
		{"twice", whole + whole, "twice"},
		{"same pattern", whole + strings.Replace(whole, "a-b", "a-c", 1), "there twice, also in x/a-b"},
		{"id", strings.Replace(whole, "a-b", "A_b", 1), "kebab-case"},
		{"no meaning", strings.Replace(whole, "means: m, ", "", 1), "means or source is missing"},
		{"strength", strings.Replace(whole, "source: s", "source: s, why: w, signs: {firewall: maybe}", 1), `strength "maybe" is unknown`},
		{"cause", strings.Replace(whole, "source: s", "source: s, why: w, signs: {gremlins: hints}", 1), "no such cause"},
		{"no why", strings.Replace(whole, "source: s", "source: s, signs: {firewall: hints}", 1), "signs without why"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := load(one(tt.entries)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
	if _, err := load(one(whole)); err != nil {
		t.Errorf("a valid entry is refused: %v", err)
	}
	if _, err := load(fstest.MapFS{"data/y.yaml": {Data: []byte("program: x\nabout: y\n")}}); err == nil {
		t.Error("a file of another program's name is read")
	}
}

// Every pattern, once printed, is found as its own message: no other takes it away, and the index misses none.
func TestEachPatternIsItsOwnMessage(t *testing.T) {
	c := catalogue(t)
	for _, m := range c.All() {
		for _, p := range m.Match {
			for _, value := range []string{"", "7", "a value of words"} {
				for _, prefix := range prefixes(m) {
					line := prefix + strings.ReplaceAll(p, "*", value)
					got, known := c.Find(line)
					ofLevel := known && (slices.Contains(got.Match, "NCCL INFO "+p) || slices.Contains(got.Match, "NCCL WARN "+p))
					if !ofLevel && (value != "" && (!known || got.ID != m.ID) || !known) {
						t.Errorf("%s: %q is %s", m.ID, line, name(got))
					}
				}
			}
			if got, _ := c.Find(strings.ReplaceAll(p, "*", "7")); got == nil || got.ID != m.ID {
				t.Errorf("%s: %q alone is %+v", m.ID, p, got)
			}
		}
	}
	for _, m := range c.All() {
		if got, ok := c.ByID(m.ID); !ok || got.ID != m.ID {
			t.Errorf("ByID(%q) is %+v", m.ID, got)
		}
	}
}

// prefixes are what may stand before a message of a program.
func prefixes(m Message) []string {
	if m.Program != "nccl" && m.Program != "rccl" {
		return []string{"host-1:12:34 [0] "}
	}
	return []string{"host-1:12:34 [0] ", "host-1:12:34 [0] NCCL INFO ", "host-1:12:34 [0] NCCL WARN "}
}

// The index finds what a search for every pattern finds.
func TestIndexAgainstSearch(t *testing.T) {
	c := catalogue(t)
	random := rand.New(rand.NewPCG(1, 2))
	all := c.All()
	pieces := func() string {
		m := all[random.IntN(len(all))]
		p := m.Match[random.IntN(len(m.Match))]
		from := random.IntN(len(p) + 1)
		if random.IntN(3) > 0 {
			from = 0
		}
		return strings.ReplaceAll(p[from:], "*", "some value")
	}
	for range 2000 {
		line := pieces() + " " + pieces() + pieces()
		want, most := "", 0
		for _, m := range all {
			for _, p := range m.Match {
				n := 0
				for _, part := range parts(p) {
					n += weight(part)
				}
				if logged(line) && slices.Contains(ofNCCL, m.Program) {
					n += 1000
				}
				if n > most && inOrder(line, parts(p)) {
					want, most = m.ID, n
				}
			}
		}
		got, _ := c.Find(line)
		if got == nil && want != "" || got != nil && got.ID != want {
			t.Fatalf("%q is %+v, want %s", line, got, want)
		}
	}
}

// What stands beside a message on its line is left, and what its parts enclose is not.
func TestCut(t *testing.T) {
	c, err := load(one(strings.Replace(whole, `"some words here"`, `"some words * here"`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, rest string }{
		{"some words and more here", " "},
		{"before some words 1 here, after", "before  , after"},
		{"some words some words 1 here and here", "some words   and here"},
		{"other", "other"},
	} {
		if m, rest, found := c.Cut(tt.line); rest != tt.rest || found != (m != nil) || found == (tt.line == "other") {
			t.Errorf("%q leaves %q, want %q", tt.line, rest, tt.rest)
		}
	}
}

func TestNothingIsFound(t *testing.T) {
	c := catalogue(t)
	for _, line := range []string{"", "x", "error", strings.Repeat("perl: warning: ", 100000), strings.Repeat("' from LD_PRELOAD cannot be preloaded (", 100000), "\xff\xfe\x00", "NCCL WARN "} {
		if m, known := c.Find(line); known {
			t.Errorf("%.40q is %s", line, m.ID)
		}
	}
}

func BenchmarkFindNothing(b *testing.B) {
	c := catalogue(b)
	line := "node1:1234:1250 [3] NCCL INFO Channel 05/0 : 11[3] -> 19[3] [send] via NET/IB/3/GDRDMA/Shared and what an ordinary line says"
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, known := c.Find(line); known {
			b.Fatal(line)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		if _, err := Load(); err != nil {
			b.Fatal(err)
		}
	}
}

// A setting that a command line or a log names is no message about it.
func TestSettingsAreNoFault(t *testing.T) {
	c := catalogue(t)
	names := regexp.MustCompile(`\b(?:NCCL|RCCL|UCX|OMPI|PMIX|FI|OFI|CUDA|HIP|ROCR|HSA|GLOO|TORCH|VLLM|SGLANG|LD|OMP|SLURM)_[A-Z0-9_]+\b`)
	for _, m := range c.All() {
		for _, p := range m.Match {
			for _, variable := range names.FindAllString(p, -1) {
				for _, line := range []string{variable + "=1", "mpirun -np 16 -x " + variable + "=1 ./all_reduce_perf -b 8", variable + " set by environment to 1."} {
					if got, known := c.Find(line); known && got.Level != Everyday && got.Level != Choice && !strings.Contains(variable, "_ERR") {
						t.Errorf("%q is %s, %s", line, got.ID, got.Level)
					}
				}
			}
		}
	}
}
