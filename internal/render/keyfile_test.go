package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// normal returns what NetworkManager's own reader makes of a keyfile and its writer writes: what it did not understand is
// gone then, and its exit status is 0 all the same.
func normal(t *testing.T, nmcli string, text []byte) string {
	t.Helper()
	c := exec.Command(nmcli, "--offline", "connection", "modify")
	c.Stdin = strings.NewReader(string(text))
	out, err := c.CombinedOutput()
	if err != nil {
		return err.Error() + ": " + string(out)
	}
	return string(out)
}

// settings are the lines of a keyfile without comments, blank lines and empty sections.
func settings(text string) string {
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		if n := len(kept); line[0] == '[' && n > 0 && kept[n-1][0] == '[' {
			kept = kept[:n-1]
		}
		kept = append(kept, line)
	}
	for len(kept) > 0 && kept[len(kept)-1][0] == '[' {
		kept = kept[:len(kept)-1]
	}
	return strings.Join(kept, "\n")
}

func TestKeyfileReadByNetworkManager(t *testing.T) {
	nmcli := program(t, "nmcli")
	if out := normal(t, nmcli, []byte("[connection]\nid=x\ntype=ethernet\n")); !strings.Contains(out, "id=x") {
		t.Skipf("nmcli reads no keyfile without its service here (NetworkManager 1.40 and later do): %s", out)
	}
	for _, scheme := range []fabric.Scheme{fabric.P2P31, fabric.Rail24, fabric.Flat} {
		for _, nic := range node(scheme, eight()...).NICs {
			a := Keyfile(9000, scheme, "host1", nic)
			if got, want := settings(normal(t, nmcli, a.Content)), settings(string(a.Content)); got != want {
				t.Errorf("%s: NetworkManager makes of\n%s\nthis:\n%s", scheme, want, got)
			}
		}
	}
	good := Keyfile(9000, fabric.Rail24, "host1", node(fabric.Rail24, "eth1").NICs[0])
	for _, bad := range [][2]string{
		{"mtu=", "mtuu="}, {"10.64.0.1/24", "10.64.0.1/33"}, {"table 101", "tabel 101"}, {"table=101", "table=x"}, {"type=ethernet", "type=ethernett"},
		{"method=manual", "method=manuall"}, {"0.0.0.0/0,10.64.0.254", "0.0.0.0/0,10.64.0.2545"}, {"priority 10101", "priority -1"}, {"uuid=", "uuid=z"},
	} {
		spoiled := spoil(t, good, bad[0], bad[1])
		if settings(normal(t, nmcli, spoiled.Content)) == settings(string(spoiled.Content)) {
			t.Errorf("NetworkManager takes %q as it is", bad[1])
		}
	}
}

// NetworkManager prints its configuration as it understood it.
func TestUnmanagedReadByNetworkManager(t *testing.T) {
	manager := program(t, "NetworkManager")
	root := t.TempDir()
	read := func(a fabric.Artifact) (string, error) {
		place(t, root, a)
		empty := filepath.Join(root, "empty.conf")
		if err := os.WriteFile(empty, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(manager, "--print-config", "--config", empty, "--config-dir", root+"/etc/NetworkManager/conf.d",
			"--system-config-dir", root+"/none", "--intern-config", root+"/intern.conf").CombinedOutput()
		return string(out), err
	}
	good := Unmanaged(node(fabric.P2P31, "eth1", "eth2.7"))
	if out, err := read(good); err != nil || !strings.Contains(out, "\nunmanaged-devices=interface-name:=eth1,interface-name:=eth2.7\n") {
		t.Errorf("NetworkManager does not list the devices: %v\n%s", err, out)
	}
	if out, err := read(spoil(t, good, "[keyfile]", "[keyfile")); err == nil {
		t.Errorf("NetworkManager takes a file without its section:\n%s", out)
	}
}

func TestConnectionUUID(t *testing.T) {
	seen := map[string]bool{}
	for _, name := range [][2]string{{"host1", "eth1"}, {"host1", "eth2"}, {"host2", "eth1"}} {
		u := connectionUUID(name[0], name[1])
		if len(u) != 36 || u[14] != '8' || !strings.Contains("89ab", u[19:20]) || seen[u] {
			t.Errorf("%v: %s", name, u)
		}
		seen[u] = true
	}
}
