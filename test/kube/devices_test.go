package kube

import (
	"fmt"
	"strings"
)

// The drivers whose devices the tests publish, as a node has both: the names are those that the drivers themselves use.
const (
	gpuDriver = "gpu.nvidia.com"
	nicDriver = "dra.net"
	rootName  = "resource.kubernetes.io/pcieRoot"
)

// device is one device of a slice.
type device struct {
	name string
	root string // "": the driver did not publish it
}

// machine is a node with its devices.
type machine struct {
	name       string
	gpus, nics []device
}

// newMachine has a GPU and a NIC at each of some PCIe roots; the order of the roots of its NICs is the argument.
func newMachine(name string, order ...int) machine {
	m := machine{name: name}
	for i, root := range order {
		m.gpus = append(m.gpus, device{fmt.Sprintf("gpu-%d", i), pcieRoot(i)})
		m.nics = append(m.nics, device{fmt.Sprintf("nic-%d", i), pcieRoot(root)})
	}
	return m
}

func pcieRoot(i int) string { return fmt.Sprintf("pci0000:%02x", 16*i) }

// node is one that kwok plays.
func (m machine) node() object {
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{
			"name":        m.name,
			"annotations": object{"kwok.x-k8s.io/node": "fake"},
			"labels":      object{"kubernetes.io/hostname": m.name},
		},
	}
}

// slice is what a driver publishes of it, in a version of the API.
func (m machine) slice(version, driver string, devices []device) object {
	list := []object{}
	for _, d := range devices {
		attributes := object{"device": object{"string": d.name}}
		if d.root != "" {
			attributes[rootName] = object{"string": d.root}
		}
		one := object{"name": d.name, "attributes": attributes}
		if version == "v1beta1" {
			one = object{"name": d.name, "basic": object{"attributes": attributes}}
		}
		list = append(list, one)
	}
	return object{
		"apiVersion": "resource.k8s.io/" + version, "kind": "ResourceSlice", "metadata": object{"name": m.name + "-" + driver},
		"spec": object{
			"driver": driver, "nodeName": m.name, "devices": list,
			"pool": object{"name": m.name, "generation": 1, "resourceSliceCount": 1},
		},
	}
}

// classes are one DeviceClass for each driver.
func classes(version string) (list []object) {
	for _, driver := range []string{gpuDriver, nicDriver} {
		list = append(list, object{
			"apiVersion": "resource.k8s.io/" + version, "kind": "DeviceClass", "metadata": object{"name": driver},
			"spec": object{"selectors": []object{{"cel": object{"expression": fmt.Sprintf("device.driver == %q", driver)}}}},
		})
	}
	return list
}

// want is what each pod claims: pairs of so many GPUs and NICs, each pair at one root or anywhere.
type want struct {
	pairs    int      // each of them aligned by itself
	each     int      // GPUs and NICs of a pair
	anywhere bool     // no constraint
	nics     []string // only these NICs; empty: all
}

// template is a ResourceClaimTemplate for it.
func (w want) template(version, name string) object {
	requests, constraints := []object{}, []object{}
	for i := range w.pairs {
		gpu, nic := fmt.Sprintf("gpu-%d", i), fmt.Sprintf("nic-%d", i)
		requests = append(requests, w.request(version, gpu, gpuDriver), w.request(version, nic, nicDriver))
		constraints = append(constraints, object{"requests": []string{gpu, nic}, "matchAttribute": rootName})
	}
	devices := object{"requests": requests, "constraints": constraints}
	if w.anywhere {
		delete(devices, "constraints")
	}
	return object{
		"apiVersion": "resource.k8s.io/" + version, "kind": "ResourceClaimTemplate", "metadata": object{"name": name},
		"spec": object{"spec": object{"devices": devices}},
	}
}

func (w want) request(version, name, class string) object {
	what := object{"deviceClassName": class, "allocationMode": "ExactCount", "count": w.each}
	if class == nicDriver && len(w.nics) > 0 {
		expression := fmt.Sprintf(`device.attributes["%s"].device in ["%s"]`, nicDriver, strings.Join(w.nics, `", "`))
		what["selectors"] = []object{{"cel": object{"expression": expression}}}
	}
	if version == "v1beta1" {
		what["name"] = name
		return what
	}
	return object{"name": name, "exactly": what}
}

// pod claims by a template, on one node or (with "") on any.
func pod(name, template, node string) object {
	spec := object{
		"terminationGracePeriodSeconds": 0, "automountServiceAccountToken": false,
		"resourceClaims": []object{{"name": "devices", "resourceClaimTemplateName": template}},
		"containers": []object{{
			"name": "main", "image": "registry.invalid/none:1", // no container runs
			"resources": object{"claims": []object{{"name": "devices"}}},
		}},
	}
	if node != "" {
		spec["nodeSelector"] = object{"kubernetes.io/hostname": node}
	}
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name}, "spec": spec}
}

// pods are n of them with names that begin alike.
func pods(n int, prefix, template, node string) (list []object) {
	for i := range n {
		list = append(list, pod(fmt.Sprintf("%s-%d", prefix, i), template, node))
	}
	return list
}
