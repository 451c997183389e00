package pipeline

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/esx"
	"railwright.dev/railwright/internal/esxcheck"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/intake"
)

// TestESXCaptures holds explain against public texts of ESX hosts: what is wrong is named by its cause, what depends on the goal is
// said, what is fine is not blamed.
func TestESXCaptures(t *testing.T) {
	causes := map[string]fabric.CauseID{
		"02": fabric.CauseVMHostSetup, "10": fabric.CauseDeviceFault, "11": fabric.CauseVMHostSetup, "12": fabric.CauseDeviceFault, "13": fabric.CauseVFMissing, "14": fabric.CauseMMIOSpace,
		"15": fabric.CauseMMIOSpace, "16": fabric.CausePCIeHotplug, "17": fabric.CauseInterruptVectors, "18": fabric.CauseInterruptVectors, "19": fabric.CauseATSDisabled,
		"20": fabric.CauseMMIOSpace, "21": fabric.CauseVMHostSetup, "22": fabric.CausePassthroughMissing, "25": fabric.CauseVMHostSetup, "26": fabric.CausePassthroughReset,
		"27": fabric.CauseVMHostSetup, "29": fabric.CauseVMHostSetup, "31": fabric.CauseVMIOMMU, "33": fabric.CauseESXiDriverUnloaded, "34": fabric.CauseDeviceFault,
	}
	said := map[string]string{
		"01": "SR-IOV is off", "04": "vmnic3", "05": "no virtual function is listed", "06": "max_vfs", "07": "no fault", "08": "max_vfs", "28": "writes 512 by itself",
	}
	in := knowledge(t)
	if _, err := os.Stat(filepath.Join(captures, "index.json")); err != nil {
		t.Skip("no captures beside the repository: ", err)
	}
	for n := 1; n <= 36; n++ {
		number := fmt.Sprintf("%02d", n)
		t.Run(number, func(t *testing.T) {
			x, rules := explained(t, in, filepath.Join(captures, number+".txt"))
			first := &x.Results[0]
			switch want := causes[number]; {
			case want != "":
				if len(first.Causes) == 0 || first.Causes[0].ID != want || first.Verdict == fabric.VerdictUnknown {
					t.Errorf("not named %s: %+v", want, x.Results)
				}
				return
			case number == "32": // two causes that a guest cannot tell apart
				return
			}
			if len(rules) > 0 || first.Verdict != fabric.VerdictUnknown || !strings.Contains(first.Why, said[number]) {
				t.Errorf("blamed, or not said %q: %v %+v", said[number], rules, first)
			}
		})
	}
}

// passing are the rules that pass on a text, each with its subject.
func passing(text string) (out []string) {
	r := esx.Read(map[string][]byte{"text": []byte(text)})
	if r.ESX == nil {
		return nil
	}
	in := &esxcheck.Input{Hosts: []*fabric.Facts{{Node: "esx1", ESX: r.ESX, PCI: r.PCI, Missing: r.Missing}}}
	for _, rule := range esxcheck.Rules() {
		for _, f := range rule.Judge(in) {
			if f.Status == fabric.Pass && rule.ID != "esx-collected" && rule.ID != "esx-read" {
				out = append(out, rule.ID)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestESXCapturesMutated cuts each text behind every line, drops each line and garbles each value: nothing passes that did not pass in
// the whole text. A fault whose own line is dropped may leave the rest fine: then the rule has to say so by itself.
func TestESXCapturesMutated(t *testing.T) {
	for n := 1; n <= 36; n++ {
		number := fmt.Sprintf("%02d", n)
		raw, err := os.ReadFile(filepath.Join(captures, number+".txt"))
		if err != nil {
			t.Skip("no captures beside the repository: ", err)
		}
		whole := passing(string(raw))
		lines := strings.SplitAfter(string(raw), "\n")
		tell := func(how string, i int, text string) {
			for _, id := range passing(text) {
				if !slices.Contains(whole, id) {
					t.Errorf("%s %s line %d: %s passes:\n%s", number, how, i+1, id, lines[i])
				}
			}
		}
		for i, line := range lines {
			tell("cut behind", i, strings.Join(lines[:i+1], ""))
			tell("without", i, strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""))
			words := strings.Fields(line)
			if len(words) > 0 {
				garbled := slices.Clone(lines)
				garbled[i] = strings.Replace(line, words[len(words)-1], "#?", 1)
				tell("garbled", i, strings.Join(garbled, ""))
			}
		}
	}
}

// TestPartitionsMutated does the same with lists of partitions: none makes the rule about them pass.
func TestPartitionsMutated(t *testing.T) {
	for _, number := range []string{"86", "87"} {
		raw, err := os.ReadFile(filepath.Join(captures, number+".txt"))
		if err != nil {
			t.Skip("no captures beside the repository: ", err)
		}
		lines := strings.SplitAfter(string(raw), "\n")
		for i, line := range lines {
			if strings.Contains(line, "]# ") {
				continue // without the prompt what follows is of the same machine, and the list fits
			}
			for how, text := range map[string]string{
				"cut behind": strings.Join(lines[:i+1], ""), "without": strings.Join(slices.Delete(slices.Clone(lines), i, i+1), ""),
				"garbled": strings.Join(slices.Concat(lines[:i], []string{strings.TrimRight(line, "0123456789,\n") + "#\n"}, lines[i+1:]), ""),
			} {
				file := filepath.Join(t.TempDir(), "text")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				read, err := intake.Read(t.Context(), files.Disk{}, []string{file}, strings.NewReader(""), func(string) {})
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range read.Facts {
					found, err := Findings(t.Context(), Checked{}, []*fabric.Facts{f.Facts})
					if err != nil {
						t.Fatal(err)
					}
					if slices.ContainsFunc(found.Findings, func(f fabric.Finding) bool { return f.ID == "nvlink-partition" && f.Status == fabric.Pass }) {
						t.Errorf("%s %s line %d passes", number, how, i+1)
					}
				}
			}
		}
	}
}
