package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/nccllint"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/topology"
)

// topologyFiles are all topology files of the tests: written ones, dumps of NCCL, a scanned one, and those that NCCL
// was given on two H200.
func topologyFiles(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{
		"../nccllint/testdata/xml/*.xml", "../nccllint/testdata/xml/*/*.xml", "../ncclxml/testdata/*.xml", "../ncclgraph/testdata/system/*.xml",
		"../collective/testdata/*.xml", "../../test/accuracy/testdata/h200x2/*.xml",
	} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files[name] = string(text)
		}
	}
	runs, err := txtar.ParseFile("../nccllint/testdata/nccl/h200x2.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range runs.Files {
		if strings.HasSuffix(f.Name, ".xml") {
			files["h200x2/"+f.Name] = string(f.Data)
		}
	}
	return files
}

// failLine is a failure as the text names it: at the beginning of a line.
var failLine = regexp.MustCompile(`(?m)^FAIL\b`)

// agreement lints a text in both forms and returns the exit status on which words, JSON and status agree.
func agreement(t *testing.T, cat *catalog.Catalog, what, text string) int {
	t.Helper()
	files := []nccllint.File{{Name: "topo.xml", Text: []byte(text)}}
	statusOf := func(output string) (int, string) {
		var out bytes.Buffer
		a := &app{stdout: &screen{to: &out}, stderr: &screen{to: &out}, output: output}
		err := a.lint(files, cat)
		var v verdict
		if err != nil && !errors.As(err, &v) {
			t.Fatalf("%s: %v", what, err)
		}
		return int(v), out.String()
	}
	status, words := statusOf("text")
	inJSON, document := statusOf("json")
	var found fabric.Findings
	if err := json.Unmarshal([]byte(document), &found); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	_, refused := ncclxml.Parse([]byte(text))
	switch failed := failLine.MatchString(words); {
	case status != inJSON || (found.Summary.Fail > 0) != (status == exitFail):
		t.Errorf("%s: exit status %d, in JSON %d with %+v", what, status, inJSON, found.Summary)
	case failed != (status == exitFail):
		t.Errorf("%s: exit status %d under the words:\n%s", what, status, words)
	case refused != nil && status != exitFail:
		t.Errorf("%s: exit status %d, NCCL: %v", what, status, refused)
	case status == exitPass && (found.Summary.Unknown > 0 || found.Summary.Pass == 0):
		t.Errorf("%s: passes with %+v", what, found.Summary)
	}
	return status
}

// everyNth is the step through what is damaged: a sample over the whole for the race detector, otherwise all.
func everyNth() int {
	if testing.Short() {
		return 20
	}
	return 1
}

// mutations change one line.
func mutations() map[string]func(line string) string {
	return map[string]func(string) string{
		"dropped": func(string) string { return "" },
		"halved":  func(line string) string { return line[:len(line)/2] + "\n" },
		"doubled": func(line string) string { return line + line },
	}
}

// Every line of every topology file is dropped, halved and doubled: FAIL is printed where the command leaves with 1, and
// only there; what NCCL refuses never passes. The counts are those of docs/reliability.md.
func TestTopologyDamageWordsAndStatusAgree(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	files := topologyFiles(t)
	counts := map[string][]int{"dropped": make([]int, 3), "halved": make([]int, 3), "doubled": make([]int, 3)}
	lines := 0
	for name, text := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			agreement(t, cat, "whole", text)
			if strings.HasPrefix(name, "h200x2/") && name != "h200x2/base.xml" {
				return // a damaged base.xml already
			}
			all := slices.Collect(strings.Lines(text))
			lines += len(all)
			for how, mutated := range mutations() {
				for i := 0; i < len(all); i += everyNth() {
					line := all[i]
					changed := slices.Concat(all[:i:i], []string{mutated(line)}, all[i+1:])
					counts[how][agreement(t, cat, how+" line "+strings.TrimSpace(line), strings.Join(changed, ""))]++
				}
			}
		})
	}
	if testing.Short() {
		return // the page counts all
	}
	page, err := os.ReadFile("../../docs/reliability.md")
	if err != nil {
		t.Fatal(err)
	}
	for how, c := range counts {
		// The tests above found no disagreement and nothing that NCCL refuses and that passes.
		if row := fmt.Sprintf("\n| %s | %d | %d | %d | 0 | 0 |\n", how, c[0], c[1], c[2]); !strings.Contains(string(page), row) {
			t.Errorf("docs/reliability.md has no row %q for %d files and %d lines", row, len(files), lines)
		}
	}
}

// What --fix leaves behind has the exit status with which it ends.
func TestTopologyFixStatus(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range topologyFiles(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			fixed, _, err := nccllint.Fix([]byte(text), cat)
			status := exitPass
			var left *nccllint.LeftError
			if errors.As(err, &left) {
				var v verdict
				errors.As(exitOf(left.Status), &v)
				status = int(v)
			}
			if got := agreement(t, cat, "fixed", string(fixed)); got != status {
				t.Errorf("fixed with status %d, linted with %d", status, got)
			}
		})
	}
}

// entryStart is the beginning of an entry of a recording.
var entryStart = regexp.MustCompile(`(?m)^-- (?:read|list|link) \w+ (\S+) --$`)

// sealed is the body of a recording with its end.
func sealed(body string) []byte {
	entries := regexp.MustCompile(`(?m)^-- .* --$`).FindAllString(body, -1)
	return fmt.Appendf(nil, "%s-- end --\nentries %d\nsha256 %x\n", body, len(entries), sha256.Sum256([]byte(body)))
}

// Every device entry of the recordings is lost or denied: topo nccl never writes another file with exit status 0 and
// the same words as before. Another link speed or NUMA node read from elsewhere would be said.
func TestTopologyOfADamagedRecording(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, rccl := range map[string]bool{"infiniband": false, "roce": true} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("../check/testdata/recordings/" + name + ".txtar")
			if err != nil {
				t.Fatal(err)
			}
			body, _, _ := strings.Cut(string(text), "-- end --\n")
			file := filepath.Join(t.TempDir(), "host1.txtar")
			written := func(body string) result {
				if err := os.WriteFile(file, sealed(body), 0o600); err != nil {
					t.Fatal(err)
				}
				var stdout, stderr bytes.Buffer
				a := &app{stdout: streamTo(&stdout), stderr: streamTo(&stderr), files: files.Disk{}}
				f, err := oneNode(t.Context(), a.files, file)
				if err == nil {
					err = a.ncclFile(topology.FromFacts(f, cat), topoNCCLOptions{rccl: rccl})
				}
				var v verdict
				if err != nil && !errors.As(err, &v) {
					return result{exitUsage, "", err.Error()}
				}
				return result{int(v), stdout.String(), stderr.String()}
			}
			whole := written(body)
			if whole.status != exitPass {
				t.Fatal(whole)
			}
			starts := regexp.MustCompile(`(?m)^-- `).FindAllStringIndex(body, -1)
			tried, unknown := 0, 0
			for i := 0; i < len(starts); i += everyNth() {
				at, end := starts[i], len(body)
				if i+1 < len(starts) {
					end = starts[i+1][0]
				}
				m := entryStart.FindStringSubmatch(strings.TrimSuffix(body[at[0]:end], "\n"))
				if m == nil || !strings.HasPrefix(m[1], "/sys/bus/pci/") && !strings.HasPrefix(m[1], "/sys/class/infiniband") {
					continue
				}
				operation := strings.Fields(body[at[0]:end])[1]
				denied := fmt.Sprintf("-- %s error %s --\n{\"op\":\"open\",\"path\":%q,\"reason\":\"permission denied\",\"errno\":13}\n", operation, m[1], m[1])
				for _, instead := range []string{"", denied} {
					tried++
					r := written(body[:at[0]] + instead + body[end:])
					switch {
					case r.status == exitPass && r.stdout != whole.stdout && r.stderr == whole.stderr:
						t.Errorf("%s lost: another file with the same words\n%s", m[1], cmp.Diff(whole.stdout, r.stdout))
					case r.status == exitUnknown && !strings.Contains(r.stderr, "could not be read"):
						t.Errorf("%s lost: %s", m[1], r)
					case r.status == exitUnknown:
						unknown++
					}
				}
			}
			if !testing.Short() && (tried < 100 || unknown < 20) {
				t.Errorf("%d tried, %d unknown", tried, unknown)
			}
			t.Logf("%d entries lost or denied: %d unknown", tried, unknown)
		})
	}
}
