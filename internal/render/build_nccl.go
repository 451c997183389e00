package render

import (
	_ "embed" // the script that builds NCCL

	"railwright.dev/railwright/internal/fabric"
)

const buildNCCLPath = "/etc/railwright/build-nccl.sh"

//go:embed build_nccl.sh
var buildNCCLScript []byte

// BuildNCCL is a script that builds NCCL and its tests at one release for the GPU of a DGX Spark. Packages of NCCL are older than
// what a ring needs, and images have one of their own.
func BuildNCCL(node string) fabric.Artifact {
	return newArtifact(node, buildNCCLPath, modeProgram, buildNCCLScript)
}
