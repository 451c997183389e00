package evidence

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// The words are read, each id stands once, and each topic is a cause.
func TestWords(t *testing.T) {
	switches, topics, err := Words()
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range [][]string{switches, topics} {
		sorted := slices.Sorted(slices.Values(list))
		if len(slices.Compact(slices.Clone(sorted))) != len(list) || len(list) == 0 {
			t.Errorf("%d ids, some of them twice: %v", len(list), sorted)
		}
	}
	for _, topic := range topics {
		if !slices.Contains(fabric.CauseIDs, fabric.CauseID(topic)) {
			t.Errorf("topic %q is no cause", topic)
		}
	}
	const page = 130 // lines
	if n := strings.Count(string(wordsText), "\n"); n > page {
		t.Errorf("words.yaml has %d lines: it is to stay a page", n)
	}
}

// signsOf are the signs of a text, joined.
func signsOf(text string) string {
	var signs []string
	for _, e := range Read(text, Seen{}) {
		signs = append(signs, e.Sign())
	}
	return strings.Join(signs, ", ")
}

func TestRead(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"it runs through once NCCL_P2P_DISABLE=1 is set", "contrast p2p-off better"},
		{"NCCL_P2P_DISABLE=1 does not help", "contrast p2p-off same"},
		{"no crash with NCCL_SHM_DISABLE=1", "contrast shm-off better"},
		{"the job is stuck until iptables is flushed", "contrast firewall-off better, outcome hang"},
		{"on bare metal it reaches line rate, inside the VM it is slow", "contrast bare-metal better, contrast in-guest worse, outcome slow"},
		{"it freezes after the second iteration", "outcome hang"},
		{"it never hangs", ""},
		{"the partition key of that port", "topic pkey-mismatch"},
		{"all NVLinks are active", ""},
		{"two hosts have a different MTU", "topic mtu-mismatch"},
		{"good morning", ""},
		{"", ""},
	} {
		if got := signsOf(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
	}
}

// What people say of machines that differ is marked, and the longest text costs no more than its bound.
func TestReadBounds(t *testing.T) {
	differ := Read("the hosts have different GIDs", Seen{})
	if len(differ) != 1 || !differ[0].(Statement).Differs {
		t.Errorf("%+v", differ)
	}
	if n := len(Read(strings.Repeat("the firewall; ", 1<<16), Seen{})); n == 0 || n > maxText {
		t.Errorf("%d pieces of evidence", n)
	}
}

func TestChanged(t *testing.T) {
	for _, tt := range []struct {
		change, note string
		effect       Effect
		want         string
	}{
		{"NCCL_IB_ECE_ENABLE=0", "", Better, "contrast ece-off better"},
		{"NCCL_IB_ECE_ENABLE=0", "the same speed", "", "contrast ece-off same"},
		{"NCCL_IB_ECE_ENABLE=0", "", "", ""},
		{"painted the rack", "works", "", ""},
	} {
		var signs []string
		for _, e := range Changed(tt.change, tt.note, tt.effect, Seen{}) {
			signs = append(signs, e.Sign())
		}
		if got := strings.Join(signs, ", "); got != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.change, tt.note, got, tt.want)
		}
	}
}

func TestSettingsIn(t *testing.T) {
	got := SettingsIn(`mpirun -x NCCL_ALGO=Ring -x UCX_NET_DEVICES="mlx5_0:1" and NCCL_DEBUG set by environment to INFO.`, Seen{})
	want := []string{"NCCL_ALGO=Ring", "UCX_NET_DEVICES=mlx5_0:1", "NCCL_DEBUG=INFO"}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, s := range got {
		if s.Text != want[i] {
			t.Errorf("%q, want %q", s.Text, want[i])
		}
	}
}

// Hosts of one run that differ are named with what most of them have; names that are a host's own do not count.
func TestAsymmetries(t *testing.T) {
	host := func(name, plugin string, env map[string]string) fabric.LogHost {
		return fabric.LogHost{Host: name, Library: "2.28.9", Net: "IB", Plugin: plugin, Env: env}
	}
	same := []fabric.LogHost{host("a", "internal", nil), host("b", "internal", map[string]string{"NCCL_DEBUG": "INFO", "NCCL_HOSTID": "1"})}
	if got := Asymmetries(same, Seen{}); len(got) != 0 {
		t.Errorf("hosts that do not differ: %+v", got)
	}
	differ := append(same, host("c", "libnccl-net.so", map[string]string{"NCCL_PROTO": "LL"}))
	var signs []string
	for _, e := range Asymmetries(differ, Seen{}) {
		a := e.(Asymmetry)
		signs = append(signs, a.Sign())
		if !slices.Equal(a.Without, []string{"c"}) || !slices.Equal(a.With, []string{"a", "b"}) {
			t.Errorf("%+v", a)
		}
	}
	if got := strings.Join(signs, ", "); got != "asymmetry plugin, asymmetry env NCCL_PROTO" {
		t.Error(got)
	}
}
