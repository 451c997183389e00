package runbook

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
)

// vsphereBook is the runbook of an example with texts replaced: old, new, old, new.
func vsphereBook(t *testing.T, name string, change ...string) *Runbook {
	t.Helper()
	return New(vspherePlan(t, name, 2, change...), nil)
}

func vspherePlan(t *testing.T, name string, nodes int, change ...string) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example(name, nodes, cat)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(change); i += 2 {
		text = bytes.Replace(text, []byte(change[i]), []byte(change[i+1]), 1)
	}
	c, err := intent.Parse("c", text, cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func ids(steps []Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, s.ID)
	}
	return strings.Join(all, " ")
}

// A host of which nothing is known starts twice; what needs MFT comes after the first start, and passthrough after the firmware
// settings, which mst cannot read any more then.
func TestVSphere(t *testing.T) {
	r := vsphereBook(t, "vcf-h100", "  vks:", "  service_vm: {addresses: 10.0.0.21/24, gateway: 10.0.0.1, driver: 570.148.08}\n  vks:")
	if !r.Complete() || len(r.Groups) != 2 || r.Groups[0].Reboots != 2 || r.Groups[1].Reboots != 0 {
		t.Errorf("%d groups, %d reboots", len(r.Groups), r.Groups[0].Reboots)
	}
	for i, want := range []string{
		"esx-facts bios maintenance mft kernel-settings reset-method power-policy reboot nic-settings passthrough labels second-reboot esx-done recovery-mode",
		"infiniband-switches service-template service-vms partitions networks content-library workload-management vm-classes namespace login vks-cluster operators nccl-topology local-consumption",
	} {
		if have := ids(r.Groups[i].Steps); have != want {
			t.Errorf("steps\n%s, want\n%s", have, want)
		}
	}
	r = vsphereBook(t, "vsphere8-sriov")
	if len(r.Groups) != 3 || r.Groups[0].Reboots != 2 {
		t.Errorf("%d groups", len(r.Groups))
	}
	if have, want := ids(r.Groups[0].Steps), "esx-facts bios maintenance mft kernel-settings power-policy reboot nic-settings max-vfs second-reboot esx-done recovery-mode"; have != want {
		t.Errorf("steps\n%s, want\n%s", have, want)
	}
	text := string(r.Markdown())
	for _, want := range []string{"mt4129_pciconf", "NUM_OF_VFS=2", `max_vfs=1"`, "virt_enabled 2", "ib_send_bw -d mlx5_0 -a -q 4 --report_gbits 10.64.0.1", "which is no fault"} {
		if !strings.Contains(text, want) {
			t.Errorf("the runbook lacks %q", want)
		}
	}
}

// Every step says how it is proved, what takes it back and where it is from, and its commands are those of a shell.
func TestVSphereSteps(t *testing.T) {
	for _, name := range []string{"vcf-h100", "vsphere8-sriov"} {
		for _, g := range vsphereBook(t, name).Groups {
			for _, s := range g.Steps {
				if s.Check.Expect == "" || s.Undo == "" || s.Source == "" || s.Title == "" {
					t.Errorf("%s: step %s is not complete: %+v", name, s.ID, s)
				}
				var lines []string
				for _, c := range s.Commands {
					lines = append(lines, c.Lines...)
				}
				if out, err := exec.Command("sh", "-n", "-c", strings.Join(append(lines, s.Check.Lines...), "\n")).CombinedOutput(); err != nil {
					t.Errorf("%s: step %s: %v\n%s", name, s.ID, err, out)
				}
			}
		}
	}
}

// The loops of the runbook find the devices in the table of mst status, whichever column they are in.
func TestEachNIC(t *testing.T) {
	const table = `ConnectX7(rev:0)  mt4129_pciconf0  1a:00.0
ConnectX7(rev:0)  mt4129_pciconf0.1  1a:00.1
mt4129_pciconf10
ConnectX6DX(rev:0)  mt4125_pciconf0  4d:00.0
`
	line := strings.Replace(eachNIC(fabric.ESXGoal{NIC: "15b3:1021"}, `echo "<$d>"`), "/opt/mellanox/bin/mst status", "cat", 1)
	cmd := exec.Command("sh", "-c", line)
	cmd.Stdin = strings.NewReader(table)
	if out, err := cmd.Output(); err != nil || string(out) != "<mt4129_pciconf0>\n<mt4129_pciconf10>\n" {
		t.Errorf("%v: %s", err, out)
	}
	file := "10de  ffff  bridge   false\n10de ffff flr false\n1002 ffff bridge false\n"
	edit := resetMethod(fabric.ESXGoal{ResetMethod: "flr"}).Commands[0].Lines[1]
	cmd = exec.Command("sh", "-c", strings.Replace(strings.TrimSuffix(edit, " /etc/vmware/passthru.map"), "sed -i", "sed", 1))
	cmd.Stdin = strings.NewReader(file)
	if out, err := cmd.Output(); err != nil || string(out) != "10de  ffff  flr   false\n10de ffff flr false\n1002 ffff bridge false\n" {
		t.Errorf("%v: %s", err, out)
	}
}
