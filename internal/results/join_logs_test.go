package results

import (
	"fmt"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// rankLog is the log of one rank, two per host; that of rank 5 has an error, and host c has another plugin.
func rankLog(rank int) fabric.Result {
	host := string(rune('a' + rank/2))
	at := fabric.LogHost{Host: host, Plugin: "internal", Direct: 4, Env: map[string]string{"NCCL_ALGO": "Ring"}}
	l := &fabric.NCCLLog{Net: "IB", Ranks: 10, Nodes: 5, Hosts: []string{host}, GPUs: []fabric.LogGPU{{Rank: rank, Host: host}},
		Connections: []fabric.LogConnection{{Via: "NET/IB", GDR: true, Count: 4}}, Env: at.Env,
		Lines: []fabric.LogLine{{Line: 3, Text: "a warning", Level: fabric.LineWarning, Message: "nccl/a", Host: host}}}
	if host == "c" {
		at.Plugin = "libnccl-net.so"
	}
	if rank == 5 {
		l.Lines = append(l.Lines, fabric.LogLine{Line: 9, Text: "an error", Level: fabric.LineError, Host: host})
	}
	l.ByHost = []fabric.LogHost{at}
	return fabric.Result{File: fmt.Sprintf("run/%d.log", rank), Kind: fabric.NCCLDebugLog, Content: l}
}

// The logs of the ranks of a run become one, in which nothing of a host is lost.
func TestJoinLogs(t *testing.T) {
	var all []fabric.Result
	for rank := range 10 {
		all = append(all, rankLog(rank))
	}
	table := fabric.Result{File: "table.txt", Kind: fabric.NCCLTests, Content: &fabric.Table{}}
	beside := fabric.Result{File: "table.txt", Kind: fabric.NCCLDebugLog, Content: &fabric.NCCLLog{Net: "IB"}}
	got := JoinLogs(append(all, table, beside))
	if len(got) != 3 {
		t.Fatalf("%d results, want the table, its log and one for all ranks", len(got))
	}
	l := got[2].Content.(*fabric.NCCLLog)
	if len(l.Hosts) != 5 || len(l.GPUs) != 10 || len(l.ByHost) != 5 || l.ByHost[0].Direct != 8 || l.ByHost[2].Plugin != "libnccl-net.so" || l.Env["NCCL_ALGO"] != "Ring" {
		t.Errorf("%+v", l)
	}
	if len(l.Connections) != 1 || l.Connections[0].Count != 40 {
		t.Errorf("connections %+v", l.Connections)
	}
	if len(l.Lines) != 6 || l.Lines[0].Count != 1 {
		t.Errorf("lines %+v", l.Lines)
	}
	if few := JoinLogs(all[:mostLogs]); len(few) != mostLogs {
		t.Errorf("%d logs became %d", mostLogs, len(few))
	}
}
