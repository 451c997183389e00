package lab

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func endpoints(text string) []fabric.Endpoint {
	var out []fabric.Endpoint
	for _, one := range strings.Fields(text) {
		node, nic, _ := strings.Cut(one, ":")
		out = append(out, fabric.Endpoint{Node: node, NIC: nic})
	}
	return out
}

func TestParseFault(t *testing.T) {
	s := spec(t, testPlan(2, 3))
	tests := []struct{ text, nics string }{
		{"mtu=host1:eth3", "host1:eth3"},
		{"mtu=host1", "host1:eth1 host1:eth2 host1:eth3"},
		{"route=host2:eth1,host1:eth3", "host2:eth1 host1:eth3"},
		{"down=host1,host2:eth2", "host1:eth1 host1:eth2 host1:eth3 host2:eth2"},
		{"one-subnet=host1:eth2", "host1:eth2"},
		{"one-subnet=host1:eth2,host1:eth1", "host1:eth2 host1:eth1"},
		{"one-subnet=host2", "host2:eth1 host2:eth2"},
		{"one-layer2=host1", "host1:eth1 host1:eth2 host1:eth3"},
		{"printed-rules=host1,host2:eth2,host2:eth1", "host1:eth1 host1:eth2 host1:eth3 host2:eth2 host2:eth1"}, // in this order
		{"swap-cable=host1", "host1:eth1 host1:eth2"},
		{"swap-cable=host1:eth1,host2:eth1", "host1:eth1 host2:eth1"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			f, err := s.ParseFault(tt.text)
			if err != nil {
				t.Errorf("%s: %v", tt.text, err)
				return
			}
			kind, _, _ := strings.Cut(tt.text, "=")
			if diff := cmp.Diff(Fault{Kind: kind, NICs: endpoints(tt.nics)}, f); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.text, diff)
			}
			again, err := s.ParseFault(f.String())
			if err != nil || !cmp.Equal(f, again) {
				t.Errorf("%s is written %s, which reads %+v, %v", tt.text, f, again, err)
			}
		})
	}
}

func TestParseFaultRefuses(t *testing.T) {
	s := spec(t, testPlan(2, 3))
	const form, kinds = "not of the form KIND=HOST[:NIC][,HOST:NIC]", "known: swap-cable, swap-port, "
	tests := []struct{ text, want string }{
		{"", form},
		{"mtu", form},
		{"mtu=", form},
		{"mtu host1:eth1", form},
		{"=host1", `kind "": unknown; ` + kinds},
		{"MTU=host1", `kind "MTU": unknown; did you mean "mtu"? ` + kinds},
		{"mtuu=host1", `kind "mtuu": unknown; did you mean "mtu"? ` + kinds},
		{"mtu=host3", `host "host3": not in the lab; known: host1, host2`},
		{"mtu=leaf1", `host "leaf1": not in the lab; known: host1, host2`},
		{"mtu=host1,", `host "": not in the lab; known: host1, host2`},
		{"mtu=host1:eth4", `NIC "eth4": not on host "host1"; known: eth1, eth2, eth3`},
		{"mtu=host1:", `NIC "": not on host "host1"; known: eth1, eth2, eth3`},
		{"mtu=host1:eth1:eth2", `NIC "eth1:eth2": not on host "host1"`},
		{"mtu=host1:lo", `NIC "lo": not on host "host1"`},
		{"mtu=host1:eth1,host1:eth1", "the same NIC twice"},
		{"swap-cable=host1:eth1,host1:eth1", "the same NIC twice"},
		{"swap-cable=host1:eth1,host1:eth2,host1:eth3", "swap-cable takes one NIC or two, not 3"},
		{"swap-cable=host1,host2", "swap-cable takes one NIC or two, not 4"},
		{"one-subnet=host1:eth1,host2:eth1", "both NICs must be of one host"},
		{"one-layer2=host1:eth1", "one-layer2 needs two NICs or more of a host: host1:eth1 is the only one of host1"},
		{"printed-rules=host1,host2:eth2", "host2:eth2 is the only one of host2"},
		{"mtu=host1,host1:eth2", "the same NIC twice: host1:eth2"},
		{"route=host1:eth1,host1:eth2,host1:eth1", "the same NIC twice: host1:eth1"},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			f, err := s.ParseFault(tt.text)
			if err == nil || !strings.HasPrefix(err.Error(), `fault "`+tt.text+`": `) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%+v, %v, want %s", f, err, tt.want)
			}
		})
	}
	if f, err := spec(t, shared(testPlan(2, 3))).ParseFault("printed-rules=host1"); err == nil || !strings.Contains(err.Error(), "rules of the scheme p2p31: host1:eth1 has 10.64.0.1/24") {
		t.Errorf("in one subnet: %+v, %v", f, err)
	}
	for _, text := range []string{"one-subnet=host1:eth1", "swap-cable=host1", "swap-cable=host1:eth1"} {
		if f, err := spec(t, testPlan(1, 1)).ParseFault(text); err == nil || !strings.Contains(err.Error(), "has one NIC") {
			t.Errorf("%s on a host with one NIC: %+v, %v", text, f, err)
		}
	}
}

// What a fault takes and what the check must then say are told together.
func TestFaultKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range FaultKinds() {
		if k.Name == "" || k.Doc == "" || k.Cause == "" || k.plant == nil || seen[k.Name] {
			t.Errorf("%+v", k)
		}
		seen[k.Name] = true
	}
}

func TestPartner(t *testing.T) {
	s := spec(t, testPlan(2, 3))
	for _, tt := range []struct{ nic, want string }{
		{"host1:eth1", "host1:eth2"}, {"host1:eth2", "host1:eth3"}, {"host2:eth3", "host2:eth2"},
	} {
		t.Run(tt.nic, func(t *testing.T) {
			got, err := s.partner(endpoints(tt.nic)[0])
			if err != nil || got.String() != tt.want {
				t.Errorf("%s: %s, %v, want %s", tt.nic, got, err, tt.want)
			}
		})
	}
	if got, err := spec(t, testPlan(1, 1)).partner(endpoints("host1:eth1")[0]); err == nil {
		t.Errorf("of the only NIC: %s", got)
	}
}

func TestCover(t *testing.T) {
	tests := []struct {
		a, b string
		want int
	}{
		{"10.64.0.1", "10.64.0.2", 30},
		{"10.64.0.1", "10.64.0.3", 29}, // .3 is the last of the /30
		{"10.64.0.3", "10.64.0.5", 29},
		{"10.64.0.5", "10.64.0.7", 28}, // .7 is the last of the /29
		{"10.64.0.1", "10.64.1.1", 23},
		{"10.64.0.255", "10.64.1.0", 23},
		{"10.127.255.255", "10.128.0.1", 8},
		{"127.255.255.255", "128.0.0.1", 0}, // nothing but the whole of IPv4 holds both
	}
	for _, tt := range tests {
		t.Run(tt.a+" "+tt.b, func(t *testing.T) {
			a, b := netip.MustParseAddr(tt.a), netip.MustParseAddr(tt.b)
			if got := cover(a, b, nil); got != tt.want {
				t.Errorf("cover(%s, %s) = %d, want %d", a, b, got, tt.want)
			}
			if got := cover(b, a, nil); got != tt.want {
				t.Errorf("cover(%s, %s) = %d, want %d", b, a, got, tt.want)
			}
		})
	}
}

func FuzzParseFault(f *testing.F) {
	for _, text := range []string{"mtu=host1", "swap-cable=host1:eth1,host2:eth1", "=,", "one-subnet=host1:eth3:"} {
		f.Add(text)
	}
	s, err := NewSpec(testPlan(2, 3))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := s.ParseFault(text)
		if err != nil {
			return
		}
		seen := map[fabric.Endpoint]bool{}
		for _, nic := range fault.NICs {
			if _, ok := s.port(nic); !ok || seen[nic] {
				t.Errorf("%q: %s is not cabled, or twice", text, nic)
			}
			seen[nic] = true
		}
		if again, err := s.ParseFault(fault.String()); err != nil || !cmp.Equal(fault, again) {
			t.Errorf("%q is written %s, which reads %+v, %v", text, fault, again, err)
		}
	})
}

// The state of a lab that is not there, that was cut in the middle, and whose keeper is gone.
func TestOpenWithoutALab(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "lab")
	t.Setenv("RAILWRIGHT_LAB", folder)
	if Folder() != folder {
		t.Errorf("folder %s, want %s", Folder(), folder)
	}
	if _, err := Open(); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "railwright lab up") {
		t.Errorf("nothing there: %v", err)
	}
	if found, err := Clear(); err != nil || found != "no lab was up" {
		t.Errorf("Clear of nothing: %q, %v", found, err)
	}
	for _, tt := range []struct {
		name, text string
		free       error // of a lab that Up would clear: nil
	}{
		{"cut", `{"keeper": 12`, ErrStale},
		{"empty", "", ErrStale},
		{"no keeper", "{}", nil},
		{"keeper gone", `{"keeper": 1073741824, "keeper_start": "1"}`, nil},
		{"process id used again", `{"keeper": 1, "keeper_start": "0"}`, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if err := os.MkdirAll(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(folder, stateFile), []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(); !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "railwright lab down") {
				t.Errorf("Open: %v", err)
			}
			if err := Free(); !errors.Is(err, tt.free) {
				t.Errorf("Free: %v, want %v", err, tt.free)
			}
			if found, err := Clear(); err != nil || found != "stale lab cleared" {
				t.Errorf("Clear: %q, %v", found, err)
			}
			if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder is still there: %v", err)
			}
		})
	}
}

func TestHostOfALab(t *testing.T) {
	l := &Lab{Keeper: os.Getpid(), Spec: spec(t, testPlan(2, 2)), PIDs: map[string]int{"host1": 1 << 30}}
	if _, err := l.Host("host9"); err == nil || err.Error() != `host "host9": not in the lab; known: host1, host2, leaf1` {
		t.Errorf("error %v", err)
	}
	if _, err := l.Host("host1"); err == nil || err.Error() != `lab: the process that holds host "host1" is gone` {
		t.Errorf("error %v", err)
	}
}

// The last address of a subnet is its broadcast address, which no NIC may have.
func TestCoverLeavesOutBroadcast(t *testing.T) {
	own := []netip.Addr{netip.MustParseAddr("10.64.0.7"), netip.MustParseAddr("10.64.0.15")}
	if got := cover(netip.MustParseAddr("10.64.0.3"), netip.MustParseAddr("10.64.0.5"), own); got != 27 {
		t.Errorf("/%d, want /27: .7 and .15 are other NICs", got)
	}
}

// Faults of one lab are planted in an order of their own: cables first, and what is missing last.
func TestStages(t *testing.T) {
	s := spec(t, testPlan(2, 3))
	faults, err := s.ParseFaults([]string{"down=host1:eth1", "one-subnet=host1:eth1", "swap-cable=host1:eth2,host1:eth3", "mtu=host2"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, stage := range Stages(faults) {
		var kinds []string
		for _, f := range stage {
			kinds = append(kinds, f.Kind)
		}
		got = append(got, strings.Join(kinds, " "))
	}
	if diff := cmp.Diff([]string{"swap-cable", "one-subnet mtu down"}, got); diff != "" {
		t.Error(diff)
	}
	if got := Stages(nil); len(got) != 0 {
		t.Errorf("without faults: %v", got)
	}
}

func TestFaultsThatContradict(t *testing.T) {
	s := spec(t, testPlan(2, 3))
	for _, tt := range []struct{ one, other, want string }{
		{"swap-cable=host1:eth1", "swap-cable=host1:eth2", "both change the cable of host1:eth2"},
		{"one-subnet=host1:eth1", "one-subnet=host1:eth2", "both change the address of host1:eth2"},
		{"address=host1", "one-subnet=host1:eth2", "both change the address of host1:eth2"},
		{"one-layer2=host1", "one-subnet=host1:eth2", "both change the layer 2 of host1:eth2"},
		{"one-layer2=host1", "one-layer2=host1:eth2,host1:eth1", "both change the layer 2 of host1:eth2"},
		{"printed-rules=host1", "printed-rules=host1:eth2,host1:eth1", "both change the rules of host1:eth2"},
		{"printed-rules=host1", "one-layer2=host1", ""},
		{"one-subnet=host1:eth1", "address=host1:eth2", "both change the address of host1:eth2"},
		{"one-subnet=host1:eth1", "swap-cable=host1:eth1", ""},
		{"address=host1", "address=host1:eth1", ""},
		{"mtu=host1", "mtu=host1:eth1", ""},
		{"swap-cable=host1:eth1", "swap-cable=host2:eth1", ""},
	} {
		t.Run(tt.one+" "+tt.other, func(t *testing.T) {
			_, err := s.ParseFaults([]string{tt.one, tt.other})
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

// A fault that is planted after a swap finds the NIC at the port where it now is.
func TestRecabled(t *testing.T) {
	s := spec(t, testPlan(1, 3))
	swap, err := s.ParseFault("swap-cable=host1:eth1")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := s.port(endpoints("host1:eth1")[0])
	after, _ := s.recabled([]Fault{swap}).port(endpoints("host1:eth2")[0])
	if before.Name != after.Name || before.Address != after.Address {
		t.Errorf("host1:eth2 is at %+v, want the port that was %+v", after, before)
	}
	if again, _ := s.port(endpoints("host1:eth1")[0]); again != before {
		t.Error("the specification itself was changed")
	}
}
