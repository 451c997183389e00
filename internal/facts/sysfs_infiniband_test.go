package facts

import (
	"context"
	"io/fs"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

const (
	zeroGID  = "0000:0000:0000:0000:0000:0000:0000:0000"
	emptyIB  = "fe80:0000:0000:0000:0000:0000:0000:0000" // how an InfiniBand port shows an entry not in use
	roceGID  = "0000:0000:0000:0000:0000:ffff:0a40:0003"
	localGID = "fe80:0000:0000:0000:0000:00ff:fe00:0101"
)

// port lays down a port as the kernel does.
func (h fakeHost) port(device string, number int, values map[string]string) {
	folder := infinibandClass + "/" + device + "/ports/" + strconv.Itoa(number) + "/"
	for file, value := range values {
		h.files[folder+file] = value + "\n"
	}
}

func rdmaHost() fakeHost {
	h := fakeHost{files: map[string]string{}, links: map[string]string{}, fail: map[string]error{}}
	h.links[infinibandClass+"/mlx5_0"] = "../../devices/pci0000:20/0000:20:00.0/0000:23:00.0/infiniband/mlx5_0"
	h.links[infinibandClass+"/mlx5_0/device/driver"] = "../../../../bus/pci/drivers/mlx5_core"
	for file, value := range map[string]string{"node_guid": "0200:00ff:fe00:0101", "sys_image_guid": "0200:00ff:fe00:0100", "fw_ver": "28.39.1002", "board_id": "MT_0000000838", "hca_type": "MT4129"} {
		h.files[infinibandClass+"/mlx5_0/"+file] = value + "\n"
	}
	h.port("mlx5_0", 1, map[string]string{
		"state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": "InfiniBand", "lid": "0x1f", "sm_lid": "0x1",
		"pkeys/0": "0xffff", "pkeys/1": "0x0000", "pkeys/2": "0x8001", "gids/0": localGID, "gids/1": emptyIB, "gid_attrs/types/0": "IB/RoCE v1",
		"counters/symbol_error": "7", "counters/link_downed": "0", "counters/port_xmit_data": "99", "hw_counters/out_of_buffer": "18446744073709551615", "hw_counters/lifespan": "10",
	})
	h.links[infinibandClass+"/rxe0"] = "../../devices/virtual/infiniband/rxe0"
	h.files[infinibandClass+"/rxe0/node_guid"] = "5054:00ff:fe12:3457\n"
	h.port("rxe0", 1, map[string]string{
		"state": "1: DOWN", "phys_state": "3: Disabled", "rate": "2.5 Gb/sec (1X SDR)", "link_layer": "Ethernet", "lid": "0x0", "sm_lid": "0x0", "pkeys/0": "0xffff",
		"gids/0": localGID, "gids/1": roceGID, "gids/2": zeroGID, "gids/10": roceGID,
		"gid_attrs/types/0": "IB/RoCE v1", "gid_attrs/ndevs/0": "eth1", "gid_attrs/types/1": "RoCE v2", "gid_attrs/ndevs/1": "eth1", "gid_attrs/types/10": "RoCE v2", "gid_attrs/ndevs/10": "eth1.5",
	})
	h.fail[infinibandClass+"/rxe0/ports/1/gid_attrs/types/2"] = fs.ErrInvalid // what the kernel says of an empty entry
	return h
}

func TestReadInfiniBand(t *testing.T) {
	var f fabric.Facts
	readInfiniBand(context.Background(), rdmaHost(), &f)
	lid, smLID, zero, ndr, sdr := 0x1f, 1, 0, 400.0, 2.5
	want := []fabric.HCA{
		{
			Name: "mlx5_0", NodeGUID: "0200:00ff:fe00:0101", Firmware: "28.39.1002", SystemGUID: "0200:00ff:fe00:0100", BoardID: "MT_0000000838", Type: "MT4129", Driver: "mlx5_core", PCI: "0000:23:00.0",
			Ports: []fabric.Port{{
				Number: 1, State: "ACTIVE", PhysState: "LinkUp", RateGbps: &ndr, LinkLayer: "InfiniBand", LID: &lid, SMLID: &smLID, PKeys: []string{"0xffff", "0x8001"},
				GIDs:     []fabric.GID{{Index: 0, GID: localGID, Type: "IB/RoCE v1"}},
				Counters: map[string]uint64{"link_downed": 0, "symbol_error": 7, "out_of_buffer": 18446744073709551615},
			}},
		},
		{
			Name: "rxe0", NodeGUID: "5054:00ff:fe12:3457",
			Ports: []fabric.Port{{
				Number: 1, State: "DOWN", PhysState: "Disabled", RateGbps: &sdr, LinkLayer: "Ethernet", LID: &zero, SMLID: &zero, PKeys: []string{"0xffff"},
				GIDs: []fabric.GID{
					{Index: 0, GID: localGID, Type: "IB/RoCE v1", NetDev: "eth1"},
					{Index: 1, GID: roceGID, Type: "RoCE v2", NetDev: "eth1"},
					{Index: 10, GID: roceGID, Type: "RoCE v2", NetDev: "eth1.5"},
				},
			}},
		},
	}
	if diff := cmp.Diff(want, f.HCAs); diff != "" {
		t.Errorf("HCAs (-want +got):\n%s", diff)
	}
	if len(f.Missing) > 0 {
		t.Error(f.Missing)
	}
}

// TestReadInfiniBandBadPort breaks a port of one device and finds the rest unharmed.
func TestReadInfiniBandBadPort(t *testing.T) {
	h := rdmaHost()
	port := infinibandClass + "/mlx5_0/ports/1/"
	h.fail[port+"state"] = fs.ErrPermission
	h.files[port+"rate"] = "fast\n"
	h.files[port+"lid"] = "none\n"
	h.fail[port+"gids"] = fs.ErrPermission
	h.fail[port+"hw_counters"] = fs.ErrPermission
	h.files[port+"counters/symbol_error"] = "many\n"
	var f fabric.Facts
	readInfiniBand(context.Background(), h, &f)
	want := []string{
		"hcas.ports.state mlx5_0/1: permission denied",
		"hcas.ports.lid mlx5_0/1: not a hexadecimal number",
		`hcas.ports.rate mlx5_0/1: invalid rate "fast": want Gb/sec`,
		"hcas.ports.gids mlx5_0/1: permission denied",
		`hcas.ports.counters.symbol_error mlx5_0/1: invalid count "many"`,
		"hcas.ports.counters mlx5_0/1: permission denied",
	}
	if diff := cmp.Diff(want, missingText(&f)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	p := f.HCAs[0].Ports[0]
	if p.State != "" || p.RateGbps != nil || p.LID != nil || p.GIDs != nil || p.PhysState != "LinkUp" || len(f.HCAs[1].Ports[0].GIDs) != 3 {
		t.Errorf("HCAs: %+v", f.HCAs)
	}
}

// TestReadInfiniBandNone tells a machine without RDMA from a kernel without it.
func TestReadInfiniBandNone(t *testing.T) {
	for name, tt := range map[string]struct {
		host fakeHost
		want []string
	}{
		"no such class": {fakeHost{}, []string{"hcas: file does not exist"}},
		"no device":     {fakeHost{files: map[string]string{infinibandClass + "/": ""}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var f fabric.Facts
			readInfiniBand(context.Background(), tt.host, &f)
			if diff := cmp.Diff(tt.want, missingText(&f)); diff != "" || f.HCAs != nil {
				t.Errorf("%v, missing (-want +got):\n%s", f.HCAs, diff)
			}
		})
	}
}
