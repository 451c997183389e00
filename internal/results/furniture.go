package results

import (
	"slices"
	"strings"
	"unicode"
)

// isFurniture reports whether a line is a part of what a benchmark prints that says nothing of its result: rules, empty
// comments, and parameters that no reader keeps. It is understood, and nothing more.
func isFurniture(l line) bool {
	text := l.trimmed()
	if !strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }) {
		return true
	}
	if rest, comment := strings.CutPrefix(text, "# "); comment {
		return strings.HasPrefix(rest, "Using devices") || strings.HasPrefix(rest, "Collective test ")
	}
	if !l.may(ofParameter) {
		return false
	}
	key, _, pair := strings.Cut(text, parameterSign)
	return pair && slices.Contains(perftestParameters(), strings.TrimSpace(key))
}

// parameterSign stands between a parameter of perftest and its value.
const parameterSign = " : "

// perftestParameters are names that perftest prints before its table (perftest_parameters.c of linux-rdma/perftest), of
// which no rule takes the value.
func perftestParameters() []string {
	return []string{
		"Dual-port", "Number of qps", "Transport type", "Connection type", "Using SRQ", "TX depth", "RX depth", "Post List", "PCIe relax order", "ibv_wr* API",
		"CQ Moderation", "CQE Poll Batch", "Mtu", "Link type", "GID index", "Max inline data", "rdma_cm QPs", "Data ex. method", "Outstand reads",
		"Use ROCm memory", "Use CUDA memory", "Lock-free", "Using DDP", "Using Enhanced Reorder", "Device", "Message size", "Duplex",
	}
}
