package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
	"railwright.dev/railwright/internal/topology"
)

// ClaimMachine is what is known of the machines of slices beside what these say. All may be nil.
type ClaimMachine struct {
	GPUs    func(node string) []claims.Place                      // among which a device plugin chooses
	NICGbps func(node string, nic fabric.AllocatedDevice) float64 // Gb/s; 0: unknown
	Cluster func() (*collective.Cluster, error)                   // for a prediction
	Unread  []fabric.ObjectProblem                                // kinds of a cluster that could not be listed
}

// Publishers are the drivers whose slices are made.
type Publishers struct {
	GPU      string // DRA driver; empty: a device plugin gives the GPUs
	OfVendor bool   // the DRA driver of the GPUs' vendor
	NIC      string
}

// of is the drivers for a machine.
func (p Publishers) of(m *topology.Machine) claims.Publishers {
	if p.OfVendor {
		p.GPU = fabric.DriverNVIDIA
		if len(m.GPUs) > 0 && m.GPUs[0].GCN != "" {
			p.GPU = fabric.DriverAMD
		}
	}
	return claims.Publishers{GPU: p.GPU, NIC: p.NIC}
}

// SliceVersions are the versions of resource.k8s.io in which slices are written, newest first.
func SliceVersions() []string { return []string{"v1", "v1beta2", "v1beta1"} }

// ReadSlices reads made slices as any other.
func ReadSlices(s claims.NominalSlices) (*claims.Objects, error) {
	return s.Objects(SliceVersions()[0])
}

// SliceText writes made slices as YAML, or as one List in JSON.
func SliceText(s claims.NominalSlices, api string, asJSON bool) ([]byte, error) {
	if asJSON {
		return claims.SliceJSON(s, api)
	}
	return claims.SliceText(s, api)
}

// SlicesOfCatalog makes the slices of nodes that are machines of the catalog.
func SlicesOfCatalog(cat *catalog.Catalog, order []string, nodes map[string][]string, p Publishers) (all claims.NominalSlices, known ClaimMachine, err error) {
	of := map[string]*topology.Machine{}
	for _, id := range order {
		m, err := topology.Nominal(cat, id)
		if err != nil {
			return all, known, err
		}
		made, err := claims.Nominal(cat, id, nodes[id], p.of(m))
		if err != nil {
			return all, known, err
		}
		all.Join(made)
		for _, node := range nodes[id] {
			of[node] = m
		}
	}
	return all, knownOf(of), nil
}

// SlicesOfFacts makes the slices of nodes whose facts were saved; of one machine as many as are asked for.
func SlicesOfFacts(from []*fabric.Facts, n int, cat *catalog.Catalog, p Publishers) (all claims.NominalSlices, known ClaimMachine) {
	of := map[string]*topology.Machine{}
	for _, f := range from {
		for i := range max(n, 1) {
			one := *f
			if n > 1 {
				one.Node = fmt.Sprintf("%s-%d", f.Node, i+1)
			}
			m := topology.FromFacts(&one, cat)
			all.Join(claims.FromFacts(&one, cat, p.of(m)))
			of[one.Node] = m
		}
	}
	return all, knownOf(of)
}

// knownOf is what machines by node say beside their slices.
func knownOf(of map[string]*topology.Machine) ClaimMachine {
	return ClaimMachine{
		GPUs: func(node string) (all []claims.Place) {
			m := of[node]
			if m == nil {
				return nil
			}
			roots := m.PCIeRoots()
			for _, g := range m.GPUs {
				place := claims.Place{PCI: g.Bus}
				if r := roots[g.Bus]; r != "" {
					place.Roots = []string{r}
				}
				all = append(all, place)
			}
			return all
		},
		NICGbps: func(node string, nic fabric.AllocatedDevice) float64 {
			m := of[node]
			if m == nil {
				return 0
			}
			for _, n := range m.NICs {
				if n.Bus == nic.PCI {
					return float64(n.Mbps) / 1000
				}
			}
			return 0
		},
	}
}

// PlannedClaims puts the claims of a plan, as they are rendered, beside other objects.
func PlannedClaims(in *ClaimTest, o *claims.Objects, c fabric.Claims) {
	o.Merge(claims.Read([]claims.File{
		{Name: "device classes of the plan", Text: []byte(render.DeviceClasses(c).Content)},
		{Name: "claims of the plan", Text: []byte(render.ClaimTemplates(c).Content)},
	}))
	if in.Request.Pods == 0 {
		in.Request.Pods = c.Pods
	}
	if in.Request.PluginGPUs == 0 && c.GPUDriver == "" {
		in.Request.PluginGPUs = c.GPUs
	}
	if in.Request.Kubernetes == "" {
		in.Request.Kubernetes = c.Kubernetes
	}
	in.Notes = append(in.Notes, c.Notes...)
}

// wellKnownClass is a DeviceClass that is installed with a driver, or that the driver's documentation makes.
type wellKnownClass struct {
	name, expression, source string
}

func wellKnownClasses() []wellKnownClass {
	return []wellKnownClass{
		{"gpu.nvidia.com", `device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"`, "Helm chart of the NVIDIA driver"},
		{"mig.nvidia.com", `device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "mig"`, "Helm chart of the NVIDIA driver"},
		{"gpu.amd.com", `device.driver == "gpu.amd.com"`, "Helm chart of the AMD driver"},
		{"dranet", `device.driver == "dra.net"`, "documentation of DraNet, which installs no class"},
	}
}

// AssumeClasses adds the well-known classes that claims name and nobody gave, and says so.
func AssumeClasses(o *claims.Objects) (notes []string) {
	missing := o.MissingClasses()
	for _, c := range wellKnownClasses() {
		if !slices.Contains(missing, c.name) {
			continue
		}
		text := fmt.Sprintf(`{"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": {"name": %q}, "spec": {"selectors": [{"cel": {"expression": %q}}]}}`, c.name, c.expression)
		o.Merge(claims.Read([]claims.File{{Name: "assumed class " + c.name, Text: []byte(text)}}))
		notes = append(notes, fmt.Sprintf("class %s was not given: assumed to be %s (%s)", c.name, strings.ReplaceAll(c.expression, `"`, "'"), c.source))
	}
	return notes
}
