package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// composed reports whether a document is a compose file: services that are mappings, of which one says what it runs or sets.
func composed(n *yaml.Node) bool {
	for _, s := range pairs(get(n, "services")) {
		for _, key := range []string{"image", "build", "environment", "command", "volumes", "deploy"} {
			if get(s[1], key) != nil {
				return true
			}
		}
	}
	return false
}

// compose reads the services of a compose file (compose-spec, 05-services.md), each as a workload of one pod.
func (d *document) compose(n *yaml.Node) {
	for _, s := range pairs(get(n, "services")) {
		at := s[1]
		w := Workload{Form: Compose, Kind: "service", Name: s[0].Value, Line: d.line(s[0]), Group: 1}
		w.Fragment = get(at, "image") == nil && get(at, "build") == nil && get(at, "extends") == nil
		d.object = "service " + w.Name
		p := Pod{Line: d.line(at), HostNetwork: value(get(at, "network_mode")) == "host", HostIPC: value(get(at, "ipc")) == "host", HostPID: value(get(at, "pid")) == "host", Replicas: 1, Networks: true}
		c := Container{
			Name: w.Name, Line: d.line(s[0]), Image: d.text(get(at, "image")), Privileged: truth(get(at, "privileged")), SHM: d.text(get(at, "shm_size")), Ports: map[string]int{},
			Env: d.composeEnv(get(at, "environment")), EnvFrom: len(items(get(at, "env_file"))), Limits: map[string]Text{}, Requests: map[string]Text{},
			Memlock: d.memlock(get(at, "ulimits", "memlock")),
		}
		if f := get(at, "env_file"); f != nil && f.Kind == yaml.ScalarNode {
			c.EnvFrom++
		}
		for _, a := range items(get(at, "cap_add")) {
			c.Capabilities = append(c.Capabilities, strings.TrimPrefix(strings.ToUpper(value(a)), "CAP_"))
		}
		for _, dev := range items(get(at, "devices")) {
			path, _, _ := strings.Cut(value(dev), ":")
			c.Devices = append(c.Devices, path)
		}
		d.composeVolumes(at, &p, &c)
		d.composeGPUs(at, &c)
		command := d.texts(get(at, "command"))
		if one := get(at, "command"); one != nil && one.Kind == yaml.ScalarNode {
			command = argumentsOf(d.block(one))
		}
		c.Command, c.Args = d.texts(get(at, "entrypoint")), command
		c.Script = scriptOf(c.Command, c.Args)
		p.Containers = []Container{c}
		w.Pods = []Pod{p}
		d.file.Workloads = append(d.file.Workloads, w)
	}
}

// argumentsOf are the words of a command that is written as one string: no shell runs it, but its words are cut as by one.
func argumentsOf(t Text) (out []Text) {
	p := shellParser{text: t.Value, line: t.Line}
	for _, c := range p.commands() {
		for _, w := range c.Words {
			out = append(out, Text{Value: w, Line: c.Line, Open: open(w)})
		}
	}
	return out
}

func (d *document) composeEnv(n *yaml.Node) (out []Env) {
	for _, p := range pairs(n) {
		t := d.text(p[1])
		if t.Line == 0 { // a variable without a value is passed on from the shell, or left unset
			t = Text{Line: d.line(p[0]), Open: true}
		}
		out = append(out, Env{Name: p[0].Value, Value: t})
	}
	for _, i := range items(n) {
		name, v, ok := strings.Cut(value(i), "=")
		out = append(out, Env{Name: name, Value: Text{Value: v, Line: d.line(i), Open: !ok || open(v)}})
	}
	return out
}

func (d *document) memlock(n *yaml.Node) Text {
	if soft := get(n, "soft"); soft != nil {
		return d.text(soft)
	}
	return d.text(n)
}

func (d *document) composeVolumes(at *yaml.Node, p *Pod, c *Container) {
	for _, v := range items(get(at, "volumes")) {
		name, path := value(get(v, "source")), value(get(v, "target"))
		if v.Kind == yaml.ScalarNode {
			parts := strings.Split(v.Value, ":")
			if name = parts[0]; len(parts) > 1 {
				path = parts[1]
			}
		}
		c.Mounts = append(c.Mounts, Mount{Name: name, Path: path, Line: d.line(v)})
		p.Volumes = append(p.Volumes, Volume{Name: name, Line: d.line(v), Kind: "bind", Path: name})
	}
	for _, t := range items(get(at, "tmpfs")) {
		path, options, _ := strings.Cut(value(t), ":")
		v := Volume{Name: path, Line: d.line(t), Kind: "emptyDir", Medium: Text{Value: "Memory", Line: d.line(t)}}
		for o := range strings.SplitSeq(options, ",") {
			if size, ok := strings.CutPrefix(o, "size="); ok {
				v.Size = Text{Value: size, Line: d.line(t)}
			}
		}
		p.Volumes = append(p.Volumes, v)
		c.Mounts = append(c.Mounts, Mount{Name: path, Path: path, Line: d.line(t)})
	}
}

// composeGPUs counts the GPUs that a service reserves (compose-spec, deploy.md: devices with capabilities [gpu]).
func (d *document) composeGPUs(at *yaml.Node, c *Container) {
	for _, dev := range items(get(at, "deploy", "resources", "reservations", "devices")) {
		gpu := slices.ContainsFunc(items(get(dev, "capabilities")), func(n *yaml.Node) bool { return value(n) == "gpu" })
		if !gpu {
			continue
		}
		count := d.text(get(dev, "count"))
		if ids := items(get(dev, "device_ids")); len(ids) > 0 {
			count = Text{Value: itoa(len(ids)), Line: d.line(ids[0])}
		}
		if count.Line == 0 || count.Value == "all" {
			count = Text{Value: "all", Line: d.line(dev), Open: true}
		}
		c.Limits["nvidia.com/gpu"] = count
	}
}
