package lab

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// The kernel counts the neighbours of all network namespaces against one limit. A lab that runs into it
// loses packets at random ("No buffer space available"), which looks like a fault of the fabric.
const neighbourLimits = "/proc/sys/net/ipv4/neigh/default/"

// headroom is the share of the limit that a lab may fill: the machine's own entries and those of other labs need the rest. Half
// is also where the kernel by default begins to forget entries that are older than 5 s (gc_thresh2, ip-sysctl.rst).
const headroom = 0.5

// roomForNeighbours raises the limits for a large lab and records the old ones.
func (l *Lab) roomForNeighbours() error {
	most, err := readInt(neighbourLimits + "gc_thresh3")
	if err != nil {
		return fmt.Errorf("lab: neighbour table limit: %w", err)
	}
	need := l.Spec.neighbours()
	if float64(need) <= headroom*float64(most) {
		return nil
	}
	l.Neighbours = make(map[string]limit)
	for _, t := range neighbourThresholds() {
		old, err := readInt(neighbourLimits + t.name)
		if err != nil {
			return err
		}
		l.Neighbours[t.name] = limit{Old: old, New: t.factor * need}
	}
	// Saved before it is done, so that a run that is killed from here on leaves a trace to restore.
	if err := l.save(); err != nil {
		return err
	}
	for _, t := range neighbourThresholds() {
		if err := writeInt(neighbourLimits+t.name, l.Neighbours[t.name].New); err != nil {
			return fmt.Errorf("lab: %d neighbours need net.ipv4.neigh.default.%s=%d: %w", need, t.name, l.Neighbours[t.name].New, err)
		}
	}
	return nil
}

// limit is a limit of the machine that a lab raised.
type limit struct {
	Old int `json:"old"`
	New int `json:"new"`
}

// threshold is a limit to raise, and to how many times the need.
type threshold struct {
	name   string
	factor int
}

// neighbourThresholds lists the limits. The highest is raised first, and restored last.
func neighbourThresholds() []threshold {
	return []threshold{{"gc_thresh3", 2}, {"gc_thresh2", 2}, {"gc_thresh1", 1}}
}

// restoreNeighbours restores the limits. One that has another value by now is not this lab's any more: another lab has
// raised it further, and restores it.
func (l *Lab) restoreNeighbours() error {
	for _, t := range slices.Backward(neighbourThresholds()) {
		raised, ok := l.Neighbours[t.name]
		if !ok {
			continue
		}
		now, err := readInt(neighbourLimits + t.name)
		if err == nil && now == raised.New {
			err = writeInt(neighbourLimits+t.name, raised.Old)
		}
		if err != nil {
			return fmt.Errorf("lab: restore net.ipv4.neigh.default.%s to %d: %w", t.name, raised.Old, err)
		}
	}
	l.Neighbours = nil
	return nil
}

func writeInt(name string, value int) error {
	return os.WriteFile(name, []byte(strconv.Itoa(value)), 0)
}

func readInt(name string) (int, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
