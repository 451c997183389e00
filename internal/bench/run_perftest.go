package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/results"
)

// runPerftest runs servers and clients of a test over one path or several at once.
func runPerftest(ctx context.Context, r *fabric.BenchResult, m Machines) {
	devices := readTwins(ctx, r, m)
	if len(r.Missing) > 0 {
		return
	}
	commands := withDevices(r.Commands, r.Links, devices)
	commands, err := freePorts(ctx, commands, m)
	if err != nil {
		lack(r, r.ID, "/proc/net/tcp", err.Error())
		return
	}
	r.Commands = commands
	var servers, clients []*started
	launch := func(c fabric.BenchCommand) *started {
		s, err := start(ctx, m.Nodes[c.Node], bounded(c, m.Perftest, false))
		if err != nil {
			lack(r, c.Node, c.Argv[0], err.Error())
		}
		return s
	}
	for _, c := range commands {
		if c.Wait {
			servers = append(servers, launch(c))
			continue
		}
		if len(clients) == 0 {
			listening(ctx, commands, servers, m)
		}
		clients = append(clients, launch(c))
	}
	finish(r, commands, servers, clients, m)
}

// finish reads the clients, which measure, and then ends the servers.
func finish(r *fabric.BenchResult, commands []fabric.BenchCommand, servers, clients []*started, m Machines) {
	waiting := slices.DeleteFunc(slices.Clone(commands), func(c fabric.BenchCommand) bool { return !c.Wait })
	measuring := slices.DeleteFunc(slices.Clone(commands), func(c fabric.BenchCommand) bool { return c.Wait })
	for i, s := range clients {
		if s == nil {
			continue
		}
		out, err := s.end(m.Perftest + m.Grace)
		keep(r, measuring[i], out)
		read, readErr := results.Read(measuring[i].Node, strings.NewReader(string(out)))
		r.Read = append(r.Read, read...)
		switch {
		case err != nil:
			lack(r, measuring[i].Node, measuring[i].Argv[0], reason(measuring[i], err))
		case readErr != nil:
			lack(r, measuring[i].Node, measuring[i].Argv[0], "its output could not be read: "+readErr.Error())
		}
	}
	failed := len(r.Missing) > 0
	for i, s := range servers {
		if s == nil {
			continue
		}
		if failed {
			s.stop()
		}
		out, err := s.end(m.Grace)
		keep(r, waiting[i], out)
		if err != nil && failed { // it may say why; where all was measured its end does not matter
			lack(r, waiting[i].Node, waiting[i].Argv[0], reason(waiting[i], err))
		}
	}
}

func keep(r *fabric.BenchResult, c fabric.BenchCommand, out []byte) {
	r.Output = append(r.Output, fabric.BenchPrinted{Node: c.Node, Text: string(out)})
}

// twinsScript prints a line for each interface: name, PCI address, width, speed, RDMA device. A value that cannot be read is "-".
const twinsScript = `read_or() { cat "$1" 2>/dev/null || echo -; }
for n; do
	[ -e "/sys/class/net/$n" ] || { echo "$n absent"; continue; }
	d=/sys/class/net/$n/device
	[ -e "$d" ] || { echo "$n virtual"; continue; }
	p=$(readlink -f "$d"); r=
	for i in "$d"/infiniband/*; do [ -e "$i" ] && r=${i##*/}; done
	echo "$n ${p##*/} $(read_or "$d/current_link_width") $(read_or "$d/current_link_speed" | tr ' ' _) ${r:--}"
done`

// readTwins reads the PCIe link of both ends of each link, and the names of their RDMA devices, which udev or a container may have
// left at mlx5_0 and so on.
func readTwins(ctx context.Context, r *fabric.BenchResult, m Machines) map[fabric.Endpoint]string {
	devices := make(map[fabric.Endpoint]string)
	nics := make(map[string][]string)
	for _, l := range r.Links {
		nics[l.A.Node] = append(nics[l.A.Node], l.A.NIC)
		nics[l.B.Node] = append(nics[l.B.Node], l.B.NIC)
	}
	for _, node := range r.Nodes {
		text, err := m.ask(ctx, node, append([]string{"sh", "-c", twinsScript, "sh"}, nics[node]...)...)
		if err != nil {
			lack(r, node, "/sys/class/net", "its interfaces could not be read: "+err.Error())
			continue
		}
		var absent, virtual, bare []string
		for line := range strings.Lines(text) {
			f := strings.Fields(line)
			switch {
			case len(f) == 2 && f[1] == "absent":
				absent = append(absent, f[0])
			case len(f) == 2 && f[1] == "virtual":
				virtual = append(virtual, f[0])
			case len(f) == 5:
				at := fabric.Endpoint{Node: node, NIC: f[0]}
				if devices[at] = f[4]; f[4] == "-" {
					bare = append(bare, f[0])
				}
				r.PCIe = append(r.PCIe, trained(at, f))
			}
		}
		lackTwins(r, node, absent, virtual, bare)
	}
	return devices
}

// lackTwins says once for each machine why no test runs over some of its interfaces: they are not there, they are of no PCI device,
// or their PCI device has no RDMA device.
func lackTwins(r *fabric.BenchResult, node string, absent, virtual, bare []string) {
	say := func(nics []string, one, many string) {
		switch len(nics) {
		case 0:
		case 1:
			lack(r, node+":"+nics[0], "/sys/class/net", nics[0]+" of "+node+" "+one)
		default:
			lack(r, node, "/sys/class/net", strings.Join(nics, ", ")+" of "+node+" "+many)
		}
	}
	const off, load = ": without a cable DGX OS takes the NIC off PCI", ": sudo modprobe mlx5_ib"
	say(absent, "is not there"+off, "are not there"+off)
	say(bare, "has no RDMA device"+load, "have no RDMA device"+load)
	if len(virtual) > 0 { // without their names: it is so of all that are made by software, and the tests then share one reason
		lack(r, node, "/sys/class/net", "the interfaces of "+node+" are virtual, of no PCI device: they have no RDMA")
	}
}

// trained reads a line of twinsScript. The kernel writes the speed as "32.0 GT/s PCIe". What cannot be read stays 0.
func trained(at fabric.Endpoint, f []string) fabric.TrainedLink {
	l := fabric.TrainedLink{At: at, PCI: f[1]}
	if w, err := strconv.Atoi(f[2]); err == nil && w > 0 && w <= 32 {
		l.Width = w
	}
	number, _, _ := strings.Cut(f[3], "_")
	if v, err := strconv.ParseFloat(number, 64); err == nil && v > 0 && v < 1000 {
		l.GTs = v
	}
	return l
}

// withDevices names in each command the RDMA device that its interface really has.
func withDevices(commands []fabric.BenchCommand, links []fabric.Link, devices map[fabric.Endpoint]string) []fabric.BenchCommand {
	all := slices.Clone(commands)
	for i, c := range all {
		l := links[i%len(links)] // first a server for each, then a client
		at := l.A
		if c.Wait {
			at = l.B
		}
		n := slices.Index(c.Argv, "-d")
		if name := devices[at]; name != "" && n >= 0 {
			all[i].Argv = slices.Clone(c.Argv)
			all[i].Argv[n+1] = name
		}
	}
	return all
}

// freePorts gives each server a TCP port on which nothing listens, and its client the same.
func freePorts(ctx context.Context, commands []fabric.BenchCommand, m Machines) ([]fabric.BenchCommand, error) {
	all := slices.Clone(commands)
	for i := range all {
		all[i].Argv = slices.Clone(all[i].Argv)
	}
	servers := len(all) / 2
	next := firstPort
	for i := range servers {
		busy, err := m.listeners(ctx, all[i].Node)
		if err != nil {
			return nil, err
		}
		for slices.Contains(busy, next) {
			next++
		}
		for _, c := range []fabric.BenchCommand{all[i], all[i+servers]} {
			if n := slices.Index(c.Argv, "-p"); n >= 0 {
				c.Argv[n+1] = strconv.Itoa(next)
			}
		}
		next++
	}
	return all, nil
}

// listeners are the TCP ports on which a machine listens.
func (m Machines) listeners(ctx context.Context, node string) (ports []int, err error) {
	text, err := m.ask(ctx, node, "cat", "/proc/net/tcp", "/proc/net/tcp6")
	if err != nil && !strings.Contains(text, "local_address") { // tcp6 alone may be switched off
		return nil, fmt.Errorf("%s: %w", node, err)
	}
	const listen = "0A" // of include/net/tcp_states.h
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || f[3] != listen {
			continue
		}
		_, hex, _ := strings.Cut(f[1], ":")
		if n, err := strconv.ParseUint(hex, 16, 16); err == nil {
			ports = append(ports, int(n))
		}
	}
	return ports, nil
}

// listening waits until all servers listen, or one has ended, or the time is up: then the clients say what is wrong.
func listening(ctx context.Context, commands []fabric.BenchCommand, servers []*started, m Machines) {
	deadline := time.Now().Add(m.Settle)
	for i, s := range servers {
		n := slices.Index(commands[i].Argv, "-p")
		if s == nil || n < 0 {
			continue
		}
		port, err := strconv.Atoi(commands[i].Argv[n+1])
		for err == nil && time.Now().Before(deadline) && ctx.Err() == nil {
			busy, askErr := m.listeners(ctx, commands[i].Node)
			if askErr == nil && slices.Contains(busy, port) {
				break
			}
			select {
			case <-s.done:
				return
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
}
