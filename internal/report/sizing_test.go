package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os/exec"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

func sizingText(t *testing.T, s *fabric.Sizing, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Sizing(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func derivationText(t *testing.T, s *fabric.Sizing, o TextOptions) string {
	t.Helper()
	var b bytes.Buffer
	if err := Derivation(&b, s, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func sizingOutput(t *testing.T, write func(io.Writer, *fabric.Sizing) error, s *fabric.Sizing) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSizingGolden(t *testing.T) {
	for _, width := range []int{80, 120} {
		o := TextOptions{Width: width}
		golden(t, fmt.Sprintf("sizing-r1.%d.txt", width), []byte(sizingText(t, r1Sizing(), o)))
		golden(t, fmt.Sprintf("sizing-maverick.%d.txt", width), []byte(sizingText(t, maverickSizing(), o)))
		golden(t, fmt.Sprintf("sizing-nothing.%d.txt", width), []byte(sizingText(t, nothingFits(), o)))
		golden(t, fmt.Sprintf("derivation.%d.txt", width), []byte(derivationText(t, r1Sizing(), o)))
	}
	golden(t, "sizing-r1.verbose.txt", []byte(sizingText(t, r1Sizing(), TextOptions{Width: 100, Color: true, Verbose: true})))
	golden(t, "sizing-maverick.verbose.txt", []byte(sizingText(t, maverickSizing(), TextOptions{Width: 80, Verbose: true})))
	golden(t, "sizing-r1.ascii.txt", []byte(sizingText(t, r1Sizing(), TextOptions{Width: 60, ASCII: true})))
	golden(t, "sizing-r1.html", []byte(sizingOutput(t, SizingHTML, r1Sizing())))
	golden(t, "sizing-nothing.html", []byte(sizingOutput(t, SizingHTML, nothingFits())))
}

// Nothing tried is reported as such and is not a pass; nothing that fits is exit status 1.
func TestSizingStatus(t *testing.T) {
	refused := maverickSizing()
	for _, c := range []struct {
		name   string
		s      *fabric.Sizing
		answer string
		exit   int
	}{
		{"nothing", nil, "UNKNOWN: no layout of the model was tried", 2},
		{"empty", &fabric.Sizing{}, "UNKNOWN: no layout of the model was tried", 2},
		{"refused", refused, "DOES NOT FIT: llama-4-maverick: the requested layout does not work on hgx-h100", 1},
		{"too large", nothingFits(), "DOES NOT FIT: no layout fits on dgx-spark; nearest: 1 x dgx-spark, 1 GPU, tp 1", 1},
		{"fits", r1Sizing(), "FITS: deepseek-r1 on 2 x hgx-h100, 16 GPUs, tp 16", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := sizingText(t, c.s, TextOptions{})
			if !strings.HasPrefix(text, c.answer+"\n") || !strings.HasSuffix(text, "\n"+c.answer+"\n") || !strings.Contains(text, fmt.Sprintf("\nexit status %d: ", c.exit)) {
				t.Errorf("want %q first and last, and exit status %d, have:\n%s", c.answer, c.exit, text)
			}
			page := sizingOutput(t, SizingHTML, c.s)
			if strings.Contains(page, `class="banner pass"`) != (c.exit == 0) {
				t.Errorf("the page's banner contradicts %q", c.answer)
			}
		})
	}
}

// Why not fewer: the largest layout of fewer servers, on one server that of fewer GPUs, and never a guess.
func TestWhyNotFewer(t *testing.T) {
	s := r1Sizing()
	edit := func(f func(*fabric.Sizing)) string {
		x := *s
		x.Plans = append([]fabric.SizingPlan{}, s.Plans...)
		f(&x)
		return whyNotFewer(&x, mainPlan(&x))
	}
	for _, c := range []struct {
		got, want string
	}{
		{edit(func(*fabric.Sizing) {}), "Not fewer: 8 GPUs as tp 8: weights take 79.5 GiB per rank"},
		{edit(func(*fabric.Sizing) {}), "; 4 more layouts on fewer machines were refused."},
		{edit(func(x *fabric.Sizing) { x.Refused = nil }), "Whether fewer are enough was not checked."},
		{edit(func(x *fabric.Sizing) { x.Plans[0].Nodes = 1 }), "Not fewer: 8 GPUs as tp 8: weights take"},
		{edit(func(x *fabric.Sizing) { x.Plans[0].Nodes, x.Refused = 1, x.Refused[:11] }), "Not fewer: 15 GPUs as tp 15: 128 attention heads"},
		{edit(func(x *fabric.Sizing) { x.Plans[1].GPUs = 8 }), "Fewer are enough: 2 x hgx-h100, 8 GPUs, tp 16; this one is best."},
		{edit(func(x *fabric.Sizing) { x.Plans = x.Plans[:1]; x.Plans[0].GPUs = 1 }), "One GPU is the minimum."},
	} {
		t.Run(c.want, func(t *testing.T) {
			if !strings.Contains(c.got, c.want) {
				t.Errorf("have %q, want %q in it", c.got, c.want)
			}
		})
	}
}

// The command can be pasted: a shell reads it as the program and exactly the flags, whatever is in them.
func TestSizingCommand(t *testing.T) {
	words := []string{"python3", "-m sglang.launch_server", "--model-path", "/models/it's a; rm -rf /", "--tp 16", "--context-length 163840", "--served-model-name", "$(reboot) `x` | y", "--node-rank $NODE_RANK", "--dist-init-addr $HEAD_ADDR:20000", "--trust-remote-code"}
	want := []string{"-m", "sglang.launch_server", "--model-path", words[3], "--tp", "16", "--context-length", "163840", "--served-model-name", words[7], "--node-rank", "1", "--dist-init-addr", "10.0.0.1:20000", "--trust-remote-code"}
	for _, width := range []int{40, 68, 500} {
		t.Run(fmt.Sprintf("%d columns", width), func(t *testing.T) {
			text := strings.Join(commandLines(words, width), "\n")
			out, err := exec.Command("sh", "-c", "HEAD_ADDR=10.0.0.1 NODE_RANK=1\npython3() { for a; do printf '%s\\0' \"$a\"; done; }\n"+text).Output()
			if err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
			if got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00"); !reflect.DeepEqual(got, want) {
				t.Errorf("the shell reads %q, want %q:\n%s", got, want, text)
			}
			if width == 40 && !strings.Contains(text, " \\\n") {
				t.Error("a long command is not broken")
			}
		})
	}
	if lines := commandLines(nil, 80); lines != nil {
		t.Errorf("no words have the command %q", lines)
	}
	two := sizingText(t, r1Sizing(), TextOptions{Width: 120})
	for _, want := range []string{"--model-path deepseek-ai/DeepSeek-R1", "--node-rank $NODE_RANK", "on each server, with NODE_RANK=0 to 1"} {
		if !strings.Contains(two, want) {
			t.Errorf("the text lacks %q:\n%s", want, two)
		}
	}
}

// What was assumed of a model's name is in the first line and in the title of the page.
func TestSizingOfAnotherModel(t *testing.T) {
	s := r1Sizing()
	s.Model, s.ModelAssumed = "DeepSeek-R1-0528", "architecture and context of deepseek-ai/DeepSeek-R1"
	first, _, _ := strings.Cut(sizingText(t, s, TextOptions{Width: 120}), "\n")
	const want = "DeepSeek-R1-0528 (architecture and context of deepseek-ai/DeepSeek-R1)"
	if !strings.Contains(first, want) {
		t.Errorf("the first line is %q", first)
	}
	if v := newSizingView(s); v.Frame.Title != want {
		t.Errorf("the title is %q", v.Frame.Title)
	}
}

// What the network buys: each network beside the plan's own, at the most users, as a share.
func TestSizingNetwork(t *testing.T) {
	text := sizingText(t, r1Sizing(), TextOptions{Width: 120})
	for _, want := range []string{"What the network buys", "as planned", "4 of 8 NICs", "TCP", "(49 %)", "(93 %)"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	own, others := byNetwork(r1Speed())
	if len(own) != 12 || len(others) != 24 {
		t.Errorf("%d rows of the own network, %d of others", len(own), len(others))
	}
	if rows := networkRows(own, others, false, 64); len(rows) != 4 || rows[0].users != 125 || len(rows[0].tokens) != 3 {
		t.Errorf("the rows of most users are %+v", rows)
	}
	var nine []fabric.Performance
	for i := range 36 {
		nine = append(nine, fabric.Performance{Workload: fmt.Sprint("w", i/9), Concurrency: i%9 + 1})
	}
	if few := fewSpeeds(nine); len(few) != 12 || few[3].Workload != "w1" || few[0].Concurrency != 1 || few[1].Concurrency != 5 || few[2].Concurrency != 9 {
		t.Errorf("of nine rows a workload these are kept: %+v", few)
	}
	alone := r1Sizing()
	alone.Plans[0].Performance = own
	if text := sizingText(t, alone, TextOptions{}); strings.Contains(text, "buys") {
		t.Error("one network is compared with itself")
	}
}

// Where the smallest plan stands first, the best one and its command are shown too.
func TestSizingBest(t *testing.T) {
	s := r1Sizing()
	s.Plans[0].Role, s.Plans[1].Role = fabric.RoleSmallest, fabric.RoleBest
	s.Plans[1].TP = 32
	for _, text := range []string{sizingText(t, s, TextOptions{}), sizingOutput(t, SizingHTML, s)} {
		if !strings.Contains(text, "16 GPUs, tp 32: 300,000 tokens") || strings.Count(text, "--mem-fraction-static 0.78") != 1 {
			t.Errorf("the best plan is not shown:\n%.3000s", text)
		}
	}
	if text := sizingText(t, r1Sizing(), TextOptions{}); strings.Contains(text, "  best  ") {
		t.Error("the plan is shown twice")
	}
}

func TestSizingBounded(t *testing.T) {
	s := r1Sizing()
	for i := range 500 {
		r := s.Refused[i%13]
		r.Layout, r.Rule = fmt.Sprintf("tp %d pp %d", i, i), fmt.Sprintf("%s-%d", r.Rule, i%40)
		s.Refused = append(s.Refused, r)
		s.Plans = append(s.Plans, s.Plans[1])
		s.Assumptions = append(s.Assumptions, s.Assumptions[0])
		s.Derivation = append(s.Derivation, s.Derivation[i%5])
		s.Plans[0].Limits = append(s.Plans[0].Limits, "limit")
		s.Plans[0].Performance = append(s.Plans[0].Performance, s.Plans[0].Performance[i%36])
		s.Plans[0].Ledger = append(s.Plans[0].Ledger, s.Plans[0].Ledger[0])
		s.Storage.Notes = append(s.Storage.Notes, "note")
	}
	text := sizingText(t, s, TextOptions{})
	if n := strings.Count(text, "\n"); n > 220 { // lines: some five screens
		t.Errorf("without Verbose it takes %d lines", n)
	}
	for _, want := range []string{"Refused: 513 layouts", "more rules; -v shows them", "more plans; -v shows them", "more rows; -v shows them"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	for i := range 20000 {
		s.Refused = append(s.Refused, s.Refused[i%500])
	}
	if text := sizingText(t, s, TextOptions{Verbose: true}); len(text) > 1<<20 || !strings.Contains(text, "-o json has them all") {
		t.Errorf("with Verbose it takes %d bytes", len(text))
	}
	if page := sizingOutput(t, SizingHTML, s); len(page) > 5<<20 {
		t.Errorf("the page takes %d bytes", len(page))
	}
	for range 5000 {
		s.Derivation = append(s.Derivation, s.Derivation[0])
	}
	if text := derivationText(t, s, TextOptions{}); len(text) > 1<<20 || !strings.Contains(text, "more steps; -o json has them all") {
		t.Errorf("the derivation takes %d bytes", len(text))
	}
}

// fill sets every text of a value, however deep, and every number.
func fill(v reflect.Value, text string, f float64, n int64) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem(), text, f, n)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), text, f, n)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i), text, f, n)
		}
	case reflect.String:
		if text != "" {
			v.SetString(text)
		}
	case reflect.Float64:
		v.SetFloat(f)
	case reflect.Int, reflect.Int64:
		v.SetInt(n)
	}
}

// A text from a file writes nothing but itself, and NaN or Inf is never written.
func TestSizingHostile(t *testing.T) {
	evil := "x\x1b[2J\x1b]0;owned\x07\r\n\u202e<script>|[a](b)`" + strings.Repeat("long", 400)
	for _, text := range []string{evil, ""} {
		for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, math.MaxFloat64} {
			for _, n := range []int64{-1, 0, math.MinInt64, math.MaxInt64} {
				s := r1Sizing()
				s.Plans = append(s.Plans, s.Plans[0])
				fill(reflect.ValueOf(s), text, f, n)
				s.Plans[0].Fits = true
				if page := sizingOutput(t, SizingHTML, s); strings.Contains(page, "<script") {
					t.Fatal("the page has a tag of a file")
				}
				all := []string{derivationText(t, s, TextOptions{}), sizingOutput(t, SizingHTML, s)}
				for _, o := range []TextOptions{{}, {Verbose: true}, {Width: 120}, {Width: 1}} {
					all = append(all, sizingText(t, s, o))
				}
				for _, out := range all {
					if strings.ContainsAny(out, "\x1b\x07\r\u202e") {
						t.Fatalf("a control character is written: %.300q", out)
					}
					if bad := regexp.MustCompile(`\b(NaN|Inf)\b`).FindString(out); bad != "" {
						t.Fatalf("%v and %d: %s is written:\n%.3000s", f, n, bad, out)
					}
				}
				for _, out := range all[2:] {
					for l := range strings.Lines(out) {
						if utf8.RuneCountInString(l) > 1000 {
							t.Fatalf("a line has %d characters: %.100q", utf8.RuneCountInString(l), l)
						}
					}
				}
			}
		}
	}
}

// No line is wider than the terminal, but for words that cannot be broken.
func TestSizingWidth(t *testing.T) {
	for _, width := range []int{80, 100, 120} {
		for _, s := range []*fabric.Sizing{r1Sizing(), maverickSizing(), nothingFits()} {
			for _, text := range []string{sizingText(t, s, TextOptions{Width: width}), sizingText(t, s, TextOptions{Width: width, Verbose: true}), derivationText(t, s, TextOptions{Width: width})} {
				for l := range strings.Lines(text) {
					if n := utf8.RuneCountInString(l) - 1; n > width {
						t.Errorf("at %d columns a line has %d: %q", width, n, l)
					}
				}
			}
		}
	}
}

// The derivation names every step with its numbers and source, and its sum is the memory of the GPU.
func TestDerivation(t *testing.T) {
	s := r1Sizing()
	text := strings.Join(strings.Fields(derivationText(t, s, TextOptions{})), " ")
	for _, d := range s.Derivation {
		for _, want := range []string{d.Title, d.Formula, d.Numbers, d.Result, d.Source} {
			if !strings.Contains(text, want) {
				t.Errorf("the text lacks %q", want)
			}
		}
	}
	if want := "85,520,809,984 B 79.65 GiB the sum; the GPU has 85,520,809,984 B"; !strings.Contains(text, want) {
		t.Errorf("the text lacks %q", want)
	}
	for _, none := range []*fabric.Sizing{nil, {}} {
		if text := derivationText(t, none, TextOptions{}); !strings.Contains(text, "there is no step to show") {
			t.Errorf("no derivation is written as %q", text)
		}
	}
}

func TestSizingWords(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 381804: "381,804", 1234567890: "1,234,567,890", -5: "?"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got := thousands(n); got != want {
				t.Errorf("%d is %q, want %q", n, got, want)
			}
		})
	}
	for v, want := range map[float64]string{0.85: "0.85", 0.8260405859375: "0.82604", 0: "?", math.NaN(): "?"} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			if got := ratio(v); got != want {
				t.Errorf("%v is %q, want %q", v, got, want)
			}
		})
	}
	for v, want := range map[float64]string{42: "42 s", 430: "7.2 min", 7200: "2.0 h", -1: "?"} {
		t.Run(fmt.Sprint(v), func(t *testing.T) {
			if got := duration(v); got != want {
				t.Errorf("%v s is %q, want %q", v, got, want)
			}
		})
	}
	for n, want := range map[int64]string{671026419200: "671.0 B", 37551915520: "37.55 B", 417000000: "0.417 B", 0: "an unknown number of"} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if got := count1e9(n); got != want {
				t.Errorf("%d is %q, want %q", n, got, want)
			}
		})
	}
	for _, word := range []string{"", "a b", "$HOME", "'", "a\nb"} {
		t.Run(fmt.Sprintf("%q", word), func(t *testing.T) {
			if got := shellWord(word); !strings.HasPrefix(got, "'") {
				t.Errorf("%q is not quoted: %s", word, got)
			}
		})
	}
}

// A sizing can be saved and loaded: nothing of the nouns is lost on the way.
func TestSizingJSON(t *testing.T) {
	want := r1Sizing()
	data, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got fabric.Sizing
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&got, want) {
		t.Error("a sizing that was saved and loaded is another one")
	}
}
