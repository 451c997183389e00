package facts

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"unicode"
	"unicode/utf8"

	"net/netip"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"railwright.dev/railwright/internal/fabric"
)

// fuzzTool returns a reader its texts and whatever can be made of them. What it reads must be the same twice,
// must merge with itself without a disagreement, must survive JSON, and must not hold what a terminal acts on.
func fuzzTool(f *testing.F, name string) {
	one := toolNamed(f, name)
	files, err := filepath.Glob("testdata/tools/*.txt")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		if one.knows(string(text)) {
			f.Add(string(text), "")
			f.Add(string(text[:len(text)/2]), "eth1")
		}
	}
	f.Fuzz(func(t *testing.T, text, device string) {
		one.knows(text)
		if device != "" && !isInterfaceName(device) {
			device = "" // it is of an interface that the kernel listed
		}
		parts, err := one.parse(text, device)
		if err != nil {
			if parts.PCI != nil || parts.NICs != nil || parts.HCAs != nil || parts.GPUs != nil || parts.Routes != nil || parts.Rules != nil || parts.KernelLog != nil || parts.Firewall != nil {
				t.Errorf("refused (%v), and told: %+v", err, parts)
			}
			return
		}
		again, _ := one.parse(text, device)
		if diff := cmp.Diff(parts, again, cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
			t.Errorf("not the same twice:\n%s", diff)
		}
		b, err := json.Marshal(parts)
		if err != nil {
			t.Fatal(err)
		}
		var back fabric.Facts
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatalf("%v: %s", err, b)
		}
		unprintable(t, back)
		newMerger(&fabric.Facts{}).merge(one, parts)
		newMerger(&back).merge(one, parts)
	})
}

// unprintable looks through all texts of the facts.
func unprintable(t *testing.T, f fabric.Facts) {
	t.Helper()
	b, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var any any
	if err := json.Unmarshal(b, &any); err != nil {
		t.Fatal(err)
	}
	each(any, func(text string) {
		for _, r := range text {
			if !unicode.IsPrint(r) || r == utf8.RuneError && !utf8.ValidString(text) {
				t.Errorf("%q is not to be shown on a terminal", text)
			}
		}
	})
}

func each(v any, do func(string)) {
	switch v := v.(type) {
	case string:
		do(v)
	case []any:
		for _, one := range v {
			each(one, do)
		}
	case map[string]any:
		for _, one := range v {
			each(one, do)
		}
	}
}

func FuzzLspci(f *testing.F)         { fuzzTool(f, "lspci") }
func FuzzIbstat(f *testing.F)        { fuzzTool(f, "ibstat") }
func FuzzIbvDevinfo(f *testing.F)    { fuzzTool(f, "ibv_devinfo") }
func FuzzRDMALink(f *testing.F)      { fuzzTool(f, "rdma link") }
func FuzzIbdev2netdev(f *testing.F)  { fuzzTool(f, "ibdev2netdev") }
func FuzzEthtool(f *testing.F)       { fuzzTool(f, "ethtool") }
func FuzzEthtoolDriver(f *testing.F) { fuzzTool(f, "ethtool -i") }
func FuzzEthtoolFEC(f *testing.F)    { fuzzTool(f, "ethtool --show-fec") }
func FuzzIPAddress(f *testing.F)     { fuzzTool(f, "ip address") }
func FuzzIPRule(f *testing.F)        { fuzzTool(f, "ip rule") }
func FuzzIPRoute(f *testing.F)       { fuzzTool(f, "ip route") }
func FuzzNvidiaSMI(f *testing.F)     { fuzzTool(f, "nvidia-smi") }
func FuzzNVLink(f *testing.F)        { fuzzTool(f, "nvidia-smi nvlink") }
func FuzzGpud(f *testing.F)          { fuzzTool(f, "gpud") }
func FuzzUnitShow(f *testing.F)      { fuzzTool(f, "systemctl show") }
func FuzzFabricManager(f *testing.F) { fuzzTool(f, "nv-fabricmanager") }
func FuzzNVRM(f *testing.F)          { fuzzTool(f, nvrmTool) }
func FuzzAMDSMI(f *testing.F)        { fuzzTool(f, "amd-smi") }
func FuzzRocmSMI(f *testing.F)       { fuzzTool(f, "rocm-smi") }
func FuzzSymbols(f *testing.F)       { fuzzTool(f, "kallsyms") }
func FuzzModinfo(f *testing.F)       { fuzzTool(f, "modinfo") }
func FuzzDKMS(f *testing.F)          { fuzzTool(f, "dkms status") }
func FuzzProviders(f *testing.F)     { fuzzTool(f, "providers") }
func FuzzPackages(f *testing.F)      { fuzzTool(f, "packages") }
func FuzzDmesg(f *testing.F)         { fuzzTool(f, "dmesg") }

func FuzzNiccli(f *testing.F)       { fuzzTool(f, "niccli") }
func FuzzMlnxQoS(f *testing.F)      { fuzzTool(f, "mlnx_qos") }
func FuzzMlxconfig(f *testing.F)    { fuzzTool(f, "mlxconfig") }
func FuzzNicctl(f *testing.F)       { fuzzTool(f, "nicctl") }
func FuzzMlx5Files(f *testing.F)    { fuzzTool(f, "mlx5 files") }
func FuzzCMARoCEToS(f *testing.F)   { fuzzTool(f, "cma_roce_tos") }
func FuzzDCB(f *testing.F)          { fuzzTool(f, "dcb") }
func FuzzEthtoolPause(f *testing.F) { fuzzTool(f, "ethtool -a") }
func FuzzLLDPTool(f *testing.F)     { fuzzTool(f, "lldptool") }
func FuzzBnxtReConf(f *testing.F)   { fuzzTool(f, "/etc/bnxt_re/bnxt_re.conf") }
func FuzzNft(f *testing.F)          { fuzzTool(f, "nft") }
func FuzzNftTables(f *testing.F)    { fuzzTool(f, "nft list tables") }
func FuzzIptables(f *testing.F)     { fuzzTool(f, "iptables") }
func FuzzUFW(f *testing.F)          { fuzzTool(f, "ufw") }
