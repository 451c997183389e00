package results

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/envtext"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

var (
	logVersion   = pattern.New(`(NCCL|RCCL) version ?:? *(\d\S*)`)
	logEnv       = pattern.New(`^((?:NCCL|RCCL)_\w+) (?:set by environment|set) to (.*)$`)
	logBootstrap = pattern.New(`^Bootstrap ?: Using (?:\[\d+\])?([^:\s]+)`)
	logHCA       = pattern.New(`\[\d+\](\S+?)(?:[;,]|\s|$)`)
	logOOB       = pattern.New(`OOB ([^:\s]+)`)
	logInit      = pattern.New(`\brank (\d+) n[rR]anks (\d+)(.*)`)
	logNVLS      = pattern.New(`, (\d+) nvls channels`)
	logPath      = pattern.New(`^(?:GPU|NET|NIC|NVS|CPU|PCI|GIN)/[0-9A-Fa-f]+(?:-[0-9A-Fa-f]+)* :`)
	logError     = pattern.New(`\.(?:cc|cpp|cu|c|h):\d+ -> [1-9]`)
	// logTried is an error that a try of a network returned: another network is tried then, and what fails for good is
	// returned by the functions above it too (src/plugin/net.cc).
	logTried    = pattern.New(`^(?:src/)?(?:transport/net_\w+|plugin/net)[\w/]*\.cc:\d+ -> \d+$`)
	logAbort    = pattern.New(`(?i)\babort (?:start|complete|called)\b`)
	logAllRanks = pattern.New(`\bnRanks (\d+)\b`)
	logNodes    = pattern.New(`\bnNodes (\d+)\b`)
)

// info reads an INFO line. Those of which a log has millions come first.
func (g *logRun) info(l line) {
	text := strings.TrimSpace(l.log.message)
	switch {
	case strings.HasPrefix(text, "Channel "), strings.HasPrefix(text, "Ring "):
		g.channel(l.log.host, text)
		return
	case strings.Contains(text, ": opCount "): // a call (NCCL_DEBUG_SUBSYS=COLL)
		return
	case strings.HasPrefix(text, "Tree "), strings.HasPrefix(text, "Trees "), strings.HasPrefix(text, "threadThresholds"):
		return
	case g.dump(l, text), g.tuning.read(text, g.room), g.choice(text):
		return
	case strings.HasPrefix(text, "Pattern "):
		if text = keep(text); !g.graphs[text] && len(g.graphs) < maxLogGraphs && g.room(2*len(text)) {
			g.graphs[text] = true
			g.log.Graphs = append(g.log.Graphs, fabric.LogLine{Line: l.number, Text: text})
		}
		return
	}
	g.facts(l, text)
}

// facts reads the lines that have a field of their own.
func (g *logRun) facts(l line, text string) {
	if strings.Contains(text, "CCL_") {
		if m := logEnv().FindStringSubmatch(text); m != nil {
			g.env(l.log.host, m[1], m[2])
			return
		}
	}
	if m := logChannels(text); m != "" {
		g.log.Channels = max(g.log.Channels, small(m))
		if m := logNVLS().FindStringSubmatch(text); m != nil {
			g.log.NVLS = max(g.log.NVLS, small(m[1]))
		}
		return
	}
	switch {
	case strings.Contains(text, "CCL version"):
		if m := logVersion().FindStringSubmatch(text); m != nil {
			g.version(l.log.host, m[1], m[2])
			return
		}
	case strings.HasPrefix(text, "Bootstrap"):
		if m := logBootstrap().FindStringSubmatch(text); m != nil && g.log.Bootstrap == "" {
			g.log.Bootstrap = keep(m[1])
		}
	case strings.HasPrefix(text, "NET/IB : Using"), strings.HasPrefix(text, "NET/IB: Using"):
		g.adapters(l, text)
	case strings.HasPrefix(text, "Using network "):
		g.network(l.log.host, strings.TrimPrefix(text, "Using network "))
	case strings.HasPrefix(text, "NET/Plugin"), strings.HasPrefix(text, "Assigned NET plugin "), strings.HasPrefix(text, "Plugin Path : "):
		g.plugin(l.log.host, text)
	case strings.Contains(text, "nranks ") || strings.Contains(text, "nRanks "):
		g.rank(l, text)
		if !strings.Contains(text, "Abort") {
			return
		}
	}
	if s := l.log.says(); !s.nothing() {
		g.keepLine(l, s, text, entryText(l))
	}
}

// env reads "NCCL_ALGO set by environment to Ring."; the sentence may end with a full stop.
func (g *logRun) env(host, key, value string) {
	value = strings.TrimSuffix(strings.TrimSpace(value), ".")
	if len(key) > maxName {
		return
	}
	at := g.choices(host)
	if i := slices.Index(g.log.Pasted, key); i >= 0 { // what the library says it took outweighs what a script was to set
		delete(g.log.Env, key)
		delete(at.Env, key)
		g.log.Pasted = slices.Delete(g.log.Pasted, i, i+1)
	}
	at.Env = g.setting(at.Env, key, value)
	g.log.Env = g.setting(g.log.Env, key, value)
}

// paste takes a setting of a script, a command or a manifest: the last value counts, unless the library says which it took.
func (g *logRun) paste(host string, s envtext.Setting) {
	_, known := g.log.Env[s.Name]
	pasted := slices.Contains(g.log.Pasted, s.Name)
	if len(s.Name) > maxName || known && !pasted {
		return
	}
	at := g.choices(host)
	delete(at.Env, s.Name)
	delete(g.log.Env, s.Name)
	g.log.Pasted = slices.DeleteFunc(g.log.Pasted, func(name string) bool { return name == s.Name })
	if s.Unset {
		return
	}
	at.Env = g.setting(at.Env, s.Name, s.Value)
	g.log.Env = g.setting(g.log.Env, s.Name, s.Value)
	if _, kept := g.log.Env[s.Name]; kept {
		g.log.Pasted = append(g.log.Pasted, strings.Clone(s.Name))
	}
}

// setting adds a setting to those of a log or of a host; the first value counts.
func (g *logRun) setting(env map[string]string, key, value string) map[string]string {
	if _, again := env[key]; again || len(env) >= maxLogEnv || !g.room(len(key)+min(len(value), maxShown)) {
		return env
	}
	if env == nil {
		env = map[string]string{}
	}
	env[strings.Clone(key)] = keep(value)
	return env
}

// adapters reads "NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>".
func (g *logRun) adapters(l line, text string) {
	if m := logOOB().FindStringSubmatch(text); m != nil && g.log.Bootstrap == "" {
		g.log.Bootstrap = keep(m[1])
	}
	at := g.choices(l.log.host)
	if g.log.HCAs != nil && at.HCAs != nil {
		return // every rank prints the list of its host
	}
	list, _, _ := strings.Cut(text, "OOB")
	var hcas []string
	for _, m := range logHCA().FindAllStringSubmatch(list, maxLogHCAs) {
		hcas = append(hcas, keep(m[1]))
	}
	if g.log.HCAs == nil {
		g.log.HCAs = hcas
	}
	if at.HCAs == nil && g.room(len(list)) {
		at.HCAs = hcas
	}
}

// network reads the network in use.
func (g *logRun) network(host, name string) {
	name = strings.TrimSpace(strings.TrimSuffix(name, "."))
	if g.log.Net == "" {
		g.log.Net = keep(name)
	}
	if at := g.choices(host); at.Net == "" && g.room(len(name)) {
		at.Net = keep(name)
	}
}

// rank reads "comm 0x... rank 0 nranks 16 cudaDev 0 nvmlDev 0 busId 4000 commId 0x... - Init COMPLETE" and
// "comm 0x... rank 1 nRanks 2 nNodes 1 ...". Of several communicators the largest counts.
func (g *logRun) rank(l line, text string) {
	m := logInit().FindStringSubmatch(text)
	if m == nil {
		return
	}
	rank, ranks := small(m[1]), small(m[2])
	g.ranks(ranks)
	if ranks < g.log.Ranks {
		return
	}
	if n := logNodes().FindStringSubmatch(m[3]); n != nil {
		g.log.Nodes = max(g.log.Nodes, small(n[1]))
	}
	g.ready = g.ready || strings.Contains(text, "Init COMPLETE")
	g.process(processOf(l.log), rank)
	device, found := after(m[3], "cudaDev ")
	if !found {
		return
	}
	bus, _ := after(m[3], "busId ")
	g.gpu(fabric.LogGPU{Rank: rank, Host: strings.Clone(l.log.host), Device: small(device), Bus: keep(bus)})
}

func (g *logRun) ranks(n int) {
	if n > g.log.Ranks {
		g.log.Ranks = n
		clear(g.gpus)
		clear(g.ranksOf)
	}
}

// process records which rank a process has.
func (g *logRun) process(name string, rank int) {
	const each = 64 // bytes of an entry
	if _, again := g.ranksOf[name]; again || name == "" || len(g.ranksOf) >= maxLogRanks || !g.room(each+len(name)) {
		return
	}
	g.ranksOf[name] = rank
}

func (g *logRun) gpu(gpu fabric.LogGPU) {
	const each = 160 // bytes of an entry, here and in the result
	if _, again := g.gpus[gpu.Rank]; again || len(g.gpus) >= maxLogRanks || len(gpu.Bus) > maxName || !g.room(each+len(gpu.Host)) {
		return
	}
	g.gpus[gpu.Rank] = gpu
}

// after returns the word after a key.
func after(text, key string) (string, bool) {
	_, rest, ok := strings.Cut(text, key)
	word, _, _ := strings.Cut(rest, " ")
	return word, ok && word != ""
}

// logChannels reads the number of "16 coll channels, ...".
func logChannels(text string) string {
	number, _, ok := strings.Cut(text, " coll channels")
	if !ok || !isDigits(number) {
		return ""
	}
	return number
}

// beginsPath is a quick test for logPath.
func beginsPath(text string) bool {
	return len(text) > 4 && (text[3] == '/') && strings.IndexByte("GNCP", text[0]) >= 0
}

// channel reads a connection of a channel. Up to NCCL 2.17, and in RCCL, the brackets have the bus id of the GPU;
// later the number of the device.
func (g *logRun) channel(host, text string) {
	ends, via, sends, ok := parseChannel(text)
	if !ok {
		return
	}
	via, rest, _ := strings.Cut(via, " comm ")
	if strings.Contains(rest, "nRanks ") {
		if n := logAllRanks().FindStringSubmatch(rest); n != nil {
			g.ranks(small(n[1]))
		}
	}
	for _, end := range ends {
		const shortestBus = 4 // 1c000 has five digits, a device number at most two
		if len(end.bus) >= shortestBus {
			g.gpu(fabric.LogGPU{Rank: small(end.rank), Device: -1, Bus: strings.Clone(end.bus)})
		}
	}
	c := g.connected(strings.TrimSpace(via))
	switch {
	case !sends || c.HCA < 0:
	case c.GDR:
		g.choices(host).Direct++
	default:
		g.choices(host).Bounced++
	}
}

// connected counts a connection. Its words are parsed once.
func (g *logRun) connected(via string) fabric.LogConnection {
	c, known := g.vias[via]
	if !known {
		c = connection(via)
		if len(g.vias) < maxLogKinds && len(via) <= maxShown && g.room(2*len(via)) {
			g.vias[strings.Clone(via)] = c
		}
	}
	if _, known := g.connections[c]; known || len(g.connections) < maxLogKinds && g.room(2*maxShown) {
		g.connections[c]++
	}
	return c
}

// channelEnd is a rank, and what stands in brackets behind it.
type channelEnd struct{ rank, bus string }

// parseChannel reads "Channel 00/0 : 0[1c000] -> 8[1c000] [send] via NET/IB/0", without the parts in brackets in some
// versions, and "Ring" for "Channel" in the oldest. sends: the line says that it is of the side that sends.
func parseChannel(text string) (ends [2]channelEnd, via string, sends, ok bool) {
	_, rest, ok := strings.Cut(text, " : ")
	if !ok {
		return ends, "", false, false
	}
	path, via, ok := strings.Cut(rest, " via ")
	from, to, both := strings.Cut(path, " -> ")
	if !ok || !both || via == "" {
		return ends, "", false, false
	}
	to, side, _ := strings.Cut(to, " [")
	for i, end := range []string{from, to} {
		rank, bus, _ := strings.Cut(strings.TrimSuffix(end, "]"), "[")
		if !isDigits(rank) {
			return ends, "", false, false
		}
		ends[i] = channelEnd{rank, bus}
	}
	return ends, via, side == "send]", true
}

// connection reads NET/IB/0/GDRDMA, NET/AWS Libfabric/3(7)/GDRDMA/Shared, P2P/CUMEM/read, SHM/direct/direct.
// The number in parentheses is the rank that sends on behalf of another (PXN).
func connection(via string) fabric.LogConnection {
	c := fabric.LogConnection{HCA: -1}
	parts := strings.Split(via, "/")
	if parts[0] != "NET" || len(parts) < 3 {
		c.Via = keep(parts[0])
		return c
	}
	c.Via = keep("NET/" + parts[1])
	number, _, _ := strings.Cut(parts[2], "(")
	if v, err := strconv.Atoi(number); err == nil && v >= 0 {
		c.HCA = v
	}
	for _, p := range parts[3:] {
		c.GDR = c.GDR || strings.HasPrefix(p, "GDRDMA")
		c.Proxy = c.Proxy || strings.HasPrefix(p, "Shared")
	}
	return c
}

// dump keeps the System dump and the paths below it, of one thread per host: every rank prints the same text.
func (g *logRun) dump(l line, text string) bool {
	host := l.log.host
	begins, rule := strings.HasPrefix(text, "=== System"), strings.HasPrefix(text, "=====")
	path := beginsPath(text) && logPath().MatchString(text)
	if begins && g.dumper[host] == "" && len(g.dumper) < maxLogHosts && g.room(2*longestHost) {
		g.dumper[strings.Clone(host)] = strings.Clone(l.log.thread)
		g.dumping = true
	}
	ours := g.dumper[host] != "" && g.dumper[host] == l.log.thread
	tree := g.dumping && ours && (strings.HasPrefix(text, "+ ") || strings.HasPrefix(text, "CPU/") || begins)
	switch {
	case ours && (tree || path):
		kept := keepUpTo(strings.TrimRight(l.log.message, " "), maxLogPath)
		if len(g.log.Paths) < maxLogPaths && g.room(len(kept)) {
			g.log.Paths = append(g.log.Paths, fabric.LogLine{Line: l.number, Text: kept})
		}
	case ours && rule:
		g.dumping = false
	}
	return tree || path || begins || rule
}

// returnedError reports whether a message is an error that a function of the library returned for good.
func returnedError(message string) bool {
	return strings.Contains(message, " -> ") && logError().MatchString(message) && !logTried().MatchString(strings.TrimSpace(message))
}
