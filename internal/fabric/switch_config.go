package fabric

import "net/netip"

// SwitchConfig is what a switch is told to do, or says that it does: read from its configuration, or from the output of its
// show commands. Every value has the line that decided it. nil is unknown: no text that was read says it, and the OS has no
// default that is known.
type SwitchConfig struct {
	Name     string         `json:"name"`            // of the switch, as the caller knows it
	OS       string         `json:"os"`              // as in the catalog: sonic, dell-sonic, eos, junos, routeros
	Texts    []SwitchText   `json:"texts,omitempty"` // that it was read from, in order of trust
	Hostname *Said[string]  `json:"hostname,omitempty"`
	Ports    []PortConfig   `json:"ports"` // in the order of the text; a switch of which only maps were read has none
	VLANs    []VLANConfig   `json:"vlans,omitempty"`
	BGP      *BGPConfig     `json:"bgp,omitempty"`
	Buffers  []BufferShare  `json:"buffers,omitempty"`
	Profiles []QueueProfile `json:"profiles,omitempty"` // ways to mark or drop that the text defines, attached or not
	Problems []TextProblem  `json:"problems,omitempty"`
	Unread   []Line         `json:"unread,omitempty"` // that nobody understood, and that may matter

	Missing string `json:"missing,omitempty"` // why a text of it could not be had, such as a switch that was not reached
}

// SwitchText is a text that a switch's settings were read from.
type SwitchText struct {
	File  string `json:"file"`
	Form  string `json:"form"`  // configuration, or the show command that printed it
	Lines int    `json:"lines"` // with something in them
	Whole bool   `json:"whole"` // a whole running configuration: what it does not set has the switch's default
}

// Line is a line of a switch's text. Number 0 stands for a default of the OS, which Text then says.
type Line struct {
	File   string `json:"file,omitempty"`
	Number int    `json:"number,omitempty"`
	Text   string `json:"text"`
}

// Said is a value and the line that decided it.
type Said[T any] struct {
	Is T    `json:"is"`
	At Line `json:"at"`
}

// PortConfig is what a port of a switch does.
type PortConfig struct {
	Name      string               `json:"name"`
	At        Line                 `json:"at"`           // where the text begins to speak of it
	Up        *Said[bool]          `json:"up,omitempty"` // by its owner's will
	MTU       *Said[int]           `json:"mtu,omitempty"`
	RateGbps  *Said[float64]       `json:"rate_gbps,omitempty"`
	FEC       *Said[string]        `json:"fec,omitempty"`      // rs, fc, none
	Breakout  *Said[int]           `json:"breakout,omitempty"` // ports into which its cage is split
	Addresses []Said[netip.Prefix] `json:"addresses,omitempty"`
	VLAN      *Said[int]           `json:"vlan,omitempty"`    // of packets without a tag; 0: the port is routed
	Bridged   *Said[bool]          `json:"bridged,omitempty"` // in a bridge, where the OS has ports that are in none and then forward nothing
	CableM    *Said[int]           `json:"cable_m,omitempty"` // that headroom assumes
	FrameB    *Said[int]           `json:"frame_b,omitempty"` // bytes of the largest frame that headroom assumes

	// What comes in. Trust says which of the two tables decides: dscp, pcp, or none: then all packets are as PCP[0].
	// The tables are shared between ports that classify alike.
	Trust *Said[string]  `json:"trust,omitempty"`
	DSCP  *[64]Treatment `json:"-"`
	PCP   *[8]Treatment  `json:"-"`

	// What goes out, and pauses in both directions.
	PFC      *Said[[]int]         `json:"pfc,omitempty"`     // priorities with PFC, ascending
	Pauses   *PFCDirections       `json:"pauses,omitempty"`  // nil: both directions, as PFC has it
	Stops    [8]*Said[int]        `json:"stops"`             // queue that a received pause of each priority stops; -1: none
	Queues   [8]*QueueConfig      `json:"queues"`            // by number; nil: nothing is known of it
	Rewrite  map[string]Said[int] `json:"rewrite,omitempty"` // DSCP that packets of a class leave with, by class; absent: their own
	Watchdog *WatchdogConfig      `json:"watchdog,omitempty"`
}

// PFCDirections is where the two directions of PFC differ.
type PFCDirections struct {
	Sends *Said[bool] `json:"sends,omitempty"`
	Obeys *Said[bool] `json:"obeys,omitempty"`
}

// Treatment is what a port does with packets of one DSCP value or 802.1p priority that come in.
type Treatment struct {
	Class *Said[string] // traffic class: its number, or its name where the OS has names (Junos)
	Queue *Said[int]    // of the port by which they leave
	Pause *Said[int]    // priority of the pauses that are sent for them; -1: none, they are dropped when buffers are full
}

// QueueConfig is an egress queue of a port.
type QueueConfig struct {
	Algorithm *Said[string] `json:"algorithm,omitempty"` // strict, weighted
	Weight    *Said[int]    `json:"weight,omitempty"`    // of a weighted queue: percent, or a number whose share of the sum counts
	Marks     *QueueProfile `json:"marks,omitempty"`     // nil: nothing is known; a profile that is off has On false
}

// QueueProfile is how a queue reacts before it is full: it marks packets (ECN), or drops them early (WRED).
type QueueProfile struct {
	Name    string     `json:"name,omitempty"`
	ECN     Said[bool] `json:"ecn"`   // packets are marked
	Drops   bool       `json:"drops"` // packets are dropped early instead
	Min     *Threshold `json:"min,omitempty"`
	Max     *Threshold `json:"max,omitempty"`
	Percent *Said[int] `json:"percent,omitempty"` // marked or dropped at Max
	Start   *Said[int] `json:"start,omitempty"`   // percent that are marked or dropped at Min already; nil: none, or unknown

	// Fixed says that the OS has no thresholds to set: the switch marks or drops from a length of its own on.
	Fixed bool `json:"fixed,omitempty"`
}

// Threshold is a queue length in the unit of the text.
type Threshold struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // bytes, kB (1000 or 1024 bytes, by OS and version), segments, ms, percent
	At    Line    `json:"at"`
}

// Bytes returns the least and the most that a threshold may stand for; ok is false where its unit has no fixed size.
func (t Threshold) Bytes() (least, most int64, ok bool) {
	switch t.Unit {
	case "bytes":
		return int64(t.Value), int64(t.Value), true
	case "kB":
		return int64(t.Value * 1000), int64(t.Value * 1024), true
	}
	return 0, 0, false
}

// WatchdogConfig is the PFC watchdog of a port.
type WatchdogConfig struct {
	On        *Said[bool]   `json:"on,omitempty"`
	Action    *Said[string] `json:"action,omitempty"` // drop, forward, alert, as the OS writes it
	DetectMs  *Said[int]    `json:"detect_ms,omitempty"`
	RestoreMs *Said[int]    `json:"restore_ms,omitempty"`

	Priorities *Said[[]int] `json:"priorities,omitempty"` // that it watches, ascending; nil: unknown, or those with PFC
}

// VLANConfig is a VLAN, and the interface by which the switch itself is in it.
type VLANConfig struct {
	ID        int                  `json:"id"`
	At        Line                 `json:"at"`
	Addresses []Said[netip.Prefix] `json:"addresses,omitempty"`
	MTU       *Said[int]           `json:"mtu,omitempty"` // of that interface, bytes of IP
}

// BGPConfig is the BGP of a switch.
type BGPConfig struct {
	ASN        Said[uint32]   `json:"asn"`
	Neighbours []BGPNeighbour `json:"neighbours,omitempty"`
	Networks   []Said[string] `json:"networks,omitempty"` // that it announces by name, as prefixes; connected: all of its own
	Paths      *Said[int]     `json:"paths,omitempty"`    // equal ones that are used at once
}

// BGPNeighbour is a BGP session to another switch.
type BGPNeighbour struct {
	Address netip.Addr `json:"address"`
	ASN     uint32     `json:"asn"`
	At      Line       `json:"at,omitzero"`
}

// BufferShare is a part of a switch's shared buffer.
type BufferShare struct {
	Direction string  `json:"direction"`         // ingress, egress
	Name      string  `json:"name"`              // lossless, lossless-headroom, lossy, or the pool's own
	Percent   float64 `json:"percent,omitempty"` // of the direction
	Bytes     int64   `json:"bytes,omitempty"`

	// Threshold is how much of what is free in it a queue may take, in the steps of the OS (Junos: dynamic-threshold, 0 to 10).
	Threshold *Said[int] `json:"threshold,omitempty"`

	At Line `json:"at"`
}

// TextProblem is something that is wrong in a text by itself, whatever the plan is.
type TextProblem struct {
	Kind string `json:"kind"` // one of the constants below
	Port string `json:"port,omitempty"`
	At   Line   `json:"at"`
	What string `json:"what"`           // one sentence: what stands there
	Then string `json:"then,omitempty"` // what the switch does with it
}

// Kinds of problems of a text.
const (
	TextCut        = "cut"        // it ends in the middle of something
	TextDuplicate  = "duplicate"  // said twice with different values: the last one counts, or the text is refused
	TextUndefined  = "undefined"  // names a map, profile, VLAN or class that is defined nowhere
	TextRange      = "range"      // a value that cannot be: priority above 7, minimum above maximum
	TextUnattached = "unattached" // a map or profile that no port uses
	TextInert      = "inert"      // is accepted and has no effect
	TextForeign    = "foreign"    // is not of this language, or refused by it
	TextConflict   = "conflict"   // two places of the text contradict each other
)
