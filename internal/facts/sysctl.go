package facts

import (
	"context"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// sysctls are the kernel settings that RDMA and routed fabrics depend on.
func sysctls() []string {
	return []string{
		"kernel.numa_balancing",
		"net.core.netdev_max_backlog",
		"net.core.rmem_max",
		"net.core.wmem_max",
		"net.ipv4.conf.all.arp_announce",
		"net.ipv4.conf.all.arp_filter",
		"net.ipv4.conf.all.arp_ignore",
		"net.ipv4.conf.all.rp_filter",
		"net.ipv4.conf.default.rp_filter",
		"net.ipv4.ip_forward",
		"net.ipv4.neigh.default.gc_thresh1",
		"net.ipv4.neigh.default.gc_thresh2",
		"net.ipv4.neigh.default.gc_thresh3",
		"net.ipv4.tcp_rmem",
		"net.ipv4.tcp_wmem",
		"vm.max_map_count",
		"vm.zone_reclaim_mode",
	}
}

func readSysctls(_ context.Context, h host.Host, f *fabric.Facts) {
	f.Sysctls = make(map[string]string)
	for _, name := range sysctls() {
		file := "/proc/sys/" + strings.ReplaceAll(name, ".", "/")
		text, err := host.ReadString(h, file)
		if err != nil {
			miss(f, fabric.FactSysctls+"."+name, file, err)
			continue
		}
		f.Sysctls[name] = strings.Join(strings.Fields(text), " ") // tcp_rmem has tabs between its numbers
	}
}
