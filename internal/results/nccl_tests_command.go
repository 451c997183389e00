package results

import (
	"strings"

	"railwright.dev/railwright/internal/envtext"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// command is what the text before a table says of how it was made.
type command struct {
	program  string              // all_reduce_perf, or all_gather where only the name of the collective stands there
	settings map[string]string   // of the libraries: mpirun -x NAME=value, export NAME=value
	replaced map[string][]string // their values before the last
	pasted   envtext.Reader
	typed    []envtext.Setting // of the line before, if it is a command of the superuser or the comment that looks like it
	version  string            // of the tests
	library  string            // NCCL or RCCL and its version
	devices  []fabric.RankDevice
	budget   *budget
}

// NetPlugin is the key in a table's configuration of the network plugin of NCCL that the command line of its run names.
const NetPlugin = "net_plugin"

var (
	// gibFolder is where Google's plugin for RDMA is mounted in a pod, and on a node (gpudirect-rdma of
	// GoogleCloudPlatform/container-engine-accelerators).
	gibFolder      = pattern.New(`(?:/usr/local|/kubernetes/bin)/gib/`)
	programName    = pattern.New(`\b([a-z0-9_]+)_perf(?:_mpi)?\b`)
	collectiveWord = pattern.New(`-t (all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|sendrecv|gather|scatter)\b`)
	testsVersion   = pattern.New(`nccl-tests version (\S+)(?:.*nccl-library=(\d+))?|rccl-tests:? [Vv]ersion:? (\S+)`)
	libraryVersion = pattern.New(`^(NCCL|RCCL) version ?:? *(\d\S*)`)
)

func (c *command) read(text string) {
	if strings.Contains(text, "_perf") {
		if m := programName().FindStringSubmatch(text); m != nil {
			c.program = keepUpTo(m[1], maxName)
		}
	} else if !strings.Contains(text, "-t ") {
	} else if m := collectiveWord().FindStringSubmatch(text); m != nil {
		c.program = strings.Clone(m[1])
	}
	c.paste(text)
	if strings.Contains(text, "/gib/") && gibFolder().MatchString(text) {
		c.keep(NetPlugin, "gIB")
	}
	if strings.Contains(text, "version") || strings.Contains(text, "Version") {
		c.versions(text)
	}
}

// paste reads what a script, a command or a manifest sets.
func (c *command) paste(text string) {
	if c.typed = nil; strings.Contains(text, "_perf") {
		c.typed = envtext.Typed(text[:min(len(text), maxSettingLine)])
	}
	for _, s := range c.pasted.Line(text[:min(len(text), maxSettingLine)]) {
		c.set(s)
	}
}

// device takes a line of a banner whose first line was not copied.
func (c *command) device(text string) bool {
	d, ok := readDevice(text)
	if ok && c.budget.device() {
		c.devices = append(c.devices, d)
	}
	return ok
}

// maxSettingLine is how much of a line is searched for settings, bytes.
const maxSettingLine = 16 << 10

// set takes a setting as a shell does: the last value counts. What it replaces is kept, to be said.
func (c *command) set(s envtext.Setting) {
	const most = 64 // settings of a run
	old, again := c.settings[s.Name]
	value := keep(s.Value)
	switch {
	case s.Unset:
		delete(c.settings, s.Name)
	case again && old == value:
	case !again && len(c.settings) >= most || !c.budget.room(len(value)+maxName):
	case again && len(c.replaced[s.Name]) < most:
		if c.replaced == nil {
			c.replaced = map[string][]string{}
		}
		c.replaced[s.Name] = append(c.replaced[s.Name], old)
		fallthrough
	default:
		c.keep(keepUpTo(s.Name, maxName), value)
	}
}

func (c *command) keep(key, value string) {
	if c.settings == nil {
		c.settings = map[string]string{}
	}
	c.settings[key] = value
}

func (c *command) versions(text string) {
	if m := testsVersion().FindStringSubmatch(text); m != nil {
		if m[1] != "" {
			c.version = "nccl-tests " + keepUpTo(m[1], maxName)
			c.library = ncclVersion(small(m[2]))
		} else {
			c.version = "rccl-tests " + keepUpTo(m[3], maxName)
		}
	}
	if m := libraryVersion().FindStringSubmatch(text); m != nil {
		c.library = m[1] + " " + keepUpTo(m[2], maxName)
	}
}

// librarySetting splits NAME=value where the name is one of NCCL, RCCL or what they stand on.
func librarySetting(text string) (key, value string, ok bool) {
	key, value, ok = strings.Cut(text, "=")
	if !ok {
		return "", "", false
	}
	for _, prefix := range []string{"NCCL_", "RCCL_", "HSA_", "UCX_"} {
		if strings.HasPrefix(key, prefix) {
			return key, strings.Trim(value, `"'\`), true
		}
	}
	return "", "", false
}

// programCollective is the collective that a program measures, as far as its name goes.
func programCollective(program string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(program, "_mpi"), "_perf")
	if _, err := fabric.ParseCollective(name); err != nil {
		return program
	}
	return name
}
