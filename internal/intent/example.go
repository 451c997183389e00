package intent

import (
	"bytes"
	"embed"
	"fmt"
	"net/netip"
	"strings"
	"text/template"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

//go:embed examples
var exampleFiles embed.FS

// example is a cluster file that can be written at any valid size. Its text is examples/NAME.yaml.tmpl.
type example struct {
	name    string
	doc     string
	machine string // id in the catalog
	leaf    string // id in the catalog; empty where there is no switch of the owner's
	larger  string // id of the switch for more machines than leaf has ports for; empty: more of the same
	host    string // what stands before the number
	nics    int    // of the fabric, a host; 0: all that the machine has
	model   string // proposed for serving
	scheme  fabric.Scheme
	size    int // hosts when none are asked for
	least   int
	most    int
	works   []string // the commands that take it with -f today; a test of the commands proves the list
	notYet  string   // what does not work with it, and why; empty: everything does
}

// examples lists every example. The sizes of the Spark ones are those of "DGX Spark Networking": one
// cable joins two, a ring of three cables three, a switch up to eight.
func examples() []example {
	return []example{
		{name: "roce-mi300x", doc: "bare-metal RoCE: XE9680 with MI300X, Thor 2 NICs and a SONiC leaf",
			machine: "xe9680-mi300x-thor2", leaf: "z9664f", host: "host", model: "deepseek-r1",
			scheme: fabric.P2P31, size: 2, least: 1, most: fabric.MaxNames,
			works: []string{"plan", "check", "explain", "predict", "render", "apply", "up"}},
		{name: "hgx-h100-ib", doc: "bare-metal InfiniBand: HGX H100 on Quantum-2",
			machine: "hgx-h100", leaf: "qm9700", host: "gpu", model: "deepseek-r1",
			scheme: fabric.None, size: 4, least: 1, most: fabric.MaxNames,
			works:  []string{"plan", "check", "explain", "predict", "render", "apply", "up"},
			notYet: "up --lab and lab up: a lab has no InfiniBand"},
		{name: "vcf-h100", doc: "VMware Cloud Foundation: HGX H100 passed through to VMs, InfiniBand",
			machine: "hgx-h100", leaf: "qm9700", host: "worker", model: "deepseek-r1",
			scheme: fabric.None, size: 2, least: 1, most: fabric.MaxNames,
			works:  []string{"plan", "check", "explain", "predict", "render", "apply", "up"},
			notYet: "up --lab and lab up: a lab has no InfiniBand"},
		{name: "vsphere8-sriov", doc: "vSphere 8: VMs with a ConnectX-7 virtual function, InfiniBand",
			machine: "vsphere8-cx7-vf", leaf: "qm9700", host: "vm", model: "gpt-oss-120b",
			scheme: fabric.Flat, size: 2, least: 1, most: fabric.MaxNames,
			works:  []string{"plan", "check", "render", "apply", "up"},
			notYet: "predict and explain: its machine has no GPU in the catalog; up --lab and lab up: a lab has no InfiniBand"},
		{name: "gke-a4-dranet", doc: "Google Kubernetes Engine: A4 with RDMA NICs given out by DraNet",
			machine: "a4-highgpu-8g", host: "node", model: "deepseek-r1",
			scheme: fabric.None, size: 2, least: 1, most: maxGKEHosts,
			works:  []string{"plan", "claims", "check", "explain", "predict", "render", "apply", "up"},
			notYet: "bench, and check without --snapshot: nobody logs in to pods; the collectives are run by a script of render"},
		{name: "spark-pair", doc: "two DGX Spark with one cable, no switch",
			machine: "dgx-spark", host: "spark", nics: 2, model: "gpt-oss-120b",
			scheme: fabric.Twin24, size: 2, least: 2, most: 2,
			works: []string{"plan", "check", "explain", "predict", "render", "apply", "up"}},
		{name: "spark-switch", doc: "two to eight DGX Spark on a switch",
			machine: "dgx-spark", leaf: "crs812-ddq", larger: "crs804-4ddq", host: "spark", nics: 2, model: "gpt-oss-120b",
			scheme: fabric.Twin24, size: 4, least: 2, most: MaxSparks,
			works: []string{"plan", "check", "explain", "predict", "render", "apply", "up"}},
		{name: "spark-mesh", doc: "three DGX Spark in a ring of cables, no switch; up to six in the same way",
			machine: "dgx-spark", host: "spark", nics: 4, model: "gpt-oss-120b",
			scheme: fabric.Twin24, size: 3, least: 3, most: 6,
			works: []string{"plan", "check", "explain", "predict", "render", "apply", "up"}},
	}
}

// ExampleSupport returns the commands that take an example today, and what does not work with it yet and why; notYet
// is empty where everything works. An unknown name is an error that lists the known.
func ExampleSupport(name string) (works []string, notYet string, err error) {
	e, err := findExample(name)
	return e.works, e.notYet, err
}

// Examples lists the names of the examples.
func Examples() []string {
	var names []string
	for _, e := range examples() {
		names = append(names, e.name)
	}
	return names
}

// ExampleDoc returns the one-line description of an example; an unknown name is an error that lists the known.
func ExampleDoc(name string) (string, error) {
	e, err := findExample(name)
	return e.doc, err
}

// Example writes a commented cluster file of so many nodes; 0 stands for the example's own size. The
// pool is large enough, and a comment says how many leaf switches the size needs. An unknown name and a
// size that the example cannot have are errors.
func Example(name string, nodes int, cat *catalog.Catalog) ([]byte, error) {
	e, err := findExample(name)
	if err != nil {
		return nil, err
	}
	if nodes == 0 {
		nodes = e.size
	}
	if nodes < e.least || nodes > e.most {
		return nil, fmt.Errorf("example %q cannot have %d nodes: must be %s", name, nodes, e.legal())
	}
	sheet, err := e.fill(nodes, cat)
	if err != nil {
		return nil, fmt.Errorf("example %q with %d nodes: %w", name, nodes, err)
	}
	t, err := template.ParseFS(exampleFiles, "examples/common.tmpl", "examples/"+name+".yaml.tmpl")
	if err != nil {
		return nil, fmt.Errorf("example %q: %w", name, err)
	}
	var text bytes.Buffer
	if err := t.ExecuteTemplate(&text, name+".yaml.tmpl", sheet); err != nil {
		return nil, fmt.Errorf("example %q: %w", name, err)
	}
	return text.Bytes(), nil
}

func findExample(name string) (example, error) {
	for _, e := range examples() {
		if e.name == name {
			return e, nil
		}
	}
	return example{}, fabric.UnknownName("example", name, Examples())
}

func (e example) legal() string {
	if e.least == e.most {
		return fmt.Sprintf("%d", e.least)
	}
	return fmt.Sprintf("%d to %d", e.least, e.most)
}

// sheet is what the templates print.
type sheet struct {
	Name, Machine, MachineTitle, Leaf string
	Model                             string
	Works, NotYet                     string // the commands that take it today, and what does not work yet
	Names, First                      string // the range and its first name
	Scheme                            fabric.Scheme
	Hosts, NICs, Cables               int
	Leaves, PerLeaf, Groups           int
	Ports, Up                         int // of a leaf; of these towards the spines
	Pool                              netip.Prefix
	PoolSize, Addresses               uint64
	Project                           string // in a cloud
	ESX                               string // range of hosts below virtual machines
}

func (e example) fill(nodes int, cat *catalog.Catalog) (sheet, error) {
	m, err := cat.Machine(e.machine)
	if err != nil {
		return sheet{}, err
	}
	s := sheet{Name: e.name, Machine: e.machine, MachineTitle: m.Title, Leaf: e.leaf, Model: e.model, Scheme: e.scheme, Hosts: nodes, NICs: e.nics}
	s.Works, s.NotYet = strings.Join(e.works, ", "), strings.ReplaceAll(e.notYet, "; ", ";\n#   ")
	s.Names, s.First = numberedNames(e.host, nodes)
	s.ESX, _ = numberedNames("esx", nodes)
	if s.NICs == 0 {
		s.NICs = int(m.NICs.Value)
	}
	s.Cables = s.Hosts * s.NICs
	if e.scheme == fabric.Twin24 {
		if e.larger != "" && nodes > int(cat.Switches[e.leaf].Ports.Value) {
			s.Leaf = e.larger
		}
		return s, s.wire(cat)
	}
	if e.leaf != "" {
		model, err := cat.Switch(e.leaf)
		if err != nil {
			return s, err
		}
		s.Ports = int(model.Ports.Value)
		if s.Leaves, s.PerLeaf = LeafCount(s.Hosts, s.NICs, s.Ports); s.Leaves == 0 {
			return s, fmt.Errorf("switch %s has too few ports for %d NICs", e.leaf, s.NICs)
		}
		s.Groups, s.Up = ceilDiv(s.Hosts, s.PerLeaf), s.Ports-s.PerLeaf
	}
	if m.GKE.Accelerator != "" {
		return s, s.inCloud(m)
	}
	if e.scheme == fabric.None {
		return s, nil
	}
	if s.Addresses, err = filled(s.Hosts, s.PerLeaf).neededAddresses(e.scheme, s.Hosts, s.NICs, 0); err != nil {
		return s, err
	}
	if s.Pool, err = fittingPool(e.scheme, s.Hosts, s.NICs, s.PerLeaf); err != nil {
		return s, err
	}
	s.PoolSize = 1 << (32 - s.Pool.Bits())
	return s, nil
}

// inCloud fills in the subnets that the additional interfaces of machines in a cloud get by default.
func (s *sheet) inCloud(m catalog.MachineModel) error {
	s.Project = fabric.PlaceholderProject
	subnets := int(m.GKE.GVNICs.Value) - 1 + s.NICs
	s.Pool = defaultGKEPool(s.Hosts, subnets)
	ranges, err := GKERanges(s.Pool, s.Hosts, subnets)
	if err != nil {
		return err
	}
	s.PoolSize = uint64(ranges[0].Bits())
	return nil
}

// wire fills in what follows from the cables between machines whose ports have twins.
func (s *sheet) wire(cat *catalog.Catalog) error {
	c := &Cluster{Platform: Spark, Nodes: []NodeGroup{{Names: s.Names, Machine: s.Machine}}}
	if s.Leaf != "" {
		c.Fabric.Leaf = &Leaf{Model: s.Leaf}
		s.Ports = int(cat.Switches[s.Leaf].Ports.Value)
	}
	c.applyDefaults(cat)
	w, err := WiringOf(c, cat)
	if err != nil {
		return err
	}
	s.Cables = len(w.Cables)
	s.Pool = netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, 0, 0}), min(twinPrefix(w), 16))
	s.PoolSize, s.Addresses = 1<<(32-s.Pool.Bits()), uint64(w.Subnets())<<8
	return nil
}

// numberedNames writes a range whose numbers all have the digits of the last: host[01-16].
func numberedNames(host string, n int) (names, first string) {
	width := len(fmt.Sprint(n))
	first = fmt.Sprintf("%s%0*d", host, width, 1)
	if n == 1 {
		return first, first
	}
	return fmt.Sprintf("%s[%0*d-%d]", host, width, 1, n), first
}

// fittingPool picks the smallest network around 10.64.0.0 that holds the hosts, but no smaller than a /16,
// so that a few hosts more need no new addresses. It stays within 10.0.0.0/8 (RFC 1918).
func fittingPool(scheme fabric.Scheme, hosts, nics, leafDownlinks int) (netip.Prefix, error) {
	const least, most = 16, 8 // prefix lengths
	length, err := NeededPrefix(scheme, hosts, nics, leafDownlinks)
	if err != nil {
		return netip.Prefix{}, err
	}
	if length < most {
		return netip.Prefix{}, fmt.Errorf("%d hosts of %d NICs with scheme %s need a /%d, and 10.0.0.0/8 is the largest private network",
			hosts, nics, scheme, length)
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, 0, 0}), min(length, least)).Masked(), nil
}
