package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
)

var errDown = errors.New("connection refused")

// mixed returns a fleet with a machine that runs a program, one that is down, and one whose cleanup fails.
func mixed(program string, left *[]string) *Fleet {
	var mu sync.Mutex
	member := func(name string, err error) host.Outcome[Member] {
		return host.Outcome[Member]{Name: name, Value: Member{Runner: host.Local{}, Program: program, Leave: func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			*left = append(*left, name)
			return err
		}}}
	}
	return New([]host.Outcome[Member]{member("b", nil), {Name: "down", Err: errDown}, member("a", errors.New("still there"))})
}

func TestAsk(t *testing.T) {
	var left []string
	f := mixed("cat", &left)
	answers := Ask[map[string]string](context.Background(), f, "Name", nil, func(name string) ([]byte, error) {
		if name == "a" {
			return nil, errors.New("nothing to send")
		}
		return []byte(`{"apiVersion":"railwright.dev/v1alpha1","kind":"Name","name":"` + name + `"}`), nil
	})
	var names []string
	for _, o := range answers {
		names = append(names, o.Name)
	}
	if !slices.Equal(names, []string{"b", "down", "a"}) {
		t.Errorf("order %v", names)
	}
	if o := answers[0]; o.Err != nil || o.Value["name"] != "b" {
		t.Errorf("%+v", o)
	}
	if o := answers[1]; !errors.Is(o.Err, errDown) || o.Value != nil {
		t.Errorf("%+v", o)
	}
	if o := answers[2]; o.Err == nil || o.Err.Error() != "nothing to send" {
		t.Errorf("%+v", o)
	}
}

// An answer that is not JSON, or none, is an error of that machine.
func TestAskAnswers(t *testing.T) {
	for _, c := range []struct{ name, program, want string }{
		{"not JSON", "echo", `answer to ["node" "x"]: `},
		{"nothing", "true", `answer to ["node" "x"]: `},
		{"failure", "false", "exit status 1"},
		{"no program", "/no/such/program", "/no/such/program"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := New([]host.Outcome[Member]{{Name: "a", Value: Member{Runner: host.Local{}, Program: c.program}}})
			o := Ask[int](context.Background(), f, "Name", []string{"node", "x"}, nil)[0]
			if o.Err == nil || !strings.Contains(o.Err.Error(), c.want) {
				t.Errorf("error %v, want %q", o.Err, c.want)
			}
		})
	}
}

func TestReachedAndClose(t *testing.T) {
	var left []string
	f := mixed("cat", &left)
	if got := slices.Sorted(maps.Keys(f.Reached())); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("reached %v", got)
	}
	err := f.Close()
	slices.Sort(left)
	if err == nil || err.Error() != `host "a": still there` || !slices.Equal(left, []string{"a", "b"}) {
		t.Errorf("%v; left %v", err, left)
	}
}

func TestClusterNeedsSSH(t *testing.T) {
	for _, launcher := range []intent.Launcher{intent.Slurm, intent.Kubernetes} {
		if _, err := Cluster(context.Background(), &intent.Cluster{Launcher: launcher}); err == nil || !strings.HasPrefix(err.Error(), `launcher "`+string(launcher)+`": `) {
			t.Errorf("%s: %v", launcher, err)
		}
	}
}

// A host that rejects the login is a member with an error, not an error of the fleet; this host needs no login.
func TestSSHReachesWhatItCan(t *testing.T) {
	here := host.Local{}.Name()
	f, err := SSH(context.Background(), []string{"127.255.255.254", here}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(f.Reached())); !slices.Equal(got, []string{here}) {
		t.Errorf("reached %v", got)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestProgramForAnotherArchitecture(t *testing.T) {
	if _, err := programFor("m68k"); err == nil || !strings.HasPrefix(err.Error(), "no program for m68k beside this one") {
		t.Error(err)
	}
}

// 64 machines that never end printing cost this one no more than a budget, and an honest one beside them is heard.
func TestAskFloods(t *testing.T) {
	const machines = 64
	var members []host.Outcome[Member]
	for i := range machines {
		members = append(members, host.Outcome[Member]{Name: fmt.Sprintf("flood%d", i), Value: Member{Runner: host.Local{}, Program: "yes"}})
	}
	members = append(members, host.Outcome[Member]{Name: "honest", Value: Member{Runner: host.Local{}, Program: "echo"}})
	said, err := json.Marshal(fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: "honest"})
	if err != nil {
		t.Fatal(err)
	}
	answers := Ask[fabric.Facts](t.Context(), New(members), "Facts", []string{string(said)}, nil)
	for _, o := range answers[:machines] {
		if o.Err == nil || !strings.Contains(o.Err.Error(), "prints ") {
			t.Errorf("%s: %v", o.Name, o.Err)
		}
	}
	if o := answers[machines]; o.Err != nil || o.Value.Node != "honest" {
		t.Errorf("%+v", o)
	}
	var used runtime.MemStats
	runtime.ReadMemStats(&used)
	const most = 1 << 30 // bytes; the machines would print 16 GiB at the old bound of 256 MiB each
	if used.Sys > most {
		t.Errorf("%d MiB were taken from the system", used.Sys>>20)
	}
	t.Logf("%d MiB", used.Sys>>20)
}
