package intent

import (
	"fmt"
	"regexp"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// serving refuses what only pods have where there are none, and names that no Secret can have.
func (v *validator) serving() {
	s, at := v.cluster.Serving, []string{"serving"}
	if s == nil {
		return
	}
	if k := v.cluster.Kubernetes; k != nil && k.Groups == fabric.JobSets {
		if k.Queue != nil && k.Queue.With != "kueue" {
			v.add([]string{"kubernetes", "queue", "with"}, fmt.Sprintf("%s does not admit a JobSet as a whole: use kueue, or groups: leaderworkerset", k.Queue.With))
		}
		if s.Storage == nil || s.Storage.Mode != "ReadWriteMany" {
			v.add(step(at, "storage"), "a JobSet gives no volume of its own to each pod: set mode: ReadWriteMany, or kubernetes.groups: leaderworkerset")
		}
	}
	secretName := regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`) // RFC 1123 label
	for i, name := range s.PullSecrets {
		if !secretName.MatchString(name) {
			v.add(append(step(at, "pull_secrets"), strconv.Itoa(i)), fmt.Sprintf("%q is no name of a Secret: lower-case letters, digits and '-', at most 63", name))
		}
	}
	if v.cluster.Launcher == Kubernetes || !v.sound([]string{"launcher"}) {
		return
	}
	for field, set := range map[string]bool{"group": s.Group > 0, "replicas": s.Replicas > 0, "storage": s.Storage != nil, "token_secret": s.TokenSecret != "", "pull_secrets": len(s.PullSecrets) > 0} {
		if set {
			v.add(step(at, field), fmt.Sprintf("is of pods, and the launcher is %s: use launcher: kubernetes, or remove it", v.cluster.Launcher))
		}
	}
}
