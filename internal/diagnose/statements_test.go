package diagnose

import (
	"os"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// said returns the setting in which a statement on a cause is made: a slow or failing test of a cluster of its kind.
func statements(cause fabric.CauseID) (fabric.Hardware, fabric.Observation) {
	slow := 150.0
	hw := fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"}
	o := fabric.Observation{Test: "nccl", Collective: fabric.AllReduce, Nodes: 2, BusBWGBs: &slow}
	switch cause {
	case "roce-lossy", "qos-class-mismatch", "arp-flux", "route-missing", "gid-index", "bond-hashing", "nic-profile", "mtu-mismatch", "firmware-dcbx", "driver-abi", "driver-conflict":
		hw.Net = "roce"
	case "vm-topology-missing", "ats-disabled", "benign-vf", "sriov-left-on", "esxi-driver-unloaded", "switch-os-version":
		hw.VM = true
	case "half-port-twin", "nic-degraded-init":
		hw = fabric.Hardware{Machine: "dgx-spark", Nodes: 2, Net: "roce"}
		slow = 3
	case "xgmi-model-unmatched":
		hw.GPU, o.Nodes, slow = "mi300x", 1, 49
	case "nvlink-degraded":
		o.Nodes, slow = 1, 250
	case "slow-node", "oversubscription":
		hw.Nodes, o.Nodes = 16, 16
	}
	switch cause {
	case "arp-flux", "route-missing", "gid-index", "pkey-mismatch", "link-down", "firewall", "memlock", "subnet-manager", "driver-abi", "driver-conflict", "gpu-driver", "fabric-manager", "esxi-driver-unloaded", "sriov-left-on":
		o = fabric.Observation{Test: "nccl", Outcome: "error"}
	case "tree-artefact":
		slow = 480
	case "benign-vf", "first-use":
		o = fabric.Observation{}
	}
	return hw, o
}

func askedOf(predict Predictor, cause fabric.CauseID, text string) fabric.Explained {
	hw, o := statements(cause)
	obs := []fabric.Observation{{Fact: text}}
	if o.Test != "" {
		obs = append([]fabric.Observation{o}, obs...)
	}
	return Explain([]fabric.Result{{Kind: fabric.ObservationFile, Content: &fabric.Observations{Hardware: hw, Observed: obs}}}, Input{Predict: predict}).Results[0]
}

// What tools print and what people write of each cause, beside one slow or failing test.
func TestStatements(t *testing.T) {
	text, err := os.ReadFile("testdata/statements.txt")
	if err != nil {
		t.Fatal(err)
	}
	predict := predictor(t)
	all := 0
	for _, l := range strings.Split(string(text), "\n") {
		f := strings.SplitN(l, "|", 3)
		if len(f) < 3 || strings.HasPrefix(l, "#") {
			continue
		}
		all++
		cause := fabric.CauseID(f[0])
		e := askedOf(predict, cause, f[2])
		at := slices.Index(ids(e.Causes), cause)
		if at < 0 || at > 2 || f[1] == "first" && at > 0 {
			t.Errorf("%q: %v, want %s among the %s", f[2], ids(e.Causes), cause, f[1])
		}
	}
	if all < 100 {
		t.Errorf("%d statements were read", all)
	}
}

// What is as it should be is no cause: it must not be put before the number.
func TestInOrder(t *testing.T) {
	predict := predictor(t)
	for text, not := range map[string]fabric.CauseID{
		"SM clocks 1980 MHz of 1980 under load":          fabric.CauseGPUThrottled,
		"GPU draws 540 W, limit 700 W":                   fabric.CauseGPUThrottled,
		"RoCE in TC 3, CNP in TC 6":                      fabric.CauseQoSClassMismatch,
		"each rail has its own /24: 10.1.0.0/24":         fabric.CauseARPFlux,
		"both nodes are on the same leaf, works fine":    fabric.CauseOversubscription,
		"single GPU run is fine":                         fabric.CauseMPINotBuilt,
		"rdma-core 50 is installed on both":              fabric.CauseDriverABI,
		"ulimit -l is unlimited":                         fabric.CauseMemlock,
		"DCBX mode: OS controlled":                       fabric.CauseFirmwareDCBX,
		"we run on AWS p5 instances with 8 GPUs":         fabric.CauseGPUThrottled,
		"ethtool -S statistics are not of interest here": fabric.CauseATSDisabled,
		"2 of 16 channels were printed":                  fabric.CauseHostMemoryInterleaving,
	} {
		e := askedOf(predict, "", text)
		if len(e.Causes) > 0 && e.Causes[0].ID == not {
			t.Errorf("%q: %v", text, ids(e.Causes))
		}
	}
}
