package manifestcheck

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

// defaultSHM is what runtimes give a container at /dev/shm, 64 MiB: containerd pkg/oci and moby daemon/config (DefaultShmSize).
const defaultSHM = 64 << 20

func shmRule() Rule {
	return Rule{
		ID: "shm-size", Title: "ranks of one container have room in /dev/shm", Severity: fabric.SeverityError, Cause: fabric.CauseSHMFull,
		Doc:       "ranks of one container meet in /dev/shm, of which a runtime gives 64 MiB: NCCL's segments and the queues of the engines need more",
		Reference: "moby daemon/config: DefaultShmSize 64 MiB; containerd internal/cri: /dev/shm of a sandbox; NCCL src/misc/shmutils.cc; the docker lines of vLLM and SGLang (--ipc=host, --shm-size 32g)",
		Judge: each(func(s scene) []fabric.Finding {
			ranks, why := s.processes()
			if ranks == 0 {
				if _, known, has := s.gpus(); has && !known {
					return s.unknown("how many GPUs it has is filled in later, and with several /dev/shm must have room")
				}
				return s.notApplicable("one rank, or none that is known")
			}
			if s.pod.HostIPC {
				return s.pass("the host's /dev/shm (hostIPC)")
			}
			if s.w.Form != manifest.Kubernetes {
				return s.composeSHM(why)
			}
			return s.podSHM(why)
		}),
	}
}

func (s scene) podSHM(why string) []fabric.Finding {
	m, ok := s.c.Mounted("/dev/shm")
	if !ok && strings.HasPrefix(s.w.API, "ray.io/") {
		return s.pass("KubeRay mounts memory at /dev/shm (ray-operator controllers/ray/common/pod.go: SharedMemoryVolumeMountPath)")
	}
	if !ok {
		return s.absent(fault{
			why: fmt.Sprintf("nothing is mounted at /dev/shm, and %s: it has the 64 MiB of the runtime", why), expected: "an emptyDir with medium: Memory at /dev/shm",
			cost: "NCCL cannot make its segment (Error while creating shared memory segment, No space left on device), or a rank dies of a bus error",
			fix:  "volumes: [{name: dshm, emptyDir: {medium: Memory, sizeLimit: 32Gi}}], volumeMounts: [{name: dshm, mountPath: /dev/shm}]",
			seen: []fabric.Evidence{s.at(s.c.Line, "no mount at /dev/shm")},
		})
	}
	v, has := s.pod.Volume(m.Name)
	seen := []fabric.Evidence{s.at(m.Line, m.Path)}
	switch {
	case !has && s.pod.Rewritten || !has:
		return s.unknown("the volume "+fabric.Quote(m.Name)+" at /dev/shm is not in the pod", seen...)
	case v.Kind != "emptyDir":
		return s.pass(v.Kind+" at /dev/shm", seen...)
	case v.Medium.Value != "Memory":
		return s.unknown("the emptyDir at /dev/shm is on the node's disk: medium: Memory is missing, so segments are written to it", append(seen, s.at(v.Line, "emptyDir without medium: Memory"))...)
	}
	size, known := manifest.Amount(v.Size)
	seen = append(seen, s.at(v.Line, "sizeLimit: "+orOf(v.Size.Value, "none: as much as the pod's memory")))
	if known && size <= defaultSHM {
		return []fabric.Finding{s.fail(fault{
			why: fmt.Sprintf("/dev/shm is limited to %s, and %s", v.Size.Value, why), expected: "more than 64 MiB, some GiB", cost: "NCCL cannot make its segments, or a rank dies of a bus error", fix: "raise sizeLimit, such as 32Gi", seen: seen,
		})}
	}
	if known {
		if limit, ok := manifest.Amount(s.c.Limits["memory"]); ok && size > limit {
			return s.unknown(fmt.Sprintf("/dev/shm may grow to %s, and counts against the memory limit of %s: a full one ends the container", v.Size.Value, s.c.Limits["memory"].Value), seen...)
		}
	}
	return s.pass("memory at /dev/shm", seen...)
}

func (s scene) composeSHM(why string) []fabric.Finding {
	if m, ok := s.c.Mounted("/dev/shm"); ok {
		return s.pass("a mount at /dev/shm", s.at(m.Line, m.Path))
	}
	if s.c.SHM.Value == "" && s.engine() == nil && s.onlyShell() {
		return s.unknown("what is started in its shell is not in the text: several processes on its GPUs would meet in /dev/shm, which has 64 MiB without --ipc=host or --shm-size", s.at(s.c.Line, "no shm size"))
	}
	if s.c.SHM.Value == "" {
		return s.absent(fault{
			why: fmt.Sprintf("neither --ipc=host nor a shm size, and %s: /dev/shm has 64 MiB", why), expected: "--ipc=host (ipc: host) or --shm-size 32g (shm_size: 32gb)",
			cost: "NCCL cannot make its segments, or a rank dies of a bus error", fix: "--ipc=host, or --shm-size 32g", seen: []fabric.Evidence{s.at(s.c.Line, "no shm size")},
		})
	}
	if size, ok := dockerSize(s.c.SHM.Value); ok && size <= defaultSHM {
		return []fabric.Finding{s.fail(fault{why: "/dev/shm has " + s.c.SHM.Value + ", and " + why, expected: "some GiB", cost: "NCCL cannot make its segments", fix: "--shm-size 32g", seen: []fabric.Evidence{s.at(s.c.SHM.Line, s.c.SHM.Value)}})}
	}
	return s.pass("shm size "+s.c.SHM.Value, s.at(s.c.SHM.Line, s.c.SHM.Value))
}

// onlyShell reports whether a container starts a shell for a person and nothing else that is written.
func (s scene) onlyShell() bool {
	words := slices.Concat(s.c.Command, s.c.Args)
	shells := []string{"bash", "sh", "zsh", "dash"}
	return len(words) == 1 && slices.Contains(shells, path.Base(words[0].Value)) ||
		len(words) == 2 && slices.Contains(shells, path.Base(words[0].Value)) && (words[1].Value == "-l" || words[1].Value == "-i" || words[1].Value == "--login")
}

// dockerSize reads 64m, 16g, 16gb, 1024 (docker/go-units: RAMInBytes, binary units).
func dockerSize(text string) (float64, bool) {
	t := strings.TrimSuffix(strings.ToLower(strings.TrimSpace(text)), "b")
	t = strings.TrimSuffix(t, "i")
	unit := map[byte]string{'k': "Ki", 'm': "Mi", 'g': "Gi", 't': "Ti"}
	if t != "" {
		if u, ok := unit[t[len(t)-1]]; ok {
			t = t[:len(t)-1] + u
		}
	}
	return manifest.Amount(manifest.Text{Value: t, Line: 1})
}

func operatorShmRule() Rule {
	return Rule{
		ID: "operator-shm", Title: "what is written of /dev/shm is what the pod gets", Severity: fabric.SeverityInfo, Cause: fabric.CauseSHMFull,
		Doc:       "an operator that makes pods from parts may mount a /dev/shm of its own and drop the one that is written: only the live pod tells",
		Reference: "ai-dynamo/dynamo operator: generateSharedMemoryVolumeAndMount (consts: DefaultSharedMemorySize 8Gi, /dev/shm), sharedMemory.size and .disabled of a service",
		Judge: each(func(s scene) []fabric.Finding {
			if !s.pod.Rewritten || !strings.HasPrefix(s.w.API, "nvidia.com/") {
				return s.notApplicable("the pod is made as it is written")
			}
			m, ok := s.c.Mounted("/dev/shm")
			if !ok || !strings.HasPrefix(m.Path, "/dev/shm") {
				return s.notApplicable("nothing is written of /dev/shm")
			}
			size := ""
			if v, has := s.pod.Volume(m.Name); has {
				size = v.Size.Value
			}
			u := s.finding(fabric.Unknown, fmt.Sprintf("the operator of %s mounts a /dev/shm of its own, 8Gi unless sharedMemory.size says more, and a mount at the same path is dropped: the %s that is written may never apply, which the text cannot show", s.w.Kind, orOf(size, "size")), s.at(m.Line, "mountPath: "+m.Path))
			u.Fix = "write sharedMemory: {size: " + orOf(size, "64Gi") + "} at the service; then kubectl exec POD -- df -h /dev/shm, or railwright serve lint --live"
			u.Expected = "sharedMemory.size of the service"
			return []fabric.Finding{u}
		}),
	}
}
