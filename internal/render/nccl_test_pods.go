package render

import (
	_ "embed" // the script that runs the tests
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const (
	ncclTestPath = "/30-nccl-test.yaml"
	runTestsPath = "/run-nccl-tests.sh"
	ncclTest     = "nccl-test" // name of the service and of its pods
	// sharedPerGPU is memory for NCCL's buffers in GiB, a limit and not taken at once: "GKE and GPUDirect RDMA with DRA" gives 250Gi
	// to a pod of 8 GPUs and 125Gi to one of 4.
	sharedPerGPU = 31.25
	sshPort      = 222 // of the image's sshd: the document's output names [nccl-gib-test-0.nccl-gib-test]:222
	inParallel   = 64  // machines of a run by default: kubectl sends the whole command with their names in one request
)

//go:embed run_nccl_tests.sh
var runTestsBody []byte

// NCCLTestPods renders the pods of the test of collectives: a headless service, by whose names they find each other, and a
// StatefulSet for each claim template, so that equally many pods have each block of devices.
func NCCLTestPods(c fabric.Claims, cloud fabric.Cloud) fabric.Artifact {
	var b strings.Builder
	fmt.Fprintf(&b, `# The names by which the pods of the test find each other: POD.%s.
apiVersion: v1
kind: Service
metadata:
  name: %[1]s
  namespace: %[2]s
  labels:
    app.kubernetes.io/managed-by: railwright
spec:
  clusterIP: None
  publishNotReadyAddresses: true
  selector:
    app: %[1]s
`, ncclTest, c.Namespace)
	for i, template := range ClaimTemplateNames(c) {
		b.WriteString("---\n" + ncclTestSet(c, cloud, i, template))
	}
	return newArtifact(fabric.OnKubernetes, ncclTestPath, modePublic, []byte(b.String()))
}

// testSets are the names of the StatefulSets of the test, as ClaimTemplateNames.
func testSets(c fabric.Claims) []string {
	templates := ClaimTemplateNames(c)
	if len(templates) == 1 {
		return []string{ncclTest}
	}
	var names []string
	for i := range templates {
		names = append(names, fmt.Sprintf("%s-%d", ncclTest, i))
	}
	return names
}

func ncclTestSet(c fabric.Claims, cloud fabric.Cloud, i int, template string) string {
	sets := testSets(c)
	gpus := ""
	if c.GPUDriver == "" {
		gpus = fmt.Sprintf("\n          limits:\n            %s: %d", c.GPUResource, c.GPUs)
	}
	return fmt.Sprintf(`# %[1]d pods with %[2]s and %[3]s each. They wait; run-nccl-tests.sh runs the tests in them.
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: %[4]s
  namespace: %[5]s
  labels:
    app.kubernetes.io/managed-by: railwright
spec:
  replicas: %[1]d
  serviceName: %[6]s
  podManagementPolicy: Parallel
  selector:
    matchLabels:
      app: %[6]s
      set: %[4]s
  template:
    metadata:
      labels:
        app: %[6]s
        set: %[4]s
    spec:
      nodeSelector:
        railwright: %[7]s
      tolerations: # of the taint that Google Cloud puts on machines with GPUs
      - key: nvidia.com/gpu
        operator: Exists
        effect: NoSchedule
      terminationGracePeriodSeconds: 5
      containers:
      - name: test
        image: %[8]s
        command: [/bin/bash, -c]
        args:
        # Ranks are started by the names of the service, which Open MPI would cut at the first dot.
        - |
          echo 'orte_keep_fqdn_hostnames=t' >>/etc/openmpi/openmpi-mca-params.conf
          /scripts/container_entry.sh shell
          exec sleep infinity
        env:
        - name: LD_LIBRARY_PATH
          value: /usr/local/nvidia/lib64
        securityContext:
          capabilities:
            add: [IPC_LOCK] # memory that NICs read and write stays in place; nothing else is needed
        readinessProbe: # the tests are started over SSH
          tcpSocket:
            port: %[9]d
        resources:
          claims:
          - name: devices%[10]s
        volumeMounts:
        - name: nvidia
          mountPath: /usr/local/nvidia
        - name: gib
          mountPath: /usr/local/gib
        - name: shared-memory
          mountPath: /dev/shm
      volumes:
      - name: nvidia # GPU driver, and NCCL of the installer
        hostPath:
          path: /home/kubernetes/bin/nvidia
      - name: gib # plug-in of NCCL, of the installer
        hostPath:
          path: /home/kubernetes/bin/gib
      - name: shared-memory
        emptyDir:
          medium: Memory
          sizeLimit: %[11]dGi
      resourceClaims:
      - name: devices
        resourceClaimTemplateName: %[12]s
`, c.Pods/len(sets), fabric.Count(c.GPUs, "GPU"), fabric.Count(c.NICs, "RDMA NIC"), sets[i], c.Namespace, ncclTest, fabric.Quote(cloud.Cluster),
		cloud.TestImage, sshPort, gpus, int(sharedPerGPU*float64(c.GPUs)), template)
}

// RunNCCLTests is the script that runs the tests in these pods and saves what they print, for railwright explain.
func RunNCCLTests(c fabric.Claims, cloud fabric.Cloud) fabric.Artifact {
	sets := testSets(c)
	b := []byte("#!/usr/bin/env bash\n# Written by railwright from the plan; a change here is lost when it is rendered again.\n" +
		"# Runs all_gather and all_reduce of nccl-tests over the pods of 30-nccl-test.yaml, and saves what they print.\n" +
		"#   RESULTS=FOLDER  where to; WORKERS=N  pods of each set, from the first; WAIT=20m  how long the pods may take to start\nset -euo pipefail\n\n")
	for _, v := range [][2]string{{"context", "gke_" + cloud.Project + "_" + cloud.Location + "_" + cloud.Cluster}, {"namespace", c.Namespace},
		{"service", ncclTest}, {"sets", strings.Join(sets, " ")}, {"each", fmt.Sprint(c.Pods / len(sets))},
		{"most", fmt.Sprint(max(inParallel*max(c.PodsPerNode, 1)/len(sets), 1))}, {"gpus", fmt.Sprint(c.GPUs)}} {
		b = fmt.Appendf(b, "%s=%s\n", v[0], fabric.ShellWord(v[1]))
	}
	return newArtifact(fabric.OnWorkstation, runTestsPath, modeProgram, append(append(b, '\n'), runTestsBody...))
}
