package facts

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const infinibandClass = "/sys/class/infiniband"

// readInfiniBand reads every RDMA device. What one device or port lacks does not fail the others.
func readInfiniBand(_ context.Context, h host.Host, f *fabric.Facts) {
	names, err := h.ReadDir(infinibandClass)
	if err != nil {
		miss(f, fabric.FactHCAs, infinibandClass, err)
		return
	}
	for _, name := range names {
		before := len(f.Missing)
		hca := readHCA(h, f, name)
		if _, err := readLink(h, infinibandClass+"/"+name); err != nil && hca.NodeGUID == "" && len(hca.Ports) == 0 { // no device is without a link
			f.Missing = f.Missing[:before]
			miss(f, fabric.FactHCAs+" "+hca.Name, infinibandClass+"/"+hca.Name, err)
			continue
		}
		f.HCAs = append(f.HCAs, hca)
	}
}

func readHCA(h host.Host, f *fabric.Facts, name string) fabric.HCA {
	folder := infinibandClass + "/" + name
	hca := fabric.HCA{Name: fabric.Printable(name)}
	r := fileReader{h: h, f: f, folder: folder, device: hca.Name}
	hca.NodeGUID = r.text(fabric.FactHCANodeGUID, "node_guid")
	hca.SystemGUID = r.textIfThere(fabric.FactHCASystemGUID, "sys_image_guid")
	hca.Firmware = r.textIfThere(fabric.FactHCAFirmware, "fw_ver")
	hca.BoardID = r.textIfThere(fabric.FactHCABoardID, "board_id")
	hca.Type = r.textIfThere(fabric.FactHCAType, "hca_type")
	var err error
	if hca.PCI, err = pciOf(h, folder); err != nil {
		r.miss(fabric.FactHCAPCI, "", err)
	}
	if hca.Driver, err = driverOf(h, folder+"/device"); err != nil {
		r.miss(fabric.FactHCADriver, "device/driver", err)
	}
	ports, err := numbered(h, folder+"/ports")
	if err == nil && len(ports) == 0 {
		err = errors.New("no port in it: every RDMA device has one")
	}
	if err != nil {
		r.miss(fabric.FactPorts, "ports", err)
	}
	for _, n := range ports {
		hca.Ports = append(hca.Ports, readPort(h, f, hca.Name, folder, n))
	}
	return hca
}

func readPort(h host.Host, f *fabric.Facts, hca, folder string, number int) fabric.Port {
	folder = fmt.Sprintf("%s/ports/%d", folder, number)
	r := fileReader{h: h, f: f, folder: folder, device: fmt.Sprintf("%s/%d", hca, number)}
	p := fabric.Port{
		Number:    number,
		State:     afterColon(r.text(fabric.FactPortState, "state")),
		PhysState: afterColon(r.text(fabric.FactPortPhysState, "phys_state")),
		LinkLayer: r.text(fabric.FactPortLinkLayer, "link_layer"),
		LID:       r.hex(fabric.FactPortLID, "lid"),
		SMLID:     r.hex(fabric.FactPortSMLID, "sm_lid"),
	}
	if rate := r.text(fabric.FactPortRate, "rate"); rate != "" {
		number, _, ok := strings.Cut(rate, " Gb/sec")
		gbps, err := strconv.ParseFloat(number, 64)
		if !ok || err != nil || !(gbps >= 0 && gbps < 1e6) {
			r.miss(fabric.FactPortRate, "rate", fmt.Errorf("invalid rate %q: want Gb/sec", rate))
		} else {
			p.RateGbps = &gbps
		}
	}
	p.PKeys = readPKeys(&r)
	p.GIDs = readGIDs(&r, p.LinkLayer)
	p.Counters = readErrorCounters(&r)
	return p
}

// readPKeys returns the valid entries of the partition table, in table order.
func readPKeys(r *fileReader) []string {
	entries, err := numbered(r.h, r.folder+"/pkeys")
	if err != nil {
		r.miss(fabric.FactPortPKeys, "pkeys", err)
		return nil
	}
	var keys []string
	for _, i := range entries {
		file := fmt.Sprintf("pkeys/%d", i)
		key := r.text(fabric.FactPortPKeys, file)
		switch digits, _ := strings.CutPrefix(key, "0x"); {
		case key == "" || key == "0x0000": // 0: an empty entry
		case len(digits) != 4 || !isHex(digits):
			r.miss(fabric.FactPortPKeys, file, fmt.Errorf("invalid P_Key %q: want four hexadecimal digits", key))
		default:
			keys = append(keys, key)
		}
	}
	return keys
}

// readGIDs returns the entries in use, in table order. The attributes of an empty entry cannot be read.
func readGIDs(r *fileReader, linkLayer string) []fabric.GID {
	entries, err := numbered(r.h, r.folder+"/gids")
	if err != nil {
		r.miss(fabric.FactPortGIDs, "gids", err)
		return nil
	}
	var gids []fabric.GID
	for _, i := range entries {
		gid := r.text(fabric.FactPortGIDs, fmt.Sprintf("gids/%d", i))
		if isEmptyGID(gid) {
			continue
		}
		g := fabric.GID{Index: i, GID: gid}
		if linkLayer == "InfiniBand" { // has neither RoCE types nor network devices behind its GIDs
			g.Type = r.textIfThere(fabric.FactPortGIDAttributes, fmt.Sprintf("gid_attrs/types/%d", i))
		} else {
			g.Type = r.text(fabric.FactPortGIDAttributes, fmt.Sprintf("gid_attrs/types/%d", i))
			g.NetDev = r.text(fabric.FactPortGIDAttributes, fmt.Sprintf("gid_attrs/ndevs/%d", i))
		}
		gids = append(gids, g)
	}
	return gids
}

// isEmptyGID reports whether an entry has no interface id: an InfiniBand port shows its subnet prefix even in
// empty entries.
func isEmptyGID(gid string) bool {
	return gid == "" || strings.HasSuffix(gid, "0000:0000:0000:0000")
}

// afterColon takes ACTIVE from "4: ACTIVE".
func afterColon(text string) string {
	if _, after, ok := strings.Cut(text, ": "); ok {
		return after
	}
	return text
}

// numbered lists a folder whose entries are numbers, in their order. Another name is an error.
func numbered(h host.Host, folder string) ([]int, error) {
	names, err := h.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		n, err := strconv.ParseUint(name, 10, 31)
		if err != nil || strconv.Itoa(int(n)) != name {
			return nil, fmt.Errorf("%q in it is not a number", fabric.Printable(name))
		}
		numbers = append(numbers, int(n))
	}
	slices.Sort(numbers)
	return numbers, nil
}

// fileReader reads small files of one folder and tells each that fails, once, as a fact of one device.
type fileReader struct {
	h      host.Host
	f      *fabric.Facts
	folder string
	device string // whose fact it is
}

// text reads a file that should be there.
func (r *fileReader) text(fact, file string) string {
	text, err := host.ReadString(r.h, r.folder+"/"+file)
	if err != nil {
		r.miss(fact, file, err)
	}
	return fabric.Printable(text)
}

// textIfThere reads a file that some drivers do not have.
func (r *fileReader) textIfThere(fact, file string) string {
	text, err := host.ReadString(r.h, r.folder+"/"+file)
	if err != nil && !host.IsAbsent(err) {
		r.miss(fact, file, err)
	}
	return fabric.Printable(text)
}

// hex reads 0x1f.
func (r *fileReader) hex(fact, file string) *int {
	text := r.text(fact, file)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 31)
	if err != nil {
		r.miss(fact, file, errors.New("not a hexadecimal number"))
		return nil
	}
	v := int(n)
	return &v
}

func (r *fileReader) miss(fact, file string, err error) {
	miss(r.f, fact+" "+r.device, path.Join(r.folder, file), err)
}
