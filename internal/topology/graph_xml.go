package topology

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// maxGraphXML bounds a graph file: NCCL's room for its elements (NCCL_GRAPH_XML_MAX_NODES).
const maxGraphXML = 65536

// WriteGraphs writes graphs as NCCL 2.28 dumps them into NCCL_GRAPH_DUMP_FILE and reads them from NCCL_GRAPH_FILE.
func (s *System) WriteGraphs(w io.Writer, graphs []Graph) error {
	var b bytes.Buffer
	b.WriteString("<graphs version=\"1\">\n")
	for _, g := range graphs {
		same := 0
		if g.SameChannels {
			same = 1
		}
		fmt.Fprintf(&b, `  <graph id="%d" pattern="%d" crossnic="%d" nchannels="%d" speedintra="%.6g" speedinter="%.6g"`+
			` latencyinter="%.6g" typeintra="%s" typeinter="%s" samechannels="%d"`,
			g.ID, g.Pattern, g.CrossNIC, g.Channels, g.BWIntra, g.BWInter, g.LatencyInter, g.TypeIntra, g.TypeInter, same)
		if len(g.Order) == 0 {
			b.WriteString("/>\n")
			continue
		}
		b.WriteString(">\n")
		for i, channel := range g.Order {
			if err := s.writeChannel(&b, channel); err != nil {
				return fmt.Errorf("graph %d channel %d: %w", g.ID, i, err)
			}
		}
		b.WriteString("  </graph>\n")
	}
	b.WriteString("</graphs>\n")
	_, err := w.Write(b.Bytes())
	return err
}

func (s *System) writeChannel(b *bytes.Buffer, channel Channel) error {
	b.WriteString("    <channel>\n")
	net := func(dev int) {
		if dev >= 0 {
			fmt.Fprintf(b, "      <net dev=\"%s\"/>\n", alternate(dev))
		}
	}
	net(channel.In)
	for _, rank := range channel.GPUs {
		gpu := s.gpuByRank(rank)
		if gpu == nil {
			return fmt.Errorf("no GPU has rank %d", rank)
		}
		fmt.Fprintf(b, "      <gpu dev=\"%s\"/>\n", alternate(gpu.dev))
	}
	net(channel.Out)
	b.WriteString("    </channel>\n")
	return nil
}

// alternate is C's %#lx: 0, 0x1.
func alternate(n int) string {
	if n == 0 {
		return "0"
	}
	return fmt.Sprintf("%#x", n)
}

// ReadGraphs reads a graph file of NCCL. GPUs are found by rank where the file has it (2.30 on), else by dev.
func (s *System) ReadGraphs(r io.Reader) ([]Graph, error) {
	decoder := xml.NewDecoder(r)
	var graphs []Graph
	var channel *Channel
	inside := false
	for elements := 0; ; {
		token, err := decoder.Token()
		switch {
		case errors.Is(err, io.EOF):
			if !inside {
				return nil, errors.New("graph file: no <graphs>")
			}
			return graphs, nil
		case err != nil:
			return nil, fmt.Errorf("graph file: %w", err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if elements++; elements > maxGraphXML {
			return nil, fmt.Errorf("graph file: more than %d elements", maxGraphXML)
		}
		e := xmlElement(start)
		switch {
		case e.Name == "graphs":
			inside = true
		case !inside:
			return nil, fmt.Errorf("graph file: root is <%s>, want <graphs>", clip(e.Name))
		case e.Name == "graph":
			g, err := readGraph(e)
			if err != nil {
				return nil, fmt.Errorf("graph file: %w", err)
			}
			graphs, channel = append(graphs, g), nil
		case len(graphs) == 0:
			return nil, fmt.Errorf("graph file: <%s> outside <graph>", clip(e.Name))
		case e.Name == "channel":
			g := &graphs[len(graphs)-1]
			g.Order = append(g.Order, Channel{In: -1, Out: -1})
			channel = &g.Order[len(g.Order)-1]
		default:
			if err := s.readHop(channel, e); err != nil {
				return nil, fmt.Errorf("graph file: graph %d: %w", graphs[len(graphs)-1].ID, err)
			}
		}
	}
}

func xmlElement(start xml.StartElement) *Element {
	e := &Element{Name: start.Name.Local}
	for _, a := range start.Attr {
		e.Attributes = append(e.Attributes, Attribute{a.Name.Local, a.Value})
	}
	return e
}

func readGraph(e *Element) (Graph, error) {
	var g Graph
	for _, field := range []struct {
		name string
		set  func(int)
	}{
		{"id", func(n int) { g.ID = GraphID(n) }},
		{"pattern", func(n int) { g.Pattern = Pattern(n) }},
		{"crossnic", func(n int) { g.CrossNIC = n }},
		{"nchannels", func(n int) { g.Channels = n }},
		{"samechannels", func(n int) { g.SameChannels = n != 0 }},
	} {
		n, err := attrInteger(e, field.name)
		if err != nil {
			return g, err
		}
		field.set(n)
	}
	for name, to := range map[string]*float64{"speedintra": &g.BWIntra, "speedinter": &g.BWInter, "latencyinter": &g.LatencyInter} {
		value, ok := e.Get(name)
		if !ok && name != "latencyinter" {
			return g, fmt.Errorf("graph: no attribute %q", name)
		}
		*to = float64(cFloat(value))
	}
	for name, to := range map[string]*PathType{"typeintra": &g.TypeIntra, "typeinter": &g.TypeInter} {
		value, err := attrText(e, name)
		if err != nil {
			return g, err
		}
		if *to, err = ParsePathType(value); err != nil {
			return g, fmt.Errorf("graph %s: %w", name, err)
		}
	}
	return g, nil
}

// readHop adds a <net> or <gpu> to a channel.
func (s *System) readHop(channel *Channel, e *Element) error {
	if channel == nil {
		return fmt.Errorf("<%s> outside <channel>", clip(e.Name))
	}
	value, err := attrText(e, "dev")
	if err != nil {
		return err
	}
	dev := clampInt(cInteger(value, 16))
	switch {
	case e.Name == "net" && len(channel.GPUs) == 0:
		channel.In = dev
	case e.Name == "net":
		channel.Out = dev
	case e.Name == "gpu":
		rank, err := s.rankOf(e, dev)
		if err != nil {
			return err
		}
		channel.GPUs = append(channel.GPUs, rank)
	}
	return nil
}

func (s *System) rankOf(e *Element, dev int) (int, error) {
	if value, ok := e.Get("rank"); ok {
		return clampInt(cInteger(value, 0)), nil
	}
	known := make([]string, 0, len(s.GPUs))
	for _, gpu := range s.GPUs {
		if gpu.Dev == dev {
			return gpu.Rank, nil
		}
		known = append(known, alternate(gpu.Dev))
	}
	return 0, fmt.Errorf("gpu dev %#x: not one of %s", dev, strings.Join(known, ", "))
}
