package serve

import (
	_ "embed" // what downloads the weights
	"encoding/json"
	"fmt"
	"path"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

//go:embed download.py
var download string

const (
	weightsAt = "/weights"
	// complete is the file beside the weights that says so; download.py writes it last.
	complete = ".railwright-complete"
	// leastShare of the planned bytes that must be there: files beside the weights, such as tokenizers, are not counted.
	leastShare = 0.9
	tokenKey   = "HF_TOKEN"
	scriptKey  = "download.py"
	scriptAt   = "/etc/railwright"
	// scriptVolume is that of the script that downloads.
	scriptVolume = "script"
)

// Weights are the volumes of the weights, and the jobs that fill them.
func Weights(s Serve) fabric.Artifact {
	w := s.Pods.Weights
	script := core.ConfigMap{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: s.named(s.scriptName()), Data: map[string]string{scriptKey: download}}
	objects := []kubernetes.Object{{Comment: fmt.Sprintf("The weights of %s: %s of %.1f GB, each in a volume of %d GiB, and a job that downloads it: at 0.1 GB/s %d s for all.\n"+
		"A volume stays when all else is removed. What is complete is left as it is; the pods that serve wait for it.",
		s.Model, copies(s.copies()), float64(w.DownloadBytes)/1e9, w.VolumeBytes>>30, s.Pods.Times.Download), Body: script}}
	for i := range s.copies() {
		name := s.volumeName(i/s.Pods.Size, i%s.Pods.Size)
		objects = append(objects, kubernetes.Object{Body: s.claim(name, true)}, kubernetes.Object{Body: s.download(name)})
	}
	return kubernetes.File("/30-weights.yaml", objects...)
}

func (s Serve) scriptName() string { return s.Pods.Name + "-download" }

func copies(n int) string {
	if n == 1 {
		return "1 copy"
	}
	return fmt.Sprint(n, " copies")
}

func (s Serve) copies() int {
	if s.ownVolumes() {
		return s.Pods.Groups * s.Pods.Size
	}
	return 1
}

// volumeName is the name of the volume claim of a pod. With a volume for each pod it is the one that the StatefulSets below a
// LeaderWorkerSet make of its claim template, so that they take the one that is filled.
func (s Serve) volumeName(group, rank int) string {
	if !s.ownVolumes() {
		return weightsName + "-" + s.Pods.Name
	}
	return weightsName + "-" + s.Pods.PodName(group, rank)
}

// claim is a volume claim: an object of its own, or the template of a group's pods, which has no kind and no namespace.
func (s Serve) claim(name string, whole bool) core.PersistentVolumeClaim {
	c := core.PersistentVolumeClaim{ObjectMeta: meta.ObjectMeta{Name: name}}
	if whole {
		c.TypeMeta, c.ObjectMeta = meta.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"}, s.named(name)
	}
	w := s.Pods.Weights
	c.Spec.AccessModes = []core.PersistentVolumeAccessMode{core.PersistentVolumeAccessMode(w.Mode)}
	c.Spec.Resources.Requests = core.ResourceList{core.ResourceStorage: *resource.NewQuantity(w.VolumeBytes, resource.BinarySI)}
	if w.Class != "" {
		c.Spec.StorageClassName = &w.Class
	}
	return c
}

// download is the job that fills a volume. The token is in a Secret of the owner's.
func (s Serve) download(volume string) batch.Job {
	w, no := s.Pods.Weights, false
	words := func(all []string) string {
		text, _ := json.Marshal(all) // strings always can be
		return string(text)
	}
	container := core.Container{
		Name: "download", Image: s.Image, Command: []string{"python3", scriptAt + "/" + scriptKey},
		Env: []core.EnvVar{
			{Name: "MODEL", Value: s.Model}, {Name: "FOLDER", Value: w.Folder}, {Name: "ONLY", Value: words(w.Only)}, {Name: "EXCEPT", Value: words(w.Except)},
			{Name: "LEAST_BYTES", Value: fmt.Sprint(int64(leastShare * float64(w.DownloadBytes)))},
			{Name: "HF_HOME", Value: path.Join(weightsAt, ".huggingface")}, // its cache is as large as what is in flight
		},
		SecurityContext: leastPrivilege(),
		VolumeMounts:    []core.VolumeMount{{Name: weightsName, MountPath: weightsAt}, {Name: scriptVolume, MountPath: scriptAt, ReadOnly: true}},
	}
	if s.Pods.TokenSecret != "" {
		container.Env = append(container.Env, core.EnvVar{Name: tokenKey, ValueFrom: &core.EnvVarSource{SecretKeyRef: &core.SecretKeySelector{
			LocalObjectReference: core.LocalObjectReference{Name: s.Pods.TokenSecret}, Key: tokenKey}}})
	}
	job := batch.Job{TypeMeta: meta.TypeMeta{APIVersion: "batch/v1", Kind: "Job"}, ObjectMeta: s.named(volume)}
	job.Annotations = s.readyWithin(s.Pods.Times.Download)
	job.Spec.Template.Spec = core.PodSpec{
		RestartPolicy: core.RestartPolicyOnFailure, Containers: []core.Container{container}, AutomountServiceAccountToken: &no, EnableServiceLinks: &no,
		SecurityContext: &core.PodSecurityContext{SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault}},
		Volumes: []core.Volume{
			{Name: weightsName, VolumeSource: core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: volume}}},
			{Name: scriptVolume, VolumeSource: core.VolumeSource{ConfigMap: &core.ConfigMapVolumeSource{LocalObjectReference: core.LocalObjectReference{Name: s.scriptName()}}}},
		},
	}
	for _, name := range s.Pods.PullSecrets {
		job.Spec.Template.Spec.ImagePullSecrets = append(job.Spec.Template.Spec.ImagePullSecrets, core.LocalObjectReference{Name: name})
	}
	return job
}

// wait holds a pod back until its weights are complete: no probe counts that time.
func (s Serve) wait() core.Container {
	job := s.volumeName(0, 0)
	if s.ownVolumes() {
		job = weightsName + "-$HOSTNAME"
	}
	script := fmt.Sprintf("until [ -f %s ]; do\n\techo \"railwright: waiting for the weights: the job %s has to end first\" >&2\n\tsleep 10\ndone\n",
		fabric.ShellWord(path.Join(s.Pods.Weights.Folder, complete)), job)
	return core.Container{
		Name: "weights", Image: s.Image, Command: []string{"/bin/sh", "-c"}, Args: []string{script},
		SecurityContext: leastPrivilege(), VolumeMounts: []core.VolumeMount{{Name: weightsName, MountPath: weightsAt, ReadOnly: true}},
	}
}
