package fabric

import "strings"

// Collective is an operation of NCCL or RCCL, named as nccl-tests names its programs.
type Collective string

// The collectives that nccl-tests and rccl-tests measure.
const (
	AllReduce     Collective = "all_reduce"
	AllGather     Collective = "all_gather"
	ReduceScatter Collective = "reduce_scatter"
	AllToAll      Collective = "alltoall"
	Broadcast     Collective = "broadcast"
	Reduce        Collective = "reduce"
	SendRecv      Collective = "sendrecv"
	Gather        Collective = "gather"
	Scatter       Collective = "scatter"
)

// Collectives lists the collectives, the most common first.
func Collectives() []Collective {
	return []Collective{AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Reduce, SendRecv, Gather, Scatter}
}

// ParseCollective reads the name of a collective as a program (all_reduce_perf), as NCCL's log (AllReduce) or
// as this package writes it; the error lists the known ones.
func ParseCollective(name string) (Collective, error) {
	plain := strings.ToLower(strings.NewReplacer("_perf", "", "_", "", "-", "", " ", "").Replace(name))
	var known []string
	for _, c := range Collectives() {
		if plain == strings.ReplaceAll(string(c), "_", "") {
			return c, nil
		}
		known = append(known, string(c))
	}
	return "", UnknownName("collective", name, known)
}

// BusFactor returns bus bandwidth over algorithm bandwidth for n ranks (nccl-tests, doc/PERFORMANCE.md); 0 where
// there is no other rank.
func (c Collective) BusFactor(n int) float64 {
	if n < 2 {
		return 0
	}
	share := float64(n-1) / float64(n)
	switch c {
	case AllReduce:
		return 2 * share
	case AllGather, ReduceScatter, AllToAll, Gather, Scatter:
		return share
	default:
		return 1
	}
}
