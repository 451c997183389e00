package facts

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// readLLDP asks networkd, then lldpd; an entry of lldpd counts only for an interface of which networkd
// knows nothing.
func readLLDP(ctx context.Context, h host.Host, f *fabric.Facts) {
	saved, networkdErr := networkdNeighbours(h, f)
	heard, lldpdErr := lldpdNeighbours(ctx, h)
	f.LLDP = saved
	for _, n := range heard {
		known := slices.ContainsFunc(saved, func(s fabric.LLDPNeighbour) bool { return s.NIC == n.NIC })
		if !known {
			f.LLDP = append(f.LLDP, n)
		}
	}
	noNetworkd, noLLDPD := host.IsAbsent(networkdErr), host.IsAbsent(lldpdErr)
	if networkdErr != nil && !noNetworkd {
		miss(f, fabric.FactLLDP, networkdLLDP, networkdErr)
	}
	if lldpdErr != nil && !noLLDPD {
		miss(f, fabric.FactLLDP, lldpdSocket, lldpdErr)
	}
	switch {
	case noNetworkd && noLLDPD:
		miss(f, fabric.FactLLDP, networkdLLDP+", "+lldpdSocket, errors.New("neither networkd nor lldpd has saved anything"))
	case networkdErr == nil && noLLDPD && len(f.LLDP) == 0:
		// Unless its LLDP= is set, networkd keeps only what routers say: its empty folder proves nothing.
		miss(f, fabric.FactLLDP, networkdLLDP, errors.New("networkd saved no neighbours, and lldpd is not running"))
	}
}

// networkdLLDP holds a file for each interface index that has neighbours.
const networkdLLDP = networkdFolder + "/lldp"

func networkdNeighbours(h host.Host, f *fabric.Facts) ([]fabric.LLDPNeighbour, error) {
	names, err := h.ReadDir(networkdLLDP)
	if err != nil {
		return nil, err
	}
	nics := namesOf(f)
	var all []fabric.LLDPNeighbour
	for _, name := range names {
		index, err := strconv.ParseUint(name, 10, 31)
		if err != nil {
			continue // networkd writes beside the file before it renames
		}
		file := networkdLLDP + "/" + name
		found, err := neighboursInFile(h, file, nics[int(index)])
		if err != nil {
			miss(f, strings.TrimSpace(fabric.FactLLDP+" "+nics[int(index)]), file, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func neighboursInFile(h host.Host, file, nic string) ([]fabric.LLDPNeighbour, error) {
	if nic == "" {
		return nil, errors.New("the interface index has no name")
	}
	b, err := h.ReadFile(file)
	if err != nil {
		return nil, err
	}
	found, err := parseNetworkd(b)
	for i := range found {
		found[i].NIC = nic
	}
	return found, err
}
