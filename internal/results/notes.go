package results

import (
	"slices"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// notes reads what people write down of machines of which a port is two PCIe functions (DGX Spark): numbers in sentences and
// tables, and choices beside them. It looks at every line and claims none, since a sentence may stand in any output. What
// it found is dropped where nothing in the text tells of such a machine.
type notes struct {
	n       fabric.Notes
	other   bool // the text tells of a machine that is none
	host    bool // "spark" stands in the text as a name
	test    bool // the text has a test of RDMA by a device of such a name
	lines   int
	heading string           // the line before that ends with a colon, until a blank one
	header  []string         // cells of the table that is being read
	context fabric.NotedTest // of the lines before, until a blank one: a command
	dgx     bool             // DGX and the switch of small clusters stand in the text
	routes  bool
	used    map[int]bool // lines that are understood
}

// Bounds of what is kept of one text: people write a page.
const (
	maxNotedLines = 20000
	maxNoted      = 256
	maxNotedLine  = 1 << 10 // bytes
)

// noteStems are pieces of which every line that notes looks at has at least one.
var noteStems = sync.OnceValue(func() *pattern.Set {
	set := pattern.NewSet()
	set.Add(
		"gb10", "gx10", "spark", "p2p1s0f", "p1s0f", "0002:01:00", "enp7s7", "connectx", "x86", "amd64", "vendor_part", "routeros", "mikrotik", "dgx",
		"b/s", "bps", "bit/s", "its/s", "b/sec", "bits/sec", "iperf", "ib_write", "rdma_", "rank", "overriding", "oob", "gid", "modify_qp", "_perf", "freez", "froz", "unresponsive", "power cycle", "power-cycle",
		"branch", "127.0.0.1", "hosts", "nodes", "localhost", "dhcp", "port", "p0<", "p0-", "p0 ", "p1<", "p1-", "p1 ", "mesh", "triangle", "ring", "/dev/infiniband", "no device found", "network socket", "net/socket", "libnccl", "speed=", "insufficient power", "available pcie", "device", "ibv_reg_mr", "cmatotal", "treeconnect", "retreive", "net/ib", "mtu", "speed:", "ifname", "_hca", "nccl_", "gloo_", "ucx_", "ompi_",
	)
	return set
})

// Signs of the machine. PCI domain 2 at bus 1 is where its second twins are.
var (
	sparkNamed   = pattern.New(`(?i)\bGB10\b|\bDGX[ _-]?Sparks?\b|\bGX10\b`)
	sparkDevices = pattern.New(`\b(?:roce|en)P2p1s0f[01](?:np[01])?\b|\bmlx5_core 0002:01:00\.[01]\b|\benP7s7\b`)
	sparkNames   = pattern.New(`\b(?:rocep1s0f[01]|enp1s0f[01]np[01])\b`)
	sparkHost    = pattern.New(`(?i)\bsparks?(?:[-_]?\w{1,3})?\b`)
	someDGX      = pattern.New(`(?i)\bDGX(?:es)?\b`)
	smallSwitch  = pattern.New(`(?i)\bRouterOS\b|\bMikroTik\b`)
	// otherMachine are parts that this machine, of Arm and ConnectX-7, does not have.
	otherMachine = pattern.New(`(?i)\b(?:DGX|HGX)[ -]?[AHB]\d00\b|\bx86_64\b|\bamd64\b|\bConnectX-[3-6]\b|vendor_part_id:\s*(?:40\d\d|411\d|412[0-8])\b|\bXeon\b|\bEPYC\b|\bRyzen\b`)
)

func newNotes() *notes { return &notes{used: map[int]bool{}} }

// read looks at a line; taken: another format has it. It reports whether something in it is kept.
func (r *notes) read(l line, taken bool) bool {
	text := strings.TrimSpace(l.raw)
	if r.lines++; r.lines > maxNotedLines {
		return false
	}
	if text == "" {
		r.heading, r.header, r.context = "", nil, ""
		return false
	}
	text = text[:min(len(text), maxNotedLine)]
	if !noteStems().Any(text) && !strings.HasPrefix(text, "|") && !strings.HasSuffix(text, ":") {
		return false
	}
	r.machine(text)
	kept := r.facts(l, text)
	if l.log == nil && (strings.Contains(text, "perf") || strings.Contains(text, "_bw")) {
		if program := noteProgram().FindString(text); program != "" {
			r.context = testOf(program)
		}
	}
	if !taken && l.log == nil && r.numbers(l, text) {
		kept = true
	}
	if strings.HasSuffix(text, ":") && len(r.n.Numbers) < maxNoted {
		r.heading = strings.Clone(text)
	}
	if kept {
		r.used[l.number] = true
	}
	return kept
}

// signs of the machine, from the surest, with pieces of which its line has one.
var machineSigns = []struct {
	basis fabric.NotedBasis
	stems []string
	form  func() *pattern.Regexp
}{
	{fabric.NotedNamed, []string{"GB10", "gb10", "park", "PARK", "GX10", "gx10"}, sparkNamed},
	{fabric.NotedDevices, []string{"P2p1s0f", "0002:01:00", "enP7s7"}, sparkDevices},
	{fabric.NotedNames, []string{"p1s0f"}, sparkNames},
}

// machine keeps the surest sign of the machine, and what speaks against it.
func (r *notes) machine(text string) {
	has := func(stems ...string) bool {
		return slices.ContainsFunc(stems, func(stem string) bool { return strings.Contains(text, stem) })
	}
	for _, sign := range machineSigns {
		if sign.basis == r.n.Basis {
			break
		}
		if has(sign.stems...) {
			if m := sign.form().FindString(text); m != "" {
				r.n.Basis, r.n.Machine = sign.basis, strings.Clone(m)
				break
			}
		}
	}
	r.other = r.other || has("x86", "amd64", "onnectX", "vendor_part", "Xeon", "EPYC", "Ryzen", "GX") && otherMachine().MatchString(text)
	r.host = r.host || has("park") && sparkHost().MatchString(text)
	r.dgx = r.dgx || has("DGX", "dgx") && someDGX().MatchString(text)
	r.routes = r.routes || has("outer", "krotik", "kroTik") && smallSwitch().MatchString(text)
	r.test = r.test || has("RDMA_", "ib_write_bw", "ib_write_lat")
}

// known reports whether the text is of the machine, as far as its signs go.
func (r *notes) known() bool {
	switch {
	case r.n.Basis == fabric.NotedNamed:
		return true
	case r.other:
		return false
	case r.n.Basis == fabric.NotedDevices:
		return true
	case slices.ContainsFunc(r.n.Numbers, twoHalves):
		r.n.Basis, r.n.Machine = fabric.NotedDevices, "two devices that share a port of 200 Gb/s"
		return true
	case r.n.Basis == fabric.NotedNames && r.host:
		r.n.Basis, r.n.Machine = fabric.NotedDevices, r.n.Machine+" and a host called Spark"
		return true
	case r.dgx && r.routes:
		r.n.Basis, r.n.Machine = fabric.NotedDevices, "a DGX at a switch with RouterOS"
		return true
	}
	return r.n.Basis == fabric.NotedNames && r.test
}

// twoHalves reports whether a sum is what one port of 200 Gb/s carries, in equal parts.
func twoHalves(n fabric.NotedNumber) bool {
	return len(n.Parts) == 2 && n.Test == fabric.NotedRDMA && n.Gbps >= 180 && n.Gbps <= 200 && n.Parts[0] > 0.9*n.Parts[1] && n.Parts[1] > 0.9*n.Parts[0]
}

// result is what was kept; ok is false where the text is of other machines, or tells nothing that could be judged. beside:
// the text holds other results, for which it tells what machine they are of.
func (r *notes) result(b *budget, beside bool) (found fabric.Result, ok bool) {
	judged := len(r.n.Numbers) > 0 || slices.ContainsFunc(r.n.Facts, func(f fabric.NotedFact) bool { return slices.Contains(judgedFacts, f.What) })
	if !judged && !beside || !r.known() || !b.result() {
		return found, false
	}
	at := 1
	if len(r.n.Numbers) > 0 {
		at = r.n.Numbers[0].Line
	} else if len(r.n.Facts) > 0 {
		at = r.n.Facts[0].Line
	}
	return fabric.Result{Kind: fabric.NotesText, Line: at, Content: &r.n}, true
}
