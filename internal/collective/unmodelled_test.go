package collective

import (
	"os"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// Whatever a job sets, the answer follows it, or says that it does not.
func TestSettingsAreSaid(t *testing.T) {
	nvidia := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	amd := newCluster(t, fabric.Hardware{Machine: "oam8-mi325x", Nodes: 2})
	for _, c := range []struct {
		on                   *Cluster
		version, name, value string
		want                 string // of one remark; empty: none
	}{
		{nvidia, "", "nccl_debug", "INFO", "NCCL knows no variable nccl_debug: it has no effect; the nearest is NCCL_DEBUG"},
		{nvidia, "", "NCCL_IB_TC", "106", "not modelled, the prediction is the one without: NCCL_IB_TC=106"},
		{nvidia, "", "NCCL_DEBUG", "INFO", "takes no part in the time of a collective: NCCL_DEBUG=INFO"},
		{nvidia, "", "NCCL_IB_TIMEOUT", "22", "takes no part in the time of a collective: NCCL_IB_TIMEOUT=22"},
		{nvidia, "", "NCCL_IB_HCAS", "mlx5_0", "NCCL knows no variable NCCL_IB_HCAS: it has no effect; the nearest is NCCL_IB_HCA"},
		{nvidia, "", "OFI_NCCL_PROTOCOL", "RDMA", "not read by NCCL and not modelled, the prediction is the one without: OFI_NCCL_PROTOCOL=RDMA (aws-ofi-nccl)"},
		{nvidia, "", "NCCL_FASTRAK_NUM_FLOWS", "2", "NCCL_FASTRAK_NUM_FLOWS=2 (Google's TCPXO)"},
		{nvidia, "", "UCX_TLS", "rc", "UCX_TLS=rc (UCX)"},
		{nvidia, "", "MY_OWN", "1", "not read by NCCL and not modelled, the prediction is the one without: MY_OWN=1"},
		{nvidia, "", "RCCL_MSCCL_ENABLE", "0", "RCCL_MSCCL_ENABLE=0: NCCL does not read it: it has no effect"},
		{amd, "", "RCCL_MSCCL_ENABLE", "0", ""},
		{amd, "", "RCCL_LOG_LEVEL", "3", "takes no part in the time of a collective: RCCL_LOG_LEVEL=3"},
		{amd, "", "NCCL_NETDEVS_POLICY", "ALL", "NCCL_NETDEVS_POLICY=ALL: RCCL 2.27 does not read it: it has no effect"},
		{nvidia, "", "NCCL_IB_PKEY_VALUE", "1", "NCCL_IB_PKEY_VALUE=1: NCCL 2.30 does not read it: it has no effect"},
		{nvidia, "2.27.7", "NCCL_NETDEVS_POLICY", "MAX:1", "NCCL_NETDEVS_POLICY=MAX:1: NCCL 2.27 does not read it: it has no effect"},
		{nvidia, "2.28.9", "NCCL_NETDEVS_POLICY", "MAX:1", ""},
		{nvidia, "2.31.2", "NCCL_IB_PKEY_VALUE", "1", "not modelled, the prediction is the one without: NCCL_IB_PKEY_VALUE=1"},
		{nvidia, "3.0.1", "NCCL_IB_TC", "106", "not modelled, the prediction is the one without: NCCL_IB_TC=106"},
		{nvidia, "", "NCCL_NVLS_ENABLE", "yes", "NCCL_NVLS_ENABLE=yes: it takes a number; NCCL reads this as 0"},
		{nvidia, "", "NCCL_NTHREADS", "100", "NCCL_NTHREADS=100: it takes a multiple of 32; NCCL works with 512"},
		{amd, "", "NCCL_NTHREADS", "100", "not modelled, the prediction is the one without: NCCL_NTHREADS=100"},
		{nvidia, "", "NCCL_MIN_NCHANNELS", "99", "NCCL_MIN_NCHANNELS=99: it takes at most 64; NCCL works with that"},
		{nvidia, "", "NCCL_P2P_LEVEL", "nvl", "NCCL_P2P_LEVEL=nvl: it takes NVL, in capitals and without blanks; NCCL keeps its default"},
		{nvidia, "", "NCCL_NET", "IBB", "NCCL_NET=IBB: it names a network, and the library itself has IB and Socket: the job ends unless a plugin calls itself so"},
		{nvidia, "", "NCCL_NET", "ib", ""},
		{nvidia, "", "NCCL_ALGO", "Ring", ""},
		{nvidia, "", "NCCL_MAX_NCHANNELS", "", ""},
	} {
		got, _ := c.on.settingsSaid(Job{Collective: fabric.AllReduce, Version: c.version, Env: map[string]string{c.name: c.value}})
		found := slices.ContainsFunc(got, func(s string) bool { return strings.HasSuffix(s, c.want) })
		if c.want == "" && len(got) > 0 || c.want != "" && !found {
			t.Errorf("%s=%s %s: %q, want %q", c.name, c.value, c.version, got, c.want)
		}
	}
}

// TestEveryVariableIsSaid: of each variable that NCCL or RCCL reads, and of each that others read, a prediction follows what it sets or
// says that it does not.
func TestEveryVariableIsSaid(t *testing.T) {
	nvidia := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2})
	amd := newCluster(t, fabric.Hardware{Machine: "oam8-mi325x", Nodes: 2})
	seen := 0
	for _, file := range []string{"nccl", "rccl", "beside"} {
		text, err := os.ReadFile("../ncclenv/data/" + file + ".tsv")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			name, _, _ := strings.Cut(line, "\t")
			if strings.HasPrefix(name, "#") {
				continue
			}
			name = strings.Replace(name, "*", "X", 1)
			seen++
			for _, c := range []*Cluster{nvidia, amd} {
				said, _ := c.settingsSaid(Job{Collective: fabric.AllReduce, Env: map[string]string{name: "1"}})
				if !c.Follows(name) && !slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, name) }) {
					t.Errorf("%s, %s: nothing is said: %q", c.library(), name, said)
				}
			}
		}
	}
	if seen < 400 {
		t.Errorf("%d variables", seen)
	}
}

// TestSettingsOfAnotherVersion: what the version of a job does not read changes nothing, where a later one follows it.
func TestSettingsOfAnotherVersion(t *testing.T) {
	c := newCluster(t, fabric.Hardware{GPU: "h100", GPUsPerNode: 4, Nodes: 4, NICsPerNode: 8, NICGbps: 200, Net: "ib"})
	at := func(version string, env map[string]string) fabric.PredictionRow {
		return predict(t, c, Job{Collective: fabric.AllReduce, Version: version, Env: env}, 8<<30)[0]
	}
	one := map[string]string{"NCCL_NETDEVS_POLICY": "MAX:1"}
	if with, without := at("2.27.7", one), at("2.27.7", nil); with != without {
		t.Errorf("2.27.7 does not read it: %+v, without it %+v", with, without)
	}
	if with, without := at("2.30.7", one), at("2.30.7", nil); with == without {
		t.Errorf("2.30.7 reads it: %+v in both", with)
	} else if line := 4 * 200.0 / 8; with.BusBW > 2*line || with.Bound.BusBW > 2*line || with.NICGBs < 0.9*200/8 {
		t.Errorf("four of eight NICs carry %.0f GB/s each, %.0f GB/s of bus bandwidth, bound %.0f", with.NICGBs, with.BusBW, with.Bound.BusBW)
	}
}
