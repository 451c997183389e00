package render

import (
	"fmt"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
)

// RDMAClass is the DeviceClass of RDMA NICs. Its name is this program's own, so that it takes nobody else's class: DraNet
// installs none (its install.yaml), and its users name theirs dranet, dranet.net or dranet-cloud.
const RDMAClass = "railwright-rdma"

// Paths of the objects, in the order in which an API server is to get them.
const (
	classesPath   = "/10-device-classes.yaml"
	templatesPath = "/20-claims.yaml"
)

// DeviceClasses renders the classes that the claims of a plan name and no driver installs. Those of the GPU drivers come
// with the drivers: gpu.nvidia.com and gpu.amd.com, of their Helm charts.
func DeviceClasses(c fabric.Claims) fabric.Artifact {
	class := &resource.DeviceClass{
		ObjectMeta: meta.ObjectMeta{Name: RDMAClass, Labels: draLabels()},
		Spec:       resource.DeviceClassSpec{Selectors: []resource.DeviceSelector{cel(rdmaOnly(c.NICDriver))}},
	}
	comment := "RDMA NICs as " + c.NICDriver + " publishes them, and no other interface: a NIC whose RDMA device is missing is not given to a pod. " +
		"has() keeps a device without the attribute from ending the allocation with an error."
	if c.GPUDriver != "" {
		comment += "\nThe class of the GPUs, " + c.GPUDriver + ", comes with its driver and is not written here."
	} else {
		comment += "\nThe GPUs come from a device plugin (" + c.GPUResource + ") and have no class."
	}
	return newArtifact(fabric.OnKubernetes, classesPath, modePublic, draText(c.API, []draObject{{comment, class}}))
}

// draLabels mark what this program has written.
func draLabels() map[string]string {
	return map[string]string{"app.kubernetes.io/managed-by": "railwright"}
}

func cel(expression string) resource.DeviceSelector {
	return resource.DeviceSelector{CEL: &resource.CELDeviceSelector{Expression: expression}}
}

// rdmaOnly selects NICs with an RDMA device. The attribute is the same whether a driver writes it as rdma or with its own
// name before it, dra.net/rdma: names without a domain belong to the driver.
func rdmaOnly(driver string) string {
	return fmt.Sprintf("device.driver == %q && has(device.attributes[%q].rdma) && device.attributes[%q].rdma", driver, driver, driver)
}
