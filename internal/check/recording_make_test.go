package check_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
)

var update = flag.Bool("update", false, "rewrite the recordings")

// TestRecordingsAreCurrent records the synthetic hosts: the committed recordings, and those that the README shows, hold what
// facts.Collect asks today.
func TestRecordingsAreCurrent(t *testing.T) {
	for _, tt := range []struct {
		node, path string
		host       synthetic
	}{
		{"host1", "testdata/recordings/roce.txtar", roceHost(t)},
		{"host1", "testdata/recordings/infiniband.txtar", infinibandHost(t)},
		{"gpu06", "../../docs/samples/gpu06.txtar", infinibandHost(t)},
		{"gpu07", "../../docs/samples/gpu07.txtar", narrowHost(t)},
	} {
		t.Run(filepath.Base(tt.path), func(t *testing.T) {
			now := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
			recorder := host.NewRecorder(named{tt.host, tt.node}, "v0.0.0", now)
			facts.Collect(context.Background(), recorder, now)
			if *update {
				if err := os.WriteFile(tt.path, recorder.Archive(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			have, err := os.ReadFile(tt.path)
			if err != nil || !bytes.Equal(have, recorder.Archive()) {
				t.Errorf("%s is not what is recorded today (%v): run with -update", tt.path, err)
			}
		})
	}
}

// named is a synthetic host under another name.
type named struct {
	synthetic
	name string
}

func (n named) Name() string { return n.name }

// narrowHost is infinibandHost with a port that lost half of its lanes and goes down again and again, and with NUMA
// balancing on.
func narrowHost(t testing.TB) synthetic {
	h := infinibandHost(t)
	port := "/sys/class/infiniband/mlx5_1/ports/1"
	h.files[port+"/rate"] = "200 Gb/sec (2X NDR)\n"
	h.files[port+"/counters/link_downed"] = "41\n"
	h.files["/proc/sys/kernel/numa_balancing"] = "1\n"
	healthy, second, _ := strings.Cut(h.commands["ibv_devinfo -v"], "hca_id:\tmlx5_1")
	h.commands["ibv_devinfo -v"] = healthy + "hca_id:\tmlx5_1" + strings.Replace(second, "active_width:\t\t4X (2)", "active_width:\t\t2X (16)", 1)
	h.files["/sys/class/net/ib2/speed"] = "200000\n"
	h.commands["ethtool ib2"] = strings.Replace(h.commands["ethtool ib2"], "400000Mb/s", "200000Mb/s", 1)
	return h
}

const (
	findProviders = `find /usr/lib /usr/local -maxdepth 3 -name lib*-rdmav*.so* -printf %s %p\n`
	queryPackages = "dpkg-query -W -f ${db:Status-Abbrev} ${Package} ${Version}\n bnxt* libbnxt* netxtreme* ionic* libionic* rdma-core ibverbs-providers libibverbs mlnx-of* kmod-mlnx-of* doca-ofed* rocm-core rccl"

	grepSymbols  = `grep -E  (_text|ib_register_peer_memory_client|ib_umem_dmabuf_get)\b /proc/kallsyms`
	firstSymbol  = "ffffffff81000000 T _text\n"
	dmabufSymbol = "ffffffffc0a01234 t ib_umem_dmabuf_get\t[ib_uverbs]\n"
	peerSymbol   = "ffffffffc0a01000 T ib_register_peer_memory_client\t[ib_uverbs]\n"
)

// roceHost has two MI300X and two BCM57608.
func roceHost(t testing.TB) synthetic {
	h := newSynthetic(t, ethernet(1), "PowerEdge XE9680")
	h.addModules("amdgpu 6.10.5", "bnxt_en 1.10.3-235.1.160.0", "bnxt_re 235.1.160.0", "ib_core ", "ib_uverbs ")
	verbs, lldp := "", ""
	for rail := 1; rail <= 2; rail++ {
		h.addPCI(rail, card{0x14e4, 0x1760, "0x020000", "bnxt_en"}, card{0x1002, 0x74a1, "0x120000", "amdgpu"})
		gpu := fmt.Sprintf("%s0000:%d4:00.0/", pciFolder, rail)
		h.files[gpu+"product_name"] = "AMD Instinct MI300X OAM\n"
		h.files[gpu+"vbios_version"] = "113-M3000100-102\n"
		h.files[gpu+"unique_id"] = fmt.Sprintf("0123456789abcde%d\n", rail)
		h.addRAS(gpu)
		nic, hca := fmt.Sprintf("eth%d", rail), fmt.Sprintf("bnxt_re%d", rail-1)
		h.addNIC(rail, nic, fmt.Sprintf("02:00:00:01:00:0%d", rail), "bnxt_en", "1.10.3-235.1.160.0", "231.2.63.0/pkg 231.1.162.1")
		h.addQoS(rail, nic)
		guid := fmt.Sprintf("0200:00ff:fe01:000%d", rail)
		port := h.addHCA(rail, hca, guid, "231.2.63.0", "BCM57608", "bnxt_en", "Ethernet")
		ipv4 := fmt.Sprintf("0000:0000:0000:0000:0000:ffff:0a40:010%d", 2*rail-1)
		for i, gid := range []string{"fe80:0000:0000:0000:" + guid, "fe80:0000:0000:0000:" + guid, ipv4, ipv4, none, none} {
			h.files[fmt.Sprintf("%s/gids/%d", port, i)] = gid + "\n"
			if gid != none {
				h.files[fmt.Sprintf("%s/gid_attrs/types/%d", port, i)] = []string{"IB/RoCE v1", "RoCE v2"}[i%2] + "\n"
				h.files[fmt.Sprintf("%s/gid_attrs/ndevs/%d", port, i)] = nic + "\n"
			}
		}
		h.files[port+"/lid"], h.files[port+"/sm_lid"], h.files[port+"/pkeys/0"] = "0x0\n", "0x0\n", "0xffff\n"
		verbs += verbsText(hca, guid, "231.2.63.0", "BCM57608", "Ethernet", 0, 0) +
			fmt.Sprintf("\t\t\tGID[  3]:\t\t::ffff:10.64.1.%d, RoCE v2\n\n", 2*rail-1)
		lldp += fmt.Sprintf(`%s{"name":%q,"via":"LLDP","chassis":[{"name":[{"value":"leaf%d"}]}],"port":[{"id":[{"type":"ifname","value":"Ethernet1"}]}]}`,
			map[bool]string{true: ","}[rail > 1], nic, rail)
	}
	h.commands["ibv_devinfo -v"] = verbs
	h.commands["lldpcli -f json0 show neighbors"] = `{"lldp":[{"interface":[` + lldp + "]}]}\n"
	h.commands[grepSymbols] = firstSymbol + peerSymbol + dmabufSymbol
	h.files["/var/lib/dkms/amdgpu"] = ""
	h.commands[findProviders] = "260416 /usr/local/lib/libbnxt_re-rdmav34.so\n401232 /usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so\n"
	h.commands[queryPackages] = "ii  bnxt-en-dkms 1.10.3.235.1.160.0\nii  bnxt-re-dkms 235.1.160.0\nii  bnxt-rocelib 235.1.160.0\nii  rdma-core 50.0-2ubuntu0.2\n"
	h.commands["dkms status"] = "amdgpu/6.10.5, 6.8.0-60-generic, x86_64: installed\n"
	h.commands["dmesg"] = "[    0.000000] Linux version 6.8.0-60-generic (build@host) (gcc) #63-Ubuntu SMP\n" +
		"[    9.000000] bnxt_en 0000:13:00.0 eth1: Broadcom BCM57608 NetXtreme-E 400Gb Ethernet found\n"
	return h
}

// addQoS has the traffic classes and stored options of a NIC as niccli prints them.
func (h synthetic) addQoS(rail int, nic string) {
	card := fmt.Sprintf("niccli -i %d3:00.0 ", rail)
	h.commands[card+"qos --ets --show"] = "IEEE 8021QAZ ETS Configuration TLV:\n         PRIO_MAP: 0:0 1:0 2:0 3:1 4:0 5:0 6:0 7:2\n         TC Bandwidth: 50% 50% 0%\n         TSA_MAP: 0:ets 1:ets 2:strict\n" +
		"IEEE 8021QAZ PFC TLV:\n         PFC enabled: 3\nIEEE 8021QAZ APP TLV:\n         APP#0:\n          Priority: 7\n          Sel: 5\n          DSCP: 48\n\n" +
		"         APP#1:\n          Priority: 3\n          Sel: 5\n          DSCP: 26\n\n         APP#2:\n          Priority: 3\n          Sel: 3\n          UDP or DCCP: 4791\n\n" +
		"TC Rate Limit: 100% 100% 100% 0% 0% 0% 0% 0%\n"
	for option, value := range map[string]string{
		"support_rdma --scope 0": "True", "performance_profile": "RoCE", "pcie_relaxed_ordering": "Enabled",
		"dcbx_mode --scope 0": "Disabled", "lldp_nearest_bridge --scope 0": "Disabled", "lldp_nearest_non_tpmr_bridge --scope 0": "Disabled",
	} {
		name, _, _ := strings.Cut(option, " ")
		h.commands[card+"nvm --getoption "+option] = name + " = " + value + "\n"
	}
	h.commands["ethtool -a "+nic] = "Pause parameters for " + nic + ":\nAutonegotiate:\toff\nRX:\t\toff\nTX:\t\toff\n\n"
	h.files["/etc/bnxt_re/bnxt_re.conf"] = "ENABLE_FC=1\nFC_MODE=3\nROCE_PRI=3\nROCE_DSCP=26\nCNP_PRI=7\nCNP_DSCP=48\nROCE_BW=50\nUTILITY=4\n"
}

const none = "0000:0000:0000:0000:0000:0000:0000:0000"

// infinibandHost has two H100 and two ConnectX-7.
func infinibandHost(t testing.TB) synthetic {
	h := newSynthetic(t, ipoib(), "PowerEdge XE9680 H100")
	h.addModules("ib_core 24.10-1.1.4", "mlx5_core 24.10-1.1.4", "mlx5_ib 24.10-1.1.4", "nvidia 550.90.07", "nvidia_peermem 550.90.07")
	verbs := ""
	for rail := 1; rail <= 2; rail++ {
		h.addPCI(rail, card{0x15b3, 0x1021, "0x020700", "mlx5_core"}, card{0x10de, 0x2330, "0x030200", "nvidia"})
		h.files[fmt.Sprintf("/proc/driver/nvidia/gpus/0000:%d4:00.0/information", rail)] =
			fmt.Sprintf("Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-00000000-0000-0000-0000-00000000000%d\nVideo BIOS: \t 96.00.74.00.01\n", rail)
		nic, hca := fmt.Sprintf("ib%d", rail), fmt.Sprintf("mlx5_%d", rail-1)
		h.addNIC(rail, nic, ipoib().nics[rail].MAC, "mlx5_core[ib_ipoib]", "24.10-1.1.4", "28.39.1002 (MT_0000000838)")
		guid := fmt.Sprintf("0200:00ff:fe01:000%d", rail)
		port := h.addHCA(rail, hca, guid, "28.39.1002", "MT4129", "mlx5_core", "InfiniBand")
		h.files[port+"/gids/0"] = "fe80:0000:0000:0000:" + guid + "\n"
		h.files[port+"/lid"], h.files[port+"/sm_lid"] = fmt.Sprintf("0x2%d\n", rail), "0x1\n"
		h.files[port+"/pkeys/0"], h.files[port+"/pkeys/1"] = "0xffff\n", "0x8001\n"
		verbs += verbsText(hca, guid, "28.39.1002", "MT_0000000838", "InfiniBand", 32+rail, 1) + "\n"
	}
	h.addNVLink("550.90.07")
	h.commands["ibv_devinfo -v"] = verbs
	h.commands[grepSymbols] = firstSymbol + peerSymbol
	h.commands["lldpcli -f json0 show neighbors"] = `{"lldp":[{}]}` + "\n"
	h.commands[findProviders] = "401232 /usr/lib/x86_64-linux-gnu/libibverbs/libmlx5-rdmav34.so\n"
	h.commands[queryPackages] = "ii  mlnx-ofed-kernel-dkms 24.10.OFED.24.10.1.1.4.1-1\nii  rdma-core 2410mlnx54-1.2410114\n"
	h.commands["dmesg"] = "[    0.000000] Linux version 6.8.0-60-generic (build@host) (gcc) #63-Ubuntu SMP\n" +
		"[    9.000000] mlx5_core 0000:13:00.0: firmware version: 28.39.1002\n"
	return h
}

// addModules loads modules, each with its version behind a blank.
func (h synthetic) addModules(list ...string) {
	known := "modinfo"
	for _, m := range list {
		name, version, _ := strings.Cut(m, " ")
		h.files["/proc/modules"] += name + " 16384 0 - Live 0x0000000000000000\n"
		if name == "ib_uverbs" {
			continue // its version does not matter
		}
		known += " " + name
		h.commands["modinfo"] += "filename:       /lib/modules/6.8.0-60-generic/updates/dkms/" + name + ".ko.zst\n"
		if version != "" {
			h.files["/sys/module/"+name+"/version"] = version + "\n"
			h.commands["modinfo"] += "version:        " + version + "\n"
		}
	}
	h.commands[known] = h.commands["modinfo"]
	delete(h.commands, "modinfo")
}

func (h synthetic) addNIC(rail int, name, mac, driver, version, firmware string) {
	class := "/sys/class/net/" + name
	h.links[class] = fmt.Sprintf("../../devices/pci0000:%d0/0000:%d3:00.0/net/%s", rail, rail, name)
	h.links[class+"/device/driver"] = h.links[fmt.Sprintf("%s0000:%d3:00.0/driver", pciFolder, rail)]
	h.files[class+"/address"], h.files[class+"/speed"] = mac+"\n", "400000\n"
	h.commands["ethtool "+name] = "Settings for " + name + ":\n\tSpeed: 400000Mb/s\n\tAuto-negotiation: on\n\tLink detected: yes\n"
	h.commands["ethtool -i "+name] = fmt.Sprintf("driver: %s\nversion: %s\nfirmware-version: %s\nbus-info: 0000:%d3:00.0\n", driver, version, firmware, rail)
	h.commands["ethtool --show-fec "+name] = "FEC parameters for " + name + ":\nSupported/Configured FEC encodings: Auto RS\nActive FEC encoding: RS\n"
}

// addHCA returns the folder of its one port.
func (h synthetic) addHCA(rail int, name, guid, firmware, kind, driver, layer string) (port string) {
	class := "/sys/class/infiniband/" + name
	h.links[class] = fmt.Sprintf("../../devices/pci0000:%d0/0000:%d3:00.0/infiniband/%s", rail, rail, name)
	h.links[class+"/device/driver"] = "../../../../bus/pci/drivers/" + driver
	board := map[string]string{"MT4129": "MT_0000000838"}[kind]
	if board == "" {
		board = kind
	}
	port = class + "/ports/1"
	for file, text := range map[string]string{
		class + "/node_guid": guid, class + "/sys_image_guid": guid, class + "/fw_ver": firmware, class + "/hca_type": kind, class + "/board_id": board,
		port + "/state": "4: ACTIVE", port + "/phys_state": "5: LinkUp", port + "/link_layer": layer, port + "/rate": "400 Gb/sec (4X NDR)",
		port + "/counters/link_downed": "1", port + "/counters/local_link_integrity_errors": "0", port + "/counters/excessive_buffer_overrun_errors": "0",
		port + "/hw_counters/rx_icrc_encapsulated": "0",
	} {
		h.files[file] = text + "\n"
	}
	return port
}

func verbsText(hca, guid, firmware, board, layer string, lid, sm int) string {
	return fmt.Sprintf("hca_id:\t%s\n\tfw_ver:\t\t\t\t%s\n\tnode_guid:\t\t\t%s\n\tsys_image_guid:\t\t\t%s\n\tboard_id:\t\t\t%s\n"+
		"\t\tport:\t1\n\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 (5)\n\t\t\tsm_lid:\t\t\t%d\n\t\t\tport_lid:\t\t%d\n"+
		"\t\t\tlink_layer:\t\t%s\n\t\t\tactive_width:\t\t4X (2)\n\t\t\tactive_speed:\t\t100.0 Gbps (128)\n\t\t\tphys_state:\t\tLINK_UP (5)\n",
		hca, firmware, guid, guid, board, sm, lid, layer)
}
