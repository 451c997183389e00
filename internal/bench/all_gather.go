package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
)

// Where render.BuildNCCL puts NCCL and its tests.
const (
	builtLibrary = "/opt/railwright/nccl/build/lib"
	builtTest    = "/opt/railwright/nccl-tests/build/" + gatherProgram
)

const gatherProgram = "all_gather_perf"

// Sizes of the all-gather, in bytes. GPU and CPU of these machines share their memory: 16 GiB, as "DGX Spark Networking" has it,
// is three buffers of 16 GiB, and froze a machine (NVIDIA/dgx-spark-playbooks, issue 102). 4 GiB saturate a port just as well.
const (
	defaultGather = 4 << 30
	leastGather   = 512 << 20
	// buffers is how many of the largest size nccl-tests allocates with the data check: sent, received and expected
	// (nccl-tests, src/common.cu: "sendbuff, recvbuff, expected").
	buffers = 3
	// memoryShare is how much of what is free the buffers may take: what else runs must not notice.
	memoryShare = 4 // a quarter
)

// GatherWithin is the largest size whose buffers fit into a quarter of the memory that is free on the machine that has the least,
// a power of two and at most most. 0: not even the least size fits.
func GatherWithin(free, most int64) int64 {
	size := int64(leastGather)
	if size > most || size*buffers > free/memoryShare {
		return 0
	}
	for size*2 <= most && size*2*buffers <= free/memoryShare {
		size *= 2
	}
	return size
}

// ncclTests are: which NCCL each machine loads, and an all-gather over all of them.
func ncclTests(p *fabric.Plan, l Limits) ([]fabric.BenchTest, error) {
	most := l.GatherMost
	if most == 0 {
		most = defaultGather
	}
	if most < leastGather {
		return nil, fmt.Errorf("largest all-gather %d bytes: at least %d MiB are needed to fill a port", most, int64(leastGather)>>20)
	}
	var nodes []string
	for _, n := range p.Nodes {
		nodes = append(nodes, n.Name)
	}
	library := fabric.BenchTest{ID: string(fabric.LibraryFits), Kind: fabric.LibraryFits, Title: "the NCCL that all_gather_perf loads on each machine", Nodes: nodes}
	for _, n := range nodes {
		library.Commands = append(library.Commands, fabric.BenchCommand{Node: n, Env: []string{"LD_LIBRARY_PATH=" + builtLibrary}, Argv: []string{"ldd", builtTest}},
			fabric.BenchCommand{Node: n, Argv: []string{"grep", "-aoE", "NCCL version [0-9.]+[+a-z0-9.]*|" + subnetsWord + "|" + noTreesWord, builtLibrary + "/libnccl.so.2"}})
	}
	gather, err := gatherTest(p, nodes, most)
	return []fabric.BenchTest{library, gather}, err
}

func gatherTest(p *fabric.Plan, nodes []string, most int64) (fabric.BenchTest, error) {
	t := fabric.BenchTest{ID: string(fabric.GatherAll), Kind: fabric.GatherAll, Nodes: nodes, Links: p.Cabling.Links,
		Title: fmt.Sprintf("all-gather over %s, %s to %s", fabric.Count(len(nodes), "machine"), gib(leastGather), gib(most))}
	env, err := forAll(p)
	if err != nil {
		return t, err
	}
	hosts, err := mpiHosts(p)
	if err != nil {
		return t, err
	}
	argv := slices.Concat([]string{"mpirun"}, mpiOptions(env), []string{"-np", strconv.Itoa(len(nodes)), "-H", strings.Join(hosts, ",")}, exported(env), gatherArgv(most))
	t.Commands = []fabric.BenchCommand{{Node: nodes[0], Argv: argv}}
	return t, nil
}

func gib(bytes int64) string {
	if bytes%(1<<30) == 0 {
		return fmt.Sprintf("%d GiB", bytes>>30)
	}
	return fmt.Sprintf("%d MiB", bytes>>20)
}

// gatherArgv are the sizes by two, with the data check that is on by default.
func gatherArgv(most int64) []string {
	return []string{builtTest, "-b", strconv.Itoa(leastGather), "-e", strconv.FormatInt(most, 10), "-f", "2", "-g", "1"}
}

// mpiOptions: BatchMode, so that ssh fails where it would ask. Host keys are checked as ssh is set up to. The interface for MPI's
// own connections also goes to mpirun itself, which -x does not reach.
func mpiOptions(env []render.Variable) []string {
	options := []string{"--mca", "plm_rsh_args", "-o BatchMode=yes"}
	for _, v := range env {
		if name, ok := strings.CutPrefix(v.Name, "OMPI_MCA_"); ok {
			options = append(options, "--mca", name, v.Value)
		}
	}
	return options
}

// exported names each variable for mpirun, which sends no other to the machines that it starts processes on.
func exported(env []render.Variable) (argv []string) {
	for _, v := range env {
		argv = append(argv, "-x", v.String())
	}
	return argv
}

// forAll is the environment of all ranks: that of each machine; where they differ (port 0 of one is cabled to port 1 of the other
// in a pair), a list has what any of them has. NCCL passes over names that a machine does not have and ports that are down.
func forAll(p *fabric.Plan) ([]render.Variable, error) {
	all := []render.Variable{
		{Name: "LD_LIBRARY_PATH", Value: builtLibrary},
		{Name: "NCCL_DEBUG", Value: "INFO"}, // which library, devices and interfaces it took
		{Name: "NCCL_DEBUG_SUBSYS", Value: "INIT,ENV,NET"},
	}
	addresses := p.Addressing.ByNode()
	for _, n := range p.Nodes {
		variables, missing := render.CollectiveVariables(render.Wired{Node: n.Name, Nodes: len(p.Nodes), Wiring: p.Wiring(), Ports: p.PortsOf(n.Name),
			Addresses: addresses[n.Name], Management: n.Management, Traffic: p.Traffic})
		if len(missing) > 0 {
			return nil, fmt.Errorf("node %q: %s", n.Name, missing[0])
		}
		for _, v := range variables {
			i := slices.IndexFunc(all, func(have render.Variable) bool { return have.Name == v.Name })
			if i < 0 {
				all = append(all, v)
				continue
			}
			all[i].Value = joined(all[i].Value, v.Value)
		}
	}
	return all, nil
}

// joined adds to a list the names that it does not have; a sign for exact names stays in front.
func joined(list, more string) string {
	have := strings.Split(list, ",")
	for name := range strings.SplitSeq(strings.TrimPrefix(more, "="), ",") {
		if strings.TrimPrefix(have[0], "=") != name && !slices.Contains(have[1:], name) {
			have = append(have, name)
		}
	}
	return strings.Join(have, ",")
}

// mpiHosts are the machines with one process each, in the order of the cables: NCCL joins rank n to rank n+1, and in a ring only
// neighbours reach each other. A pair and machines on a switch go by the address of the first twin, over which MPI speaks too; in a
// ring by their names, which must lead to the ordinary network on the first machine.
func mpiHosts(p *fabric.Plan) (hosts []string, err error) {
	for _, n := range p.Nodes {
		if p.Wiring() == fabric.WiredRing {
			hosts = append(hosts, n.Name+":1")
			continue
		}
		ports := p.PortsOf(n.Name)
		if len(ports) == 0 {
			return nil, fmt.Errorf("plan %q: node %q has no cabled port", p.Name, n.Name)
		}
		address, err := addressOf(p, ports[0], 0)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, address+":1")
	}
	return hosts, nil
}
