package manifest

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

func itoa(n int) string { return strconv.Itoa(n) }

// dockerLine is a line that begins a docker, podman or nerdctl run.
var dockerLine = pattern.Plain(`^[ \t]*(?:\$ |# )?(?:sudo )?(?:exec )?(?:docker|podman|nerdctl) (?:run|create)\b`)

// dockerRuns are the run commands of a text, each with the lines that continue it; none: the text is something else.
func dockerRuns(text string) (out []Command) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if !dockerLine().MatchString(lines[i]) {
			continue
		}
		first := i
		for i+1 < len(lines) && strings.HasSuffix(strings.TrimRight(lines[i], " \t"), "\\") {
			lines[i] = strings.TrimRight(lines[i], " \t")
			i++
		}
		command := strings.TrimLeft(strings.Join(lines[first:i+1], "\n"), " \t$#")
		p := shellParser{text: command, line: first + 1}
		for _, c := range p.commands() {
			if words := programOf(c.Words); len(words) > 2 && slices.Contains([]string{"docker", "podman", "nerdctl"}, path.Base(words[0])) {
				out = append(out, Command{Words: words[2:], Line: c.Line})
				break
			}
		}
	}
	return out
}

// programOf leaves out what stands before the program of a command: sudo, variables.
func programOf(words []string) []string {
	for len(words) > 0 && (words[0] == "sudo" || words[0] == "exec" || strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	return words
}

// Flags of docker run without a value (docker/cli, cli/command/container/opts.go and run.go: BoolVar).
func dockerSwitches() []string {
	return []string{"-d", "--detach", "-i", "--interactive", "-t", "--tty", "--rm", "--privileged", "--init", "-P", "--publish-all", "--read-only",
		"--no-healthcheck", "--oom-kill-disable", "-q", "--quiet", "--sig-proxy", "--disable-content-trust", "-it", "-ti", "-dit", "-itd", "-id", "-di", "-dt", "-td"}
}

// readDocker reads docker run lines, each as a workload of one pod.
func (f *File) readDocker(runs []Command) {
	for _, run := range runs {
		c := Container{Line: run.Line, Ports: map[string]int{}, Limits: map[string]Text{}, Requests: map[string]Text{}}
		p := Pod{Line: run.Line, Replicas: 1, Networks: true}
		words := run.Words
		for len(words) > 0 && strings.HasPrefix(words[0], "-") {
			name, v, inline := strings.Cut(words[0], "=")
			words = words[1:]
			if slices.Contains(dockerSwitches(), name) {
				c.Privileged = c.Privileged || name == "--privileged" && v != "false"
				continue
			}
			if !inline && len(words) > 0 {
				v, words = words[0], words[1:]
			}
			dockerFlag(&p, &c, name, Text{Value: v, Line: run.Line, Open: strings.Contains(v, "$")})
		}
		if len(words) > 0 {
			c.Image = Text{Value: words[0], Line: run.Line, Open: strings.Contains(words[0], "$")}
			for _, w := range words[1:] {
				c.Args = append(c.Args, Text{Value: w, Line: run.Line, Open: strings.Contains(w, "$")})
			}
		}
		c.Script = scriptOf(c.Command, c.Args)
		if c.Name == "" {
			c.Name = path.Base(strings.SplitN(c.Image.Value, ":", 2)[0])
		}
		p.Containers = []Container{c}
		f.Workloads = append(f.Workloads, Workload{Form: Docker, Kind: "docker run", Name: c.Name, Line: run.Line, Group: 1, Pods: []Pod{p}})
	}
}

func dockerFlag(p *Pod, c *Container, name string, t Text) {
	v := t.Value
	switch name {
	case "--name":
		c.Name = v
	case "-e", "--env":
		key, value, ok := strings.Cut(v, "=")
		c.Env = append(c.Env, Env{Name: key, Value: Text{Value: value, Line: t.Line, Open: !ok || strings.Contains(value, "$")}})
	case "--env-file":
		c.EnvFrom++
	case "--net", "--network":
		p.HostNetwork = v == "host"
	case "--ipc":
		p.HostIPC = v == "host"
	case "--pid":
		p.HostPID = v == "host"
	case "--shm-size":
		c.SHM = t
	case "--cap-add":
		c.Capabilities = append(c.Capabilities, strings.TrimPrefix(strings.ToUpper(v), "CAP_"))
	case "--device":
		at, _, _ := strings.Cut(v, ":")
		c.Devices = append(c.Devices, at)
	case "--ulimit":
		if limit, ok := strings.CutPrefix(v, "memlock="); ok {
			soft, _, _ := strings.Cut(limit, ":")
			c.Memlock = Text{Value: soft, Line: t.Line}
		}
	case "--gpus":
		dockerGPUs(c, t)
	case "--entrypoint":
		c.Command = []Text{t}
	case "-v", "--volume":
		parts := strings.Split(v, ":")
		if len(parts) > 1 {
			c.Mounts = append(c.Mounts, Mount{Name: parts[0], Path: parts[1], Line: t.Line})
			p.Volumes = append(p.Volumes, Volume{Name: parts[0], Kind: "bind", Path: parts[0], Line: t.Line})
		}
	}
}

// dockerGPUs counts GPUs: all, 2, device=0,1, "device=0,1" in quotes of its own.
func dockerGPUs(c *Container, t Text) {
	v := strings.Trim(t.Value, `"'`)
	count := Text{Value: v, Line: t.Line}
	if ids, ok := strings.CutPrefix(v, "device="); ok {
		count.Value = itoa(strings.Count(ids, ",") + 1)
	} else if _, err := strconv.Atoi(v); err != nil {
		count.Open = true
	}
	c.Limits["nvidia.com/gpu"] = count
}
