package fabric

// QoS is how a NIC treats the classes of traffic, as it reports itself. An empty field was not read: a NIC that was seen to
// have nothing there has an empty list, a false or a zero behind its pointer. A NIC whose Trust is pcp has no DSCP.
type QoS struct {
	Trust      string         `json:"trust,omitempty"`        // what packets are classified by: dscp or pcp
	DSCP       DSCPPriorities `json:"dscp,omitempty"`         // priority by DSCP value, as far as it was reported
	PFC        *[]int         `json:"pfc,omitempty"`          // priorities on which PFC is on, ascending
	Queues     []int          `json:"queues,omitempty"`       // traffic class by priority 0 to 7; all eight, or none
	Schedulers []Scheduler    `json:"schedulers,omitempty"`   // by traffic class
	RoCE       *Marking       `json:"roce,omitempty"`         // with which RDMA packets leave
	CNP        *Marking       `json:"cnp,omitempty"`          // with which congestion notifications leave
	ECN        *[]int         `json:"ecn,omitempty"`          // priorities on which the NIC reacts to marked packets (DCQCN); all eight where it makes no difference
	DCBX       string         `json:"dcbx,omitempty"`         // who negotiates: host, firmware, off
	Pause      *bool          `json:"global_pause,omitempty"` // the link as a whole is paused (IEEE 802.3 Annex 31B), in one direction or both
	Sources    []string       `json:"sources,omitempty"`      // tools and files that said it, in order of trust
}

// Scheduler is how a traffic class of a NIC gets its bandwidth (IEEE 802.1Qaz).
type Scheduler struct {
	Algorithm string `json:"algorithm"`         // strict, ets, vendor; empty: not read
	Percent   *int   `json:"percent,omitempty"` // of ets; nil: not read
}

// Marking is what a NIC writes into packets of one kind. nil: not read.
type Marking struct {
	DSCP     *int `json:"dscp,omitempty"`
	Priority *int `json:"priority,omitempty"`
}
