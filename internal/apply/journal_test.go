package apply

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// entered applies one change, and returns where its entry is.
func entered(t *testing.T, root string) (entry string) {
	t.Helper()
	put(t, root+"/etc/a", "old\n", 0o640)
	if _, err := write(root+"/journal", []fabric.Artifact{artifact(root+"/etc/a", "new\n", 0o644)}); err != nil {
		t.Fatal(err)
	}
	return root + "/journal/000001"
}

// Only a complete entry of this program is believed; anything else restores nothing, and is an error that names it.
func TestRollbackBelievesOnlyAnEntry(t *testing.T) {
	const sum = `"wrote":"0000000000000000000000000000000000000000000000000000000000000000"`
	const head = `{"apiVersion":"railwright.dev/v1alpha1","kind":"JournalEntry"`
	for _, c := range []struct{ name, text, err string }{
		{"nothing", "", "unexpected end of JSON input"},
		{"an empty object", "{}", `is kind ""`},
		{"null", "null", `is kind ""`},
		{"another kind", `{"apiVersion":"railwright.dev/v1alpha1","kind":"Index"}`, `is kind "Index"`},
		{"no files", head + `}`, "has no files"},
		{"an unknown field", head + `,"colour":1}`, `unknown field "colour"`},
		{"a relative path", head + `,"files":[{"path":"a",` + sum + `}]}`, `path "a": not an absolute path`},
		{"a path that leads away", head + `,"files":[{"path":"/a/../b",` + sum + `}]}`, "not an absolute path"},
		{"a path twice", head + `,"files":[{"path":"/no/a",` + sum + `},{"path":"/no/a",` + sum + `}]}`, "listed twice"},
		{"no sum of what was written", head + `,"files":[{"path":"/no/a"}]}`, "is not described completely"},
		{"no sum of what was there", head + `,"files":[{"path":"/no/a","mode":420,` + sum + `}]}`, "is not described completely"},
		{"a device", head + `,"files":[{"path":"/no/a","mode":67109284,` + sum + `}]}`, "is not described completely"},
		{"a relative folder", head + `,"folders":["x"],"files":[{"path":"/no/a",` + sum + `}]}`, `folder "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.WriteFile(entered(t, root)+"/"+entryFile, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			before := tree(t, root)
			_, err := Rollback(root + "/journal")
			if err == nil || !strings.Contains(err.Error(), c.err) || !strings.Contains(err.Error(), root+"/journal/000001") {
				t.Errorf("%v, want %q", err, c.err)
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestRollbackOfADamagedCopy(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(entered(t, root)+"/0", []byte("ol"), 0o600); err != nil {
		t.Fatal(err)
	}
	before := tree(t, root)
	if _, err := Rollback(root + "/journal"); err == nil || !strings.Contains(err.Error(), "is damaged: nothing was rolled back") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("something was changed (-before +after):\n%s", diff)
	}
}

func TestForeignFolderInTheJournal(t *testing.T) {
	for _, name := range []string{"notes", "000002.bak", "0", "-1", "000002.open.draft"} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			entered(t, root)
			if err := os.Mkdir(root+"/journal/"+name, 0o700); err != nil {
				t.Fatal(err)
			}
			before := tree(t, root)
			if _, err := Rollback(root + "/journal"); err == nil || !strings.Contains(err.Error(), `"`+name+`" is not an entry of a journal`) {
				t.Errorf("%v", err)
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// A file that was edited after an apply was killed is not overwritten: both an apply and a rollback say what to do.
func TestEditedAfterAnInterruptedApply(t *testing.T) {
	root := t.TempDir()
	entry := entered(t, root)
	if err := os.Rename(entry, entry+open); err != nil {
		t.Fatal(err)
	}
	put(t, root+"/etc/a", "edited\n", 0o600)
	before := tree(t, root)
	_, rollback := Rollback(root + "/journal")
	_, apply := write(root+"/journal", []fabric.Artifact{artifact(root+"/etc/a", "newer\n", 0o644)})
	for _, err := range []error{rollback, apply} {
		if err == nil || !strings.Contains(err.Error(), `"`+root+`/etc/a": changed since it was applied`) || !strings.Contains(err.Error(), "remove that folder to keep the files as they are now") {
			t.Errorf("%v", err)
		}
	}
	if diff := cmp.Diff(before, tree(t, root)); diff != "" {
		t.Errorf("something was changed (-before +after):\n%s", diff)
	}
	if err := os.RemoveAll(entry + open); err != nil {
		t.Fatal(err)
	}
	if _, err := Rollback(root + "/journal"); !errors.Is(err, ErrNoJournal) {
		t.Errorf("after the advice was followed: %v", err)
	}
}

// A dry run reports an interrupted apply although every file is as planned, and changes nothing.
func TestDryRunAfterAnInterruptedApply(t *testing.T) {
	root := t.TempDir()
	entry := entered(t, root)
	b := Bundle{Node: "host1", DryRun: true, Artifacts: []fabric.Artifact{artifact(root+"/etc/a", "new\n", 0o644)}}
	for _, c := range []struct {
		name, state string
		want        fabric.Status
	}{{"complete", "", fabric.Pass}, {"interrupted", open, fabric.Fail}} {
		t.Run(c.name, func(t *testing.T) {
			if c.state != "" {
				if err := os.Rename(entry, entry+c.state); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, root)
			r, err := Node(t.Context(), b, root+"/journal")
			if err != nil || r.Applied.Status != c.want || r.Applied.Interrupted != (c.state == open) {
				t.Errorf("%+v, %v", r.Applied, err)
			}
			if diff := cmp.Diff(before, tree(t, root)); diff != "" {
				t.Errorf("something was changed (-before +after):\n%s", diff)
			}
		})
	}
}

// A dry run reports what is not in effect although the files are as planned.
func TestDryRunReportsDrift(t *testing.T) {
	root := t.TempDir()
	b := Bundle{Node: "host1", MTU: 9000, Artifacts: []fabric.Artifact{artifact(root+"/a", "x", 0o644)}, Addresses: []fabric.NICAddress{{NIC: "no-such-nic"}}}
	if _, err := Node(t.Context(), b, root+"/journal"); err != nil {
		t.Fatal(err)
	}
	b.DryRun = true
	r, err := Node(t.Context(), b, root+"/journal")
	if diff := cmp.Diff([]string{"no-such-nic: no such interface"}, r.Applied.Drift); diff != "" || err != nil || r.Applied.Status != fabric.Fail {
		t.Errorf("%v, %v (-want +got):\n%s", r.Applied.Status, err, diff)
	}
}
