package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The kernel counts the neighbours of all network namespaces against one limit. A lab that runs into it
// loses packets at random ("No buffer space available"), which looks like a fault of the fabric.
const neighbourLimits = "/proc/sys/net/ipv4/neigh/default/"

// headroom is the share of the limit that a lab may fill: the machine's own entries need the rest.
const headroom = 0.8

// roomForNeighbours raises the limits for a large lab and records the old ones.
func (l *Lab) roomForNeighbours() error {
	limit, err := readInt(neighbourLimits + "gc_thresh3")
	if err != nil {
		return fmt.Errorf("lab: neighbour table limit: %w", err)
	}
	need := l.Spec.neighbours()
	if float64(need) <= headroom*float64(limit) {
		return nil
	}
	l.Neighbours = make(map[string]string)
	for _, t := range []struct {
		name  string
		value int
	}{{"gc_thresh3", 2 * need}, {"gc_thresh2", 2 * need}, {"gc_thresh1", need}} {
		old, err := os.ReadFile(neighbourLimits + t.name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(neighbourLimits+t.name, []byte(strconv.Itoa(t.value)), 0); err != nil {
			return fmt.Errorf("lab: %d neighbours need net.ipv4.neigh.default.%s=%d: %w", need, t.name, t.value, err)
		}
		l.Neighbours[t.name] = strings.TrimSpace(string(old))
	}
	return nil
}

func (l *Lab) restoreNeighbours() error {
	for name, value := range l.Neighbours {
		if err := os.WriteFile(neighbourLimits+name, []byte(value), 0); err != nil {
			return fmt.Errorf("lab: restore net.ipv4.neigh.default.%s to %s: %w", name, value, err)
		}
	}
	l.Neighbours = nil
	return nil
}

func readInt(name string) (int, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
