package topology

import (
	"strings"
	"testing"
)

func TestParseBus(t *testing.T) {
	for text, want := range map[string]string{
		"43:0.0":             "0000:43:00.0", // niccli, ROCE 2.2.1
		"1d:00.0":            "0000:1d:00.0",
		"0000:1C:00.0":       "0000:1c:00.0", // rocm-smi
		"00000000:00:06.0":   "0000:00:06.0", // nvidia-smi
		"0000000F:01:00.0":   "000f:01:00.0",
		"10000:e1:00.0":      "10000:e1:00.0", // a domain of the Volume Management Device
		" 0000:23:10.2\n":    "0000:23:10.2",
		"fffffff:ff:1f.7":    "fffffff:ff:1f.7",
		"0:0:0.0":            "0000:00:00.0",
		"":                   "",
		"43":                 "",
		"000004:03.0":        "",
		"0000:1c:20.0":       "", // device 0x20
		"0000:1c:00.8":       "",
		"0000:1c:00":         "",
		"0000:1c:00.0.0":     "",
		"0x0000:1c:00.0":     "",
		"123456789:00:00.0":  "",
		"fffffff:ff:ff.0":    "", // NCCL's word for an NVSwitch that the guest does not see
		"0000:1c:00.0 extra": "",
	} {
		t.Run(text, func(t *testing.T) {
			got, err := ParseBus(text)
			if got != want || (err == nil) != (want != "") {
				t.Errorf("ParseBus(%q) = %q, %v; want %q", text, got, err, want)
			}
		})
	}
	if _, err := ParseBus(strings.Repeat("a", 1<<20)); err == nil || len(err.Error()) > 300 {
		t.Error("a long text is not clipped in the error")
	}
}

// TestBusLists reads the addresses of the documents: the GPU and NIC lists of ROCE, the cards of VCF 8.3.
func TestBusLists(t *testing.T) {
	for _, list := range []string{
		"1a:00.0 3c:00.0 4d:00.0 5e:00.0 9c:00.0 bc:00.0 cc:00.0 dc:00.0", // VCF 8.3, mst status -vv
		"1d:00.0 43:0.0 56:0.0 69:0.0 9f:0.0 c3:0.0 d5:0.0 e7:0.0",        // ROCE 2.2.1.2, installer
	} {
		for text := range strings.FieldsSeq(list) {
			got, err := ParseBus(text)
			if want := "0000:" + text[:2] + ":00.0"; got != want || err != nil {
				t.Errorf("%q gives %q, %v; want %q", text, got, err, want)
			}
		}
	}
}

func TestBusOfInterface(t *testing.T) {
	for name, want := range map[string]string{
		"enp28s0np0":      "0000:1c:00.0", // ROCE 8.7.2
		"enp222s0np0":     "0000:de:00.0",
		"enP2p1s0f1np1":   "0002:01:00.1", // DGX Spark
		"rocep1s0f0":      "0000:01:00.0",
		"roceP2p1s0f1":    "0002:01:00.1",
		"ibp94s0":         "0000:5e:00.0",
		"rdmap79s0":       "0000:4f:00.0", // EFA
		"enp3s0":          "0000:03:00.0",
		"enp3s0f0d1":      "0000:03:00.0",
		"enp23s0f0v1":     "", // a virtual function: the name is its parent's
		"enp23s0f0np0v12": "",
		"enp256s0":        "",
		"enp1s32":         "",
		"ibs65":           "", // by slot
		"eth0":            "",
		"eno8303":         "",
		"mlx5_0":          "",
		"":                "",
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := BusOfInterface(name)
			if got != want || ok != (want != "") {
				t.Errorf("BusOfInterface(%q) = %q, %v; want %q", name, got, ok, want)
			}
		})
	}
}

func FuzzParseBus(f *testing.F) {
	for _, s := range []string{"43:0.0", "0000:1C:00.0", "00000000:00:06.0", "fffffff:ff:ff.0", "e6000", "enP2p1s0f1np1", "enp23s0f0v1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, read := range []func(string) (string, error){ParseBus} {
			if bus, err := read(text); err == nil {
				if again, err := ParseBus(bus); again != bus || err != nil {
					t.Errorf("%q gives %q, which gives %q, %v", text, bus, again, err)
				}
			}
		}
		if bus, ok := BusOfInterface(text); ok {
			if again, err := ParseBus(bus); again != bus || err != nil {
				t.Errorf("%q gives %q, which gives %q, %v", text, bus, again, err)
			}
		}
	})
}
