package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func remarksOf(t *testing.T, flags string) []string {
	t.Helper()
	r := call("", append(strings.Fields("predict --sizes 1G:16G -o json"), strings.Fields(flags)...)...)
	if r.status != 0 {
		t.Fatalf("%s: %v", flags, r)
	}
	var p fabric.Prediction
	if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
		t.Fatal(err)
	}
	return p.Remarks
}

// A setting or flag that changes nothing in a prediction is said, and one that does is not.
func TestPredictSaysWhatHasNoEffect(t *testing.T) {
	for _, c := range []struct{ name, flags, want string }{
		{"an adapter's name", "--nodes 2 --env NCCL_IB_HCA=mlx5_0", "NCCL_IB_HCA=mlx5_0: data goes through at most 1 of the 8 NICs of a machine, if no other name begins as these do: = in front compares whole names"},
		{"an adapter's whole name", "--nodes 2 --env NCCL_IB_HCA==mlx5_0:1", "NCCL_IB_HCA==mlx5_0:1: data goes through at most 1 of the 8 NICs of a machine"},
		{"adapters by their beginning", "--nodes 2 --env NCCL_IB_HCA=mlx5", "no effect on this prediction: NCCL_IB_HCA=mlx5; NCCL_IB_HCA names adapters of a host, which are unknown here: use --nics for fewer NICs"},
		{"adapters left out", "--nodes 2 --env NCCL_IB_HCA=^mlx5_0", "no effect on this prediction: NCCL_IB_HCA=^mlx5_0; NCCL_IB_HCA names adapters of a host, which are unknown here: use --nics for fewer NICs"},
		{"a misspelled setting", "--nodes 2 --env NCCL_MAX_NCHANELS=1 --env NCCL_ALGO=Ring", "NCCL knows no variable NCCL_MAX_NCHANELS: it has no effect; the nearest is NCCL_MAX_NCHANNELS"},
		{"settings that are not modelled", "--nodes 2 --env NCCL_DEBUG=INFO --env NCCL_IB_TC=106 --env NCCL_IB_TIMEOUT=22", "not modelled, the prediction is the one without: NCCL_IB_TC=106; takes no part in the time of a collective: NCCL_DEBUG=INFO, NCCL_IB_TIMEOUT=22"},
		{"a setting without effect here", "--nodes 2 --env NCCL_MAX_NCHANNELS=1024", "no effect on this prediction: NCCL_MAX_NCHANNELS=1024"},
		{"sockets", "--nodes 2 --env NCCL_IB_DISABLE=1", "NCCL_IB_DISABLE=1: TCP sockets over the NICs of ib"},
		{"sockets twice", "--nodes 2 --env NCCL_IB_DISABLE=1 --env NCCL_NET=Socket", "NCCL_NET=Socket: TCP sockets over the NICs of ib; no effect on this prediction: NCCL_IB_DISABLE=1"},
		{"no sockets", "--nodes 2 --env NCCL_IB_DISABLE=0", "no effect on this prediction: NCCL_IB_DISABLE=0"},
		{"no network", "--nodes 1 --env NCCL_IB_DISABLE=1", "no effect on this prediction: NCCL_IB_DISABLE=1"},
		{"one NIC less, and one head less", "--nodes 2 --nics 7", ""},
		{"all NICs", "--nodes 2 --nics 8 --net ib --cpu intel", ""},
		{"half the NICs", "--nodes 2 --nics 4", ""},
		{"a ring", "--nodes 2 --nics 7 --env NCCL_ALGO=Ring", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := strings.Join(remarksOf(t, "--machine hgx-h100 "+c.flags), "; "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Of a DGX Spark the names of the adapters are known, and how many functions of which port they are.
func TestPredictOfSparks(t *testing.T) {
	for flags, want := range map[string]string{
		"--nodes 2 --env NCCL_IB_HCA=rocep1s0f1":                          "NCCL_IB_HCA=rocep1s0f1: data goes through 1 of the 2 cabled functions of a machine",
		"--nodes 2 --env NCCL_IB_HCA=rocep1s0f1,roceP2p1s0f1":             "no effect on this prediction: NCCL_IB_HCA=rocep1s0f1,roceP2p1s0f1",
		"--nodes 4 --wiring ring --env NCCL_IB_HCA=rocep1s0f0,rocep1s0f1": "NCCL_IB_HCA=rocep1s0f0,rocep1s0f1: data goes through 2 of the 4 cabled functions of a machine",
		"--nodes 4 --wiring ring --env NCCL_SWITCHLESS_RING_ONLY=1":       "",
		"--nodes 3 --wiring ring":                                         "",
		"--nodes 2 --mtu 9000":                                            "",
		"--nodes 2 --mtu 1500":                                            "",
		"--nodes 2 --nics 1 --env NCCL_IB_HCA=roceP2p1s0f1":               "no effect on this prediction: NCCL_IB_HCA=roceP2p1s0f1",
		"--nodes 2 --nics 4 --env NCCL_IB_HCA=rocep1s0f1":                 "NCCL_IB_HCA=rocep1s0f1: data goes through 1 of the 4 cabled functions of a machine; no effect on this prediction: --nics 4",
	} {
		t.Run(flags, func(t *testing.T) {
			if got := strings.Join(remarksOf(t, "--machine dgx-spark "+flags), "; "); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	for flags, want := range map[string]string{
		"--machine dgx-spark --nodes 3 --env NCCL_IB_HCA=rocep1s0f1,roceP2p1s0f1": "names functions of one port only: in a ring both ports lead to neighbours",
		"--machine dgx-spark --nodes 4 --wiring ring --collective alltoall":       "alltoall needs a path between all machines",
		"--machine dgx-spark --nodes 4 --wiring star":                             `flag --wiring: wiring "star": unknown`,
		"--machine dgx-spark --nodes 2 --mtu 351":                                 "flag --mtu: 351: RDMA needs at least 352 bytes",
		"--machine hgx-h100 --nodes 4 --wiring switch":                            "only of machines whose ports are two PCI functions each",
	} {
		t.Run(flags, func(t *testing.T) {
			if r := call("", append([]string{"predict"}, strings.Fields(flags)...)...); r.status != 64 || !strings.Contains(r.stderr, want) {
				t.Errorf("status %d, %s\nwant %s", r.status, r.stderr, want)
			}
		})
	}
}

// A cluster file says how its machines are cabled, and which functions have a cable.
func TestPredictOfSparkFiles(t *testing.T) {
	for example, want := range map[string]fabric.Hardware{
		"spark-pair":   {Nodes: 2, NICsPerNode: 2, Wiring: fabric.WiredPair},
		"spark-switch": {Nodes: 4, NICsPerNode: 2, Wiring: fabric.WiredSwitch},
		"spark-mesh":   {Nodes: 3, NICsPerNode: 4, Wiring: fabric.WiredRing},
	} {
		t.Run(example, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "c.yaml")
			text := call("", "init", "--example", example).stdout
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			predicted := func(flags ...string) (p fabric.Prediction) {
				r := call("", append([]string{"predict", "-f", file, "--sizes", "1G", "-o", "json"}, flags...)...)
				if err := json.Unmarshal([]byte(r.stdout), &p); err != nil {
					t.Fatal(err, r)
				}
				return p
			}
			p := predicted()
			if h := p.Hardware; h.Nodes != want.Nodes || h.NICsPerNode != want.NICsPerNode || h.Wiring != want.Wiring || h.MTU != 9000 {
				t.Errorf("%+v, want %+v", h, want)
			}
			if row := p.Rows[0]; row.BusBW < 22 || row.BusBW > 24 || row.Bound.BusBW < 24.5 {
				t.Errorf("%+v", row)
			}
			if small := predicted("--mtu", "1500"); small.Rows[0].BusBW > 0.96*p.Rows[0].BusBW {
				t.Errorf("MTU 1500: %.2f GB/s, 9000: %.2f", small.Rows[0].BusBW, p.Rows[0].BusBW)
			}
		})
	}
}

// The NICs of a topology file are those of the file: a flag that says otherwise is not silently ignored.
func TestPredictSaysWhatATopologyFileOverrides(t *testing.T) {
	file := filepath.Join(t.TempDir(), "topo.xml")
	if r := call("", "topo", "nccl", "-q", "--machine", "hgx-h100", "--out", file); r.status != 0 {
		t.Fatal(r)
	}
	for flags, want := range map[string]string{"--nics 4": "no effect on this prediction: --nics 4", "--nics 8": "", "--env NCCL_P2P_DISABLE=1": "", "--env NCCL_NET=Socket": "NCCL_NET=Socket: TCP sockets over the NICs of ib; no effect on this prediction: --net ib"} {
		t.Run(flags, func(t *testing.T) {
			if got := strings.Join(remarksOf(t, "--topo "+file+" --nodes 2 --net ib "+flags), "; "); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// What keeps the largest sizes of many nodes far below the bound is said: RCCL's choice of a tree, then latency.
func TestPredictSaysWhatLimits(t *testing.T) {
	for nodes, want := range map[string]string{
		"16":  "",
		"128": "2 GiB to 8 GiB: RCCL chooses Tree with Simple, 141 GB/s by the rates of its own tuning table; NCCL_ALGO=Ring NCCL_PROTO=Simple is expected to reach 291 GB/s at 8 GiB",
		"256": "4 GiB to 16 GiB: RCCL chooses Tree with Simple, 141 GB/s by the rates of its own tuning table; NCCL_ALGO=Ring NCCL_PROTO=Simple is expected to reach 291 GB/s at 16 GiB",
	} {
		t.Run(nodes+" nodes", func(t *testing.T) {
			got := strings.Join(remarksOf(t, "--machine xe9680-mi300x-thor2 --nodes "+nodes), "; ")
			if !strings.HasPrefix(got, want) || (want == "") != (got == "") {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
	if got := remarksOf(t, "--machine xe9680-mi300x-thor2 --nodes 128"); !strings.Contains(got[len(got)-1], "16 GiB: 10 % of the time is latency of 1024 ranks on 128 nodes") {
		t.Errorf("128 nodes: %q", got)
	}
}
