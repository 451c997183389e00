package results

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// hostChoices is what each host of a log chose.
type hostChoices struct {
	hosts map[string]*fabric.LogHost
	last  *fabric.LogHost // of the last line
	lost  fabric.LogHost  // of lines that do not name their host, and of hosts beyond the limit
}

func newHostChoices() hostChoices { return hostChoices{hosts: map[string]*fabric.LogHost{}} }

// choices returns what a host chose so far, to add to it.
func (g *logRun) choices(host string) *fabric.LogHost {
	at := &g.at
	switch {
	case host == "":
		return &at.lost
	case at.last != nil && at.last.Host == host:
		return at.last
	}
	found := at.hosts[host]
	if found == nil {
		const each = 256 // bytes of an entry
		if len(at.hosts) >= maxLogHosts || !g.room(each+2*len(host)) {
			return &at.lost
		}
		found = &fabric.LogHost{Host: strings.Clone(host)}
		at.hosts[found.Host] = found
	}
	at.last = found
	return found
}

// sorted is what the hosts chose, by name; a host of which nothing is known but its name is left out.
func (at *hostChoices) sorted() (all []fabric.LogHost) {
	for _, h := range at.hosts {
		if h.Library != "" || h.Net != "" || h.Plugin != "" || h.HCAs != nil || h.Env != nil || h.Direct+h.Bounced > 0 {
			all = append(all, *h)
		}
	}
	slices.SortFunc(all, func(a, b fabric.LogHost) int { return cmp.Compare(a.Host, b.Host) })
	return all
}

// internalPlugin is what LogHost.Plugin is where NCCL's own transport is used.
const internalPlugin = "internal"

// internalNets are the networks of NCCL itself (src/transport/net_ib, net_socket).
var internalNets = []string{"IB", "Socket"}

// plugin reads which plugin of the network a rank uses. A search that finds none is "internal", until one is loaded: NCCL
// looks under several names.
func (g *logRun) plugin(host, text string) {
	name := ""
	switch {
	case strings.HasPrefix(text, "NET/Plugin"):
		name = searchedPlugin(text)
	case strings.HasPrefix(text, "Plugin Path : "): // of the plugin that HPC-X brings (nccl-rdma-sharp-plugins, src/p2p_plugin.c)
		name = path.Base(strings.TrimSpace(strings.TrimPrefix(text, "Plugin Path : ")))
	case strings.HasPrefix(text, "Assigned NET plugin "): // NCCL 2.27 and later, also of its own networks
		name, _, _ = strings.Cut(strings.TrimPrefix(text, "Assigned NET plugin "), " to comm")
		if slices.Contains(internalNets, name) {
			name = internalPlugin
		}
	}
	at := g.choices(host)
	if name == "" || name == internalPlugin && at.Plugin != "" || name == at.Plugin || !g.room(len(name)) {
		return
	}
	at.Plugin = keepUpTo(name, maxName)
}

// searchedPlugin reads the lines that begin with NET/Plugin (src/plugin/net; src/net.cc up to NCCL 2.26).
func searchedPlugin(text string) string {
	switch {
	case strings.Contains(text, "Loaded net plugin "):
		_, name, _ := strings.Cut(text, "Loaded net plugin ")
		name, _, _ = strings.Cut(name, " (v")
		return name
	case strings.Contains(text, "No plugin found"), strings.Contains(text, "Using internal net"), strings.Contains(text, "Could not find: libnccl-net.so"):
		return internalPlugin
	}
	return ""
}
