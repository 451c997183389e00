package plan

import (
	"errors"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// How long an installation waits, in minutes. No source bounds it: a driver container builds modules for the kernel of its machine, which
// takes minutes a machine and is done on all at once; the others start programs.
const (
	driverMinutes  = 40
	programMinutes = 10
)

// operators plans what runs on a cluster of Kubernetes before its pods can, after podDevices. Node pools of a cloud come with it, and no pods are planned for DGX Sparks.
func operators(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	if c.Launcher != intent.Kubernetes || c.Kubernetes == nil || c.Platform != intent.Baremetal && c.Platform != intent.VSphere {
		return nil
	}
	if p.Pods == nil {
		p.Notes = append(p.Notes, "no operators are planned, as no pods are: nodes[0] names no machine of the catalog with GPUs")
		return nil
	}
	i := &installation{Operators: &fabric.Operators{Kubernetes: c.Kubernetes.Version}, plan: p, cluster: c, kube: c.Kubernetes, catalog: cat}
	if p.Claims != nil {
		i.API = p.Claims.API
	}
	i.network()
	i.queueBefore()
	i.gpus()
	i.nics()
	i.serving()
	if i.failed != nil {
		return fmt.Errorf("kubernetes.operators: %w", i.failed)
	}
	p.Operators = i.Operators
	i.namespaces()
	if c.Kubernetes.Operators == intent.OperatorsPresent {
		p.Operators = &fabric.Operators{Kubernetes: i.Kubernetes, API: i.API, Relies: append(i.gifts, i.Relies...)}
	}
	return nil
}

// installation is operators in the making.
type installation struct {
	*fabric.Operators
	plan    *fabric.Plan
	cluster *intent.Cluster
	kube    *intent.Kube
	catalog *catalog.Catalog
	gifts   []fabric.OperatorGift
	secured []fabric.KubeNamespace // of the releases
	failed  error                  // a chart, a key or an image that the catalog does not have: our fault
}

// chart begins a release of a chart of the catalog.
func (i *installation) chart(id, name, why string) fabric.HelmRelease {
	m, ok := i.catalog.Charts[id]
	if !ok {
		i.failed = errors.Join(i.failed, fmt.Errorf("chart %q is not in the catalog", id))
	}
	return fabric.HelmRelease{Name: name, Title: m.Title, Chart: m.Chart, Repository: m.Repository, Version: m.Version, Namespace: m.Namespace,
		Why: why, Source: m.Source, UpgradesFrom: m.UpgradesFrom, UpgradeLoses: m.UpgradeLoses}
}

// set gives a value of a chart, which a source of the catalog has to explain.
func (i *installation) set(id string, r *fabric.HelmRelease, key string, value any, why string) {
	keys := i.catalog.Charts[id].Keys
	at := slices.IndexFunc(keys, func(k catalog.ChartKey) bool { return k.Key == key })
	if at < 0 {
		i.failed = errors.Join(i.failed, fmt.Errorf("chart %q: the catalog has no source for its value %s", id, key))
		return
	}
	r.Values = append(r.Values, fabric.HelmValue{Key: key, Value: value, Why: why, Source: keys[at].Source})
}

// image is one of a chart.
func (i *installation) image(id, use string) fabric.ImageTag {
	m, ok := i.catalog.Charts[id].Image(use)
	if !ok {
		i.failed = errors.Join(i.failed, fmt.Errorf("chart %q: the catalog has no image for %s", id, use))
	}
	return fabric.ImageTag{Repository: m.Repository, Name: m.Name, Tag: m.Tag, Source: m.Source}
}

// add ends a release, with what it gives to the cluster.
func (i *installation) add(id string, r fabric.HelmRelease, gives ...string) {
	i.Releases = append(i.Releases, r)
	for _, what := range gives {
		i.gifts = append(i.gifts, fabric.OperatorGift{From: r.Title, What: what})
	}
	level := i.catalog.Charts[id].Security
	i.secured = append(i.secured, fabric.KubeNamespace{Name: r.Namespace, Enforce: level.Level, Warn: level.Level, Why: r.Title + ": " + level.Why + "."})
}

// features gives Node Feature Discovery to the first release that needs it, and says to the others that it is there: two of them would
// label the machines against each other.
func (i *installation) features(id string, r *fabric.HelmRelease, key string) {
	why := "it labels the machines by their devices, for this operator and those behind it."
	if i.Features != "" {
		why = "release " + i.Features + " runs Node Feature Discovery already: two of it would label the machines against each other."
	}
	i.set(id, r, key, i.Features == "", why)
	if i.Features == "" {
		i.Features = r.Name
	}
}

// sharedReady: every machine gives out the NIC of each rail.
func (i *installation) sharedReady() []fabric.Readiness {
	var all []fabric.Readiness
	for _, n := range i.plan.Pods.NICs {
		name := fabric.RDMAPrefix + n.Resource
		all = append(all, fabric.Readiness{What: "every machine gives out " + name, Resource: name, Least: 1, Minutes: programMinutes})
	}
	return all
}

// namespaces are those of pods and of releases. Pods of the fabric keep memory in place that NICs read and write, with the capability
// IPC_LOCK, which no level but privileged admits (Kubernetes, Pod Security Standards, baseline: Capabilities).
func (i *installation) namespaces() {
	pods := fabric.KubeNamespace{Name: i.kube.Namespace, Enforce: "privileged", Warn: "baseline",
		Why: "The pods of the fabric: they need the capability IPC_LOCK for memory that NICs read and write, which level baseline refuses. A warning names whatever else in them breaks it."}
	all := []fabric.KubeNamespace{pods}
	if i.kube.Operators != intent.OperatorsPresent {
		all = append(all, i.secured...)
		if i.Plugin != nil {
			all = append(all, fabric.KubeNamespace{Name: i.Plugin.Namespace, Enforce: "privileged", Warn: "privileged",
				Why: "RDMA shared device plugin: it is privileged and mounts folders of the machine."})
		}
	}
	for _, n := range all {
		// The namespace of the system is not labelled: it is exempt, or its owner has decided.
		if n.Name != kubeSystem && !slices.ContainsFunc(i.plan.Namespaces, func(has fabric.KubeNamespace) bool { return has.Name == n.Name }) {
			i.plan.Namespaces = append(i.plan.Namespaces, n)
		}
	}
}

// kubeSystem is the namespace of Kubernetes' own pods.
const kubeSystem = "kube-system"
