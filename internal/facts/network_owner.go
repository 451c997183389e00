package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// Where the services that configure interfaces keep their state.
const (
	networkdFolder  = "/run/systemd/netif" // systemd.network(5); a file for each interface index in links
	networkdState   = "state"
	networkManagerD = "/run/NetworkManager" // nm-config.c; a file for each interface index in devices
	wickedFolder    = "/run/wicked"         // wicked's WICKED_RUNDIR
	ifupdownState   = "/run/network/ifstate"
	ownerFolders    = networkdFolder + ", " + networkManagerD + ", " + wickedFolder + ", " + ifupdownState
)

// networkOwner returns the services that left their state on this machine: nil where there is none.
func networkOwner(h host.Host) (*string, error) {
	networkd, err := listIfThere(h, networkdFolder)
	if err != nil {
		return nil, err
	}
	manager, err := listIfThere(h, networkManagerD)
	if err != nil {
		return nil, err
	}
	wicked, err := listIfThere(h, wickedFolder)
	if err != nil {
		return nil, err
	}
	ifupdown, err := ifupdownNICs(h)
	if err != nil {
		return nil, err
	}
	return owners(map[string]bool{
		fabric.Networkd:       slices.Contains(networkd, networkdState),
		fabric.NetworkManager: len(manager) > 0,
		fabric.Wicked:         len(wicked) > 0,
		fabric.Ifupdown:       len(ifupdown) > 0,
	}), nil
}

// owners lists services in a fixed order; nil: none.
func owners(of map[string]bool) *string {
	var names []string
	for _, service := range []string{fabric.Networkd, fabric.NetworkManager, fabric.Wicked, fabric.Ifupdown} {
		if of[service] {
			names = append(names, service)
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := strings.Join(names, fabric.OwnerSeparator)
	return &list
}

// ifupdownNICs are the interfaces but the loopback that ifup brought up: lines of name=name (ifup(8)).
func ifupdownNICs(h host.Host) (names []string, err error) {
	text, err := h.ReadFile(ifupdownState)
	if host.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		name, _, ok := strings.Cut(strings.TrimSpace(line), "=")
		if ok && name != "lo" {
			names = append(names, name)
		}
	}
	return names, nil
}

func listIfThere(h host.Host, folder string) ([]string, error) {
	names, err := h.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return names, err
}

// readNICOwners reads for each NIC which of the services says that it configures it. Of interfaces that are no
// hardware only those of a lab are asked: of containers there may be thousands.
func readNICOwners(_ context.Context, h host.Host, f *fabric.Facts) {
	ifupdown, err := ifupdownNICs(h)
	if err != nil {
		miss(f, fabric.FactNICOwner, ifupdownState, err)
		return
	}
	links, err := listIfThere(h, networkdFolder+"/links")
	if err != nil {
		miss(f, fabric.FactNICOwner, networkdFolder+"/links", err)
		return
	}
	devices, err := listIfThere(h, networkManagerD+"/devices")
	if err != nil {
		miss(f, fabric.FactNICOwner, networkManagerD+"/devices", err)
		return
	}
	for i := range f.NICs {
		nic := &f.NICs[i]
		if nic.PCI == "" && f.Platform == "" || nic.Index < 1 {
			continue
		}
		index := strconv.Itoa(nic.Index)
		claims := map[string]bool{fabric.Ifupdown: slices.Contains(ifupdown, nic.Name)}
		if slices.Contains(links, index) {
			claims[fabric.Networkd], err = claimed(h, networkdFolder+"/links/"+index, networkdClaims)
		}
		if err == nil && slices.Contains(devices, index) {
			claims[fabric.NetworkManager], err = claimed(h, networkManagerD+"/devices/"+index, networkManagerClaims)
		}
		if err != nil {
			miss(f, fabric.FactNICOwner+" "+nic.Name, networkdFolder+"/links/"+index+", "+networkManagerD+"/devices/"+index, err)
			err = nil
			continue
		}
		if nic.Owner = owners(claims); nic.Owner == nil {
			none := fabric.NoOwner
			nic.Owner = &none
		}
	}
}

func claimed(h host.Host, file string, claims func(text string) (bool, error)) (bool, error) {
	text, err := h.ReadFile(file)
	if err != nil {
		return false, err
	}
	return claims(string(text))
}

// networkdClaims reads a state file of a link: the administrative state is unmanaged where no file of networkd
// matches the interface (networkctl(1)).
func networkdClaims(text string) (bool, error) {
	state, ok := lineValue(text, "ADMIN_STATE")
	switch {
	case !ok:
		return false, errors.New("networkd's state has no line ADMIN_STATE")
	case state == "unmanaged":
		return false, nil
	case slices.Contains([]string{"configuring", "configured", "failed"}, state):
		return true, nil
	}
	return false, fmt.Errorf("networkd is in state %q: it has not decided yet", fabric.Printable(state))
}

// networkManagerClaims reads a state file of a device. NetworkManager writes managed=false for a device that its
// configuration leaves alone.
func networkManagerClaims(text string) (bool, error) {
	managed, ok := lineValue(text, "managed")
	switch {
	case ok && managed == "true":
		return true, nil
	case ok && managed == "false":
		return false, nil
	}
	return false, fmt.Errorf("NetworkManager's state says managed=%q", fabric.Printable(managed))
}

// lineValue returns the value of the first line key=value.
func lineValue(text, key string) (value string, ok bool) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			return value, true
		}
	}
	return "", false
}
