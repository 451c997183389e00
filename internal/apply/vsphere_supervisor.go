package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// mark is in the description of everything that this program makes for a plan.
func (v VSphere) mark() string { return PlanLabel + "=" + v.Plan.Name }

// ours reports whether a description has the mark: as a word, so that plan a is not plan ab.
func (v VSphere) ours(about string) bool { return slices.Contains(strings.Fields(about), v.mark()) }

// classes compares the classes of the plan with those of vCenter.
func (v VSphere) classes(ctx context.Context, s *sphereLook) error {
	have, err := v.Client.Classes(ctx)
	if err != nil {
		return err
	}
	planned := map[string]bool{}
	for _, want := range v.Plan.VSphere.Classes {
		planned[want.Name] = true
		w := sphereClass{Want: want, About: aboutClass(want) + " " + v.mark()}
		step := sphereStep{write: sphereWrite{Kind: Create, Class: &w}, reason: fmt.Sprintf("%s, %d CPUs, %d MB", strings.TrimSuffix(aboutClass(want), ","), want.CPUs, want.MemoryMB)}
		if problem := unmakeable(want); problem != "" {
			s.wait("class %s: %s", want.Name, problem)
			continue
		}
		if i := slices.IndexFunc(have, func(c vcenter.Class) bool { return c.Name == want.Name }); i >= 0 {
			step = v.classStep(w, have[i])
		}
		s.steps = append(s.steps, step)
	}
	for _, c := range have {
		if v.ours(c.About) && !planned[c.Name] {
			s.others = append(s.others, fmt.Sprintf("class %s: made for this plan, which no longer has it: govc namespace.vmclass.rm %s", c.Name, c.Name))
		}
	}
	return nil
}

// classStep is what is to be done with a class that exists.
func (v VSphere) classStep(w sphereClass, now vcenter.Class) sphereStep {
	w.Before = &now
	step := sphereStep{write: sphereWrite{Kind: Same, Class: &w}}
	differ := now.Differences(w.Want)
	switch {
	case len(differ) == 0:
		return step
	case !v.ours(now.About) && !v.Force:
		step.err = fmt.Errorf("is there, was not made for this plan, and differs in %s; --force-conflicts changes it", firstOf(differ))
	case len(now.VMs) > 0:
		step.reason = firstOf(differ) + "; " + fabric.Count(len(now.VMs), "virtual machine") + " made of it keep what they have"
	default:
		step.reason = firstOf(differ)
	}
	step.write.Kind = Update
	return step
}

// aboutClass is the description of a class.
func aboutClass(c fabric.VMClass) string {
	text := fabric.Count(c.GPUs, "GPU") + " and " + fabric.Count(c.NICs, "NIC")
	if len(c.Modules) > 0 {
		text += " of Module Id " + strings.Trim(fmt.Sprint(c.Modules), "[]")
	}
	return text + ","
}

// unmakeable says what of a class the plan does not know.
func unmakeable(c fabric.VMClass) string {
	if c.CPUs < 1 || c.MemoryMB < 1 {
		return "vsphere.vm.cpus and vsphere.vm.memory_gib are not in the cluster file, and a class needs both"
	}
	for _, d := range c.Devices {
		if d.Vendor == 0 || d.Device == 0 {
			return "the catalog does not know the PCI id of " + d.Label
		}
	}
	return ""
}

// namespace compares the namespace of the plan with that of vCenter, and looks for everything that it needs.
func (v VSphere) namespace(ctx context.Context, s *sphereLook, hosts []vcenter.Host) error {
	kube := v.Plan.VSphere.Kube
	put := vcenter.Namespace{Name: kube.Namespace, About: v.mark()}
	var lacks []string
	cluster, lack, err := v.supervisor(ctx, hosts)
	if err != nil {
		return err
	}
	put.Cluster, lacks = cluster, append(lacks, lack...)
	if put.Policies, lack, err = v.policy(ctx); err != nil {
		return err
	}
	lacks = append(lacks, lack...)
	library := ""
	if put.Libraries, err = v.library(ctx, s); err != nil {
		return err
	}
	if len(put.Libraries) > 0 {
		library = kube.Library
	}
	own := []string{}
	for _, step := range s.steps {
		if c := step.write.Class; c != nil {
			own = append(own, c.Want.Name)
		}
	}
	control, err := v.Client.Class(ctx, kube.Control)
	if err != nil {
		return err
	}
	if control == nil && !slices.Contains(own, kube.Control) {
		lacks = append(lacks, fmt.Sprintf("class %s of the control plane, which vCenter makes with Workload Management: vsphere.vks.control names another", kube.Control))
	}
	put.Classes = append(slices.Clone(own), kube.Control)
	slices.Sort(put.Classes)
	put.Classes = slices.Compact(put.Classes)
	if len(lacks) > 0 {
		for _, l := range lacks {
			s.wait("namespace %s waits for %s", kube.Namespace, l)
		}
		return nil
	}
	now, err := v.Client.Namespace(ctx, kube.Namespace)
	if err != nil {
		return err
	}
	s.steps = append(s.steps, namespaceStep(sphereNamespace{Put: put, Own: own, Before: now, policy: kube.StorageClass, library: library}))
	return nil
}

// namespaceStep is what is to be done with the namespace.
func namespaceStep(w sphereNamespace) sphereStep {
	step := sphereStep{write: sphereWrite{Kind: Create, Namespace: &w}}
	if w.Before == nil {
		step.reason = "with classes " + firstOf(w.Put.Classes) + " and storage policy " + w.policy
		if w.library != "" {
			step.reason += " and content library " + w.library
		}
		return step
	}
	var gets []string
	for _, part := range []struct {
		word       string
		have, want []string
		name       string // of the only one; empty: the id is the name
	}{{"class", w.Before.Classes, w.Put.Classes, ""}, {"storage policy", w.Before.Policies, w.Put.Policies, w.policy}, {"content library", w.Before.Libraries, w.Put.Libraries, w.library}} {
		for _, id := range part.want {
			if !slices.Contains(part.have, id) {
				gets = append(gets, part.word+" "+cmp.Or(part.name, id))
			}
		}
	}
	step.write.Kind = Same
	switch {
	case w.Before.Cluster != "" && w.Before.Cluster != w.Put.Cluster:
		step.write.Kind, step.err = Update, fmt.Errorf("is on the Supervisor of cluster %s, and the planned hosts are in %s: choose another name (vsphere.vks.namespace), or remove it", w.Before.Cluster, w.Put.Cluster)
	case w.Before.Status == "REMOVING":
		step.write.Kind, step.err = Update, fmt.Errorf("is being removed: wait until it is gone, then repeat")
	case len(gets) > 0:
		step.write.Kind, step.reason = Update, "gets "+firstOf(gets)
	}
	return step
}

// supervisor is the cluster of the planned hosts, and what it lacks.
func (v VSphere) supervisor(ctx context.Context, hosts []vcenter.Host) (cluster string, lacks []string, err error) {
	const step = " (runbook: workload-management)"
	names := map[string]string{}
	for _, h := range hosts {
		if h.ClusterID == "" {
			return "", []string{fmt.Sprintf("a vSphere cluster of host %s, which is in none", h.Name)}, nil
		}
		names[h.ClusterID] = h.Cluster
		cluster = h.ClusterID
	}
	if len(names) != 1 {
		var all []string
		for _, name := range names {
			all = append(all, name)
		}
		slices.Sort(all)
		if len(all) == 0 {
			return "", []string{"its hosts, of which vCenter shows none"}, nil
		}
		return "", []string{"one vSphere cluster with all planned hosts: they are in " + strings.Join(all, ", ")}, nil
	}
	found, err := v.Client.Supervisors(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, s := range found {
		switch {
		case s.Cluster != cluster:
		case !s.Runs():
			return cluster, []string{fmt.Sprintf("the Supervisor of cluster %s, which is %s%s", names[cluster], named(s.Status), step)}, nil
		case s.Kubernetes == "ERROR":
			return cluster, []string{fmt.Sprintf("Kubernetes of the Supervisor of cluster %s, which is %s%s", names[cluster], s.Kubernetes, step)}, nil
		default:
			return cluster, nil, nil
		}
	}
	return cluster, []string{fmt.Sprintf("a Supervisor of cluster %s: Workload Management is not enabled there%s", names[cluster], step)}, nil
}

// policy is the id of the storage policy whose name in Kubernetes the plan has.
func (v VSphere) policy(ctx context.Context) (ids, lacks []string, err error) {
	class := v.Plan.VSphere.Kube.StorageClass
	all, err := v.Client.StoragePolicies(ctx)
	if err != nil {
		return nil, nil, err
	}
	var have, names []string
	for _, p := range all {
		have = append(have, vcenter.PolicyName(p.Name))
		if vcenter.PolicyName(p.Name) == class {
			ids, names = append(ids, p.ID), append(names, p.Name)
		}
	}
	switch len(ids) {
	case 1:
		return ids, nil, nil
	case 0:
		slices.Sort(have)
		return nil, []string{fmt.Sprintf("storage policy %s; there are: %s (runbook: content-library)", class, named(firstOf(have)))}, nil
	}
	return nil, []string{fmt.Sprintf("one storage policy %s: %s have this name in Kubernetes", class, strings.Join(names, ", "))}, nil
}

// library finds the content library, and the template of the planned release in it.
func (v VSphere) library(ctx context.Context, s *sphereLook) (ids []string, err error) {
	const step = " (runbook: content-library)"
	kube := v.Plan.VSphere.Kube
	all, err := v.Client.Libraries(ctx)
	if err != nil {
		return nil, err
	}
	if kube.Library != "" {
		all = slices.DeleteFunc(all, func(l vcenter.Named) bool { return l.Name != kube.Library })
		switch {
		case len(all) == 0:
			s.wait("content library %s: vCenter has none of this name%s", kube.Library, step)
			return nil, nil
		case len(all) > 1:
			s.wait("content library %s: %d have this name: rename the others%s", kube.Library, len(all), step)
			return nil, nil
		}
		ids = []string{all[0].ID}
	}
	for _, l := range all {
		items, err := v.Client.LibraryItems(ctx, l)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(items, func(i vcenter.Named) bool { return strings.Contains(i.Name, kube.Version) }) {
			return ids, nil
		}
	}
	where := "no content library"
	if kube.Library != "" {
		where = "content library " + kube.Library + " does not"
	}
	s.wait("%s has a template of the Kubernetes release %s: subscribe and synchronize%s", strings.TrimSuffix(where, " does not"), kube.Version, step)
	return ids, nil
}
