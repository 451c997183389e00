package intent

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// gke checks what is to be made in Google Cloud, before a script makes a part of it.
func (v *validator) gke() {
	g, at := v.cluster.GKE, []string{"gke"}
	if g == nil || !v.sound([]string{"platform"}) {
		return
	}
	if v.cluster.Platform != GKE {
		v.add(at, fmt.Sprintf("is for platform gke only, and this is %s: remove the section", v.cluster.Platform))
		return
	}
	if v.sound([]string{"metadata", "name"}) && v.cluster.Metadata.Name != "" {
		if err := gkeClusterName(v.cluster.Metadata.Name); err != nil {
			v.add([]string{"metadata", "name"}, err.Error())
		}
	}
	if g.Spot && g.Reservation != "" {
		v.add(step(at, "spot"), "machines of a reservation are no spot machines: remove one of spot and reservation")
	}
	if v.hosts > maxGKEHosts && v.sound([]string{"nodes"}) {
		v.add([]string{"nodes"}, fmt.Sprintf("%d machines: a cluster on gke has at most %d", v.hosts, maxGKEHosts))
	}
	v.gkeMachines()
	v.gkeRanges()
}

// gkeMachines makes sure that each group is of a kind that node pools with RDMA networks have.
func (v *validator) gkeMachines() {
	for i, group := range v.cluster.Nodes {
		at := []string{"nodes", strconv.Itoa(i), "machine"}
		if !v.sound(at) {
			continue
		}
		if m, known := v.catalog.Machines[group.Machine]; group.Machine != "" && (!known || m.GKE.Accelerator != "") {
			continue
		}
		var types []string
		for id, m := range v.catalog.Machines {
			if m.GKE.Accelerator != "" {
				types = append(types, id)
			}
		}
		slices.Sort(types)
		if group.Machine == "" {
			v.add(at, "required field is missing: the machine type of the node pool; known: "+strings.Join(types, ", "))
			continue
		}
		v.add(at, fmt.Sprintf("%s is no machine type of Google Kubernetes Engine with RDMA networks; known: %s", fabric.Quote(group.Machine), strings.Join(types, ", ")))
	}
}

// gkeRanges makes sure that no two address ranges of a machine's interfaces have an address in common, and that each suffices.
func (v *validator) gkeRanges() {
	g := v.cluster.GKE
	type addressRange struct {
		field  string
		what   string
		prefix netip.Prefix
	}
	ranges := []addressRange{{"pool", "gke.pool", g.Pool}, {"pods", "gke.pods", g.Pods}, {"services", "gke.services", g.Services}}
	var good []addressRange
	for _, r := range ranges {
		at := []string{"gke", r.field}
		if !r.prefix.IsValid() || !v.sound(at) {
			continue
		}
		if !r.prefix.Addr().Is4() {
			v.add(at, fmt.Sprintf("%s is not IPv4", r.prefix))
			continue
		}
		if err := checkPool(r.prefix); err != nil {
			v.add(at, err.Error())
			continue
		}
		good = append(good, r)
	}
	if g.Network == "default" {
		good = append([]addressRange{{what: "the addresses of network default (gke.network)", prefix: autoRange()}}, good...)
	}
	for i, r := range good {
		for _, other := range good[:i] {
			if r.prefix.Overlaps(other.prefix) {
				v.add([]string{"gke", r.field}, fmt.Sprintf("%s overlaps %s, %s", r.prefix, other.prefix, other.what))
				return
			}
		}
	}
	at := []string{"gke", "pool"}
	gvnics, rdma := v.cluster.GKESubnets(v.catalog)
	if v.hosts == 0 || rdma == 0 || !v.sound(at, []string{"nodes"}) || !g.Pool.IsValid() {
		return
	}
	if _, err := GKERanges(g.Pool, v.hosts, gvnics+rdma); err != nil {
		v.add(at, err.Error())
	}
}
