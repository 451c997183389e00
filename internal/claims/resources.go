package claims

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/api/resource/v1beta2"
	"k8s.io/apimachinery/pkg/conversion"
	fromv1beta1 "k8s.io/dynamic-resource-allocation/api/v1beta1"
	fromv1beta2 "k8s.io/dynamic-resource-allocation/api/v1beta2"
	kjson "sigs.k8s.io/json"
)

// readResource reads an object of resource.k8s.io in any version that a server ever served.
func (o *Objects) readResource(s source, h header, version string) {
	switch version {
	case "v1", "v1beta2", "v1beta1", "v1alpha3":
	case "v1alpha2", "v1alpha1":
		o.refuse(refusedName(h), "classic dynamic resource allocation")
		o.problem(s, s.object, "apiVersion", "resource.k8s.io/"+version+" is classic dynamic resource allocation (resource classes and drivers with controllers), which no server serves since Kubernetes 1.32: write the claim in resource.k8s.io/v1", true)
		return
	default:
		o.refuse(refusedName(h), "its version is unknown")
		o.problem(s, s.object, "apiVersion", "resource.k8s.io/"+version+" is unknown: v1, v1beta2, v1beta1 and v1alpha3 are read", true)
		return
	}
	switch h.Kind {
	case "ResourceSlice":
		o.readSlice(s, version)
	case "DeviceClass":
		o.readClass(s, h, version)
	case "ResourceClaim":
		o.readClaim(s, h, version)
	case "ResourceClaimTemplate":
		o.readTemplate(s, h, version)
	case "DeviceTaintRule":
		o.problem(s, s.object, "", "taints devices beside their slices, which is not computed: devices that it taints are counted as free", false)
	default:
		o.problem(s, s.object, "kind", "is no kind of resource.k8s.io that is read", true)
	}
}

func refusedName(h header) string {
	if h.Kind == "DeviceClass" || h.Kind == "ResourceSlice" {
		return h.Kind + "/" + h.Metadata.Name
	}
	return h.Kind + "/" + inNamespace(h.Metadata.Namespace, h.Metadata.Name)
}

// convert is a conversion from one version to v1; it only fails for what v1 cannot express.
type convert[In any] func(*In, conversion.Scope) error

// decode reads JSON strictly: unknown and repeated fields come back beside the object, with their paths.
func decode[In any](data []byte, to convert[In]) (strict []error, err error) {
	in := new(In)
	if strict, err = kjson.UnmarshalStrict(data, in); err != nil {
		return strict, errors.New(plainJSONError(err))
	}
	return strict, to(in, nil)
}

// decodeSlice gives a slice in v1. A level of another version (basic) gives a slice without attributes here: the
// caller must look at the unknown fields.
func decodeSlice(data []byte, version string) (out *resourceapi.ResourceSlice, strict []error, err error) {
	out = &resourceapi.ResourceSlice{}
	switch version {
	case "v1":
		strict, err = decode(data, func(in *resourceapi.ResourceSlice, _ conversion.Scope) error { *out = *in; return nil })
	case "v1beta2":
		strict, err = decode(data, func(in *v1beta2.ResourceSlice, s conversion.Scope) error {
			return fromv1beta2.Convert_v1beta2_ResourceSlice_To_v1_ResourceSlice(in, out, s)
		})
	default:
		if version == "v1alpha3" {
			data = plainCapacity(data)
		}
		strict, err = decode(data, func(in *v1beta1.ResourceSlice, s conversion.Scope) error {
			return fromv1beta1.Convert_v1beta1_ResourceSlice_To_v1_ResourceSlice(in, out, s)
		})
	}
	return out, strict, err
}

// plainCapacity writes the capacities of a v1alpha3 slice, which are plain quantities, as v1beta1 has them: below
// value. All else is equal. A text that is not as expected comes back unchanged, and is then refused by the decoder.
func plainCapacity(data []byte) []byte {
	var slice map[string]any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if d.Decode(&slice) != nil {
		return data
	}
	spec, _ := slice["spec"].(map[string]any)
	devices, _ := spec["devices"].([]any)
	for _, device := range devices {
		fields, _ := device.(map[string]any)
		basic, _ := fields["basic"].(map[string]any)
		capacity, _ := basic["capacity"].(map[string]any)
		for name, value := range capacity {
			if _, level := value.(map[string]any); !level {
				capacity[name] = map[string]any{"value": value}
			}
		}
	}
	written, err := json.Marshal(slice)
	if err != nil {
		return data
	}
	return written
}

func decodeClass(data []byte, version string) (out *resourceapi.DeviceClass, strict []error, err error) {
	out = &resourceapi.DeviceClass{}
	switch version {
	case "v1":
		strict, err = decode(data, func(in *resourceapi.DeviceClass, _ conversion.Scope) error { *out = *in; return nil })
	case "v1beta2":
		strict, err = decode(data, func(in *v1beta2.DeviceClass, s conversion.Scope) error {
			return fromv1beta2.Convert_v1beta2_DeviceClass_To_v1_DeviceClass(in, out, s)
		})
	default:
		strict, err = decode(data, func(in *v1beta1.DeviceClass, s conversion.Scope) error {
			return fromv1beta1.Convert_v1beta1_DeviceClass_To_v1_DeviceClass(in, out, s)
		})
	}
	return out, strict, err
}

func decodeClaim(data []byte, version string) (out *resourceapi.ResourceClaim, strict []error, err error) {
	out = &resourceapi.ResourceClaim{}
	switch version {
	case "v1":
		strict, err = decode(data, func(in *resourceapi.ResourceClaim, _ conversion.Scope) error { *out = *in; return nil })
	case "v1beta2":
		strict, err = decode(data, func(in *v1beta2.ResourceClaim, s conversion.Scope) error {
			return fromv1beta2.Convert_v1beta2_ResourceClaim_To_v1_ResourceClaim(in, out, s)
		})
	default:
		strict, err = decode(data, func(in *v1beta1.ResourceClaim, s conversion.Scope) error {
			return fromv1beta1.Convert_v1beta1_ResourceClaim_To_v1_ResourceClaim(in, out, s)
		})
	}
	return out, strict, err
}

func decodeTemplate(data []byte, version string) (out *resourceapi.ResourceClaimTemplate, strict []error, err error) {
	out = &resourceapi.ResourceClaimTemplate{}
	switch version {
	case "v1":
		strict, err = decode(data, func(in *resourceapi.ResourceClaimTemplate, _ conversion.Scope) error { *out = *in; return nil })
	case "v1beta2":
		strict, err = decode(data, func(in *v1beta2.ResourceClaimTemplate, s conversion.Scope) error {
			return fromv1beta2.Convert_v1beta2_ResourceClaimTemplate_To_v1_ResourceClaimTemplate(in, out, s)
		})
	default:
		strict, err = decode(data, func(in *v1beta1.ResourceClaimTemplate, s conversion.Scope) error {
			return fromv1beta1.Convert_v1beta1_ResourceClaimTemplate_To_v1_ResourceClaimTemplate(in, out, s)
		})
	}
	return out, strict, err
}

// strictFields reports the unknown and repeated fields of an object. It returns whether one of them is of another
// version's level, and whether there is any.
func (o *Objects) strictFields(s source, strict []error, version string, refused bool) (level, any bool) {
	if len(strict) == 0 { // as of nearly all of thousands of slices
		return false, false
	}
	quoted := regexp.MustCompile(`^(unknown|duplicate) field "([^"]*)"`)
	seen := map[string]bool{}
	for _, e := range strict {
		m := quoted.FindStringSubmatch(e.Error())
		if m == nil {
			o.problem(s, s.object, "", e.Error(), refused)
			continue
		}
		if m[1] == "duplicate" {
			o.problem(s, s.object, m[2], "is given twice", refused)
			continue
		}
		why, isLevel := wrongLevel(m[2], version)
		level = level || isLevel
		if isLevel { // once, not for each device
			if seen[why] {
				continue
			}
			seen[why] = true
		}
		o.problem(s, s.object, m[2], why, refused || isLevel)
	}
	return level, len(strict) > 0
}

// wrongLevel says why a field is unknown: that it stands at the level of another version, or that nothing knows it.
func wrongLevel(path, version string) (why string, level bool) {
	parent, field := path, path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, field = path[:i], path[i+1:]
	}
	inDevice := regexp.MustCompile(`^spec\.devices\[\d+\]$`).MatchString(parent)
	inRequest := regexp.MustCompile(`devices\.requests\[\d+\]$`).MatchString(parent)
	old := version == "v1beta1" || version == "v1alpha3"
	switch {
	case inDevice && field == "basic" && !old:
		return fmt.Sprintf("is the level of v1beta1: in %s attributes and capacity stand in the device itself, and a server would read a device without attributes", version), true
	case inDevice && old && (field == "attributes" || field == "capacity"):
		return fmt.Sprintf("is the level of v1: in %s it stands below basic", version), true
	case inRequest && field == "exactly" && old:
		return fmt.Sprintf("is the level of v1: in %s deviceClassName, selectors, allocationMode and count stand in the request itself", version), true
	case inRequest && !old && requestField(field):
		return fmt.Sprintf("is the level of v1beta1: in %s it stands below exactly", version), true
	case field == "resourceClassName":
		return "is of classic dynamic resource allocation, which no server serves since Kubernetes 1.32", true
	}
	return "unknown field", false
}

func requestField(name string) bool {
	switch name {
	case "deviceClassName", "selectors", "allocationMode", "count", "adminAccess", "tolerations", "capacity":
		return true
	}
	return false
}
