package collective

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
)

// search is NCCL's search in the nominal machine of a cluster with other environments. What it found is kept: it takes up
// to a tenth of a second, and results of one run are predicted with the same settings again and again. Clusters that differ
// in what a job sets share it, and so may goroutines.
type search struct {
	find func(env map[string]string) (*ncclgraph.System, error) // the machine as NCCL sees it

	mu    sync.Mutex
	known map[string]graphs // by version and environment
}

// mostKept is how many environments are kept: a call has few, and what it has is not bounded.
const mostKept = 64

// graphs are what a version of NCCL finds with an environment, of which the search reads all. The error says why the machine has
// no such system.
func (s *search) graphs(env map[string]string, v fabric.NCCLVersion) (graphs, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := keyOf(env, v)
	if found, ok := s.known[key]; ok {
		return found, nil
	}
	system, err := s.find(env)
	if err == nil {
		system, err = system.As(v)
	}
	if err != nil {
		return graphs{}, err
	}
	if len(s.known) >= mostKept {
		clear(s.known)
	}
	found := searched(system)
	s.known[key] = found
	return found, nil
}

func keyOf(env map[string]string, v fabric.NCCLVersion) string {
	var key strings.Builder
	fmt.Fprint(&key, v)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		fmt.Fprintf(&key, "\x00%s=%s", name, env[name])
	}
	return key.String()
}
