package apply

import (
	"encoding/json"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name         string
		kinds        []Kind
		wrote, would fabric.Status // of an apply, of a dry run
	}{
		{"nothing to do", []Kind{Same}, fabric.Pass, fabric.Pass},
		{"no file", nil, fabric.Unknown, fabric.Unknown},
		{"changes", []Kind{Same, Create}, fabric.Pass, fabric.Fail},
		{"unreadable", []Kind{Same, Unknown}, fabric.Unknown, fabric.Unknown},
		{"unreadable and changes", []Kind{Unknown, Update}, fabric.Unknown, fabric.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a Applied
			for _, k := range c.kinds {
				a.Changes = append(a.Changes, Change{Kind: k})
			}
			if wrote, would := a.judge(false), a.judge(true); wrote != c.wrote || would != c.would {
				t.Errorf("%v and %v, want %v and %v", wrote, would, c.wrote, c.would)
			}
		})
	}
}

// What is not in effect fails, however many files are as planned.
func TestJudgeOfWhatIsNotInEffect(t *testing.T) {
	same := []Change{{Kind: Same}}
	for _, c := range []struct {
		name         string
		applied      Applied
		wrote, would fabric.Status
	}{
		{"activated", Applied{Changes: same, Activation: &Activation{Network: ByNetlink, Skipped: []string{"kernel.x: of the machine"}}}, fabric.Pass, fabric.Pass},
		{"pending", Applied{Changes: same, Activation: &Activation{Network: ByNetlink, Pending: []string{"eth1: is down"}}}, fabric.Fail, fabric.Fail},
		{"drift", Applied{Changes: same, Drift: []string{"eth1: is down"}}, fabric.Pass, fabric.Fail},
		{"interrupted before", Applied{Changes: same, Interrupted: true}, fabric.Pass, fabric.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			if wrote, would := c.applied.judge(false), c.applied.judge(true); wrote != c.wrote || would != c.would {
				t.Errorf("%v and %v, want %v and %v", wrote, would, c.wrote, c.would)
			}
		})
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		name     string
		statuses []fabric.Status
		want     fabric.Status
	}{
		{"no target", nil, fabric.Unknown},
		{"unknown, then pass", []fabric.Status{fabric.Unknown, fabric.Pass}, fabric.Unknown},
		{"not applicable, then pass", []fabric.Status{fabric.NotApplicable, fabric.Pass}, fabric.Pass},
		{"all pass", []fabric.Status{fabric.Pass, fabric.Pass}, fabric.Pass},
		{"a switch of the lab", []fabric.Status{fabric.Pass, fabric.NotApplicable}, fabric.Pass},
		{"a switch that cannot be applied", []fabric.Status{fabric.Pass, fabric.Unknown}, fabric.Unknown},
		{"changes pending too", []fabric.Status{fabric.Unknown, fabric.Fail}, fabric.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			var results []Applied
			for _, s := range c.statuses {
				results = append(results, Applied{Status: s})
			}
			if got := Worst(results); got != c.want {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
}

// Only an answer about the node and each of its files is believed, with the status that follows from it.
func TestAccept(t *testing.T) {
	const head = `{"apiVersion":"railwright.dev/v1alpha1","kind":"ApplyResult"`
	b := Bundle{Node: "host1", Artifacts: []fabric.Artifact{artifact("/etc/a", "x", 0o600), artifact("/etc/b", "y", 0o600)}}
	for _, c := range []struct{ name, answer, err string }{
		{"right", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a","kind":"same"},{"path":"/etc/b","kind":"create"}]}}`, ""},
		{"nothing", ``, "line 1: unexpected end of JSON input"},
		{"an empty object", `{}`, `is kind "" in version "", not "ApplyResult" in "railwright.dev/v1alpha1"`},
		{"null", `null`, `is kind "" in version "", not "ApplyResult" in "railwright.dev/v1alpha1"`},
		{"another kind", `{"apiVersion":"railwright.dev/v1alpha1","kind":"Facts"}`, `is kind "Facts" in version "railwright.dev/v1alpha1", not "ApplyResult" in "railwright.dev/v1alpha1"`},
		{"without a result", head + `}`, `the answer is about ""`},
		{"null for a result", head + `,"applied":null}`, `the answer is about ""`},
		{"another node", head + `,"applied":{"node":"host2"}}`, `the answer is about "host2"`},
		{"no files", head + `,"applied":{"node":"host1","status":"pass"}}`, "the answer has 0 files of 2"},
		{"a file is missing", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a","kind":"same"}]}}`, "the answer has 1 file of 2"},
		{"another file", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a","kind":"same"},{"path":"/etc/c","kind":"same"}]}}`,
			`the answer has "same" for "/etc/c" instead of a change of "/etc/b"`},
		{"an unknown change", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a","kind":"refused by me"},{"path":"/etc/b","kind":"same"}]}}`,
			`kind "refused by me": unknown; known: ["same" "create" "update" "replace" "restore" "remove" "unknown"]`},
		{"a change of a rollback", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a","kind":"remove"},{"path":"/etc/b","kind":"same"}]}}`,
			`the answer has "remove" for "/etc/a" instead of a change of "/etc/a"`},
		{"without a kind", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a"},{"path":"/etc/b","kind":"same"}]}}`,
			`the answer has "" for "/etc/a" instead of a change of "/etc/a"`},
		{"a status that does not follow", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a","kind":"unknown"},{"path":"/etc/b","kind":"same"}]}}`,
			"the answer says pass, its content says unknown"},
		{"pending, and a pass", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a","kind":"same"},{"path":"/etc/b","kind":"same"}],"activation":{"network":"netlink","pending":["eth1: is down"],"proofs":[{"path":"/etc/a","level":"rendered","reason":"x"},{"path":"/etc/b","level":"run","by":["x"]}]}}}`,
			"the answer says pass, its content says fail"},
		{"activated, and nothing proved", head + `,"applied":{"node":"host1","status":"pass","changes":[{"path":"/etc/a","kind":"same"},{"path":"/etc/b","kind":"same"}],"activation":{"network":"netlink","proofs":null}}}`,
			"the answer has 0 proofs of 2"},
		{"a level that there is not", head + `,"applied":{"node":"host1","activation":{"network":"netlink","proofs":[{"path":"/etc/a","level":"proved"}]}}}`,
			`level of proof "proved": unknown; known: ["rendered" "parsed" "run"]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Result
			err := fabric.Decode([]byte(c.answer), ResultKind, &r)
			if err == nil {
				_, err = b.Accept(r)
			}
			if (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("%v, want %q", err, c.err)
			}
		})
	}
}

// A node's own answer is accepted.
func TestNodeAnswersWhatIsAccepted(t *testing.T) {
	b := Bundle{Node: "host1", Artifacts: []fabric.Artifact{artifact(t.TempDir()+"/etc/a", "x", 0o600)}}
	for _, dryRun := range []bool{true, false, true} {
		b.DryRun = dryRun
		r, err := Node(t.Context(), b, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back Result
		if err := fabric.Decode(text, ResultKind, &back); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Accept(back); err != nil {
			t.Errorf("dry run %v: %v", dryRun, err)
		}
	}
}

// A node refuses a bundle that is not whole, and writes nothing of it.
func TestBundleThatIsNotWhole(t *testing.T) {
	for _, c := range []struct {
		name, err string
		change    func(b *Bundle)
	}{
		{"no node", "bundle: names no node", func(b *Bundle) { b.Node = "" }},
		{"no files", "bundle: has no files", func(b *Bundle) { b.Artifacts = nil }},
		{"a relative path", `bundle: path "etc/a": not an absolute path`, func(b *Bundle) { b.Artifacts[1].Path = "etc/a" }},
		{"a path that leads away", `bundle: path "/etc/../a": not an absolute path`, func(b *Bundle) { b.Artifacts[1].Path = "/etc/../a" }},
		{"no mode", "mode 0: not permissions", func(b *Bundle) { b.Artifacts[1].Mode = 0 }},
		{"a mode of another kind", "mode 04755: not permissions", func(b *Bundle) { b.Artifacts[1].Mode = 0o4755 }},
		{"no content", "its content does not have the SHA-256", func(b *Bundle) { b.Artifacts[1].Content = nil }},
		{"changed content", "its content does not have the SHA-256", func(b *Bundle) { b.Artifacts[1].Content[0] ^= 1 }},
	} {
		for _, dryRun := range []bool{false, true} {
			t.Run(c.name, func(t *testing.T) {
				root := t.TempDir()
				b := Bundle{Node: "host1", DryRun: dryRun, Artifacts: []fabric.Artifact{artifact(root+"/a", "x", 0o600), artifact(root+"/b", "y", 0o600)}}
				c.change(&b)
				r, err := Node(t.Context(), b, root+"/journal")
				if err == nil || !strings.Contains(err.Error(), c.err) || r.Applied.Status != fabric.Unknown {
					t.Errorf("%v, %v, want %q", r.Applied.Status, err, c.err)
				}
				if left := tree(t, root); len(left) != 1 {
					t.Errorf("written: %v", left)
				}
			})
		}
	}
}

// What a lab host has not for itself is never written there.
func TestSharedPath(t *testing.T) {
	for path, shared := range map[string]bool{"/etc/a": false, "/run/a": false, "/var/lib/a": false, "/usr/local/sbin/a": false, "/usr/local/bin/a": true, "/etcetera": true, "/boot/a": true} {
		if got := sharedPath([]fabric.Artifact{{Path: "/etc/first"}, {Path: path}}); (got != "") != shared {
			t.Errorf("%s: %q", path, got)
		}
	}
}
