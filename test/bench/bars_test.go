//go:build linux

// Package bench holds the bars: how fast and how small the program must be, measured as whole processes.
package bench

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

var bars = flag.Bool("bars", false, "measure the bars (make bench)")

// spent is what a process took.
type spent struct {
	wall time.Duration
	cpu  time.Duration // of user and system
	rss  int64         // bytes, the most that was resident
	out  string
}

func TestBars(t *testing.T) {
	if !*bars {
		t.Skip("bars are measured by: make bench")
	}
	binary := filepath.Join(t.TempDir(), "railwright")
	build := exec.Command("go", "build", "-trimpath", "-o", binary, "railwright.dev/railwright/cmd/railwright")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	t.Run("collect", func(t *testing.T) { barCollect(t, binary) })
	t.Run("check", func(t *testing.T) { barCheck(t, binary) })
	t.Run("predict", barPredict)
	t.Run("read", func(t *testing.T) { barRead(t, binary) })
	t.Run("plan and render", func(t *testing.T) { barRender(t, binary) })
}

// measureAny measures a process that may end with a verdict.
func measureAny(t *testing.T, argv ...string) spent {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	started := time.Now()
	out, err := cmd.Output()
	wall := time.Since(started)
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended || cmd.ProcessState.ExitCode() > 2 {
		t.Fatalf("%s: %v", strings.Join(argv, " "), err)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return spent{wall: wall, cpu: cpuOf(usage), rss: usage.Maxrss << 10, out: string(out)}
}

func cpuOf(usage *syscall.Rusage) time.Duration {
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func measure(t *testing.T, stdin []byte, argv ...string) spent {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
	started := time.Now()
	out, err := cmd.Output()
	wall := time.Since(started)
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(argv, " "), err)
	}
	usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return spent{wall: wall, cpu: cpuOf(usage), rss: usage.Maxrss << 10, out: string(out)} // Maxrss is in KiB (getrusage(2))
}

// Bars of plan and render for hosts of 8 NICs, written to a file system in memory.
const (
	renderHosts  = 16384
	renderFactor = 1.8       // times the processor time of copying the files that were written: it takes 0.7 to 1.1
	renderMemory = 800 << 20 // bytes: twice the 400 MiB that it takes
	// Four times the hosts may take so many times as long: 4, and room for noise.
	renderGrowth = 6.0
)

func barRender(t *testing.T, binary string) {
	memory := inMemory(t)
	fmt.Printf("%8s %10s %10s %8s  %s\n", "hosts", "files", "wall", "memory", "index sha256")
	took := make(map[int]time.Duration)
	for _, hosts := range []int{1, 16, 256, 4096, renderHosts} {
		first, second := render(t, binary, hosts, memory), render(t, binary, hosts, memory)
		if first.out != second.out {
			t.Errorf("%d hosts: two renders differ:\n%s%s", hosts, first.out, second.out)
		}
		took[hosts] = min(first.cpu, second.cpu)
		if hosts == renderHosts && first.rss > renderMemory {
			t.Errorf("%d hosts: %d MiB, want at most %d MiB", hosts, first.rss>>20, renderMemory>>20)
		}
	}
	files := filepath.Join(memory, "files")
	renderInto(t, binary, renderHosts, files)
	copies := copying(t, files, filepath.Join(memory, "copy"))
	times := took[renderHosts].Seconds() / copies.Seconds()
	fmt.Printf("%d hosts: %s of processor time, %.1f times the %s of copying the files\n", renderHosts, took[renderHosts].Round(time.Millisecond), times, copies.Round(time.Millisecond))
	if times > renderFactor {
		t.Errorf("%d hosts take %.1f times as long as copying their files, want at most %.1f", renderHosts, times, renderFactor)
	}
	if growth := took[renderHosts].Seconds() / took[4096].Seconds(); growth > renderGrowth {
		t.Errorf("16384 hosts take %.1f times as long as 4096, want at most %.0f", growth, renderGrowth)
	}
	fmt.Println("once more on this machine's disk, whose own time is no bar:")
	render(t, binary, renderHosts, t.TempDir())
}

// render plans and renders an example of a size into a new folder, and removes it.
func render(t *testing.T, binary string, hosts int, base string) spent {
	t.Helper()
	folder := filepath.Join(base, "render")
	s := renderInto(t, binary, hosts, folder)
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	return s
}

func renderInto(t *testing.T, binary string, hosts int, folder string) spent {
	t.Helper()
	cluster := measure(t, nil, binary, "init", "--example", "roce-mi300x", "--nodes", fmt.Sprint(hosts))
	s := measure(t, []byte(cluster.out), binary, "render", "-f", "-", "-d", folder)
	files, _, _ := strings.Cut(s.out, " ")
	sum := s.out[strings.LastIndex(strings.TrimSpace(s.out), " ")+1:]
	fmt.Printf("%8d %10s %10s %6d M  %.16s\n", hosts, files, s.wall.Round(time.Millisecond), s.rss>>20, sum)
	return s
}

// inMemory returns a folder on a file system in memory: how long a disk takes to make 100,000 files depends on
// what was done to it before, and is not what the bar is about.
func inMemory(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "railwright-bars-*")
	if err != nil {
		t.Logf("no file system in memory (%v): measured on the disk", err)
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	return folder
}
