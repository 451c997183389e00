package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// MeshNode is the far end of Mesh: it reads its orders, says "ready", waits for "go", pings, prints what
// came of it, waits for "stop", and prints which requests arrived.
func MeshNode(in io.Reader, out io.Writer) (err error) {
	lines := bufio.NewReaderSize(in, 1<<16)
	first, err := lines.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("mesh orders: %w", err)
	}
	var o meshOrders
	if err := json.Unmarshal(first, &o); err != nil {
		return fmt.Errorf("mesh orders: %w", err)
	}
	n, err := newMeshNode(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.close()) }()
	var arp *arpWatcher
	if slices.ContainsFunc(o.NICs, func(nic meshNIC) bool { return nic.Subnet != "" }) {
		arp = newARPWatcher()
	}
	if _, err := fmt.Fprintln(out, "ready"); err != nil {
		return err
	}
	if err := expect(lines, "go\n"); err != nil {
		return err
	}
	if err := json.NewEncoder(out).Encode(n.pingAll()); err != nil {
		return err
	}
	if err := expect(lines, "stop\n"); err != nil {
		return err
	}
	// The kernel answers echoes by itself, so the last requests may still wait in the socket.
	if err := n.watch.finish(); err != nil {
		return err
	}
	if arp != nil {
		n.seen.ARP = arp.finish()
	}
	return json.NewEncoder(out).Encode(n.seen)
}

func expect(lines *bufio.Reader, want string) error {
	line, err := lines.ReadString('\n')
	if err != nil {
		return fmt.Errorf("mesh: waiting for %q: %w", want, err)
	}
	if line != want {
		return fmt.Errorf("mesh: got %q, want %q", line, want)
	}
	return nil
}

// size is one of the two echoes of a pair.
type size uint8

const (
	small size = iota
	full
)

// echoKey names an echo: its ends by their index in the orders, and its size.
type echoKey struct {
	from, to uint32
	size     size
}

// flight is an echo under way.
type flight struct {
	sent time.Time
	echo fabric.Echo
}

// meshNode is the state of one node of a mesh.
type meshNode struct {
	orders  meshOrders
	senders map[uint32]*sender // by the index of their NIC
	watch   *watcher

	mu      sync.Mutex
	flights map[echoKey]*flight
	open    int // sent and unanswered
	seen    meshSeen
}

func newMeshNode(o meshOrders) (*meshNode, error) {
	n := &meshNode{
		orders: o, senders: make(map[uint32]*sender), flights: make(map[echoKey]*flight),
		seen: meshSeen{Small: make(map[int64]string), Full: make(map[int64]string)},
	}
	var err error
	if n.watch, err = newWatcher(n.packet); err != nil {
		return nil, err
	}
	for i, nic := range o.NICs {
		if nic.Node != o.Node {
			continue
		}
		// A NIC that cannot even be bound to (absent, down, without its address) fails pair by pair.
		n.senders[uint32(i)] = newSender(nic)
	}
	if len(n.senders) == 0 {
		return nil, errors.Join(fmt.Errorf("mesh: node %q has no NIC in the orders", o.Node), n.watch.finish())
	}
	return n, nil
}

func (n *meshNode) close() error {
	err := n.watch.finish()
	for _, s := range n.senders {
		err = errors.Join(err, s.close())
	}
	return err
}

// keys lists the pairs of this node in the order of its answer.
func (n *meshNode) keys(s size) []echoKey {
	var keys []echoKey
	for from, a := range n.orders.NICs {
		if a.Node != n.orders.Node {
			continue
		}
		for to, b := range n.orders.NICs {
			if a.reaches(b) {
				keys = append(keys, echoKey{uint32(from), uint32(to), s})
			}
		}
	}
	return keys
}

// tries is how often an echo is sent before its pair has failed: a first packet can be lost while the
// neighbour's address is still being asked for.
const tries = 2

// pingAll sends the small echoes, then the full ones of the pairs that answered.
func (n *meshNode) pingAll() meshSent {
	n.ping(n.keys(small), n.orders.Small)
	var answered []echoKey
	for _, k := range n.keys(small) {
		if n.echo(k).Answered {
			k.size = full
			answered = append(answered, k)
		}
	}
	n.ping(answered, n.orders.Full)
	var sent meshSent
	for _, k := range n.keys(small) {
		sent.Small = append(sent.Small, n.echo(k))
		k.size = full
		sent.Full = append(sent.Full, n.echo(k))
	}
	return sent
}

func (n *meshNode) echo(k echoKey) fabric.Echo {
	n.mu.Lock()
	defer n.mu.Unlock()
	if f := n.flights[k]; f != nil {
		return f.echo
	}
	return fabric.Echo{}
}

// Pacing of a node's echoes: so many at once, so that a full-size burst stays within what a switch port
// and a socket buffer hold (64 packets of 9000 bytes are 576 kB), and so long until the next of them when
// answers do not come.
const (
	burst = 64
	pause = time.Millisecond
)

func (n *meshNode) ping(keys []echoKey, bytes int) {
	for range tries {
		n.forget()
		for i, k := range keys {
			if n.echo(k).Answered {
				continue
			}
			if i%burst == burst-1 {
				n.drain(pause, burst/2)
			}
			n.send(k, bytes)
		}
		n.drain(time.Duration(n.orders.Wait)*time.Millisecond, 0)
	}
}

func (n *meshNode) forget() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.open = 0
}

// drain waits until at most so many echoes are open, or the time is over.
func (n *meshNode) drain(wait time.Duration, open int) {
	for deadline := time.Now().Add(wait); time.Now().Before(deadline); time.Sleep(50 * time.Microsecond) {
		n.mu.Lock()
		done := n.open <= open
		n.mu.Unlock()
		if done {
			return
		}
	}
}

func (n *meshNode) send(k echoKey, bytes int) {
	packet := encodeEcho(n.orders.Nonce, k, bytes)
	f := &flight{sent: time.Now(), echo: fabric.Echo{Bytes: bytes}}
	n.mu.Lock()
	n.flights[k] = f
	n.open++
	n.mu.Unlock()
	if err := n.senders[k.from].send(packet, n.orders.NICs[k.to].Address); err != nil {
		n.mu.Lock()
		f.echo.Error = err.Error()
		n.open--
		n.mu.Unlock()
	}
}

// packet takes in what the watcher saw: a reply to one of this node's echoes, a request of another node,
// or an error about an echo of this node.
func (n *meshNode) packet(p seenPacket) {
	k, ok := decodeEcho(n.orders.Nonce, p.payload)
	if !ok || int(k.from) >= len(n.orders.NICs) || int(k.to) >= len(n.orders.NICs) {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if p.kind == echoRequest {
		key := int64(k.from)*int64(len(n.orders.NICs)) + int64(k.to)
		arrived := map[size]map[int64]string{small: n.seen.Small, full: n.seen.Full}[k.size]
		arrived[key] = p.nic
		return
	}
	f := n.flights[k]
	if f == nil || f.echo.Answered {
		return
	}
	if p.kind != echoReply {
		f.echo.Error = p.text
		return
	}
	f.echo.Answered, f.echo.ReturnedOn, f.echo.Error = true, p.nic, ""
	f.echo.RTTMicros = float64(p.at.Sub(f.sent).Nanoseconds()) / 1e3
	n.open--
}
