package messages

import (
	"railwright.dev/railwright/internal/fabric"
)

// Message is one thing that a program says.
type Message struct {
	ID      string                      `yaml:"id"` // in the files without, in the catalogue with the program: nccl/ib-completion-retry
	Program string                      `yaml:"-"`
	Match   []string                    `yaml:"match"` // each: fragments in order, * for any text of the same line, case-sensitive
	Level   Level                       `yaml:"level"`
	Feature Feature                     `yaml:"feature"`
	Outcome string                      `yaml:"outcome"` // how the run goes that prints it, where level and feature do not say: hang, or refused before its first collective
	Means   string                      `yaml:"means"`
	Signs   map[fabric.CauseID]Strength `yaml:"signs"`
	Why     string                      `yaml:"why"`    // reason of the signs; required where there are any
	Source  string                      `yaml:"source"` // where the program prints it
}

// Level is what a message says of the run.
type Level string

// The levels, from the least.
const (
	Everyday Level = "everyday" // healthy runs print it and it tells nothing
	Choice   Level = "choice"   // a healthy choice that tells which feature is used
	Fallback Level = "fallback" // something wanted is not used; the run goes on and may be slower
	Warning  Level = "warning"  // something is wrong; the run goes on
	Error    Level = "error"    // an operation failed; the run may end
	Fatal    Level = "fatal"    // the run ends, or a device is lost
)

// levels are all, in the order from the least.
var levels = []Level{Everyday, Choice, Fallback, Warning, Error, Fatal}

// Feature is what a message concerns.
type Feature string

// The features.
const (
	Bootstrap   Feature = "bootstrap"
	Network     Feature = "network"
	GPUDirect   Feature = "gdr"
	Plugin      Feature = "plugin"
	Tuner       Feature = "tuner"
	P2P         Feature = "p2p"
	SHM         Feature = "shm"
	NVLS        Feature = "nvls"
	Topology    Feature = "topology"
	GPU         Feature = "gpu"
	Memory      Feature = "memory"
	Launch      Feature = "launch"
	Storage     Feature = "storage"
	Application Feature = "application"
	Kernel      Feature = "kernel"
	Config      Feature = "config"
	Other       Feature = "other"
)

var features = []Feature{
	Bootstrap, Network, GPUDirect, Plugin, Tuner, P2P, SHM, NVLS, Topology, GPU, Memory, Launch, Storage, Application, Kernel,
	Config, Other,
}

// Strength is a word for the likelihood ratio of a message: P(message | cause) / P(message | anything else).
type Strength string

// The strengths.
const (
	Proves   Strength = "proves" // the program says it outright
	Strong   Strength = "strong"
	Supports Strength = "supports"
	Hints    Strength = "hints"
	Against  Strength = "against"
	Excludes Strength = "excludes"
)

// Ratio is the likelihood ratio that a word stands for; 0 for a word that is none. Up to strong the words are about
// equal steps on a logarithmic scale, a factor of four each, with none at 1: nobody can tell more apart by reading sources.
// Their size is such that the probabilities of the known cases come true (docs/accuracy.md). What
// a program says outright is wrong about once in a thousand times, so that it also names a cause that is rare.
func (s Strength) Ratio() float64 {
	switch s {
	case Proves:
		return 1000
	case Strong:
		return 60
	case Supports:
		return 12
	case Hints:
		return 3
	case Against:
		return 0.3
	case Excludes:
		return 0.03
	}
	return 0
}
