package kube

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// busy is how long anything small may take on a machine that does other things too.
const busy = 30 * time.Second

// placement is what became of a test's pods.
type placement struct {
	bound   int
	refused map[string]string // by pod: why the scheduler did not place it
	pairs   [][]at            // all pairs of all pods
	pods    []podState
}

// at is an allocated device, where the slices that the API server has say that it is.
type at struct{ driver, pool, device, root string }

// aligned: a pair whose devices all have one root, which is known.
func aligned(pair []at) bool {
	return len(pair) > 1 && pair[0].root != "" && !slices.ContainsFunc(pair, func(a at) bool { return a.root != pair[0].root })
}

func (p placement) misaligned() (n int) {
	for _, pair := range p.pairs {
		if !aligned(pair) {
			n++
		}
	}
	return n
}

// taken counts devices that were given away, and fails if one was given twice.
func (p placement) taken(t *testing.T) int {
	t.Helper()
	seen := map[at]bool{}
	for _, a := range slices.Concat(p.pairs...) {
		if seen[a] {
			t.Errorf("%+v was allocated twice", a)
		}
		seen[a] = true
	}
	return len(seen)
}

type podState struct {
	Metadata struct{ Name string }
	Spec     struct{ NodeName string }
	Status   struct {
		Phase                 string
		ResourceClaimStatuses []struct{ ResourceClaimName string }
		Conditions            []struct{ Type, Status, Reason, Message string }
	}
}

type claimState struct {
	Metadata struct{ Name string }
	Status   struct {
		Allocation *struct {
			Devices struct {
				Results []struct{ Request, Driver, Pool, Device string }
			}
		}
	}
}

// refusal is what the scheduler says of a pod that it cannot place, once it knows its claims.
func (s podState) refusal() string {
	for _, c := range s.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" && len(s.Status.ResourceClaimStatuses) > 0 {
			return c.Reason + ": " + c.Message
		}
	}
	return ""
}

// place makes pods and waits until so many of the namespace run and all others are refused, with a reason that holds
// these words.
func (p *plane) place(t *testing.T, namespace string, pods []object, run int, reason string, limit time.Duration) placement {
	t.Helper()
	p.applyAll(t, namespace, pods...)
	var result placement
	within(t, limit, func() string {
		result = placement{refused: map[string]string{}, pods: list[podState](t, p, "v1", "Pod", namespace)}
		running := 0
		for _, s := range result.pods {
			if s.Spec.NodeName != "" {
				result.bound++
			} else if why := s.refusal(); strings.Contains(why, reason) {
				result.refused[s.Metadata.Name] = why
			}
			if s.Status.Phase == "Running" {
				running++
			}
		}
		if result.bound > run {
			t.Fatalf("%d of %d pods were placed, want %d", result.bound, len(result.pods), run)
		}
		if running == run && len(result.refused) == len(result.pods)-run {
			return ""
		}
		return fmt.Sprintf("%d of %d pods run, want %d; refused: %v; %s", running, len(result.pods), run, result.refused, lastWords(result.pods))
	})
	result.pairs = p.allocated(t, namespace)
	return result
}

// lastWords are what the scheduler says of pods that are nowhere, for a failing test.
func lastWords(pods []podState) string {
	words := map[string]int{}
	for _, s := range pods {
		if why := s.refusal(); s.Spec.NodeName == "" {
			words[why]++
		}
	}
	return fmt.Sprintf("the scheduler said %v", words)
}

// allocated reads the claims of a namespace that have devices, as pairs: request gpu-2 belongs to request nic-2.
func (p *plane) allocated(t *testing.T, namespace string) (pairs [][]at) {
	t.Helper()
	roots := p.roots(t)
	for _, c := range list[claimState](t, p, "resource.k8s.io/v1", "ResourceClaim", namespace) {
		if c.Status.Allocation == nil {
			continue
		}
		byPair := map[string][]at{}
		for _, r := range c.Status.Allocation.Devices.Results {
			_, number, _ := strings.Cut(r.Request, "-")
			a := at{driver: r.Driver, pool: r.Pool, device: r.Device}
			root, published := roots[a]
			if !published {
				t.Errorf("claim %s has %+v, which is in no slice", c.Metadata.Name, a)
			}
			a.root = root
			byPair[number] = append(byPair[number], a)
		}
		pairs = slices.AppendSeq(pairs, maps.Values(byPair))
	}
	return pairs
}

// roots says where each device is, as published.
func (p *plane) roots(t *testing.T) map[at]string {
	t.Helper()
	type slice struct {
		Spec struct {
			Driver  string
			Pool    struct{ Name string }
			Devices []struct {
				Name       string
				Attributes map[string]struct{ String string }
			}
		}
	}
	roots := map[at]string{}
	for _, s := range list[slice](t, p, "resource.k8s.io/v1", "ResourceSlice", "") {
		for _, d := range s.Spec.Devices {
			roots[at{driver: s.Spec.Driver, pool: s.Spec.Pool.Name, device: d.Name}] = d.Attributes[rootName].String
		}
	}
	return roots
}

// publish makes nodes with their slices and the two classes for one test, and waits until the nodes are ready.
func (p *plane) publish(t *testing.T, version string, machines ...machine) {
	t.Helper()
	objects := classes(version)
	for _, m := range machines {
		objects = append(objects, m.node(), m.slice(version, gpuDriver, m.gpus), m.slice(version, nicDriver, m.nics))
	}
	p.install(t, objects...)
}

// install writes objects that are of no namespace, for one test, and waits until all nodes are ready.
func (p *plane) install(t *testing.T, objects ...object) {
	t.Helper()
	p.applyAll(t, "", objects...)
	for _, o := range objects {
		p.atEnd(t, path(o["apiVersion"].(string), o["kind"].(string), "", o["metadata"].(object)["name"].(string)))
	}
	type node struct {
		Metadata struct{ Name string }
		Spec     struct{ Taints []struct{ Key string } }
		Status   struct {
			Conditions []struct{ Type, Status string }
		}
	}
	within(t, fleetLimit, func() string {
		for _, n := range list[node](t, p, "v1", "Node", "") {
			ready := slices.ContainsFunc(n.Status.Conditions, func(c struct{ Type, Status string }) bool { return c.Type == "Ready" && c.Status == "True" })
			if !ready || len(n.Spec.Taints) > 0 {
				return fmt.Sprintf("node %s is not ready; taints %v", n.Metadata.Name, n.Spec.Taints)
			}
		}
		return ""
	})
}

// scene is one test of one node: its devices, what its pods want, and what has to become of them.
type scene struct {
	machine machine
	want    want
	pods    int
	run     int // so many are placed, the others refused
}

const unsatisfied = "Unschedulable: 0/1 nodes are available: 1 cannot allocate all claims"

func (p *plane) play(t *testing.T, version string, s scene) placement {
	t.Helper()
	namespace := p.namespace(t)
	s.machine.name += "-" + namespace // a node that comes back under its name waits for the controllers to forget the first
	p.publish(t, version, s.machine)
	p.applyAll(t, namespace, s.want.template(version, "pairs"))
	result := p.place(t, namespace, pods(s.pods, "pod", "pairs", s.machine.name), s.run, unsatisfied, busy)
	if want := s.run * s.want.pairs; len(result.pairs) != want {
		t.Errorf("%d pairs were allocated, want %d", len(result.pairs), want)
	}
	if got, want := result.taken(t), 2*s.run*s.want.pairs*s.want.each; got != want {
		t.Errorf("%d devices were allocated, want %d", got, want)
	}
	return result
}

// deletePods, so that a test which goes on finds their devices free.
func (p *plane) deletePods(t *testing.T, namespace string) {
	t.Helper()
	now := object{"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0}
	if err := p.api.do(t.Context(), http.MethodDelete, path("v1", "Pod", namespace, ""), now, nil); err != nil {
		t.Fatal(err)
	}
}
