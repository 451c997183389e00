package apply

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/host"
)

// diskVariable names the folder of the host inside the mount namespace where TestFullDisk mounts a small disk.
const (
	diskVariable  = "RAILWRIGHT_TEST_DISK"
	smallVariable = "RAILWRIGHT_TEST_SMALL" // what of it is small: "" all, or /etc, or /journal
)

// A full disk changes nothing, whichever of the files and the journal is on it, and whatever it lacks: space or inodes.
func TestFullDisk(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	mount := func(options, on, inside string, env ...string) ([]byte, error) {
		return host.Output(t.Context(), host.Local{}, host.Command{
			Argv: []string{"unshare", "--mount", "sh", "-c", "mkdir -p $2 && mount -t tmpfs -o $1 none $2 && exec " + inside, self, options, on}, Env: env,
		})
	}
	if _, err := mount("size=1m", t.TempDir(), "true"); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	var sizes []string
	for kib := 28; kib <= 160; kib += 4 {
		sizes = append(sizes, fmt.Sprintf("size=%dk", kib))
	}
	for inodes := 8; inodes <= 40; inodes += 2 {
		sizes = append(sizes, fmt.Sprintf("size=1m,nr_inodes=%d", inodes))
	}
	outcomes := map[string]int{}
	for _, of := range []string{"", "/etc", "/journal"} {
		for _, size := range sizes {
			root := emptyRoot(t)
			out, err := mount(size, root+of, "$0 -test.run='^TestOnSmallDisk$' -test.v", diskVariable+"="+root, smallVariable+"="+of, endsAtOnce)
			if err != nil {
				t.Errorf("disk of %s at %q: %v\n%s", size, of, err, out)
			}
			for line := range bytes.Lines(out) {
				if _, outcome, ok := strings.Cut(string(line), "outcome: "); ok {
					outcomes[strings.TrimSpace(outcome)]++
				}
			}
		}
	}
	t.Logf("%d disks: %v", 3*len(sizes), outcomes)
	for _, want := range []string{"no room to apply", "no room to roll back", "room for both"} {
		if outcomes[want] < 5 {
			t.Errorf("%s: only %d disks", want, outcomes[want])
		}
	}
}

// TestOnSmallDisk is the part of TestFullDisk in its mount namespace.
func TestOnSmallDisk(t *testing.T) {
	root := os.Getenv(diskVariable)
	if root == "" {
		t.Skip("is a part of TestFullDisk")
	}
	if err := os.MkdirAll(root+"/etc", 0o755); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("0123456789abcdef", 700) // 11 KiB: three pages
	put(t, root+"/etc/large", large, 0o644)
	before := furnish(t, root)
	artifacts := append(wanted(root, strings.ToUpper(large)), artifact(root+"/etc/large", "small", 0o600))
	if _, err := write(root+"/journal", artifacts); err != nil {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		restored(t, root, before)
		t.Log("outcome: no room to apply")
		return
	}
	// A ballast is where it is neither an entry of the journal nor a file of the host.
	small := root + os.Getenv(smallVariable)
	if small == root+"/journal" {
		small += "/000001"
	}
	free := fill(t, small)
	after := tree(t, root+"/etc")
	_, err := Rollback(root + "/journal")
	if err == nil {
		free()
		restored(t, root, before)
		t.Log("outcome: room for both")
		return
	}
	if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "nothing was rolled back") {
		t.Error(err)
	}
	if diff := cmp.Diff(after, tree(t, root+"/etc")); diff != "" || !slices.Equal(entries(t, root), []string{"000001"}) {
		t.Errorf("after a rollback without room (-before +after), %v:\n%s", entries(t, root), diff)
	}
	free()
	if _, err := Rollback(root + "/journal"); err != nil {
		t.Error(err)
	}
	restored(t, root, before)
	t.Log("outcome: no room to roll back")
}

// fill takes the space and the inodes that are left on a disk, and returns how to give them back.
func fill(t *testing.T, folder string) (free func()) {
	t.Helper()
	ballast := filepath.Join(folder, "ballast")
	if err := os.Mkdir(ballast, 0o700); err != nil {
		return func() {} // full already
	}
	var err error
	for i := 0; err == nil && i < 1000; i++ {
		var content []byte
		if i == 0 {
			content = make([]byte, 2<<20) // as much of it as there is room for
		}
		if err = os.WriteFile(filepath.Join(ballast, strconv.Itoa(i)), content, 0o600); i == 0 {
			err = nil
		}
	}
	return func() {
		if err := os.RemoveAll(ballast); err != nil {
			t.Fatal(err)
		}
	}
}
