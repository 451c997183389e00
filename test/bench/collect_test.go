//go:build linux

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The captured tree of 64 PCI functions that lies beside the repository, where it does.
const capturedTree = "../../../shared/data/fixtures/qemu-pcie/sysfs.tar.gz"

// Bars of collect, as a whole process on the captured tree.
const (
	loopFactor  = 80.0 // times faster than the loops of appendix C: it is 110 to 150
	lspciFactor = 2.0  // times the processor time of lspci -vvv: it takes 1.5 to 1.7, of which starting the program is 1.3
	manyFactor  = 3.0  // times that of collect for 64 functions, for 250: nothing grows faster than their number
	manyDevices = 250
)

func barCollect(t *testing.T, binary string) {
	tree := captured(t)
	sys := "sysfs.path=" + filepath.Join(tree, "sys/bus/pci")
	ours := fastest(t, 21, binary, "collect", "--root", tree)
	theirs := fastest(t, 21, "lspci", "-O", sys, "-vvv")
	loop := appendixC(t, sys)
	many := fastest(t, 7, binary, "collect", "--root", multiplied(t, tree))
	fmt.Printf("%-44s %10s\n", "collect, 64 functions", ours.Round(10*time.Microsecond))
	fmt.Printf("%-44s %10s\n", "lspci -vvv, 64 functions", theirs.Round(10*time.Microsecond))
	fmt.Printf("%-44s %10s  %.0f times collect\n", "the loops of appendix C, 64 functions", loop.Round(time.Millisecond), loop.Seconds()/ours.Seconds())
	fmt.Printf("%-44s %10s\n", fmt.Sprintf("collect, %d functions", manyDevices), many.Round(10*time.Microsecond))
	if ours.Seconds() > lspciFactor*theirs.Seconds() {
		t.Errorf("collect takes %s, lspci %s: want at most %.1f times as long", ours, theirs, lspciFactor)
	}
	if loop.Seconds() < loopFactor*ours.Seconds() {
		t.Errorf("the loop takes %s, %.0f times %s, want %.0f times", loop, loop.Seconds()/ours.Seconds(), ours, loopFactor)
	}
	if many.Seconds() > manyFactor*ours.Seconds() {
		t.Errorf("%d functions take %s, want at most %.0f times the %s of 64", manyDevices, many, manyFactor, ours)
	}
}

// captured unpacks the tree, or skips in words.
func captured(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat(capturedTree); err != nil {
		t.Skipf("the captured tree is not here: %v", err)
	}
	for _, tool := range []string{"lspci", "setpci", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%v (package pciutils)", err)
		}
	}
	folder := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", capturedTree, "-C", folder).CombinedOutput(); err != nil {
		t.Fatalf("tar: %v\n%s", err, out)
	}
	found, err := filepath.Glob(filepath.Join(folder, "*", "bus"))
	if err != nil || len(found) != 1 {
		found, err = filepath.Glob(filepath.Join(folder, "*", "*", "bus"))
	}
	if err != nil || len(found) != 1 {
		t.Fatalf("no bus folder in the captured tree: %v, %v", found, err)
	}
	return filepath.Dir(filepath.Dir(found[0]))
}

// fastest runs a command some times and returns the least processor time. A status of 2 is one of ours: what a
// captured tree does not hold is unknown.
func fastest(t *testing.T, times int, argv ...string) time.Duration {
	t.Helper()
	least := time.Hour
	for range times {
		cmd := exec.Command(argv[0], argv[1:]...)
		err := cmd.Run()
		if cmd.ProcessState == nil {
			t.Fatalf("%s: %v", strings.Join(argv, " "), err)
		}
		least = min(least, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		if code := cmd.ProcessState.ExitCode(); err != nil && code != 2 {
			t.Fatalf("%s: %v", strings.Join(argv, " "), err)
		}
	}
	return least
}

// appendixC does what the loops of the RoCE guide's appendix C do to look at ACS: a setpci a function to find
// those that have it (C.1), and three times (capable, enabled, disabled) an lspci a function, and two more
// for each that has it.
func appendixC(t *testing.T, sys string) time.Duration {
	t.Helper()
	var took time.Duration
	run := func(argv ...string) error {
		cmd := exec.Command(argv[0], argv[1:]...)
		err := cmd.Run()
		if cmd.ProcessState == nil {
			t.Fatalf("%s: %v", strings.Join(argv, " "), err)
		}
		took += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		return err
	}
	list, err := exec.Command("lspci", "-O", sys, "-D", "-n").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		address, _, _ := strings.Cut(line, " ")
		calls := 3
		if run("setpci", "-O", sys, "-s", address, "ECAP_ACS+0x6.w") == nil {
			calls = 9
		}
		for range calls {
			if err := run("lspci", "-O", sys, "-vvv", "-s", address); err != nil {
				t.Fatal(err)
			}
		}
	}
	return took
}

// multiplied lays a tree of many functions: those of the captured one again and again, in domains of their own.
func multiplied(t *testing.T, tree string) string {
	t.Helper()
	root := t.TempDir()
	devices := filepath.Join(root, "sys/bus/pci/devices")
	if err := os.MkdirAll(devices, 0o755); err != nil {
		t.Fatal(err)
	}
	functions, err := os.ReadDir(filepath.Join(tree, "sys/bus/pci/devices"))
	if err != nil {
		t.Fatal(err)
	}
	for i := range manyDevices {
		old := functions[i%len(functions)].Name()
		domain := fmt.Sprintf("%04x", i/len(functions))
		copyFunction(t, tree, root, old, domain+old[4:])
	}
	return root
}

// copyFunction copies the files of a function; its place in the tree of devices keeps its form.
func copyFunction(t *testing.T, tree, root, old, name string) {
	t.Helper()
	link, err := os.Readlink(filepath.Join(tree, "sys/bus/pci/devices", old))
	if err != nil {
		t.Fatal(err)
	}
	place := strings.ReplaceAll(link, "0000:", name[:5])
	place = strings.ReplaceAll(place, "pci0000", "pci"+name[:4])
	from, to := filepath.Join(tree, "sys/bus/pci/devices", link), filepath.Join(root, "sys/bus/pci/devices", place)
	if err := os.MkdirAll(to, 0o755); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() {
			continue
		}
		content, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, e.Name()), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(place, filepath.Join(root, "sys/bus/pci/devices", name)); err != nil {
		t.Fatal(err)
	}
}
