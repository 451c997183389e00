package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// plantedTruth is one entry of testdata/planted/index.json, or of tables/index.json there.
type plantedTruth struct {
	Name    string   `json:"name"`
	Log     string   `json:"log"`
	Table   string   `json:"table"`
	Kind    string   `json:"kind"`
	Effect  string   `json:"effect"`
	Causes  []string `json:"causes"`
	Control string   `json:"control"`
	Size    int64    `json:"size"`   // bytes
	Before  *float64 `json:"before"` // GB/s, out of place, at Size
	After   *float64 `json:"after"`  // GB/s, of the control at Size
}

// lostShare is the loss at the largest size from which a run counts as slower, as the README there says.
const lostShare = 0.10

var tagOfMPI = regexp.MustCompile(`^\[[^]]*\](<[a-z]*>)?: ?`)

// busbwAt is what the row of a size says, GB/s out of place; false where the file has no such row.
func busbwAt(t *testing.T, path string, size int64) (float64, bool) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Fields(tagOfMPI.ReplaceAllString(s.Text(), ""))
		if len(w) == 13 && w[0] == strconv.FormatInt(size, 10) {
			v, err := strconv.ParseFloat(w[7], 64)
			return v, err == nil
		}
	}
	return 0, false
}

func readPlanted(t *testing.T, path string) map[string]plantedTruth {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []plantedTruth
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	byName := map[string]plantedTruth{}
	for _, p := range list {
		byName[p.Name] = p
	}
	if len(byName) != len(list) || len(list) == 0 {
		t.Fatalf("%s: %d entries, %d names", path, len(list), len(byName))
	}
	return byName
}

// What the index of the planted runs says of bandwidth is what their tables say, for each run and its control.
func TestPlantedIndexAgreesWithTables(t *testing.T) {
	for _, folder := range []string{"testdata/planted", "testdata/planted/tables"} {
		all := readPlanted(t, filepath.Join(folder, "index.json"))
		for name, p := range all {
			if p.Before == nil {
				continue
			}
			if got, ok := busbwAt(t, filepath.Join(folder, p.Log+p.Table), p.Size); !ok || got != *p.Before {
				t.Errorf("%s: %s: before is %v, its table says %v", folder, name, *p.Before, got)
			}
			control := p
			if p.Control != "" {
				control = all[p.Control]
			}
			if got, ok := busbwAt(t, filepath.Join(folder, control.Log+control.Table), p.Size); !ok || p.After == nil || got != *p.After {
				t.Errorf("%s: %s: after is %v, the table of %q says %v", folder, name, p.After, p.Control, got)
			}
		}
	}
}

// A run is called sick because of what it measured or because it failed, and every log is there and small.
func TestPlantedKindsFollowFromRuns(t *testing.T) {
	all := readPlanted(t, "testdata/planted/index.json")
	for name, p := range all {
		if info, err := os.Stat(filepath.Join("testdata/planted", p.Log)); err != nil || info.Size() == 0 || info.Size() > 60<<10 {
			t.Errorf("%s: log %q: missing, empty or above 60 KiB: %v", name, p.Log, err)
		}
		if healthy := p.Kind == "healthy"; healthy != (p.Effect == "none") || healthy != (len(p.Causes) == 1 && p.Causes[0] == "healthy") {
			t.Errorf("%s: kind %q, effect %q, causes %v do not agree", name, p.Kind, p.Effect, p.Causes)
		}
		slow := p.Before != nil && *p.Before < (1-lostShare)**p.After
		if slow != (p.Effect == "slower") {
			t.Errorf("%s: effect %q, before %v, after %v", name, p.Effect, p.Before, p.After)
		}
	}
	logs, err := filepath.Glob("testdata/planted/*.log")
	if err != nil || len(logs) != len(all) {
		t.Errorf("%d logs, %d entries: %v", len(logs), len(all), err)
	}
}
