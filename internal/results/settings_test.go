package results

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// someTable is a table of one size without a command.
const someTable = `# nThread 1 nGpus 8 minBytes 8 maxBytes 8 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  8589934592    2147483648     float     sum      -1    62000  138.55  242.46      0    62000  138.55  242.46      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 242.46
`

// pasted returns the tables and the logs of a text.
func pasted(t *testing.T, text string) (tables []*fabric.Table, logs []*fabric.NCCLLog) {
	t.Helper()
	found, err := Read("paste", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range found {
		switch c := r.Content.(type) {
		case *fabric.Table:
			tables = append(tables, c)
		case *fabric.NCCLLog:
			logs = append(logs, c)
		}
	}
	return tables, logs
}

// What stands before a table in any form is the setting of its run; a comment is none.
func TestSettingsBeforeATable(t *testing.T) {
	for _, text := range []string{
		"        env:\n        - name: NCCL_ALGO\n          value: \"Ring\"\n",
		"{\n  \"kind\": \"Pod\",\n  \"spec\": {\n    \"env\": [\n      {\n        \"name\": \"NCCL_ALGO\",\n        \"value\": \"Ring\"\n      }\n    ]\n  }\n}\n",
		"{\"env_vars\": {\"NCCL_ALGO\": \"Ring\"}}\n",
		"os.environ[\"NCCL_ALGO\"] = \"Ring\"\n",
		"#SBATCH --export=ALL,NCCL_ALGO=Ring\n",
		"ENV NCCL_ALGO Ring\n",
		"# export NCCL_ALGO=Tree\nexport NCCL_ALGO=Ring\n",
		"export NCCL_ALGO=Ring NCCL_PROTO=LL\nunset NCCL_PROTO\n",
	} {
		tables, logs := pasted(t, text+someTable)
		if len(tables) != 1 || tables[0].Config["NCCL_ALGO"] != "Ring" || tables[0].Config["NCCL_PROTO"] != "" || tables[0].Replaced != nil {
			t.Errorf("%q: %+v", text, tables)
		}
		if len(logs) != 1 || !maps.Equal(logs[0].Env, map[string]string{"NCCL_ALGO": "Ring"}) || !slices.Equal(logs[0].Pasted, []string{"NCCL_ALGO"}) {
			t.Errorf("%q: %+v", text, logs)
		}
	}
	if tables, logs := pasted(t, "# export NCCL_ALGO=Ring\nI tried NCCL_PROTO=LL too\n"+someTable); len(logs) > 0 || tables[0].Config["NCCL_ALGO"]+tables[0].Config["NCCL_PROTO"] != "" {
		t.Errorf("%+v, %+v", tables, logs)
	}
}

// A line that begins with # is a command where the output of the benchmark follows it, else a comment.
func TestCommandOfTheSuperuser(t *testing.T) {
	const command = "# NCCL_ALGO=Ring ./build/all_reduce_perf -b 8 -g 8\n"
	for text, want := range map[string]string{command: "Ring", "\n" + command + "\n": "Ring", command + "./build/all_reduce_perf -b 8 -g 8\n": "", command + "as it was\n": ""} {
		tables, _ := pasted(t, text+someTable)
		if len(tables) != 1 || tables[0].Config["NCCL_ALGO"] != want {
			t.Errorf("%q: %v, want %q", text, tables[0].Config, want)
		}
	}
}

// Of several values the last counts, and the others are kept to be said. Each table has the settings of its own command.
func TestSettingsSaidAgain(t *testing.T) {
	tables, _ := pasted(t, "export NCCL_ALGO=Ring\nexport NCCL_ALGO=Ring\nexport NCCL_ALGO=Tree\n"+someTable+"NCCL_PROTO=LL ./build/all_reduce_perf -b 8 -g 8\n"+someTable)
	if len(tables) != 2 {
		t.Fatalf("%d tables", len(tables))
	}
	if first := tables[0]; first.Config["NCCL_ALGO"] != "Tree" || !slices.Equal(first.Replaced["NCCL_ALGO"], []string{"Ring"}) {
		t.Errorf("%v, replaced %v", first.Config, first.Replaced)
	}
	if second := tables[1]; second.Config["NCCL_ALGO"] != "" || second.Config["NCCL_PROTO"] != "LL" || second.Replaced != nil {
		t.Errorf("%v, replaced %v", second.Config, second.Replaced)
	}
}

// What the library says that it took outweighs what a script was to set, before and after it.
func TestPrintedSettingOutweighsAScript(t *testing.T) {
	const printed = "n1:10:20 [0] NCCL INFO NCCL_ALGO set by environment to Tree.\n"
	for _, text := range []string{"export NCCL_ALGO=Ring\n" + printed, printed + "export NCCL_ALGO=Ring\n"} {
		_, logs := pasted(t, text)
		if len(logs) != 1 || logs[0].Env["NCCL_ALGO"] != "Tree" || len(logs[0].Pasted) > 0 {
			t.Errorf("%q: %+v", text, logs[0])
		}
	}
}
