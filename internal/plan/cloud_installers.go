package plan

import "railwright.dev/railwright/internal/fabric"

// What is installed on machines of Google Cloud, each at one version: this is the only place that names them. The manifest of a
// branch can be another one tomorrow, and so can an image behind a tag such as "stable".
const (
	// gibCommit of GoogleCloudPlatform/container-engine-accelerators has the plug-in of NCCL and its tests at one version,
	// v1.1.1, for H200 and B200 (gpudirect-rdma/nccl-rdma-installer.yaml, nccl-test-a4.yaml).
	gibCommit = "155bfa49b7459a55c2352495d3eeb46a55637be6"
	// testImage has the tests of that version.
	testImage = "us-docker.pkg.dev/gce-ai-infra/gpudirect-gib/nccl-plugin-gib-diagnostic:v1.1.1"
	// draNetRelease and the digest of its image: kubernetes/k8s.io, registry.k8s.io/images/k8s-staging-networking/images.yaml, and
	// its pull request 9736.
	draNetRelease = "v1.4.0"
	draNetDigest  = "sha256:8d452a75f32465ca69aa5a7877f476add8641fe7c91a30ace3343174c1ef695f"
)

// installers are what a machine with RDMA networks needs beside what Google Cloud installs by itself. DraNet writes claims in
// resource.k8s.io/v1 (kubernetes-sigs/dranet, pkg/driver/dra_hooks.go), so it is left out where the API server does not serve that.
func installers(api string) []fabric.CloudInstaller {
	all := []fabric.CloudInstaller{{
		Name: "the RDMA libraries and NCCL of Google Cloud", DaemonSet: "nccl-rdma-installer",
		URL:    "https://raw.githubusercontent.com/GoogleCloudPlatform/container-engine-accelerators/" + gibCommit + "/gpudirect-rdma/nccl-rdma-installer.yaml",
		Source: "GoogleCloudPlatform/container-engine-accelerators at " + gibCommit[:12] + ": nccl-plugin-gib v1.1.1",
	}}
	if api != "v1" {
		return all
	}
	return append(all, fabric.CloudInstaller{
		Name: "DraNet", DaemonSet: "dranet",
		URL:    "https://raw.githubusercontent.com/kubernetes-sigs/dranet/" + draNetRelease + "/install.yaml",
		Images: []fabric.PinnedImage{{Name: "registry.k8s.io/networking/dranet", Digest: draNetDigest}},
		Source: "kubernetes-sigs/dranet " + draNetRelease + "; the digest of its image: kubernetes/k8s.io pull request 9736",
	})
}
