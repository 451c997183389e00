package manifestcheck

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

// defaultPort is where an engine listens without --port: vllm/entrypoints/openai/cli_args.py 8000; sglang/srt/server_args.py 30000.
func defaultPort(engine string) string {
	if engine == "sglang" {
		return "30000"
	}
	return "8000"
}

// listens says where the engine of a container listens; ok is false where the text does not tell: Dynamo's system port, a wrapper,
// several servers.
func (s scene) listens() (e *engine, port string, ok bool) {
	e = s.serving()
	if e == nil || e.cmd.Runs("-m", "dynamo.vllm") || e.cmd.Runs("-m", "dynamo.sglang") {
		return nil, "", false
	}
	port = e.port
	if port == "" {
		port = defaultPort(e.name)
	}
	if _, err := strconv.Atoi(port); err != nil {
		return e, "", false
	}
	return e, port, true
}

func probePortRule() Rule {
	return Rule{
		ID: "probe-port", Title: "probes and Services ask where the engine listens", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc:       "a probe at another port, or at a server that listens on loopback, never succeeds: the pod is not ready, or the kubelet kills it; SGLang listens on 127.0.0.1:30000 unless told",
		Reference: "SGLang server_args.py (host 127.0.0.1, port 30000; ranks above 0 serve /health at the same place); vLLM cli_args.py (port 8000; --headless serves nothing); kubelet probes go to the pod's address",
		Judge: each(func(s scene) []fabric.Finding {
			e, port, known := s.listens()
			out := s.namedPorts()
			if e == nil {
				out = append(out, s.workerProbes()...)
				return out
			}
			for _, p := range s.c.Probes {
				if p.HTTP || p.TCP {
					out = append(out, s.probe(e, port, known, p)...)
				}
			}
			return append(out, s.services(e, port, known)...)
		}),
	}
}

// workerProbes fails HTTP probes of pods whose process serves nothing: workers of Ray.
func (s scene) workerProbes() (out []fabric.Finding) {
	e := s.engine()
	if e == nil || e.name != "ray" || !e.workers {
		return nil
	}
	for _, p := range s.c.Probes {
		if p.HTTP && p.Port.Value != "8265" && p.Port.Value != "52365" {
			out = append(out, s.fail(fault{
				why: fmt.Sprintf("the %s probe asks port %s over HTTP, and a worker of Ray serves none", p.Kind, p.Port.Value), expected: "no HTTP probe on workers, or one of the process",
				cost: "the pod never becomes ready, or is killed", fix: "take the probe off the worker template", seen: []fabric.Evidence{s.at(p.Line, p.Kind+"Probe "+p.Port.Value)},
			}))
		}
	}
	return out
}

// namedPorts fails probes that name a port which the container does not have.
func (s scene) namedPorts() (out []fabric.Finding) {
	for _, p := range s.c.Probes {
		if _, err := strconv.Atoi(p.Port.Value); err == nil || !p.Port.Known() {
			continue
		}
		if _, ok := s.c.Ports[p.Port.Value]; !ok {
			out = append(out, s.absent(fault{
				why: fmt.Sprintf("the %s probe asks the port %s, which the container does not name", p.Kind, fabric.Quote(p.Port.Value)), expected: "a port of that name",
				cost: "the probe always fails", fix: "name the port under ports, or write its number", seen: []fabric.Evidence{s.at(p.Port.Line, "port: "+p.Port.Value)},
			})...)
		}
	}
	return out
}

func (s scene) probe(e *engine, port string, known bool, p manifest.Probe) []fabric.Finding {
	asked := p.Port.Value
	if n, ok := s.c.Ports[asked]; ok {
		asked = strconv.Itoa(n)
	}
	seen := []fabric.Evidence{s.at(p.Line, p.Kind+"Probe port "+asked), s.at(e.cmd.Line, e.name+" at port "+orOf(port, e.port))}
	kills := "the pod never becomes ready"
	if p.Kind != "readiness" {
		kills = fmt.Sprintf("the kubelet kills the container after %d s, again and again", p.Budget())
	}
	switch {
	case e.headless:
		return []fabric.Finding{s.fail(fault{why: "the " + p.Kind + " probe asks a vLLM that is --headless: it serves no HTTP", expected: "no HTTP probe there", cost: kills, fix: "take the probe off", seen: seen})}
	case e.name == "sglang" && !e.hostSet || e.host == "127.0.0.1" || e.host == "localhost":
		return []fabric.Finding{s.fail(fault{
			why: "the engine listens on 127.0.0.1 (" + orOf(e.host, "SGLang's default without --host") + "), and the kubelet asks the pod's address", expected: "--host 0.0.0.0", cost: kills, fix: "add --host 0.0.0.0 --port " + asked, seen: seen,
		})}
	case !known || !p.Port.Known():
		return s.unknown("the port is filled in later", seen...)
	case asked != port:
		return []fabric.Finding{s.fail(fault{
			why: fmt.Sprintf("the %s probe asks port %s, and %s listens on %s", p.Kind, asked, e.name, port), expected: "the same port", cost: kills, fix: "write --port " + asked + ", or the probe's port " + port, seen: seen,
		})}
	}
	return s.pass("port "+port, seen...)
}

// services judges the Services of the same text that select this pod.
func (s scene) services(e *engine, port string, known bool) (out []fabric.Finding) {
	if e.headless || s.pod.Role == "worker" {
		return nil
	}
	for _, sv := range s.file.Services {
		if !s.selects(sv.Selector) || !known {
			continue
		}
		reached := false
		for _, t := range sv.Ports {
			_, named := s.c.Ports[t.Value]
			reached = reached || named || t.Value == port || t.Open || s.mentions(t.Value)
		}
		seen := s.at(sv.Line, "Service "+sv.Name)
		switch {
		case e.name == "sglang" && !e.hostSet || e.host == "127.0.0.1" || e.host == "localhost":
			out = append(out, s.fail(fault{why: "Service " + sv.Name + " reaches the pod's address, and the engine listens on 127.0.0.1", expected: "--host 0.0.0.0", cost: "every request is refused", fix: "add --host 0.0.0.0", seen: []fabric.Evidence{seen}}))
		case !reached && len(sv.Ports) > 0:
			out = append(out, s.fail(fault{
				why: fmt.Sprintf("Service %s goes to port %s, and the engine listens on %s", sv.Name, sv.Ports[0].Value, port), expected: "targetPort: " + port, cost: "every request is refused", fix: "write targetPort: " + port, seen: []fabric.Evidence{seen},
			}))
		}
	}
	return out
}

// mentions reports whether the commands of a container have a port in another place, such as the address at which ranks meet.
func (s scene) mentions(port string) bool {
	for _, c := range s.c.Script.Commands {
		for _, w := range c.Words {
			if w == port || strings.HasSuffix(w, ":"+port) || strings.HasSuffix(w, "="+port) {
				return true
			}
		}
	}
	for _, n := range s.c.Ports {
		if strconv.Itoa(n) == port {
			return true
		}
	}
	return false
}

// selects reports whether a selector selects the pods of a template: its labels, and those that controllers add, of which only the
// name of a LeaderWorkerSet is known beforehand (LWS api: NameLabelKey; apps/v1: pod-index, pod-name). An empty one selects nothing.
func (s scene) selects(selector map[string]string) bool {
	for k, v := range selector {
		switch {
		case k == "leaderworkerset.sigs.k8s.io/name":
			if s.w.Kind != "LeaderWorkerSet" || v != s.w.Name {
				return false
			}
		case strings.HasPrefix(k, "leaderworkerset.sigs.k8s.io/"), strings.HasPrefix(k, "apps.kubernetes.io/pod-index"), strings.HasPrefix(k, "statefulset.kubernetes.io/"):
		case s.pod.Labels[k] != v:
			return false
		}
	}
	return len(selector) > 0
}

// Time that an engine takes to start, in s. Shortest: engine of a small model on two GPUs, compiled before, 36 s of initialisation
// after its weights (internal/launch/testdata has starts from 1 to 40 min); usual: DeepSeek-R1 on 16 H100 takes 271 s from the
// log of the VCF document, example 6.
const (
	shortestStart = 30
	usualStart    = 300
)

func probeTimeRule() Rule {
	return Rule{
		ID: "probe-time", Title: "the kubelet lets the engine load its weights", Severity: fabric.SeverityError, Cause: fabric.CauseProcessKilled,
		Doc:       "a liveness or startup probe that fails for delay + period x failures kills the container: until the weights are loaded the engine answers nothing",
		Reference: "kubernetes core/v1 Probe (period 10 s, 3 failures by default; liveness waits for the startup probe)",
		Judge: each(func(s scene) []fabric.Finding {
			if s.serving() == nil {
				return s.notApplicable("no engine in it")
			}
			var first *manifest.Probe
			for i, p := range s.c.Probes {
				if p.Kind == "startup" || p.Kind == "liveness" && first == nil {
					first = &s.c.Probes[i]
				}
			}
			if first == nil {
				return s.notApplicable("no startup or liveness probe: nothing kills it while it loads")
			}
			budget := first.Budget()
			seen := s.at(first.Line, fmt.Sprintf("%sProbe: %d s + %d s x %d", first.Kind, first.Delay, first.Period, first.Failures))
			switch {
			case budget < shortestStart:
				return []fabric.Finding{s.fail(fault{
					why: fmt.Sprintf("the %s probe gives %d s until the container is killed: no engine is ready by then", first.Kind, budget), expected: "a startup probe of some minutes",
					cost: "the pod is killed while it loads, for ever", fix: "add a startupProbe with failureThreshold x periodSeconds above the time to load (railwright size says it)", seen: []fabric.Evidence{seen},
				})}
			case budget < usualStart:
				return s.unknown(fmt.Sprintf("the %s probe gives %d s: enough only if the weights are loaded by then, which the model's size and storage decide", first.Kind, budget), seen)
			}
			return s.pass(fmt.Sprintf("%d s", budget), seen)
		}),
	}
}
