package manifestcheck

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

func rdmaDeviceRule() Rule {
	return Rule{
		ID: "rdma-device", Title: "a container that is to use RDMA has RDMA devices", Severity: fabric.SeverityError, Cause: fabric.CauseSocketFallback,
		Doc:       "verbs need /dev/infiniband in the container: by a resource of a device plugin, a claim, or a mount; without it NCCL finds no device and goes over TCP without an error",
		Reference: "k8s-rdma-shared-dev-plugin pkg/resources/server.go (Allocate gives the devices of the pool); NCCL src/transport/net_ib: no device, no IB",
		Judge: each(func(s scene) []fabric.Finding {
			wants, has := s.wantsRDMA(), s.hasRDMA()
			nodes, line, source := s.nodes()
			switch {
			case has != "":
				return s.pass("RDMA devices by " + has)
			case s.launches():
				return s.notApplicable("it starts ranks in other containers")
			case len(wants) > 0 && !s.allExcluded():
				f := fault{
					why:      fmt.Sprintf("%s asks for RDMA, and nothing gives the container a device: no RDMA resource, no claim, no /dev/infiniband", wants[0].what),
					expected: "a resource such as rdma/NAME: 1, a claim, or /dev/infiniband", cost: "NCCL finds no device and runs over TCP (NET/Socket), without an error",
					fix: "ask for the RDMA resource of the cluster (kubectl get node -o jsonpath='{.items[0].status.allocatable}')", seen: []fabric.Evidence{s.at(wants[0].line, wants[0].what)},
				}
				if s.w.Form == manifest.Docker {
					f.fix = "docker run --device /dev/infiniband --cap-add IPC_LOCK ..."
				}
				return s.absent(f)
			case nodes > 1 && s.hasGPUs() && !s.ownPlugin():
				return s.unknown("GPUs of several nodes and no RDMA device: NCCL runs over TCP there, which is right only where the cluster has nothing else", s.at(line, source))
			}
			return s.notApplicable("nothing in it asks for RDMA")
		}),
	}
}

func (s scene) hasGPUs() bool {
	_, _, has := s.gpus()
	return has
}

// allExcluded reports whether the list of devices is one that excludes, which does not ask for RDMA by itself.
func (s scene) allExcluded() bool {
	t, ok := s.setting("NCCL_IB_HCA")
	return ok && strings.HasPrefix(t.Value, "^")
}

func memlockRule() Rule {
	return Rule{
		ID: "rdma-memlock", Title: "a container that uses RDMA may lock memory", Severity: fabric.SeverityError, Cause: fabric.CauseMemlock,
		Doc:       "ibv_reg_mr pins memory within RLIMIT_MEMLOCK, which is small in a container, unless it has IPC_LOCK",
		Reference: "ibv_reg_mr(3): ENOMEM; Linux drivers/infiniband/core/umem.c: RLIMIT_MEMLOCK unless CAP_IPC_LOCK",
		Judge: each(func(s scene) []fabric.Finding {
			wants := len(s.wantsRDMA()) > 0 && !s.allExcluded()
			has := s.hasRDMA()
			if has == "" && (!wants || s.launches()) {
				return s.notApplicable("it has no RDMA devices")
			}
			switch {
			case hasAny(s.c.Capabilities, "IPC_LOCK", "ALL"):
				return s.pass("IPC_LOCK")
			case s.c.Privileged:
				return s.pass("privileged")
			case s.c.Memlock.Value == "-1" || s.c.Memlock.Value == "unlimited":
				return s.pass("ulimit memlock " + s.c.Memlock.Value)
			}
			f := fault{
				why: "the container uses RDMA (" + orOf(has, "by its settings") + ") and has neither IPC_LOCK nor privileged: memory cannot be registered beyond the limit of the node's runtime", expected: "securityContext: capabilities: add: [IPC_LOCK]",
				cost: "ibv_reg_mr fails (Cannot allocate memory), or the transfer does not start", fix: "add IPC_LOCK to securityContext.capabilities.add", seen: []fabric.Evidence{s.at(s.c.Line, "securityContext without IPC_LOCK")},
			}
			if s.w.Form != manifest.Kubernetes {
				f.expected, f.fix = "cap_add: IPC_LOCK or ulimit memlock=-1", "--cap-add IPC_LOCK --ulimit memlock=-1"
			}
			if cloud := s.unlimitedNodes(); cloud != "" {
				return s.unknown(f.why+"; nodes of "+cloud+" set no limit by their image", f.seen...)
			}
			if s.pod.Claims > 0 && len(s.nicResources()) == 0 && !wants {
				return s.unknown("whether its claims are RDMA devices is not in the text; if so, IPC_LOCK is missing", f.seen...)
			}
			return s.absent(f)
		}),
	}
}

// unlimitedNodes names the cloud whose nodes run containers without a limit of locked memory, as its own examples, which have no
// IPC_LOCK, rely on: EFA of EKS (aws-samples/awsome-distributed-training), CoreWeave (coreweave/nccl-tests). Empty: none is named.
func (s scene) unlimitedNodes() string {
	for name := range s.nicResources() {
		if strings.HasPrefix(name, "vpc.amazonaws.com/") {
			return "EKS"
		}
	}
	for key := range s.pod.Selector {
		if strings.HasSuffix(strings.SplitN(key, "/", 2)[0], "coreweave.cloud") {
			return "CoreWeave"
		}
	}
	return ""
}

func orOf(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

func shareRule() Rule {
	return Rule{
		ID: "rdma-share-count", Title: "the number of an RDMA resource is a number of devices", Severity: fabric.SeverityWarning, Cause: fabric.CauseHCASubset,
		Doc:       "the RDMA shared device plugin offers rdmaHcaMax shares of a pool, and one share has every device of it: a higher number gets no more NICs and fewer pods",
		Reference: "k8s-rdma-shared-dev-plugin pkg/resources: rdmaHcaMax devices of a name, Allocate mounts all devices of the pool for each",
		Judge: each(func(s scene) []fabric.Finding {
			var out []fabric.Finding
			for name, t := range s.nicResources() {
				n, err := strconv.Atoi(t.Value)
				short, shared := strings.CutPrefix(name, "rdma/")
				if !shared || err != nil || n <= 1 {
					continue
				}
				seen := []fabric.Evidence{s.at(t.Line, name+": "+t.Value)}
				why := fmt.Sprintf("%s: %d asks for %d shares of one pool: with the RDMA shared device plugin that is a count of shares, not of NICs, and one share has every NIC of the pool", name, n, n)
				pool, file := s.pool(short)
				if pool == nil {
					u := s.finding(fabric.Unknown, why+"; which plugin offers the resource is not in the text", seen...)
					u.Severity, u.Expected = fabric.SeverityInfo, name+": 1 with the shared device plugin; a number of devices with the SR-IOV plugin"
					out = append(out, u)
					continue
				}
				cost := "no NIC more"
				if limit, err := strconv.Atoi(pool.Max.Value); err == nil && limit > 0 {
					cost = fmt.Sprintf("no NIC more, and %d of the %d shares of a node are gone: %s fit on it", n, limit, fabric.Count(limit/n, "pod"))
				}
				out = append(out, s.fail(fault{why: why, expected: name + ": 1", cost: cost, fix: "write " + name + ": 1; for NICs of their own use the SR-IOV device plugin or claims", seen: append(seen, at(file, pool.Line, "resourceName "+pool.Name))}))
			}
			if len(out) == 0 && len(s.nicResources()) > 0 {
				return s.pass("one share, or devices of another plugin")
			}
			return out
		}),
	}
}

// pool finds the pool of a resource in the configurations that were given.
func (s scene) pool(name string) (*manifest.Pool, *manifest.File) {
	for _, f := range s.Files {
		for i := range f.Pools {
			if f.Pools[i].Name == name {
				return &f.Pools[i], f
			}
		}
	}
	return nil, nil
}

func isolationRule() Rule {
	return Rule{
		ID: "rdma-isolation", Title: "a pod sees the RDMA devices that it asked for, and no others", Severity: fabric.SeverityInfo, Cause: fabric.CauseHCASubset,
		Doc:       "the RDMA shared device plugin gives character devices and isolates nothing: with the kernel's default (rdma system netns shared) a container sees every RDMA device of its node",
		Reference: "k8s-rdma-shared-dev-plugin README; rdma-system(8): netns shared or exclusive; RDMA CNI plugin README",
		Judge: func(in *Input) (out []fabric.Finding) {
			for _, f := range in.Files {
				for _, p := range f.Pools {
					u := fabric.Finding{Status: fabric.Unknown, Subject: subject("resource rdma/" + p.Name), Evidence: []fabric.Evidence{at(f, p.Line, poolText(p))}}
					u.Why = "a risk, no failure: the shared device plugin isolates nothing, so a pod with rdma/" + p.Name + " sees every RDMA device of its node unless rdma system is in netns exclusive mode with the RDMA CNI plugin; NCCL then uses all of them"
					u.Fix = "set NCCL_IB_HCA in the pods to the devices of this resource; or rdma system set netns exclusive on the nodes, with the SR-IOV and RDMA CNI plugins"
					u.Expected = "NCCL_IB_HCA in the pods, or devices that are moved into the pod"
					out = append(out, u)
				}
			}
			if len(out) == 0 {
				out = []fabric.Finding{{Status: fabric.NotApplicable, Subject: subject("RDMA shared device plugin"), Why: "no configuration of the plugin is in the text"}}
			}
			return out
		},
	}
}

func poolText(p manifest.Pool) string {
	text := p.Name
	if len(p.Names) > 0 {
		text += " of " + strings.Join(p.Names, ", ")
	}
	if p.Max.Value != "" {
		text += ", rdmaHcaMax " + p.Max.Value
	}
	return text
}

func extendedRule() Rule {
	return Rule{
		ID: "device-limits", Title: "devices have a limit, and the same request", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc:       "GPUs and NICs of device plugins are not overcommitted: a request without a limit, or one that differs, is refused",
		Reference: "kubernetes pkg/apis/core/validation: ValidateContainerResourceRequirements (Limit must be set for non overcommitable resources; must be equal to limit)",
		Judge: each(func(s scene) []fabric.Finding {
			if s.w.Form != manifest.Kubernetes {
				return s.notApplicable("only for Kubernetes")
			}
			var out []fabric.Finding
			judged := 0
			for _, name := range sortedKeys(s.c.Requests) {
				t := s.c.Requests[name]
				if !strings.Contains(name, "/") || strings.HasPrefix(name, "kubernetes.io/") {
					continue
				}
				judged++
				limit, has := s.c.Limits[name]
				switch {
				case t.Open || has && limit.Open:
				case !has:
					out = append(out, s.absent(fault{
						why: fmt.Sprintf("%s is requested without a limit", name), expected: "limits: " + name + ": " + t.Value, cost: "the API server refuses the pod: Limit must be set for non overcommitable resources",
						fix: "write it under limits; requests then follow", seen: []fabric.Evidence{s.at(t.Line, name+": "+t.Value)},
					})...)
				case limit.Value != t.Value:
					out = append(out, s.fail(fault{
						why: fmt.Sprintf("%s: request %s and limit %s differ", name, t.Value, limit.Value), expected: "the same number", cost: "the API server refuses the pod",
						fix: "write the same number under both, or under limits alone", seen: []fabric.Evidence{s.at(t.Line, name+": "+t.Value), s.at(limit.Line, name+": "+limit.Value)},
					}))
				}
			}
			if len(out) == 0 && judged > 0 {
				return s.pass("requests equal limits")
			}
			return out
		}),
	}
}
