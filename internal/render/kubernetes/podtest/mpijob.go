package podtest

import (
	"errors"
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

// mpiJob is an MPIJob of kubeflow.org/v2beta1 (mpi-operator caa3c47, manifests/base/kubeflow.org_mpijobs.yaml): the fields that are
// set here.
type mpiJob struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`

	Spec mpiJobSpec `json:"spec"`
}

type mpiJobSpec struct {
	SlotsPerWorker   int                   `json:"slotsPerWorker"`
	LauncherCreation string                `json:"launcherCreationPolicy"`
	MPI              string                `json:"mpiImplementation"`
	KeysAt           string                `json:"sshAuthMountPath"`
	RunPolicy        mpiRunPolicy          `json:"runPolicy"`
	Replicas         map[string]mpiReplica `json:"mpiReplicaSpecs"`
}

type mpiRunPolicy struct {
	CleanPods string `json:"cleanPodPolicy"`
	Retries   int    `json:"backoffLimit"`
	Seconds   int    `json:"activeDeadlineSeconds"`
}

type mpiReplica struct {
	Replicas int                  `json:"replicas"`
	Template core.PodTemplateSpec `json:"template"`
}

const (
	mpiJobName = "railwright-mpijob"
	// mpiJobSeconds is how long the job may take with the start of its pods, after which the operator ends it.
	mpiJobSeconds = 3600
)

// CheckMPIJob reports why the tests cannot be an MPIJob.
func CheckMPIJob(t Tests) error {
	if len(t.Sets) > 1 {
		return errors.New("the workers of an MPIJob are all alike, and this plan has pods with " + fmt.Sprint(len(t.Sets)) + " claim templates: run-tests.sh collectives runs over all of them")
	}
	return nil
}

// MPIJob is the tests of collectives for a cluster that has the MPI operator, which makes the keys and names the hosts.
func MPIJob(t Tests) fabric.Artifact {
	s := t.Sets[0]
	worker := t.worker(s.Template)
	job := mpiJob{
		TypeMeta: meta.TypeMeta{APIVersion: "kubeflow.org/v2beta1", Kind: "MPIJob"}, ObjectMeta: t.meta(mpiJobName, nil),
		Spec: mpiJobSpec{
			SlotsPerWorker: t.GPUs, LauncherCreation: "WaitForWorkersReady", MPI: "OpenMPI", KeysAt: keysIn,
			RunPolicy: mpiRunPolicy{CleanPods: "Running", Seconds: mpiJobSeconds},
			Replicas: map[string]mpiReplica{
				"Launcher": {1, core.PodTemplateSpec{Spec: t.launcher(s.Pods * t.GPUs)}},
				"Worker":   {s.Pods, core.PodTemplateSpec{Spec: worker}},
			},
		},
	}
	return forScript(kubernetes.File("/test-mpijob.yaml", kubernetes.Object{
		Comment: fmt.Sprintf("The same tests for a cluster with the MPI operator: %s with %s and %s each, and a launcher without any.\n%s",
			fabric.Count(s.Pods, "worker"), fabric.Count(t.GPUs, "GPU"), fabric.Count(t.NICs, "RDMA NIC"), t.privileges(collectivePods)), Body: job,
	}))
}

// launcher is the pod in which mpirun runs. Its processes need no capability: as root of the container they read the key that the
// operator gives to root.
func (t Tests) launcher(ranks int) core.PodSpec {
	small := core.ResourceList{core.ResourceCPU: resource.MustParse("1"), core.ResourceMemory: resource.MustParse("2Gi")}
	pod := t.bare(collectiveImage)
	c := &pod.Containers[0]
	c.Name, c.Resources = "launcher", core.ResourceRequirements{Limits: small, Requests: small}
	var lines []string
	for _, test := range collectiveTests() {
		lines = append(lines, fmt.Sprintf("echo '# test %s'", test), fmt.Sprintf("%s mpirun %d - %s", testProgram, ranks, collectiveCommand(test)))
	}
	c.Command, c.Args = []string{"/bin/sh", "-ec"}, []string{strings.Join(lines, "\n") + "\n"}
	pod.RestartPolicy = core.RestartPolicyNever
	return pod
}

// collectiveTests are those of nccl-tests and rccl-tests that are run: what training and what experts of a model use most.
func collectiveTests() []string { return []string{"all_gather", "all_reduce", "alltoall"} }

// collectiveCommand runs a test with one GPU a rank, by two from 1 KiB to 8 GiB, with the check of the data that is on by default.
func collectiveCommand(test string) string {
	return "/opt/tests/" + test + "_perf -b 1K -e 8G -f 2 -g 1"
}
