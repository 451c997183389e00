package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"os"

	"github.com/containerd/nri/pkg/api"
	"github.com/containerd/nri/pkg/stub"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applymeta "k8s.io/client-go/applyconfigurations/meta/v1"
	apply "k8s.io/client-go/applyconfigurations/resource/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/dynamic-resource-allocation/kubeletplugin"
	"sigs.k8s.io/yaml"
)

type driverOptions struct {
	folder  folder
	node    string
	slices  string // file with the ResourceSlices of the node
	returns returning
}

// driver gives pods the interfaces of their claims. It learns what they are when the kubelet prepares a claim, and moves them
// when the runtime has made the pod's sandbox.
type driver struct {
	driverOptions
	interfaces map[string]string // by device of the node's pool
	prepared   *prepared
	kube       kubernetes.Interface
}

func serveDriver(ctx context.Context, o driverOptions) error {
	if o.returns != returnWhole && o.returns != returnNamed && o.returns != returnBare {
		return fmt.Errorf("%q is not a way to return an interface", o.returns)
	}
	d := &driver{driverOptions: o}
	var err error
	if d.interfaces, err = readInterfaces(o.slices, o.node); err != nil {
		return err
	}
	if d.prepared, err = readPrepared(o.folder.prepared()); err != nil {
		return err
	}
	if d.kube, err = connect(o.folder.api()); err != nil {
		return err
	}
	plugin, err := kubeletplugin.Start(ctx, d, kubeletplugin.DriverName(driverName), kubeletplugin.NodeName(o.node), kubeletplugin.KubeClient(d.kube),
		kubeletplugin.RegistrarDirectoryPath(o.folder.registry()), kubeletplugin.PluginDataDirectoryPath(o.folder.plugins()))
	if err != nil {
		return err
	}
	defer plugin.Stop()
	hooks, err := stub.New(d, stub.WithPluginName(driverName), stub.WithPluginIdx("00"), stub.WithSocketPath(o.folder.runtime()))
	if err != nil {
		return err
	}
	return hooks.Run(ctx)
}

// connect reaches the API server by its socket: the driver is in the node's network namespace, the server is not.
func connect(socket string) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(&rest.Config{
		Host: "http://kube", Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", socket)
		},
	})
}

// readInterfaces reads which interface each device of a node is.
func readInterfaces(file, node string) (map[string]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list resourceapi.ResourceSliceList
	if err := yaml.UnmarshalStrict(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	found := map[string]string{}
	for _, s := range list.Items {
		if s.Spec.Driver != driverName || s.Spec.Pool.Name != node {
			continue
		}
		for _, d := range s.Spec.Devices {
			if name := d.Attributes["dra.net/ifName"].StringValue; name != nil {
				found[d.Name] = *name
			}
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s has no device of driver %s with an interface on node %s", file, driverName, node)
	}
	return found, nil
}

// PrepareResourceClaims notes which interfaces the pods of claims get.
func (d *driver) PrepareResourceClaims(_ context.Context, claims []*resourceapi.ResourceClaim) (map[types.UID]kubeletplugin.PrepareResult, error) {
	results := map[types.UID]kubeletplugin.PrepareResult{}
	for _, c := range claims {
		nics, err := d.prepare(c)
		result := kubeletplugin.PrepareResult{Err: err}
		for _, n := range nics {
			result.Devices = append(result.Devices, kubeletplugin.Device{Requests: []string{n.Request}, PoolName: n.Pool, DeviceName: n.Device})
		}
		results[c.UID] = result
	}
	return results, nil
}

func (d *driver) prepare(c *resourceapi.ResourceClaim) ([]nic, error) {
	if nics := d.prepared.has(string(c.UID)); len(nics) > 0 {
		return nics, nil
	}
	if n := len(c.Status.ReservedFor); n != 1 || c.Status.ReservedFor[0].Resource != "pods" {
		return nil, fmt.Errorf("claim %s is reserved for %d consumers: an interface can be in one pod", c.Name, n)
	}
	var nics []nic
	for _, r := range c.Status.Allocation.Devices.Results {
		if r.Driver != driverName {
			continue
		}
		name, known := d.interfaces[r.Device]
		if r.Pool != d.node || !known {
			return nil, fmt.Errorf("device %s of pool %s is none of node %s", r.Device, r.Pool, d.node)
		}
		n := nic{Claim: string(c.UID), Namespace: c.Namespace, ClaimName: c.Name, Device: r.Device, Pool: r.Pool, Request: r.Request, Host: name, Name: name}
		if err := errors.Join(n.configure(c.Status.Allocation.Devices.Config), n.read()); err != nil {
			return nil, err
		}
		nics = append(nics, n)
	}
	return nics, d.prepared.add(string(c.Status.ReservedFor[0].UID), nics)
}

// configure takes what the claim or its class says of the interface in the pod.
func (n *nic) configure(configs []resourceapi.DeviceAllocationConfiguration) error {
	for _, c := range configs {
		if c.Opaque == nil || c.Opaque.Driver != driverName {
			continue
		}
		var config struct {
			Interface struct {
				Name string `json:"name"`
				MTU  int    `json:"mtu"` // bytes
			} `json:"interface"`
		}
		if err := yaml.UnmarshalStrict(c.Opaque.Parameters.Raw, &config); err != nil {
			return fmt.Errorf("configuration of driver %s: %w", driverName, err)
		}
		n.PodMTU = config.Interface.MTU
		if config.Interface.Name != "" {
			n.Name = config.Interface.Name
		}
	}
	return nil
}

// UnprepareResourceClaims forgets claims whose pods have ended.
func (d *driver) UnprepareResourceClaims(_ context.Context, claims []kubeletplugin.NamespacedObject) (map[types.UID]error, error) {
	results := map[types.UID]error{}
	for _, c := range claims {
		results[c.UID] = d.prepared.remove(string(c.UID))
	}
	return results, nil
}

// HandleError is for slices that could not be published: this driver publishes none.
func (d *driver) HandleError(_ context.Context, err error, what string) {
	log.Printf("%s: %v", what, err)
}

// RunPodSandbox moves the interfaces of a pod's claims into it.
func (d *driver) RunPodSandbox(ctx context.Context, pod *api.PodSandbox) error {
	nics := d.prepared.of(pod.GetUid())
	if len(nics) == 0 {
		return nil
	}
	path := networkOf(pod)
	if path == "" {
		return fmt.Errorf("pod %s has the node's network: it cannot have interfaces of it", pod.GetName())
	}
	statuses := map[string]*apply.ResourceClaimStatusApplyConfiguration{}
	names := map[string]nic{}
	for _, n := range nics {
		mac, err := n.attach(path)
		if err != nil {
			return fmt.Errorf("%s into pod %s: %w", n.Host, pod.GetName(), err)
		}
		if statuses[n.Claim] == nil {
			statuses[n.Claim], names[n.Claim] = apply.ResourceClaimStatus(), n
		}
		statuses[n.Claim].WithDevices(n.status(mac))
	}
	var errs []error
	for uid, s := range statuses {
		of := names[uid]
		_, err := d.kube.ResourceV1().ResourceClaims(of.Namespace).ApplyStatus(ctx, apply.ResourceClaim(of.ClaimName, of.Namespace).WithStatus(s),
			metav1.ApplyOptions{FieldManager: driverName, Force: true})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// status is what the driver reports of a device that is in its pod.
func (n *nic) status(mac string) *apply.AllocatedDeviceStatusApplyConfiguration {
	ready := func(kind, reason string) *applymeta.ConditionApplyConfiguration {
		return applymeta.Condition().WithType(kind).WithStatus(metav1.ConditionTrue).WithReason(reason).WithMessage("").WithLastTransitionTime(metav1.Now())
	}
	return apply.AllocatedDeviceStatus().WithDriver(driverName).WithPool(n.Pool).WithDevice(n.Device).
		WithConditions(ready("Ready", "NetworkDeviceReady"), ready("NetworkReady", "NetworkReady")).
		WithNetworkData(apply.NetworkDeviceData().WithInterfaceName(n.Name).WithHardwareAddress(mac).WithIPs(n.Addresses...))
}

// StopPodSandbox moves them back. The pod ends whether that works or not.
func (d *driver) StopPodSandbox(_ context.Context, pod *api.PodSandbox) error {
	for _, n := range d.prepared.of(pod.GetUid()) {
		if err := n.detach(networkOf(pod), d.returns); err != nil {
			log.Printf("%s from pod %s: %v", n.Name, pod.GetName(), err)
		}
	}
	return nil
}

func networkOf(pod *api.PodSandbox) string {
	for _, n := range pod.GetLinux().GetNamespaces() {
		if n.GetType() == "network" {
			return n.GetPath()
		}
	}
	return ""
}
