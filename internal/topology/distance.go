package topology

import "fmt"

// Distance is how far two devices of a host are apart, in the terms of nvidia-smi topo -m. The zero value is
// unknown; nearer is smaller.
type Distance uint8

// The distances, nearest first.
const (
	DistanceUnknown Distance = iota
	Self                     // X
	NVLink                   // NV#, or XGMI: # links
	PIX                      // at most one PCIe bridge
	PXB                      // several PCIe bridges, no host bridge
	PHB                      // a host bridge
	NODE                     // several host bridges of one NUMA node
	SYS                      // from one NUMA node to another
)

// String returns the distance as nvidia-smi topo -m prints it; "?" where it is unknown.
func (d Distance) String() string {
	switch d {
	case Self:
		return "X"
	case NVLink:
		return "NV#"
	case PIX:
		return "PIX"
	case PXB:
		return "PXB"
	case PHB:
		return "PHB"
	case NODE:
		return "NODE"
	case SYS:
		return "SYS"
	default:
		return "?"
	}
}

// Hop is a cell of a Matrix.
type Hop struct {
	Distance Distance `json:"distance,omitempty"`
	Links    int      `json:"links,omitempty"` // of NVLink or XGMI; 0 where they are not counted
	XGMI     bool     `json:"xgmi,omitempty"`  // of a Hop at NVLink: the links are XGMI
}

// String returns the cell as nvidia-smi or rocm-smi prints it: X, NV18, XGMI, PIX; "?" where it is unknown.
func (h Hop) String() string {
	switch {
	case h.Distance != NVLink:
		return h.Distance.String()
	case h.XGMI:
		return "XGMI"
	case h.Links > 0:
		return fmt.Sprintf("NV%d", h.Links)
	default:
		return "NV#"
	}
}

// MarshalText returns the word, as in String.
func (h Hop) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// Matrix is the distances between devices. Hops[i][j] is between Devices[i] and Devices[j]; it is symmetric.
type Matrix struct {
	Devices []MatrixDevice `json:"devices"`
	Hops    [][]Hop        `json:"hops"`
	Gaps    []string       `json:"gaps,omitempty"` // what the source does not specify
}

// MatrixDevice is a row of a Matrix.
type MatrixDevice struct {
	Label string `json:"label"` // as printed: GPU0, NIC0
	Kind  Kind   `json:"kind"`
	Name  string `json:"name"`                 // mlx5_0; empty where the text does not have it
	Bus   string `json:"bus"`                  // empty where the text does not have it
	NUMA  int    `json:"numa"`                 // -1 unknown
	Mbps  int    `json:"speed_mbps,omitempty"` // of a NIC: Mb/s, line rate; 0 unknown

	Coherent bool `json:"coherent,omitempty"` // of a GPU: NVLink-C2C connects it to its CPU
}

// Kind is the kind of a device of a Matrix.
type Kind uint8

// The kinds of device.
const (
	KindOther Kind = iota
	KindGPU
	KindNIC
)

// MarshalText returns gpu, nic or other.
func (k Kind) MarshalText() ([]byte, error) {
	switch k {
	case KindGPU:
		return []byte("gpu"), nil
	case KindNIC:
		return []byte("nic"), nil
	default:
		return []byte("other"), nil
	}
}

// Pairing is which GPU uses which NIC.
type Pairing struct {
	Pairs []Pair         `json:"pairs"`
	Spare []MatrixDevice `json:"spare,omitempty"` // NICs that no GPU needs
}

// Pair is a GPU and a NIC that it uses. A GPU with several NICs is in several pairs, and so is a NIC that GPUs
// share. A GPU without one has a nil NIC and a Why.
type Pair struct {
	GPU     MatrixDevice  `json:"gpu"`
	NIC     *MatrixDevice `json:"nic,omitempty"`
	Hop     Hop           `json:"hop"`
	Near    bool          `json:"near"`                 // GPUDirect RDMA works by default: at PXB or nearer, or over NVLink-C2C and the same CPU
	LossGBs *float64      `json:"loss_gbs,omitempty"`   // what the GPU loses compared with a near NIC of its own, GB/s one way; nil: unknown
	Limit   *PCIeHop      `json:"pcie_limit,omitempty"` // slowest PCIe link between the two, where it carries less than the NIC's line rate; nil: none, or unknown
	Why     string        `json:"why,omitempty"`        // what determines LossGBs, or why it is unknown; empty where nothing is lost
}
