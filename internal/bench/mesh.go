package bench

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// smallEcho is the IP packet of a plain ping, in bytes: 20 of IPv4, 8 of ICMP and 56 of payload, as ping(8).
const smallEcho = 84

// MeshOptions are the limits of a mesh.
type MeshOptions struct {
	Command func(node string) []string // runs MeshNode on that node
	Wait    time.Duration              // for an answer, each of two tries
	Timeout time.Duration              // for a node to get ready, and to be done
}

// meshOrders is the first line that a node reads.
type meshOrders struct {
	Node  string    `json:"node"`
	Nonce uint64    `json:"nonce"` // distinguishes this mesh's echoes from any other's
	NICs  []meshNIC `json:"nics"`  // of the whole mesh; an echo names its ends by their index here
	Small int       `json:"small"` // bytes of the IP packet
	Full  int       `json:"full"`
	Wait  int       `json:"wait_ms"`
}

type meshNIC struct {
	Node    string `json:"node"`
	NIC     string `json:"nic"`
	Address string `json:"address"`
	Subnet  string `json:"subnet,omitempty"` // all that it reaches; empty: its traffic is routed
}

// reaches reports whether the plan lets one NIC reach another. Both ends of the protocol ask it, so that they list the same pairs.
func (n meshNIC) reaches(to meshNIC) bool {
	return n.Node != to.Node && (n.Subnet == "" || n.Subnet == to.Subnet)
}

// meshSent is the second line that a node prints, after "ready": the results of its echoes, in the order of
// its own NICs and, for each, of the NICs of all other nodes.
type meshSent struct {
	Small []fabric.Echo `json:"small"`
	Full  []fabric.Echo `json:"full"`
}

// meshSeen is the third line: on which interface each request for this node came in, and, where nothing is routed, which
// addresses asked by ARP on which interface.
type meshSeen struct {
	Small map[int64]string    `json:"small"` // key: from*NICs + to
	Full  map[int64]string    `json:"full"`
	ARP   map[string][]string `json:"arp,omitempty"`
}

// Mesh lets every NIC of the plan ping every NIC of all other nodes that the plan lets it reach, from all nodes at once: raw
// ICMP, bound to device and address, small and as large as the planned MTU without fragmenting. Each node also watches on
// which of its interfaces the requests of the others arrive. Pairs in different subnets of which nothing is routed are counted.
// A node that cannot take part is named in Absent, and what only it could have seen stays unknown.
func Mesh(ctx context.Context, p *fabric.Plan, nodes map[string]host.Runner, o MeshOptions) (*fabric.Mesh, error) {
	nics := meshNICs(p)
	if len(p.Nodes) < 2 || len(nics) == 0 {
		return nil, fmt.Errorf("mesh: %d nodes with %d addresses: a mesh needs at least two nodes", len(p.Nodes), len(nics))
	}
	m := &fabric.Mesh{Meta: fabric.NewMeta("Mesh")}
	if m.Pairs, m.Apart = pairsOf(nics); len(m.Pairs) == 0 {
		return nil, fmt.Errorf("mesh: the plan lets none of %d addresses reach one of another node", len(nics))
	}
	all := startProcesses(ctx, p, nodes, nics, o, m)
	started := time.Now()
	all.each(func(c *member) error { return c.send(o.Timeout) })
	m.Seconds = time.Since(started).Seconds()
	all.each(func(c *member) error { return c.stop(o.Timeout) })
	all.each(func(c *member) error {
		c.err = c.finish(o.Timeout) // nothing is left to end
		return nil
	})
	for _, c := range all.members {
		if c.err != nil {
			m.Absent = append(m.Absent, fabric.Missing{What: c.node, Source: "mesh", Reason: c.err.Error()})
		}
	}
	all.merge(m, nics)
	m.Heard = all.heard()
	return m, ctx.Err()
}

func meshNICs(p *fabric.Plan) []meshNIC {
	var nics []meshNIC
	for _, n := range p.Addressing.Nodes {
		for _, a := range n.NICs {
			one := meshNIC{Node: n.Node, NIC: a.NIC, Address: a.Address.Addr().String()}
			if p.Addressing.Scheme == fabric.Twin24 {
				one.Subnet = a.Address.Masked().String()
			}
			nics = append(nics, one)
		}
	}
	return nics
}

// pairsOf lists the pairs of NICs of different nodes, and counts those that the plan keeps apart.
func pairsOf(nics []meshNIC) (pairs []fabric.Measurement, apart int) {
	for _, from := range nics {
		for _, to := range nics {
			switch {
			case from.reaches(to):
				pairs = append(pairs, fabric.Measurement{From: from.endpoint(), To: to.endpoint()})
			case from.Node != to.Node:
				apart++
			}
		}
	}
	return pairs, apart
}

func (n meshNIC) endpoint() fabric.Endpoint { return fabric.Endpoint{Node: n.Node, NIC: n.NIC} }

// processes are those of a mesh, one per node.
type processes struct{ members []*member }

type member struct {
	node    string
	pairs   int // that start on it
	process *host.Process
	lines   *bufio.Reader
	err     error // why it dropped out
	sent    *meshSent
	seen    *meshSeen
}

func startProcesses(ctx context.Context, p *fabric.Plan, nodes map[string]host.Runner, nics []meshNIC, o MeshOptions, m *fabric.Mesh) *processes {
	var nonce [8]byte
	rand.Read(nonce[:]) // crypto/rand.Read never fails
	orders := meshOrders{Nonce: binary.BigEndian.Uint64(nonce[:]), NICs: nics, Small: smallEcho, Full: p.MTU, Wait: int(o.Wait.Milliseconds())}
	c := &processes{}
	for _, n := range p.Nodes {
		r, ok := nodes[n.Name]
		if !ok {
			m.Absent = append(m.Absent, fabric.Missing{What: n.Name, Source: "mesh", Reason: "no command can be run on it from here"})
			continue
		}
		one := &member{node: n.Name, pairs: pairsFrom(n.Name, nics)}
		c.members = append(c.members, one)
		one.process, one.err = r.Start(ctx, host.Command{Argv: o.Command(n.Name)})
	}
	c.each(func(one *member) error {
		orders := orders
		orders.Node = one.node
		return one.ready(orders, o.Timeout)
	})
	return c
}

func pairsFrom(node string, nics []meshNIC) (pairs int) {
	for _, from := range nics {
		if from.Node != node {
			continue
		}
		for _, to := range nics {
			if from.reaches(to) {
				pairs++
			}
		}
	}
	return pairs
}

// each runs a step with every remaining member in parallel; one that fails drops out.
func (c *processes) each(step func(*member) error) {
	host.Each(c.members, max(1, len(c.members)), func(one *member) {
		if one.err != nil {
			return
		}
		if err := step(one); err != nil {
			one.err = errors.Join(err, one.end())
		}
	})
}

func (c *member) ready(o meshOrders, timeout time.Duration) error {
	c.lines = bufio.NewReaderSize(c.process.Stdout, 1<<16)
	text, err := json.Marshal(o)
	if err != nil {
		return err
	}
	line, err := c.ask(append(text, '\n'), timeout)
	if err == nil && string(line) != "ready\n" {
		err = fmt.Errorf("mesh: node %q answered %.100q instead of ready", c.node, line)
	}
	return err
}

func (c *member) send(timeout time.Duration) error {
	line, err := c.ask([]byte("go\n"), timeout)
	if err != nil {
		return err
	}
	var sent meshSent
	if err := json.Unmarshal(line, &sent); err != nil {
		return fmt.Errorf("mesh: node %q, echoes: %w", c.node, err)
	}
	if len(sent.Small) != c.pairs || len(sent.Full) != c.pairs {
		return fmt.Errorf("mesh: node %q reported %d small and %d full echoes, not %d of each", c.node, len(sent.Small), len(sent.Full), c.pairs)
	}
	c.sent = &sent
	return nil
}

func (c *member) stop(timeout time.Duration) error {
	line, err := c.ask([]byte("stop\n"), timeout)
	if err != nil {
		return err
	}
	var seen meshSeen
	if err := json.Unmarshal(line, &seen); err != nil {
		return fmt.Errorf("mesh: node %q, arrivals: %w", c.node, err)
	}
	if seen.Small == nil || seen.Full == nil {
		return fmt.Errorf("mesh: node %q did not report what arrived", c.node)
	}
	c.seen = &seen
	return nil
}

// finish waits for the end of a member that has reported everything. One that does not end is killed.
func (c *member) finish(timeout time.Duration) error {
	late := time.AfterFunc(timeout, func() { _ = c.process.Kill() }) // Wait reports it
	defer late.Stop()
	return c.process.Wait()
}

// ask writes a line and reads the answer, or times out.
func (c *member) ask(line []byte, timeout time.Duration) ([]byte, error) {
	type answer struct {
		line []byte
		err  error
	}
	answers := make(chan answer, 1)
	host.Go(func() {
		if _, err := io.Copy(c.process.Stdin, bytes.NewReader(line)); err != nil {
			answers <- answer{err: err}
			return
		}
		line, err := readLine(c.lines, c.longest())
		answers <- answer{line, err}
	})
	select {
	case a := <-answers:
		return a.line, a.err
	case <-time.After(timeout):
		return nil, fmt.Errorf("mesh: no answer in %s", timeout)
	}
}

// Of an answer, in bytes: one echo in JSON takes some 150, an error text in it less than 200 more; one
// arrival, of which a node sees as many as it sends echoes, some 30.
const (
	echoText   = 512
	answerText = 4 << 10 // around them
)

// longest returns the length limit of a valid answer.
func (c *member) longest() int { return answerText + 2*echoText*c.pairs }

// readLine reads a line of at most so many bytes: what never ends it must not fill the memory.
func readLine(r *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > most {
			return nil, fmt.Errorf("a line longer than %d bytes", most)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// end kills a member's process and returns its last output.
func (c *member) end() error {
	if err := c.process.Kill(); err != nil {
		return err
	}
	return c.process.Wait()
}

// merge combines what the senders and the targets observed.
func (c *processes) merge(m *fabric.Mesh, nics []meshNIC) {
	index := make(map[fabric.Endpoint]int64, len(nics))
	for i, n := range nics {
		index[n.endpoint()] = int64(i)
	}
	byNode := make(map[string]*member)
	for _, one := range c.members {
		byNode[one.node] = one
	}
	next := make(map[string]int)
	for i := range m.Pairs {
		p := &m.Pairs[i]
		at := next[p.From.Node]
		next[p.From.Node]++
		if s := byNode[p.From.Node]; s != nil && s.sent != nil && at < len(s.sent.Small) && at < len(s.sent.Full) {
			p.Small, p.Full = s.sent.Small[at], s.sent.Full[at]
		}
		if t := byNode[p.To.Node]; t != nil && t.seen != nil {
			key := index[p.From]*int64(len(nics)) + index[p.To]
			p.Small.ArrivedOn, p.Full.ArrivedOn = t.seen.Small[key], t.seen.Full[key]
		}
	}
}

// heard lists which addresses asked by ARP on which interface, by node and interface.
func (c *processes) heard() (all []fabric.Heard) {
	for _, one := range c.members {
		if one.seen == nil {
			continue
		}
		for _, nic := range slices.Sorted(maps.Keys(one.seen.ARP)) {
			for _, address := range one.seen.ARP[nic] {
				if from, err := netip.ParseAddr(address); err == nil {
					all = append(all, fabric.Heard{On: fabric.Endpoint{Node: one.node, NIC: nic}, From: from})
				}
			}
		}
	}
	return all
}
