package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pod reads a pod spec and checks its fields against the API.
func (w *podWalk) pod(n *yaml.Node, path []string) Pod {
	p := w.podOf(n, path)
	for _, c := range items(get(n, "initContainers")) {
		p.Containers = append(p.Containers, w.container(c, true))
	}
	for _, c := range items(get(n, "containers")) {
		p.Containers = append(p.Containers, w.container(c, false))
	}
	w.strict(n, strings.Join(path, "."))
	return p
}

func (w *podWalk) podOf(n *yaml.Node, path []string) Pod {
	p := Pod{
		Role: role(path), Path: strings.Join(path, "."), Line: w.line(n), Replicas: 1,
		HostNetwork: truth(get(n, "hostNetwork")), HostIPC: truth(get(n, "hostIPC")), HostPID: truth(get(n, "hostPID")),
		DNSPolicy: w.text(get(n, "dnsPolicy")), Claims: len(items(get(n, "resourceClaims"))), Selector: stringsOf(get(n, "nodeSelector")),
	}
	for _, term := range items(get(n, "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")) {
		for _, e := range items(get(term, "matchExpressions")) {
			for _, v := range items(get(e, "values")) {
				p.Selector[value(get(e, "key"))] += " " + value(v)
			}
		}
	}
	for _, v := range items(get(n, "volumes")) {
		p.Volumes = append(p.Volumes, w.volume(v))
	}
	p.Volumes = append(p.Volumes, w.claimed(n)...)
	first, last := w.line(n), w.lastLine(n)
	for _, m := range w.masked {
		if m >= first && m <= last+1 {
			p.Holes++
		}
	}
	if above := w.parentOf(n); above != nil {
		p.Labels = stringsOf(get(above, "metadata", "labels"))
		for key := range stringsOf(get(above, "metadata", "annotations")) {
			p.Networks = p.Networks || strings.Contains(key, "network")
		}
		if count, ok := number(firstOf(get(above, "replicas"), get(w.parentOf(above), "replicas"), get(w.parentOf(above), "parallelism"))); ok {
			p.Replicas = count
		}
	}
	p.Networks = p.Networks || p.Claims > 0
	return p
}

// claimed are the volumes that a controller adds to a pod: those of the claim templates beside the template, of a StatefulSet or of a
// LeaderWorkerSet, and of the policies of a JobSet.
func (w *podWalk) claimed(n *yaml.Node) (all []Volume) {
	for above := w.parentOf(n); above != nil; above = w.parentOf(above) {
		templates := items(get(above, "volumeClaimTemplates"))
		for _, policy := range items(get(above, "volumeClaimPolicies")) {
			templates = append(templates, items(get(policy, "templates"))...)
		}
		for _, t := range templates {
			all = append(all, Volume{Name: value(get(t, "metadata", "name")), Line: w.line(t), Kind: "persistentVolumeClaim"})
		}
	}
	return all
}

func firstOf(nodes ...*yaml.Node) *yaml.Node {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

func (w *podWalk) volume(n *yaml.Node) Volume {
	v := Volume{Name: value(get(n, "name")), Line: w.line(n)}
	for _, p := range pairs(n) {
		if p[0].Value != "name" {
			v.Kind = p[0].Value
		}
	}
	v.Medium, v.Size = w.text(get(n, "emptyDir", "medium")), w.text(get(n, "emptyDir", "sizeLimit"))
	v.Path = value(get(n, "hostPath", "path"))
	return v
}

func (w *podWalk) container(n *yaml.Node, isInit bool) Container {
	c := Container{
		Name: value(get(n, "name")), Line: w.line(n), Init: isInit, Image: w.text(get(n, "image")), EnvFrom: len(items(get(n, "envFrom"))),
		Command: w.texts(get(n, "command")), Args: w.texts(get(n, "args")), Env: w.env(get(n, "env")),
		Limits: w.resources(get(n, "resources", "limits")), Requests: w.resources(get(n, "resources", "requests")),
		Privileged: truth(get(n, "securityContext", "privileged")), Ports: map[string]int{},
	}
	for _, a := range items(get(n, "securityContext", "capabilities", "add")) {
		c.Capabilities = append(c.Capabilities, strings.TrimPrefix(strings.ToUpper(value(a)), "CAP_"))
	}
	for _, m := range items(get(n, "volumeMounts")) {
		path := value(firstOf(get(m, "mountPath"), get(m, "mountPoint")))
		c.Mounts = append(c.Mounts, Mount{Name: value(get(m, "name")), Path: path, Line: w.line(m)})
	}
	for _, d := range items(get(n, "volumeDevices")) {
		c.Devices = append(c.Devices, value(get(d, "devicePath")))
	}
	for _, p := range items(get(n, "ports")) {
		if port, ok := number(get(p, "containerPort")); ok {
			c.Ports[value(get(p, "name"))] = port
		}
	}
	for _, kind := range []string{"startup", "readiness", "liveness"} {
		if at := get(n, kind+"Probe"); at != nil && at.Kind == yaml.MappingNode {
			c.Probes = append(c.Probes, w.probe(kind, at))
		}
	}
	c.Script = scriptOf(c.Command, c.Args)
	return c
}

// probe reads a probe; the defaults are those of the API (core/v1 types.go: period 10 s, 3 failures, no delay).
func (w *podWalk) probe(kind string, n *yaml.Node) Probe {
	p := Probe{Kind: kind, Line: w.line(n), HTTP: get(n, "httpGet") != nil, TCP: get(n, "tcpSocket") != nil, Exec: get(n, "exec") != nil, Period: 10, Failures: 3}
	p.Port = w.text(firstOf(get(n, "httpGet", "port"), get(n, "tcpSocket", "port")))
	for key, to := range map[string]*int{"initialDelaySeconds": &p.Delay, "periodSeconds": &p.Period, "failureThreshold": &p.Failures} {
		if v, ok := number(get(n, key)); ok {
			*to = v
		}
	}
	return p
}

func (w *podWalk) env(n *yaml.Node) (out []Env) {
	for _, e := range items(n) {
		one := Env{Name: value(get(e, "name")), Value: w.text(get(e, "value"))}
		if from := pairs(get(e, "valueFrom")); len(from) > 0 {
			one.From = from[0][0].Value
			one.Value = Text{Value: value(get(from[0][1], "fieldPath")), Line: w.line(from[0][0]), Open: true}
		}
		if one.Value.Line == 0 {
			one.Value.Line = w.line(e)
		}
		out = append(out, one)
	}
	return out
}

func (w *podWalk) resources(n *yaml.Node) map[string]Text {
	out := map[string]Text{}
	for _, p := range pairs(n) {
		out[p[0].Value] = w.text(p[1])
	}
	return out
}

// texts are the strings of a list; each of several lines knows where it begins.
func (d *document) texts(n *yaml.Node) (out []Text) {
	n = deref(n)
	if n != nil && n.Kind == yaml.ScalarNode {
		return []Text{d.block(n)}
	}
	for _, c := range items(n) {
		out = append(out, d.block(c))
	}
	return out
}

// block is a scalar whose text may be a block of lines, which begins in the line after its head.
func (d *document) block(n *yaml.Node) Text {
	t := d.text(n)
	if n != nil && (n.Style == yaml.LiteralStyle || n.Style == yaml.FoldedStyle) {
		t.Line++
	}
	return t
}

// lastLine is the last line of what stands below a node.
func (d *document) lastLine(n *yaml.Node) int {
	last := d.line(n)
	if n.Kind == yaml.ScalarNode {
		return last + strings.Count(n.Value, "\n")
	}
	if n.Kind == yaml.AliasNode {
		return last
	}
	for _, c := range n.Content {
		last = max(last, d.lastLine(c))
	}
	return last
}

// Amount reads a quantity of Kubernetes in its base unit: 64Gi, 8, 500m, 1e3; ok is false where it is none.
func Amount(t Text) (float64, bool) {
	if !t.Known() {
		return 0, false
	}
	units := []struct {
		suffix string
		factor float64
	}{{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50}, {"m", 1e-3}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}
	text := strings.TrimSpace(t.Value)
	for _, u := range units {
		if n, ok := strings.CutSuffix(text, u.suffix); ok {
			v, err := strconv.ParseFloat(n, 64)
			return v * u.factor, err == nil
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}
