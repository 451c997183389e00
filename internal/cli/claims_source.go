package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/pipeline"
)

// claimSource is where slices come from.
type claimSource struct {
	plan    *fabric.Plan // of -f; nil without
	text    string       // for people
	notes   []string
	objects *claims.Objects // slices of files, or of a cluster with its classes and claims
	nominal bool            // made holds the slices, as no driver has published them
	made    claims.NominalSlices
	machine pipeline.ClaimMachine // what is known of the machines beside their slices
}

// claimSource reads or makes the slices.
func (a *app) claimSource(ctx context.Context, o claimsOptions) (s claimSource, err error) {
	cat, err := catalog.Load()
	if err != nil {
		return s, err
	}
	if err := checkHardware(cat, fabric.Hardware{Machine: o.machine}); err != nil {
		return s, err
	}
	if made := o.machine != "" || len(o.snapshots) > 0; made && !o.print && o.file == "" && len(o.claims)+len(o.slices) == 0 && o.kubeconfig+o.context == "" {
		return s, errors.New("claims: unspecified: use -f FILE or --claims FILE, or --print-slices")
	}
	if o.file != "" {
		in, err := a.readCluster(o.file)
		if err != nil {
			return s, err
		}
		if in.plan.Claims == nil {
			return s, fmt.Errorf("cluster file %s: plans no pods: they are planned for launcher kubernetes, on machines of the catalog with GPUs", fabric.Quote(o.file))
		}
		s.plan = in.plan
	}
	switch {
	case len(o.slices) > 0:
		err = a.slicesOfFiles(&s, o)
	case o.kubeconfig != "" || o.context != "":
		err = a.slicesOfCluster(ctx, &s, o)
	case len(o.snapshots) > 0:
		err = a.slicesOfFacts(ctx, &s, o, cat)
	case o.machine != "" || s.plan != nil:
		err = slicesOfCatalog(&s, o, cat)
	case len(o.claims) == 0 || o.print:
		err = errors.New("slices: unspecified: use -f FILE, --slices FILE, --kubeconfig PATH, --snapshot PATH or --machine ID")
	default:
		s.text = "the files of --claims"
	}
	if err == nil && s.objects != nil {
		err = s.places(o, cat)
	}
	if err != nil {
		return s, err
	}
	s.machine.Cluster, err = a.claimCluster(ctx, s, o, cat)
	return s, err
}

// places takes from the catalog what published slices leave out of the machines of the plan, or of the one of a flag.
func (s *claimSource) places(o claimsOptions, cat *catalog.Catalog) error {
	var ids []string
	switch {
	case o.machine != "":
		ids = []string{o.machine}
	case s.plan != nil:
		for _, n := range s.plan.Nodes {
			if n.Machine != "" && !slices.Contains(ids, n.Machine) {
				ids = append(ids, n.Machine)
			}
		}
	}
	known, notes, err := pipeline.PlacesOfCatalog(cat, ids, s.objects)
	known.Unread = s.machine.Unread
	s.machine, s.notes = known, append(s.notes, notes...)
	return err
}

// slicesOfFiles reads slices. A file without any is not what it should be.
func (a *app) slicesOfFiles(s *claimSource, o claimsOptions) error {
	if o.nodes > 0 {
		return errors.New("flag --nodes: the nodes are those of the slices: use it with --machine alone")
	}
	s.objects = &claims.Objects{}
	for _, name := range o.slices {
		one, err := a.readObjects("slices", name)
		if err != nil {
			return err
		}
		if one.Counts().Slices == 0 {
			return fmt.Errorf("flag --slices: %s: has no ResourceSlice that can be read%s", fabric.Quote(name), unread(one))
		}
		s.objects.Merge(one)
	}
	s.text = listed(o.slices)
	return nil
}

// listed names files, the first few of many.
func listed(names []string) string {
	if len(names) > 2 {
		return fmt.Sprintf("%s and %d more", fabric.Printable(names[0]), len(names)-1)
	}
	text := fabric.Printable(names[0])
	for _, name := range names[1:] {
		text += ", " + fabric.Printable(name)
	}
	return text
}

// inFiles says which files something is not in, empty without a file.
func inFiles(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return " in " + listed(names)
}

// mostProblems is how many problems the message about a file names.
const mostProblems = 3

// unread says what was not understood in objects, and where: empty where there is nothing.
func unread(o *claims.Objects) string {
	var texts []string
	all := o.Problems()
	for i, p := range all {
		if i == mostProblems {
			texts = append(texts, fmt.Sprintf("and %d more", len(all)-i))
			break
		}
		var parts []string
		if p.Line > 0 && !strings.HasPrefix(p.Reason, "line ") {
			parts = append(parts, fmt.Sprintf("line %d", p.Line))
		}
		for _, part := range []string{p.Object, p.Field, p.Reason} {
			if part != "" {
				parts = append(parts, fabric.Printable(part))
			}
		}
		texts = append(texts, strings.Join(parts, ": "))
	}
	if len(texts) == 0 {
		return ""
	}
	return ": " + strings.Join(texts, "; ")
}

// understood tells objects that were read and that only cannot be computed with, such as a DeviceTaintRule: they leave the
// answer unknown.
func understood(o *claims.Objects) bool {
	all := o.Problems()
	return len(all) > 0 && !slices.ContainsFunc(all, func(p fabric.ObjectProblem) bool { return p.Refused })
}

// maxObjects bounds a file of Kubernetes objects, bytes: slices of a million devices.
const maxObjects = 1 << 30

// readObjects reads Kubernetes objects of a file, or of standard input.
func (a *app) readObjects(flag, name string) (*claims.Objects, error) {
	from := a.stdin
	if name != "-" {
		a.doing("reading %s", fabric.Quote(name))
		f, err := a.files.Open(name)
		if err != nil {
			return nil, fmt.Errorf("flag --%s: %w", flag, err)
		}
		defer f.Close()
		from = f
	} else {
		a.doing("waiting for objects on standard input")
		name = "standard input"
	}
	text, err := io.ReadAll(io.LimitReader(from, maxObjects+1))
	if err != nil {
		return nil, fmt.Errorf("flag --%s: %w", flag, err)
	}
	if len(text) > maxObjects {
		return nil, fmt.Errorf("flag --%s: %s: larger than 1 GiB", flag, fabric.Quote(name))
	}
	return claims.Read([]claims.File{{Name: name, Text: text}}), nil
}

// slicesOfCluster reads what a cluster has: slices, classes, claims in use, pods. What could not be read is unknown, never
// free.
func (a *app) slicesOfCluster(ctx context.Context, s *claimSource, o claimsOptions) error {
	if o.nodes > 0 {
		return errors.New("flag --nodes: the nodes are those of the cluster: use it with --machine alone")
	}
	client, err := kube.Open(o.kubeconfig, o.context)
	if err != nil {
		return err
	}
	a.doing("reading the cluster at %s", client.Server())
	list, unread, err := client.ClaimObjects(ctx)
	if err != nil {
		return err
	}
	s.objects = claims.Read([]claims.File{{Name: "cluster " + client.Server(), Text: list}})
	for _, u := range unread {
		if u.Kind == "ResourceSlice" {
			return u.Err
		}
		s.machine.Unread = append(s.machine.Unread, fabric.ObjectProblem{Object: u.Kind, Reason: "could not be listed: " + u.Err.Error()})
	}
	if s.objects.Counts().Slices == 0 {
		return fmt.Errorf("cluster %s: has no ResourceSlice: no DRA driver has published devices", client.Server())
	}
	s.text = "cluster " + client.Server()
	return nil
}

// slicesOfFacts makes the slices that drivers would publish on machines of saved facts.
func (a *app) slicesOfFacts(ctx context.Context, s *claimSource, o claimsOptions, cat *catalog.Catalog) error {
	a.doing("reading saved facts")
	var all []*fabric.Facts
	for f, err := range facts.LoadFrom(ctx, a.files, o.snapshots...) {
		if err != nil {
			return fmt.Errorf("flag --snapshot: %w", err)
		}
		all = append(all, f)
	}
	if len(all) == 0 {
		return fmt.Errorf("flag --snapshot: %s: has no facts of a machine", fabric.Quote(o.snapshots[0]))
	}
	if o.nodes > 0 && len(all) > 1 {
		return fmt.Errorf("flag --nodes: the facts are of %s: use it with those of one", fabric.Count(len(all), "machine"))
	}
	s.nominal, s.text = true, "nominal: what drivers would publish on the machines of "+listed(o.snapshots)
	s.made, s.machine = pipeline.SlicesOfFacts(all, o.nodes, cat, s.publishers(o))
	s.notes = s.made.Gaps
	return nil
}

// slicesOfCatalog makes the slices of the plan's machines, or of a machine that a flag names.
func slicesOfCatalog(s *claimSource, o claimsOptions, cat *catalog.Catalog) (err error) {
	s.nominal = true
	machines := map[string][]string{} // nodes of each
	order := []string{o.machine}
	switch {
	case s.plan != nil && o.machine == "":
		if o.nodes > 0 {
			return errors.New("flag --nodes: the nodes are those of the cluster file")
		}
		order = nil
		for _, n := range s.plan.Nodes {
			if machines[n.Machine] == nil {
				order = append(order, n.Machine)
			}
			machines[n.Machine] = append(machines[n.Machine], n.Name)
		}
	default:
		nodes := max(o.nodes, 1)
		if nodes > collective.MaxNodes {
			return fmt.Errorf("flag --nodes: %d: more than %d", nodes, collective.MaxNodes)
		}
		for i := range nodes {
			machines[o.machine] = append(machines[o.machine], fmt.Sprintf("node%d", i+1))
		}
	}
	s.text = "nominal: what drivers would publish on " + listed(order) + " of the catalog"
	s.made, s.machine, err = pipeline.SlicesOfCatalog(cat, order, machines, s.publishers(o))
	s.notes = s.made.Gaps
	return err
}

// publishers are the drivers whose slices are made: those of the plan, else the DRA drivers of the machine's vendor, without
// that of the GPUs where a device plugin gives them.
func (s claimSource) publishers(o claimsOptions) pipeline.Publishers {
	switch {
	case s.plan != nil:
		return pipeline.Publishers{GPU: s.plan.Claims.GPUDriver, NIC: s.plan.Claims.NICDriver}
	case o.gpus > 0:
		return pipeline.Publishers{NIC: fabric.DriverDraNet}
	}
	return pipeline.Publishers{OfVendor: true, NIC: fabric.DriverDraNet}
}

// claimCluster is the machines that a collective is predicted for; nil where they are unknown.
func (a *app) claimCluster(ctx context.Context, s claimSource, o claimsOptions, cat *catalog.Catalog) (func() (*collective.Cluster, error), error) {
	flags := fabric.Hardware{Machine: o.machine}
	base := fabric.Hardware{}
	p := predictOptions{}
	switch {
	case len(o.snapshots) > 0:
		p.snapshot = o.snapshots[0]
		if len(o.snapshots) > 1 { // the first machine stands for all
			s.notes = append(s.notes, "bandwidth is predicted for the machine of "+fabric.Printable(o.snapshots[0]))
		}
	case s.plan != nil && o.machine == "":
		hw, err := pipeline.Hardware(s.plan)
		if err != nil {
			return func() (*collective.Cluster, error) { return nil, err }, nil
		}
		base = hw
	case o.machine == "":
		return nil, nil
	}
	flags.Nodes = 2 // pods are nodes to NCCL; that there is a network is what counts
	return func() (*collective.Cluster, error) {
		build, err := a.cluster(ctx, p, cat, base.With(flags), &forecast{})
		if err != nil {
			return nil, err
		}
		c, _, err := build(flags, nil)
		return c, err
	}, nil
}

// claimTest reads or makes the claims, and puts them beside the slices.
func (a *app) claimTest(_ context.Context, o claimsOptions, s claimSource) (in pipeline.ClaimTest, err error) {
	in = pipeline.ClaimTest{
		Source: s.text, Nominal: s.nominal, Notes: slices.Clone(s.notes), Cluster: s.machine.Cluster, Unread: s.machine.Unread, Orders: pipeline.ClaimOrders,
		Request: claims.Request{Pods: o.pods, Template: o.template, PluginGPUs: o.gpus, Kubernetes: o.kubernetes, Budget: o.budget, NodeGPUs: s.machine.GPUs, NICGbps: s.machine.NICGbps},
	}
	objects := &claims.Objects{}
	for _, name := range o.claims {
		one, err := a.readObjects("claims", name)
		if err != nil {
			return in, err
		}
		if n := one.Counts(); n.Claims+n.Templates+n.Workloads+n.Classes+n.Slices == 0 && !understood(one) {
			return in, fmt.Errorf("flag --claims: %s: has no claim, template, class or pod that can be read%s", fabric.Quote(name), unread(one))
		}
		objects.Merge(one)
	}
	objects.Merge(s.objects)
	if s.nominal {
		a.doing("making slices")
		made, err := pipeline.ReadSlices(s.made)
		if err != nil {
			return in, err
		}
		objects.Merge(made)
	}
	if s.plan != nil {
		pipeline.PlannedClaims(&in, objects, *s.plan.Claims)
	}
	in.Objects = objects
	if n := objects.Counts(); n.Slices == 0 {
		return in, fmt.Errorf("slices: none were read%s: use --slices FILE, --kubeconfig PATH, --snapshot PATH or --machine ID", unread(objects))
	} else if n.Claims+n.Templates+n.Workloads == 0 {
		return in, fmt.Errorf("claims: none beside the slices%s%s: use -f FILE or --claims FILE", inFiles(o.claims), unread(objects))
	}
	in.Notes = append(in.Notes, pipeline.AssumeClasses(objects)...)
	return in, nil
}
