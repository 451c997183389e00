//go:build linux

package bench

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Bars of check over saved facts of hosts of 8 NICs, streamed.
const (
	checkHosts  = 16384
	checkFactor = 5.0       // times the processor time of decoding the same facts of 16 KiB each: it takes 2.8 on cores that others use too
	checkMemory = 700 << 20 // bytes: it takes 560 to 610 MiB
	checkGrowth = 6.0       // of four times the hosts: 4, and room for noise
)

func barCheck(t *testing.T, binary string) {
	folder := inMemory(t)
	cluster := filepath.Join(folder, "cluster.yaml")
	text := measure(t, nil, binary, "init", "--example", "roce-mi300x", "--nodes", fmt.Sprint(checkHosts))
	if err := os.WriteFile(cluster, []byte(text.out), 0o644); err != nil {
		t.Fatal(err)
	}
	took := make(map[int]time.Duration)
	fmt.Printf("%8s %10s %10s %8s\n", "hosts", "wall", "processor", "memory")
	written := 0
	for _, hosts := range []int{1024, 4096, checkHosts} {
		for ; written < hosts; written++ {
			writeFacts(t, folder, written)
		}
		s := check(t, binary, cluster, filepath.Join(folder, "facts"))
		took[hosts] = s.cpu
		fmt.Printf("%8d %10s %10s %6d M\n", hosts, s.wall.Round(time.Millisecond), s.cpu.Round(time.Millisecond), s.rss>>20)
		if hosts == checkHosts && s.rss > checkMemory {
			t.Errorf("%d hosts: %d MiB, want at most %d MiB", hosts, s.rss>>20, checkMemory>>20)
		}
	}
	decoded := decoding(t, filepath.Join(folder, "facts"))
	times := took[checkHosts].Seconds() / decoded.Seconds()
	fmt.Printf("%d hosts: %.1f times the %s of decoding their facts\n", checkHosts, times, decoded.Round(time.Millisecond))
	if times > checkFactor {
		t.Errorf("%d hosts take %.1f times as long as decoding their facts, want at most %.1f", checkHosts, times, checkFactor)
	}
	if growth := took[checkHosts].Seconds() / took[4096].Seconds(); growth > checkGrowth {
		t.Errorf("16384 hosts take %.1f times as long as 4096, want at most %.0f", growth, checkGrowth)
	}
}

// check runs the check over the facts that lie there; nodes of the plan without facts are unknown, so its
// status is 2 for all sizes but the last.
func check(t *testing.T, binary, cluster, facts string) spent {
	t.Helper()
	cmd := exec.Command(binary, "check", "-f", cluster, "--snapshot", facts)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	started := time.Now()
	err := cmd.Run()
	wall := time.Since(started)
	if code := cmd.ProcessState.ExitCode(); code == 64 || code == 70 || code < 0 {
		t.Fatalf("check: %v\n%s", err, stderr.String())
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return spent{wall: wall, cpu: cpuOf(usage), rss: usage.Maxrss << 10} // Maxrss is in KiB (getrusage(2))
}

// classes are what a NIC of the example does with traffic classes, and its stored options.
const classes = `"qos":{"trust":"dscp","dscp":"26:3 48:7","pfc":[3],"queues":[0,0,0,1,0,0,0,2],"schedulers":[{"algorithm":"ets","percent":50},{"algorithm":"ets","percent":50},{"algorithm":"strict"}],` +
	`"roce":{"dscp":26,"priority":3},"cnp":{"dscp":48,"priority":7},"ecn":[0,1,2,3,4,5,6,7],"global_pause":false,"sources":["niccli"]},` +
	`"options":{"support_rdma":"True","performance_profile":"RoCE","pcie_relaxed_ordering":"Enabled","dcbx_mode":"Disabled","lldp_nearest_bridge":"Disabled","lldp_nearest_non_tpmr_bridge":"Disabled"}`

// writeFacts writes the facts of one host of the example as it should be: 8 NICs on PCI functions of their
// own behind bridges, each with an RDMA device, address, rule, route and neighbour.
func writeFacts(t *testing.T, folder string, i int) {
	t.Helper()
	name := fmt.Sprintf("host%05d", i+1)
	var nics, hcas, pci, gpus, routes, rules, lldp []string
	for n := range 8 {
		at := 16*i + 2*n
		address := fmt.Sprintf("10.%d.%d.%d", 64+at>>16, at>>8&255, at&255|1)
		gateway := fmt.Sprintf("10.%d.%d.%d", 64+at>>16, at>>8&255, at&255)
		nics = append(nics, fmt.Sprintf(`{"name":"eth%d","index":%d,"mac":"02:00:%02x:%02x:%02x:%02x","mtu":9000,"operstate":"up","carrier":true,"speed_mbps":400000,"driver":"bnxt_en","pci":"0000:%02x:00.0","addresses":["%s/31"],"arp_ignore":0,"arp_announce":0,"rp_filter":2,"owner":"networkd",%s}`,
			n+1, n+2, i>>8, i&255, n, 1, 0x10+16*n+3, address, classes))
		hcas = append(hcas, fmt.Sprintf(`{"name":"bnxt_re%d","node_guid":"0200:%04x:00%02x:0001","firmware":"236.0.0.1","driver":"bnxt_en","pci":"0000:%02x:00.0","ports":[{"number":1,"state":"ACTIVE","phys_state":"LinkUp","rate_gbps":400,"link_layer":"Ethernet","gids":[{"index":3,"gid":"0000:0000:0000:0000:0000:ffff:0a%02x:%02x%02x","type":"RoCE v2","netdev":"eth%d"}]}]}`,
			n, i, n, 0x10+16*n+3, 64+at>>16, at>>8&255, at&255|1, n+1))
		gpus = append(gpus, fmt.Sprintf(`{"pci":"0000:%02x:00.0","vendor":"amd","driver":"amdgpu"}`, 0x10+16*n+2))
		for f, kind := range []string{"bridge", "bridge", "gpu", "nic"} {
			pci = append(pci, function(n, f, kind))
		}
		routes = append(routes, fmt.Sprintf(`{"table":%d,"destination":"0.0.0.0/0","gateway":"%s","nic":"eth%d"}`, 101+n, gateway, n+1))
		rules = append(rules, fmt.Sprintf(`{"priority":%d,"from":"%s/32","table":%d}`, 10101+n, address, 101+n))
		lldp = append(lldp, fmt.Sprintf(`{"nic":"eth%d","system":"g%03d-rail%d","port":"Ethernet%d","source":"networkd"}`, n+1, i/32+1, n+1, 4*(i%32)))
	}
	text := fmt.Sprintf(`{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts","node":%q,"source":"live","kernel":{"release":"6.8.0","command_line":"iommu=pt"},`+
		`"machine":{"hypervisor":false,"iommu_mode":"passthrough","numa_nodes":2},"nics":[%s],"hcas":[%s],"gpus":[%s],"pci":[%s],"routes":[%s],"rules":[%s],"lldp":[%s],`+
		`"sysctls":{"kernel.numa_balancing":"0"}}`, name, join(nics), join(hcas), join(gpus), join(pci), join(routes), join(rules), join(lldp))
	path := filepath.Join(folder, "facts", name+".json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func function(n, f int, kind string) string {
	parent := ""
	if f > 0 {
		parent = fmt.Sprintf(`"parent":"0000:%02x:00.0",`, 0x10+16*n+min(f-1, 1))
	}
	id := map[string]string{
		"bridge": `"vendor":4096,"device":49168,"class":394240`,
		"gpu":    `"vendor":4098,"device":29857,"class":1179648`,
		"nic":    `"vendor":5348,"device":5984,"class":131072`,
	}[kind]
	return fmt.Sprintf(`{"address":"0000:%02x:00.0",%s%s,"numa_node":%d,"link":"x16@32 of x16@32","acs":"005f/0000","ats":"none"}`,
		0x10+16*n+f, parent, id, n/4)
}

func join(parts []string) string { return strings.Join(parts, ",") }
