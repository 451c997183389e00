package runbook

import "fmt"

const guide = "Broadcom 957608-AN209"

// lookSteps come before everything else on any bare-metal host.
func lookSteps() []Step {
	return []Step{
		{
			ID: "console", Phase: Before, Title: "Have the host's console at hand",
			When:  "firmware, kernel command line and network change below: a host that does not come back is reached over its BMC only",
			Check: Check{Expect: "the BMC's remote console shows the login prompt of each host"},
			Undo:  "nothing was changed", Source: "practice",
		},
		{
			ID: "memory", Phase: Before, Title: "Memory of the host",
			Check: Check{
				Lines:  []string{`awk '/^MemTotal:/ {print int($2 / 1000000)}' /proc/meminfo`},
				Expect: "about 2000 (GB) or more: 2 TB are recommended for hosts of 8 GPUs; less is a decision, not a fault",
				Rule:   "memory-equal",
			},
			Undo: "nothing was changed", Source: guide + ", 2.3.3",
		},
	}
}

// hostSteps are those of any bare-metal host after the vendors' installs.
func hostSteps(s scene) []Step {
	return []Step{
		hostFiles(), initramfs(), firewall(), bios(s),
		{
			ID: "reboot", Phase: Reboot, Title: "Reboot, once for all steps above, and set the BIOS on the way",
			When:     "drain the host first; the steps above need one start only, and a firmware that was flashed needs it too",
			Commands: everywhere("sync", "systemctl reboot"),
			Check:    Check{Lines: []string{"uptime -s"}, Expect: "a time after the last step above"},
			Undo:     "none", Reboot: true, Source: guide + ", 2.2.1.2, 2.2.2.2",
		},
		{
			ID: "check", Phase: After, Title: "Everything that railwright can judge",
			Check: Check{Lines: []string{"railwright check -f cluster.yaml"}, Expect: "0 failed; whatever is unknown is read with -v and settled"},
			Undo:  "nothing was changed", Source: guide + ", 2.6",
		},
		{
			ID: "ssh", Phase: After, Title: "SSH without a password between all hosts, for the user who runs the tests",
			When: "MPI starts its daemons over it; run as that user, not as root, on the host that starts the tests, with one host a line in the file hosts",
			Check: Check{
				Lines:  []string{`while read -r host; do ssh -n -o BatchMode=yes -o ConnectTimeout=5 "$host" true || echo "no login on $host"; done <hosts`},
				Expect: "no line",
			},
			Undo: "nothing was changed", Source: guide + ", 8.7.1",
		},
		{
			ID: "numa-balancing", Phase: After, Title: "NUMA balancing is off",
			When:  "the file with the setting comes from host-files; it is in effect after the reboot",
			Check: Check{Lines: []string{"cat /proc/sys/kernel/numa_balancing"}, Expect: "0", Rule: "numa-balancing"},
			Undo:  "railwright rollback", Source: guide + ", 2.6 no. 15, 8.7.1",
		},
	}
}

func everywhere(lines ...string) []Script { return []Script{{Lines: lines}} }

func hostFiles() Step {
	return Step{
		ID: "host-files", Phase: Install, Title: "Network, sysctls, ACS and kernel command line",
		When:     "run once, on the machine from which the cluster is set up: it writes the files of every host and keeps the previous ones",
		Commands: everywhere("railwright apply -f cluster.yaml --dry-run || [ $? -eq 1 ]", "railwright apply -f cluster.yaml"),
		Check: Check{
			Lines:  []string{"railwright apply -f cluster.yaml --dry-run"},
			Expect: "no file to change. After the reboot: iommu=pt in /proc/cmdline, and ACS off on every bridge between GPU and NIC", Rule: "acs",
		},
		Undo: "railwright rollback, on the host", Reboot: true, Source: guide + ", 2.3, 2.4",
	}
}

func initramfs() Step {
	return Step{
		ID: "initramfs", Phase: Install, Title: "Drivers of the initial RAM disk",
		When: "last of the installs: without it the previous driver is loaded at the next start, from the RAM disk",
		Commands: []Script{
			{OS: "ubuntu", Lines: []string{`update-initramfs -u -k "$(uname -r)"`}},
			{OS: "rhel", Lines: []string{"dracut -f"}},
			{OS: "sles", Lines: []string{"dracut -f"}},
		},
		Check: Check{Expect: "no error. After the reboot the loaded modules are those on disk", Rule: "module-on-disk"},
		Undo:  "the same command after the previous driver was installed again", Reboot: true, Source: guide + ", 2.2.1.2, A.1, A.2",
	}
}

func firewall() Step {
	return Step{
		ID: "firewall", Phase: Install, Title: "No firewall between the hosts of the fabric",
		When: "MPI, the bootstrap of NCCL and RCCL, and perftest open TCP connections on any port between the hosts. Keep one that is needed for other networks, and accept the fabric and the network of the bootstrap in it",
		Commands: []Script{
			{OS: "ubuntu", Lines: []string{"ufw status verbose >/root/ufw.before", "ufw disable"}},
			{OS: "rhel", Lines: []string{"firewall-cmd --list-all-zones >/root/firewalld.before", "systemctl disable --now firewalld"}},
			{OS: "sles", Lines: []string{"firewall-cmd --list-all-zones >/root/firewalld.before", "systemctl disable --now firewalld"}},
		},
		Check: Check{Lines: []string{"nft list ruleset", "iptables -S"}, Expect: "no chain of the hook input drops or rejects what comes from the fabric", Rule: "firewall"},
		Undo:  "ufw enable, or systemctl enable --now firewalld", Source: guide + ", 2.6 no. 13",
	}
}

// bios is table 2 of the guide: of one server; others name and group the settings otherwise.
func bios(s scene) Step {
	return Step{
		ID: "bios", Phase: Install, Title: "BIOS settings",
		When: "as a job of the BMC (on Dell: racadm), so that they are set during the reboot below. The list is Dell's for its XE9680; other servers name the settings otherwise. " +
			"It is for bare metal: Virtualization Technology and SR-IOV off also switch IOMMU and ACS off. A host of virtual machines needs both of them on, and ACS and IOMMU too: " +
			"without them no device can be given to a guest. Never carry this list over to one",
		Check: Check{
			Expect: "Logical Processor disabled; Virtualization Technology disabled; Sub NUMA Cluster disabled; MADT core enumeration linear; SR-IOV disabled; " +
				"System Profile Performance; Workload Profile not configured; AC Power Recovery Delay random. Memory interleaving stays on Auto: " +
				fmt.Sprintf("switched off, host memory gives about 235 of %g Gb/s while GPU memory gives all", s.nicRate),
			Rule: "bios-equal",
		},
		Undo:   "the profile that was exported from the BMC before",
		Reboot: true, Source: guide + ", table 2, 5.1 no. 8",
	}
}
