package fabric

// Prediction is the expected curve of healthy machines.
type Prediction struct {
	Meta
	Collective  Collective      `json:"collective"`
	Ranks       int             `json:"ranks"`
	Nodes       int             `json:"nodes"`
	Hardware    Hardware        `json:"hw"`
	NCCL        string          `json:"nccl,omitempty"` // version whose choices these are; empty for RCCL, and where no table chooses
	Rows        []PredictionRow `json:"rows"`
	Tuning      []TuningCell    `json:"tuning,omitempty"`       // of NCCL: what may be chosen, and the figures by which it is; empty like nccl
	Remarks     []string        `json:"remarks,omitempty"`      // what limits large sizes, and settings that changed nothing
	NotModelled []string        `json:"not_modelled,omitempty"` // settings that the library reads and the prediction does not follow: what they cost is unknown
	Assumptions []Assumption    `json:"assumptions"`
}

// PredictionRow is one size.
type PredictionRow struct {
	Size      int64      `json:"size"` // bytes, as nccl-tests counts them
	TimeUS    float64    `json:"time_us"`
	AlgBW     float64    `json:"algbw_gbs"`
	BusBW     float64    `json:"busbw_gbs"`
	Band      [2]float64 `json:"band"` // of busbw, GB/s: healthy lies inside
	Algorithm string     `json:"algorithm"`
	Protocol  string     `json:"protocol"`
	NICGBs    float64    `json:"nic_gbs"` // bytes on the wire of the busiest NIC over the time, GB/s one way; 0 without a network
	Bound     Bound      `json:"bound"`
}

// Bound is what physics allows and what sets it.
type Bound struct {
	BusBW   float64 `json:"busbw_gbs"`
	Element string  `json:"element"` // "8 NICs of 400 Gb/s", "NVLink of one GPU", ...
}

// Assumption is something that a prediction rests on and that its input does not state.
type Assumption struct {
	What   string `json:"what"`
	Source string `json:"source"`
}
