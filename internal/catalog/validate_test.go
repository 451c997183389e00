package catalog

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

// whole is a small catalog without fault: the broken ones differ from it in one place.
func whole() fstest.MapFS {
	return fstest.MapFS{
		"gpu/g.yaml": {Data: []byte(`title: G
vendor: amd
pci_id: ["1002:74a1"]
arch: gfx942
source: s
memory: {value: 192, unit: GB, source: s}
memory_visible: {value: 191.98, unit: GiB, source: s}
memory_bandwidth: {value: 5300, unit: GB/s, source: s}
compute:
  bf16: {value: 1300, unit: TFLOP/s, source: s}
  fp8: {value: 2600, unit: TFLOP/s, source: s}
pcie: {speed: 32.0, width: 16, source: s}
scale_up: {value: 448, unit: GB/s, source: s}
scale_up_links: {value: 7, unit: link, source: s}
`)},
		"nic/n.yaml": {Data: []byte(`title: N
vendor: nvidia
pci_id: ["15b3:1021"]
driver: mlx5_core
source: s
ports: 1
port_rate: {value: 400, unit: Gb/s, source: s}
pcie: {speed: 32.0, width: 16, source: s}
`)},
		"nic/n-half.yaml": {Data: []byte(`title: H
vendor: nvidia
of: n
driver: mlx5_core
source: s
ports: 2
port_rate: {value: 200, unit: Gb/s, source: s}
`)},
		"machine/m.yaml": {Data: []byte(`title: M
gpu: g
gpus: {value: 8, unit: GPU, source: s}
scale_up: xgmi
gpus_per_switch: {value: 2, unit: GPU, source: s}
nic: n
nics: {value: 8, unit: NIC, source: s}
nic_names: eth[1-8]
fabrics: [f]
cpu: intel
cpuid: {family: 6, model: 143, source: s}
numa_nodes: {value: 2, unit: node, source: s}
pcie_generation: {value: 5, unit: generation, source: s}
source: s
`)},
		"fabric/f.yaml": {Data: []byte(`title: F
link_layer: ethernet
mtu: {value: 4096, unit: B, source: s}
header: {value: 82, unit: B, source: s}
payload: {value: 0.94, unit: ratio, source: s}
step: {value: 1, unit: ratio, source: s}
floor: {value: 8, unit: us, source: s}
gpudirect_rdma: false
prediction: [a]
source: s
`)},
		"switch/w.yaml": {Data: []byte(`title: W
fabric: ethernet
ports: {value: 4, unit: port, source: s}
port_rate: {value: 400, unit: Gb/s, source: s}
os:
  one: {format: "p%d", first: 1, step: 1, source: s}
  two: {format: "p%d:%d", first: 0, step: 1, group: 2, source: s}
  three: {names: [a, b, c, d], source: s}
`)},
	}
}

func TestWholeCatalogIsAccepted(t *testing.T) {
	c, err := read(whole())
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Switches["w"].OS["two"].Port(3); got != "p1:1" {
		t.Errorf("port 3: got %q, want p1:1", got)
	}
}

// broken is a change of one place of a file, and the expected error; empty where it is valid.
type broken struct{ from, to, want string }

func refuse(t *testing.T, file string, cases []broken) {
	t.Helper()
	for _, test := range cases {
		t.Run(file+" with "+test.to, func(t *testing.T) {
			files := whole()
			text := string(files[file].Data)
			if !strings.Contains(text, test.from) {
				t.Fatalf("%q is not in the whole catalog", test.from)
			}
			files[file] = &fstest.MapFile{Data: []byte(strings.Replace(text, test.from, test.to, 1))}
			_, err := read(files)
			if test.want == "" && err != nil {
				t.Error(err)
			}
			if test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("for %q\ngot  %v\nwant %s", test.from, err, test.want)
			}
		})
	}
}

func TestBrokenGPU(t *testing.T) {
	refuse(t, "gpu/g.yaml", []broken{
		{"title: G", "title: ' '", `catalog "gpu/g.yaml": title: is empty`},
		{"vendor: amd", "vendor: acme", `vendor: "acme": unknown; known: amd, nvidia`},
		{"1002:74a1", "1002:74A1", `pci_id: "1002:74A1" is not vendor:device, four lower case hexadecimal digits each`},
		{"1002:74a1", "10de:74a1", `pci_id: "10de:74a1" is not of vendor amd, 1002`},
		{`["1002:74a1"]`, "[]", `pci_id: is empty`},
		{"source: s\nmemory", "source: ''\nmemory", `catalog "gpu/g.yaml": source: is empty`},
		{"arch: gfx942\n", "", `catalog "gpu/g.yaml": arch: "" is not ^gfx[0-9a-f]{3,4}$`},
		{"gfx942", "sm_90", `arch: "sm_90" is not ^gfx[0-9a-f]{3,4}$`},
		{"value: 191.98, unit: GiB", "value: 206, unit: GiB", `memory_visible: 206 GiB does not fit a memory of 192 GB`},
		{"value: 191.98, unit: GiB", "value: 160, unit: GiB", `memory_visible: 160 GiB does not fit a memory of 192 GB`},
		{"value: 191.98, unit: GiB", "value: 191.98, unit: MiB", `memory_visible: 191.98 MiB does not fit`},
		{"value: 191.98, unit: GiB", "value: 196587, unit: MiB", ""},
		{"memory_visible: {value: 191.98, unit: GiB, source: s}\n", "", ""},
		{"memory_bandwidth", "memory_cuda: {value: 191, unit: GiB, source: s}\nmemory_bandwidth", ""},
		{"memory_bandwidth", "memory_cuda: {value: 210, unit: GiB, source: s}\nmemory_bandwidth", "memory_cuda: 210 GiB does not fit a memory of 192 GB"},
		{"memory_bandwidth", "memory_idle: {value: 100, unit: GiB, source: s}\nmemory_bandwidth", "memory_idle: 100 GiB: needs unified and a larger memory_cuda"},
		{"value: 5300, unit: GB/s", "value: 5.3, unit: TB/s", `memory_bandwidth.unit: "TB/s": unknown; known: GB/s`},
		{"value: 5300, unit: GB/s, source: s", "value: 5300, unit: GB/s", `memory_bandwidth.source: is empty`},
		{"value: 2600", "value: 1200", `compute: bf16 1300, fp8 1200, fp4 0: a narrower format is slower`},
		{"scale_up_links: {value: 7, unit: link, source: s}\n", "", `scale_up_links: must be given together with scale_up`},
		{"value: 7, unit: link", "value: 6.5, unit: link", `scale_up_links.value: 6.5 is not a whole number`},
		{"value: 192", "value: 0", `memory.value: 0 is not above 0`},
		{"value: 192", "value: .nan", `memory.value: NaN is not above 0`},
		{"value: 192", "value: .inf", `memory.value: +Inf is not above 0`},
		{"unit: GB,", "unit: Gb,", `memory.unit: "Gb": unknown; known: GB, GiB`},
		{"GB, source: s", "GB", `memory.source: is empty`},
		{"value: 448, unit: GB/s", "value: 448, unit: Gb/s", `scale_up.unit: "Gb/s": unknown; known: GB/s`},
		{"speed: 32.0", "speed: 31", `pcie.speed: 31 GT/s: unknown; known: 2.5, 5, 8, 16, 32, 64`},
		{"width: 16", "width: 15", `pcie.width: 15 lanes: unknown; known: 1, 2, 4, 8, 16`},
		{"title: G", "titel: G", `catalog "gpu/g.yaml": yaml: unmarshal errors:`},
		{"title: G", "title: [", `catalog "gpu/g.yaml": yaml:`},
	})
}

func TestBrokenNIC(t *testing.T) {
	refuse(t, "nic/n.yaml", []broken{
		{"driver: mlx5_core\n", "", `catalog "nic/n.yaml": driver: is empty`},
		{"ports: 1", "ports: 0", `ports: 0 is not above 0`},
		{"pcie: {speed: 32.0, width: 16, source: s}\n", "", ""}, // a cloud's own adapter has no published link
		{"speed: 32.0, ", "", `pcie.speed: 0 GT/s: unknown`},
		{"ports: 1", "ports: 1\nfunctions: -2", `functions: -2 is below 0`},
		{"ports: 1", "ports: 1\nfirmware_bad: [{train: \"28.1\", says: bad, source: s}]", `firmware_bad[0].train: "28.1" is not a number`},
		{"ports: 1", "ports: 1\nfirmware_bad: [{train: \"28\", says: bad}]", `firmware_bad[0].source: is empty`},
		{"ports: 1", "ports: 1\nfirmware: [{least: 28.1.2, for: f, source: s}]\nfirmware_bad: [{train: \"28\", says: bad, source: s}]", `train 28 is good by firmware, and bad`},
		{`pci_id: ["15b3:1021"]`, `pci_id: []`, `catalog "nic/n.yaml": pci_id: is empty`},
		{"port_rate: {value: 400, unit: Gb/s, source: s}\n", "", `port_rate.value: 0 is not above 0`},
	})
}

func TestBrokenVariant(t *testing.T) {
	refuse(t, "nic/n-half.yaml", []broken{
		{"of: n", "of: m", `catalog "nic/n-half.yaml": of: NIC "m" is not in the catalog; known: n, n-half`},
		{"of: n", "of: n-half", `of: "n-half" is itself a mode of n-half`},
		{"of: n", "of: n\npci_id: [\"15b3:1023\"]", `pci_id: must be empty where of is given: the ids are those of n`},
		{"vendor: nvidia", "vendor: broadcom", `of: "n" is of nvidia with mlx5_core, not of broadcom with mlx5_core`},
		{"driver: mlx5_core", "driver: bnxt_en", `of: "n" is of nvidia with mlx5_core, not of nvidia with bnxt_en`},
		{"of: n\n", "", `catalog "nic/n-half.yaml": pci_id: is empty`},
	})
}

// A PCI id that two parts have would find either part at random.
func TestDuplicatePCI(t *testing.T) {
	for name, test := range map[string]struct{ from, to, want string }{
		"gpu/h.yaml": {"title: G", "title: H", `catalog "gpu/h.yaml": pci_id: "1002:74a1" is also that of g`},
		"nic/a.yaml": {"title: N", "title: A", `catalog "nic/n.yaml": pci_id: "15b3:1021" is also that of a`},
		"gpu/g.yaml": {`["1002:74a1"]`, `["1002:74a1", "1002:74a1"]`, `catalog "gpu/g.yaml": pci_id: "1002:74a1" is also that of g`},
	} {
		t.Run(name, func(t *testing.T) {
			files := whole()
			like := map[byte]string{'g': "gpu/g.yaml", 'n': "nic/n.yaml"}[name[0]]
			files[name] = &fstest.MapFile{Data: []byte(strings.Replace(string(files[like].Data), test.from, test.to, 1))}
			if _, err := read(files); err == nil || err.Error() != test.want {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

func TestBrokenFabric(t *testing.T) {
	refuse(t, "fabric/f.yaml", []broken{
		{"link_layer: ethernet", "link_layer: omnipath", `catalog "fabric/f.yaml": link_layer: "omnipath": unknown; known: ethernet, infiniband`},
		{"gpudirect_rdma: false\n", "", `gpudirect_rdma: must be true or false`},
		{"value: 0.94", "value: 94", `payload.value: 94 is above 0.9804, full packets of 4096 with 82 bytes around them`},
		{"value: 0.94", "value: 0.981", `payload.value: 0.981 is above 0.9804`},
		{"mtu: {value: 4096, unit: B, source: s}\n", "", ""},
		{"value: 4096, unit: B", "value: 4, unit: KiB", `mtu.unit: "KiB": unknown; known: B`},
		{"value: 8, unit: us", "value: 8, unit: ms", `floor.unit: "ms": unknown; known: us`},
		{"step: {value: 1, unit: ratio, source: s}", "step: {value: 1, unit: ratio}", `step.source: is empty`},
		{"prediction: [a]", "prediction: ['']", `prediction: is empty`},
		{"\nsource: s", "", `catalog "fabric/f.yaml": source: is empty`},
		{"gpudirect_rdma", "transport: roce\ngpudirect_rdma", ""},
		{"gpudirect_rdma", "transport: tcp\ngpudirect_rdma", `transport: "tcp": unknown`},
		{"gpudirect_rdma", "band: {fast: 0.9, slow: 1.2, source: s}\ngpudirect_rdma", ""},
		{"gpudirect_rdma", "band: {fast: 1.1, slow: 1.2, source: s}\ngpudirect_rdma", "band: fast 1.1, slow 1.2: fast must be above 0 and at most 1, slow at least 1"},
		{"gpudirect_rdma", "band: {fast: 0.9, slow: 1.2}\ngpudirect_rdma", "band.source: is empty"},
		{"gpudirect_rdma", "only: {algorithm: Ring, source: s}\ngpudirect_rdma", ""},
		{"gpudirect_rdma", "only: {algorithm: ring, source: s}\ngpudirect_rdma", `only.algorithm: "ring": unknown`},
		{"gpudirect_rdma", "only: {protocol: LL256, source: s}\ngpudirect_rdma", `only.protocol: "LL256": unknown`},
		{"gpudirect_rdma", "earlier: {fabric: f, below_sm: 90, source: s}\ngpudirect_rdma", ""},
		{"gpudirect_rdma", "earlier: {fabric: g, source: s}\ngpudirect_rdma", `earlier.fabric: fabric "g" is not in the catalog`},
		{"gpudirect_rdma", "node_limit: {value: 4, unit: Gb/s, source: s}\ngpudirect_rdma", `node_limit.unit: "Gb/s": unknown`},
	})
}

func TestBrokenMachine(t *testing.T) {
	refuse(t, "machine/m.yaml", []broken{
		{"gpu: g", "gpu: h", `catalog "machine/m.yaml": gpu: GPU "h" is not in the catalog; known: g`},
		{"gpu: g\n", "", `gpu: GPU "" is not in the catalog; known: g`},
		{"nic: n", "nic: o", `nic: NIC "o" is not in the catalog; known: n`},
		{"value: 8, unit: GPU", "value: 7.5, unit: GPU", `gpus.value: 7.5 is not a whole number up to 65536`},
		{"value: 8, unit: NIC", "value: 9, unit: NIC", `nic_names: "eth[1-8]" gives 8 names for 9 NICs`},
		{"eth[1-8]", "eth[1-7,7]", `nic_names: "eth7" is listed twice`},
		{"eth[1-8]", "averyveryverylong[1-8]", `nic_names: "averyveryverylong1" is longer than 15 bytes`},
		{"eth[1-8]", "eth[8-1]", `nic_names: "eth[8-1]": range "8-1" is reversed: want 1-8`},
		{"nic_names: eth[1-8]\n", "", ""}, // no source gives the names
		{"scale_up: xgmi\n", "", `scale_up: "" does not fit the GPUs: must be "xgmi"`},
		{"scale_up: xgmi", "scale_up: nvlink", `scale_up: "nvlink" does not fit the GPUs: must be "xgmi"`},
		{"value: 8, unit: GPU", "value: 1, unit: GPU", `scale_up: "xgmi" does not fit the GPUs: must be ""`},
		{"scale_up: xgmi", "scale_up: xgmi\nscale_up_gpus: {value: 4, unit: GPU, source: s}", `scale_up_gpus.value: 4 is below the 8 of the machine`},
		{"scale_up: xgmi", "scale_up: xgmi\nscale_up_gpus: {value: 72, unit: GPU, source: s}", ""},
		{"value: 2, unit: GPU", "value: 16, unit: GPU", `gpus_per_switch.value: 16 is above the 8 of the machine`},
		{"gpus_per_switch: {value: 2, unit: GPU, source: s}", "gpus_per_switch: {value: 2, unit: GPU, source: s}\nswitch_uplink: {speed: 16, width: 16, source: s}", ""},
		{"gpus_per_switch: {value: 2, unit: GPU, source: s}", "gpus_per_switch: {value: 2, unit: GPU, source: s}\nswitch_uplink: {speed: 15, width: 16, source: s}", "switch_uplink.speed: 15 GT/s: unknown"},
		{"gpus_per_switch: {value: 2, unit: GPU, source: s}", "switch_uplink: {speed: 16, width: 16, source: s}", "switch_uplink: has no meaning without gpus_per_switch"},
		{"fabrics: [f]", "fabrics: [f, e]", `fabrics: fabric "e" is not in the catalog; known: f`},
		{"fabrics: [f]\n", "", `fabrics: is empty`},
		{"cpu: intel", "cpu: sparc", `cpu: "sparc": unknown; known: amd, arm, intel`},
		{"value: 5, unit: generation", "value: 7, unit: generation", `pcie_generation.value: 7 is above 6`},
		{"family: 6, model: 143, source: s", "family: 25, model: 17, source: s", `cpuid: family 25, model 17 is not a server processor of cpu "intel"`},
		{"family: 6, model: 143, source: s", "family: 6, model: 0, source: s", "cpuid: family 6, model 0 is not a server processor"},
		{"family: 6, model: 143, source: s", "family: 6, model: 143", "cpuid.source: is empty"},
		{"value: 2, unit: node", "value: 2, unit: NUMA", `numa_nodes.unit: "NUMA": unknown; known: node`},
	})
}

func TestBrokenSwitch(t *testing.T) {
	refuse(t, "switch/w.yaml", []broken{
		{"fabric: ethernet", "fabric: token-ring", `fabric: "token-ring": unknown; known: ethernet, infiniband`},
		{"value: 4, unit: port", "value: 70000, unit: port", `ports.value: 70000 is not a whole number up to 65536`},
		{"value: 4, unit: port", "value: 3, unit: port", `os.two.group: 3 ports do not fill cages of 2`},
		{"value: 4, unit: port", "value: 6, unit: port", `os.three.names: gives 4 names for 6 ports`},
		{`"p%d",`, `"p",`, `os.one.format: "p" does not have 1 times %d and no other verb`},
		{`"p%d",`, `"p%d%s",`, `os.one.format: "p%d%s" does not have 1 times %d and no other verb`},
		{`"p%d:%d"`, `"p%d"`, `os.two.format: "p%d" does not have 2 times %d and no other verb`},
		{"first: 1, step: 1", "first: 1", `os.one.step: 0 is not above 0`},
		{"first: 1, step: 1", "first: -1, step: 1", `os.one.first: -1 is below 0`},
		{"first: 1, step: 1", "group_first: 1, step: 1", `os.one.group_first: has no meaning without group`},
		{`"p%d:%d"`, `"p%d%d"`, ""}, // p00 p01 p10 p11: different names, so no fault
		{"group: 2", "group: 2, group_first: 1", ""},
		{"[a, b, c, d]", "[a, b, c, a]", `os.three: "a" is listed twice`},
		{"[a, b, c, d]", "[a, b, c, d], step: 1", `os.three: has both names and a format`},
		{"[a, b, c, d], source: s", "[a, b, c, d]", `os.three.source: is empty`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {format: "p%d/%d", first: 1, into: [2, 4], source: t},`, ""},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 0, step: 4, split: {format: "p%d", lanes: 4, into: [2, 4], source: t},`, ""},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {format: "p%d/%d", into: [2]},`, `os.one.split.source: is empty`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {into: [2], source: t},`, `os.one.split.format: is empty`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {format: "p/%s", into: [2], source: t},`, `os.one.split.format: "p/%s" does not have one or two times %d and no other verb`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {format: "p%d", into: [2], source: t},`, `os.one.split.lanes: is not set, and the format has no place for the port of a cage`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 4, split: {format: "p%d", lanes: 4, into: [3], source: t},`, `os.one.split.into: 4 lanes do not divide into 3 ports`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {format: "p%d/%d", into: [4, 2], source: t},`, `os.one.split.into: [4 2] are not numbers of 2 to 16 ports, ascending`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {format: "p%d/%d", into: [1, 2], source: t},`, `os.one.split.into: [1 2] are not numbers of 2 to 16 ports, ascending`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {format: "p%d", lanes: 4, into: [4], source: t},`, `os.one.split of 4: "p2" is listed twice`},
		{`"p%d", first: 1, step: 1,`, `"p%d", first: 1, step: 1, split: {format: "p%d/%d", whole: "w%d", into: [2], source: t},`, `os.one.split.whole: "w%d" is not a format with one %d of a cage that group splits`},
		{`group: 2,`, `group: 2, split: {format: "p%d:%d", whole: "p%d", into: [2, 4], source: t},`, ""},
		{`group: 2,`, `group: 2, split: {format: "p%d:%d", whole: "p", into: [2, 4], source: t},`, `os.two.split.whole: "p" is not a format with one %d of a cage that group splits`},
		{"three: {names", "three: {split: {format: \"p%d/%d\", into: [2], source: t}, names", `os.three: has both names and a format`},
		{"one:", "One:", `os.One: "One" is not made of lower case letters, digits and single hyphens`},
	})
}

func TestStrayFiles(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"gpu/h.yml":       {"title: H", `catalog "gpu/h.yml": not a .yaml file in one of gpu, nic, machine, switch, fabric`},
		"gpus/h.yaml":     {"title: H", `catalog "gpus/h.yaml": not a .yaml file in one of`},
		"gpu/old/h.yaml":  {"title: H", `catalog "gpu/old/h.yaml": not a .yaml file in one of`},
		"gpu/empty.yaml":  {"# nothing\n", `catalog "gpu/empty.yaml": empty`},
		"gpu/two.yaml":    {"title: H\n---\ntitle: I\n", `catalog "gpu/two.yaml": holds more than one document`},
		"gpu/H_100.yaml":  {"title: H", `catalog "gpu/H_100.yaml": file name: "H_100" is not made of lower case letters`},
		"machine/no.yaml": {"title: M", `catalog "machine/no.yaml": nics.value: 0 is not above 0`},
	} {
		t.Run(name, func(t *testing.T) {
			files := whole()
			files[name] = &fstest.MapFile{Data: []byte(test.text)}
			if _, err := read(files); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
}

// All problems of the catalog are reported at once, always in the same order.
func TestAllProblemsAtOnce(t *testing.T) {
	files := whole()
	files["gpu/a.yaml"] = &fstest.MapFile{Data: []byte("title: A\nvendor: amd\npci_id: [x]\narch: gfx942\nsource: s\nmemory: {value: 1, unit: GB, source: s}\n")}
	files["nic/b.yaml"] = &fstest.MapFile{Data: []byte("unknown: 1\n")}
	files["switch/w.yaml"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(string(files["switch/w.yaml"].Data), "step: 1", "step: 0"))}
	want := `catalog "nic/b.yaml": yaml: unmarshal errors:
  line 1: field unknown not found in type catalog.NICModel
catalog "gpu/a.yaml": pci_id: "x" is not vendor:device, four lower case hexadecimal digits each
catalog "switch/w.yaml": os.one.step: 0 is not above 0
catalog "switch/w.yaml": os.two.step: 0 is not above 0`
	for range 20 { // maps are walked in another order each time
		c, err := read(files)
		if c != nil || err == nil {
			t.Fatalf("got %v, %v", c, err)
		}
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Fatalf("(-want +got)\n%s", diff)
		}
	}
}
