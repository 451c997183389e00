package topology

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func matrixFile(t *testing.T, name string) Matrix {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	read := ReadNvidiaTopo
	if strings.HasPrefix(name, "rocm") {
		read = ReadROCmSMI
	}
	x, err := read(string(b))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// matrixText writes a matrix for comparison.
func matrixText(x Matrix) string {
	var b strings.Builder
	for i, d := range x.Devices {
		fmt.Fprintf(&b, "%s %q %q numa %d:", d.Label, d.Name, d.Bus, d.NUMA)
		for _, h := range x.Hops[i] {
			b.WriteString(" " + h.String())
		}
		b.WriteByte('\n')
	}
	for _, g := range x.Gaps {
		b.WriteString("gap: " + g + "\n")
	}
	return b.String()
}

func TestReadNvidiaTopo(t *testing.T) {
	for name, want := range map[string]string{
		"matrix/h200x2.txt": `GPU0 "" "" numa 0: X NV18
GPU1 "" "" numa 0: NV18 X
`,
		"matrix/old-driver.txt": `GPU0 "" "" numa -1: X PIX SYS SYS PHB SYS
GPU1 "" "" numa -1: PIX X SYS SYS PHB SYS
GPU2 "" "" numa -1: SYS SYS X NV2 SYS PXB
GPU3 "" "" numa -1: SYS SYS NV2 X SYS PXB
mlx5_0 "mlx5_0" "" numa -1: PHB PHB SYS SYS X SYS
mlx5_1 "mlx5_1" "" numa -1: SYS SYS PXB PXB SYS X
`,
		"matrix/gb200.txt": `GPU0 "" "" numa 0: X NV18 NV18 NV18 NODE SYS
GPU1 "" "" numa 0: NV18 X NV18 NV18 NODE SYS
GPU2 "" "" numa 1: NV18 NV18 X NV18 SYS NODE
GPU3 "" "" numa 1: NV18 NV18 NV18 X SYS NODE
NIC0 "mlx5_0" "" numa -1: NODE NODE SYS SYS X SYS
NIC1 "mlx5_1" "" numa -1: SYS SYS NODE NODE SYS X
`,
	} {
		t.Run(name, func(t *testing.T) {
			if got := matrixText(matrixFile(t, name)); got != want {
				t.Errorf("%s gives\n%s\nwant\n%s", name, got, want)
			}
		})
	}
	x := matrixFile(t, "matrix/a4.txt")
	if len(x.Devices) != 16 || x.Devices[7].NUMA != 1 || x.Devices[15].Name != "mlx5_7" || x.Hop(0, 9).String() != "PIX" {
		t.Errorf("a4.txt gives\n%s", matrixText(x))
	}
}

// TestReadNvidiaTopoAmidOutput reads what nvidia-smi, topo -m, topo -p2p and -q printed one after the other.
func TestReadNvidiaTopoAmidOutput(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "h200x2", "smi.txt"))
	if err != nil {
		t.Skip("the capture of two H200 is not here: ", err)
	}
	x, err := ReadNvidiaTopo(string(text))
	if err != nil || len(x.Devices) != 2 || x.Hop(0, 1) != (Hop{Distance: NVLink, Links: 18}) {
		t.Errorf("gives %v, %v", matrixText(x), err)
	}
}

func TestReadNvidiaTopoRefuses(t *testing.T) {
	a4, err := os.ReadFile(filepath.Join("testdata", "matrix", "a4.txt"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(a4), "\n")
	wide := "GPU0"
	for i := 1; i < 2000; i++ {
		wide += fmt.Sprintf(" GPU%d", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"empty":            {"", "no matrix found"},
		"binary":           {"\x00\xff\x1b[4m\x01", "no matrix found"},
		"legend only":      {"Legend:\n  X = Self\n", "no matrix found"},
		"peer matrix only": {" \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tOK\tX\t\n", "no matrix found"},
		"cut between rows": {strings.Join(lines[:9], ""), "ends after 8 of 16 rows"},
		"cut in a row":     {strings.Join(lines[:9], "") + "NIC0 PIX PIX", "has 2 of 16 cells"},
		"row missing":      {strings.Join(lines[:4], "") + strings.Join(lines[5:], ""), "want that of GPU3"},
		"not symmetric":    {strings.Replace(string(a4), "PIX     PIX     NODE    NODE    SYS", "PIX     PXB     NODE    NODE    SYS", 1), "not symmetric"},
		"links differ":     {"GPU0 GPU1\nGPU0 X NV18\nGPU1 NV12 X\n", "not symmetric"},
		"two matrices":     {string(a4) + string(a4), "a second matrix"},
		"unknown word":     {"GPU0 GPU1\nGPU0 X PSB\nGPU1 PSB X\n", `"PSB": unknown; known: X, NV#, PIX`},
		"links of a bomb":  {"GPU0 GPU1\nGPU0 X NV99999\nGPU1 NV99999 X\n", ": unknown; known: "},
		"diagonal":         {"GPU0 GPU1\nGPU0 PIX X\nGPU1 X PIX\n", "want X"},
		"self elsewhere":   {"GPU0 GPU1\nGPU0 X X\nGPU1 X X\n", "for itself only"},
		"column twice":     {"GPU0 GPU0\nGPU0 X PIX\nGPU0 PIX X\n", "duplicate"},
		"2000 devices":     {wide + "\n" + strings.Replace(wide, "GPU1", "X", 1), "at most 1024"},
		"long":             {strings.Repeat("x", maxTopoText+1), "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			if x, err := ReadNvidiaTopo(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: gives %d devices, %v; want an error with %q", name, len(x.Devices), err, c.want)
			}
		})
	}
}

func TestReadNvidiaTopoGaps(t *testing.T) {
	x, err := ReadNvidiaTopo("GPU0 NIC0\nGPU0 X N/A\nNIC0 N/A X\n")
	if err != nil || x.Hop(0, 1).Distance != DistanceUnknown || len(x.Gaps) != 2 {
		t.Errorf("N/A and no legend give %v, gaps %q", err, x.Gaps)
	}
}

func FuzzReadNvidiaTopo(f *testing.F) {
	for _, name := range []string{"h200x2", "a4", "old-driver", "gb200"} {
		b, err := os.ReadFile(filepath.Join("testdata", "matrix", name+".txt"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b))
	}
	f.Fuzz(func(t *testing.T, text string) { soundMatrix(t, text, ReadNvidiaTopo) })
}

// soundMatrix checks what every matrix that a reader lets through must be.
func soundMatrix(t *testing.T, text string, read func(string) (Matrix, error)) {
	x, err := read(text)
	if err != nil {
		if len(err.Error()) > 1000 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		return
	}
	if len(x.Devices) == 0 || len(x.Hops) != len(x.Devices) || len(x.Devices) > maxMatrixDevices {
		t.Fatalf("%d devices, %d rows", len(x.Devices), len(x.Hops))
	}
	for i := range x.Hops {
		if len(x.Hops[i]) != len(x.Devices) || x.Hop(i, i).Distance != Self {
			t.Fatalf("row %d: %v", i, x.Hops[i])
		}
		for j := range x.Hops {
			if x.Hop(i, j) != x.Hop(j, i) {
				t.Fatalf("cells %d, %d differ", i, j)
			}
		}
	}
	if p := PairDevices(x); len(p.Pairs) < len(x.of(KindGPU)) {
		t.Fatalf("%d pairs for %d GPUs", len(p.Pairs), len(x.of(KindGPU)))
	}
}
