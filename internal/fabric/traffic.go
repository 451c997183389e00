package fabric

// Traffic is the part of a plan with the traffic classes of the fabric's packets. Hosts, NICs and
// switches are rendered from it. Each Source is where a value comes from.
type Traffic struct {
	Classes     []TrafficClass `json:"classes"` // by name
	Share       int            `json:"share"`   // percent of the bandwidth that RoCE gets where other traffic competes with it
	ShareSource string         `json:"share_source"`
	Watchdog    *PFCWatchdog   `json:"watchdog,omitempty"`
	CableM      int            `json:"cable_m"` // longest cable in metres: it sizes the headroom of lossless buffers
	CableSource string         `json:"cable_source"`
}

// TrafficClass is a kind of packet, recognized by its DSCP value.
type TrafficClass struct {
	Name     string `json:"name"`     // roce, cnp
	DSCP     int    `json:"dscp"`     // 0 to 63
	Priority int    `json:"priority"` // 0 to 7: 802.1p priority, traffic class and queue
	Lossless bool   `json:"lossless"` // PFC pauses the sender instead of dropping packets
	ECN      *ECN   `json:"ecn,omitempty"`
	Source   string `json:"source"`
}

// Octet is the octet of the IP header that verbs and NCCL_IB_TC take: the DSCP in its upper six bits (RFC 2474), which leaves the two
// of ECN to the NIC.
func (c TrafficClass) Octet() int { return c.DSCP << 2 }

// ECN is how a switch marks packets of a class on congestion (DCQCN).
type ECN struct {
	MinBytes int64  `json:"min_bytes"` // queue length from which packets are marked
	MaxBytes int64  `json:"max_bytes"` // queue length from which every packet is marked
	Percent  int    `json:"percent"`   // packets that are marked just below MaxBytes
	Source   string `json:"source"`
}

// PFCWatchdog breaks PFC deadlocks: a lossless queue that stays paused for DetectMs drops its packets
// until there was no pause for RestoreMs. Times are in milliseconds.
type PFCWatchdog struct {
	DetectMs  int    `json:"detect_ms"`
	RestoreMs int    `json:"restore_ms"`
	Source    string `json:"source"`
}
