package podtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A real mpirun starts ranks over a real SSH server in two pods of namespaces, with exactly the capabilities of the pods: each rank has
// the RDMA devices of its own pod. Without one of those capabilities, or with another key in a pod, it does not.
func TestRanksOverSSH(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("pods of namespaces need root")
	}
	for _, tool := range []string{"mpirun", "setpriv", "unshare", "nsenter", "ip", "ssh-keygen", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed (openmpi-bin, openssh-server, util-linux, iproute2)", tool)
		}
	}
	if err := exec.Command("unshare", "-n", "-m", "-u", "ip", "link", "add", "br0", "type", "bridge").Run(); err != nil {
		t.Skipf("network namespaces with bridges: %v", err)
	}
	pod := testShapes()["plugins"].worker("")
	var capabilities []string
	for _, c := range pod.Containers[0].SecurityContext.Capabilities.Add {
		capabilities = append(capabilities, "+"+strings.ToLower(string(c)))
	}
	folder := twoPods(t)
	output, err := ranks(folder, capabilities)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for i := range 4 {
		// 440c0: bits 6, 7, 14 and 18 of include/uapi/linux/capability.h.
		want := fmt.Sprintf("at pod-%d rank %d =mlx5_%d CapEff: 00000000000440c0", i/2, i, i/2)
		if !strings.Contains(strings.ReplaceAll(output, "\t", " "), want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	for i, c := range capabilities {
		if c == "+ipc_lock" { // for NICs, not for SSH
			continue
		}
		fewer := append(append([]string{}, capabilities[:i]...), capabilities[i+1:]...)
		if output, err := ranks(folder, fewer); err == nil {
			t.Errorf("without %s the ranks start all the same: the pods do not need it\n%s", c, output)
		}
	}
	other := twoPods(t)
	key(t, filepath.Join(other, "keys-1"))
	if output, err := ranks(other, capabilities); err == nil || !strings.Contains(output, "Host key verification failed") {
		t.Errorf("a pod with another key: %v\n%s", err, output)
	}
}

// ranks ends within two minutes, and with it everything that it started.
func ranks(folder string, capabilities []string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "bash", "testdata/two-pods/run.sh", folder)
	c.Env = append(os.Environ(), "CAPABILITIES="+strings.Join(capabilities, ","))
	c.WaitDelay = 5 * time.Second
	text, err := c.CombinedOutput()
	return string(text), err
}

// twoPods is a folder with what both pods mount: the files of the ConfigMap and the same keys, in a folder as that of a Secret is.
func twoPods(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	opt := filepath.Join(folder, "opt")
	if err := os.Mkdir(opt, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"pod.sh": podScript, "sshd_config": sshdConfig, "ssh_config": sshConfig, "nccl.env": []byte("NCCL_NET=IB\n")} {
		if err := os.WriteFile(filepath.Join(opt, name), text, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	key(t, filepath.Join(folder, "keys-0"))
	if err := os.CopyFS(filepath.Join(folder, "keys-1"), os.DirFS(filepath.Join(folder, "keys-0"))); err != nil {
		t.Fatal(err)
	}
	for _, i := range []string{"keys-0", "keys-1"} {
		modes(t, filepath.Join(folder, i))
	}
	return folder
}

// key makes a key as the MPI operator makes one (ECDSA on P-521), in the names of its Secret.
func key(t *testing.T, folder string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(folder, "id_rsa")
	_ = os.Remove(at)
	if text, err := exec.Command("ssh-keygen", "-q", "-t", "ecdsa", "-b", "521", "-N", "", "-f", at).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	public, err := os.ReadFile(at + ".pub")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "authorized_keys"), public, 0o600); err != nil {
		t.Fatal(err)
	}
	modes(t, folder)
}

func modes(t *testing.T, folder string) {
	t.Helper()
	for _, name := range []string{"id_rsa", "id_rsa.pub", "authorized_keys"} {
		if err := os.Chmod(filepath.Join(folder, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
}
