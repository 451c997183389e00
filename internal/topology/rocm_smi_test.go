package topology

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadROCmSMI(t *testing.T) {
	for name, want := range map[string]string{
		"rocm/mi300x.txt": `GPU0 "" "0000:1b:00.0" numa -1: X XGMI XGMI XGMI XGMI XGMI XGMI XGMI
GPU1 "" "0000:3d:00.0" numa -1: XGMI X XGMI XGMI XGMI XGMI XGMI XGMI
GPU2 "" "0000:4e:00.0" numa -1: XGMI XGMI X XGMI XGMI XGMI XGMI XGMI
GPU3 "" "0000:5f:00.0" numa -1: XGMI XGMI XGMI X XGMI XGMI XGMI XGMI
GPU4 "" "0000:9d:00.0" numa -1: XGMI XGMI XGMI XGMI X XGMI XGMI XGMI
GPU5 "" "0000:bd:00.0" numa -1: XGMI XGMI XGMI XGMI XGMI X XGMI XGMI
GPU6 "" "0000:cd:00.0" numa -1: XGMI XGMI XGMI XGMI XGMI XGMI X XGMI
GPU7 "" "0000:dd:00.0" numa -1: XGMI XGMI XGMI XGMI XGMI XGMI XGMI X
`,
		"rocm/pcie.txt": `GPU0 "" "0000:03:00.0" numa 0: X SYS SYS
GPU1 "" "0000:83:00.0" numa 1: SYS X PHB
GPU2 "" "0000:86:00.0" numa 1: SYS PHB X
gap: rocm-smi does not see PCIe switches: PHB may be PIX, PXB or NODE
`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := matrixText(matrixFile(t, name)); got != want {
				t.Errorf("%s gives\n%s\nwant\n%s", name, got, want)
			}
		})
	}
	x, err := ReadROCmSMI("GPU[0]\t\t: PCI Bus: 0000:1C:00.0\n GPU[1]          : PCI Bus: 0000:42:00.0\n")
	if err != nil || len(x.Devices) != 2 || x.Devices[1].Bus != "0000:42:00.0" || x.Hop(0, 1).Distance != DistanceUnknown || len(x.Gaps) != 1 {
		t.Errorf("--showbus alone gives %v, %v", matrixText(x), err)
	}
}

func TestReadROCmSMIRefuses(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("testdata", "rocm", "mi300x.txt"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	const head = "==== Link Type between two GPUs ====\n"
	for name, c := range map[string]struct{ text, want string }{
		"empty":             {"", "no output of"},
		"foreign":           {"GPU0 GPU1\nGPU0 X PIX\n", "no output of"},
		"cut before matrix": {head, "ends before the matrix"},
		"cut between rows":  {text[:strings.Index(text, "GPU5   XGMI")], "the matrix ends after 5 of 8 rows"},
		"cut in a row":      {text[:strings.Index(text, "GPU5   XGMI")+30], "row of GPU5"},
		"not symmetric":     {head + "GPU0 GPU1\nGPU0 0 XGMI\nGPU1 PCIE 0\n", "not symmetric"},
		"foreign word":      {head + "GPU0 GPU1\nGPU0 0 NV18\nGPU1 NV18 0\n", `link type "NV18": unknown; known: XGMI`},
		"diagonal":          {head + "GPU0 GPU1\nGPU0 XGMI 0\nGPU1 0 XGMI\n", "to itself"},
		"two hosts":         {text + text, `a second "Link Type`},
		"two buses":         {text + "GPU[0] : PCI Bus: 0000:99:00.0\n", "is at 0000:1b:00.0 and at 0000:99:00.0"},
		"no address":        {"GPU[0] : PCI Bus: nowhere\n", `PCI address "nowhere"`},
		"parts differ":      {text + "GPU[8] : PCI Bus: 0000:99:00.0\n", "8 GPUs, and 9 elsewhere"},
		"number":            {"GPU[9999] : PCI Bus: 0000:99:00.0\n", "not between 0 and 1023"},
		"a GPU missing":     {"GPU[1] : PCI Bus: 0000:99:00.0\n", "GPU0 of 1"},
		"long":              {strings.Repeat("x", maxTopoText+1), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			if x, err := ReadROCmSMI(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: gives %d devices, %v; want an error with %q", name, len(x.Devices), err, c.want)
			}
		})
	}
}

func FuzzReadROCmSMI(f *testing.F) {
	for _, name := range []string{"mi300x", "pcie"} {
		b, err := os.ReadFile(filepath.Join("testdata", "rocm", name+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) { soundMatrix(t, text, ReadROCmSMI) })
}
