package facts

import (
	"context"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// Where Google's installers mount what a pod needs for RDMA (gpudirect-rdma of GoogleCloudPlatform/container-engine-accelerators).
const (
	gibFolder    = "/usr/local/gib"
	nvidiaFolder = "/usr/local/nvidia/lib64"
)

// ipcLock is the number of the capability that frees a process from the limit of locked memory (capability.h, CAP_IPC_LOCK).
const ipcLock = 14

// serviceAccount is what the kubelet mounts in nearly every container.
const serviceAccount = "/var/run/secrets/kubernetes.io"

// readPod reads what a container shows of its pod. A machine is none. The environment, which would say it too, is not
// read: recordings keep what is read, and it may hold secrets.
func readPod(_ context.Context, h host.Host, f *fabric.Facts) {
	if names, err := h.ReadDir(serviceAccount); err != nil || len(names) == 0 {
		if err != nil && !host.IsAbsent(err) {
			miss(f, fabric.FactPod, serviceAccount, err)
		}
		return
	}
	p := &fabric.Pod{GIB: []string{}, NCCL: []string{}}
	f.Pod = p
	list := func(folder string) []string {
		names, err := h.ReadDir(folder)
		if err != nil && !host.IsAbsent(err) {
			miss(f, fabric.FactPod, folder, err)
		}
		return names
	}
	for _, name := range list(gibFolder) {
		p.GIB = append(p.GIB, fabric.Printable(name))
	}
	for _, folder := range []string{gibFolder + "/lib64", nvidiaFolder} {
		for _, name := range list(folder) {
			if strings.HasPrefix(name, "libnccl.so") {
				p.NCCL = append(p.NCCL, folder+"/"+fabric.Printable(name))
			}
		}
	}
	p.LockMemory = lockMemory(h, f)
}

// lockMemory reads whether IPC_LOCK is in effect, from CapEff of /proc/self/status.
func lockMemory(h host.Host, f *fabric.Facts) *bool {
	const file = "/proc/self/status"
	text, err := host.ReadString(h, file)
	if err != nil {
		miss(f, fabric.FactPodLockMemory, file, err)
		return nil
	}
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, "CapEff:")
		if !ok {
			continue
		}
		if set, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64); err == nil {
			return new(set>>ipcLock&1 == 1)
		}
	}
	f.Missing = append(f.Missing, fabric.Missing{What: fabric.FactPodLockMemory, Source: file, Reason: "no line CapEff with a number"})
	return nil
}
