package bench

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/results"
)

// Words in a library that tell what it can do: the names of its settings are in it as text (NCCL, src/include/param.h).
const (
	subnetsWord = "IB_SUBNET_AWARE_ROUTING"
	noTreesWord = "SWITCHLESS_RING_ONLY" // of a build that was changed to connect no trees
)

// libraryScript finds all_gather_perf and the NCCL that it loads: lines "test PATH", "library PATH", and what is in the library.
// The folder of the library that was built is in LD_LIBRARY_PATH, as for the test itself.
const libraryScript = `for t in "$1" "$HOME/nccl-tests/build/all_gather_perf"; do [ -x "$t" ] && break; t=; done
[ -n "$t" ] || { echo "no test"; exit 0; }
echo "test $t"
l=$(ldd "$t" | sed -n 's/.*libnccl[^ ]* => \([^ ]*\) .*/\1/p')
[ -n "$l" ] && [ -e "$l" ] || { echo "no library"; exit 0; }
echo "library $l"
grep -aoE 'NCCL version [0-9.]+[+a-z0-9.]*|IB_SUBNET_AWARE_ROUTING|SWITCHLESS_RING_ONLY' "$l" | sort -u`

// libraryVersion is the text that NCCL prints as its version (src/init.cc, VERSION_STRING).
func libraryVersion() *regexp.Regexp { return regexp.MustCompile(`NCCL version (\d+\.\d+\.\d+\S*)`) }

// readLibraries finds which NCCL each machine loads.
func readLibraries(ctx context.Context, r *fabric.BenchResult, m Machines) {
	for _, node := range r.Nodes {
		lib, why := m.library(ctx, node)
		if why != "" {
			lack(r, node, gatherProgram, why)
			continue
		}
		r.Libs = append(r.Libs, lib)
	}
}

func (m Machines) library(ctx context.Context, node string) (lib fabric.NCCLLibrary, why string) {
	c := fabric.BenchCommand{Node: node, Env: []string{"LD_LIBRARY_PATH=" + builtLibrary}, Argv: []string{"sh", "-c", libraryScript, "sh", builtTest}}
	text, _, err := m.run(ctx, c, askWithin, true)
	if err != nil {
		return lib, reason(c, err)
	}
	lib.Node = node
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case line == "no test":
			return lib, gatherProgram + " is not on " + node + ": sudo /etc/railwright/build-nccl.sh there, once its files are applied"
		case line == "no library":
			return lib, gatherProgram + " on " + node + " loads no libnccl.so.2: sudo /etc/railwright/build-nccl.sh there"
		case word == "test":
			lib.Program = rest
		case word == "library":
			lib.Path = rest
		}
	}
	if lib.Program == "" || lib.Path == "" {
		return lib, "the answer of " + node + " was cut off"
	}
	if found := libraryVersion().FindStringSubmatch(text); found != nil {
		lib.Version = found[1]
	}
	lib.Subnets, lib.NoTrees = strings.Contains(text, subnetsWord), strings.Contains(text, noTreesWord)
	return lib, ""
}

// runGather runs the all-gather, with its largest size cut to the memory that is free on every machine.
func runGather(ctx context.Context, r *fabric.BenchResult, m Machines) {
	c := r.Commands[0]
	c.Argv = withNames(c.Argv, r.Links, readTwins(ctx, r, m))
	size := slices.Index(c.Argv, "-e")
	program := size - 3
	var free int64
	if len(r.Missing) > 0 {
		return
	}
	for _, node := range r.Nodes {
		lib, why := m.library(ctx, node)
		available, memoryWhy := m.available(ctx, node)
		switch {
		case why != "":
			lack(r, node, gatherProgram, why)
		case memoryWhy != "":
			lack(r, node, "/proc/meminfo", memoryWhy)
		case len(r.Libs) > 0 && (lib.Program != r.Libs[0].Program || lib.Path != r.Libs[0].Path):
			lack(r, node, gatherProgram, "it is "+lib.Program+" with "+lib.Path+" here, and "+r.Libs[0].Program+" with "+r.Libs[0].Path+" on "+r.Libs[0].Node)
		default:
			r.Libs = append(r.Libs, lib)
			if free == 0 || available < free {
				free = available
			}
		}
	}
	if len(r.Missing) > 0 {
		return
	}
	wanted, err := strconv.ParseInt(c.Argv[size+1], 10, 64)
	if err != nil {
		lack(r, c.Node, gatherProgram, "its size is not a number: "+err.Error())
		return
	}
	fits := GatherWithin(free, wanted)
	if fits == 0 {
		lack(r, r.ID, "/proc/meminfo", "the machine that has the least has "+gib(free>>20<<20)+" free: the smallest useful all-gather needs four times "+gib(leastGather*buffers)+
			", so that nothing else is in danger; end what uses the memory")
		return
	}
	c.Argv[size+1], c.Argv[program] = strconv.FormatInt(fits, 10), r.Libs[0].Program
	r.Commands = []fabric.BenchCommand{c}
	text, printed, err := m.run(ctx, c, m.Gather, true)
	r.Output = append(r.Output, printed)
	read, readErr := results.Read(c.Node, strings.NewReader(text))
	r.Read = read
	switch {
	case err != nil:
		lack(r, c.Node, "mpirun", reason(c, err))
	case readErr != nil:
		lack(r, c.Node, "mpirun", "its output could not be read: "+readErr.Error())
	}
}

// withNames lists in NCCL_IB_HCA the RDMA devices as the machines call them, where that is otherwise than in the plan.
func withNames(argv []string, links []fabric.Link, devices map[fabric.Endpoint]string) []string {
	argv = slices.Clone(argv)
	list := ""
	for _, l := range links {
		for _, end := range []fabric.Endpoint{l.A, l.B} {
			if name := devices[end]; name != "" {
				list = joined(list, name)
			}
		}
	}
	for i, word := range argv {
		if strings.HasPrefix(word, hcaList) && list != "" {
			argv[i] = hcaList + "=" + strings.TrimPrefix(list, ",")
		}
	}
	return argv
}

// hcaList begins the word of mpirun with the list of RDMA devices.
const hcaList = "NCCL_IB_HCA="

// available is the memory of a machine that can be had without swapping, in bytes: on these machines also the GPU's.
func (m Machines) available(ctx context.Context, node string) (bytes int64, why string) {
	text, err := m.ask(ctx, node, "cat", "/proc/meminfo")
	if err != nil {
		return 0, err.Error()
	}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 3 && f[0] == "MemAvailable:" && f[2] == "kB" {
			if kib, err := strconv.ParseInt(f[1], 10, 64); err == nil && kib > 0 && kib < 1<<40 {
				return kib << 10, ""
			}
		}
	}
	return 0, "it has no line MemAvailable"
}
