package bundle

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
)

// named is this machine under another name, with the tools of a folder.
type named struct {
	host.Local
	name string
}

func (n named) Name() string { return n.name }

// onlyTools leaves nothing on the path but these shell scripts.
func onlyTools(t *testing.T, scripts map[string]string) {
	t.Helper()
	folder := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder)
}

func testTime() time.Time { return time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC) }

func collect(t *testing.T, o Options) (map[string]string, *Index, []byte) {
	t.Helper()
	o.Tool, o.At, o.Doing = "v1", testTime(), func(string) {}
	archive, x, _, err := Collect(t.Context(), named{name: "acme-gpu17"}, o)
	if err != nil {
		t.Fatal(err)
	}
	return unpack(t, archive), x, archive
}

func unpack(t *testing.T, archive []byte) map[string]string {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for in := tar.NewReader(unzipped); ; {
		head, err := in.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		if head.Mode != 0o600 || !filepath.IsLocal(head.Name) || out[head.Name] != "" {
			t.Errorf("member %q, mode %o", head.Name, head.Mode)
		}
		out[head.Name] = string(text)
	}
}

func entry(t *testing.T, x *Index, command string) Entry {
	t.Helper()
	i := slices.IndexFunc(x.Entries, func(e Entry) bool { return e.Command == command })
	if i < 0 {
		t.Fatalf("no entry %q", command)
	}
	return x.Entries[i]
}

func TestEntries(t *testing.T) {
	onlyTools(t, map[string]string{
		"uname":  `echo "Linux $1"; echo "told on standard error" >&2`,
		"lsmod":  `echo "Module Size"; exit 3`,
		"niccli": `echo begun; exec /bin/sleep 100`,
		"ibstat": `while :; do echo "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"; done`,
		"rdma":   `echo "$2"; exec /bin/sleep 100`,
	})
	texts, x, _ := collect(t, Options{Limit: 2 * time.Second})
	const node = "acme-gpu17/"
	for command, want := range map[string]Status{
		"uname -a": Whole, "lsmod": Failed, "niccli --list_devices": Late, "ibstat": Cut, "mst status -v": Absent,
		"rdma dev show": Late, "rdma system show": NotSeen,
	} {
		if e := entry(t, x, command); e.Status != want || (want == Whole) != (e.Reason == "") {
			t.Errorf("%s: %s, %q; want %s", command, e.Status, e.Reason, want)
		}
	}
	if e := entry(t, x, "lsmod"); e.Exit == nil || *e.Exit != 3 || texts[node+e.File] != "$ lsmod\nModule Size\n" {
		t.Errorf("lsmod: %+v, %q", e, texts[node+e.File])
	}
	if text := texts[node+"uname-a.txt"]; text != "$ uname -a\nLinux -a\ntold on standard error\n" {
		t.Errorf("uname: %q", text)
	}
	if text := texts[node+"niccli-list_devices.txt"]; !strings.Contains(text, "begun\n") || !strings.Contains(text, "not all of it: did not end within 2s") {
		t.Errorf("niccli: %q", text)
	}
	if e := entry(t, x, "ibstat"); e.Bytes != maxPiece || !strings.HasSuffix(texts[node+e.File], "it printed more]\n") {
		t.Errorf("ibstat: %+v", e)
	}
	if x.Lacks() < 5 {
		t.Errorf("lacks %d", x.Lacks())
	}
	var again Index
	if err := fabric.Decode([]byte(texts[node+"index.json"]), IndexKind, &again); err != nil || len(again.Entries) != len(x.Entries) {
		t.Errorf("index.json: %v", err)
	}
	for _, words := range []string{"Did not end in time\n  rdma dev show", "rdma system show: not run: rdma did not end in time before", "mst status -v: no such program", "bcm_sosreport"} {
		if !strings.Contains(texts[node+"index.txt"], words) {
			t.Errorf("index.txt has no %q", words)
		}
	}
}

// TestRoundTrip: the facts of a bundle are those of its recording, also redacted.
func TestRoundTrip(t *testing.T) {
	onlyTools(t, map[string]string{"dmesg": `echo "[    1.000000] acme-gpu17 is up"`})
	for name, salt := range map[string][]byte{"plain": nil, "redacted": []byte("salt")} {
		t.Run(name, func(t *testing.T) {
			texts, x, archive := collect(t, Options{Salt: salt})
			file := filepath.Join(t.TempDir(), "b.tar.gz")
			if err := os.WriteFile(file, archive, 0o600); err != nil {
				t.Fatal(err)
			}
			recording := texts[x.Node+"/"+recordingFile]
			replay, err := host.LoadRecording(strings.NewReader(recording))
			if err != nil {
				t.Fatal(err)
			}
			want, _ := json.Marshal(facts.Collect(t.Context(), replay, testTime()))
			for f, err := range facts.LoadFrom(t.Context(), files.Disk{}, file) {
				if err != nil {
					t.Fatal(err)
				}
				if got, _ := json.Marshal(f); string(got) != string(want) {
					t.Errorf("facts of the bundle differ from those of its recording")
				}
			}
			for cut := 1; cut < len(archive); cut += len(archive)/40 + 1 {
				if err := os.WriteFile(file, archive[:cut], 0o600); err != nil {
					t.Fatal(err)
				}
				for f, err := range facts.LoadFrom(t.Context(), files.Disk{}, file) {
					if err == nil {
						t.Fatalf("cut after %d of %d bytes: facts of %s", cut, len(archive), f.Node)
					}
				}
			}
		})
	}
}

// secrets are planted in what tools print.
func secrets() map[string]string {
	return map[string]string{
		"dmesg":       `echo "[    1.000000] systemd[1]: Hostname set to <acme-gpu17>."; echo "[    2.000000] bnxt_en 0000:1d:00.0 eth1: node addr 84:16:0c:aa:bb:cc"; echo "[    3.0] usb 1-1: SerialNumber: USBSER77413"`,
		"journalctl":  `echo "Nov 22 10:00:00 acme-gpu17 lldpd[1]: peer 84:16:0c:aa:bb:cc at 10.77.13.9"`,
		"nvidia-smi":  `echo "    Serial Number                         : 1654922003311"; echo "    GPU UUID                              : GPU-5fd4f087-86f3-7a43-b711-4771313afc50"; echo "    GPU PDI                               : 0x9f3e2c1d7a5b4c33"`,
		"amd-smi":     `echo "        ASIC_SERIAL: 0xBEEF00D15EA5E777"; echo "        PRODUCT_SERIAL: 692411880771"; echo "        UUID: 6fff74b5-0000-1000-806c-aabbccddeeff"`,
		"rocm-smi":    `echo "GPU[0]		: Unique ID: 0x7b3c99d1e2f4a588"; echo "GPU[0]		: Serial Number: PCBSER0099123"`,
		"niccli":      `echo "  Serial Number           : P1400GD2345XYZ1"; echo "  MAC Address : 84:16:0C:AA:BB:CC"`,
		"ethtool":     `echo "	Vendor SN                                 : FIN4477881XQ"; echo "$2 $1"`,
		"ibv_devinfo": `echo "hca_id:	bnxt_re0"; echo "	node_guid:			8616:0cff:fe99:7755"; echo "			GID[  0]:		fe80::8616:cff:fe99:7755"`,
		"ip":          `echo "10.77.13.9 dev eth1 lladdr 84:16:0c:aa:bb:cc REACHABLE"; echo "fd77:13:9::42 dev eth1"`,
		"lldpcli":     `printf '{"lldp":[{"interface":[{"name":"eth1","chassis":[{"id":[{"type":"mac","value":"84:16:0c:aa:bb:cc"}],"name":[{"value":"acmeleaf3"}],"mgmt-ip":[{"value":"10.77.13.250"}]}]}]}]}\n'`,
		"ibstat":      `echo "acmeleaf3 is my leaf, acme-gpu17:eth1"`,
	}
}

// TestRedacted greps every byte of a redacted bundle, names of members included, for what was planted; the same bundle
// without redaction shows that each of them was there.
func TestRedacted(t *testing.T) {
	onlyTools(t, secrets())
	planted := []string{
		"acme-gpu17", "aa:bb:cc", "AA:BB:CC", "10.77.13.9", "10.77.13.250", "1654922003311", "5fd4f087-86f3", "9f3e2c1d7a5b4c33", "BEEF00D15EA5E777",
		"692411880771", "aabbccddeeff", "7b3c99d1e2f4a588", "PCBSER0099123", "P1400GD2345XYZ1", "FIN4477881XQ", "99:7755", "fd77:13:9", "acmeleaf3", "USBSER77413",
	}
	open, _, _ := collect(t, Options{})
	closed, x, _ := collect(t, Options{Salt: []byte("salt")})
	grep := func(texts map[string]string, word string) (found []string) {
		for name, text := range texts {
			if strings.Contains(name, word) || strings.Contains(text, word) {
				found = append(found, name)
			}
		}
		return found
	}
	for _, word := range planted {
		if word != "AA:BB:CC" && len(grep(open, word)) == 0 {
			t.Errorf("%q is not in the open bundle: nothing is proved", word)
		}
		if found := grep(closed, word); len(found) > 0 {
			t.Errorf("%q is in %v", word, found)
		}
	}
	if !x.Redacted || !strings.Contains(closed[x.Node+"/index.txt"], "are replaced") {
		t.Error("the index does not say that it is redacted")
	}
}

func TestCommandsOfNICs(t *testing.T) {
	f := &fabric.Facts{NICs: []fabric.NIC{{Name: "eth1", PCI: "0000:1d:00.1", Driver: "bnxt_en"}, {Name: "veth0"}, {Name: "ib0", PCI: "0001:1a:00.0", Driver: "mlx5_core"}}}
	for range maxNICs {
		f.NICs = append(f.NICs, fabric.NIC{Name: "x", PCI: "0000:00:00.0"})
	}
	all, leftOut := asks(f)
	var lines []string
	for _, a := range all {
		lines = append(lines, strings.Join(a.argv, " "))
	}
	for _, want := range []string{
		"ethtool eth1", "ethtool -S eth1", "niccli --dev 1d:00.1 qos --ets --show", "niccli --dev 1d:00.1 nvm --getoption dcbx_mode --scope 1",
		"niccli --dev 1d:00.1 nvm --getoption performance_profile", "mlxconfig -d 0001:1a:00.0 query",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("no %q", want)
		}
	}
	for _, l := range lines {
		if strings.Contains(l, "setoption") || strings.Contains(l, "veth0") {
			t.Errorf("%q", l)
		}
	}
	if len(leftOut) != 2 {
		t.Errorf("left out: %v", leftOut)
	}
}

func TestInterrupted(t *testing.T) {
	onlyTools(t, map[string]string{"uname": "exec /bin/sleep 100"})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(300*time.Millisecond, cancel)
	start := time.Now()
	if _, _, _, err := Collect(ctx, named{name: "a"}, Options{At: testTime(), Doing: func(string) {}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}
