// Shell plays an ESX host for tests: sshd runs it as its forced command, and it runs what was sent in a root of its own, by busybox
// as on ESX. Of ESX itself it has the programs that railwright calls; what they do not understand is an error, and a program that
// is not there is not found. What is set takes effect as on ESX: at once, with the next start, or not at all.
//
//	shell make FOLDER EXAMPLE   a host as it is delivered, for the goal of an example: vcf-h100, vsphere8-sriov;
//	                            small: the first, with one NIC and one GPU
//	shell FOLDER                runs $SSH_ORIGINAL_COMMAND on it
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// sessionVariable has the process of sshd that serves the connection.
const sessionVariable = "PLAYED_SESSION"

// gone is the exit status of a host that does not answer.
const gone = 255

func main() {
	status, err := run(filepath.Base(os.Args[0]), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(status)
}

func run(name string, args []string) (status int, err error) {
	if _, inside := programs()[name]; inside {
		return call(name, args)
	}
	switch {
	case len(args) == 3 && args[0] == "make":
		err = makeHost(args[1], args[2])
	case len(args) == 1:
		status, err = login(args[0], os.Getenv("SSH_ORIGINAL_COMMAND"))
	default:
		err = fmt.Errorf("shell: %q: unknown", args)
	}
	if err != nil {
		status = max(status, 1)
	}
	return status, err
}

// login runs a command in the root of the host.
func login(folder, command string) (int, error) {
	h, err := open(folder)
	if err != nil {
		return 1, err
	}
	down, full := h.phase(time.Now()), h.Full
	if err := h.close(); err != nil {
		return 1, err
	}
	if down || command == "" {
		return gone, nil
	}
	return 1, enter(folder, full, command)
}

// call is one of the programs of ESX.
func call(name string, args []string) (status int, err error) {
	if err := unlimited(); err != nil {
		return 1, err
	}
	h, err := open("/")
	if err != nil {
		return 1, err
	}
	defer func() {
		if e := h.close(); err == nil && e != nil {
			status, err = 1, e
		}
	}()
	line := strings.Join(append([]string{name}, args...), " ")
	if err := h.log(line); err != nil {
		return 1, err
	}
	for i, f := range h.Faults {
		if f.Times != 0 && strings.Contains(line, f.Match) {
			h.Faults[i].Times--
			return f.Status, fmt.Errorf("%s", f.Say)
		}
	}
	out, status, err := programs()[name](h, args)
	if err != nil {
		return max(status, 1), err
	}
	_, err = os.Stdout.WriteString(out)
	return status, err
}

// program is one of those that ESX has: what it prints, and how it ends.
type program func(h *machine, args []string) (out string, status int, err error)

func programs() map[string]program {
	return map[string]program{
		"esxcli": esxcli, "vmware": vmware, "esxcfg-module": esxcfgModule, "vmkload_mod": vmkloadMod, "vim-cmd": vimCmd, "chkconfig": chkconfig, "lspci": lspci,
		"mst": mst, "mlxconfig": mlxconfig,
	}
}
