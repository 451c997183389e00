package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// linuxOnly is a command that acts on the local host, which must run Linux.
type linuxOnly struct {
	command   string   // the words after railwright; includes its subcommands
	does      string   // what needs Linux
	elsewhere []string // flags that select something other than this host
	argument  bool     // an argument selects something else too
	instead   string   // what to do on another system
}

func linuxCommands() []linuxOnly {
	const move = "run it on a Linux machine"
	return []linuxOnly{
		{command: "up", does: "applies files and starts processes as root", instead: move},
		{command: "lab", does: "makes network namespaces", instead: move},
		{command: "bench", does: "starts the tests from this host", elsewhere: []string{"print"}, instead: "use --print, or run it on a Linux machine"},
		{command: "apply", does: "changes the network settings of hosts", elsewhere: []string{"runbook"}, instead: move},
		{command: "rollback", does: "changes the network settings of hosts", instead: move},
		{command: "node", does: "is what railwright runs on the machines of a cluster", instead: move},
		{command: "collect", does: "reads this host's sysfs and netlink", elsewhere: []string{"root", "hosts"},
			instead: "on this system use --root or --hosts, or run it on the machine"},
		{command: "check", does: "reads this host's sysfs and netlink", elsewhere: []string{"snapshot", "file"},
			instead: "on this system use --snapshot, or run it on the machine"},
		{command: "topo show", does: "reads this host's sysfs", elsewhere: []string{"snapshot", "machine"}, argument: true,
			instead: "on this system use --snapshot, --machine or a file, or run it on the machine"},
		{command: "topo nccl", does: "reads this host's sysfs", elsewhere: []string{"snapshot", "machine"},
			instead: "on this system use --snapshot or --machine, or run it on the machine"},
		{command: "init", does: "reads this host's sysfs and netlink", elsewhere: []string{"example"},
			instead: "on this system use --example, or run it on the machine"},
	}
}

// needsLinux returns an error for a command that does not work on a system (runtime.GOOS).
func needsLinux(system string, c *cobra.Command, arguments []string) error {
	if system == "linux" {
		return nil
	}
	_, command, _ := strings.Cut(c.CommandPath(), " ")
	for _, l := range linuxCommands() {
		if command == l.command || strings.HasPrefix(command, l.command+" ") {
			if l.argument && len(arguments) > 0 || slices.ContainsFunc(l.elsewhere, c.Flags().Changed) {
				return nil
			}
			return fmt.Errorf("%s: %s, which needs Linux; %s", command, l.does, l.instead)
		}
	}
	return nil
}

// splitNode splits FOLDER:NODE. The colon of a Windows drive belongs to the folder.
func splitNode(arg string) (folder, node string) {
	drive := filepath.VolumeName(arg)
	folder, node, _ = strings.Cut(arg[len(drive):], ":")
	return drive + folder, node
}
