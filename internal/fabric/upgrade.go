package fabric

// Upgrade is what other versions of NCCL change on healthy machines: what each chooses at each size, and what that gains or
// loses.
type Upgrade struct {
	Meta
	Collective  Collective    `json:"collective"`
	Ranks       int           `json:"ranks"`
	Nodes       int           `json:"nodes"`
	Hardware    Hardware      `json:"hw"`
	NCCL        []string      `json:"nccl"` // the versions, in the order in which they were asked for
	Rows        []UpgradeRow  `json:"rows"`
	Moves       []UpgradeMove `json:"moves"` // ranges of sizes at which the choices differ, rising
	Remarks     []string      `json:"remarks,omitempty"`
	Assumptions []Assumption  `json:"assumptions"`
}

// UpgradeRow is one size.
type UpgradeRow struct {
	Size    int64           `json:"size"`         // bytes, as nccl-tests counts them
	Choices []UpgradeChoice `json:"choices"`      // one for each version
	Moved   bool            `json:"moved"`        // the choices differ
	Gain    float64         `json:"gain_percent"` // of bus bandwidth from the first version to the last; below 0 it is a loss
}

// UpgradeChoice is what a version chooses at a size.
type UpgradeChoice struct {
	Algorithm string  `json:"algorithm"`
	Protocol  string  `json:"protocol"`
	TimeUS    float64 `json:"time_us"`
	BusBW     float64 `json:"busbw_gbs"`
}

// UpgradeMove is a range of sizes at which each version chooses something of its own.
type UpgradeMove struct {
	From    int64      `json:"from"`         // bytes, the first size
	To      int64      `json:"to"`           // bytes, the last size
	Choices []string   `json:"choices"`      // algorithm and protocol, one for each version
	Gain    [2]float64 `json:"gain_percent"` // least and most
}
