package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// thousands writes a count with commas: 381,804. Less than zero, which no count is, is a question mark.
func thousands(n int64) string {
	if n < 0 {
		return "?"
	}
	return fabric.Thousands(n)
}

// count1e9 writes a number of parameters in billions.
func count1e9(n int64) string {
	switch v := float64(n) / 1e9; {
	case n <= 0:
		return "an unknown number of"
	case v >= 100:
		return fmt.Sprintf("%.1f B", v)
	case v >= 1:
		return fmt.Sprintf("%.2f B", v)
	default:
		return fmt.Sprintf("%.3f B", v)
	}
}

// gibText writes bytes in GiB with the unit; none are a question mark.
func gibText(n int64) string {
	if n <= 0 {
		return "? GiB"
	}
	return draw.GiB(float64(n)) + " GiB"
}

// ratio writes a memory fraction with as many digits as it has, at most five.
func ratio(v float64) string {
	if !finite(v) || v <= 0 {
		return "?"
	}
	return strconv.FormatFloat(v, 'g', 5, 64)
}

// duration writes seconds in the usual unit.
func duration(s float64) string {
	switch {
	case !finite(s) || s < 0:
		return "?"
	case s < 60:
		return seconds(s)
	case s < 3600:
		return fmt.Sprintf("%.1f min", s/60)
	default:
		return fmt.Sprintf("%.1f h", s/3600)
	}
}

// printable makes text from a file safe to print, and bounds it.
func printable(text string) string { return cut(fabric.Printable(text)) }

func printableAll(all []string) []string {
	out := make([]string, 0, len(all))
	for _, text := range all {
		out = append(out, printable(text))
	}
	return out
}

// startWords are the words that start an engine's server before the flags of a plan.
func startWords(s *fabric.Sizing, x fabric.SizingPlan) []string {
	model := shellWord(modelPath(s))
	named := slices.ContainsFunc(x.Flags, func(f string) bool { return strings.HasPrefix(f, "--model") })
	switch s.Engine.Name {
	case "sglang":
		words := []string{"python3 -m sglang.launch_server"}
		if !named {
			words = append(words, "--model-path "+model)
		}
		if x.Nodes > 1 && !slices.ContainsFunc(x.Flags, func(f string) bool { return strings.HasPrefix(f, "--node-rank") }) {
			words = append(words, "--node-rank $NODE_RANK", "--dist-init-addr $HEAD_ADDR:20000") // any free port
		}
		return words
	case "vllm":
		if !named && (len(x.Flags) == 0 || strings.HasPrefix(x.Flags[0], "-")) {
			return []string{"vllm serve " + model}
		}
		return []string{"vllm serve"}
	default:
		return []string{""}
	}
}

// modelPath is what an engine is given as its model: of a config file its folder.
func modelPath(s *fabric.Sizing) string {
	if s.ModelPath != "" {
		return s.ModelPath
	}
	path := s.Model
	for _, file := range []string{"config.json", "model.safetensors.index.json"} {
		path = strings.TrimSuffix(path, file)
	}
	switch {
	case path == "" && s.Model != "":
		return "."
	case path != s.Model && len(path) > 1:
		return strings.TrimSuffix(path, "/")
	default:
		return path
	}
}

// startNote returns on which servers the command is run, for a plan on several.
func startNote(s *fabric.Sizing, x fabric.SizingPlan) string {
	if x.Nodes < 2 || len(x.Flags) == 0 || !slices.ContainsFunc(startWords(s, x), func(w string) bool { return strings.Contains(w, "$NODE_RANK") }) {
		return ""
	}
	return fmt.Sprintf("on each server, with NODE_RANK=0 to %d and HEAD_ADDR=the address of the first", x.Nodes-1)
}

// commandLines are the command that starts a plan, ready to be pasted: broken between flags with a backslash
// where it is wider than width. A plan without flags has none.
func commandLines(s *fabric.Sizing, x fabric.SizingPlan, width int) []string {
	const most = 64 // words; the longest real command has some 30
	if len(x.Flags) == 0 {
		return nil
	}
	words, _ := bounded(x.Flags, most)
	groups := startWords(s, x) // a flag with its values
	for _, word := range words {
		quoted, last := shellWord(word), groups[len(groups)-1]
		if strings.HasPrefix(word, "-") && last != "" || len(last)+len(quoted) > width {
			groups = append(groups, quoted)
			continue
		}
		groups[len(groups)-1] = strings.TrimSpace(last + " " + quoted)
	}
	var lines []string
	line := groups[0]
	for _, g := range groups[1:] {
		if len([]rune(line))+1+len([]rune(g))+2 > width {
			lines = append(lines, line+` \`)
			line = "  " + g
			continue
		}
		line += " " + g
	}
	return append(lines, line)
}

// shellWord quotes what a shell would read as more than a word. A flag that holds its value behind a blank is
// left as two words.
func shellWord(word string) string {
	word = fabric.Printable(printable(word))
	flag, value, two := strings.Cut(word, " ")
	if two && strings.HasPrefix(flag, "-") && plainWord(flag) {
		return flag + " " + shellWord(value)
	}
	if word != "" && plainWord(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plainWord says that a shell reads a word as it stands.
func plainWord(word string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,@%+"
	return !strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plain, r) })
}
