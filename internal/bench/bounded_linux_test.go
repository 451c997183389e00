package bench

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// A command of the owner runs as the user who logged in, where sudo made us root; one of root's stays root's.
func TestOwner(t *testing.T) {
	tools := t.TempDir()
	for name, text := range map[string]string{"sudo": `echo "sudo $*"`, "id": "echo ${FAKE_ID:-0}", "show": `echo "run $OMPI_ALLOW_RUN_AS_ROOT"`} {
		if err := os.WriteFile(filepath.Join(tools, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name  string
		owner bool
		env   []string
		want  string
	}{
		{"through sudo", true, []string{"SUDO_USER=nvidia"}, "sudo -n -H -u nvidia -- show x"},
		{"root's own login", true, nil, "run 1"},
		{"root by sudo of root", true, []string{"SUDO_USER=root"}, "run 1"},
		{"not the owner's", false, []string{"SUDO_USER=nvidia"}, "run "},
		{"no root at all", true, []string{"SUDO_USER=nvidia", "FAKE_ID=1000"}, "run "},
	} {
		t.Run(c.name, func(t *testing.T) {
			command := bounded(fabric.BenchCommand{Argv: []string{"show", "x"}}, 5*time.Second, c.owner)
			command.Env = append(c.env, "PATH="+tools+":/usr/bin:/bin")
			s, err := start(t.Context(), host.Local{}, command)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.end(5 * time.Second)
			if err != nil || strings.TrimSpace(string(out)) != strings.TrimSpace(c.want) {
				t.Errorf("%q, %v, want %q", out, err, c.want)
			}
		})
	}
}

// The command ends when its standard input does, and its own children with it.
func TestEndsWithInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	s, err := start(t.Context(), host.Local{}, bounded(fabric.BenchCommand{Argv: []string{"sh", "-c", `echo $$ >"$0"; sleep 60; echo not ended`, file}}, time.Minute, false))
	if err != nil {
		t.Fatal(err)
	}
	started := time.Now()
	s.stop()
	out, err := s.end(20 * time.Second)
	if err == nil || strings.Contains(string(out), "not ended") || time.Since(started) > 15*time.Second {
		t.Errorf("%q, %v in %s", out, err, time.Since(started))
	}
	pid, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if exec.Command("kill", "-0", strings.TrimSpace(string(pid))).Run() == nil {
		t.Errorf("process %s is still there", pid)
	}
}

// An output that never ends is cut, and its command ended.
func TestEndlessOutput(t *testing.T) {
	s, err := start(t.Context(), host.Local{}, bounded(fabric.BenchCommand{Argv: []string{"yes"}}, time.Minute, false))
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.end(20 * time.Second)
	if err == nil || !strings.Contains(err.Error(), "more than 4 MiB") || len(out) > most+tailRoom {
		t.Errorf("%d bytes, %v", len(out), err)
	}
}

// tailRoom is what standard error may add to an output.
const tailRoom = 8 << 10
