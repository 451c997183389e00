package intent

import (
	"fmt"
	"strings"
)

// versionOfVKS takes the minor version of a cluster that vSphere makes for that of its pods.
func (c *Cluster) versionOfVKS() {
	if c.VSphere != nil && c.VSphere.Kube != nil && c.Kubernetes.Version == "" {
		c.Kubernetes.Version = minorOf(c.VSphere.Kube.Version)
	}
}

// minorOf is the minor version of a release of vSphere: 1.32 of v1.32.0---vmware.6-fips-vkr.2; empty where the text has none.
func minorOf(release string) string {
	parts := strings.SplitN(strings.TrimPrefix(release, "v"), ".", 3)
	if len(parts) < 3 {
		return ""
	}
	return parts[0] + "." + parts[1]
}

// sameVersion: the cluster that vSphere makes is the one that the pods are for.
func (v *validator) sameVersion(k *Kube, at []string) {
	s := v.cluster.VSphere
	if s == nil || s.Kube == nil || !v.sound(step(at, "version"), []string{"vsphere", "vks", "version"}) {
		return
	}
	if made := minorOf(s.Kube.Version); made != "" && made != k.Version {
		v.add(step(at, "version"), fmt.Sprintf("%s: vsphere.vks makes a cluster of release %s: use %s, or another release there", k.Version, s.Kube.Version, made))
	}
}
