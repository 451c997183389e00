package run

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"railwright.dev/railwright/internal/fabric"
)

// The facts of a run hold kernel logs and serial numbers: others read none of it, whatever the umask is, and not after a
// file of an older version was replaced either.
func TestRunFolderIsPrivate(t *testing.T) {
	defer unix.Umask(unix.Umask(0))
	base := filepath.Join(t.TempDir(), "deep", "runs")
	f, err := New(base, "pod1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(f.Path(ReportFile), []byte("of an older version"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		f.WriteFile(ReportFile, []byte("page")), f.Write(MeshFile, 7), f.WriteFacts(&fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: "host1"}),
		WriteArtifacts(f.Path(Artifacts), artifacts("x"), index),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	err = filepath.WalkDir(filepath.Dir(base), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		inArtifacts := len(name) > len(f.Path(Artifacts)) && name[:len(f.Path(Artifacts))] == f.Path(Artifacts)
		want := map[bool]fs.FileMode{true: 0o700, false: 0o600}[d.IsDir()]
		// What is rendered has the modes that it gets on its target; nobody else can enter the folder above it.
		if !inArtifacts && name != f.Path(Artifacts) && info.Mode().Perm() != want {
			t.Errorf("%s: %v, want %v", name, info.Mode(), want)
		}
		seen++
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d files and folders, %v", seen, err)
	}
}
