package collective

import (
	"cmp"
	"fmt"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
)

// edition is what a version of NCCL finds on a machine, and by which figures it chooses.
type edition struct {
	graphs graphs
	tables *ncclTables
}

// editions are those that were asked for.
type editions struct {
	mu sync.Mutex
	of map[fabric.NCCLVersion]edition
}

// searchIn sets the graphs to those of a system.
func (c *Cluster) searchIn(s *ncclgraph.System) {
	c.system, c.graphs, c.others = s, searched(s), &editions{of: map[fabric.NCCLVersion]edition{}}
}

// as is the cluster as a version of NCCL decides on it, one of ncclgraph.Versions.
func (c *Cluster) as(v fabric.NCCLVersion) (*Cluster, error) {
	if v == c.version || c.system == nil {
		return c, nil
	}
	c.others.mu.Lock()
	defer c.others.mu.Unlock()
	e, known := c.others.of[v]
	if !known {
		s, err := c.system.As(v)
		if err != nil {
			return nil, fmt.Errorf("NCCL %s: %w", v, err)
		}
		e = edition{c.graphs, tablesOf(v)}
		if s != c.system {
			e.graphs = searched(s)
		}
		c.others.of[v] = e
	}
	changed := *c
	changed.version, changed.graphs, changed.decides = v, e.graphs, e.tables
	if c.apart != nil {
		var err error
		if changed.apart, err = c.apart.as(v); err != nil {
			return nil, err
		}
	}
	return &changed, nil
}

// decidedBy is the cluster as the version of the job decides on it, which is written into the prediction, with a note where that is
// assumed. RCCL's tables are of no version, and what goes from peer to peer is not chosen by tables.
func (c *Cluster) decidedBy(job Job, p *fabric.Prediction) (*Cluster, []fabric.Assumption, error) {
	if c.unversioned(job) {
		return c, []fabric.Assumption{{
			What:   fmt.Sprintf("RCCL chooses as before %d.%d: its version is unspecified; since then it has LL128 for middle sizes, up to twice as fast, which bands hold", rangedMajor, rangedMinor),
			Source: "rccl, src/misc/rccl_wrap.cc, rcclUpdateCollectiveProtocol",
		}}, nil
	}
	if _, tuned := functionOf(job.Collective); c.gpu.amd || !tuned {
		return c, nil, nil
	}
	v, note := versionOf(job)
	p.NCCL = v.String()
	c, err := c.as(v)
	if err != nil || note == nil {
		return c, nil, err
	}
	return c, []fabric.Assumption{*note}, nil
}

// versionOf returns the version whose code is followed for that of a job, and says where it is another one.
func versionOf(job Job) (v fabric.NCCLVersion, note *fabric.Assumption) {
	all := ncclgraph.Versions()
	const source = "nccl, src/graph/tuning.cc and search.cc by version"
	assume := func(format string, args ...any) *fabric.Assumption {
		return &fabric.Assumption{What: fmt.Sprintf(format, args...), Source: source}
	}
	if job.Version == "" {
		v = ncclgraph.Newest()
		return v, assume("NCCL chooses as %s does, the newest whose choices are known: its version is unspecified", v)
	}
	stated, err := fabric.ParseNCCLVersion(job.Version)
	if err != nil {
		v = ncclgraph.Newest()
		return v, assume("NCCL chooses as %s does, the newest whose choices are known: %s is no version", v, fabric.Quote(job.Version))
	}
	if v, err = ncclgraph.Known(stated); err != nil {
		return all[0], assume("NCCL %s chooses as %s does, the oldest whose choices are known", stated, all[0])
	}
	if v != stated {
		return v, assume("NCCL %s chooses as %s does, the newest before it whose choices are known", stated, v)
	}
	return v, nil
}

// runChannels is how many channels of collectives the version runs (nccl, src/graph/connect.cc, ncclTopoPostset).
func (c *Cluster) runChannels() int {
	if c.blocks.count > 0 { // as a job sets them
		return c.blocks.count
	}
	n := cmp.Or(c.graphs.run, c.graphs.channels())
	if c.decides.nvlsRuns && c.graphs.nvls.Channels > 0 && c.gpu.nvls > 0 {
		n = max(n, c.nvlsBlocks())
	}
	return n
}
