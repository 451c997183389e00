package facts

import (
	"context"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// ncclConf is read by every process with NCCL on a node (NCCL user guide, Environment Variables).
const ncclConf = "/etc/nccl.conf"

// ncclTool are lines of it, or of an environment: NCCL_IB_HCA=rocep1s0f0,roceP2p1s0f0.

var ncclSetting = pattern.New(`^(?:[#$] )?\s*(?:export |- |-x |--env |-e )?\s*"?((?:NCCL|UCX|GLOO|OMPI_MCA)_[A-Za-z0-9_]+)\s?=\s?(.*)$`)

func readNCCLConf(_ context.Context, h host.Host, f *fabric.Facts) {
	text, err := h.ReadFile(ncclConf)
	if host.IsAbsent(err) {
		f.NCCL = map[string]string{} // it was looked for
		return
	}
	if err != nil {
		miss(f, fabric.FactNCCL, ncclConf, err)
		return
	}
	f.NCCL = ncclSettings(string(text))
}

func ncclSettings(text string) map[string]string {
	found := map[string]string{}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		if m := ncclSetting().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			value, _, _ := strings.Cut(m[2], " #")
			found[m[1]] = fabric.Printable(strings.Trim(value, `"' `))
		}
	}
	return found
}
