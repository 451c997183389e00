package vsphere

import (
	"bytes"
	"errors"
	"fmt"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// Where NCCL's topology file is. NCCL reads /var/run/nvidia-topologyd/virtualTopology.xml where NCCL_TOPO_FILE is not set (NCCL,
// src/graph/topo.cc); /run is empty after each start, so that a rule of tmpfiles.d links it.
const (
	ncclTopology = "/etc/railwright/nccl-topo.xml"
	ncclTmpfiles = "/etc/tmpfiles.d/60-railwright-nccl.conf"
	ncclLink     = `# Written by railwright. NCCL reads this file where NCCL_TOPO_FILE is not set; now: systemd-tmpfiles --create ` + ncclTmpfiles + `
d  /run/nvidia-topologyd 0755 root root -
L+ /run/nvidia-topologyd/virtualTopology.xml - - - - ` + ncclTopology + `
`
)

// ncclOmits is what a file lacks that was made before there was a virtual machine.
const ncclOmits = "PCI addresses read from a virtual machine: these are those of the document's, in the order of the class. Where `lspci` in a guest shows others, NCCL takes no notice of the file: write it with railwright topo nccl --machine ID --guest FACTS"

// CheckNCCL reports why no topology file can be made.
func CheckNCCL(p *fabric.Plan) error {
	if len(p.Machines) == 0 {
		return errors.New("the cluster file names no machine of the catalog: which GPU and NIC are below one PCIe switch is unknown; railwright topo nccl --snapshot ESX --guest FACTS writes it from facts")
	}
	for _, c := range p.VSphere.Classes {
		if _, err := ncclText(p, c); err != nil && WithNCCL(c) {
			return err
		}
	}
	return nil
}

// WithNCCL reports whether virtual machines of a class need a topology file: GPUs and NICs stand side by side in their PCI tree.
func WithNCCL(c fabric.VMClass) bool { return c.GPUs > 0 && c.NICs > 0 }

// NCCLFiles are NCCL's topology files, one for each class of virtual machines.
func NCCLFiles(p *fabric.Plan) (all []fabric.Artifact) {
	for _, c := range p.VSphere.Classes {
		if !WithNCCL(c) {
			continue
		}
		if text, err := ncclText(p, c); err == nil {
			a := forPeople("/nccl-topo-"+c.Name+".xml", text)
			a.Omits = []string{ncclOmits}
			all = append(all, a)
		}
	}
	return all
}

// NCCLMap has the topology files of the nodes for pods: mounted as a volume, with NCCL_TOPO_FILE naming the file of the class.
func NCCLMap(p *fabric.Plan) fabric.Artifact {
	type configMap struct {
		API  string            `json:"apiVersion"`
		Kind string            `json:"kind"`
		Meta objectMeta        `json:"metadata"`
		Data map[string]string `json:"data"`
	}
	m := configMap{API: "v1", Kind: "ConfigMap", Meta: objectMeta{Name: fabric.TopologyMap, Namespace: "default"}, Data: map[string]string{}}
	if p.Pods != nil {
		m.Meta.Namespace = p.Pods.Namespace
	}
	for _, c := range p.VSphere.Classes {
		if text, err := ncclText(p, c); err == nil && WithNCCL(c) && len(c.Nodes) > 0 {
			m.Data[c.Name+".xml"] = string(text)
		}
	}
	return newArtifact(fabric.OnKubernetes, "/15-nccl-topology.yaml", modePublic, yamlText("Written by railwright from the plan. A pod mounts it as a volume (configMap: nccl-topology at /etc/nccl-topology) and has\n"+
		"NCCL_TOPO_FILE=/etc/nccl-topology/CLASS.xml with the class of its node.", m))
}

// NCCLFileOf is, for each node, the file of its class in that map; none where it needs none.
func NCCLFileOf(p *fabric.Plan) map[string]string {
	files := make(map[string]string)
	for _, c := range p.VSphere.Classes {
		for _, node := range c.Nodes {
			if WithNCCL(c) {
				files[node] = c.Name + ".xml"
			}
		}
	}
	return files
}

// NCCLOnGuest is the topology file of a virtual machine that somebody logs in to, and what makes NCCL find it after each start.
func NCCLOnGuest(p *fabric.Plan) (all []fabric.Artifact) {
	for _, c := range p.VSphere.Classes {
		text, err := ncclText(p, c)
		if err != nil || !WithNCCL(c) {
			continue
		}
		for _, node := range c.Nodes {
			all = append(all, newArtifact(node, ncclTopology, modePublic, text), newArtifact(node, ncclTmpfiles, modePublic, []byte(ncclLink)))
		}
	}
	return all
}

func ncclText(p *fabric.Plan, c fabric.VMClass) ([]byte, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	var labels []string
	for _, d := range c.Devices {
		labels = append(labels, d.Label)
	}
	m, err := topology.GuestOfClass(cat, p.Machines[0].ID, labels)
	if err != nil {
		return nil, fmt.Errorf("class %s: %w", c.Name, err)
	}
	d, err := ncclxml.ForNCCL(m)
	if err != nil {
		return nil, fmt.Errorf("class %s: %w", c.Name, err)
	}
	var b bytes.Buffer
	if _, err := d.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
