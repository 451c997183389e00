package ncclenv

import (
	"cmp"
	"slices"
	"strings"
	"testing"
)

// readers names who reads a variable, with versions where they are limited: "NCCL since 2.21 and RCCL".
func readers(v Variable) string {
	nccl := "NCCL"
	switch {
	case v.Since != "" && v.Until != "":
		nccl += " " + v.Since + " to " + v.Until
	case v.Since != "":
		nccl += " since " + v.Since
	case v.Until != "":
		nccl += " until " + v.Until
	}
	switch {
	case v.NCCL && v.RCCL:
		return nccl + " and RCCL"
	case v.RCCL:
		return "RCCL"
	}
	return nccl
}

// every returns the variables in the order of their names.
func every() []Variable {
	var out []Variable
	for _, v := range catalogue().byName {
		out = append(out, v)
	}
	slices.SortFunc(out, func(a, b Variable) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func TestData(t *testing.T) {
	if _, err := load(); err != nil {
		t.Fatal(err)
	}
	all := every()
	if len(all) < 300 {
		t.Errorf("%d variables, want at least 300", len(all))
	}
	kinds := []Kind{Int, Bool, Interfaces, HCAs, Distance, Level, Subsystems, Family, Path, Plugin, Name, Address, Algorithms, Protocols, Text}
	for _, v := range all {
		if !slices.Contains(kinds, v.Kind) {
			t.Errorf("%s: kind %q", v.Name, v.Kind)
		}
		if !v.NCCL && !v.RCCL {
			t.Errorf("%s: nobody reads it", v.Name)
		}
		if who := Beside(v.Name); who != "" && v.NCCL {
			t.Errorf("%s: NCCL reads it, and it is listed as read by %s", v.Name, who)
		}
	}
}

func TestKnown(t *testing.T) {
	for name, want := range map[string]Variable{
		"NCCL_IB_HCA":         {Name: "NCCL_IB_HCA", Kind: HCAs, NCCL: true, RCCL: true},
		"NCCL_IB_GID_INDEX":   {Name: "NCCL_IB_GID_INDEX", Kind: Int, NCCL: true, RCCL: true},
		"NCCL_IB_ADDR_FAMILY": {Name: "NCCL_IB_ADDR_FAMILY", Kind: Family, Since: "2.21", NCCL: true, RCCL: true},
		"NCCL_MNNVL":          {Name: "NCCL_MNNVL", Kind: Int, Since: "2.20", Until: "2.20", NCCL: true},
		"RCCL_MSCCL_ENABLE":   {Name: "RCCL_MSCCL_ENABLE", Kind: Int, RCCL: true},
		"NCCL_P2P_LEVEL":      {Name: "NCCL_P2P_LEVEL", Kind: Distance, NCCL: true, RCCL: true},
	} {
		if got, ok := Known(name); !ok || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, ok, want)
		}
	}
	// Written in many manifests, read by no release.
	for _, name := range []string{"NCCL_EXCLUDE_IB_HCA", "NCCL_TIMEOUT", "NCCL_SOCKET_TIMEOUT", "NCCL_CHECKS_DISABLE", "nccl_ib_hca", "NCCL_IB_HCAS", ""} {
		if v, ok := Known(name); ok {
			t.Errorf("%q: %+v", name, v)
		}
		if who := Beside(name); who != "" {
			t.Errorf("%q: read by %s", name, who)
		}
	}
	if who := Beside("NCCL_FASTRAK_IFNAME"); !strings.Contains(who, "TCPXO") {
		t.Errorf("NCCL_FASTRAK_IFNAME: %q", who)
	}
}

func TestNearest(t *testing.T) {
	for name, want := range map[string]string{
		"NCCL_EXCLUDE_IB_HCA": "NCCL_IB_HCA", "NCCL_IB_HCAS": "NCCL_IB_HCA", "NCCL_SOCKET_IFACE": "NCCL_SOCKET_IFNAME",
		"NCCL_SOCKET_INAME": "NCCL_SOCKET_IFNAME", "NCCL_DISABLE_IB": "NCCL_IB_DISABLE", "nccl_debug": "NCCL_DEBUG", "NCCL_IB_GIDINDEX": "NCCL_IB_GID_INDEX",
	} {
		if got := Nearest(name); len(got) == 0 || got[0] != want {
			t.Errorf("%s: %v, want %s first", name, got, want)
		}
	}
	if got := Nearest(""); got != nil {
		t.Errorf("no name: %v", got)
	}
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		minor int
		want  bool
	}{
		{"NCCL_IB_HCA", 16, true}, {"NCCL_IB_PKEY_VALUE", 30, false}, {"NCCL_IB_PKEY_VALUE", 31, true}, {"NCCL_MNNVL", 20, true}, {"NCCL_MNNVL", 21, false},
		{"RCCL_MSCCL_ENABLE", 30, false},
	} {
		if v, _ := Known(c.name); v.Read(c.minor) != c.want {
			t.Errorf("%s, 2.%d: %v", c.name, c.minor, !c.want)
		}
	}
}

func TestQuiet(t *testing.T) {
	for name, want := range map[string]bool{"NCCL_DEBUG": true, "NCCL_DEBUG_FILE": true, "NCCL_IB_TIMEOUT": true, "NCCL_IB_TC": false, "NCCL_HOSTID": false} {
		if v, _ := Known(name); v.Quiet() != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

func TestTaken(t *testing.T) {
	for _, c := range []struct {
		name    string
		n, want int64
		why     string
	}{
		{"NCCL_NTHREADS", 100, 512, "multiple of 32"}, {"NCCL_NTHREADS", 1024, 512, "at most 512"}, {"NCCL_NTHREADS", 32, 64, "at least 64"}, {"NCCL_NTHREADS", 256, 256, ""},
		{"NCCL_NTHREADS", 0, 0, ""}, {"NCCL_LL128_NTHREADS", 640, 640, ""}, {"NCCL_LL128_NTHREADS", 64, 160, "at least 160"},
		{"NCCL_MIN_NCHANNELS", 99, 64, "at most 64"}, {"NCCL_MAX_NCHANNELS", 0, 1, "at least 1"}, {"NCCL_MAX_NCHANNELS", -2, -2, ""}, {"NCCL_SOCKET_NTHREADS", 32, 16, "at most 16"},
		{"NCCL_IB_TC", 1 << 20, 1 << 20, ""},
	} {
		got, why := Taken(c.name, c.n)
		if got != c.want || c.why == "" && why != "" || !strings.Contains(why, c.why) {
			t.Errorf("%s=%d: %d, %q; want %d, %q", c.name, c.n, got, why, c.want, c.why)
		}
	}
}

func TestReaders(t *testing.T) {
	for name, want := range map[string]string{
		"NCCL_IB_HCA": "NCCL and RCCL", "NCCL_IB_PKEY_VALUE": "NCCL since 2.31", "NCCL_MNNVL": "NCCL 2.20 to 2.20",
		"RCCL_MSCCL_ENABLE": "RCCL", "NCCL_CUDA_PATH": "NCCL until 2.20",
	} {
		if v, _ := Known(name); readers(v) != want {
			t.Errorf("%s: %q, want %q", name, readers(v), want)
		}
	}
}

func TestProblem(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{"NCCL_IB_DISABLE", "1", ""}, {"NCCL_IB_DISABLE", "0x10", ""}, {"NCCL_IB_DISABLE", " -2 ", ""}, {"NCCL_IB_DISABLE", "", ""},
		{"NCCL_IB_DISABLE", "true", "reads this as 0"}, {"NCCL_IB_DISABLE", "--1", "reads this as 0"}, {"NCCL_IB_DISABLE", "-", "reads this as 0"},
		{"NCCL_BUFFSIZE", "8M", "reads 8 and"}, {"NCCL_BUFFSIZE", "0xZ", "reads this as 0"},
		{"NCCL_IB_HCA", "mlx5_0,mlx5_1", ""}, {"NCCL_IB_HCA", "^=mlx5_0:1,mlx5_1:1", ""}, {"NCCL_IB_HCA", "mlx5_0,", ""},
		{"NCCL_IB_HCA", "mlx5_0, mlx5_1", "blank beside \"mlx5_1\""}, {"NCCL_IB_HCA", "mlx5_0 mlx5_1", "one name"},
		{"NCCL_IB_HCA", "mlx5_0,^mlx5_1", "whole list"}, {"NCCL_IB_HCA", "=^mlx5_1", "whole list"}, {"NCCL_SOCKET_IFNAME", "^lo,docker", ""},
		{"NCCL_P2P_LEVEL", "NVL", ""}, {"NCCL_P2P_LEVEL", "nvl", "NVL, in capitals"}, {"NCCL_P2P_LEVEL", " SYS", "without blanks"}, {"NCCL_P2P_LEVEL", "4", ""},
		{"NCCL_P2P_LEVEL", "NVLINK", "one of"}, {"NCCL_P2P_LEVEL", "PORT", "one of"}, {"NCCL_P2P_LEVEL", "-1", "one of"}, {"NCCL_NET_MERGE_LEVEL", "PORT", ""},
		{"NCCL_DEBUG", "info", ""}, {"NCCL_DEBUG", "DEBUG", "one of"}, {"NCCL_SOCKET_FAMILY", "IPv4", "AF_INET"}, {"NCCL_SET_THREAD_NAME", "yes", "1 or 0"},
		{"NCCL_ALGO", "Ring", ""},
	} {
		v, ok := Known(c.name)
		if !ok {
			t.Fatalf("%s: unknown", c.name)
		}
		if got := v.Problem(c.value); c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s=%q: %q, want %q", c.name, c.value, got, c.want)
		}
	}
}
