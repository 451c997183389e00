package fabric

// SwitchSummary is what was read of a switch, in short: what its ports have in common.
type SwitchSummary struct {
	Name  string       `json:"name"`
	OS    string       `json:"os"`
	Texts []SwitchText `json:"texts,omitempty"`
	Lost  string       `json:"missing,omitempty"` // why a text of it could not be had
	Ports int          `json:"ports"`             // that take part in the fabric
	Lines int          `json:"lines_not_read"`    // that nobody understood
	MTU   *int         `json:"mtu,omitempty"`     // of all of them, bytes of IP; absent: not read, or they differ
	Trust string       `json:"trust,omitempty"`   // as MTU

	PFC       *[]int           `json:"pfc_priorities,omitempty"` // as MTU
	PFCByPort map[string][]int `json:"pfc_by_port,omitempty"`    // where they differ
	Lossless  map[int][]int    `json:"lossless_dscp,omitempty"`  // DSCP values by the priority of their pauses, as MTU
	Marks     []QueueMarking   `json:"ecn,omitempty"`            // by queue, as MTU
	Strict    []int            `json:"strict_queues,omitempty"`  // as MTU
	Watchdog  *bool            `json:"watchdog,omitempty"`       // as MTU
}

// QueueMarking is how a queue marks packets.
type QueueMarking struct {
	Queue   int      `json:"queue"`
	MinKiB  *float64 `json:"min_kib,omitempty"` // absent where the unit of the text has no fixed size
	MaxKiB  *float64 `json:"max_kib,omitempty"`
	Said    string   `json:"said"` // the thresholds as the text has them
	Percent *int     `json:"probability,omitempty"`
}
