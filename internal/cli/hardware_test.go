package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What no machine has is refused, and nothing is predicted or judged.
func TestHardwareThatIsRefused(t *testing.T) {
	folder := t.TempDir()
	like := filepath.Join(folder, "table.json")
	table := `{"id": "a", "collective": "all_reduce", "ranks": 16, "hw": {"machine": "hgx-h100", "nodes": 2}, "rows": [{"size": 1073741824, "time_us": 1, "algbw": 1, "busbw": 1}]}`
	if err := os.WriteFile(like, []byte(table), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := example(t, "hgx-h100-ib")
	for _, c := range []struct{ name, flags, want string }{
		{"a machine", "--machine hgx-h10", `flag --machine: machine "hgx-h10" is not in the catalog; did you mean "hgx-h100"`},
		{"a GPU", "--gpu h10", `flag --gpu: GPU "h10" is not in the catalog; did you mean "h20", "a10" or "h100"?`},
		{"a network", "--machine hgx-h100 --net rocee", `flag --net: network "rocee": unknown; did you mean "roce"? known: efa,`},
		{"a GPU of another machine", "--machine hgx-h100 --gpu mi300x", `flag --gpu: "mi300x": machine "hgx-h100" has GPU h100-sxm`},
		{"a GPU of another cluster", "-f " + cluster + " --gpu mi300x", `flag --gpu: "mi300x": machine "hgx-h100" has GPU h100-sxm`},
		{"too many GPUs", "--machine hgx-h100 --gpus 9", `flag --gpus: 9: machine "hgx-h100" has 8 GPUs`},
		{"too many NICs", "--machine hgx-h100 --nics 99", `flag --nics: 99: machine "hgx-h100" has 8 NICs`},
		{"too many NICs for a cluster", "-f " + cluster + " --nics 99", `flag --nics: 99: machine "hgx-h100" has 8 NICs`},
		{"no nodes", "--machine hgx-h100 --nodes 0", `flag --nodes: 0: must be above 0`},
		{"fewer than none", "--machine hgx-h100 --nics -1", `flag --nics: -1: must be above 0`},
	} {
		for _, command := range []string{"predict --sizes 1G", "explain -"} {
			t.Run(c.name+" "+command, func(t *testing.T) {
				r := call(measuredTable, append(strings.Fields(command), strings.Fields(c.flags)...)...)
				if r.status != 64 || r.stdout != "" || !strings.HasPrefix(r.stderr, "railwright: "+c.want) {
					t.Error(r)
				}
			})
		}
	}
	t.Run("a GPU of another table", func(t *testing.T) {
		r := call("", "predict", "--like", like, "--gpu", "mi300x")
		if r.status != 64 || !strings.Contains(r.stderr, `machine "hgx-h100" has GPU h100-sxm`) {
			t.Error(r)
		}
	})
	for _, c := range []struct{ name, flags, want string }{
		{"a network of other machines", "--nodes 2 --net efa", `hardware: net "efa": hgx-h100 has 8 NICs of 400 Gb/s for ib, roce and sockets; for others state both`},
		{"a faster NIC than it has", "--nodes 2 --rate 800", `hardware: net "ib": hgx-h100 has 8 NICs of 400 Gb/s`},
		{"a machine without GPUs", "--nodes 2 --machine vsphere8-cx7-vf", `hardware: gpu: unspecified, and the catalog knows no GPUs of machine "vsphere8-cx7-vf"`},
		{"a CPU", "--cpu foo", `flag --cpu: CPU "foo": unknown; known: intel, amd, arm`},
		{"processes", "--procs 999999", "flag --procs: 999999: does not divide the 8 GPUs of a machine"},
		{"GPUs of a thread", "--per-thread 16", "flag --per-thread: 16: does not divide the 8 GPUs of a machine"},
		{"processes that do not divide", "--procs 3", "flag --procs: 3: does not divide the 8 GPUs of a machine"},
		{"a type", "--dtype foo", `flag --dtype: type "foo": unknown; known: int8, uint8,`},
		{"a factor", "--sizes 8:1G:abc", `flag --sizes: invalid factor "abc": not a number of 2 or more`},
		{"a range of GPUs", "--worker 0-x/0", `flag --worker: "0-x/0": invalid number or range "0-x"`},
		{"a number of NICs", "--worker 0-1/any4x", `flag --worker: "0-1/any4x": "any4x" is not anyN`},
		{"no GPUs", "--worker /0", `flag --worker: "/0": invalid number or range ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := call("", append([]string{"predict", "--machine", "hgx-h100"}, strings.Fields(c.flags)...)...)
			if r.status != 64 || r.stdout != "" || !strings.HasPrefix(r.stderr, "railwright: "+c.want) || strings.Contains(r.stderr, "strconv") {
				t.Error(r)
			}
		})
	}
	t.Run("a worker's GPU", func(t *testing.T) {
		r := call("", "predict", "--machine", "hgx-h100", "--worker", "a:0-99/0")
		if r.status != 64 || r.stdout != "" || !strings.Contains(r.stderr, "GPU 8 is not between 0 and 7") {
			t.Error(r)
		}
	})
	for _, flags := range []string{
		"--machine hgx-h100 --gpu h100 --nics 8 --gpus 4", "--machine hgx-h100 --net TCP", "--machine hgx-h100 --nodes 2 --net tcp", "--gpu h100 --nodes 2 --net tcp", "--machine hgx-h100 --nodes 2 --rate 200", "--machine hgx-h100 --procs 2 --dtype BFLOAT16", "--machine hgx-h100 --gpu H100-SXM --net none --nodes 1",
		"--machine hgx-h100 --gpus 2 --worker 4-7/4-7 --worker 0-3/0-3",
	} {
		t.Run(flags, func(t *testing.T) {
			if r := call("", append([]string{"predict", "--sizes", "1G"}, strings.Fields(flags)...)...); r.status != 0 {
				t.Error(r)
			}
		})
	}
}
