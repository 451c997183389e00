package sizing

import "fmt"

// documentLoad is a load time of the VMware document, 10.4.
type documentLoad struct {
	model   string
	bytes   float64 // that one node reads
	minutes float64
}

// documentLoads are all of them: bytes are those of the safetensors alone, as the engine reads nothing else.
func documentLoads() []documentLoad {
	return []documentLoad{
		{"DeepSeek-R1", 688.6e9, 7},
		{"Qwen3-235B-A22B", 470.2e9, 7},
		{"Llama-3.1-405B", 811.7e9, 12},
	}
}

const (
	documentLinkGbps = 100   // one NIC of 100 GbE behind vSAN
	documentNodes    = 2     // that load at the same time, each all of the weights
	documentReadS    = 147   // s, example 6: 163 shards of DeepSeek-R1 in 2:27
	documentInitS    = 10    // s, example 6: 14:29:55 to the first shard
	documentGraphsS  = 114.9 // s, example 6: capture of 23 batch sizes
)

// DocumentLoads explains the load times of the VMware document: what rate they stand for, what of 100 GbE that is,
// and what else is in the seven minutes.
func DocumentLoads() []string {
	var out []string
	for _, l := range documentLoads() {
		rate := l.bytes / 1e9 / (60 * l.minutes)
		out = append(out, fmt.Sprintf("%s: %.1f GB in %g min = %.2f GB/s a node; %d nodes = %.0f Gb/s, %.0f %% of %d GbE",
			l.model, l.bytes/1e9, l.minutes, rate, documentNodes, rate*8*documentNodes, 100*rate*8*documentNodes/documentLinkGbps, documentLinkGbps))
	}
	read := documentLoads()[0].bytes / 1e9 / documentReadS
	started := documentInitS + documentReadS + documentGraphsS
	out = append(out,
		fmt.Sprintf("the log of example 6 reads the %.1f GB of DeepSeek-R1 in %d s = %.2f GB/s, and %d + %d + %.0f = %.0f s are a start without the pods: of 7 min = 420 s the rest is not loading, or that run read from the page cache",
			documentLoads()[0].bytes/1e9, documentReadS, read, documentInitS, documentReadS, documentGraphsS, started),
		"so the link is not what limits: the storage or one reader a node is, and a faster NIC would not shorten it")
	return out
}
