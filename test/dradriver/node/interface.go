package main

import (
	"errors"
	"fmt"
	"runtime"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// returning is what a driver does with an interface when its pod has ended.
type returning string

const (
	returnWhole returning = "whole" // as it was on the node before: name, MTU, addresses, up
	returnNamed returning = "named" // with its name, and up: as DraNet does (pkg/driver/hostdevice.go, 02a3918, nsDetachNetdev)
	returnBare  returning = "bare"  // moved, and nothing else
)

// nic is an interface that a claim gives a pod.
type nic struct {
	Claim     string   `json:"claim"` // UID
	Namespace string   `json:"namespace"`
	ClaimName string   `json:"claim_name"`
	Device    string   `json:"device"`
	Pool      string   `json:"pool"`
	Request   string   `json:"request"`
	Host      string   `json:"host"`     // its name on the node
	Name      string   `json:"name"`     // in the pod
	PodMTU    int      `json:"pod_mtu"`  // bytes; 0: as it is
	HostMTU   int      `json:"host_mtu"` // bytes
	Up        bool     `json:"up"`       // on the node
	Addresses []string `json:"addresses"`
	Routes    []route  `json:"routes"`
	Rules     []rule   `json:"rules"` // that lead to the tables of these routes: the node keeps its own
}

// read fills in what the interface has on the node.
func (n *nic) read() error {
	link, err := netlink.LinkByName(n.Host)
	if err != nil {
		return fmt.Errorf("interface %s of device %s: %w", n.Host, n.Device, err)
	}
	n.HostMTU, n.Up = link.Attrs().MTU, link.Attrs().RawFlags&unix.IFF_UP != 0
	addresses, err := netlink.AddrList(link, netlink.FAMILY_ALL)
	if err != nil {
		return fmt.Errorf("addresses of %s: %w", n.Host, err)
	}
	for _, a := range addresses {
		if a.Scope == unix.RT_SCOPE_UNIVERSE { // others belong to the node
			n.Addresses = append(n.Addresses, a.IPNet.String())
		}
	}
	return n.readRoutes(link)
}

// attach moves the interface into the pod's network namespace. Its addresses are gone then, as the kernel does it, and it
// is down: both are set again.
func (n *nic) attach(pod string) (mac string, err error) {
	link, err := netlink.LinkByName(n.Host)
	if err != nil {
		return "", err
	}
	there, h, err := at(pod)
	if err != nil {
		return "", err
	}
	defer h.Close()
	defer there.Close()
	if err := netlink.LinkSetDown(link); err != nil { // one that is up cannot be renamed
		return "", err
	}
	if err := netlink.LinkSetNsFd(link, int(there)); err != nil {
		return "", err
	}
	link, err = h.LinkByName(n.Host)
	if err != nil {
		return "", err
	}
	mtu := n.PodMTU
	if mtu == 0 {
		mtu = n.HostMTU
	}
	if err := n.set(h, link, n.Name, mtu); err != nil {
		return "", err
	}
	return link.Attrs().HardwareAddr.String(), addRules(h, n.Rules)
}

// detach moves the interface back to the namespace of this process.
func (n *nic) detach(pod string, r returning) error {
	there, h, err := at(pod)
	if err != nil {
		return err
	}
	defer h.Close()
	defer there.Close()
	link, err := h.LinkByName(n.Name)
	if err != nil {
		return err
	}
	if err := h.LinkSetDown(link); err != nil {
		return err
	}
	if err := h.LinkSetName(link, n.Host); err != nil {
		return err
	}
	here, err := netns.Get()
	if err != nil {
		return err
	}
	defer here.Close()
	if err := h.LinkSetNsFd(link, int(here)); err != nil {
		return err
	}
	return n.restore(r)
}

func (n *nic) restore(r returning) error {
	link, err := netlink.LinkByName(n.Host)
	if err != nil || r == returnBare {
		return err
	}
	if r == returnNamed {
		return netlink.LinkSetUp(link)
	}
	h, err := netlink.NewHandle()
	if err != nil {
		return err
	}
	defer h.Close()
	if err := n.set(h, link, n.Host, n.HostMTU); err != nil || n.Up {
		return err
	}
	return netlink.LinkSetDown(link)
}

// set gives an interface that is down its name and MTU, sets it up, and gives it addresses and routes.
func (n *nic) set(h *netlink.Handle, link netlink.Link, name string, mtu int) error {
	errs := []error{h.LinkSetName(link, name), h.LinkSetMTU(link, mtu), h.LinkSetUp(link)}
	for _, text := range n.Addresses {
		a, err := netlink.ParseAddr(text)
		if err == nil {
			err = h.AddrAdd(link, a)
		}
		errs = append(errs, err)
	}
	for _, r := range n.Routes {
		errs = append(errs, r.add(h, link))
	}
	return errors.Join(errs...)
}

// at opens a network namespace, and a socket in it. The thread enters the namespace for that, and leaves it again.
func at(path string) (netns.NsHandle, *netlink.Handle, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	there, err := netns.GetFromPath(path)
	if err != nil {
		return there, nil, fmt.Errorf("network namespace %s: %w", path, err)
	}
	h, err := netlink.NewHandleAt(there)
	if err != nil {
		_ = there.Close()
		return there, nil, fmt.Errorf("netlink in %s: %w", path, err)
	}
	return there, h, nil
}
