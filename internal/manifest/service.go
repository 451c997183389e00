package manifest

import (
	"go.yaml.in/yaml/v3"
)

func (d *document) service(n *yaml.Node) {
	s := Service{
		Name: value(get(n, "metadata", "name")), Line: d.line(n), Headless: value(get(n, "spec", "clusterIP")) == "None",
		NotReady: truth(get(n, "spec", "publishNotReadyAddresses")), Selector: stringsOf(get(n, "spec", "selector")),
	}
	for _, p := range items(get(n, "spec", "ports")) {
		port := d.text(get(p, "targetPort"))
		if port.Line == 0 {
			port = d.text(get(p, "port"))
		}
		s.Ports = append(s.Ports, port)
	}
	d.file.Services = append(d.file.Services, s)
}

// configMap reads the configuration of the RDMA shared device plugin, JSON in a ConfigMap: k8s-rdma-shared-dev-plugin,
// pkg/types/types.go (configList, resourceName, rdmaHcaMax, selectors.ifNames).
func (d *document) configMap(n *yaml.Node) {
	for _, p := range pairs(get(n, "data")) {
		var root yaml.Node
		if yaml.Unmarshal([]byte(value(p[1])), &root) != nil {
			continue
		}
		for _, c := range items(get(&root, "configList")) {
			if name := value(get(c, "resourceName")); name != "" {
				pool := Pool{Name: name, Line: d.line(p[0]), Max: Text{Value: value(get(c, "rdmaHcaMax")), Line: d.line(p[0])}}
				for _, i := range append(items(get(c, "selectors", "ifNames")), items(get(c, "devices"))...) {
					pool.Names = append(pool.Names, value(i))
				}
				d.file.Pools = append(d.file.Pools, pool)
			}
		}
	}
}

// pools reads the same of the network operator: its Helm values (rdmaSharedDevicePlugin.resources) and its NicClusterPolicy
// (spec.rdmaSharedDevicePlugin.config, JSON).
func (d *document) pools(n *yaml.Node) {
	for _, at := range []*yaml.Node{get(n, "rdmaSharedDevicePlugin"), get(n, "network-operator", "rdmaSharedDevicePlugin")} {
		for _, r := range items(get(at, "resources")) {
			pool := Pool{Name: value(get(r, "name")), Line: d.line(r), Max: d.text(get(r, "rdmaHcaMax"))}
			for _, i := range items(get(r, "ifNames")) {
				pool.Names = append(pool.Names, value(i))
			}
			d.file.Pools = append(d.file.Pools, pool)
		}
	}
	config := get(n, "spec", "rdmaSharedDevicePlugin", "config")
	var root yaml.Node
	if config == nil || yaml.Unmarshal([]byte(config.Value), &root) != nil {
		return
	}
	for _, c := range items(get(&root, "configList")) {
		pool := Pool{Name: value(get(c, "resourceName")), Line: d.line(config), Max: Text{Value: value(get(c, "rdmaHcaMax")), Line: d.line(config)}}
		for _, i := range items(get(c, "selectors", "ifNames")) {
			pool.Names = append(pool.Names, value(i))
		}
		d.file.Pools = append(d.file.Pools, pool)
	}
}
