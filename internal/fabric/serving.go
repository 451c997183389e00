package fabric

// Serving is the part of a plan with the model that the machines serve together.
type Serving struct {
	Model       string         `json:"model"` // as the engine takes it: organisation/name
	Engine      string         `json:"engine"`
	Version     string         `json:"version"` // of the engine, whose rules the sizes follow
	Image       string         `json:"image,omitempty"`
	ImageSource string         `json:"image_source,omitempty"`
	RemoteCode  bool           `json:"trust_remote_code,omitempty"` // the engine runs code of the model's repository
	Refused     string         `json:"refused,omitempty"`           // why nothing is served; empty: the rest is set
	Layout      SizingPlan     `json:"layout,omitzero"`
	Ranks       []ServingRank  `json:"ranks,omitempty"` // one per machine that serves, the head first
	Idle        []ServingIdle  `json:"idle,omitempty"`  // machines that do not serve, and why
	Left        []RefusedNodes `json:"left,omitempty"`  // larger numbers of machines, and why they are not used
	Pods        *ServingPods   `json:"pods,omitempty"`  // where pods of Kubernetes serve, instead of Ranks
}

// ServingRank is a machine that serves.
type ServingRank struct {
	Node    string   `json:"node"`
	Address string   `json:"address,omitempty"` // of this machine, as the others reach it; empty: its name on the ordinary network
	Head    string   `json:"head"`              // address or name of the head, as this machine reaches it
	Command []string `json:"command"`           // the engine with its arguments, a word each
}

// ServingIdle is a machine that does not serve.
type ServingIdle struct {
	Node string `json:"node"`
	Why  string `json:"why"`
}

// RefusedNodes is a number of machines on which a model cannot be spread.
type RefusedNodes struct {
	Nodes int    `json:"nodes"`
	Why   string `json:"why"`
}

// Spread takes the largest number of machines, of at most so many, on which a layout fits, and notes why larger ones do not.
// layout returns a layout of just so many, or nil and why there is none.
func (s *Serving) Spread(most int, layout func(nodes int) (*SizingPlan, string, error)) error {
	for n := most; n > 0; n-- {
		plan, why, err := layout(n)
		if err != nil {
			return err
		}
		if plan != nil {
			s.Layout = *plan
			return nil
		}
		s.Left = append(s.Left, RefusedNodes{Nodes: n, Why: why})
	}
	if len(s.Left) > 0 {
		s.Refused = "on " + Count(s.Left[0].Nodes, "machine") + ": " + s.Left[0].Why
	}
	return nil
}
