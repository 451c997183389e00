package collective

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Algorithm is an algorithm of NCCL. Its values are in the order of NCCL's tables.
type Algorithm uint8

// The algorithms, in the order of NCCL's tables (nccl, src/include/nccl_tuner.h).
const (
	Tree Algorithm = iota
	Ring
	CollNetDirect
	CollNetChain
	NVLS
	NVLSTree
	PAT
	algorithms // how many there are
)

// PeerToPeer names collectives that send pieces directly to their receivers: not an algorithm of the tables.
const PeerToPeer = "P2P"

func algorithmNames() [algorithms]string {
	return [algorithms]string{"Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"}
}

func (a Algorithm) String() string {
	if a >= algorithms {
		return PeerToPeer
	}
	return algorithmNames()[a]
}

// Protocol is how the receiver detects that data has arrived.
type Protocol uint8

// The protocols, in the order of NCCL's tables.
const (
	LL     Protocol = iota // 4 bytes of data with 4 bytes of flag
	LL128                  // 120 bytes of data with 8 bytes of flag
	Simple                 // data, then a fence and a flag
	protocols
)

// data is the share of what links and NICs carry that is data, beside flags.
func (p Protocol) data() float64 {
	switch p {
	case LL:
		return 1.0 / 2
	case LL128:
		return 120.0 / 128
	default:
		return 1
	}
}

func protocolNames() [protocols]string { return [protocols]string{"LL", "LL128", "Simple"} }

func (p Protocol) String() string {
	if p >= protocols {
		return "unknown"
	}
	return protocolNames()[p]
}

// parseAlgorithm reads a name as NCCL does, in any case.
func parseAlgorithm(name string) (Algorithm, error) {
	names := algorithmNames()
	for i, n := range names {
		if strings.EqualFold(n, name) {
			return Algorithm(i), nil
		}
	}
	return 0, fmt.Errorf("algorithm %q: unknown; known: %s", name, strings.Join(names[:], ", "))
}

// parseProtocol reads a name as NCCL does, in any case.
func parseProtocol(name string) (Protocol, error) {
	names := protocolNames()
	for i, n := range names {
		if strings.EqualFold(n, name) {
			return Protocol(i), nil
		}
	}
	return 0, fmt.Errorf("protocol %q: unknown; known: %s", name, strings.Join(names[:], ", "))
}

// function is a collective of NCCL's tuning table; sendrecv and other peer-to-peer operations have none.
type function uint8

const (
	fnBroadcast function = iota
	fnReduce
	fnAllGather
	fnReduceScatter
	fnAllReduce
	functions
)

// functionOf returns the row of a collective in NCCL's table; ok is false for peer-to-peer operations.
func functionOf(c fabric.Collective) (fn function, ok bool) {
	switch c {
	case fabric.Broadcast:
		return fnBroadcast, true
	case fabric.Reduce:
		return fnReduce, true
	case fabric.AllGather:
		return fnAllGather, true
	case fabric.ReduceScatter:
		return fnReduceScatter, true
	case fabric.AllReduce:
		return fnAllReduce, true
	default:
		return 0, false
	}
}
