package claims

import (
	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

func (r *run) explain(p *pod, claims []*resourceapi.ResourceClaim, only string) miss {
	if r.late[p.key] || r.ctx.Err() != nil {
		return miss{reason: "not decided in time", unsure: true}
	}
	return miss{reason: "no node has devices for all of its requests together"}
}

func (r *run) impossible(node *corev1.Node, claims []*resourceapi.ResourceClaim) bool { return false }
