package vcenter

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vmware/govmomi/vim25/mo"
)

// Namespace is a vSphere namespace of a Supervisor.
type Namespace struct {
	Name      string
	Cluster   string   // id of the cluster that has the Supervisor: domain-c8
	Status    string   // CONFIGURING, RUNNING, REMOVING, ERROR
	About     string   // description; of one that exists it stays as it is
	Classes   []string // names
	Policies  []string // ids of storage policies
	Libraries []string // ids of content libraries
}

// Named is something that vCenter knows by an id and people by a name: a storage policy, a content library, a cluster.
type Named struct{ ID, Name, Kind string }

const (
	namespacePath = "/api/vcenter/namespaces/instances"
	policyPath    = "/api/vcenter/storage/policies"
	libraryPath   = "/api/content/library"
	itemPath      = "/api/content/library/item"
	clusterPath   = "/api/vcenter/namespace-management/clusters"
)

type namespaceWire struct {
	Namespace string `json:"namespace,omitempty"`
	Cluster   string `json:"cluster,omitempty"`
	Status    string `json:"config_status,omitempty"`
	About     string `json:"description,omitempty"`
	Service   struct {
		Libraries []string `json:"content_libraries"`
		Classes   []string `json:"vm_classes"`
	} `json:"vm_service_spec"`
	Storage []storageWire `json:"storage_specs"`
}

type storageWire struct {
	Policy string `json:"policy"`
	Limit  *int64 `json:"limit,omitempty"` // MiB
}

// Namespaces are all namespaces that this user may see.
func (c *Client) Namespaces(ctx context.Context) ([]Namespace, error) {
	var all []struct {
		Namespace string `json:"namespace"`
	}
	if err := c.rest.call(ctx, "namespaces", http.MethodGet, namespacePath, nil, &all); err != nil {
		return nil, err
	}
	out := make([]Namespace, 0, len(all))
	for _, n := range all {
		w, err := c.getNamespace(ctx, n.Namespace)
		if err != nil {
			return nil, err
		}
		if w != nil {
			out = append(out, w.plain(n.Namespace))
		}
	}
	slices.SortFunc(out, func(a, b Namespace) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

func (w namespaceWire) plain(name string) Namespace {
	out := Namespace{Name: name, Cluster: w.Cluster, Status: w.Status, About: w.About, Classes: w.Service.Classes, Libraries: w.Service.Libraries}
	for _, s := range w.Storage {
		out.Policies = append(out.Policies, s.Policy)
	}
	return out
}

// getNamespace is a namespace by name; nil: there is none.
func (c *Client) getNamespace(ctx context.Context, name string) (*namespaceWire, error) {
	var w namespaceWire
	err := c.rest.call(ctx, "namespace "+name, http.MethodGet, namespacePath+"/"+url.PathEscape(name), nil, &w)
	if Is(err, NotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &w, nil
}

// PutNamespace makes a namespace, or gives one that exists the classes, policies and libraries that it lacks; what it has besides
// stays. Before is the namespace as it was; nil: there was none. Changed is false where nothing had to be done.
func (c *Client) PutNamespace(ctx context.Context, want Namespace) (before *Namespace, changed bool, err error) {
	what := "namespace " + want.Name
	if err := c.namespaceMayBe(ctx, what, want); err != nil {
		return nil, false, err
	}
	old, err := c.getNamespace(ctx, want.Name)
	if err != nil {
		return nil, false, err
	}
	if old == nil {
		wire := namespaceWire{Namespace: want.Name, Cluster: want.Cluster, About: want.About}
		wire.add(want)
		if err := c.rest.call(ctx, what, http.MethodPost, namespacePath, wire, nil); err != nil {
			return nil, false, err
		}
		return nil, true, c.verifyNamespace(ctx, want)
	}
	was := old.plain(want.Name)
	switch {
	case old.Cluster != want.Cluster:
		return nil, false, refuse(what, "is on cluster %s, not on %s", old.Cluster, want.Cluster)
	case old.Status == "REMOVING":
		return nil, false, refuse(what, "is being removed")
	case was.has(want):
		return &was, false, nil
	}
	wire := namespaceWire{Service: old.Service, Storage: old.Storage}
	wire.add(want)
	if err := c.rest.call(ctx, what, http.MethodPatch, namespacePath+"/"+url.PathEscape(want.Name), wire, nil); err != nil {
		return nil, false, err
	}
	return &was, true, c.verifyNamespace(ctx, want)
}

// Namespace is a namespace by name; nil: there is none, or this user does not see it.
func (c *Client) Namespace(ctx context.Context, name string) (*Namespace, error) {
	w, err := c.getNamespace(ctx, name)
	if err != nil || w == nil {
		return nil, err
	}
	n := w.plain(name)
	return &n, nil
}

// TakeFromNamespace takes away what PutNamespace gave: what before had stays, and so does what others gave since. A namespace that
// PutNamespace made (before is nil) is not removed by this program: everything that runs in it would go too. It keeps its storage
// policies, on which volumes may be.
func (c *Client) TakeFromNamespace(ctx context.Context, put Namespace, before *Namespace) error {
	what := "namespace " + put.Name
	now, err := c.getNamespace(ctx, put.Name)
	if err != nil {
		return err
	}
	if now == nil {
		return &Error{Kind: NotFound, What: what, Text: "is not there any more"}
	}
	had := Namespace{Policies: put.Policies}
	if before != nil {
		had = *before
	}
	given := func(put, had []string) func(string) bool {
		return func(id string) bool { return slices.Contains(put, id) && !slices.Contains(had, id) }
	}
	wire := namespaceWire{}
	wire.Service.Classes = slices.DeleteFunc(append([]string{}, now.Service.Classes...), given(put.Classes, had.Classes))
	wire.Service.Libraries = slices.DeleteFunc(append([]string{}, now.Service.Libraries...), given(put.Libraries, had.Libraries))
	gone := given(put.Policies, had.Policies)
	wire.Storage = slices.DeleteFunc(append([]storageWire{}, now.Storage...), func(s storageWire) bool { return gone(s.Policy) })
	if len(wire.Service.Classes) == len(now.Service.Classes) && len(wire.Service.Libraries) == len(now.Service.Libraries) && len(wire.Storage) == len(now.Storage) {
		return nil
	}
	return c.rest.call(ctx, what, http.MethodPatch, namespacePath+"/"+url.PathEscape(put.Name), wire, nil)
}

// Supervisor is a cluster on which Workload Management is enabled.
type Supervisor struct {
	Cluster    string // id: domain-c8
	Name       string // of the cluster
	Status     string // CONFIGURING, RUNNING, REMOVING, ERROR
	Kubernetes string // READY, WARNING, ERROR
}

// Runs reports whether namespaces can be made on it.
func (s Supervisor) Runs() bool { return s.Status == "RUNNING" }

// Supervisors are the clusters that have one, by name.
func (c *Client) Supervisors(ctx context.Context) ([]Supervisor, error) {
	var all []struct {
		Cluster    string `json:"cluster"`
		Name       string `json:"cluster_name"`
		Status     string `json:"config_status"`
		Kubernetes string `json:"kubernetes_status"`
	}
	if err := c.rest.call(ctx, "Workload Management", http.MethodGet, clusterPath, nil, &all); err != nil {
		return nil, err
	}
	out := make([]Supervisor, 0, len(all))
	for _, s := range all {
		out = append(out, Supervisor(s))
	}
	slices.SortFunc(out, func(a, b Supervisor) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// namespaceMayBe are the preconditions: a Supervisor that runs, and everything that the namespace is given.
func (c *Client) namespaceMayBe(ctx context.Context, what string, want Namespace) error {
	clusters, err := c.Supervisors(ctx)
	if err != nil {
		return err
	}
	status := ""
	for _, s := range clusters {
		if s.Cluster == want.Cluster {
			status = s.Status
		}
	}
	switch status {
	case "RUNNING":
	case "":
		return refuse(what, "cluster %s has no Supervisor: Workload Management is enabled first", want.Cluster)
	default:
		return refuse(what, "the Supervisor of cluster %s is %s", want.Cluster, status)
	}
	for _, name := range want.Classes {
		if class, err := c.getClass(ctx, name); err != nil {
			return err
		} else if class == nil {
			return refuse(what, "there is no class %s", name)
		}
	}
	if len(want.Policies) == 0 {
		return nil
	}
	policies, err := c.StoragePolicies(ctx)
	if err != nil {
		return err
	}
	for _, id := range want.Policies {
		if !slices.ContainsFunc(policies, func(p Named) bool { return p.ID == id }) {
			return refuse(what, "there is no storage policy with id %s", id)
		}
	}
	return nil
}

func (w *namespaceWire) add(want Namespace) {
	union := func(have, more []string) []string {
		out := append([]string{}, have...)
		for _, m := range more {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
		return out
	}
	w.Service.Classes, w.Service.Libraries = union(w.Service.Classes, want.Classes), union(w.Service.Libraries, want.Libraries)
	w.Storage = append([]storageWire{}, w.Storage...)
	for _, id := range want.Policies {
		if !slices.ContainsFunc(w.Storage, func(s storageWire) bool { return s.Policy == id }) {
			w.Storage = append(w.Storage, storageWire{Policy: id})
		}
	}
}

func (n Namespace) has(want Namespace) bool {
	all := func(have, want []string) bool {
		return !slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(have, w) })
	}
	return all(n.Classes, want.Classes) && all(n.Policies, want.Policies) && all(n.Libraries, want.Libraries)
}

func (c *Client) verifyNamespace(ctx context.Context, want Namespace) error {
	now, err := c.getNamespace(ctx, want.Name)
	if err != nil {
		return err
	}
	if now == nil || !now.plain(want.Name).has(want) {
		return &Error{Kind: Fault, What: "namespace " + want.Name, Text: "vCenter said that it made it, and it is not as asked for"}
	}
	return nil
}

// StoragePolicies are the storage policies.
func (c *Client) StoragePolicies(ctx context.Context) ([]Named, error) {
	var all []struct {
		Policy string `json:"policy"`
		Name   string `json:"name"`
	}
	if err := c.rest.call(ctx, "storage policies", http.MethodGet, policyPath, nil, &all); err != nil {
		return nil, err
	}
	out := make([]Named, 0, len(all))
	for _, p := range all {
		out = append(out, Named{ID: p.Policy, Name: p.Name})
	}
	return out, nil
}

// LibraryItems are the templates of a content library: each is asked for, as the API lists ids alone.
func (c *Client) LibraryItems(ctx context.Context, library Named) ([]Named, error) {
	what := "content library " + library.Name
	var ids []string
	if err := c.rest.get(ctx, what, itemPath, url.Values{"library_id": {library.ID}}, &ids); err != nil {
		return nil, err
	}
	out := make([]Named, 0, len(ids))
	for _, id := range ids {
		var item struct {
			Name string `json:"name"`
			Type string `json:"type"`
		}
		err := c.rest.call(ctx, what, http.MethodGet, itemPath+"/"+url.PathEscape(id), nil, &item)
		if Is(err, NotFound) {
			continue // it was removed in between
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Named{ID: id, Name: item.Name, Kind: item.Type})
	}
	return out, nil
}

// Libraries are the content libraries: local ones, and those that follow another.
func (c *Client) Libraries(ctx context.Context) ([]Named, error) {
	var ids []string
	if err := c.rest.call(ctx, "content libraries", http.MethodGet, libraryPath, nil, &ids); err != nil {
		return nil, err
	}
	out := make([]Named, 0, len(ids))
	for _, id := range ids {
		var l struct {
			Name string `json:"name"`
			Type string `json:"type"`
		}
		err := c.rest.call(ctx, "content library "+id, http.MethodGet, libraryPath+"/"+url.PathEscape(id), nil, &l)
		if Is(err, NotFound) {
			continue // it was removed in between
		}
		if err != nil {
			return nil, err
		}
		out = append(out, Named{ID: id, Name: l.Name, Kind: strings.ToLower(l.Type)})
	}
	return out, nil
}

// Clusters are the vSphere clusters.
func (c *Client) Clusters(ctx context.Context) ([]Named, error) {
	all, err := c.inventory(ctx, c.Place(), map[string][]string{"ClusterComputeResource": {"name"}})
	if err != nil {
		return nil, err
	}
	out := []Named{}
	for ref, v := range valuesOf[mo.ClusterComputeResource](all) {
		out = append(out, Named{ID: ref.Value, Name: unescape(v.Name), Kind: "cluster"})
	}
	slices.SortFunc(out, func(a, b Named) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return out, nil
}

// PolicyName is the name of a storage policy as the storage class of a namespace has it: lower case, with '-' for what a name in
// Kubernetes may not have.
func PolicyName(policy string) string {
	out := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '.':
			return r
		}
		return '-'
	}, strings.ToLower(policy))
	return strings.Trim(out, "-.")
}
