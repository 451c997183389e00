package vcenter

import (
	"context"
	"crypto/tls"
	"errors"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// The property collector answers one question for all objects. Paths through the inventory are written into the question, so
// that no view has to be made, kept and removed: a session that ends in between costs nothing.

// mostObjects is how many objects an answer has; the rest follows. 500 hosts with ten properties are about 1 MB.
const mostObjects = 500

// found is what was read of an object: its properties as the library's struct, and why others were not.
type found struct {
	ref     types.ManagedObjectReference
	value   any
	unread  map[string]types.LocalizedMethodFault // by property
	present map[string]bool
}

// inventory asks for properties of everything below the root folder, by type.
func (c *Client) inventory(ctx context.Context, what string, properties map[string][]string) ([]found, error) {
	skip := true
	root := types.ObjectSpec{Obj: c.vim.ServiceContent.RootFolder, Skip: &skip, SelectSet: traversal()}
	return c.retrieve(ctx, what, []types.ObjectSpec{root}, properties)
}

// object asks for properties of one object.
func (c *Client) object(ctx context.Context, what string, ref types.ManagedObjectReference, properties ...string) (found, error) {
	all, err := c.retrieve(ctx, what, []types.ObjectSpec{{Obj: ref}}, map[string][]string{ref.Type: properties})
	if err != nil {
		return found{}, err
	}
	if len(all) != 1 {
		return found{}, &Error{Kind: NotFound, What: what, Text: "is not there any more"}
	}
	return all[0], nil
}

// traversal leads from folders to datacenters, clusters, hosts and their virtual machines.
func traversal() []types.BaseSelectionSpec {
	name := func(s string) types.BaseSelectionSpec { return &types.SelectionSpec{Name: s} }
	step := func(of, kind, path string, then ...types.BaseSelectionSpec) types.BaseSelectionSpec {
		return &types.TraversalSpec{SelectionSpec: types.SelectionSpec{Name: of}, Type: kind, Path: path, SelectSet: then}
	}
	return []types.BaseSelectionSpec{
		step("folders", "Folder", "childEntity", name("folders"), name("datacenters"), name("hosts")),
		step("datacenters", "Datacenter", "hostFolder", name("folders")),
		step("hosts", "ComputeResource", "host", name("machines")),
		step("machines", "HostSystem", "vm"),
	}
}

func (c *Client) retrieve(ctx context.Context, what string, objects []types.ObjectSpec, properties map[string][]string) ([]found, error) {
	spec := types.PropertyFilterSpec{ObjectSet: objects}
	skipMissing := true // a host that leaves in between is not there, and no error
	spec.ReportMissingObjectsInResults = &skipMissing
	for kind, paths := range properties {
		spec.PropSet = append(spec.PropSet, types.PropertySpec{Type: kind, PathSet: paths})
	}
	const tries = 3
	for try := 1; ; try++ {
		content, err := c.retrieveOnce(ctx, spec)
		if err == nil {
			return decode(content), nil
		}
		if notAuthenticated(err) && try < tries {
			if rt, ok := c.vim.RoundTripper.(*transport); ok && rt.loginAfter(ctx, rt.count()) == nil {
				continue
			}
		}
		wrapped := c.problem(what, err)
		if try == tries || ctx.Err() != nil || !Is(wrapped, NoAnswer) || certificateProblem(err) {
			return nil, wrapped
		}
		if !sleep(ctx, time.Duration(try)*c.poll) {
			return nil, wrapped
		}
	}
}

func (c *Client) retrieveOnce(ctx context.Context, spec types.PropertyFilterSpec) ([]types.ObjectContent, error) {
	collector := c.vim.ServiceContent.PropertyCollector
	answer, err := methods.RetrievePropertiesEx(ctx, c.vim, &types.RetrievePropertiesEx{This: collector, SpecSet: []types.PropertyFilterSpec{spec}, Options: types.RetrieveOptions{MaxObjects: mostObjects}})
	if err != nil || answer.Returnval == nil {
		return nil, err
	}
	content, token := answer.Returnval.Objects, answer.Returnval.Token
	for token != "" {
		next, err := methods.ContinueRetrievePropertiesEx(ctx, c.vim, &types.ContinueRetrievePropertiesEx{This: collector, Token: token})
		if err != nil {
			return nil, err
		}
		content, token = append(content, next.Returnval.Objects...), next.Returnval.Token
	}
	return content, sessionEnded(content)
}

// sessionEnded finds a session that ended in objects that were all refused, as some servers answer instead of with a fault.
func sessionEnded(content []types.ObjectContent) error {
	for _, o := range content {
		for _, m := range o.MissingSet {
			if faultName(m.Fault.Fault) == "NotAuthenticated" {
				return &taskError{fault: m.Fault}
			}
		}
	}
	return nil
}

func decode(content []types.ObjectContent) []found {
	all := make([]found, 0, len(content))
	for _, o := range content {
		f := found{ref: o.Obj, unread: map[string]types.LocalizedMethodFault{}, present: map[string]bool{}}
		for _, m := range o.MissingSet {
			f.unread[m.Path] = m.Fault
		}
		for _, p := range o.PropSet {
			f.present[p.Name] = true
		}
		o.MissingSet = nil
		value, err := mo.ObjectContentToType(o)
		if err != nil {
			continue
		}
		f.value = value
		all = append(all, f)
	}
	return all
}

// valuesOf are the objects of one of the library's types, by reference.
func valuesOf[T any](all []found) map[types.ManagedObjectReference]T {
	out := map[types.ManagedObjectReference]T{}
	for _, f := range all {
		if v, ok := f.value.(T); ok {
			out[f.ref] = v
		}
	}
	return out
}

// certificateProblem reports whether asking again is of no use.
func certificateProblem(err error) bool {
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	_, ok := errors.AsType[*certificateError](err)
	return ok
}

// sleep waits; false: the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
