package apply

import (
	"path"
	"slices"
	"strings"
)

// effects are what puts the files of a folder into effect on a running host, in the order in which it is to be done: the
// network last, because it can cut the connection. A command with a * is for each file, which stands for it by its name
// without its suffix.
func effects() []struct{ folder, command string } {
	return []struct{ folder, command string }{
		{"/etc/sysctl.d", "sysctl --system"},
		{"/etc/security/limits.d", ""}, // read at each login
		{"/etc/systemd/system.conf.d", "systemctl daemon-reexec"},
		{"/etc/systemd/system", "systemctl daemon-reload"},
		{"/usr/local/sbin", "systemctl restart *"}, // a program of the unit of its name
		{"/etc/NetworkManager/conf.d", "if systemctl is-active NetworkManager; then systemctl reload NetworkManager; fi"},
		{"/etc/netplan", "netplan apply"},
		{keyfileFolder, "nmcli connection reload"},
		{keyfileFolder, "nmcli connection up *"},
	}
}

const (
	keyfileFolder = "/etc/NetworkManager/system-connections"

	grubFolder  = "/etc/default/grub.d"
	grubCommand = "update-grub && reboot (RHEL, SLES: the commands in 60-railwright.cfg)"
)

// TakesEffect says when the files of a real host do: at its next start, or after the commands that their folders need. The
// kernel's command line has no other way than a start.
func TakesEffect(changes []Change) string {
	var commands []string
	stays := false
	for _, e := range effects() {
		for _, c := range changes {
			if c.Kind == Remove && e.folder == "/etc/sysctl.d" && strings.HasPrefix(c.Path, e.folder+"/") {
				stays = true // sysctl(8) sets what files say, and no file says it any more
				continue
			}
			if e.command == "" || c.Kind == Same || !strings.HasPrefix(c.Path, e.folder+"/") {
				continue
			}
			name := strings.TrimSuffix(path.Base(c.Path), path.Ext(c.Path))
			if command := strings.Replace(e.command, "*", name, 1); !slices.Contains(commands, command) {
				commands = append(commands, command)
			}
		}
	}
	text := "take effect at the next start"
	if len(commands) > 0 {
		text += ", or after: " + strings.Join(commands, " && ")
	}
	if stays {
		text += "; what the removed file of /etc/sysctl.d had set stays until the next start"
	}
	for _, c := range changes {
		if path.Dir(c.Path) == grubFolder && c.Kind != Same {
			return text + "; the kernel's command line only after: " + grubCommand
		}
	}
	return text
}
