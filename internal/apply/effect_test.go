package apply

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestTakesEffect(t *testing.T) {
	const next = "take effect at the next start"
	for _, c := range []struct {
		paths []string
		want  string
	}{
		{nil, next},
		{[]string{"/etc/security/limits.d/60-railwright.conf"}, next},
		{[]string{"/etc/netplan/60-railwright.yaml", "/etc/sysctl.d/60-railwright.conf"}, next + ", or after: sysctl --system && netplan apply"},
		{[]string{"/etc/systemd/system.conf.d/60-railwright.conf"}, next + ", or after: systemctl daemon-reexec"},
		{
			[]string{"/usr/local/sbin/railwright-acs", "/etc/systemd/system/railwright-acs.service", "/etc/systemd/system/multi-user.target.d/60-railwright-acs.conf"},
			next + ", or after: systemctl daemon-reload && systemctl restart railwright-acs",
		},
		{[]string{"/etc/default/grub.d/60-railwright.cfg"}, next + "; the kernel's command line only after: " + grubCommand},
		{
			[]string{keyfileFolder + "/railwright-eth1.nmconnection", keyfileFolder + "/railwright-eth2.7.nmconnection"},
			next + ", or after: nmcli connection reload && nmcli connection up railwright-eth1 && nmcli connection up railwright-eth2.7",
		},
	} {
		var changes []Change
		for _, p := range c.paths {
			changes = append(changes, Change{Path: p, Kind: Create})
		}
		if got := TakesEffect(changes); got != c.want {
			t.Errorf("%q:\n%s, want\n%s", c.paths, got, c.want)
		}
		for i := range changes {
			changes[i].Kind = Same
		}
		if got := TakesEffect(changes); got != next {
			t.Errorf("%q, unchanged: %s", c.paths, got)
		}
	}
}

func TestKernelWords(t *testing.T) {
	grub := func(text string) []fabric.Artifact {
		return []fabric.Artifact{{Path: "/etc/netplan/x", Content: []byte("no words")}, {Path: grubFolder + "/60-railwright.cfg", Content: []byte(text)}}
	}
	words, err := kernelWords(grub("# iommu=off\n\nGRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX amd_iommu=on iommu=pt\"\n"))
	if err != nil || strings.Join(words, ",") != "amd_iommu=on,iommu=pt" {
		t.Errorf("%q, %v", words, err)
	}
	for _, bad := range []string{"GRUB_TIMEOUT=5\n", "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX iommu=pt\n", "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX $(reboot)\"\n"} {
		if words, err := kernelWords(grub(bad)); err == nil {
			t.Errorf("%q gives %q", bad, words)
		}
	}
	got := missingWords([]string{"amd_iommu=on", "iommu=pt"}, "BOOT_IMAGE=/vmlinuz ro iommu=pt2 amd_iommu=on\n")
	if len(got) != 1 || !strings.HasPrefix(got[0], "kernel command line: iommu=pt is missing") {
		t.Errorf("%q", got)
	}
	if got := missingWords([]string{"iommu=pt"}, "ro iommu=pt\n"); got != nil {
		t.Errorf("%q", got)
	}
}
