package vsphere

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Networks is the plan of the networks that Kubernetes on vSphere needs, for those who make them: table 6 of "Deploy Distributed
// LLM Inference with GPUDirect RDMA over InfiniBand in VMware Private AI", with the ranges of the cluster file.
func Networks(v fabric.VSphere) fabric.Artifact {
	var b strings.Builder
	b.WriteString("# Networks\n\nWritten by railwright from the plan. No two of the ranges that are given have an address in common.\n\n" +
		"| Network | Range | Addresses | Kind | Routed | For |\n|---|---|---|---|---|---|\n")
	open := 0
	for _, n := range v.Networks {
		routed, written, size := "internal", "**not in the cluster file**", "-"
		if n.Routed {
			routed = "routed"
		}
		if n.Range.IsValid() {
			written, size = n.Range.String(), fmt.Sprint(uint64(1)<<(n.Range.Addr().BitLen()-n.Range.Bits()))
		} else {
			open++
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", n.Name, written, size, n.Kind, routed, n.Use)
	}
	if open > 0 {
		fmt.Fprintf(&b, "\n%s: give them in `vsphere.networks`, and they are compared with the others.\n", fabric.Count(open, "range")+" not known")
	}
	return forPeople("/networks.md", []byte(b.String()))
}
