package vsphere

import (
	"errors"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// clusterAPI is what the Supervisors of VCF 5.2 and 9.0 serve; later ones still take it.
const clusterAPI = "cluster.x-k8s.io/v1beta1"

// imageAnnotation chooses the system of the nodes.
const imageAnnotation = "run.tanzu.vmware.com/resolve-os-image"

type clusterObject struct {
	API  string      `json:"apiVersion"`
	Kind string      `json:"kind"`
	Meta objectMeta  `json:"metadata"`
	Spec clusterSpec `json:"spec"`
}

type clusterSpec struct {
	Network  clusterNetwork  `json:"clusterNetwork"`
	Topology clusterTopology `json:"topology"`
}

type clusterNetwork struct {
	Pods     cidrs  `json:"pods"`
	Services cidrs  `json:"services"`
	Domain   string `json:"serviceDomain"`
}

type cidrs struct {
	Blocks []string `json:"cidrBlocks"`
}

type clusterTopology struct {
	Class     string     `json:"class"`
	Version   string     `json:"version"`
	Variables []variable `json:"variables"`
	Control   replicas   `json:"controlPlane"`
	Workers   workers    `json:"workers"`
}

type variable struct {
	Name  string `json:"name"`
	Value any    `json:"value"`
}

type replicas struct {
	Replicas int        `json:"replicas"`
	Meta     objectMeta `json:"metadata"`
}

type workers struct {
	Deployments []deployment `json:"machineDeployments"`
}

type deployment struct {
	Class     string     `json:"class"`
	Name      string     `json:"name"`
	Replicas  int        `json:"replicas"`
	Meta      objectMeta `json:"metadata"`
	Variables struct {
		Overrides []variable `json:"overrides"`
	} `json:"variables"`
}

// volume of a node. The two kinds of ClusterClass spell its size in two ways.
type volume struct {
	Name         string `json:"name"`
	Capacity     any    `json:"capacity"`
	MountPath    string `json:"mountPath"`
	StorageClass string `json:"storageClass"`
}

// oldClass is the ClusterClass of TKG before the versioned ones.
const oldClass = "tanzukubernetescluster"

// CheckKube reports why there is no cluster to make.
func CheckKube(v fabric.VSphere) error {
	if v.Kube == nil {
		return errors.New("the cluster file has no vsphere.vks section: no Kubernetes cluster is made")
	}
	return nil
}

// Cluster is the Kubernetes cluster of the nodes, for the Supervisor: of VKS with VCF 9.0, of TKG with VCF 5.2.
func Cluster(name string, v fabric.VSphere) fabric.Artifact {
	k := v.Kube
	image := objectMeta{Annotations: map[string]string{imageAnnotation: k.OSImage}}
	o := clusterObject{API: clusterAPI, Kind: "Cluster", Meta: objectMeta{Name: name, Namespace: k.Namespace, Labels: map[string]string{"tkg-cluster-selector": name}}}
	o.Spec.Network = clusterNetwork{Pods: cidrs{[]string{k.Pods.Masked().String()}}, Services: cidrs{[]string{k.Services.Masked().String()}}, Domain: "cluster.local"}
	o.Spec.Topology = clusterTopology{Class: k.ClusterClass, Version: k.Version, Control: replicas{k.Controls, image},
		Variables: []variable{{"vmClass", k.Control}, {"storageClass", k.StorageClass}}}
	key, size := "volumes", any(k.Volume)
	if strings.HasPrefix(k.ClusterClass, oldClass) {
		key, size = "nodePoolVolumes", map[string]string{"storage": k.Volume}
	}
	for _, p := range k.Pools {
		d := deployment{Class: "node-pool", Name: p.Name, Replicas: p.Workers, Meta: image}
		d.Variables.Overrides = []variable{{"vmClass", p.Class},
			{key, []volume{{Name: "containerd", Capacity: size, MountPath: "/var/lib/containerd", StorageClass: k.StorageClass}}}}
		o.Spec.Topology.Workers.Deployments = append(o.Spec.Topology.Workers.Deployments, d)
	}
	product := "VKS"
	if v.Product != fabric.VCF9 {
		product = "TKG"
	}
	comment := "Written by railwright from the plan: the " + product + " cluster, for the Supervisor's context, not for the cluster's own:\n" +
		"kubectl --context " + k.Namespace + " apply -f vks-cluster.yaml"
	return forPeople("/vks-cluster.yaml", yamlText(comment, o))
}

// namespaceBody is the body of POST /api/vcenter/namespaces/instances/v2.
type namespaceBody struct {
	Namespace  string           `json:"namespace"`
	Supervisor string           `json:"supervisor"`
	Storage    []storagePolicy  `json:"storage_specs"`
	VMs        namespaceClasses `json:"vm_service_spec"`
}

type storagePolicy struct {
	Policy string `json:"policy"`
}

type namespaceClasses struct {
	Classes   []string `json:"vm_classes"`
	Libraries []string `json:"content_libraries,omitempty"`
}

// Namespace is the namespace on the Supervisor with all that is assigned to it. vCenter's own ids are not in the plan: they stand
// between angle brackets, and have to be put in.
func Namespace(v fabric.VSphere) fabric.Artifact {
	k := v.Kube
	body := namespaceBody{Namespace: k.Namespace, Supervisor: "<ID OF THE SUPERVISOR>", Storage: []storagePolicy{{"<ID OF THE STORAGE POLICY OF CLASS " + k.StorageClass + ">"}}}
	omits := []string{"the id of the Supervisor (GET /api/vcenter/namespace-management/supervisors/summaries)", "the id of the storage policy of class " + k.StorageClass + " (GET /api/vcenter/storage/policies)"}
	if k.Library != "" {
		body.VMs.Libraries = []string{"<ID OF THE CONTENT LIBRARY " + k.Library + ">"}
		omits = append(omits, "the id of content library "+k.Library+" (POST /api/content/library?action=find)")
	}
	for _, c := range v.Classes {
		body.VMs.Classes = append(body.VMs.Classes, c.Name)
	}
	body.VMs.Classes = append(body.VMs.Classes, k.Control)
	a := forPeople("/namespace.json", jsonText(body))
	a.Omits = omits
	return a
}
