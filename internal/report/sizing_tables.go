package report

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// plans writes the table of all plans, and with Verbose the ledgers of the first beside each other.
func (p *printer) plans(s *fabric.Sizing) error {
	if len(s.Plans) == 0 {
		return nil
	}
	p.heading("Plans")
	most := plansShown
	if p.o.Verbose {
		most = tableRowsAll
	}
	list, more := bounded(s.Plans, most)
	p.table(planColumns(list))
	if more > 0 {
		p.line(fmt.Sprintf("  ... and %s; %s", fabric.Count(more, "more plan"), p.where()))
	}
	if l := draw.SizingLedger(s, ledgersShown); p.o.Verbose && len(l.Bars) > 1 {
		p.blank()
		return p.ledgerText(l)
	}
	return nil
}

// ledgersShown is how many plans have their ledgers side by side.
const ledgersShown = 4

func planColumns(plans []fabric.SizingPlan) []column {
	all := []column{
		{name: "layout", left: true}, {name: "servers", drop: 5}, {name: "fraction", drop: 3}, {name: "weights", unit: "GiB/GPU"},
		{name: "KV tokens"}, {name: "requests", unit: "at full", drop: 2}, {name: "free", unit: "GiB", drop: 4}, {name: "", left: true},
	}
	for _, x := range plans {
		word := "fits"
		if !x.Fits {
			word = "does not fit"
		}
		if x.Role != "" {
			word += ", " + short(x.Role, 16)
		}
		requests := draw.Rate(x.Requests)
		if !(x.Requests >= 0) {
			requests = "?"
		}
		for i, cell := range []string{
			draw.PlanName(x), fmt.Sprint(x.Nodes), ratio(x.MemFraction), draw.GiB(float64(x.WeightsBytesPerGPU)),
			thousands(x.KVTokens), requests, draw.GiB(float64(x.FreeBytes)), fabric.Printable(word),
		} {
			all[i].cells = append(all[i].cells, cell)
		}
	}
	return all
}

// performance writes how fast a plan is, by workload and by how many use it, and what the network buys.
func (p *printer) performance(x fabric.SizingPlan) {
	own, others := byNetwork(x.Performance)
	if len(own) == 0 {
		return
	}
	title := "Performance of " + draw.PlanName(x)
	if own[0].Network != "" {
		title += " over " + printable(own[0].Network)
	}
	p.heading(fabric.Printable(title))
	most := speedShown
	if p.o.Verbose {
		most = tableRowsAll
	}
	rows, _ := bounded(own, most)
	if len(own) > most {
		rows, _ = bounded(fewSpeeds(own), most)
	}
	p.table(performanceColumns(rows))
	if more := len(own) - len(rows); more > 0 {
		p.line(fmt.Sprintf("  ... and %s; %s", fabric.Count(more, "more row"), p.where()))
	}
	if len(others) == 0 {
		return
	}
	p.heading("What the network buys")
	p.table(networkColumns(networkRows(own, others, p.o.Verbose, most)))
}

// byNetwork parts the rows of the plan's own network, which the first row names, from those of others.
func byNetwork(all []fabric.Performance) (own, others []fabric.Performance) {
	for _, x := range all {
		if x.Network == all[0].Network {
			own = append(own, x)
		} else {
			others = append(others, x)
		}
	}
	return own, others
}

// fewSpeeds keeps of each workload the rows of the fewest users, of the most, and of the middle.
func fewSpeeds(all []fabric.Performance) []fabric.Performance {
	byWorkload := map[string][]int{}
	for i, x := range all {
		byWorkload[x.Workload] = append(byWorkload[x.Workload], i)
	}
	var few []fabric.Performance
	for i, x := range all {
		rows := byWorkload[x.Workload]
		if i == rows[0] || i == rows[len(rows)/2] || i == rows[len(rows)-1] {
			few = append(few, x)
		}
	}
	return few
}

func performanceColumns(rows []fabric.Performance) []column {
	all := []column{
		{name: "workload", left: true}, {name: "in/out", unit: "tokens", drop: 3}, {name: "users"}, {name: "running", drop: 5},
		{name: "tokens/s"}, {name: "band", unit: "tokens/s", drop: 4}, {name: "TPOT", unit: "ms"}, {name: "TTFT", unit: "ms"}, {name: "limit", left: true, drop: 1},
	}
	for _, r := range rows {
		for i, cell := range []string{
			short(fabric.Printable(orElse(r.Workload, "?")), 24), fmt.Sprintf("%d/%d", r.Input, r.Output), fmt.Sprint(r.Concurrency), positive(r.Running),
			positive(r.TokensS), span(r.Band[0], r.Band[1], "-"), positive(r.TPOTms), span(r.TTFTms[0], r.TTFTms[1], "-"), short(fabric.Printable(orElse(r.Limit, "?")), 32),
		} {
			all[i].cells = append(all[i].cells, cell)
		}
	}
	return all
}

// networkRow is a workload on each network; the first is the plan's own.
type networkRow struct {
	workload string
	users    int
	networks []string
	tokens   []float64
}

// networkRows puts the rows of other networks beside those of the own one: of each workload the row of most
// users, or all.
func networkRows(own, others []fabric.Performance, all bool, most int) []networkRow {
	const mostNetworks = 4
	networks := []string{own[0].Network}
	for _, x := range others {
		if !slices.Contains(networks, x.Network) && len(networks) <= mostNetworks {
			networks = append(networks, x.Network)
		}
	}
	type key struct {
		workload, network string
		in, out, users    int
	}
	tokens := map[key]float64{}
	users := map[string]int{}
	for _, x := range others {
		tokens[key{x.Workload, x.Network, x.Input, x.Output, x.Concurrency}] = x.TokensS
		users[x.Workload] = max(users[x.Workload], x.Concurrency)
	}
	var rows []networkRow
	for _, x := range own {
		if !all && x.Concurrency != users[x.Workload] {
			continue
		}
		row := networkRow{x.Workload, x.Concurrency, networks, []float64{x.TokensS}}
		shown := false
		for _, n := range networks[1:] {
			v, ok := tokens[key{x.Workload, n, x.Input, x.Output, x.Concurrency}]
			shown = shown || ok
			row.tokens = append(row.tokens, v)
		}
		if shown && len(rows) < most {
			rows = append(rows, row)
		}
	}
	return rows
}

func networkColumns(rows []networkRow) []column {
	all := []column{{name: "workload", left: true}, {name: "users"}}
	for i, r := range rows {
		if i == 0 {
			for k, n := range r.networks {
				name := short(fabric.Printable(n), 20)
				if k == 0 {
					name = orElse(name, "as planned")
				}
				all = append(all, column{name: name, unit: "tokens/s", drop: k})
			}
		}
		all[0].cells = append(all[0].cells, short(fabric.Printable(orElse(r.workload, "?")), 24))
		all[1].cells = append(all[1].cells, fmt.Sprint(r.users))
		for k, v := range r.tokens {
			cell := positive(v)
			if k > 0 && finite(v) && v > 0 && finite(r.tokens[0]) && r.tokens[0] > 0 {
				cell += fmt.Sprintf(" (%.0f %%)", min(v/r.tokens[0], 1e6)*100)
			}
			all[k+2].cells = append(all[k+2].cells, cell)
		}
	}
	return all
}

// storage writes the storage and platform around the GPUs.
func (p *printer) storage(x *fabric.SizingStorage) {
	if x == nil {
		return
	}
	p.heading("Storage and platform")
	for _, l := range storageLines(x, p.sizingLimit(), p.where()) {
		p.fields(l.Label, l.Lines)
	}
}

// storageLines are the lines of the storage, for the terminal and the page.
func storageLines(x *fabric.SizingStorage, most int, where string) []row {
	var all []row
	add := func(label string, lines ...string) {
		lines = slices.DeleteFunc(lines, func(l string) bool { return l == "" })
		if len(lines) > 0 {
			all = append(all, row{Label: label, Lines: limited(printableAll(lines), most, where)})
		}
	}
	download := ""
	if x.DownloadBytes > 0 {
		download = gibText(x.DownloadBytes)
		if len(x.Filter) > 0 {
			download += " of " + strings.Join(x.Filter, ", ")
		}
		if x.RepositoryBytes > x.DownloadBytes {
			download += "; the whole repository is " + gibText(x.RepositoryBytes)
		}
	}
	add("download", append([]string{download}, x.Left...)...)
	volume := ""
	if x.PVCBytes > 0 {
		volume = strings.TrimSpace(draw.Bytes(x.PVCBytes) + " " + x.AccessMode)
		if x.Copies > 0 {
			volume += fmt.Sprintf(", copies: %d", x.Copies)
		}
	}
	add("volume", volume)
	var loads []string
	for _, l := range x.Loads {
		text := duration(l.Seconds) + " from " + orElse(l.Storage, "storage")
		if finite(l.GBs) && l.GBs > 0 {
			text += " at " + draw.ThreeDigits(l.GBs) + " GB/s"
		}
		if l.Formula != "" {
			text += " (" + l.Formula + ")"
		}
		loads = append(loads, text)
	}
	add("load", append(loads, x.ExplainedLoads...)...)
	if x.MMIOBytes > 0 {
		mmio := fmt.Sprintf("%s GB of 64-bit MMIO per VM (GB as vSphere counts, 2^30)", thousands(x.MMIOBytes>>30))
		if x.MMIOFormula != "" {
			mmio += ": " + x.MMIOFormula
		}
		add("MMIO", mmio)
	}
	if x.GroupSize > 0 {
		add("pods", fmt.Sprintf("LeaderWorkerSet of size %d: one pod per server", x.GroupSize))
	}
	add("domain", x.Domain...)
	add("note", x.Notes...)
	return all
}
