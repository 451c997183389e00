package fabric

// CableLot is one line of the bill of cables and optics: cables that are alike. A cable of a split cage counts once, with all
// its ends.
type CableLot struct {
	From     string  `json:"from"`      // NIC or switch, as the catalog calls it
	To       string  `json:"to"`        // switch
	RateGbps float64 `json:"rate_gbps"` // of each port at From; 0: not in the catalog
	Split    int     `json:"split"`     // ends at From; 1: the cable is not split
	Cables   int     `json:"cables"`
	FromEnds int     `json:"from_ends"`          // transceivers at From, where the cable is not copper with its ends
	ToEnds   int     `json:"to_ends"`            // and at To, one for each cage
	LengthM  int     `json:"length_m,omitempty"` // longest, in metres; 0: the plan has none
}
