package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMCPOptions(t *testing.T) {
	a := &app{}
	if o, err := parsed(t, a.mcpCommand); err != nil || o != (mcpOptions{root: "."}) {
		t.Errorf("%+v, %v", o, err)
	}
	if o, err := parsed(t, a.mcpCommand, "--root", "logs"); err != nil || o != (mcpOptions{root: "logs"}) {
		t.Errorf("%+v, %v", o, err)
	}
	for line, want := range map[string]string{"mcp --root /none": "flag --root", "mcp -o json": "flag --output", "mcp x": "takes no arguments", "mcp --root " + testRecording: "flag --root"} {
		if r := call("", strings.Fields(line)...); r.status != exitUsage || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: %s", line, r)
		}
	}
}

// toolRoot is a folder with an input of every kind, and its absolute path.
func toolRoot(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	cluster, err := os.ReadFile(example(t, "roce-mi300x"))
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{"table.txt": measuredTable, "cluster.yaml": string(cluster)}
	for name, from := range map[string]string{
		"roce.txtar": testRecording, "facts/ib.txtar": "../check/testdata/recordings/infiniband.txtar", "host.xml": "../ncclxml/testdata/host.xml",
		"matrix.txt": "../topology/testdata/matrix/a4.txt", "nccl.log": "../results/testdata/log_infiniband.txt",
		"pair.yaml": "../../docs/samples/gpu-nic-pair.yaml",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		contents[name] = string(text)
	}
	contents["model/config.json"] = `{"architectures":["LlamaForCausalLM"],"model_type":"llama","hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,` +
		`"num_hidden_layers":32,"num_key_value_heads":8,"vocab_size":128256,"max_position_embeddings":131072,"torch_dtype":"bfloat16"}`
	contents["tree/sys/kernel/none"] = ""
	for name, text := range contents {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// connected is a client of this process over two pipes, or of the real binary.
func connected(t *testing.T, root string, real bool) *mcp.ClientSession {
	t.Helper()
	var transport mcp.Transport
	if real {
		path, err := program.path()
		if err != nil {
			t.Fatal(err)
		}
		command := exec.Command(path, "mcp", "--root", root)
		command.Stderr = os.Stderr
		transport = &mcp.CommandTransport{Command: command}
	} else {
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		ended := make(chan int, 1)
		go func() {
			ended <- Main("test", []string{"mcp", "--root", root}, in, out, io.Discard)
			_ = out.Close()
		}()
		t.Cleanup(func() {
			if status := <-ended; status != 0 {
				t.Errorf("exit status %d at the end of the input", status)
			}
		})
		transport = &mcp.IOTransport{Reader: fromServer, Writer: toServer}
	}
	client, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return client
}

// toolAnswer calls a tool with arguments in JSON.
func toolAnswer(t *testing.T, client *mcp.ClientSession, name, arguments string) (text string, r *mcp.CallToolResult) {
	t.Helper()
	r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: json.RawMessage(arguments)})
	if err != nil || len(r.Content) == 0 {
		t.Fatalf("%s %s: %v, %v", name, arguments, r, err)
	}
	return r.Content[0].(*mcp.TextContent).Text, r
}

// toolCases are calls of every tool with the command lines that answer the same; stdin is what a text stands for.
func toolCases() []struct{ tool, arguments, command, stdin string } {
	quoted, _ := json.Marshal(measuredTable)
	return []struct{ tool, arguments, command, stdin string }{
		{"explain", `{"paths":["table.txt"],"machine":"hgx-h100","nodes":2}`, "explain table.txt --machine hgx-h100 --nodes 2", ""},
		{"explain", `{"text":` + string(quoted) + `,"machine":"hgx-h100","nodes":2,"net":"ib"}`, "explain - --machine hgx-h100 --nodes 2 --net ib", measuredTable},
		{"explain", `{"paths":["nccl.log","table.txt"],"snapshot":["facts"],"env":["NCCL_ALGO=Ring"]}`, "explain nccl.log table.txt --snapshot facts --env NCCL_ALGO=Ring", ""},
		{"check", `{"snapshot":["roce.txtar"]}`, "check --snapshot roce.txtar", ""},
		{"check", `{"snapshot":["roce.txtar","facts/ib.txtar"],"cluster":"cluster.yaml"}`, "check --snapshot roce.txtar --snapshot facts/ib.txtar -f cluster.yaml", ""},
		{"check", `{"snapshot":["tree"]}`, "check --snapshot tree", ""},
		{"check", `{"snapshot":["none"]}`, "check --snapshot none", ""},
		{"diff", `{"a":"roce.txtar","b":"facts/ib.txtar"}`, "diff roce.txtar facts/ib.txtar", ""},
		{"diff", `{"a":"roce.txtar","b":"roce.txtar","identities":true}`, "diff roce.txtar roce.txtar --identities", ""},
		{"predict", `{"machine":"hgx-h100","nodes":2,"sizes":"1M:1G:4"}`, "predict --machine hgx-h100 --nodes 2 --sizes 1M:1G:4", ""},
		{"predict", `{"topo":"host.xml","sizes":"1G","collective":"allgather"}`, "predict --topo host.xml --sizes 1G --collective allgather", ""},
		{"predict", `{"cluster":"cluster.yaml","sizes":"1G"}`, "predict -f cluster.yaml --sizes 1G", ""},
		{"size", `{"model":"qwen3-0-6b","nodes":1,"gpu":"l4"}`, "size qwen3-0-6b --nodes 1 --gpu l4", ""},
		{"size", `{"model":"model","context":8192,"engine":"vllm"}`, "size model --context 8k --engine vllm", ""},
		{"claims", `{"claims":["pair.yaml"],"machine":"hgx-h100","nodes":2,"pods":16}`, "claims --claims pair.yaml --machine hgx-h100 --nodes 2 --pods 16", ""},
		{"claims", `{"text":"kind: Pod","machine":"hgx-h100"}`, "claims --claims - --machine hgx-h100", "kind: Pod"},
		{"topo_show", `{"machine":"hgx-h100"}`, "topo show --machine hgx-h100", ""},
		{"topo_show", `{"path":"matrix.txt"}`, "topo show matrix.txt", ""},
		{"topo_show", `{"snapshot":"facts/ib.txtar"}`, "topo show --snapshot facts/ib.txtar", ""},
		{"topo_lint", `{"paths":["host.xml","table.txt"]}`, "topo lint host.xml table.txt", ""},
		{"topo_lint", `{"text":"<system>"}`, "topo lint -", "<system>"},
		{"plan", `{"cluster":"cluster.yaml"}`, "plan -f cluster.yaml", ""},
		{"catalog", `{}`, "catalog", ""},
		{"catalog", `{"kind":"machines"}`, "catalog machines", ""},
		{"catalog", `{"name":"thor2"}`, "catalog thor2", ""},
		{"cause", `{"id":"mtu-mismatch"}`, "cause mtu-mismatch", ""},
		{"cause", `{}`, "cause", ""},
		{"rule", `{"id":"mtu"}`, "rule mtu", ""},
		{"rule", `{}`, "rule", ""},

		// Errors are those of the command.
		{"explain", `{"paths":["none.txt"]}`, "explain none.txt", ""},
		{"explain", `{"paths":["table.txt"],"machine":"hgx-h1000"}`, "explain table.txt --machine hgx-h1000", ""},
		{"explain", `{"paths":["table.txt"],"env":["x"]}`, "explain table.txt --env x", ""},
		{"check", `{"snapshot":["roce.txtar"],"cluster":"table.txt"}`, "check --snapshot roce.txtar -f table.txt", ""},
		{"diff", `{"a":"roce.txtar","b":"none"}`, "diff roce.txtar none", ""},
		{"predict", `{}`, "predict", ""},
		{"predict", `{"cluster":"cluster.yaml","topo":"host.xml"}`, "predict -f cluster.yaml --topo host.xml", ""},
		{"predict", `{"machine":"hgx-h100","sizes":"1X"}`, "predict --machine hgx-h100 --sizes 1X", ""},
		{"predict", `{"machine":"hgx-h100","dtype":"int33"}`, "predict --machine hgx-h100 --dtype int33", ""},
		{"size", `{"model":"no-such-model"}`, "size no-such-model", ""},
		{"size", `{"model":"model","machine":"hgx-h100","gpu":"l4"}`, "size model --machine hgx-h100 --gpu l4", ""},
		{"topo_show", `{"path":"table.txt"}`, "topo show table.txt", ""},
		{"topo_lint", `{"paths":["none.xml"]}`, "topo lint none.xml", ""},
		{"plan", `{"text":"nodes: [["}`, "plan -f -", "nodes: [["},
		{"catalog", `{"kind":"gpu","name":"x"}`, "catalog gpu x", ""},
		{"cause", `{"id":"mtu-mismatc"}`, "cause mtu-mismatc", ""},
		{"rule", `{"id":"mtuu"}`, "rule mtuu", ""},
	}
}

// withoutTime takes the time of a check out of its findings.
func withoutTime(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), `"checked_at":`) && !strings.HasPrefix(strings.TrimSpace(line), `"at":`) {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "")
}

// Tools answer as their commands do, byte for byte, over this process and over the real binary; verdicts are no errors,
// errors have the same text; and no call leaves anything behind.
func TestToolsAnswerAsCommands(t *testing.T) {
	root := toolRoot(t)
	clients := map[string]*mcp.ClientSession{"pipes": connected(t, root, false), "binary": connected(t, root, true)}
	t.Chdir(root)
	before := names(t, root)
	statuses, called := map[int]int{}, map[string]bool{}
	for _, c := range toolCases() {
		want := call(c.stdin, append(strings.Fields(c.command), "-o", "json")...)
		statuses[want.status]++
		called[c.tool] = true
		for how, client := range clients {
			t.Run(how+"/"+c.tool+" "+c.arguments[:min(len(c.arguments), 60)], func(t *testing.T) {
				text, r := toolAnswer(t, client, c.tool, c.arguments)
				if r.IsError != (want.status == exitUsage) {
					t.Fatalf("error %v: %.500s, and the command: %s", r.IsError, text, want)
				}
				if r.IsError {
					if text != strings.TrimSpace(slow.ReplaceAllString(want.stderr, "")) { // on a busy machine it says that it waits
						t.Errorf("%s\nand the command: %s", text, want.stderr)
					}
					return
				}
				if withoutTime(text) != withoutTime(want.stdout) {
					t.Errorf("%.1000s\nand the command: %s", text, want)
				}
				if status := r.Meta["railwright.dev/exit-status"]; status != float64(want.status) {
					t.Errorf("status %v, and the command: %d", status, want.status)
				}
				structured, err := json.Marshal(r.StructuredContent)
				if err != nil || !sameJSON(t, structured, []byte(text)) {
					t.Errorf("text and structured content differ: %.500s, %v", structured, err)
				}
			})
		}
	}
	for _, status := range []int{exitPass, exitFail, exitUnknown, exitUsage} {
		if statuses[status] == 0 {
			t.Errorf("no case with exit status %d", status)
		}
	}
	if list, err := clients["binary"].ListTools(t.Context(), nil); err != nil || len(list.Tools) != len(called) {
		t.Errorf("%d tools are called of %v, %v", len(called), list, err)
	}
	if after := names(t, root); !slices.Equal(before, after) {
		t.Errorf("the folder holds %v, before %v", after, before)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y bytes.Buffer
	for text, to := range map[*[]byte]*bytes.Buffer{&a: &x, &b: &y} {
		var v any
		if err := json.Unmarshal(*text, &v); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(to).Encode(v); err != nil {
			t.Fatal(err)
		}
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// names are the files below a folder with size and time.
func names(t *testing.T, root string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil {
			all = append(all, fmt.Sprint(path, info.Size(), info.ModTime()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A text that stands for saved facts is checked as the file is.
func TestToolChecksText(t *testing.T) {
	root := toolRoot(t)
	client := connected(t, root, false)
	recording, err := os.ReadFile(filepath.Join(root, "roce.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	arguments, err := json.Marshal(map[string]string{"text": string(recording)})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := toolAnswer(t, client, "check", string(arguments))
	want, _ := toolAnswer(t, client, "check", `{"snapshot":["roce.txtar"]}`)
	if withoutTime(got) != withoutTime(want) {
		t.Errorf("%.500s\nand of the file: %.500s", got, want)
	}
}

// No argument of any tool reads a file outside of the folder: not by .., not by an absolute path, not by a link to a file or
// to a folder. Each of the files outside is one that the tool would take.
func TestToolsStayInTheFolder(t *testing.T) {
	root, outside := toolRoot(t), toolRoot(t)
	client := connected(t, root, true)
	for link, to := range map[string]string{"out": outside, "table.link": outside + "/table.txt", "up": "../" + filepath.Base(outside)} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	relative, err := filepath.Rel(root, outside)
	if err != nil {
		t.Fatal(err)
	}
	for argument, file := range map[string]string{
		`explain {"paths":[%q]}`: "table.txt", `explain {"paths":["table.txt"],"cluster":%q}`: "cluster.yaml", `explain {"paths":["table.txt"],"snapshot":[%q]}`: "roce.txtar",
		`check {"snapshot":[%q]}`: "roce.txtar", `check {"snapshot":[%q] }`: "facts", `check { "snapshot":[%q]}`: "tree", `check {"snapshot":["roce.txtar"],"cluster":%q}`: "cluster.yaml",
		`diff {"a":%q,"b":"roce.txtar"}`: "roce.txtar", `diff {"a":"roce.txtar","b":%q}`: "facts:infiniband",
		`predict {"cluster":%q}`: "cluster.yaml", `predict {"like":%q}`: "table.txt", `predict {"topo":%q}`: "host.xml", `predict {"snapshot":%q}`: "roce.txtar", `predict {"machine":"hgx-h100","tuning":%q}`: "nccl.log",
		`size {"model":%q}`: "model", `size {"model":%q }`: "model/config.json", `size {"model":"qwen3-0-6b","nodes":2,"curve":%q}`: "table.txt",
		`topo_show {"path":%q}`: "host.xml", `topo_show {"snapshot":%q}`: "roce.txtar", `topo_lint {"paths":[%q]}`: "host.xml", `plan {"cluster":%q}`: "cluster.yaml",
	} {
		tool, arguments, _ := strings.Cut(argument, " ")
		for how, folder := range map[string]string{"..": relative, "absolute": outside, "a link": "out", "a relative link": "up", "a file instead of a folder": "table.txt/.." + "/" + relative} {
			t.Run(tool+" "+file+" by "+how, func(t *testing.T) {
				text, r := toolAnswer(t, client, tool, fmt.Sprintf(arguments, folder+"/"+file))
				refused := strings.Contains(text, "is outside of") || strings.Contains(text, "path escapes from parent") || strings.Contains(text, "not a directory")
				// An unreadable curve leaves the performance unknown; that the model fits does not depend on it.
				if !refused || !r.IsError && r.Meta["railwright.dev/exit-status"] != float64(exitUnknown) && !strings.Contains(text, "the performance of the smallest plan is unknown") {
					t.Errorf("error %v, %v: %.600s", r.IsError, r.Meta, text)
				}
			})
		}
	}
	if text, r := toolAnswer(t, client, "explain", `{"paths":["table.link"]}`); r.Meta["railwright.dev/exit-status"] != float64(exitUnknown) || !strings.Contains(text, "path escapes from parent") {
		t.Error(r.Meta, text)
	}
	// A link out of a folder of facts is unknown, not healthy and not read.
	if err := os.Symlink(outside+"/roce.txtar", filepath.Join(root, "facts", "far.txtar")); err != nil {
		t.Fatal(err)
	}
	if text, r := toolAnswer(t, client, "check", `{"snapshot":["facts"]}`); !strings.Contains(text, "path escapes from parent") || r.Meta["railwright.dev/exit-status"] == float64(exitPass) {
		t.Errorf("%v: %.600s", r.Meta, text)
	}
	// What is below the folder is found by its absolute path too.
	if text, r := toolAnswer(t, client, "explain", fmt.Sprintf(`{"paths":[%q],"machine":"hgx-h100","nodes":2}`, root+"/table.txt")); r.IsError {
		t.Error(text)
	}
}

// A file that is too large, or of a kind that cannot be read to its end, is an error that says so, soon.
func TestToolsRefuseHugeFiles(t *testing.T) {
	root := toolRoot(t)
	client := connected(t, root, false)
	huge, err := os.Create(filepath.Join(root, "huge.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := huge.Truncate(1 << 40); err != nil {
		t.Fatal(err)
	}
	if err := huge.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", filepath.Join(root, "fifo.txt")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"huge.txt", "fifo.txt", "facts"} {
		for _, c := range []string{`explain {"paths":[%q]}`, `check {"snapshot":[%q]}`, `topo_show {"path":%q}`, `plan {"cluster":%q}`, `size {"model":%q}`, `diff {"a":%q,"b":"roce.txtar"}`} {
			tool, arguments, _ := strings.Cut(c, " ")
			if name == "facts" && (tool == "check" || tool == "diff") {
				continue // takes a folder
			}
			t.Run(tool+" "+name, func(t *testing.T) {
				began := time.Now()
				text, r := toolAnswer(t, client, tool, fmt.Sprintf(arguments, name))
				if !r.IsError && r.Meta["railwright.dev/exit-status"] != float64(exitUnknown) {
					t.Errorf("%v: %.500s", r.Meta, text)
				}
				if took := time.Since(began); took > 30*time.Second {
					t.Errorf("after %v: %.200s", took, text)
				}
			})
		}
	}
}

// Twenty calls at once get twenty right answers.
func TestToolsAtOnce(t *testing.T) {
	root := toolRoot(t)
	client := connected(t, root, true)
	t.Chdir(root)
	cases := toolCases()[:20]
	want := make([]string, len(cases))
	for i, c := range cases {
		r := call(c.stdin, append(strings.Fields(c.command), "-o", "json")...)
		want[i] = withoutTime(r.stdout)
		if r.status == exitUsage {
			want[i] = strings.TrimSpace(r.stderr)
		}
	}
	var all sync.WaitGroup
	for i, c := range cases {
		all.Go(func() {
			r, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: c.tool, Arguments: json.RawMessage(c.arguments)})
			if err != nil || withoutTime(r.Content[0].(*mcp.TextContent).Text) != want[i] {
				t.Errorf("%s %.60s: %v, another answer", c.tool, c.arguments, err)
			}
		})
	}
	all.Wait()
}

// The real binary prints nothing but messages, ends with 0 at the end of its input whatever that held, and with 0 at a
// signal.
func TestMCPBinaryEnds(t *testing.T) {
	path, err := program.path()
	if err != nil {
		t.Fatal(err)
	}
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"
	const ask = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"predict","arguments":{"machine":"hgx-h100","nodes":4}}}` + "\n"
	for name, c := range map[string]struct {
		stdin string
		lines int
	}{"nothing": {"", 0}, "broken JSON": {"{]\n", 1}, "calls": {hello + "{]\n" + ask, 3}} {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			command := exec.Command(path, "mcp")
			command.Stdin, command.Stdout, command.Stderr = strings.NewReader(c.stdin), &stdout, &stderr
			if err := command.Run(); err != nil || stderr.Len() > 0 || strings.Count(stdout.String(), "\n") != c.lines {
				t.Errorf("%v: %.500s, %s", err, stdout.String(), stderr.String())
			}
			for line := range strings.Lines(stdout.String()) {
				if !json.Valid([]byte(line)) {
					t.Errorf("%.300q", line)
				}
			}
		})
	}
	command := exec.Command(path, "mcp")
	stdin, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(stdin, hello); err != nil {
		t.Fatal(err)
	}
	if _, err := stdout.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("after a signal: %v", err)
	}
}
