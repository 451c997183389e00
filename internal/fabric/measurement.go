package fabric

import "net/netip"

// Measurement is one pair of a mesh: an echo from A to B at two sizes, each sent from A's device and address.
type Measurement struct {
	From  Endpoint `json:"from"`
	To    Endpoint `json:"to"`
	Small Echo     `json:"small"`
	Full  Echo     `json:"full"` // do-not-fragment, as large as the planned MTU
}

// Echo is an ICMP echo and its result. An empty Echo was not sent.
type Echo struct {
	Bytes      int     `json:"bytes"`                 // of the IP packet
	RTTMicros  float64 `json:"rtt_us,omitempty"`      // microseconds, when answered
	Answered   bool    `json:"answered"`              // by an echo reply
	ArrivedOn  string  `json:"arrived_on,omitempty"`  // interface of the target on which the request came in
	ReturnedOn string  `json:"returned_on,omitempty"` // interface of the sender on which the reply came in
	Error      string  `json:"error,omitempty"`       // of sending, or from an ICMP error
}

// Status is Pass when both echoes were answered on the planned interfaces. A pair of which one end
// could not observe (Error is then set by the coordinator) or that was never sent is Unknown.
func (m Measurement) Status() Status {
	return worst(m.Small.status(m), m.Full.status(m))
}

func (e Echo) status(m Measurement) Status {
	switch {
	case e.Bytes == 0:
		return Unknown
	case !e.Answered:
		return Fail
	case e.ReturnedOn != m.From.NIC || e.ArrivedOn != "" && e.ArrivedOn != m.To.NIC:
		return Fail
	case e.ArrivedOn == "":
		return Unknown
	default:
		return Pass
	}
}

func worst(a, b Status) Status {
	switch {
	case a == Fail || b == Fail:
		return Fail
	case a == Pass && b == Pass:
		return Pass
	default:
		return Unknown
	}
}

// Mesh is every NIC of every node against every NIC of the others that the plan lets it reach.
type Mesh struct {
	Meta
	Seconds float64       `json:"seconds"`          // wall time of the echoes
	Pairs   []Measurement `json:"pairs"`            // in plan order
	Apart   int           `json:"apart,omitempty"`  // pairs that the plan keeps apart: in different subnets, of which nothing is routed
	Heard   []Heard       `json:"heard,omitempty"`  // of interfaces whose traffic is not routed
	Absent  []Missing     `json:"absent,omitempty"` // nodes that could not take part, and why
}

// Heard is an ARP request that came in on an interface: who asks is on the same cable, or on the same layer 2.
type Heard struct {
	On   Endpoint   `json:"on"`
	From netip.Addr `json:"from"` // that the asker gives as its own
}

// Summary counts the pairs by status; those that the plan keeps apart are not applicable.
func (m *Mesh) Summary() Summary {
	s := Summary{NotApplicable: m.Apart}
	for _, p := range m.Pairs {
		s.Count(p.Status())
	}
	return s
}
