package runbook

import "fmt"

// Versions that the guide names (957608-AN209, 2.1.1 and table 3; verified on Ubuntu 22.04 with kernel 5.15, 1.1).
const (
	rocmVersion = "7.1.0"
	rocmBuild   = "7.1.70100-1" // of the installer's package, repo.radeon.com/amdgpu-install/7.1
	ucxVersion  = "1.19"
	mpiVersion  = "5.0.8"
	testVersion = "2.28.7" // of rccl-tests
)

func amdSteps(s scene) []Step {
	return []Step{
		{
			ID: "rocm", Phase: Install, Title: "ROCm " + rocmVersion + " with RCCL and the driver amdgpu",
			When: "before the NIC's software, which looks for the GPU driver. 6.3.1 to 6.3.3 were tested as well; all hosts take the same",
			Commands: []Script{
				{OS: "ubuntu", Lines: []string{
					"curl -fLO https://repo.radeon.com/amdgpu-install/7.1/ubuntu/jammy/amdgpu-install_" + rocmBuild + "_all.deb",
					"apt-get install -y ./amdgpu-install_" + rocmBuild + "_all.deb",
					"apt-get update",
					`apt-get install -y "linux-headers-$(uname -r)" "linux-modules-extra-$(uname -r)"`,
					"apt-get install -y amdgpu-dkms rocm",
				}},
				{OS: "rhel", Lines: []string{
					"# the package of the release: rocm.docs.amd.com/projects/install-on-linux/en/docs-7.1.0, package manager, RHEL",
					`dnf install -y "kernel-headers-$(uname -r)" "kernel-devel-$(uname -r)"`,
					"dnf install -y amdgpu-dkms rocm",
				}},
				{OS: "sles", Lines: []string{
					"# the package of the release: rocm.docs.amd.com/projects/install-on-linux/en/docs-7.1.0, package manager, SLES",
					"zypper --non-interactive install kernel-default-devel",
					"zypper --non-interactive install amdgpu-dkms rocm",
				}},
			},
			Check: Check{
				Lines:  []string{"cat /opt/rocm/.info/version", "dkms status amdgpu"},
				Expect: rocmVersion + " and what follows it, and amdgpu installed for the running kernel", Rule: "gpu-driver-equal",
			},
			Undo: "amdgpu-uninstall, or apt-get purge amdgpu-dkms rocm", Reboot: true,
			Source: guide + ", 2.1.1, table 3; AMD, ROCm 7.1.0 installation on Linux",
		},
		{
			ID: "amdgpu", Phase: After, Title: "The GPU driver is loaded and sees every GPU",
			When: "if it does not: modinfo amdgpu, dkms status, dmesg; for support railwright collect --bundle FILE, then rocm_techsupport.sh",
			Check: Check{
				Lines:  []string{"lsmod | grep -c '^amdgpu '", "rocm-smi --showbus | grep -c 'PCI Bus:'"},
				Expect: fmt.Sprintf("1, then %d", s.gpus), Rule: "gpu-planned",
			},
			Undo: "nothing was changed", Source: guide + ", 2.6 no. 3, chapter 7, B.2",
		},
	}
}

// rcclSteps are the last looks before tests over several hosts.
func rcclSteps(s scene) []Step {
	return []Step{
		{
			ID: "rccl-versions", Phase: After, Title: "The same ROCm, RCCL, UCX and Open MPI on every host",
			When: fmt.Sprintf("the guide's set: UCX %s, Open MPI %s, rccl-tests %s. Open MPI 5 has no openib: leave out options that begin with btl_openib", ucxVersion, mpiVersion, testVersion),
			Check: Check{
				Lines: []string{
					`while read -r host; do ssh -n -o BatchMode=yes "$host" 'readlink -f /opt/rocm; cat /opt/rocm/.info/version; mpirun --version | head -n 1; ucx_info -v | head -n 1' | tr '\n' ' '; echo; done <hosts | sort | uniq -c`,
				},
				Expect: "one line, whose number is that of the hosts. A host without mpirun or ucx_info has PATH and LD_LIBRARY_PATH not set in the .bashrc of the user",
				Rule:   "gpu-driver-equal",
			},
			Undo: "nothing was changed", Source: guide + ", 8.7.1, table 3",
		},
		{
			ID: "rccl-one-host", Phase: After, Title: "RCCL over the NICs of one host, before several hosts take part",
			When: "it sends through NICs and switch what would stay inside the host, so that a bad NIC shows on its host",
			Check: Check{
				Lines: []string{
					fmt.Sprintf("RCCL_ENABLE_INTRANET=1 NCCL_DEBUG=INFO mpirun -np %d ./build/all_reduce_perf -b 8 -e 8G -f 2 -g 1 >one-host.log 2>&1", s.gpus),
					"railwright explain one-host.log -f cluster.yaml",
				},
				Expect: "healthy; and every channel via NET says GDRDMA in the log",
			},
			Undo: "nothing was changed", Source: guide + ", 8.6, 8.7.3",
		},
	}
}
