package intent

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// validator checks what a schema cannot say. It looks at a cluster with its defaults; what the schema
// refused is absent there and is not judged again.
type validator struct {
	*document
	cluster *Cluster
	catalog *catalog.Catalog
	hosts   int // of all groups
	nics    int // of the largest group

	group map[string]int // of each host, by its name in lower case: DNS takes no notice of case
}

func (v *validator) validate() {
	v.launcher()
	v.nodes()
	v.kind()
	v.leaf()
	v.spine()
	v.mtu()
	v.traffic()
	v.partition()
	v.addressing()
	v.capacity()
	v.gke()
	v.vsphere()
	v.kubernetes()
	v.serving()
}

func (v *validator) launcher() {
	if v.cluster.Platform == GKE && v.cluster.Launcher != Kubernetes && v.sound([]string{"launcher"}, []string{"platform"}) {
		v.add([]string{"launcher"}, fmt.Sprintf("launcher %s does not work on platform gke: use kubernetes", v.cluster.Launcher))
	}
}

// nodes checks every group and counts hosts and NICs for the pool.
func (v *validator) nodes() {
	v.group = map[string]int{}
	for i, g := range v.cluster.Nodes {
		path := []string{"nodes", strconv.Itoa(i)}
		if g.Names != "" {
			v.names(i, step(path, "names"), g.Names, v.group)
		}
		v.machine(path, g)
	}
}

func (v *validator) names(i int, path []string, expr string, group map[string]int) {
	hosts, err := fabric.ExpandNames(expr)
	if err != nil {
		v.add(path, err.Error())
		return
	}
	if v.hosts += len(hosts); v.hosts > fabric.MaxNames {
		v.add(path, fmt.Sprintf("the groups together hold more than %d hosts", fabric.MaxNames))
		return
	}
	for _, host := range hosts {
		if err := checkHostName(host); err != nil {
			v.add(path, err.Error())
			return
		}
	}
	if host, ok := duplicate(hosts, true); ok {
		v.add(path, fmt.Sprintf("host %q is listed twice in this group", host))
	}
	for _, host := range hosts {
		if first, ok := group[strings.ToLower(host)]; ok && first != i {
			v.add(path, fmt.Sprintf("host %q is already in nodes[%d]", host, first))
			return
		}
		group[strings.ToLower(host)] = i
	}
}

// machine checks a group's machine and its NICs against the catalog.
func (v *validator) machine(path []string, g NodeGroup) {
	if !v.sound(step(path, "machine"), step(path, "nics")) {
		return
	}
	most := 0
	if g.Machine != "" {
		m, err := v.catalog.Machine(g.Machine)
		if err != nil {
			v.add(step(path, "machine"), err.Error())
			return
		}
		most = int(m.NICs.Value)
	}
	at := step(path, "nics")
	if g.NICs == "" {
		if v.cluster.Platform == Spark && !v.sound(step(path, "names")) { // which ports are cabled follows from the number of names
			return
		}
		v.add(at, "required field is missing: no machine of the catalog gives the interface names; for example eth[1-8]")
		return
	}
	nics, err := fabric.ExpandNames(g.NICs)
	if err != nil {
		v.add(at, err.Error())
		return
	}
	for _, nic := range nics {
		if err := checkNICName(nic); err != nil {
			v.add(at, err.Error())
			return
		}
	}
	if nic, ok := duplicate(nics, false); ok {
		v.add(at, fmt.Sprintf("NIC %q is listed twice", nic))
		return
	}
	if g.Machine != "" && len(nics) > most {
		v.add(at, fmt.Sprintf("%d NICs: machine %s has %d", len(nics), g.Machine, most))
	}
	v.nics = max(v.nics, len(nics))
	if g.Management != "" {
		if err := checkNICName(g.Management); err != nil {
			v.add(step(path, "management"), err.Error())
		}
	}
}

// kind checks that the platform has such a fabric. A4 and A3 Ultra on gke and the DGX Spark speak RoCE
// only ("GKE and GPUDirect RDMA with DRA"; "DGX Spark Networking").
func (v *validator) kind() {
	p := v.cluster.Platform
	if (p == GKE || p == Spark) && v.cluster.Fabric.Kind == fabric.InfiniBand {
		v.add([]string{"fabric", "kind"}, fmt.Sprintf("platform %s has no infiniband: use roce", p))
	}
}

func (v *validator) partition() {
	f, at := v.cluster.Fabric, []string{"fabric", "pkey"}
	if f.PKey == "" || !v.sound(at, []string{"fabric", "kind"}) {
		return
	}
	if f.Kind != fabric.InfiniBand {
		v.add(at, "only InfiniBand has partitions: remove the field")
		return
	}
	if err := new(fabric.PKey).UnmarshalText([]byte(f.PKey)); err != nil {
		v.add(at, err.Error())
	}
}

func (v *validator) addressing() {
	f, at := v.cluster.Fabric, []string{"fabric", "addressing"}
	if !v.sound(at, []string{"fabric", "kind"}, []string{"platform"}) {
		return
	}
	a := f.Addressing
	fixed := v.cluster.Platform == GKE || f.Kind == fabric.InfiniBand
	ipoib := v.cluster.Platform == VSphere && f.Kind == fabric.InfiniBand && a.Scheme == fabric.Flat
	switch {
	case ipoib: // its interfaces have addresses in one subnet
	case fixed && a.Scheme != fabric.None:
		v.add(at, v.whyNone())
		return
	case fixed && a.Pool.IsValid():
		v.add(step(at, "pool"), v.whyNone())
		return
	case fixed:
		return
	case f.Kind == fabric.RoCE && (v.cluster.Platform == Spark) != (a.Scheme == fabric.Twin24):
		if v.cluster.Platform == Spark {
			v.add(step(at, "scheme"), fmt.Sprintf("%s does not work on platform spark: the two twins of a port need subnets of their own, use twin24", a.Scheme))
		} else {
			v.add(step(at, "scheme"), "twin24 is for platform spark only: use p2p31, rail24 or flat")
		}
		return
	case a.Scheme == fabric.None:
		v.add(step(at, "scheme"), "none is for infiniband and gke only: use p2p31, rail24 or flat")
		return
	}
	if err := checkPool(a.Pool); err != nil {
		v.add(step(at, "pool"), err.Error())
		return
	}
}

func (v *validator) whyNone() string {
	if v.cluster.Fabric.Kind == fabric.InfiniBand {
		if v.cluster.Platform == VSphere {
			return "infiniband needs no addresses, the subnet manager assigns LIDs: remove the field, or use flat with a pool, which gives addresses to the IPoIB interfaces"
		}
		return "infiniband needs no addresses, the subnet manager assigns LIDs: remove the field"
	}
	return "on gke the VPC assigns the addresses: remove the field"
}
