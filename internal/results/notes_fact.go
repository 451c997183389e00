package results

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// noteForm is a fact that a line may tell: its value is the groups of the expression.
type noteForm struct {
	what  string
	stems []string // of which its line has one, as they are written
	log   bool     // NCCL prints it; else people write it
	says  func() *pattern.Regexp
}

// noteForms are all facts that are looked for. Names of NCCL's messages: src/transport/net_ib of NCCL, src/misc/ibvwrap.cc.
var noteForms = []noteForm{
	{"override", []string{"verriding"}, true, pattern.New(`(?i)overriding dev(?:ice)? (\d+) with dev(?:ice)? (\d+)`)},
	{"oob", []string{"OOB ", "Bootstrap"}, true, pattern.New(`\bOOB ([a-z]+\w*\d\w*):[^ ]|\bBootstrap\s*:\s*Using ([a-z]+\w*\d\w*):`)},
	{"hcas", []string{"Using ["}, true, pattern.New(`NET/IB\s*: Using ((?:\[\d+\][\w.]+:\d+/\w+\s*)+)`)},
	{"gids", []string{"GID"}, true, pattern.New(`(?i)local GID:? (?:index \d+,? *(?:local GID )?)?(?:::ffff:)?(\d+\.\d+\.\d+\.\d+).*?remote GID:? (?:::ffff:)?(\d+\.\d+\.\d+\.\d+)`)},
	{"qp-timeout", []string{"modify_qp"}, true, pattern.New(`(?i)(ibv_modify_qp)\b.*(?:\b110\b|timed out)`)},
	{"size", []string{"_perf"}, false, pattern.New(`_perf\b.*\s-[be][ =]?(\d+)([GgMm])`)},
	{"frozen", []string{"reez", "roze", "esponsive", "ower", "ock", "emory", "ang"}, false, pattern.New(`(?i)\b(?:node|machine|spark|host|system|box)s?\b.*\b(freez\w*|froze\w*|unresponsive|power[- ]cycled?|locks? up|locked up|hard hang|out of memory)\b`)},
	{"development", []string{"NCCL"}, false, pattern.New(`(?i)\bNCCL\b.*\b(development|dev|master|main|nightly|HEAD)[ -](?:branch|build|version|tree|snapshot)`)},
	{"loopback", []string{"127.0.0.1", "localhost"}, false, pattern.New(`(?i)\b(head|master|leader|MASTER_ADDR|dist-init-addr|VLLM_HOST_IP|NCCL_COMM_ID)\b[^|]{0,40}\b(127\.0\.0\.1|localhost)\b`)},
	{"loopback", []string{"127.0.0.1", "localhost"}, false, pattern.New(`(?i)\b(hosts)[:=]\s*(127\.0\.0\.1|localhost),\s*\d`)},
	{"machines", []string{"nodes", "hosts", " -H ", "odes:"}, false, pattern.New(`(?i)--?nnodes[ =]+([2-9])|\bhosts[:=]\s*(\S+,\s*\S+)|\s-H (\S+,\S+)|\b(worker) nodes?:`)},
	{"dhcp", []string{"DHCP"}, false, pattern.New(`(?i)\bDHCP\b.*?\b(\d+\.\d+\.\d+\.\d+/\d+)`)},
	{"dhcp", []string{"DHCP"}, false, pattern.New(`(?i)\b(\d+\.\d+\.\d+\.\d+/\d+)\b.*\bDHCP\b`)},
	{"cable", []string{"p0", "p1", "port", "Port", "P0", "P1"}, false, pattern.New(`(?i)([\w-]*\w)[ .:-]?(?:p|port ?)([01])\s*(?:<-+>|-+>|<-+|→|↔|–|—| to )\s*([\w-]*\w)[ .:-]?(?:p|port ?)([01])\b`)},
	{"mesh", []string{"esh", "iangle", "itchless", "ring", "RING", "Ring"}, false, pattern.New(`(?i)\b(mesh|triangle|switchless|ring of (?:three|four|3|4|5|6)|(?:three|four|3|4|5|6)-?(?: |-)?node (?:ring|mesh)|topology:\s+ring|RING-ONLY)\b`)},
	{"no-rdma", []string{"/dev/infiniband"}, false, pattern.New(`(?i)(?:without|no|missing|lacks?)\b[^|]{0,24}(/dev/infiniband)|(/dev/infiniband)\b.*(?:no such|missing|not found|absent)`)},
	{"socket", []string{"ocket", "No device"}, true, pattern.New(`\b(Using network Socket|NET/Socket|NET/IB : No device found)`)},
	{"mtu", []string{"mtu", "MTU", "Mtu"}, false, pattern.New(`(?i)\bmtu\b[ :=]*(\d{4})\b`)},
	{"link", []string{"Speed:"}, false, pattern.New(`\bSpeed: *(\d+) ?Mb/s`)},
	{"nccl", []string{"NCCL v"}, true, pattern.New(`\bNCCL v(?:ersion )?(\d+\.\d+(?:\.\d+)?)|\bNCCL version (\d+\.\d+(?:\.\d+)?)`)},
	{"no-mesh-build", []string{"mesh"}, false, pattern.New(`(?i)\bNCCL\b.*\b(not (?:compatible|support\w*)|no support|lacks?)\b.*\bmesh|mesh\b.*\b(not supported)\b`)},
	{"nccl", []string{"libnccl"}, false, pattern.New(`\blibnccl2?(?:\.so)?[ .=]+(\d+\.\d+\.\d+)`)},
	{"rate", []string{"speed="}, true, pattern.New(`NET/IB\b.*\b(roce\w+|mlx5_\d+):.*\bspeed=(\d+)\b`)},
	{"narrow", []string{"available PCIe"}, false, pattern.New(`mlx5_core (\S+): ([\d.]+) Gb/s available PCIe bandwidth, limited by .* (x[1-3]) link`)},
	{"device", []string{"Device"}, false, pattern.New(`\bDevice\s*: (\w+)`)},
	{"end", []string{"GID:"}, false, pattern.New(`\bGID:\s+(?:\d+:){10}255:255:(\d+):(\d+):(\d+):(\d+)`)},
	{"address", []string{"1s0f"}, false, pattern.New(`\b((?:roce|en)(?:p|P2p)1s0f[01](?:np[01])?)\b[^|]*?\b(\d+\.\d+\.\d+\.\d+)\b`)},
	{"power", []string{"insufficient power"}, false, pattern.New(`(insufficient power) on the PCIe slot`)},
	{"registration", []string{"ibv_reg_mr"}, true, pattern.New(`(ibv_reg_mr\w*)\b.*Cannot allocate memory`)},
	{"no-area", []string{"CmaTotal"}, false, pattern.New(`\b(CmaTotal): +0 kB`)},
	{"tree", []string{"TreeConnect"}, true, pattern.New(`\b(ncclTransportTreeConnect)\b`)},
	{"mixed", []string{"could not retreive"}, true, pattern.New(`(could not retreive a request)`)},
	{"rank", []string{"Rank"}, false, pattern.New(`^#\s+Rank\s+(\d+)\b`)},
}

// noCable finds names of interfaces and of sockets for cables, which are no machines.
var noCable = pattern.New(`(?i)(?:^|\s)(?:en|roce|mlx5|qsfp|cage|channel|port)`)

// noteSetting finds a variable with its value.
var noteSetting = pattern.New(`\b((?:NCCL|GLOO|UCX|OMPI|MN|TP)_[A-Za-z_]*[A-Za-z])=("[^"]*"|[^\s:;]+)`)

// noteSaid finds how NCCL says which variables it takes.
var noteSaid = pattern.New(`\b(NCCL_[A-Z_]+) set by environment to ([^\s.]+)`)

// facts keeps what a line tells beside numbers.
func (r *notes) facts(l line, text string) bool {
	kept := false
	add := func(what, value string) {
		kept = kept || len(r.n.Facts) < maxNoted
		if again := what == "device" || what == "end"; (again || !slices.ContainsFunc(r.n.Facts, func(f fabric.NotedFact) bool { return f.What == what && f.Value == value })) && len(r.n.Facts) < maxNoted {
			r.n.Facts = append(r.n.Facts, fabric.NotedFact{What: what, Value: strings.Clone(value), Line: l.number, Text: keep(text)})
		}
	}
	text = strings.ReplaceAll(text, "`", "")
	for _, f := range noteForms {
		if l.log != nil && !f.log || !slices.ContainsFunc(f.stems, func(stem string) bool { return strings.Contains(text, stem) }) {
			continue
		}
		for _, m := range f.says().FindAllStringSubmatch(text, 8) {
			if f.what == "cable" && noCable().MatchString(m[1]+" "+m[3]) {
				continue
			}
			add(f.what, strings.Join(strings.Fields(strings.Join(m[1:], " ")), " "))
		}
	}
	if strings.Contains(text, "=") && l.log == nil {
		for _, m := range noteSetting().FindAllStringSubmatch(text, 16) {
			add("setting", m[1]+" "+strings.TrimRight(strings.Trim(m[2], `"'`), ",."))
		}
	}
	if strings.Contains(text, "set by environment") {
		for _, m := range noteSaid().FindAllStringSubmatch(text, 16) {
			add("setting", m[1]+" "+strings.TrimRight(m[2], ",."))
		}
	}
	return kept
}

// judged are facts that somebody wants to have judged where the text holds nothing else; the others only stand beside.
var judgedFacts = []string{"override", "oob", "gids", "qp-timeout", "frozen", "loopback", "dhcp", "no-rdma", "socket", "setting", "no-mesh-build", "registration", "tree", "mixed", "narrow"}
