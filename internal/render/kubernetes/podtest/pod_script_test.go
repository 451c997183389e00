package podtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// machine is the part of /sys and /dev that pod.sh reads, made from a few lines.
type machine struct {
	t    *testing.T
	root string
	env  []string
}

func newMachine(t *testing.T, vendor string) *machine {
	t.Helper()
	m := &machine{t: t, root: t.TempDir()}
	script, err := filepath.Abs("pod.sh")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	m.file("opt/pod.sh", string(text))
	m.file("opt/nccl.env", "# the plan's\nNCCL_NET=IB\nNCCL_SOCKET_IFNAME==eth0\nNCCL_IB_TC=104\n")
	m.env = []string{"PATH=" + filepath.Join(m.root, "bin") + ":" + os.Getenv("PATH"), "SYS=" + filepath.Join(m.root, "sys"), "DEV=" + filepath.Join(m.root, "dev"), "PROC=" + filepath.Join(m.root, "proc"),
		"STATE=" + filepath.Join(m.root, "run"), "KEYS=" + filepath.Join(m.root, "keys"), "PERFTEST=" + filepath.Join(m.root, "perftest"), "TOPOLOGY=" + filepath.Join(m.root, "topology"), "GPU_VENDOR=" + vendor}
	return m
}

func (m *machine) file(name, text string) {
	m.t.Helper()
	at := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) link(name, to string) {
	m.t.Helper()
	at := filepath.Join(m.root, name)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(m.root, to), at); err != nil {
		m.t.Fatal(err)
	}
}

// device makes a PCI device below a path of others; the last part of the path is its address.
func (m *machine) device(path string) {
	m.file("sys/devices/"+path+"/vendor", "")
	m.link("sys/bus/pci/devices/"+filepath.Base(path), "sys/devices/"+path)
}

// nic makes an RDMA device; in says whether the pod was given it.
func (m *machine) nic(number, name, path, layer string, in bool) {
	m.device(path)
	m.file("sys/class/infiniband_verbs/uverbs"+number+"/ibdev", name+"\n")
	m.link("sys/class/infiniband/"+name+"/device", "sys/devices/"+path)
	port := "sys/class/infiniband/" + name + "/ports/1/"
	m.file(port+"link_layer", layer+"\n")
	m.file(port+"state", "4: ACTIVE\n")
	if layer == "Ethernet" {
		for i, gid := range []struct{ kind, text string }{
			{"IB/RoCE v1", "fe80:0000:0000:0000:0000:0000:0000:0001"}, {"RoCE v2", "fe80:0000:0000:0000:0000:0000:0000:0001"},
			{"IB/RoCE v1", "0000:0000:0000:0000:0000:ffff:0a00:0001"}, {"RoCE v2", "0000:0000:0000:0000:0000:ffff:0a00:0001"},
		} {
			m.file(port+"gids/"+string(rune('0'+i)), gid.text+"\n")
			m.file(port+"gid_attrs/types/"+string(rune('0'+i)), gid.kind+"\n")
		}
	}
	if in {
		m.file("dev/infiniband/uverbs"+number, "")
	}
}

func (m *machine) run(env []string, args ...string) (status int, output string) {
	m.t.Helper()
	c := exec.Command("sh", append([]string{filepath.Join(m.root, "opt/pod.sh")}, args...)...)
	c.Env = append(m.env, env...)
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(text)
}

// hgx is a machine whose PCIe switches each have a GPU and a NIC, numbered the other way round; its pod has not the last NIC, which
// is of another network.
func hgx(t *testing.T, layer string) *machine {
	m := newMachine(t, "nvidia")
	for i, path := range []string{"pci0000:15/0000:15:01.0/0000:16:00.0", "pci0000:37/0000:37:01.0/0000:38:00.0"} {
		n := string(rune('0' + i))
		m.device(path + "/0000:16:02.0/0000:1" + n + ":00.0")
		m.nic(string(rune('1'-i)), "mlx5_"+string(rune('1'-i)), path+"/0000:16:01.0/0000:2"+n+":00.0", layer, true)
	}
	m.nic("2", "mlx5_bond_0", "pci0000:00/0000:00:01.0/0000:01:00.0", "Ethernet", false)
	m.file("bin/nvidia-smi", "#!/bin/sh\nprintf '00000000:11:00.0\\n00000000:10:00.0\\n'\n")
	for _, kind := range []string{"host", "gpu"} {
		m.file("perftest/"+kind+"/bin/ib_write_bw", "#!/bin/sh\necho \"ran $0 $*\"\nexit 3\n")
	}
	return m
}

func TestPodDevices(t *testing.T) {
	if _, got := hgx(t, "InfiniBand").run(nil, "devices"); got != "mlx5_1 0000:20:00.0 InfiniBand ACTIVE - 0000:10:00.0,1\nmlx5_0 0000:21:00.0 InfiniBand ACTIVE - 0000:11:00.0,0\n" {
		t.Errorf("InfiniBand:\n%s", got)
	}
	if _, got := hgx(t, "Ethernet").run(nil, "devices"); !strings.Contains(got, "mlx5_1 0000:20:00.0 Ethernet ACTIVE 3 ") {
		t.Errorf("RoCE:\n%s", got)
	}
	empty := newMachine(t, "nvidia")
	if status, got := empty.run(nil, "devices"); status != 0 || got != "" {
		t.Errorf("a pod without devices: %d %q", status, got)
	}
	flat := newMachine(t, "amd") // a virtual machine: all devices on one bus
	for i := range 2 {
		n := string(rune('0' + i))
		flat.nic(n, "mlx5_"+n, "pci0000:04/0000:04:0"+n+".0", "InfiniBand", true)
		flat.device("pci0000:04/0000:04:1" + n + ".0")
		flat.link("sys/class/drm/renderD12"+n+"/device", "sys/devices/pci0000:04/0000:04:1"+n+".0")
		flat.file("sys/class/kfd/kfd/topology/nodes/"+[]string{"9", "10"}[i]+"/gpu_id", "4711\n")
		flat.file("sys/class/kfd/kfd/topology/nodes/"+[]string{"9", "10"}[i]+"/properties", "simd_count 304\ndrm_render_minor 12"+n+"\n")
		flat.file("dev/dri/renderD12"+n, "")
	}
	flat.file("sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n") // the processor
	if _, got := flat.run(nil, "devices"); got != "mlx5_0 0000:04:00.0 InfiniBand ACTIVE - 0000:04:10.0,0\nmlx5_1 0000:04:01.0 InfiniBand ACTIVE - 0000:04:11.0,1\n" {
		t.Errorf("virtual machine:\n%s", got)
	}
}

func TestPodPerftest(t *testing.T) {
	ib, roce := hgx(t, "InfiniBand"), hgx(t, "Ethernet")
	roce.file("sys/module/nvidia_peermem/refcnt", "0\n")
	none := hgx(t, "InfiniBand")
	none.file("bin/nvidia-smi", "#!/bin/sh\nexit 9\n")
	for _, c := range []struct {
		name   string
		on     *machine
		env    []string
		args   []string
		status int
		want   string
	}{
		{"server", ib, nil, []string{"host", "0", "18515"}, 3, "$ ib_write_bw -d mlx5_1 -a -F -q 4 --report_gbits -p 18515\nran "},
		{"client", ib, nil, []string{"host", "1", "18516", "10.0.0.1"}, 3, "$ ib_write_bw -d mlx5_0 -a -F -q 4 --report_gbits -p 18516 10.0.0.1\n"},
		{"RoCE", roce, nil, []string{"host", "0", "18515"}, 3, "--report_gbits -p 18515 -x 3 --tclass=104\n"},
		{"GPU memory by the peer module", roce, nil, []string{"gpu", "0", "18515"}, 3, "--tclass=104 --use_cuda_bus_id=0000:10:00.0\n"},
		{"GPU memory by DMA-BUF", ib, nil, []string{"gpu", "1", "18515", "10.0.0.1"}, 3, " --use_cuda_bus_id=0000:11:00.0 --use_cuda_dmabuf 10.0.0.1\n"},
		{"DMA-BUF against the peer module", roce, []string{"DMABUF=yes"}, []string{"gpu", "0", "18515"}, 3, " --use_cuda_dmabuf\n"},
		{"no DMA-BUF", ib, []string{"DMABUF=no"}, []string{"gpu", "0", "18515"}, 3, " --use_cuda_bus_id=0000:10:00.0\n"},
		{"no such NIC", ib, nil, []string{"host", "2", "18515"}, 2, "pod.sh: RDMA device number 2: this pod has 2\n"},
		{"no GPU", none, nil, []string{"gpu", "0", "18515"}, 2, "pod.sh: this pod has no GPU\n"},
		{"host memory without a GPU", none, nil, []string{"host", "0", "18515"}, 3, "$ ib_write_bw -d mlx5_1"},
		{"unknown memory", ib, nil, []string{"disk", "0", "18515"}, 2, "pod.sh: memory disk: unknown; known: host, gpu\n"},
		{"too few words", ib, nil, []string{"host", "0"}, 2, "pod.sh: usage: "},
	} {
		if status, got := c.on.run(c.env, append([]string{"perftest"}, c.args...)...); status != c.status || !strings.Contains(got, c.want) {
			t.Errorf("%s: %d, want %d and %q\n%s", c.name, status, c.status, c.want, got)
		}
	}
	bare := hgx(t, "Ethernet")
	if err := os.RemoveAll(filepath.Join(bare.root, "sys/class/infiniband/mlx5_1/ports/1/gids/3")); err != nil {
		t.Fatal(err)
	}
	if status, got := bare.run(nil, "perftest", "host", "0", "18515"); status != 2 || !strings.Contains(got, "it has no GID of RoCE v2 with an address") {
		t.Errorf("no GID: %d %s", status, got)
	}
}

// A rank has the RDMA devices of its pod, exactly and without a blank, and the topology file of its machine.
func TestPodRank(t *testing.T) {
	m := hgx(t, "InfiniBand")
	if status, got := m.run(nil, "rank", "sh", "-c", `echo "$NCCL_IB_HCA $NCCL_NET $NCCL_SOCKET_IFNAME ${NCCL_TOPO_FILE:-none}"`); status != 0 || got != "=mlx5_1,mlx5_0 IB =eth0 none\n" {
		t.Errorf("%d %s", status, got)
	}
	m.file("opt/topology", "w1 a.xml\nw2 b.xml\n")
	m.file("topology/b.xml", "<system/>")
	m.file("run/pod.env", "GPU_VENDOR=nvidia\nNODE_NAME=w2\n")
	if _, got := m.run(nil, "rank", "sh", "-c", `echo "$NCCL_TOPO_FILE"`); got != filepath.Join(m.root, "topology/b.xml")+"\n" {
		t.Errorf("topology %q", got)
	}
	m.file("run/pod.env", "GPU_VENDOR=nvidia\nNODE_NAME=w1\n")
	if status, got := m.run(nil, "rank", "true"); status != 2 || !strings.Contains(got, "a.xml: cannot be read") {
		t.Errorf("a file that is missing: %d %s", status, got)
	}
	if status, got := newMachine(t, "nvidia").run(nil, "rank", "true"); status != 2 || got != "pod.sh: this pod has no RDMA device\n" {
		t.Errorf("no device: %d %s", status, got)
	}
	lost := hgx(t, "InfiniBand")
	if err := os.Remove(filepath.Join(lost.root, "opt/nccl.env")); err != nil {
		t.Fatal(err)
	}
	if status, got := lost.run(nil, "rank", "true"); status != 2 || !strings.Contains(got, "nccl.env: cannot be read") {
		t.Errorf("no environment: %d %s", status, got)
	}
	if status, got := m.run(nil, "sshd"); status != 2 || !strings.Contains(got, "no key is mounted") {
		t.Errorf("no key: %d %s", status, got)
	}
}

func TestPodListening(t *testing.T) {
	m := newMachine(t, "nvidia")
	m.file("proc/net/tcp", "  sl  local_address rem_address   st\n   0: 00000000:4853 00000000:0000 0A 0\n   1: 0100007F:4854 0100007F:0016 01 0\n")
	if status, got := m.run(nil, "listening", "18515"); status != 0 {
		t.Errorf("%d %s", status, got)
	}
	m.file("bin/sleep", "#!/bin/sh\n")
	if status, got := m.run(nil, "listening", "18516"); status != 2 || !strings.Contains(got, "port 18516: nothing listens on it") {
		t.Errorf("a connection is no server: %d %s", status, got)
	}
}

// What mpirun prints is printed as it comes, its exit status is kept, and what outlives it holds nobody up.
func TestPodMPIRun(t *testing.T) {
	m := newMachine(t, "nvidia")
	m.file("keys/id_rsa.pub", "ssh-ed25519 AAAA a comment\n")
	m.file("bin/mpirun", "#!/bin/sh\necho \"ran $*\"\nsleep 30 &\nexit 7\n")
	begun := time.Now()
	status, got := m.run([]string{"MPIRUN=" + filepath.Join(m.root, "bin/mpirun")}, "mpirun", "4", "pod-0.svc:2,pod-1.svc:2", "/opt/tests/all_reduce_perf", "-g", "1")
	const argv = "--allow-run-as-root --bind-to none -np 4 "
	if status != 7 || !strings.HasPrefix(got, "$ mpirun "+argv) || !strings.Contains(got, "\nran "+argv) || !strings.HasSuffix(got, " -H pod-0.svc:2,pod-1.svc:2 "+filepath.Join(m.root, "opt")+"/pod.sh rank /opt/tests/all_reduce_perf -g 1\n") {
		t.Errorf("%d %s", status, got)
	}
	if took := time.Since(begun); took > 15*time.Second {
		t.Errorf("it took %v: a process that mpirun left held it up", took)
	}
	if known, err := os.ReadFile(filepath.Join(m.root, "run/known_hosts")); err != nil || string(known) != "* ssh-ed25519 AAAA\n" {
		t.Errorf("%v %q", err, known)
	}
	if _, got := m.run([]string{"MPIRUN=" + filepath.Join(m.root, "bin/mpirun")}, "mpirun", "4", "-", "/opt/tests/all_reduce_perf"); strings.Contains(got, " -H ") {
		t.Errorf("the MPI operator names the hosts: %s", got)
	}
	if status, got := m.run(nil, "mpirun", "4", "-"); status != 2 || !strings.Contains(got, "RANKS HOSTS TEST...") {
		t.Errorf("no test: %d %s", status, got)
	}
}

// A server that waits ends when it is told to, and at once.
func TestPodStop(t *testing.T) {
	m := hgx(t, "InfiniBand")
	m.file("perftest/host/bin/ib_write_bw", "#!/bin/sh\nexec sleep 60\n")
	done := make(chan int, 1)
	go func() {
		status, _ := m.run(nil, "perftest", "host", "0", "18515")
		done <- status
	}()
	for range 100 {
		if _, err := os.Stat(filepath.Join(m.root, "run/perftest-18515")); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if status, got := m.run(nil, "stop", "18515"); status != 0 {
		t.Errorf("%d %s", status, got)
	}
	select {
	case status := <-done:
		if status == 0 {
			t.Error("the server ended as if it had measured")
		}
	case <-time.After(10 * time.Second):
		t.Error("the server still waits")
	}
	if status, got := m.run(nil, "stop", "18515"); status != 0 || got != "" {
		t.Errorf("without a server: %d %s", status, got)
	}
}
