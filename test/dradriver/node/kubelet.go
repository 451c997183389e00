package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	"github.com/containerd/nri/pkg/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// callLimit is how long a driver may take for one call, and for a hook: NRI's own 2 s (api.DefaultPluginRequestTimeout) are
// for a machine that does nothing but this.
const callLimit = 20 * time.Second

// order is a line that the kubelet gets.
type order struct {
	Register bool   `json:"register,omitempty"` // wait for the driver, and let it register
	Run      *pod   `json:"run,omitempty"`
	Stop     string `json:"stop,omitempty"` // name of a pod
}

type pod struct {
	Name      string       `json:"name"`
	Namespace string       `json:"namespace"`
	UID       string       `json:"uid"`
	Network   string       `json:"network"` // path of its network namespace
	Claims    []*dra.Claim `json:"claims"`
}

// done is the line that it answers.
type done struct {
	Error   string   `json:"error,omitempty"`
	Devices []string `json:"devices,omitempty"` // that the driver prepared
}

// kubelet registers one driver, prepares claims of pods by it, and lets it see their sandboxes as a runtime does.
type kubelet struct {
	folder  folder
	runtime *adaptation.Adaptation
	synced  chan struct{} // a driver has learned what runs
	driver  dra.DRAPluginClient
	pods    map[string]*pod // that run, by name
}

func serveKubelet(ctx context.Context, f folder, in io.Reader, out io.Writer) error {
	for _, d := range []string{f.registry(), f.plugins(), f.claims()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	server, err := claimServer{f}.serve()
	if err != nil {
		return err
	}
	defer server.Close()
	k := &kubelet{folder: f, synced: make(chan struct{}, 1), pods: map[string]*pod{}}
	if err := k.startRuntime(); err != nil {
		return err
	}
	defer k.runtime.Stop()
	lines, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := lines.Decode(&o); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		devices, err := k.obey(ctx, o)
		d := done{Devices: devices}
		if err != nil {
			d.Error = err.Error()
		}
		if err := answers.Encode(d); err != nil {
			return err
		}
	}
}

func (k *kubelet) startRuntime() (err error) {
	synchronize := func(ctx context.Context, call adaptation.SyncCB) error {
		var running []*api.PodSandbox
		for _, p := range k.pods {
			running = append(running, p.sandbox())
		}
		_, err := call(ctx, running, nil)
		select {
		case k.synced <- struct{}{}:
		default:
		}
		return err
	}
	adaptation.SetPluginRegistrationTimeout(callLimit)
	adaptation.SetPluginRequestTimeout(callLimit)
	update := func(context.Context, []*api.ContainerUpdate) ([]*api.ContainerUpdate, error) { return nil, nil }
	k.runtime, err = adaptation.New("runtime", "v0", synchronize, update, adaptation.WithSocketPath(k.folder.runtime()),
		adaptation.WithPluginPath(filepath.Join(string(k.folder), "none")), adaptation.WithPluginConfigPath(filepath.Join(string(k.folder), "none")))
	if err != nil {
		return err
	}
	return k.runtime.Start()
}

func (k *kubelet) obey(ctx context.Context, o order) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	switch {
	case o.Register:
		return nil, k.register(ctx)
	case k.driver == nil:
		return nil, errors.New("no driver is registered")
	case o.Run != nil:
		return k.run(ctx, o.Run)
	case k.pods[o.Stop] != nil:
		return nil, k.stop(ctx, k.pods[o.Stop])
	}
	return nil, fmt.Errorf("pod %q does not run", o.Stop)
}

// register finds the socket of a driver, as the kubelet's watcher of plugins does. One that a killed driver left behind
// answers once the next one listens on it.
func (k *kubelet) register(ctx context.Context) error {
	for {
		found, err := filepath.Glob(filepath.Join(k.folder.registry(), "*.sock"))
		if err != nil {
			return err
		}
		if len(found) == 1 {
			return k.registerAt(ctx, found[0])
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %d drivers in %s", ctx.Err(), len(found), k.folder.registry())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (k *kubelet) registerAt(ctx context.Context, socket string) error {
	at, err := dial(socket)
	if err != nil {
		return err
	}
	defer at.Close()
	client := registration.NewRegistrationClient(at)
	info, err := client.GetInfo(ctx, &registration.InfoRequest{}, grpc.WaitForReady(true))
	if err != nil {
		return err
	}
	if info.Type != registration.DRAPlugin || info.Name != driverName || !slices.Contains(info.SupportedVersions, dra.DRAPluginService) {
		return fmt.Errorf("plugin %s of type %s speaks %v", info.Name, info.Type, info.SupportedVersions)
	}
	if _, err := client.NotifyRegistrationStatus(ctx, &registration.RegistrationStatus{PluginRegistered: true}); err != nil {
		return err
	}
	plugin, err := dial(info.Endpoint)
	if err != nil {
		return err
	}
	k.driver = dra.NewDRAPluginClient(plugin)
	select {
	case <-k.synced:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the driver did not come to the runtime: %w", ctx.Err())
	}
}

func dial(socket string) (*grpc.ClientConn, error) {
	return grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
}

func (p *pod) sandbox() *api.PodSandbox {
	return &api.PodSandbox{
		Id: "sandbox-" + p.UID, Name: p.Name, Namespace: p.Namespace, Uid: p.UID,
		Linux: &api.LinuxPodSandbox{Namespaces: []*api.LinuxNamespace{{Type: "network", Path: p.Network}}},
	}
}

// run does what precedes the containers of a pod. A sandbox that a driver refuses is taken down again.
func (k *kubelet) run(ctx context.Context, p *pod) ([]string, error) {
	answer, err := k.driver.NodePrepareResources(ctx, &dra.NodePrepareResourcesRequest{Claims: p.Claims})
	if err != nil {
		return nil, err
	}
	var devices []string
	for _, c := range p.Claims {
		result := answer.Claims[c.Uid]
		if result == nil || result.Error != "" {
			return nil, fmt.Errorf("FailedPrepareDynamicResources: claim %s: %s", c.Name, result.GetError())
		}
		for _, d := range result.Devices {
			devices = append(devices, d.DeviceName)
		}
	}
	k.pods[p.Name] = p
	if err := k.runtime.RunPodSandbox(ctx, &adaptation.RunPodSandboxRequest{Pod: p.sandbox()}); err != nil {
		return nil, errors.Join(fmt.Errorf("FailedCreatePodSandBox: %w", err), k.stop(ctx, p))
	}
	slices.Sort(devices)
	return devices, nil
}

// stop does what follows the containers of a pod.
func (k *kubelet) stop(ctx context.Context, p *pod) error {
	delete(k.pods, p.Name)
	err := k.runtime.StopPodSandbox(ctx, &adaptation.StopPodSandboxRequest{Pod: p.sandbox()})
	answer, failed := k.driver.NodeUnprepareResources(ctx, &dra.NodeUnprepareResourcesRequest{Claims: p.Claims})
	err = errors.Join(err, failed)
	for _, uid := range slices.Sorted(maps.Keys(answer.GetClaims())) {
		if text := answer.Claims[uid].GetError(); text != "" {
			err = errors.Join(err, errors.New(text))
		}
	}
	return err
}
