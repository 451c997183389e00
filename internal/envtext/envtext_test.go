package envtext

import (
	"slices"
	"strings"
	"testing"
)

// read returns what a text sets, as NAME=value, or NAME for what it takes back.
func read(text string) (out []string) {
	var r Reader
	for line := range strings.Lines(text) {
		for _, s := range r.Line(line) {
			if s.Unset {
				out = append(out, s.Name)
				continue
			}
			out = append(out, s.Name+"="+s.Value)
		}
	}
	return out
}

// Each form sets the variable with its value, by the grammar of the program that reads it.
func TestForms(t *testing.T) {
	for _, text := range []string{
		"export NCCL_ALGO=Ring",
		"export NCCL_ALGO='Ring'",
		`export FOO=bar NCCL_ALGO="Ring" # as the guide says`,
		"declare -x NCCL_ALGO=\"Ring\"",
		"NCCL_ALGO=Ring",
		"  NCCL_ALGO=\"Ring\"  ",
		"$ export NCCL_ALGO=Ring",
		"root@node1:~# export NCCL_ALGO=Ring",
		"[root@node1 ~] # export NCCL_ALGO=Ring",
		"user@node1:/work$ NCCL_ALGO=Ring python3 train.py",
		"CUDA_VISIBLE_DEVICES=0,1 NCCL_ALGO=Ring torchrun --nproc-per-node 2 train.py",
		"time NCCL_ALGO=Ring ./build/all_reduce_perf -b 8 -e 8G",
		"env NCCL_ALGO=Ring ./a.out",
		"setenv NCCL_ALGO Ring",
		"set -gx NCCL_ALGO Ring",
		`$env:NCCL_ALGO = "Ring"`,
		"set NCCL_ALGO=Ring",
		"mpirun -np 16 -x NCCL_ALGO=Ring -x LD_LIBRARY_PATH ./a.out",
		"mpiexec -genv NCCL_ALGO Ring -n 2 ./a.out",
		"mpiexec -genv NCCL_ALGO=Ring -n 2 ./a.out",
		"#SBATCH --export=ALL,NCCL_ALGO=Ring",
		"srun --export=ALL,FOO=1,NCCL_ALGO=Ring,BAR=2 ./a.out",
		`sbatch --export="ALL,NCCL_ALGO=Ring" job.sh`,
		"#PBS -v NCCL_ALGO=Ring",
		"docker run --gpus all -e NCCL_ALGO=Ring image",
		"docker run --env=NCCL_ALGO=Ring image",
		`kubectl run x --env="NCCL_ALGO=Ring" --image=y`,
		"singularity exec --env FOO=1,NCCL_ALGO=Ring image.sif ./a.out",
		"ENV NCCL_ALGO=Ring",
		"ENV FOO=1 NCCL_ALGO=Ring",
		"ENV NCCL_ALGO Ring",
		"Environment=NCCL_ALGO=Ring",
		`Environment="FOO=a b" "NCCL_ALGO=Ring"`,
		`environment=NCCL_ALGO="Ring",FOO="b"`,
		"- name: NCCL_ALGO\n  value: Ring",
		"        - name: NCCL_ALGO   # as the guide says\n          value: \"Ring\"",
		`- {name: NCCL_ALGO, value: "Ring"}`,
		`{"name": "NCCL_ALGO", "value": "Ring"},`,
		"{\n\"name\": \"NCCL_ALGO\",\n\"value\": \"Ring\"\n}",
		"NCCL_ALGO: Ring",
		`    NCCL_ALGO: "Ring"`,
		"environment:\n  - NCCL_ALGO=Ring",
		"environment:\n  - FOO=1\n  - \"NCCL_ALGO=Ring\"",
		"env: {FOO: 1, NCCL_ALGO: Ring}",
		`"NCCL_ALGO": "Ring",`,
		`--runtime-env-json='{"env_vars": {"NCCL_ALGO": "Ring"}}'`,
		`runtime_env={"env_vars": {'NCCL_ALGO': 'Ring', "FOO": "1"}}`,
		`os.environ["NCCL_ALGO"] = "Ring"`,
		`os.environ['NCCL_ALGO']='Ring'  # as the guide says`,
		`os.environ.setdefault("NCCL_ALGO", "Ring")`,
		`os.putenv("NCCL_ALGO", "Ring")`,
		`setenv("NCCL_ALGO", "Ring", 1);`,
		`.env("NCCL_ALGO", "Ring")`,
		`NCCL_ALGO = "Ring"`,
		"NCCL_ALGO = Ring",
		`env = { NCCL_ALGO = "Ring" }`,
		"export NCCL_ALGO := Ring",
	} {
		if got := read(text); !slices.Equal(got, []string{"NCCL_ALGO=Ring"}) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// What a comment, a sentence, a question or a template says is not set.
func TestNotSet(t *testing.T) {
	for _, text := range []string{
		"# export NCCL_ALGO=Ring",
		"#export NCCL_ALGO=Ring",
		"## SBATCH --export=ALL,NCCL_ALGO=Ring",
		"export FOO=1 # export NCCL_ALGO=Ring",
		`#os.environ["NCCL_ALGO"] = "Ring"`,
		`// setenv("NCCL_ALGO", "Ring", 1);`,
		"; NCCL_ALGO=Ring",
		"# - name: NCCL_ALGO\n#   value: Ring",
		"I tried NCCL_ALGO=Ring, but it did not help",
		"NCCL_ALGO=Ring makes it work",
		"- NCCL_ALGO=Ring does not help",
		"- NCCL_ALGO=Ring",
		"I set NCCL_ALGO=Ring and it works",
		"NCCL_ALGO: the algorithms to use",
		"Does NCCL_ALGO: help?",
		"NCCL_ALGO: null",
		"NCCL_ALGO:",
		`if os.environ["NCCL_ALGO"] == "Ring":`,
		`x = os.environ.get("NCCL_ALGO", "Ring")`,
		`x = os.getenv("NCCL_ALGO", "Ring")`,
		`os.environ["NCCL_ALGO"] = algo`,
		"echo $NCCL_ALGO",
		"export NCCL_ALGO=$ALGO",
		`NCCL_ALGO: "${ALGO:-Ring}"`,
		"NCCL_ALGO: {{ algo }}",
		"mpirun -x NCCL_ALGO ./a.out",
		"export NCCL_ALGO",
		"- name: NCCL_ALGO\n  valueFrom:\n    value: Ring",
		"- name: NCCL_ALGO\n- name: FOO\n  value: Ring",
		"MY_NCCL_ALGO=Ring",
		"export MY_NCCL_ALGO=Ring",
	} {
		if got := read(text); len(got) > 0 {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// Several settings of a line, their values, and what takes them back.
func TestSeveral(t *testing.T) {
	for text, want := range map[string][]string{
		"export NCCL_ALGO=Ring NCCL_PROTO=LL":                                          {"NCCL_ALGO=Ring", "NCCL_PROTO=LL"},
		"export NCCL_ALGO=Ring; export NCCL_PROTO=LL":                                  {"NCCL_ALGO=Ring", "NCCL_PROTO=LL"},
		"mpirun -x NCCL_IB_HCA=mlx5_0,mlx5_1 -x NCCL_ALGO=Ring ./x":                    {"NCCL_IB_HCA=mlx5_0,mlx5_1", "NCCL_ALGO=Ring"},
		"srun --export=ALL,NCCL_IB_HCA=mlx5_0,mlx5_1,NCCL_ALGO=Ring ./x":               {"NCCL_IB_HCA=mlx5_0,mlx5_1", "NCCL_ALGO=Ring"},
		`export NCCL_TOPO_FILE="/a b/topo.xml" # there`:                                {"NCCL_TOPO_FILE=/a b/topo.xml"},
		"NCCL_P2P_DISABLE=1 mpirun -x NCCL_ALGO=Tree ./all_reduce_perf":                {"NCCL_P2P_DISABLE=1", "NCCL_ALGO=Tree"},
		`{"NCCL_P2P_DISABLE": 1, "NCCL_ALGO": "Ring"}`:                                 {"NCCL_P2P_DISABLE=1", "NCCL_ALGO=Ring"},
		"export NCCL_ALGO=Ring\nunset NCCL_ALGO FOO":                                   {"NCCL_ALGO=Ring", "NCCL_ALGO"},
		`os.environ.pop("NCCL_ALGO", None)`:                                            {"NCCL_ALGO"},
		`del os.environ["NCCL_ALGO"]`:                                                  {"NCCL_ALGO"},
		"HSA_NO_SCRATCH_RECLAIM=1 NCCL_ALGO=Ring \\":                                   {"HSA_NO_SCRATCH_RECLAIM=1", "NCCL_ALGO=Ring"},
		"docker run -e NCCL_SOCKET_IFNAME=^lo,docker0 -e UCX_TLS=rc,cuda_copy image":   {"NCCL_SOCKET_IFNAME=^lo,docker0", "UCX_TLS=rc,cuda_copy"},
		"env:\n- name: NCCL_ALGO\n  value: Ring\n- name: NCCL_PROTO\n  value: 'LL128'": {"NCCL_ALGO=Ring", "NCCL_PROTO=LL128"},
	} {
		got := read(text)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// FuzzLine: any text is read without end or crash, and names are those that are asked for.
func FuzzLine(f *testing.F) {
	f.Add("export NCCL_ALGO=Ring")
	f.Add("environment:\n- \"NCCL_ALGO=Ring\"")
	f.Add(`Environment="NCCL_ALGO=Ring" 'NCCL_PROTO=LL`)
	f.Fuzz(func(t *testing.T, text string) {
		var r Reader
		for line := range strings.Lines(text) {
			for _, s := range r.Line(line) {
				if !ours(s.Name) || s.Unset && s.Value != "" || strings.ContainsAny(s.Value, "$`\n") {
					t.Errorf("%q: %+v", line, s)
				}
			}
		}
	})
}
