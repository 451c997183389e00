package fabric

// PodPairs is the GPUs and NICs of a pod in pairs.
type PodPairs struct {
	Status Status          `json:"status"`      // pass: all pairs that the pod could have are aligned
	Total  int             `json:"total_pairs"` // the smaller number of its GPUs and NICs
	Pairs  []AllocatedPair `json:"pairs"`       // a device that is left alone has no partner
	NICGBs RateRange       `json:"nic_gbs"`     // of all its NICs; zero: their rate is unknown
	NUMAs  []int           `json:"nic_numa"`    // nodes of its NICs, in order, as far as they are known
}

// AllocatedPair is a GPU of a pod and the NIC that it sends through; nil where there is none left, or where a device
// plugin chooses the GPU.
type AllocatedPair struct {
	GPU      *AllocatedDevice `json:"gpu,omitempty"`
	NIC      *AllocatedDevice `json:"nic,omitempty"`
	Distance DeviceDistance   `json:"distance"`
}

// DeviceDistance is what two devices have in common. The zero value is SomeDistance.
type DeviceDistance string

// The distances, closest first.
const (
	SameRoot     DeviceDistance = "root"       // a PCIe root complex
	SameNUMA     DeviceDistance = "numa"       // a NUMA node, below different roots
	OtherNUMA    DeviceDistance = "other_numa" // nothing but the machine
	OtherRoot    DeviceDistance = "other_root" // different roots; whether a NUMA node is unknown
	SomeDistance DeviceDistance = ""           // unknown: one of them has no known root
	NoPartner    DeviceDistance = "no_partner" // there is no GPU, or no NIC, left for it
	GPUByPlugin  DeviceDistance = "plugin"     // which GPU is the choice of a device plugin
)

// DeviceOrders is what the same claims get where nodes list their devices in other orders: drivers publish no fixed one, and
// pods that come and go leave others. An allocation that only one order aligns is aligned by chance.
type DeviceOrders struct {
	Tried   int        `json:"tried"`         // with that in which the devices are listed
	Nodes   int        `json:"nodes"`         // on which they were tried
	Pods    int        `json:"pods"`          // likewise
	Worse   int        `json:"worse"`         // orders in which fewer pairs are certainly aligned, or fewer pods satisfied, than in the best
	Aligned CountRange `json:"aligned_pairs"` // over all orders
	Total   int        `json:"total_pairs"`
	Mixed   int        `json:"mixed"`             // orders in which a pod that could have NICs of one NUMA node has NICs of several
	Example string     `json:"example,omitempty"` // of such a pod, or of one that is less aligned
}

// ByChance reports whether another order of devices gives pods less. Pods whose pairs are aligned in every order lose nothing
// by NICs of several NUMA nodes.
func (o *DeviceOrders) ByChance() bool {
	return o != nil && (o.Worse > 0 || o.Mixed > 0 && (o.Total == 0 || o.Aligned.Min < o.Total))
}
