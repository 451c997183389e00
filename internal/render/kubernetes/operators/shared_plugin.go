package operators

import (
	"strings"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

// Names and folders of the RDMA shared device plugin (Mellanox/k8s-rdma-shared-dev-plugin, deployment/k8s/base/daemonset.yaml, and
// DefaultConfigFilePath of pkg/resources/resources_manager.go).
const (
	pluginName       = "rdma-shared-device-plugin"
	pluginConfigPath = "/k8s-rdma-shared-dev-plugin"
	pluginConfigFile = "config.json"
	pluginSockets    = "/var/lib/kubelet/device-plugins"
	pluginRegistry   = "/var/lib/kubelet/plugins_registry"
	// pluginDigest on the pods makes them anew when the configuration changes: the plugin reads it once.
	pluginDigest = "railwright.dev/config"
)

// NICPlugin is the shared device plugin as a DaemonSet of its own, on every machine that runs Linux: where a selector finds no NIC, its
// resource counts none.
func NICPlugin(p fabric.NICPlugin, nics []fabric.SharedNIC) fabric.Artifact {
	config := pluginConfig(nics)
	labels := kubernetes.ManagedBy()
	labels["app.kubernetes.io/name"] = pluginName
	named := meta.ObjectMeta{Name: pluginName, Namespace: p.Namespace, Labels: labels}
	set := apps.DaemonSet{TypeMeta: meta.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}, ObjectMeta: named, Spec: apps.DaemonSetSpec{
		Selector: &meta.LabelSelector{MatchLabels: map[string]string{"app.kubernetes.io/name": pluginName}},
		Template: core.PodTemplateSpec{
			ObjectMeta: meta.ObjectMeta{Labels: labels, Annotations: map[string]string{pluginDigest: kubernetes.NewArtifact("", "", 0, []byte(config)).SHA256}},
			Spec:       pluginPod(p.Image.String()),
		},
	}}
	return kubernetes.File("/"+fabric.NICPluginFile,
		kubernetes.Object{Comment: "What gives the NICs to pods. Not by an operator: " + p.Why + "\n" + pluginComment(),
			Body: core.ConfigMap{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: named, Data: map[string]string{pluginConfigFile: config}}},
		kubernetes.Object{Comment: strings.Join([]string{
			"In the network namespace of the machine, whose interfaces it finds by name; privileged, as it opens the sockets of the kubelet and the RDMA devices.",
			"A NIC needs the devices uverbs, umad and rdma_cm on the machine: the modules ib_uverbs, ib_umad and rdma_ucm are loaded, and the RDMA subsystem is shared between network namespaces (rdma system show)."}, "\n"), Body: set})
}

func pluginPod(image string) core.PodSpec {
	yes := true
	var mounts []core.VolumeMount
	var volumes []core.Volume
	for _, v := range [][2]string{{"sockets", pluginSockets}, {"registry", pluginRegistry}, {"devices", "/dev"}} {
		mounts = append(mounts, core.VolumeMount{Name: v[0], MountPath: v[1]})
		volumes = append(volumes, core.Volume{Name: v[0], VolumeSource: core.VolumeSource{HostPath: &core.HostPathVolumeSource{Path: v[1]}}})
	}
	mounts = append(mounts, core.VolumeMount{Name: "config", MountPath: pluginConfigPath, ReadOnly: true})
	volumes = append(volumes, core.Volume{Name: "config", VolumeSource: core.VolumeSource{ConfigMap: &core.ConfigMapVolumeSource{
		LocalObjectReference: core.LocalObjectReference{Name: pluginName}}}})
	return core.PodSpec{
		HostNetwork: true, PriorityClassName: "system-node-critical",
		NodeSelector: map[string]string{core.LabelOSStable: "linux"},
		Tolerations:  []core.Toleration{{Operator: core.TolerationOpExists, Effect: core.TaintEffectNoSchedule}},
		Containers: []core.Container{{Name: pluginName, Image: image, ImagePullPolicy: core.PullIfNotPresent,
			SecurityContext: &core.SecurityContext{Privileged: &yes}, VolumeMounts: mounts}},
		Volumes: volumes,
	}
}
