package vsphere

import (
	"errors"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// classAPI is of VM Operator. From v1alpha3 on classes belong to a namespace and carry a configuration.
const classAPI = "vmoperator.vmware.com/v1alpha3"

// classBody is the body of POST /api/vcenter/namespace-management/virtual-machine-classes. From vSphere 8.0.2 on devices and
// settings stand in the configuration; the list of devices beside it is not read where there is one.
type classBody struct {
	ID                string     `json:"id"`
	Description       string     `json:"description,omitempty"`
	CPUs              int        `json:"cpu_count"`
	MemoryMB          int        `json:"memory_MB"`
	MemoryReservation int        `json:"memory_reservation"` // percent: with devices of the host all of it has to be
	Config            configSpec `json:"config_spec"`
}

// configSpec is VirtualMachineConfigSpec in the JSON of the vSphere API, in which each object says its type.
type configSpec struct {
	Type    string         `json:"_typeName"`
	Devices []deviceChange `json:"deviceChange,omitempty"`
	Extra   []optionValue  `json:"extraConfig,omitempty"`
}

type deviceChange struct {
	Type      string      `json:"_typeName"`
	Operation string      `json:"operation"`
	Device    passthrough `json:"device"`
}

type passthrough struct {
	Type    string  `json:"_typeName"`
	Key     int     `json:"key"` // below 0, and each another: devices of one key are one device
	Backing backing `json:"backing"`
}

type backing struct {
	Type    string          `json:"_typeName"`
	Name    string          `json:"deviceName"`
	Label   string          `json:"customLabel,omitempty"`
	Allowed []allowedDevice `json:"allowedDevice"`
}

type allowedDevice struct {
	Type   string `json:"_typeName"`
	Vendor uint16 `json:"vendorId"`
	Device uint16 `json:"deviceId"`
}

type optionValue struct {
	Type  string    `json:"_typeName"`
	Key   string    `json:"key"`
	Value typedText `json:"value"`
}

type typedText struct {
	Type  string `json:"_typeName"`
	Value string `json:"_value"`
}

func configOf(c fabric.VMClass) configSpec {
	s := configSpec{Type: "VirtualMachineConfigSpec"}
	for i, d := range c.Devices {
		s.Devices = append(s.Devices, deviceChange{Type: "VirtualDeviceConfigSpec", Operation: "add", Device: passthrough{
			Type: "VirtualPCIPassthrough", Key: -(i + 1), Backing: backing{
				Type: "VirtualPCIPassthroughDynamicBackingInfo", Label: d.Label,
				Allowed: []allowedDevice{{Type: "VirtualPCIPassthroughAllowedDevice", Vendor: d.Vendor, Device: d.Device}},
			}}})
	}
	for _, o := range c.Extra {
		s.Extra = append(s.Extra, optionValue{Type: "OptionValue", Key: o.Name, Value: typedText{Type: "string", Value: o.Value}})
	}
	return s
}

// CheckClasses reports why the classes of a plan cannot be made.
func CheckClasses(v fabric.VSphere) error {
	for _, c := range v.Classes {
		if c.CPUs < 1 || c.MemoryMB < 1 {
			return errors.New("vsphere.vm.cpus and vsphere.vm.memory_gib are not in the cluster file, and a class needs both")
		}
		for _, d := range c.Devices {
			if d.Vendor == 0 || d.Device == 0 {
				return fmt.Errorf("the catalog does not know the PCI id of %s", d.Label)
			}
		}
	}
	return nil
}

// describe says what a class is for.
func describe(c fabric.VMClass) string {
	text := fabric.Count(c.GPUs, "GPU") + " and " + fabric.Count(c.NICs, "NIC")
	if len(c.Modules) > 0 {
		text += " of Module Id " + strings.Trim(fmt.Sprint(c.Modules), "[]")
	}
	if c.MMIO != "" {
		text += "; MMIO: " + c.MMIO
	}
	return text
}

// ClassBodies are the classes as bodies of the API.
func ClassBodies(v fabric.VSphere) (all []fabric.Artifact) {
	for _, c := range v.Classes {
		body := classBody{ID: c.Name, Description: describe(c), CPUs: c.CPUs, MemoryMB: c.MemoryMB, MemoryReservation: 100, Config: configOf(c)}
		all = append(all, forPeople("/vm-class-"+c.Name+".json", jsonText(body)))
	}
	return all
}

type objectMeta struct {
	Name        string            `json:"name,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type classObject struct {
	API  string     `json:"apiVersion"`
	Kind string     `json:"kind"`
	Meta objectMeta `json:"metadata"`
	Spec classSpec  `json:"spec"`
}

type classSpec struct {
	Description string        `json:"description,omitempty"`
	Hardware    classHardware `json:"hardware"`
	Policies    classPolicies `json:"policies"`
	Config      configSpec    `json:"configSpec"`
}

type classHardware struct {
	CPUs    int          `json:"cpus"`
	Memory  string       `json:"memory"`
	Devices classDevices `json:"devices,omitzero"`
}

type classDevices struct {
	Dynamic []classDevice `json:"dynamicDirectPathIODevices,omitempty"`
}

type classDevice struct {
	Vendor uint16 `json:"vendorID"`
	Device uint16 `json:"deviceID"`
	Label  string `json:"customLabel,omitempty"`
}

type classPolicies struct {
	Resources struct {
		Requests struct {
			Memory string `json:"memory"`
		} `json:"requests"`
	} `json:"resources"`
}

// ClassObjects are the classes as VM Operator has them in a namespace. vCenter makes them from the bodies; these are to compare with.
func ClassObjects(v fabric.VSphere) (all []fabric.Artifact) {
	namespace := ""
	if v.Kube != nil {
		namespace = v.Kube.Namespace
	}
	for _, c := range v.Classes {
		memory := fmt.Sprintf("%dMi", c.MemoryMB)
		o := classObject{API: classAPI, Kind: "VirtualMachineClass", Meta: objectMeta{Name: c.Name, Namespace: namespace},
			Spec: classSpec{Description: describe(c), Hardware: classHardware{CPUs: c.CPUs, Memory: memory}, Config: configOf(c)}}
		o.Spec.Policies.Resources.Requests.Memory = memory
		for _, d := range c.Devices {
			o.Spec.Hardware.Devices.Dynamic = append(o.Spec.Hardware.Devices.Dynamic, classDevice{Vendor: d.Vendor, Device: d.Device, Label: d.Label})
		}
		comment := "Written by railwright from the plan. vCenter makes this object from vm-class-" + c.Name + ".json once the class is assigned to the\n" +
			"namespace: compare with `kubectl get vmclass " + c.Name + " -o yaml`. Devices are in the order in which the virtual machine gets them."
		all = append(all, forPeople("/vm-class-"+c.Name+".yaml", yamlText(comment, o)))
	}
	return all
}
