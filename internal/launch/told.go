package launch

import "railwright.dev/railwright/internal/fabric"

// Told are places for what logs tell of how a model is spread.
type Told struct {
	Engine                *string
	Nodes, TP, PP, DP, EP *int
	Context               *int64
	MemFraction           *float64
}

// Complete fills in what the logs of a launch tell, where nothing is there yet.
func Complete(l *fabric.Launch, at Told) {
	if *at.Engine == "" {
		*at.Engine = l.Engine
	}
	for _, n := range l.Numbers {
		switch n.What {
		case "tp":
			fill(at.TP, n.Max)
		case "pp":
			fill(at.PP, n.Max)
		case "dp":
			fill(at.DP, n.Max)
		case "ep":
			fill(at.EP, n.Max)
		case "nodes":
			fill(at.Nodes, n.Max)
		case "context":
			if *at.Context == 0 {
				*at.Context = int64(n.Max)
			}
		case "mem_fraction":
			if *at.MemFraction == 0 && n.Max > 0 && n.Max < 1 {
				*at.MemFraction = n.Max
			}
		case "world":
			if *at.TP == 0 && *at.PP == 0 {
				fill(at.TP, n.Max)
			}
		}
	}
	if *at.TP == 0 && len(l.Pods) > 0 { // ranks that printed a line, where nothing says how many there are
		ranks := 0
		for _, p := range l.Pods {
			ranks += len(p.Ranks)
		}
		fill(at.TP, float64(ranks))
	}
}

func fill(at *int, n float64) {
	if *at == 0 && n >= 1 {
		*at = int(n)
	}
}
