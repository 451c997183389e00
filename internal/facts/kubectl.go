package facts

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

const (
	kubeTableTool  = "kubectl get"
	kubeObjectTool = "kubectl get -o yaml"
)

// kubeHead is the head of a table of kubectl get pods or kubectl get resourceclaims.
var kubeHead = pattern.Plain(`^(?:NAMESPACE +)?NAME +(?:READY +STATUS|(?:RESOURCECLASSNAME +ALLOCATIONMODE +)?STATE) +.*\bAGE\b`)

func isKubeHead(line string) bool {
	return strings.HasPrefix(line, "NAME") && kubeHead().MatchString(line)
}

// kubeRow is a row of such a table: the name of an object of Kubernetes, and states.
var kubeRow = pattern.Plain(`^[a-z0-9][a-z0-9.-]* +\S.* [0-9]+[smhdy][0-9smhdy]*(?: |$)`)

func isKubeRow(line string) bool { return isKubeHead(line) || kubeRow().MatchString(line) }

func knowsKubeTable(text string) bool { return hasLine(text, isKubeHead) }

// parseKubeTable reads tables of pods and claims, with or without a column of namespaces. Columns are found by the places of
// their titles.
func parseKubeTable(text, _ string) (fabric.Facts, error) {
	k := &fabric.KubeState{}
	var head string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if isKubeHead(line) {
			head = line
			continue
		}
		if head == "" || !kubeRow().MatchString(line) || len(k.Claims)+len(k.Pods) >= maxDevices {
			continue
		}
		name := column(head, line, "NAME")
		switch {
		case name == "":
		case strings.Contains(head, "STATUS"):
			k.Pods = append(k.Pods, fabric.PodState{Name: name, Ready: column(head, line, "READY"), Status: column(head, line, "STATUS"), Node: absentNode(column(head, line, "NODE"))})
		default:
			k.Claims = append(k.Claims, fabric.ClaimState{Name: name, State: column(head, line, "STATE")})
		}
	}
	if len(k.Claims)+len(k.Pods) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return fabric.Facts{Kube: k}, nil
}

// column is the word of a row that begins where its title does.
func column(head, line, title string) string {
	at := regexp.MustCompile(`(?:^| )` + title + `(?: |$)`).FindStringIndex(head)
	if at == nil {
		return ""
	}
	from := at[0]
	if from > 0 || head[0] == ' ' {
		from++
	}
	if from >= len(line) || from > 0 && line[from-1] != ' ' {
		return ""
	}
	word, _, _ := strings.Cut(line[from:], " ")
	return fabric.Printable(word)
}

func absentNode(name string) string {
	if name == "<none>" {
		return ""
	}
	return name
}

// kubeTop is the version of an object's API, where YAML or JSON has it.
var kubeTop = pattern.Plain(`(?m)^ *-? *"?apiVersion"?:`)

// knowsKubeObjects knows claims, pods and slices as YAML or JSON.
func knowsKubeObjects(text string) bool {
	return strings.Contains(text, "apiVersion") && (strings.Contains(text, "ResourceClaim") || strings.Contains(text, "ResourceSlice"))
}

// kubeObject is what is read of an object of Kubernetes, in any version of its API.
type kubeObject struct {
	Kind     string       `json:"kind"`
	Items    []kubeObject `json:"items"`
	Metadata struct {
		Name              string `json:"name"`
		DeletionTimestamp string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		NodeName string          `json:"nodeName"`
		Driver   string          `json:"driver"`
		Devices  json.RawMessage `json:"devices"` // a list in slices, an object in claims
	} `json:"spec"`
	Status struct {
		Phase       string                            `json:"phase"`
		ReservedFor []struct{ Name, Resource string } `json:"reservedFor"`
		Allocation  *struct {
			Devices struct {
				Results []struct{ Driver, Device string } `json:"results"`
			} `json:"devices"`
		} `json:"allocation"`
		Devices []struct {
			Driver, Device string
			Conditions     []struct{ Type, Status, Reason, Message string } `json:"conditions"`
			NetworkData    struct {
				InterfaceName string   `json:"interfaceName"`
				IPs           []string `json:"ips"`
			} `json:"networkData"`
		} `json:"devices"`
	} `json:"status"`
}

// kubeDevice is a device of a slice; v1beta1 has its attributes below basic.
type kubeDevice struct {
	Name       string                   `json:"name"`
	Attributes map[string]kubeAttribute `json:"attributes"`
	Basic      *struct {
		Attributes map[string]kubeAttribute `json:"attributes"`
	} `json:"basic"`
}

type kubeAttribute struct {
	Bool   *bool   `json:"bool"`
	String *string `json:"string"`
}

// parseKubeObjects reads claims, pods and slices of a text. What stands behind a document that cannot be read is unknown.
func parseKubeObjects(text, _ string) (fabric.Facts, error) {
	if !knowsKubeObjects(text) || !kubeTop().MatchString(text) {
		return fabric.Facts{}, errForeignText
	}
	k := &fabric.KubeState{}
	documents := regexp.MustCompile(`(?m)^---[ \t]*$`).Split(text, maxDevices)
	for i, document := range documents {
		if strings.TrimSpace(document) == "" {
			continue
		}
		var o kubeObject
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return notRead(k, fmt.Sprintf("document %d: %v", i+1, err)), nil
		}
		if err := o.into(k); err != nil {
			return notRead(k, err.Error()), nil
		}
	}
	if len(k.Claims)+len(k.Pods)+len(k.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return fabric.Facts{Kube: k}, nil
}

// notRead is what was read so far, and why there is more.
func notRead(k *fabric.KubeState, why string) fabric.Facts {
	return fabric.Facts{Kube: k, Missing: []fabric.Missing{{What: fabric.FactKube, Source: kubeObjectTool, Reason: fabric.Printable(why)}}}
}

func (o *kubeObject) into(k *fabric.KubeState) error {
	for i := range o.Items {
		if err := o.Items[i].into(k); err != nil {
			return err
		}
	}
	switch o.Kind {
	case "ResourceClaim":
		k.Claims = append(k.Claims, o.claim())
	case "Pod":
		k.Pods = append(k.Pods, fabric.PodState{Name: o.Metadata.Name, Status: o.Status.Phase, Node: o.Spec.NodeName})
	case "ResourceSlice":
		nics, err := o.nics()
		if err != nil {
			return fmt.Errorf("ResourceSlice %s: %w", o.Metadata.Name, err)
		}
		k.NICs = append(k.NICs, nics...)
	}
	return nil
}

// claim is the state as kubectl prints it (printResourceClaim of Kubernetes, pkg/printers/internalversion), with what drivers
// report of the devices.
func (o *kubeObject) claim() fabric.ClaimState {
	var states []string
	if o.Metadata.DeletionTimestamp != "" {
		states = append(states, "deleted")
	}
	c := fabric.ClaimState{Name: o.Metadata.Name}
	if a := o.Status.Allocation; a != nil {
		states = append(states, "allocated")
		for _, r := range a.Devices.Results {
			c.Devices = append(c.Devices, fabric.ClaimDevice{Driver: r.Driver, Device: r.Device})
		}
	} else if len(states) == 0 {
		states = append(states, "pending")
	}
	for _, r := range o.Status.ReservedFor {
		c.For = append(c.For, r.Name)
	}
	if len(c.For) > 0 && o.Status.Allocation != nil {
		states = append(states, "reserved")
	}
	c.State = strings.Join(states, ",")
	for _, d := range o.Status.Devices {
		i := slices.IndexFunc(c.Devices, func(x fabric.ClaimDevice) bool { return x.Driver == d.Driver && x.Device == d.Device })
		if i < 0 {
			continue
		}
		at := &c.Devices[i]
		at.Reported, at.Interface, at.IPs = len(d.Conditions) > 0, d.NetworkData.InterfaceName, d.NetworkData.IPs
		for _, x := range d.Conditions {
			if x.Status == "False" {
				at.NotReady = append(at.NotReady, strings.TrimSpace(x.Type+": "+x.Reason+" "+x.Message))
			}
		}
	}
	return c
}

// nics are the devices of a slice that have attributes of a NIC, whatever domain the driver gives them (dra.net, or
// dra.networking...).
func (o *kubeObject) nics() ([]fabric.SliceNIC, error) {
	var devices []kubeDevice
	if len(o.Spec.Devices) == 0 || o.Spec.Devices[0] != '[' {
		return nil, nil
	}
	if err := json.Unmarshal(o.Spec.Devices, &devices); err != nil {
		return nil, err
	}
	var out []fabric.SliceNIC
	for _, d := range devices {
		attributes := d.Attributes
		if d.Basic != nil {
			attributes = d.Basic.Attributes
		}
		n := fabric.SliceNIC{Node: o.Spec.NodeName, Device: d.Name}
		nic := false
		for name, a := range attributes {
			_, plain, qualified := strings.Cut(name, "/")
			if !qualified {
				plain = name
			}
			nic = n.Attribute(plain, a.String, a.Bool) || nic
		}
		if nic {
			out = append(out, n)
		}
	}
	return out, nil
}
