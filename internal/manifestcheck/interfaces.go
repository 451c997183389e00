package manifestcheck

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/ncclenv"
	"railwright.dev/railwright/internal/pattern"
)

const (
	docGloo = "PyTorch torch/csrc/distributed/c10d: GLOO_SOCKET_IFNAME is split at commas and each part goes to createDeviceForInterface, which finds an interface of exactly that name"
	docNCCL = "NCCL docs/userguide/source/env.rst; src/misc/utils.cc, parseStringList and matchIfList"
)

// exactVariables are those that take the names of interfaces as they are.
func exactVariables() []string { return []string{"GLOO_SOCKET_IFNAME", "TP_SOCKET_IFNAME"} }

func glooNameRule() Rule {
	return Rule{
		ID: "gloo-interface-name", Title: "GLOO_SOCKET_IFNAME and TP_SOCKET_IFNAME are names of interfaces", Severity: fabric.SeverityError, Cause: fabric.CauseBootstrapInterface,
		Doc:       "Gloo takes exact names: ^ and = of NCCL, prefixes and patterns find no interface, and the process group is not made",
		Reference: docGloo,
		Judge: each(func(s scene) []fabric.Finding {
			var out []fabric.Finding
			for _, name := range exactVariables() {
				t, ok := s.setting(name)
				if !ok || t.Value == "" && !t.Open {
					continue
				}
				out = append(out, s.exactNames(name, t)...)
			}
			return out
		}),
	}
}

func (s scene) exactNames(name string, t manifest.Text) []fabric.Finding {
	seen := s.at(t.Line, name+"="+t.Value)
	if t.Open {
		return s.unknown(name+" is set when the container starts: its value is not in the text", seen)
	}
	var wrong string
	switch {
	case strings.ContainsAny(t.Value, "^=!*"):
		wrong = "the syntax of NCCL: ^ and = are taken as part of the name"
	case strings.ContainsAny(t.Value, " \t"):
		wrong = "blanks are taken as part of the name"
	case name == "TP_SOCKET_IFNAME" && strings.Contains(t.Value, ","):
		wrong = "TensorPipe takes one name, not a list"
	default:
		for part := range strings.SplitSeq(t.Value, ",") {
			if len(part) > 15 { // IFNAMSIZ is 16 with its end: linux/if.h
				wrong = fabric.Quote(part) + " is longer than a name of an interface can be"
			}
		}
	}
	if wrong == "" {
		return append(s.podInterfaces(name, t, seen), s.pass("names of interfaces", seen)...)
	}
	nodes, _, _ := s.nodes()
	return []fabric.Finding{s.fail(fault{
		why: fmt.Sprintf("%s=%s: %s, so no interface has it", name, t.Value, wrong), expected: "the exact name of one interface, such as eth0",
		cost: "Gloo fails with \"Unable to find address for\" or binds nothing; the ranks" + map[bool]string{true: " of " + fabric.Count(nodes, "node")}[nodes > 1] + " never meet",
		fix:  "write the interface that carries the pods' addresses (ip -4 route get LEADER says which), or leave it unset in pods of the pod network", seen: []fabric.Evidence{seen},
	})}
}

// containerInterface are the names that a pod of the pod network has without further networks: containerd and CRI-O call the
// interface of the CNI eth0 (containerd internal/cri: defaultIfName).
var containerInterface = pattern.Plain(`^(?:eth0?|e|et|lo?)$`)

// podInterfaces fails names of host interfaces in a pod that has the pod network alone.
func (s scene) podInterfaces(name string, t manifest.Text, seen fabric.Evidence) []fabric.Finding {
	if s.pod.HostNetwork || s.pod.Networks || s.w.Form != manifest.Kubernetes || s.w.Fragment || s.pod.Holes > 0 || t.Open || s.w.Kind == "DaemonSet" || s.pod.Rewritten {
		return nil
	}
	list := strings.TrimPrefix(t.Value, "=")
	if strings.HasPrefix(list, "^") || list == "" {
		return nil
	}
	for part := range strings.SplitSeq(list, ",") {
		if part = strings.TrimSpace(part); containerInterface().MatchString(part) || strings.HasPrefix(part, "net") {
			return nil
		}
	}
	return []fabric.Finding{s.fail(fault{
		why:      fmt.Sprintf("%s=%s: a pod of the pod network has eth0 and lo, and neither hostNetwork nor another network gives it %s", name, t.Value, list),
		expected: "eth0, or hostNetwork: true, or a network that attaches the interface", cost: "no interface is found and the ranks cannot meet",
		fix: "write eth0, or attach the network whose interface is meant", severity: fabric.SeverityWarning, seen: []fabric.Evidence{seen},
	})}
}

func glooHostRule() Rule {
	return Rule{
		ID: "gloo-host-network", Title: "Gloo knows its interface where several nodes share the network of their hosts", Severity: fabric.SeverityWarning, Cause: fabric.CauseBootstrapInterface,
		Doc:       "without GLOO_SOCKET_IFNAME Gloo binds to what the host's name resolves to; in a pod with hostNetwork that name is the node's, which may resolve to nothing or to loopback",
		Reference: "PyTorch ProcessGroupGloo::createDefaultDevice: gethostname, and loopback where the name does not resolve to an address of the host; kubelet: /etc/hosts of a pod with hostNetwork is the node's",
		Judge: each(func(s scene) []fabric.Finding {
			nodes, line, source := s.nodes()
			e := s.engine()
			switch {
			case e == nil || !s.pod.HostNetwork:
				return s.notApplicable("only for engines of several nodes with hostNetwork")
			case nodes == 0:
				return s.unknown("how many nodes work together is filled in later: "+source, s.at(line, source))
			case nodes == 1:
				return s.notApplicable("one node: Gloo's ranks meet on the host itself")
			}
			if t, ok := s.setting("GLOO_SOCKET_IFNAME"); ok {
				return s.pass("GLOO_SOCKET_IFNAME is set", s.at(t.Line, "GLOO_SOCKET_IFNAME="+t.Value))
			}
			f := fault{
				why:      fmt.Sprintf("hostNetwork without GLOO_SOCKET_IFNAME in %s: Gloo binds to the address of the node's name, and to 127.0.0.1 where that does not resolve", source),
				expected: "GLOO_SOCKET_IFNAME with the interface of the node's address", cost: "each node's ranks wait on their own loopback: the world never forms, and the engine dies of a timeout",
				fix:  "set it before the engine starts: export GLOO_SOCKET_IFNAME=$(ip -4 route get \"$LEADER_IP\" | sed -n 's/.* dev \\([^ ]*\\).*/\\1/p')",
				seen: []fabric.Evidence{s.at(s.pod.Line, "hostNetwork: true"), s.at(line, source)},
			}
			if s.c.EnvFrom > 0 {
				return s.unknown(f.why+"; envFrom may set it", f.seen...)
			}
			return s.absent(f)
		}),
	}
}

func socketNameRule() Rule {
	return Rule{
		ID: "socket-interface", Title: "NCCL finds an interface to start over", Severity: fabric.SeverityError, Cause: fabric.CauseBootstrapInterface,
		Doc: "NCCL_SOCKET_IFNAME lists prefixes of interfaces; lo between nodes, or an interface that the pod does not have, leaves none that reaches the others", Reference: docNCCL,
		Judge: each(func(s scene) []fabric.Finding {
			t, ok := s.setting("NCCL_SOCKET_IFNAME")
			if !ok || t.Value == "" && !t.Open {
				return s.notApplicable("NCCL_SOCKET_IFNAME is not set: NCCL chooses")
			}
			seen := s.at(t.Line, "NCCL_SOCKET_IFNAME="+t.Value)
			if t.Open {
				return s.unknown("NCCL_SOCKET_IFNAME is filled in later", seen)
			}
			nodes, _, _ := s.nodes()
			only := strings.TrimPrefix(t.Value, "=")
			if nodes > 1 && (only == "lo" || only == "lo,lo") {
				return []fabric.Finding{s.fail(fault{
					why: "NCCL_SOCKET_IFNAME=" + t.Value + ": the ranks of other nodes cannot reach the loopback of this one", expected: "the interface of the nodes' addresses",
					cost: "ncclCommInitRank does not return or fails to connect", fix: "write the interface that carries the pods' addresses, or leave it unset", seen: []fabric.Evidence{seen},
				})}
			}
			if found := s.podInterfaces("NCCL_SOCKET_IFNAME", t, seen); len(found) > 0 {
				return found
			}
			return s.pass("interfaces that the pod may have", seen)
		}),
	}
}

func hostIPRule() Rule {
	return Rule{
		ID: "host-ip", Title: "each pod tells its own address", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc:       "VLLM_HOST_IP is the address of the pod that it stands in: one written address in a template of several pods is wrong on all but one",
		Reference: "vLLM vllm/envs.py: VLLM_HOST_IP, ip address of the host in distributed vLLM, differs on each node",
		Judge: each(func(s scene) []fabric.Finding {
			var out []fabric.Finding
			for _, name := range []string{"VLLM_HOST_IP", "SGLANG_HOST_IP", "HOST_IP", "VLLM_NIXL_SIDE_CHANNEL_HOST"} {
				e, ok := s.c.Variable(name)
				if !ok || s.w.Form != manifest.Kubernetes {
					continue
				}
				seen := s.at(e.Value.Line, name+"="+e.Value.Value)
				nodes, _, _ := s.nodes()
				literal := e.From == "" && e.Value.Known() && ncclenvAddress().MatchString(e.Value.Value)
				switch {
				case literal && (nodes > 1 || s.pod.Replicas > 1) && e.Value.Value != "0.0.0.0":
					out = append(out, s.fail(fault{
						why: fmt.Sprintf("%s=%s stands in a template of several pods: all of them tell the same address", name, e.Value.Value), expected: "valueFrom: fieldRef: fieldPath: status.podIP",
						cost: "ranks connect to the wrong pod, or to none", fix: "take it from status.podIP", seen: []fabric.Evidence{seen},
					}))
				case e.From == "fieldRef" && !strings.HasSuffix(e.Value.Value, "IP") && !strings.HasSuffix(e.Value.Value, "IPs"):
					out = append(out, s.fail(fault{
						why: fmt.Sprintf("%s is taken from %s, which is not an address", name, e.Value.Value), expected: "status.podIP", cost: "ranks cannot connect", fix: "take it from status.podIP", seen: []fabric.Evidence{seen},
					}))
				default:
					out = append(out, s.pass("an address of its own", seen)...)
				}
			}
			return out
		}),
	}
}

var ncclenvAddress = pattern.Plain(`^\d{1,3}(?:\.\d{1,3}){3}$`)

// problemOf is what is wrong with the value of a variable of NCCL.
func problemOf(name, value string) string {
	v, ok := ncclenv.Known(name)
	if !ok {
		return ""
	}
	return v.Problem(value)
}

func sortedKeys(m map[string]manifest.Text) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
