package bench

import (
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// Arguments of perftest (linux-rdma/perftest, src/perftest_parameters.c). Without -R the path MTU is that of the port, which
// follows the interface's; over rdma_cm, as "DGX Spark Networking" has it with --force-link IB, 1024 was seen on interfaces of 9000.
// The GID index is left to perftest: it takes the RoCE v2 one of an IPv4 address.
const (
	bandwidthSeconds = 6 // of a bandwidth test: perftest leaves out the first and last two (-f)
	latencyRounds    = 10000
	queuePairs       = 4 // as the document: one reaches 109.3 Gb/s of a PCIe Gen5 x4 link, four 111.7
	firstPort        = 18515
)

// path is the way from a twin of one machine to one of another.
type path struct {
	from, to fabric.NodePort
	twin     int // number in both
	address  string
}

func (p path) link(rail int) fabric.Link {
	return fabric.Link{A: fabric.Endpoint{Node: p.from.Node, NIC: p.from.Twins[p.twin].NIC}, B: fabric.Endpoint{Node: p.to.Node, NIC: p.to.Twins[p.twin].NIC}, Rail: rail}
}

// cable is two ports that reach each other, with a path for each twin.
type cable struct {
	from, to fabric.NodePort
	paths    []path
	rails    []int
}

func portName(p fabric.NodePort) string { return fmt.Sprintf("%s:port%d", p.Node, p.Number) }

// cables are the ports that test each other: both ends of each cable; on a switch each machine and the next one, in a circle, so
// that each port sends and receives once.
func cables(p *fabric.Plan) (all []cable, err error) {
	if p.Wiring() == fabric.WiredSwitch {
		return throughSwitch(p)
	}
	for _, l := range p.Cabling.Links {
		from, ok := p.PortOf(l.A)
		to, too := p.PortOf(l.B)
		if !ok || !too {
			return nil, fmt.Errorf("plan %q: cable %s to %s: an end is no port of a machine", p.Name, l.A, l.B)
		}
		if n := len(all); n == 0 || all[n-1].from.Node != from.Node || all[n-1].from.Number != from.Number {
			c, err := newCable(p, from, to)
			if err != nil {
				return nil, err
			}
			all = append(all, c)
		}
	}
	return all, nil
}

func throughSwitch(p *fabric.Plan) (all []cable, err error) {
	for i, n := range p.Nodes {
		next := p.Nodes[(i+1)%len(p.Nodes)]
		if len(p.Nodes) == 2 && i == 1 {
			break // the way back is the same cables
		}
		for _, from := range p.PortsOf(n.Name) {
			for _, to := range p.PortsOf(next.Name) {
				if to.Number != from.Number {
					continue
				}
				c, err := newCable(p, from, to)
				if err != nil {
					return nil, err
				}
				all = append(all, c)
			}
		}
	}
	return all, nil
}

func newCable(p *fabric.Plan, from, to fabric.NodePort) (cable, error) {
	c := cable{from: from, to: to}
	if len(from.Twins) != len(to.Twins) {
		return c, fmt.Errorf("plan %q: %s has %d twins, %s %d", p.Name, portName(from), len(from.Twins), portName(to), len(to.Twins))
	}
	for i := range from.Twins {
		address, err := addressOf(p, to, i)
		if err != nil {
			return c, err
		}
		c.paths = append(c.paths, path{from, to, i, address})
		c.rails = append(c.rails, i+1)
	}
	return c, nil
}

// addressOf is where perftest's own connection goes: the address of the twin, or of another twin of the port for one that has
// none. What is measured goes through the RDMA device all the same.
func addressOf(p *fabric.Plan, port fabric.NodePort, twin int) (string, error) {
	of := p.Addressing.ByNode()[port.Node]
	find := func(nic string) string {
		for _, a := range of.NICs {
			if a.NIC == nic {
				return a.Address.Addr().String()
			}
		}
		return ""
	}
	if a := find(port.Twins[twin].NIC); a != "" {
		return a, nil
	}
	for _, t := range port.Twins {
		if a := find(t.NIC); a != "" {
			return a, nil
		}
	}
	return "", fmt.Errorf("plan %q: no interface of %s has an address", p.Name, portName(port))
}

// perftestTests are, for each cable: each twin alone, its latency, and all twins of the port at once.
func perftestTests(p *fabric.Plan, _ Limits) (tests []fabric.BenchTest, err error) {
	all, err := cables(p)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		for i, way := range c.paths {
			link := way.link(c.rails[i])
			tests = append(tests,
				perftest(fabric.TwinBandwidth, fmt.Sprintf("write bandwidth of one twin alone, %s to %s", link.A, link.B), []path{way}, c.rails[i:i+1]),
				perftest(fabric.TwinLatency, fmt.Sprintf("write latency of one twin, %s to %s", link.A, link.B), []path{way}, c.rails[i:i+1]))
		}
		if len(c.paths) > 1 {
			tests = append(tests, perftest(fabric.PortBandwidth, fmt.Sprintf("write bandwidth of both twins at once, %s to %s", portName(c.from), portName(c.to)), c.paths, c.rails))
		}
	}
	return tests, nil
}

// perftest is a test over some paths at once: first all servers, then all clients.
func perftest(kind fabric.BenchKind, title string, ways []path, rails []int) fabric.BenchTest {
	first := ways[0]
	t := fabric.BenchTest{Kind: kind, Title: title, Nodes: []string{first.from.Node, first.to.Node}}
	name := ways[0].link(0).A.String() + "-" + ways[0].link(0).B.String()
	if kind == fabric.PortBandwidth {
		name = portName(first.from) + "-" + portName(first.to)
	}
	t.ID = string(kind) + "/" + name
	var clients []fabric.BenchCommand
	for i, w := range ways {
		t.Links = append(t.Links, w.link(rails[i]))
		port := strconv.Itoa(firstPort + i)
		t.Commands = append(t.Commands, fabric.BenchCommand{Node: w.to.Node, Argv: perftestArgv(kind, w.to.Twins[w.twin].HCA, port), Wait: true})
		clients = append(clients, fabric.BenchCommand{Node: w.from.Node, Argv: append(perftestArgv(kind, w.from.Twins[w.twin].HCA, port), w.address)})
	}
	t.Commands = append(t.Commands, clients...)
	return t
}

func perftestArgv(kind fabric.BenchKind, device, port string) []string {
	if kind == fabric.TwinLatency {
		return []string{"ib_write_lat", "-d", device, "-F", "-n", strconv.Itoa(latencyRounds), "-p", port}
	}
	return []string{"ib_write_bw", "-d", device, "-F", "-q", strconv.Itoa(queuePairs), "-D", strconv.Itoa(bandwidthSeconds), "--report_gbits", "-p", port}
}
