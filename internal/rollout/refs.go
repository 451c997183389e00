package rollout

import (
	"cmp"
	"slices"

	core "k8s.io/api/core/v1"
)

// Ref is something that pods cannot start without.
type Ref struct {
	Kind Kind
	Name string
	Key  string // of a Secret or ConfigMap; empty: any
	Soft bool   // without it the pod starts, and may miss it: a secret for pulling images
}

// Refs are what a pod refers to in its own namespace, in order, each once. What is marked as optional is left out, and so are the claims
// that are made for each pod.
func (s PodSet) Refs() (refs []Ref) {
	secret, settings := Kind{"", "Secret"}, Kind{"", "ConfigMap"}
	add := func(k Kind, name, key string, optional *bool) {
		if name != "" && (optional == nil || !*optional) {
			refs = append(refs, Ref{Kind: k, Name: name, Key: key})
		}
	}
	for _, c := range slices.Concat(s.Pod.Spec.InitContainers, s.Pod.Spec.Containers) {
		for _, e := range c.EnvFrom {
			if from := e.SecretRef; from != nil {
				add(secret, from.Name, "", from.Optional)
			}
			if from := e.ConfigMapRef; from != nil {
				add(settings, from.Name, "", from.Optional)
			}
		}
		for _, e := range c.Env {
			if e.ValueFrom == nil {
				continue
			}
			if from := e.ValueFrom.SecretKeyRef; from != nil {
				add(secret, from.Name, from.Key, from.Optional)
			}
			if from := e.ValueFrom.ConfigMapKeyRef; from != nil {
				add(settings, from.Name, from.Key, from.Optional)
			}
		}
	}
	for _, v := range s.Pod.Spec.Volumes {
		refs = append(refs, s.volumeRefs(v)...)
	}
	for _, p := range s.Pod.Spec.ImagePullSecrets {
		refs = append(refs, Ref{Kind: secret, Name: p.Name, Soft: true})
	}
	if account := cmp.Or(s.Pod.Spec.ServiceAccountName, s.Pod.Spec.DeprecatedServiceAccount); account != "" && account != "default" {
		refs = append(refs, Ref{Kind: Kind{"", "ServiceAccount"}, Name: account})
	}
	slices.SortStableFunc(refs, func(a, b Ref) int {
		return cmp.Or(cmp.Compare(a.Kind.Name, b.Kind.Name), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
	})
	return slices.Compact(refs)
}

// volumeRefs are those of a volume; keys are those that are named as files.
func (s PodSet) volumeRefs(v core.Volume) (refs []Ref) {
	add := func(kind, name string, optional *bool, items []core.KeyToPath) {
		if name == "" || optional != nil && *optional {
			return
		}
		if len(items) == 0 {
			refs = append(refs, Ref{Kind: Kind{"", kind}, Name: name})
		}
		for _, i := range items {
			refs = append(refs, Ref{Kind: Kind{"", kind}, Name: name, Key: i.Key})
		}
	}
	if from := v.Secret; from != nil {
		add("Secret", from.SecretName, from.Optional, from.Items)
	}
	if from := v.ConfigMap; from != nil {
		add("ConfigMap", from.Name, from.Optional, from.Items)
	}
	if from := v.PersistentVolumeClaim; from != nil {
		if !slices.ContainsFunc(s.Claims, func(c core.PersistentVolumeClaim) bool { return c.Name == v.Name }) {
			add("PersistentVolumeClaim", from.ClaimName, nil, nil)
		}
	}
	if v.Projected != nil {
		for _, p := range v.Projected.Sources {
			if p.Secret != nil {
				add("Secret", p.Secret.Name, p.Secret.Optional, p.Secret.Items)
			}
			if p.ConfigMap != nil {
				add("ConfigMap", p.ConfigMap.Name, p.ConfigMap.Optional, p.ConfigMap.Items)
			}
		}
	}
	return refs
}

// HasKey reports whether a Secret or ConfigMap has a key. Values are not read.
func HasKey(text []byte, key string) (bool, error) {
	o, err := read[struct {
		Data       map[string]any `json:"data"`
		StringData map[string]any `json:"stringData"` // of a Secret as it is written
		BinaryData map[string]any `json:"binaryData"`
	}](text)
	if err != nil {
		return false, err
	}
	for _, m := range []map[string]any{o.Data, o.StringData, o.BinaryData} {
		if _, ok := m[key]; ok {
			return true, nil
		}
	}
	return false, nil
}

// DeviceClaims are the templates from which a pod's claims of devices are made, and the claims that exist by themselves.
func (s PodSet) DeviceClaims() (templates, claims []string) {
	for _, c := range s.Pod.Spec.ResourceClaims {
		if c.ResourceClaimTemplateName != nil {
			templates = append(templates, *c.ResourceClaimTemplateName)
		}
		if c.ResourceClaimName != nil {
			claims = append(claims, *c.ResourceClaimName)
		}
	}
	return templates, claims
}
