package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"railwright.dev/railwright/internal/files"
)

// commands are all that a program may have.
func commands() []string {
	return []string{"explain", "check", "diff", "predict", "size", "claims", "topo show", "topo lint", "plan", "catalog", "cause", "rule"}
}

// served is a server of a runner, and a client of it over the in-memory transport of the SDK.
func served(t *testing.T, log io.Writer, change func(*Server), run Runner) *sdk.ClientSession {
	t.Helper()
	folder, err := files.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	s := New(Config{Version: "1.2.3", Folder: folder, Commands: commands(), Words: func(string) []string { return nil }, Run: run, Log: log})
	if change != nil {
		change(s)
	}
	here, there := sdk.NewInMemoryTransports()
	ended := make(chan error, 1)
	go func() { ended <- s.serve(context.Background(), here) }()
	client, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.Close()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return client
}

func textOf(r *sdk.CallToolResult) string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.(*sdk.TextContent).Text)
	}
	return strings.Join(all, "\n")
}

func called(t *testing.T, client *sdk.ClientSession, name, arguments string) *sdk.CallToolResult {
	t.Helper()
	r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil {
		t.Fatalf("%s %s: %v", name, arguments, err)
	}
	return r
}

// echo answers with its command line.
func echo(_ context.Context, c Command) int {
	stdin, _ := io.ReadAll(c.Stdin)
	_ = json.NewEncoder(c.Stdout).Encode(map[string]any{"args": c.Args, "stdin": string(stdin)})
	return 0
}

// Every argument of every tool reaches the command line once, as a value: none becomes a flag of its own.
func TestCommandLines(t *testing.T) {
	client := served(t, io.Discard, nil, echo)
	const evil = "--html=/tmp/x"
	for _, c := range []struct{ tool, arguments, want string }{
		{"explain", `{"paths":["--html=/tmp/x","b"],"machine":"hgx-h100","nodes":2,"rate":400.5,"vm":true,"env":["A=1","B=2"]}`,
			"explain --output=json --machine=hgx-h100 --nodes=2 --rate=400.5 --vm --env=A=1 --env=B=2 -- --html=/tmp/x b"},
		{"explain", `{"paths":["a"],"nccl":"2.28.9"}`, "explain --output=json --nccl=2.28.9 -- a"},
		{"predict", `{"machine":"m","nccl":["2.27.7","2.30.7"]}`, "predict --output=json --machine=m --nccl=2.27.7 --nccl=2.30.7 --"},
		{"explain", `{"text":"a table"}`, "explain --output=json -- -|a table"},
		{"explain", `{"paths":["a"],"text":"b","cluster":"c.yaml","snapshot":["s"]}`, "explain --output=json --file=c.yaml --snapshot=s -- a -|b"},
		{"check", `{"snapshot":["--lab"],"cluster":"c"}`, "check --output=json --snapshot=--lab --file=c --"},
		{"check", `{"switch":["leaf1=a.cfg"]}`, "check --output=json --switch=leaf1=a.cfg --"},
		{"check", `{"text":"{}"}`, "check --output=json --snapshot=inline text --"},
		{"diff", `{"a":"-x","b":"y:node","identities":true}`, "diff --output=json --identities -- -x y:node"},
		{"predict", `{"machine":"m","nodes":4,"sizes":"1G","worker":["0-3/any4"],"collective":"all_gather","procs":2,"per_thread":4,"iterations":100,"dtype":"float","tuning":"l","like":"t","topo":"x","snapshot":"s","cluster":"f"}`,
			"predict --output=json --machine=m --nodes=4 --file=f --like=t --topo=x --snapshot=s --collective=all_gather --sizes=1G --procs=2 --per-thread=4 --iterations=100 --dtype=float --tuning=l --worker=0-3/any4 --"},
		{"size", `{"model":"--html=x","context":131072,"mem_fraction":0.85,"kv_dtype":"fp8_e4m3","gpus_per_node":4,"engine_version":"1"}`,
			"size --output=json --gpus-per-node=4 --engine-version=1 --context=131072 --kv-dtype=fp8_e4m3 --mem-fraction=0.85 -- --html=x"},
		{"claims", `{"text":"kind: Pod","slices":["--html=/tmp/x"],"machine":"m","pods":4,"gpus":2,"template":"t","collective":"all_reduce"}`,
			"claims --output=json --claims=- --slices=--html=/tmp/x --machine=m --pods=4 --gpus=2 --template=t --collective=all_reduce --|kind: Pod"},
		{"claims", `{"cluster":"c","snapshot":["s"],"nodes":2,"claims":["d"],"kubernetes":"1.34"}`, "claims --output=json --file=c --claims=d --snapshot=s --nodes=2 --kubernetes=1.34 --"},
		{"topo_show", `{"machine":"m"}`, "topo show --output=json --machine=m --"},
		{"topo_show", `{"text":"<system/>"}`, "topo show --output=json -- -|<system/>"},
		{"topo_lint", `{"paths":["a","--fix"]}`, "topo lint --output=json -- a --fix"},
		{"plan", `{"text":"name: x"}`, "plan --output=json --file=- --|name: x"},
		{"catalog", `{"kind":"gpus","name":"h100"}`, "catalog --output=json -- gpus h100"},
		{"catalog", `{}`, "catalog --output=json --"},
		{"cause", `{"id":"x"}`, "cause --output=json -- x"},
		{"rule", `{"id":"x"}`, "rule --output=json -- x"},
	} {
		t.Run(c.tool+" "+c.arguments, func(t *testing.T) {
			r := called(t, client, c.tool, c.arguments)
			var got struct {
				Args  []string
				Stdin string
			}
			if err := json.Unmarshal([]byte(textOf(r)), &got); err != nil || r.IsError {
				t.Fatalf("%v: %s", err, textOf(r))
			}
			want, stdin, _ := strings.Cut(c.want, "|")
			if line := strings.Join(got.Args, " "); line != want || got.Stdin != stdin {
				t.Errorf("%s|%s", line, got.Stdin)
			}
			if i := slices.Index(got.Args, evil); i >= 0 && i < slices.Index(got.Args, "--") {
				t.Error("a value became a flag")
			}
		})
	}
}

func TestArgumentsRefused(t *testing.T) {
	ran := false
	client := served(t, io.Discard, nil, func(context.Context, Command) int { ran = true; return 0 })
	for _, c := range []struct{ tool, arguments, want string }{
		{"explain", `{}`, "paths, text: give one of them"},
		{"explain", `{"hosts":["gpu1"],"text":"x"}`, "hosts"},
		{"explain", `{"text":3}`, "text"},
		{"explain", `{"paths":"a"}`, "paths"},
		{"explain", `{"paths":["a"],"nodes":0}`, "nodes"},
		{"explain", `{"paths":["a"],"nodes":-1}`, "nodes"},
		{"explain", `{"paths":["a"],"nodes":1.5}`, "nodes"},
		{"explain", `{"text":"` + strings.Repeat("x", maxText+1) + `"}`, "longer than 4 MiB"},
		{"check", `{}`, "snapshot, text, switch: give one of them"},
		{"check", `{"cluster":"cluster.yaml"}`, "snapshot, text, switch: give one of them"},
		{"check", `{"snapshot":["x"],"lab":true}`, "lab"},
		{"diff", `{"a":"x"}`, "b"},
		{"size", `{}`, "model"},
		{"claims", `{"machine":"hgx-h100"}`, "cluster, claims, text: give one of them"},
		{"claims", `{"text":"x","kubeconfig":"y"}`, "kubeconfig"},
		{"topo_show", `{}`, "give one of them"},
		{"topo_show", `{"text":"x","machine":"hgx-h100"}`, "give only one of them"},
		{"plan", `{"text":"x","cluster":"y"}`, "give only one of them"},
		{"catalog", `[]`, ""},
	} {
		t.Run(c.tool+" "+c.arguments[:min(len(c.arguments), 40)], func(t *testing.T) {
			r := called(t, client, c.tool, c.arguments)
			if !r.IsError || !strings.Contains(textOf(r), c.want) || ran {
				t.Errorf("error %v, ran %v: %s", r.IsError, ran, textOf(r))
			}
		})
	}
	if _, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "apply"}); err == nil {
		t.Error("a tool that there is not was called")
	}
}

// A verdict is no error, and what was said beside it is kept; an error is one; an answer that is not JSON is none.
func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		out     outcome
		isError bool
		text    string
	}{
		"pass":       {outcome{0, `{"a":1}`, ""}, false, `{"a":1}`},
		"failed":     {outcome{1, `{"a":1}`, ""}, false, `{"a":1}`},
		"unknown":    {outcome{2, `{"a":1}`, "railwright: not loaded: b\n"}, false, "{\"a\":1}\nrailwright: not loaded: b"},
		"usage":      {outcome{64, "", "railwright: flag --x: unknown\n"}, true, "railwright: flag --x: unknown"},
		"fault":      {outcome{70, `{"a":1}`, "railwright: internal error"}, true, "railwright: internal error"},
		"cut":        {outcome{1, `{"a":`, ""}, true, "railwright: no answer, exit status 1"},
		"no answer":  {outcome{0, "", ""}, true, "railwright: no answer, exit status 0"},
		"not a JSON": {outcome{0, "drawn", ""}, true, "railwright: no answer, exit status 0"},
	} {
		t.Run(name, func(t *testing.T) {
			r := c.out.result()
			if r.IsError != c.isError || textOf(r) != c.text {
				t.Errorf("error %v: %s", r.IsError, textOf(r))
			}
			if !c.isError && (string(r.StructuredContent.(json.RawMessage)) != c.out.stdout || r.Meta[exitKey] != c.out.status) {
				t.Errorf("%s, %v", r.StructuredContent, r.Meta)
			}
		})
	}
}

// A panic, an endless answer and a call that does not end are errors of that call, and the server lives on.
func TestServerLivesOn(t *testing.T) {
	left := make(chan struct{})
	t.Cleanup(func() { close(left) })
	var log syncBuffer
	client := served(t, &log, func(s *Server) { s.time, s.slots = 300*time.Millisecond, make(chan struct{}, 2) }, func(ctx context.Context, c Command) int {
		switch c.Args[len(c.Args)-1] {
		case "panics":
			panic("on purpose")
		case "floods":
			for {
				if _, err := c.Stdout.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
					return 64
				}
			}
		case "hangs":
			<-left
		}
		return echo(ctx, c)
	})
	for id, want := range map[string]string{"panics": "internal error, please report it: on purpose", "floods": "the answer is larger than 4194304 bytes", "hangs": "stopped after 300ms"} {
		if r := called(t, client, "rule", `{"id":"`+id+`"}`); !r.IsError || !strings.Contains(textOf(r), want) {
			t.Errorf("%s: error %v: %s", id, r.IsError, textOf(r))
		}
		if r := called(t, client, "rule", `{"id":"x"}`); r.IsError {
			t.Errorf("after %s: %s", id, textOf(r))
		}
	}
	if !strings.Contains(log.String(), "on purpose") || !strings.Contains(log.String(), "server_test.go") {
		t.Errorf("the log has no stack: %s", log.String())
	}
}

// A call that the client cancels ends: the command sees it, and the server answers the next.
func TestCancelled(t *testing.T) {
	began, seen := make(chan struct{}), make(chan error, 1)
	client := served(t, io.Discard, nil, func(ctx context.Context, c Command) int {
		if c.Args[len(c.Args)-1] != "waits" {
			return echo(ctx, c)
		}
		close(began)
		<-ctx.Done()
		_, err := c.Files.Stat(".")
		seen <- err
		return 2
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	if r, err := client.CallTool(ctx, &sdk.CallToolParams{Name: "rule", Arguments: map[string]any{"id": "waits"}}); err == nil {
		t.Errorf("answered: %s", textOf(r))
	}
	select {
	case err := <-seen:
		if err == nil {
			t.Error("a cancelled command still reads")
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the command did not see it")
	}
	if r := called(t, client, "rule", `{"id":"x"}`); r.IsError {
		t.Error(textOf(r))
	}
}

// Calls run at once, at most as many as there are slots, and each gets its own answer.
func TestConcurrent(t *testing.T) {
	const slots = 3
	var now, most atomic.Int32
	client := served(t, io.Discard, func(s *Server) { s.slots = make(chan struct{}, slots) }, func(ctx context.Context, c Command) int {
		for n := now.Add(1); n > most.Load(); {
			most.Store(n)
		}
		time.Sleep(20 * time.Millisecond)
		now.Add(-1)
		return echo(ctx, c)
	})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			r, err := client.CallTool(t.Context(), &sdk.CallToolParams{Name: "rule", Arguments: map[string]any{"id": fmt.Sprint("id", i)}})
			if err != nil || r.IsError || !strings.Contains(textOf(r), fmt.Sprintf(`"id%d"`, i)) {
				t.Errorf("call %d: %v, %v", i, r, err)
			}
		})
	}
	all.Wait()
	if n := most.Load(); n < 2 || n > slots {
		t.Errorf("%d commands at once, want 2 to %d", n, slots)
	}
}

// What a command reads is below the folder.
func TestCommandFiles(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	client := served(t, io.Discard, nil, func(_ context.Context, c Command) int {
		if _, err := c.Files.Open(c.Args[len(c.Args)-1]); err != nil {
			fmt.Fprint(c.Stderr, err)
			return 64
		}
		return 0
	})
	if r := called(t, client, "rule", `{"id":"`+outside+`"}`); !r.IsError || !strings.Contains(textOf(r), "outside of") {
		t.Error(textOf(r))
	}
}

// Every tool says what it is, every argument what it takes, and both that nothing is changed.
func TestToolList(t *testing.T) {
	client := served(t, io.Discard, nil, echo)
	list, err := client.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		a := tool.Annotations
		if tool.Description == "" || tool.Title == "" || !a.ReadOnlyHint || !a.IdempotentHint || *a.DestructiveHint || *a.OpenWorldHint {
			t.Errorf("%s: %+v", tool.Name, a)
		}
		schema := tool.InputSchema.(map[string]any)
		if schema["type"] != "object" || !reflect.DeepEqual(schema["additionalProperties"], false) {
			t.Errorf("%s: takes anything: %v", tool.Name, schema)
		}
		for name, p := range schema["properties"].(map[string]any) {
			property := p.(map[string]any)
			if property["description"] == nil || property["type"] == nil {
				t.Errorf("%s: argument %s: %v", tool.Name, name, property)
			}
			if kind, one := property["type"].(string); !one || kind == "integer" && property["minimum"] == nil {
				t.Errorf("%s: argument %s: %v", tool.Name, name, property)
			}
		}
	}
	slices.Sort(names)
	if want := "catalog cause check claims diff explain plan predict rule size topo_lint topo_show"; strings.Join(names, " ") != want {
		t.Errorf("%v, want %s", names, want)
	}
	if i := client.InitializeResult(); i.ServerInfo.Name != "railwright" || i.ServerInfo.Version != "1.2.3" || !strings.Contains(i.Instructions, "do not overrule") {
		t.Errorf("%+v", i)
	}
}

// syncBuffer is a log that a test reads while the server writes.
type syncBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}
