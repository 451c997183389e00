package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// buildNCCL runs the script with tools that only note what they are asked. Git hands out the commit that it was asked for, or one
// that is set.
func buildNCCL(t *testing.T, folder, gives string) (string, error) {
	t.Helper()
	tools := t.TempDir()
	script := func(name, text string) {
		path := filepath.Join(tools, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	script("git", `echo "git $*" >>"$LOG"
while :; do case $1 in -C) at=$2; shift 2;; *) break;; esac; done
case $1 in
init) mkdir -p "$3/.git";;
fetch) eval "asked=\${$#}"; echo "${GIVES:-$asked}" >"$at/.git/commit";;
rev-parse) cat "$at/.git/commit";;
esac`)
	script("make", `echo "make $*" >>"$LOG"
for word; do case $word in */nccl|*/nccl-tests) at=$word;; esac; done
case $at in
*/nccl) mkdir -p "$at/build/lib"; printf 'x\0NCCL version 2.30.7+cuda13.0\0' >"$at/build/lib/libnccl.so.2";;
*) mkdir -p "$at/build"; printf '#!/bin/sh\n' >"$at/build/all_gather_perf"; chmod +x "$at/build/all_gather_perf";;
esac`)
	script("c++", "")
	script("cuda/bin/nvcc", "")
	script("mpi/include/mpi.h", "")
	log := filepath.Join(tools, "log")
	path := filepath.Join(tools, "build")
	if err := os.WriteFile(path, buildNCCLScript, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", path, folder)
	cmd.Env = []string{"PATH=" + tools + ":/usr/bin:/bin", "LOG=" + log, "GIVES=" + gives, "CUDA_HOME=" + filepath.Join(tools, "cuda"), "MPI_HOME=" + filepath.Join(tools, "mpi")}
	out, err := cmd.CombinedOutput()
	asked, _ := os.ReadFile(log)
	return string(asked) + string(out), err
}

func TestBuildNCCL(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "opt")
	said, err := buildNCCL(t, folder, "")
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, want := range []string{
		"fetch -q --depth 1 https://github.com/NVIDIA/nccl.git 73cf112295c33aee2b895f329f592f2a9b4b0f97",
		"fetch -q --depth 1 https://github.com/NVIDIA/nccl-tests.git a0b82b2260cf5152b9f8c061bbf7eaf0ba096432",
		"NVCC_GENCODE=-gencode=arch=compute_121,code=sm_121", "MPI=1", "NCCL_HOME=" + folder + "/nccl/build", "NCCL 2.30.7: " + folder + "/nccl/build/lib",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if again, err := buildNCCL(t, folder, ""); err != nil || strings.Contains(again, "fetch") {
		t.Errorf("the second time: %v\n%s", err, again)
	}
}

// Another commit than the one that is written in the script is refused, and leaves nothing that a second run would take for it.
func TestBuildNCCLRefuses(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "opt")
	other := strings.Repeat("0", 40)
	for range 2 {
		said, err := buildNCCL(t, folder, other)
		if err == nil || !strings.Contains(said, other+" came") || strings.Contains(said, "make ") {
			t.Errorf("%v\n%s", err, said)
		}
	}
	if err := os.MkdirAll(filepath.Join(folder, "nccl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if said, err := buildNCCL(t, folder, ""); err == nil || !strings.Contains(said, "is not commit") {
		t.Errorf("over a folder of somebody: %v\n%s", err, said)
	}
}

// The script is clean to shellcheck, where it is installed.
func TestBuildNCCLShellcheck(t *testing.T) {
	tool, err := exec.LookPath("shellcheck")
	if err != nil {
		t.Skip("shellcheck is not installed")
	}
	if out, err := exec.Command(tool, "build_nccl.sh").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
