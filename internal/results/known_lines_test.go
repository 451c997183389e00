package results

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

// A line with a known message has the level of the message; what is unknown has that of its form, and no message.
func TestLevelOfAMessage(t *testing.T) {
	for _, tt := range []struct {
		level   messages.Level
		feature messages.Feature
		warned  bool
		want    fabric.LineLevel
	}{
		{messages.Everyday, messages.Network, true, ""},
		{messages.Choice, messages.Network, true, ""},
		{messages.Fallback, messages.Network, true, fabric.LineWarning},
		{messages.Fallback, messages.Network, false, ""},
		{messages.Fallback, messages.Plugin, true, ""},
		{messages.Fallback, messages.Tuner, true, ""},
		{messages.Warning, messages.Plugin, false, fabric.LineWarning},
		{messages.Error, messages.Plugin, false, fabric.LineError},
		{messages.Fatal, messages.Other, false, fabric.LineError},
	} {
		if got := levelOf(&messages.Message{Level: tt.level, Feature: tt.feature}, tt.warned); got != tt.want {
			t.Errorf("%s, %s, as a warning %v: %q, want %q", tt.level, tt.feature, tt.warned, got, tt.want)
		}
	}
}

func TestUnknownMessages(t *testing.T) {
	log := readLog(t, newBudget(), `n0:1:2 [0] foo.cc:9 NCCL WARN the quux of peer 3 is gone
n0:1:2 [0] foo.cc:9 NCCL WARN the quux of peer 3 is gone
n1:1:2 [0] NCCL ABORT the quux is lost
`)
	want := []fabric.LogLine{{Line: 1, Level: fabric.LineWarning, Host: "n0", Count: 2}, {Line: 3, Level: fabric.LineError, Host: "n1", Count: 1}}
	if len(log.Lines) != len(want) {
		t.Fatalf("%+v", log.Lines)
	}
	for i, l := range log.Lines {
		l.Text = ""
		if l != want[i] {
			t.Errorf("%+v, want %+v", l, want[i])
		}
	}
}

// A known message is kept once for each host, with its count, and with the rank of the process that printed it: named by
// the launcher, or by a line of the same process before or after.
func TestHostRankAndCount(t *testing.T) {
	const fault = "mlx5_core 0000:3b:00.0: mlx5_cmd_check: CREATE_MKEY(0x200) op_mod(0x0) failed, status bad resource state(0x9), syndrome (0x1)"
	var b strings.Builder
	for i := range 6 {
		fmt.Fprintf(&b, "n%d:40:4%d [1] NCCL INFO NCCL_IB_HCA set by environment to mlx5_%d.\n", i%2, i, i%2)
		fmt.Fprintf(&b, "n%d:40:4%d [1] x.cc:1 NCCL WARN %s\n", i%2, i, fault)
	}
	b.WriteString("n1:40:44 [1] NCCL INFO comm 0x1 rank 9 nranks 16 cudaDev 1 nvmlDev 1 busId 1b000 commId 0x9a - Init COMPLETE\n")
	b.WriteString("[1,5]<stderr>:" + fault + "\n")
	found, err := Read("x", strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	lines := logOf(found[0]).Lines
	if len(lines) != 3 {
		t.Fatalf("%+v", lines)
	}
	for i, want := range []struct {
		host        string
		rank, count int
	}{{"n0", -1, 3}, {"n1", 9, 3}, {"", 5, 1}} {
		l := lines[i]
		rank := -1
		if l.Rank != nil {
			rank = *l.Rank
		}
		if l.Message == "" || l.Level == "" || l.Host != want.host || rank != want.rank || l.Count != want.count {
			t.Errorf("%+v of rank %d, want %+v", l, rank, want)
		}
	}
}

// What one message says on very many hosts pushes nothing else out.
func TestMessageOfManyHosts(t *testing.T) {
	const fault = "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "n%d:1:2 [0] x.cc:1 NCCL WARN %s\n", i, fault)
	}
	b.WriteString("n0:1:2 [0] x.cc:1 NCCL WARN the quux is gone\n")
	log := readLog(t, newBudget(), b.String())
	if len(log.Lines) != maxMessageHosts+1 || !log.Cut || log.Lines[maxMessageHosts].Message != "" {
		t.Errorf("%d lines are kept, cut %v; want %d, and cut", len(log.Lines), log.Cut, maxMessageHosts+1)
	}
}

func TestWhatEachHostChose(t *testing.T) {
	log := readLog(t, newBudget(), `NCCL version 2.27.3+cuda12.9
b:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0
b:1:1 [0] NCCL INFO NCCL_IB_GID_INDEX set by environment to 3.
b:1:1 [0] NCCL INFO NET/Plugin: Could not find: libnccl-net.so
b:1:1 [0] NCCL INFO NET/Plugin: Loaded net plugin Libfabric (v10)
b:1:1 [0] NCCL INFO Using network Libfabric
b:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Libfabric/0/GDRDMA
b:1:1 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Libfabric/0
b:1:1 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[1] via P2P/CUMEM
a:1:1 [0] NCCL INFO NET/Plugin: No plugin found (libnccl-net.so)
a:1:1 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.1<0>
a:1:1 [0] NCCL INFO Assigned NET plugin IB to comm
a:1:1 [0] NCCL INFO Using network IB
a:1:1 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [send] via NET/IB/0(9)/Shared
c:1:1 [0] NCCL INFO Channel 00/0 : 1[0] -> 2[0] via P2P/CUMEM
`)
	want := []fabric.LogHost{
		{Host: "a", Net: "IB", Plugin: "internal", HCAs: []string{"mlx5_0:1/RoCE", "mlx5_1:1/RoCE"}, Bounced: 1},
		{Host: "b", Library: "2.28.9+cuda13.0", Net: "Libfabric", Plugin: "Libfabric", Env: map[string]string{"NCCL_IB_GID_INDEX": "3"}, Direct: 1},
	}
	if got, want := fmt.Sprintf("%+v", log.ByHost), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// Lines that a person copied name their messages, with or without the prefix that they had.
func TestMessagesOfObservations(t *testing.T) {
	found, err := Read("x", strings.NewReader(`cluster: {nodes: 2}
observed:
- log: |
    NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.
    n0:1:2 [0] foo.cc:9 NCCL WARN the quux is gone
    an ordinary line
- fact: "the kernel says NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."
- fact: the quux failed
`))
	if err != nil {
		t.Fatal(err)
	}
	o := observationsOf(found[0]).Observed
	if m := o[0].Messages; len(m) != 2 || m[0].Message == "" || m[0].Level != fabric.LineError || m[0].Line != 3 || m[1].Message != "" || m[1].Level != fabric.LineWarning || m[1].Host != "n0" || o[0].LogLevel != fabric.LineError {
		t.Errorf("%+v", o[0])
	}
	if m := o[1].Messages; len(m) != 1 || m[0].Message != o[0].Messages[0].Message || o[1].LogLevel != "" {
		t.Errorf("%+v", o[1])
	}
	if o[2].Messages != nil {
		t.Errorf("%+v", o[2])
	}
}

// A real run of two healthy GPUs prints nothing that speaks of a fault.
func TestHealthyRun(t *testing.T) {
	for _, r := range readFile(t, "../../test/accuracy/testdata/h200x2/nccl-debug-info.txt") {
		log := logOf(r)
		if log == nil {
			continue
		}
		for _, l := range log.Lines {
			if l.Level != "" {
				t.Errorf("%+v", l)
			}
		}
		if len(log.Lines) < 5 || len(log.ByHost) != 1 {
			t.Errorf("%d lines, hosts %+v", len(log.Lines), log.ByHost)
		}
		return
	}
	t.Error("it has no log")
}
