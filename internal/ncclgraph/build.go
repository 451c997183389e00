package ncclgraph

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// The limits of a System. NCCL itself takes 576 nodes per type; with paths between all of them such a file is
// an attack rather than a host.
const (
	maxGraphNodes = 2048  // of all types
	maxEndpoints  = 512   // GPUs, NETs and CPUs, which all have paths to one another
	maxGraphLinks = 16384 // both directions
)

// NewSystem builds NCCL's graph of a document, computes the paths and drops the GPUs that NCCL would drop. What NCCL
// misreads is misread in the same way and recorded in Notes; what a process fills in when it loads the file
// (rank, dev, sm, gdr) is filled in and recorded in Notes. The error is what NCCL would refuse, or which limit of
// this model the document exceeds.
func NewSystem(d *ncclxml.Document, o Options) (*System, error) {
	if d == nil || len(d.Roots) != 1 || d.Roots[0].Name != "system" {
		return nil, errors.New(`topology: want one root element <system>`)
	}
	s := &System{options: o, document: d}
	b := builder{s: s, document: d.Roots[0]}
	for _, step := range []func() error{
		b.survey, b.addCPUs, b.number, b.addNVLinks, b.addC2C, b.addPCILinks, b.flattenBroadcom, b.connectCPUs, b.sort, b.check,
	} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("topology: %w", err)
		}
	}
	if err := s.computePaths(); err != nil {
		return nil, fmt.Errorf("topology: %w", err)
	}
	if s.trim() {
		if err := s.computePaths(); err != nil {
			return nil, fmt.Errorf("topology: %w", err)
		}
	}
	s.Inter = o.Nodes > 1 || len(s.Trimmed) > 0
	if s.Inter && len(s.nodes[nodeNET]) == 0 {
		return nil, fmt.Errorf("topology: %d hosts, but the file has no <net> with a dev", max(o.Nodes, 1))
	}
	s.measure()
	s.found = sync.OnceValue(s.search)
	return s, nil
}

// FromMachine builds NCCL's graph of the topology file of a machine.
func FromMachine(m *topology.Machine, o Options) (*System, error) {
	d, err := ncclxml.ForMachine(m)
	if err != nil {
		return nil, err
	}
	return NewSystem(d, o)
}

// builder turns elements into nodes and links.
type builder struct {
	s        *System
	document *ncclxml.Element
	gpus     map[*ncclxml.Element]*node // of <gpu>
	nets     []*node
	hosts    map[string]bool // host_hash
	notes    map[string]bool
}

func (b *builder) note(format string, arguments ...any) {
	text := fmt.Sprintf(format, arguments...)
	if b.notes[text] || len(b.notes) >= 64 {
		return
	}
	b.notes[text] = true
	b.s.Notes = append(b.s.Notes, text)
}

// survey counts before anything is built, so that an endless document is refused.
func (b *builder) survey() error {
	b.gpus, b.hosts, b.notes = map[*ncclxml.Element]*node{}, map[string]bool{}, map[string]bool{}
	count := 0
	var walk func(e *ncclxml.Element, depth int) error
	walk = func(e *ncclxml.Element, depth int) error {
		if count++; count > 4*maxGraphNodes {
			return fmt.Errorf("more than %d elements", 4*maxGraphNodes)
		}
		if depth > ncclxml.MaxDepth {
			return fmt.Errorf("%s: elements nested more than %d deep", e.Title(), ncclxml.MaxDepth)
		}
		for _, child := range e.Children {
			if err := walk(child, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return walk(b.document, 0)
}

func (b *builder) create(t nodeType, id int64, name string) (*node, error) {
	s := b.s
	total := 0
	for _, nodes := range s.nodes {
		total += len(nodes)
	}
	if total >= maxGraphNodes {
		return nil, fmt.Errorf("more than %d devices", maxGraphNodes)
	}
	if ends := len(s.nodes[nodeGPU]) + len(s.nodes[nodeNET]) + len(s.nodes[nodeCPU]); t != nodePCI && t != nodeNIC && ends >= maxEndpoints {
		return nil, fmt.Errorf("more than %d GPUs, NETs and NUMA nodes", maxEndpoints)
	}
	n := &node{typ: t, id: id, index: len(s.nodes[t]), name: name, rank: undefined, localGPU: -1}
	s.nodes[t] = append(s.nodes[t], n)
	return n, nil
}

func (b *builder) find(t nodeType, id int64) *node {
	for _, n := range b.s.nodes[t] {
		if n.id == id {
			return n
		}
	}
	return nil
}

// connect adds a direction, or adds its bandwidth to an existing one, and keeps a node's links fastest first.
func (b *builder) connect(from, to *node, t linkType, bw float32) error {
	at := slices.IndexFunc(from.links, func(l *link) bool { return l.to == to && l.typ == t })
	if at < 0 {
		if len(from.links) >= maxEndpoints {
			return fmt.Errorf("%s has more than %d links", from.label(), maxEndpoints)
		}
		at = len(from.links)
		from.links = append(from.links, &link{typ: t, to: to})
	}
	l := from.links[at]
	l.bw += bw
	for ; at > 0 && from.links[at-1].bw < l.bw; at-- {
		from.links[at] = from.links[at-1]
	}
	from.links[at] = l
	return nil
}

func (b *builder) join(n, up *node, t linkType, bw float32) error {
	return errors.Join(b.connect(n, up, t, bw), b.connect(up, n, t, bw))
}

// deviceNumber packs a bridge's four ids as NCCL prints them.
func deviceNumber(e *ncclxml.Element) uint64 {
	var n uint64
	for _, key := range []string{"vendor", "device", "subsystem_vendor", "subsystem_device"} {
		value, _ := e.Get(key)
		n = n<<16 + uint64(ncclxml.Strtol(value, 0))&0xffff
	}
	return n
}

// pciRate is what NCCL assumes for a PCIe link, GB/s: lanes times its dictionary's 100 Mb/s per lane, divided by 80.
// A speed that is not in the dictionary counts as 60, that of 8 GT/s; a width of 0 as 16.
func (b *builder) pciRate(e *ncclxml.Element) (float32, error) {
	width, err := e.Integer("link_width")
	if err != nil {
		return 0, err
	}
	speed, err := e.Required("link_speed")
	if err != nil {
		return 0, err
	}
	if width == 0 {
		width = 16
	}
	if width < 0 || width > 64 {
		return 0, fmt.Errorf("%s: link_width %d: want 0 to 64", e.Title(), width)
	}
	lane, known := ncclxml.LaneRate(speed)
	if !known {
		b.note("%s: link_speed %s is not in NCCL's table: NCCL assumes 8 GT/s", e.Title(), fabric.Quote(speed))
	}
	return float32(width) * float32(lane), nil
}
