package evidence

import (
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// inText finds NAME=value of the libraries' variables in a text, and how NCCL's log says it.
var inText = pattern.Plain(`\b((?:NCCL|RCCL|UCX|FI|OMPI|TORCH|GLOO|HSA|CUDA)_[A-Z0-9_]+)\s*(?:=|set by environment to|set to)\s*("[^"]*"|\S+)`)

// SettingsIn returns the settings that a text names.
func SettingsIn(text string, seen Seen) []Setting {
	var out []Setting
	for _, m := range inText().FindAllStringSubmatch(text[:min(len(text), maxText)], 64) {
		s := Setting{Seen: seen, Name: m[1], Value: strings.Trim(m[2], `".,;`)}
		s.Text = s.Name + "=" + s.Value
		out = append(out, s)
	}
	return out
}
