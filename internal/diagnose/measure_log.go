package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// measureLogs reads from debug logs which way NCCL took, and what its hosts chose differently.
func (s *observed) measureLogs() {
	if s.kind == fabric.PerftestOutput {
		return // what NCCL did says nothing of perftest
	}
	shown := map[string]bool{}
	for i, l := range s.logs {
		own := i == 0 && s.kind == fabric.NCCLDebugLog || s.kind == fabric.ObservationFile
		show := func(shows, text string) {
			if !own && shown[shows] {
				return // what another log has shown counts once
			}
			shown[shows] = true
			s.seen = append(s.seen, evidence.Measure{Shows: shows, From: "messages of network", Seen: evidence.Seen{Source: "log", Text: text, Own: own}})
		}
		if !networked(l, s.hw) && l.Net != "Socket" && len(l.HCAs) == 0 {
			continue
		}
		s.transport(l, show)
		s.subsetOf(l, show)
		s.distances(l, show)
	}
	s.measureHosts()
	s.measureHCASetting()
	s.measureWork()
}

// measureHosts compares what the hosts of all logs chose: each may have written a log of its own.
func (s *observed) measureHosts() {
	most := 0
	for _, l := range s.logs {
		most += len(l.ByHost)
	}
	hosts, known := make([]fabric.LogHost, 0, most), make(map[string]bool, most)
	for _, l := range s.logs {
		for _, h := range l.ByHost {
			if known[h.Host] {
				continue // of another run of the same host
			}
			known[h.Host] = true
			hosts = append(hosts, h)
		}
	}
	s.seen = append(s.seen, evidence.Asymmetries(hosts, evidence.Seen{Source: "log", Own: s.kind == fabric.NCCLDebugLog || s.kind == fabric.ObservationFile})...)
}

// work finds what a rank of PyTorch waits for (ProcessGroupNCCL.cpp, WorkNCCL): its number, kind and elements.
var work = pattern.New(`WorkNCCL\(SeqNum=(\d+), OpType=(\w+), NumelIn=(\d+), NumelOut=(\d+)`)

// measureWork compares what ranks wait for: the work of one number is the same collective of one size on all of them.
func (s *observed) measureWork() {
	first := map[string]string{}
	for _, e := range s.seen {
		at := e.Where()
		m := work().FindStringSubmatch(at.Text)
		if m == nil {
			continue
		}
		what := fmt.Sprintf("%s of %s to %s elements", m[2], m[3], m[4])
		switch other, known := first[m[1]]; {
		case !known:
			first[m[1]] = what
		case other != what:
			s.seen = append(s.seen, evidence.Asymmetry{What: "work", Seen: evidence.Seen{Source: at.Source, Own: at.Own, Text: fmt.Sprintf("ranks wait for different work of number %s: %s, and %s", m[1], other, what)}})
			return
		}
	}
}

// transport asks what the connections between machines run on.
func (s *observed) transport(l *fabric.NCCLLog, show func(shows, text string)) {
	if differ := slices.ContainsFunc(l.ByHost, func(h fabric.LogHost) bool { return h.Net != "" && h.Net != l.Net }); differ {
		return // which way the job took is what its hosts differ in
	}
	socket, direct, bounced := strings.EqualFold(l.Net, "Socket"), 0, 0
	for _, c := range l.Connections {
		switch via := strings.ToUpper(c.Via); {
		case via == "NET/SOCKET":
			socket = true
		case strings.HasPrefix(via, "NET/IB") && c.GDR: // plugins name themselves, and carry what they will
			direct += max(1, c.Count)
		case strings.HasPrefix(via, "NET/IB"):
			bounced += max(1, c.Count)
		}
	}
	if socket && l.Nodes != 1 && s.hw.Nodes != 1 {
		switch {
		case strings.EqualFold(s.hw.Net, "tcp"):
		case s.hasRDMA():
			show("sockets between nodes", "NET/Socket: NCCL runs on TCP")
		default:
			show("sockets where nothing tells of RDMA", "NET/Socket: NCCL runs on TCP, and nothing tells of RDMA devices")
		}
		return
	}
	if strings.HasPrefix(strings.ToUpper(l.Net), "IB") || direct+bounced > 0 {
		show("RDMA between nodes", "NCCL runs on RDMA")
	}
	switch {
	case spark(s.hw): // GB10 has one memory and no GPUDirect RDMA: NCCL always says that it is off
	case bounced > 0 && direct == 0:
		show("no connection with GDRDMA", fmt.Sprintf("none of %d connections over the network has GDRDMA", bounced))
	case bounced > 0:
		show("some connections without GDRDMA", fmt.Sprintf("%d of %d connections over the network have no GDRDMA", bounced, bounced+direct))
	case direct > 0:
		show("all connections with GDRDMA", fmt.Sprintf("all %d connections over the network have GDRDMA", direct))
	}
}

// rdmaWords are names of RDMA devices and of what they are made for.
var rdmaWords = pattern.New(`(?i)\b(?:mlx[45]_\w+|bnxt_re\w*|ionic\w*|irdma\w*|rocep\w+|efa|infiniband|roce\w*|connectx|ib\d+\b|hca)`)

// hasRDMA reports whether anything tells that the machines have RDMA devices for the job.
func (s *observed) hasRDMA() bool {
	if s.hw.NIC != "" || s.hw.Machine != "" || s.hw.Net != "" && !strings.EqualFold(s.hw.Net, "none") {
		return true
	}
	s.rdma = s.rdma || slices.ContainsFunc(s.seen[s.searched:], func(e evidence.Evidence) bool {
		_, said := e.(evidence.Setting)
		return !said && rdmaWords().MatchString(e.Where().Text)
	})
	s.searched = len(s.seen) // each is searched once, however many logs ask
	return s.rdma || slices.ContainsFunc(s.logs, func(l *fabric.NCCLLog) bool { return len(l.HCAs) > 0 || rdmaWords().MatchString(l.Bootstrap) })
}

// subsetOf compares the NICs that NCCL lists with those of a machine.
func (s *observed) subsetOf(l *fabric.NCCLLog, show func(shows, text string)) {
	n, all := len(l.HCAs), s.hw.NICsPerNode
	if n == 0 {
		n = carriers(l)
		if n < all {
			return // connections name those that a rank uses, not all that it may
		}
	}
	switch {
	case n == 0 || all == 0:
	case n < all && spark(s.hw) && n == 1:
		show("one twin of a port", fmt.Sprintf("NET/IB uses %s alone, one twin of a port", l.HCAs[0]))
	case n < all:
		show("some of the NICs", fmt.Sprintf("NET/IB uses %d of %d NICs: %s", n, all, strings.Join(l.HCAs[:min(n, 16)], " ")))
	default:
		show("all of the NICs", fmt.Sprintf("NET/IB uses %d NICs, all of them", n))
	}
}

// carriers is over how many NICs the connections of a log go.
func carriers(l *fabric.NCCLLog) int {
	seen := map[int]bool{}
	for _, c := range l.Connections {
		if c.HCA >= 0 && strings.HasPrefix(strings.ToUpper(c.Via), "NET/IB") {
			seen[c.HCA] = true
		}
	}
	return len(seen)
}

// distances reads the System dump: with every NIC behind the CPU there is no switch that NCCL knows of.
func (s *observed) distances(l *fabric.NCCLLog, show func(shows, text string)) {
	far, near := 0, 0
	for _, line := range l.Paths {
		if !strings.HasPrefix(strings.TrimSpace(line.Text), "GPU/") {
			continue
		}
		for _, f := range strings.Fields(line.Text) {
			_, to, ok := strings.Cut(f, "(")
			switch {
			case ok && strings.HasSuffix(to, "/PHB)"), strings.HasSuffix(to, "/SYS)"):
				far++
			case strings.HasSuffix(to, "/PIX)"), strings.HasSuffix(to, "/PXB)"), strings.HasSuffix(to, "/P2C)"):
				near++
			}
		}
	}
	if far > 0 && near == 0 && len(l.HCAs) > 0 {
		show(s.inVM("every NIC far from every GPU"), "every NIC is PHB or SYS away from every GPU")
	}
}

// measureHCASetting counts the NICs that NCCL_IB_HCA leaves. Names are prefixes unless = stands in front, ^ leaves
// out, and NCCL does not trim blanks.
func (s *observed) measureHCASetting() {
	named, ucx := map[setting]bool{}, setting{}
	for _, v := range s.settings {
		switch v.name {
		case "NCCL_IB_HCA":
			if !named[v] { // else many logs say the same
				named[v] = true
				s.hcas(v)
			}
		case "UCX_NET_DEVICES":
			ucx = v
		}
	}
	if ucx.name != "" && len(named) == 0 && s.slowAcross() != nil {
		s.seen = append(s.seen, evidence.Measure{Shows: "UCX told which NICs", Seen: evidence.Seen{Source: ucx.source, Text: "UCX_NET_DEVICES=" + ucx.value + " does not steer NCCL: NCCL_IB_HCA does"}})
	}
}

func (s *observed) hcas(v setting) {
	value := strings.TrimSpace(v.value)
	show := func(shows, why string) {
		s.seen = append(s.seen, evidence.Measure{Shows: shows, Seen: evidence.Seen{Source: v.source, Text: "NCCL_IB_HCA=" + v.value + ": " + why, Own: true}})
	}
	names, nics := namedHCAs(value), s.hw.NICsPerNode
	switch {
	case strings.Contains(value, ", ") || strings.Contains(value, " ,"):
		show("some of the NICs", "NCCL does not trim blanks, so only the first name matches")
	case names == 0: // a bare prefix such as mlx5 takes them all
	case spark(s.hw): // measureTwins
	case nics > 0 && names < nics:
		show("some of the NICs", fmt.Sprintf("%d of %d NICs", names, nics))
	case nics == 0 && names == 1:
		show("the rate of some NICs", "one NIC")
	}
}

// driverName is a driver, whose name ends in a digit and is a prefix of all its devices.
var driverName = pattern.New(`^mlx[45]_?$`)

// namedHCAs counts the NICs that NCCL_IB_HCA names; 0: it names none, leaves some out, or takes all by a prefix.
func namedHCAs(value string) int {
	value = strings.TrimSpace(value)
	if value == "" || strings.HasPrefix(value, "^") || strings.Contains(value, " ") {
		return 0
	}
	names := strings.Split(strings.TrimPrefix(value, "="), ",")
	for _, n := range names {
		name, _, _ := strings.Cut(n, ":") // a port may follow
		if driverName().MatchString(name) || !strings.HasPrefix(value, "=") && strings.TrimRight(name, "0123456789") == name {
			return 0
		}
	}
	return len(names)
}
