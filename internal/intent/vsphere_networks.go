package intent

import (
	"fmt"
	"math/bits"
	"net/netip"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// namedRange is an address range of a cluster on vSphere and where the cluster file has it.
type namedRange struct {
	name   string
	at     []string
	prefix netip.Prefix
}

// vsphereRanges makes sure that no two networks have an address in common, and that each is written as a network. Table 6 of
// "Deploy Distributed LLM Inference with GPUDirect RDMA over InfiniBand in VMware Private AI" asks for that; its own example 4 has
// pods of 192.168.156.0/20, which is not a network.
func (v *validator) vsphereRanges() {
	var good []namedRange
	seen := map[string]bool{}
	for i, n := range v.cluster.VSphere.Network {
		at := []string{"vsphere", "networks", strconv.Itoa(i)}
		if seen[n.Name] {
			v.add(step(at, "name"), fmt.Sprintf("network %s is listed twice", n.Name))
		}
		seen[n.Name] = true
	}
	if k := v.cluster.VSphere.Kube; k != nil && v.sound([]string{"nodes"}, []string{"vsphere", "vks", "pods"}) && k.Pods.Addr().Is4() {
		if need, have := k.workersAndControls(v.cluster), nodeRanges(k.Pods); need > have && k.Pods.String() != largePodRange { // of which the plan says so
			v.add([]string{"vsphere", "vks", "pods"}, fmt.Sprintf("%s is too small: Kubernetes gives each node a /%d of it, which is enough for %s, and the cluster has %d with its control plane: use a /%d or larger",
				k.Pods, nodePods, fabric.Count(have, "node"), need, nodePods-bits.Len(uint(need-1))))
		}
	}
	for _, r := range v.allRanges() {
		if !r.prefix.IsValid() || !v.sound(r.at) {
			continue
		}
		if !r.prefix.Addr().Is4() {
			v.add(r.at, fmt.Sprintf("%s is not IPv4", r.prefix))
			continue
		}
		if err := checkPool(r.prefix); err != nil {
			v.add(r.at, err.Error())
			continue
		}
		for _, other := range good {
			if r.prefix.Overlaps(other.prefix) && !mayShare(r.name, other.name) {
				v.add(r.at, fmt.Sprintf("%s, %s, has addresses of %s, %s", r.prefix, r.name, other.prefix, other.name))
			}
		}
		good = append(good, r)
	}
}

// mayShare reports whether two networks can be one: service virtual machines may be in the management network.
func mayShare(a, b string) bool {
	const service, management = "network of the service virtual machines", "network management"
	return a == service && b == management || a == management && b == service
}

func (v *validator) allRanges() []namedRange {
	s := v.cluster.VSphere
	var all []namedRange
	for i, n := range s.Network {
		all = append(all, namedRange{"network " + n.Name, []string{"vsphere", "networks", strconv.Itoa(i), "range"}, n.Range})
	}
	if s.Service != nil {
		all = append(all, namedRange{"network of the service virtual machines", []string{"vsphere", "service_vm", "addresses"}, s.Service.Addresses.Masked()})
	}
	if s.Kube != nil {
		all = append(all, namedRange{"network of pods", []string{"vsphere", "vks", "pods"}, s.Kube.Pods}, namedRange{"network of services", []string{"vsphere", "vks", "services"}, s.Kube.Services})
	}
	if a := v.cluster.Fabric.Addressing; a != nil && a.Pool.IsValid() {
		all = append(all, namedRange{"pool of the fabric", []string{"fabric", "addressing", "pool"}, a.Pool})
	}
	return all
}

// serviceVMs makes sure that there is an address for the service virtual machine of each host, and none of them is the gateway's.
func (v *validator) serviceVMs(at []string) {
	s := v.cluster.VSphere
	if s.Service == nil || !v.sound(at, step(at, "addresses"), step(at, "gateway")) {
		return
	}
	if s.Mode != fabric.Passthrough {
		v.add(at, "shares NVSwitches among virtual machines that have GPUs, which mode "+string(s.Mode)+" does not give: remove it")
		return
	}
	if err := checkNICName(s.Service.Interface); err != nil {
		v.add(step(at, "interface"), err.Error())
		return
	}
	first, network := s.Service.Addresses.Addr(), s.Service.Addresses.Masked()
	if !first.Is4() || first == network.Addr() {
		v.add(step(at, "addresses"), fmt.Sprintf("%s is not an IPv4 address of a host with the length of its network, such as 10.0.0.21/24", s.Service.Addresses))
		return
	}
	gateway, err := netip.ParseAddr(s.Service.Gateway)
	if err != nil || !network.Contains(gateway) {
		v.add(step(at, "gateway"), fmt.Sprintf("%s is not an address of %s", fabric.Quote(s.Service.Gateway), network))
		return
	}
	hosts, err := fabric.ExpandNames(s.Hosts)
	if err != nil {
		return // vsphereHosts says why
	}
	a := first
	for range hosts {
		if !network.Contains(a) || !network.Contains(a.Next()) { // the last is for broadcast
			v.add(step(at, "addresses"), fmt.Sprintf("%s has no addresses from %s on for %s", network, first, fabric.Count(len(hosts), "host")))
			return
		}
		if a == gateway {
			v.add(step(at, "addresses"), fmt.Sprintf("%s from %s on: one of them is the gateway, %s", fabric.Count(len(hosts), "address"), first, gateway))
			return
		}
		a = a.Next()
	}
	for i, text := range s.Service.DNS {
		if _, err := netip.ParseAddr(text); err != nil {
			v.add([]string{"vsphere", "service_vm", "dns", strconv.Itoa(i)}, fmt.Sprintf("%s is not an address", fabric.Quote(text)))
		}
	}
}
