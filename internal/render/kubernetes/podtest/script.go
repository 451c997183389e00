package podtest

import (
	_ "embed" // the script that runs the tests
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

//go:embed run_tests.sh
var runTests []byte

// hostsAtOnce is how many pods mpirun is given by default: kubectl sends the command with all of their names in one request.
const hostsAtOnce = 64

// RunTests is the script that starts the test pods, runs the tests in them, removes the pods, and gives what was printed to railwright
// explain.
func RunTests(t Tests) fabric.Artifact {
	each := 0
	if len(t.Sets) > 0 {
		each = t.Sets[0].Pods
	}
	script := slices.Concat([]byte(scriptHead("Runs perftest and the tests of collectives in pods, and lets railwright explain judge what they print.")),
		settings([2]string{"namespace", t.Namespace}, [2]string{"sets", fmt.Sprint(len(t.Sets))}, [2]string{"each", fmt.Sprint(each)},
			[2]string{"most", fmt.Sprint(max(hostsAtOnce/max(len(t.Sets), 1), 1))}, [2]string{"gpus", fmt.Sprint(t.GPUs)}, [2]string{"nics", fmt.Sprint(t.NICs)},
			[2]string{"machine", t.Machine}, [2]string{"nodes", fmt.Sprint(t.Nodes)}, [2]string{"tests", strings.Join(collectiveTests(), " ")},
			[2]string{"program", testProgram}), runTests)
	return kubernetes.NewArtifact(fabric.OnWorkstation, "/run-tests.sh", kubernetes.ModeProgram, script)
}
