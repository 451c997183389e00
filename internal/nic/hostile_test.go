package nic

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// ourTexts are what tools print, in the forms that the readers of package facts are tested with.
func ourTexts(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("../facts/testdata/tools/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no texts", err)
	}
	out := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		out[filepath.Base(file)] = string(text)
	}
	return out
}

// TestHalfOutputs cuts each text behind each line: what is read then is what the whole says, or less; never another value.
func TestHalfOutputs(t *testing.T) {
	for name, text := range ourTexts(t) {
		for _, r := range Readers() {
			whole, err := r.Read(text, "")
			if err != nil {
				continue
			}
			lines := strings.SplitAfter(text, "\n")
			for n := range lines {
				part, err := r.Read(strings.Join(lines[:n], ""), "")
				if err != nil {
					continue
				}
				for i, p := range part {
					if i < len(whole) {
						noneOther(t, name, n, whole[i].QoS, p.QoS)
					}
				}
			}
		}
	}
}

func noneOther(t *testing.T, name string, lines int, whole, part fabric.QoS) {
	t.Helper()
	differ := func(what string) { t.Errorf("%s: %d lines read as %s that the whole does not say", name, lines, what) }
	if part.Trust != "" && part.Trust != whole.Trust {
		differ("trust " + part.Trust)
	}
	for dscp, p := range part.DSCP {
		if whole.DSCP[dscp] != p {
			differ("a DSCP value")
		}
	}
	same := func(what string, part, whole *[]int) {
		if part != nil && (whole == nil || len(*part) != len(*whole)) {
			differ(what)
		}
	}
	same("PFC", part.PFC, whole.PFC)
	same("ECN", part.ECN, whole.ECN)
	for i, class := range part.Queues {
		if whole.Queues[i] != class {
			differ("queues")
		}
	}
	for i, s := range part.Schedulers {
		if s.Algorithm != "" && s.Algorithm != whole.Schedulers[i].Algorithm {
			differ("a scheduler")
		}
	}
}

// TestForeignOutputs gives each reader the texts of every other program, and what contradicts itself.
func TestForeignOutputs(t *testing.T) {
	own := map[string]string{
		"niccli.txt": "niccli", "niccli-i.txt": "niccli", "mlnx_qos.txt": "mlnx_qos", "mlxconfig.txt": "mlxconfig", "nicctl.txt": "nicctl", "nicctl-dcqcn.txt": "nicctl",
		"mlx5-files.txt": "mlx5 files", "cma_roce_tos.txt": "cma_roce_tos", "dcb.txt": "dcb", "lldptool.txt": "lldptool", "ethtool-a.txt": "ethtool -a",
	}
	for name, text := range ourTexts(t) {
		for _, r := range Readers() {
			if got, err := r.Read(text, ""); err == nil && own[name] != r.Name {
				t.Errorf("%s took %s for its own: %+v", r.Name, name, got)
			}
		}
	}
	for _, tt := range []struct{ reader, text, says string }{
		{"mlnx_qos", "Priority trust state: perhaps\n", "trust state"},
		{"mlnx_qos", "Priority trust state: dscp\ndscp2prio mapping:\n\tprio:3 dscp:26,\n\tprio:4 dscp:26,\n", "contradicts itself"},
		{"mlnx_qos", "Priority trust state: dscp\nPriority trust state: pcp\n", "several interfaces"},
		{"mlnx_qos", "Priority trust state: dscp\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1\n", "each priority"},
		{"dcb", "prio-pfc 0:on 1:maybe\n", "neither on nor off"},
		{"dcb", "prio-pfc 0:on 1:off\n", "2 of 8"},
		{"dcb", "dscp-prio AF99:3\n", "AF99"},
		{"niccli", "IEEE 8021QAZ PFC TLV:\n         PFC enabled: 8\n", "not a number from 0 to 7"},
		{"niccli", "IEEE 8021QAZ ETS Configuration TLV:\n         PRIO_MAP: 0:0 0:1\n", "there twice"},
		{"niccli", "IEEE 8021QAZ APP TLV:\n         APP#0:\n          Priority: 3\n          Sel: 5\n", "is cut"},
		{"mlxconfig", "Device #1:\nDevice: 0000:18:00.0\nConfigurations: Next Boot New\nSRIOV_EN True(1) True(1)\n", "a change"},
		{"mlxconfig", "Device #1:\nDevice: 0000:18:00.0\nConfigurations: Default Current Next Boot\nSRIOV_EN True(1)\n", "1 values under 3 columns"},
		{"nicctl", "NIC  : 1-2 (0000:06:00.0)\n  PFC priority bitmap       : 0x8\n  PFC no-drop priorities    : 4\n", "contradicts itself"},
		{"ethtool -a", "Pause parameters for eth2:\nRX:\ton\n", "another interface"},
		{"lldptool", "$ lldptool -t -n -i eth1\nIEEE 8021QAZ PFC TLV\n\t PFC enabled: 3\n", "far end"},
	} {
		if got, err := readerNamed(t, tt.reader).Read(tt.text, "eth1"); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, %+v; want %q", tt.reader, err, got, tt.says)
		}
	}
}

// TestManyInterfaces reads ten thousand of them.
func TestManyInterfaces(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 {
		b.WriteString("$ mlnx_qos -i e" + string(rune('a'+i%26)) + strings.Repeat("x", i%9) + "\nPriority trust state: dscp\nPFC configuration:\n\tpriority    0   1   2   3   4   5   6   7\n\tenabled     0   0   0   1   0   0   0   0   \n")
	}
	got, err := readerNamed(t, "mlnx_qos").Read(b.String(), "")
	if err != nil || len(got) != 10_000 {
		t.Fatalf("%d interfaces, %v", len(got), err)
	}
}

func TestOptionWords(t *testing.T) {
	for value, want := range map[string]string{
		"True": "on", "Enabled (IEEE only)": "on", "RoCE": "on", "1": "on", "ALL(2)": "on", "False(0)": "off", "Disabled": "off", "default": "off", "0x0": "off", "perhaps": "", "": "",
	} {
		on, got := isOn(value), ""
		if on != nil {
			got = map[bool]string{true: "on", false: "off"}[*on]
		}
		if got != want {
			t.Errorf("%q is %q, want %q", value, got, want)
		}
	}
}
