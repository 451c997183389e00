package sizing

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Engine is a program that serves models: what it takes, how it divides memory, what it prints. One file an engine.
type Engine struct {
	Name         string
	Default      string   // version whose rules are used where none is requested
	Read         []string // versions whose source was read, oldest first
	FractionFlag string   // of its memory fraction
	Rules        []LayoutRule
	dpBesideTP   bool     // attention replicas multiply the ranks of TP; else they divide them
	skipsVision  []string // architectures that are loaded without their vision tower
	spread       func(l fabric.Layout, sh *shape) Spread
	stage        func(v Version, layers, pp, rank int) (first, end int) // layers of a pipeline stage
	fraction     func(s setting) float64                                // the engine's own memory fraction
	extras       func(s setting, sh *Shard)                             // adds what this engine keeps beside the weights
	budget       func(s setting, stages []Shard, fraction float64) budget
	flags        func(s setting, d budget) []string
	start        func(s setting, model string, flags []string) []fabric.SizingStart // flags are those of every server
}

// Engines lists the engines.
func Engines() []Engine { return []Engine{sglang(), vllm()} }

// EngineNamed finds an engine; empty stands for the first. The error lists the known ones.
func EngineNamed(name string) (Engine, error) {
	known := make([]string, 0, len(Engines()))
	for _, e := range Engines() {
		if name == "" || strings.EqualFold(name, e.Name) {
			return e, nil
		}
		known = append(known, e.Name)
	}
	return Engine{}, fabric.UnknownName("engine", name, known)
}

// ranksPerTP is how many times the ranks of TP so many attention replicas take.
func (e *Engine) ranksPerTP(dp int) int {
	if e.dpBesideTP {
		return dp
	}
	return 1
}

// Version is a version of an engine, in order.
type Version struct {
	Major, Minor, Patch int
	Pre                 bool // a release candidate: before its release
	text                string
}

// String is the version as given.
func (v Version) String() string { return v.text }

// ParseVersion reads the versions that engines give themselves: 0.5.0rc2-cu126, v0.4.6.post5, 0.11. What follows
// the third number does not count, but for rc, a, b and dev, which are before it.
func ParseVersion(text string) (Version, error) {
	v := Version{text: strings.TrimPrefix(strings.TrimSpace(text), "v")}
	bad := fmt.Errorf("engine-version %q: invalid version; expected one such as 0.5.0rc2 or 0.11.0", text)
	parts := strings.SplitN(v.text, ".", 4)
	if len(parts) < 2 {
		return v, bad
	}
	for i, into := range []*int{&v.Major, &v.Minor, &v.Patch} {
		if i >= len(parts) {
			break
		}
		digits := parts[i]
		if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
			rest := digits[end:]
			digits = digits[:end]
			if i < 2 && rest != "" {
				return v, bad
			}
			v.Pre = strings.HasPrefix(rest, "rc") || strings.HasPrefix(rest, "a") || strings.HasPrefix(rest, "b")
		}
		n, err := strconv.Atoi(digits)
		if err != nil || n > 9999 {
			return v, bad
		}
		*into = n
	}
	if len(parts) == 4 && (strings.HasPrefix(parts[3], "dev") || strings.HasPrefix(parts[3], "rc")) {
		v.Pre = true
	}
	return v, nil
}

// at reports whether v is this release or later.
func (v Version) at(major, minor, patch int) bool {
	switch {
	case v.Major != major:
		return v.Major > major
	case v.Minor != minor:
		return v.Minor > minor
	case v.Patch != patch:
		return v.Patch > patch
	default:
		return !v.Pre
	}
}

// gib is what engines print as GB.
const gib = 1 << 30

// mib is the unit of nvidia-smi and of SGLang's reserve.
const mib = 1 << 20

func toBytes(g float64) int64 { return int64(g * gib) }

func inGiB(b int64) float64 { return float64(b) / gib }
