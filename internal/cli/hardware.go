package cli

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// hardwareFlags describe the machines of a prediction or an explanation.
func hardwareFlags(c *cobra.Command, hw *fabric.Hardware) {
	f := c.Flags()
	f.StringVar(&hw.Machine, "machine", "", "machine of the catalog, such as hgx-h100")
	f.StringVar(&hw.GPU, "gpu", "", "GPU of the catalog, such as h100, if --machine does not determine it")
	f.IntVar(&hw.Nodes, "nodes", 0, "number of machines")
	f.IntVar(&hw.GPUsPerNode, "gpus", 0, "GPUs in use per machine")
	f.IntVar(&hw.NICsPerNode, "nics", 0, "NICs of the fabric per machine")
	f.Float64Var(&hw.NICGbps, "rate", 0, "line rate of a NIC, Gb/s")
	f.Var((*networkName)(&hw.Net), "net", "network: ib, roce, efa, tcpxo, tcpx, ss11, tcp, none")
	f.StringVar(&hw.CPU, "cpu", "", "intel, amd or arm")
	f.Float64Var(&hw.Oversubscription, "oversubscription", 0, "downlinks over uplinks of the leaf switches; 0: none")
	f.StringVar((*string)(&hw.Wiring), "wiring", "", "how DGX Sparks are cabled: "+strings.Join(collective.Wirings(), ", ")+"; by default as that many usually are")
	f.IntVar(&hw.MTU, "mtu", 0, "MTU of the interfaces of a RoCE fabric, bytes; 0: 9000")
	f.BoolVar(&hw.VM, "vm", false, "the GPUs are passed through to a virtual machine")
}

// checkHardware rejects names that are not in the catalog, and numbers that no machine has.
func checkHardware(cat *catalog.Catalog, hw fabric.Hardware) error {
	if hw.Machine != "" {
		if _, err := cat.Machine(hw.Machine); err != nil {
			return fmt.Errorf("flag --machine: %w", err)
		}
	}
	if hw.GPU != "" {
		if _, _, err := cat.GPU(hw.GPU); err != nil {
			return fmt.Errorf("flag --gpu: %w", err)
		}
	}
	nets := append(slices.Sorted(maps.Keys(cat.Fabrics)), "none")
	if hw.Net != "" && !slices.Contains(nets, strings.ToLower(strings.TrimSpace(hw.Net))) {
		return fmt.Errorf("flag --net: %w", fabric.UnknownName("network", hw.Net, nets))
	}
	if cpus := []string{"intel", "amd", "arm"}; hw.CPU != "" && !slices.Contains(cpus, strings.ToLower(strings.TrimSpace(hw.CPU))) {
		return fmt.Errorf("flag --cpu: %w", fabric.UnknownName("CPU", hw.CPU, cpus))
	}
	if hw.Wiring != "" && !slices.Contains(collective.Wirings(), string(hw.Wiring)) {
		return fmt.Errorf("flag --wiring: %w", fabric.UnknownName("wiring", string(hw.Wiring), collective.Wirings()))
	}
	if hw.MTU < 0 || hw.MTU > 0 && topology.RDMAPayload(hw.MTU) == 0 {
		return fmt.Errorf("flag --mtu: %d: RDMA needs at least 352 bytes", hw.MTU)
	}
	if hw.NICGbps < 0 || math.IsNaN(hw.NICGbps) || math.IsInf(hw.NICGbps, 0) {
		return fmt.Errorf("flag --rate: invalid rate %g Gb/s", hw.NICGbps)
	}
	if o := hw.Oversubscription; o != 0 && !(o >= 1 && o <= 64) {
		return fmt.Errorf("flag --oversubscription: %g is not between 1 and 64", o)
	}
	return nil
}

// checkMachine refuses flags that contradict a machine of the catalog; without one nothing does.
func checkMachine(cat *catalog.Catalog, machine string, flags fabric.Hardware) error {
	m, ok := cat.Machines[machine]
	if !ok {
		return nil
	}
	if id, _, err := cat.GPU(flags.GPU); err == nil && m.GPU != "" && id != m.GPU {
		return fmt.Errorf("flag --gpu: %q: machine %q has GPU %s", flags.GPU, machine, m.GPU)
	}
	for _, n := range []struct {
		flag, noun string
		given, of  int
	}{{"gpus", "GPU", flags.GPUsPerNode, int(m.GPUs.Value)}, {"nics", "NIC", flags.NICsPerNode, int(m.NICs.Value)}} {
		if n.of > 0 && n.given > n.of { // 0: the catalog does not know it
			return fmt.Errorf("flag --%s: %d: machine %q has %s", n.flag, n.given, machine, fabric.Count(n.of, n.noun))
		}
	}
	return nil
}

// parseSizes reads 8:16G (doubling), 8:16G:4 (times four) or 1M,64M. Units are those of nccl-tests, powers of 1024.
func parseSizes(text string) ([]int64, error) {
	parts := strings.Split(text, ":")
	if len(parts) == 1 {
		var sizes []int64
		for _, one := range strings.Split(text, ",") {
			size, err := parseSize(one)
			if err != nil {
				return nil, err
			}
			sizes = append(sizes, size)
		}
		return sizes, nil
	}
	low, err := parseSize(parts[0])
	if err != nil {
		return nil, err
	}
	high, err := parseSize(parts[1])
	if err != nil {
		return nil, err
	}
	factor := int64(2)
	if len(parts) == 3 {
		if factor, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
			return nil, fmt.Errorf("invalid factor %s: not a number of 2 or more", fabric.Quote(parts[2]))
		}
	}
	if len(parts) > 3 || factor < 2 || low > high {
		return nil, fmt.Errorf("%q is not FROM:TO or FROM:TO:FACTOR, with FROM at most TO and a factor of 2 or more", text)
	}
	var sizes []int64
	for size := low; size <= high; size *= factor {
		sizes = append(sizes, size)
		if size > math.MaxInt64/factor {
			break
		}
	}
	return sizes, nil
}

func parseSize(text string) (int64, error) {
	number, shift := strings.ToUpper(strings.TrimSpace(text)), 0
	number = strings.TrimSuffix(strings.TrimSuffix(number, "B"), "I")
	if i := strings.IndexAny(number, "KMGT"); i >= 0 && i == len(number)-1 {
		shift = 10 * (strings.IndexByte("KMGT", number[i]) + 1)
		number = number[:i]
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 || n > math.MaxInt64>>shift {
		return 0, fmt.Errorf("invalid size %q: not a number of bytes above 0, with K, M, G or T for powers of 1024", text)
	}
	return n << shift, nil
}
