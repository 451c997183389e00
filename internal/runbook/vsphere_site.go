package runbook

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// siteSteps are done once, after the hosts.
func siteSteps(p *fabric.Plan) []Step {
	v := *p.VSphere
	var steps []Step
	if p.Transport == fabric.InfiniBand {
		steps = append(steps, subnetManager(v))
	}
	if v.Service != nil {
		steps = append(steps, serviceTemplate(), serviceVMs(v), partitionsStep(v))
	}
	if v.Kube == nil {
		return append(steps, plainVMs(v))
	}
	return append(steps, networksStep(v), contentLibrary(v), workloadManagement(v), consumption(), classStep(v), namespaceStep(v), loginStep(v), clusterStep(p), operatorsStep(), topologyStep(p))
}

func subnetManager(v fabric.VSphere) Step {
	s := Step{
		ID: "infiniband-switches", Phase: After, Title: "Release of the InfiniBand switches", When: "the file infiniband-switches.md of railwright render has the commands; MLNX-OS and the firmware of the NICs are to be of one generation, or links stay down in virtual machines",
		Commands: atHome("cat out/workstation/infiniband-switches.md"), Check: Check{Expect: "show version: 3.12.4002 or later with firmware of the same year"}, Undo: "nothing was changed", Source: vs8 + ", 4.1; " + vcf + ", table 3",
	}
	if v.Mode == fabric.SRIOVToGuests {
		s.Title, s.Source = "Virtual functions in the subnet manager", vs8+", 4"
		s.Check.Expect = "show ib sm virt: Enabled, on the switch whose show ib sm says enable; with OpenSM on a host virt_enabled 2"
		s.Undo = "no ib sm virt"
	}
	return s
}

func serviceTemplate() Step {
	return Step{
		ID: "service-template", Phase: After, Title: "Content library with the Deep Learning VM template", When: "vSphere Client, Content Libraries, Create, subscribed to the URL of the release notes (dl.broadcom.com, with the download token of the support portal). Any Ubuntu template does; its hardware version has to be 21 or later",
		Check: Check{Expect: "the library shows the template, and its hardware version is 21 or later"}, Undo: "delete the library", Source: vcf + ", 9, 9.1",
	}
}

func serviceVMs(v fabric.VSphere) Step {
	s := *v.Service
	var names []string
	for _, g := range s.Guests {
		names = append(names, fmt.Sprintf("# %s on %s: %s, service-vm-%s.b64", g.Name, g.Host, g.Address, g.Host))
	}
	version := s.Driver
	if version == "" {
		version = "exactly the GPU driver's version"
	}
	return Step{
		ID: "service-vms", Phase: After, Title: "A service virtual machine on each host, with its NVSwitches and Fabric Manager",
		When:     fmt.Sprintf("before any virtual machine that has GPUs, and never powered off: %d CPUs, %d MB, all of it reserved, and %s of the labels NVS0 and on. Deploy each from the template with its own user data, rather than clone one and change the address in it; tie it to its host. It installs Fabric Manager %s, and stops where the driver in it is another", s.CPUs, s.MemoryMB, fabric.Count(s.NVSwitches, "NVSwitch"), version),
		Commands: atHome(append([]string{"# the content of the file goes into the field Encoded user-data (Base OS Properties)"}, names...)...),
		Check:    Check{Lines: []string{"# in each", "systemctl is-active nvidia-fabricmanager", "nv-fabricmanager --version", "journalctl -u railwright-fabric-manager --no-pager | tail"}, Expect: "active, " + version + ", and each partition that is active"},
		Undo:     "power off and delete it, after all virtual machines with GPUs on its host are off", Source: vcf + ", 9.2 to 9.5; NVIDIA Fabric Manager user guide, shared NVSwitch virtualization",
	}
}

func partitionsStep(v fabric.VSphere) Step {
	var lines []string
	for _, c := range v.Classes {
		if len(c.Nodes) > 0 {
			lines = append(lines, fmt.Sprintf("# %s: Module Id %s", c.Name, strings.Trim(fmt.Sprint(c.Modules), "[]")))
		}
	}
	return Step{
		ID: "partitions", Phase: After, Title: "Partitions of Fabric Manager, before the virtual machines start", When: fmt.Sprintf("%s of %s on each host. Its script does it where fmpm is installed (github.com/NVIDIA/Fabric-Manager-Client); without an active partition the GPUs of a virtual machine do not reach each other over NVLink, and two single ones instead of a pair show only as SXid 11004 in the service virtual machine", fabric.Count(v.Service.Partitions, "partition"), fabric.Count(v.Service.GPUs, "GPU")),
		Commands: []Script{{Lines: append([]string{"# in each service virtual machine", "fmpm -l", "fmpm -a PARTITION"}, lines...)}},
		Check:    Check{Lines: []string{"fmpm -l", "dmesg | grep -c SXid"}, Expect: "isActive 1 for these partitions and for no other; 0"},
		Undo:     "fmpm -d PARTITION, with its virtual machine off", Source: "NVIDIA Fabric Manager user guide, shared NVSwitch virtualization",
	}
}

func plainVMs(v fabric.VSphere) Step {
	c := v.Classes[0]
	var devices, where []string
	for _, d := range c.Devices {
		devices = append(devices, d.Label)
	}
	for _, h := range v.Hosts {
		where = append(where, "# "+strings.Join(h.Nodes, ", ")+" on "+h.Name)
	}
	what := "devices in the order " + strings.Join(devices, " ")
	if c.Functions > 0 {
		what = fmt.Sprintf("%s of each NIC that it gets, as a PCI device (SR-IOV), another one for each virtual machine of a host: of %d per NIC", fabric.Count(c.Functions, "virtual function"), v.Goal.MaxVFs)
	}
	s := Step{
		ID: "virtual-machines", Phase: After, Title: "Virtual machines and their devices",
		When:     fmt.Sprintf("made in the vSphere Client, each on its host: EFI, hardware version %d or later, %d CPUs, %d MB, all of it reserved. Then powered off, and %s", 21, c.CPUs, c.MemoryMB, what),
		Commands: atHome(where...),
		Check:    Check{Lines: []string{"govc vm.info -e NAME", "govc device.pci.ls -vm NAME"}, Expect: "it powers on, and lspci in it shows each device"}, Undo: "govc device.pci.remove -vm NAME pcipassthrough-KEY", Source: vs8 + ", 3; " + vcf + ", 10.1",
	}
	if v.VCenter != nil {
		s.When += ". The devices, ExtraConfig and the reservation are given by the commands, to every machine that is off"
		s.Commands = append(s.Commands, atHome(applyCommands()...)...)
		s.Undo = "railwright rollback -f cluster.yaml, with the virtual machines off"
		return s
	}
	lines := []string{"govc vm.change -vm NAME -memory-pin=true"}
	for _, o := range c.Extra {
		lines = append(lines, "govc vm.change -vm NAME -e "+o.Name+"="+o.Value)
	}
	s.Commands[0].Lines = append(append(s.Commands[0].Lines, lines...), "govc device.pci.ls -vm NAME", "govc device.pci.add -vm NAME ADDRESS")
	return s
}

// applyCommands show and make what this program makes in vCenter. The password is in no history and in no list of processes.
func applyCommands() []string {
	return []string{"export RAILWRIGHT_VCENTER_USER=administrator@vsphere.local", "stty -echo; read -r RAILWRIGHT_VCENTER_PASSWORD; stty echo; export RAILWRIGHT_VCENTER_PASSWORD",
		"railwright apply -f cluster.yaml --dry-run || [ $? -eq 1 ]", "railwright apply -f cluster.yaml"}
}

func networksStep(v fabric.VSphere) Step {
	what := "NSX with VPCs: external and private transit gateway IP blocks, a VPC connectivity profile with a centralized gateway, the management port group"
	if v.Product != fabric.VCF9 {
		what = "NSX segments, or a distributed switch with a load balancer: VCF 5.2 has no VPCs for the Supervisor"
	}
	return Step{
		ID: "networks", Phase: After, Title: "Networks of the Supervisor", When: what + ". The file networks.md has each range; none may overlap another",
		Commands: atHome("cat out/workstation/networks.md"), Check: Check{Expect: "NSX Manager, Networking: the blocks with their ranges, Edge cluster up; from the management network vCenter and ESX hosts answer"},
		Undo: "delete the blocks and the profile", Source: vcf + ", C.1, table 6",
	}
}

func contentLibrary(v fabric.VSphere) Step {
	name := v.Kube.Library
	if name == "" {
		name = "a library with the Kubernetes releases"
	}
	return Step{
		ID: "content-library", Phase: After, Title: "Content library of the Kubernetes releases, and the storage policy", When: "library: " + name + ", subscribed to https://wp-content.vmware.com/v2/latest/lib.json; storage policy: one whose Kubernetes name is " + v.Kube.StorageClass + ". govc reads GOVC_URL, GOVC_USERNAME and GOVC_PASSWORD",
		Commands: atHome("govc library.ls", "govc storage.policy.ls"), Check: Check{Lines: []string{"govc library.ls /NAME/"}, Expect: "the release " + v.Kube.Version + " or its template is there; the policy is listed"},
		Undo: "delete both", Source: vcf + ", C.2",
	}
}

func workloadManagement(v fabric.VSphere) Step {
	return Step{
		ID: "workload-management", Phase: After, Title: "Workload Management: the cluster becomes a Supervisor", When: "vSphere Client, Workload Management, Get Started, with the networks above. It takes up to an hour; the hosts are out of maintenance mode",
		Check: Check{Lines: []string{"govc namespace.cluster.ls -l"}, Expect: "config status RUNNING, Kubernetes status READY"}, Undo: "Workload Management, Disable: it deletes all namespaces", Source: vcf + ", C.2",
	}
}

func consumption() Step {
	return Step{
		ID: "local-consumption", Phase: Optional, Title: "Local Consumption Interface", When: "only to make clusters in the vSphere Client: vsphere-tmm.github.io/Supervisor-Services, service cci-service.fling.vsphere.vmware.com, upload its YAML in Workload Management, Services",
		Check: Check{Expect: "the service is Active, and its pods run in a namespace svc-cci-*"}, Undo: "deactivate and delete the service", Source: vcf + ", C.3",
	}
}

// api is the prelude of calls: a session, and no password in the list of processes.
const api = `session=$(curl -sS -X POST -u "$RAILWRIGHT_VCENTER_USER" "https://VCENTER/api/session" | tr -d '"')   # asks for the password`

// applied are the classes and the namespace where this program reaches vCenter.
func applied(v fabric.VSphere) Step {
	return Step{
		ID: "vm-classes", Phase: After, Title: "Classes of virtual machines, and namespace " + v.Kube.Namespace, When: "the first command shows what would be made, and what is still missing of the steps above. Devices are attached in the order of the class: GPU0, NIC0, GPU1, NIC1; MMIO: " + v.Classes[0].MMIO,
		Commands: atHome(applyCommands()...),
		Check:    Check{Lines: []string{"govc namespace.vmclass.info " + v.Classes[0].Name, "govc namespace.info " + v.Kube.Namespace}, Expect: "the class with its devices in order and its settings; config status RUNNING, the classes " + v.Classes[0].Name + " and " + v.Kube.Control + ", and the policy"},
		Undo:     "railwright rollback -f cluster.yaml; a namespace that was made stays, and govc namespace.rm " + v.Kube.Namespace + " deletes it with all that is in it", Source: vcf + ", 10.1, C.4, C.5",
	}
}

// members are those who work in the namespace.
func members(v fabric.VSphere) Step {
	return Step{
		ID: "namespace", Phase: After, Title: "Who works in namespace " + v.Kube.Namespace, When: "vSphere Client, Workload Management, Namespaces, " + v.Kube.Namespace + ", Permissions: the role Can edit",
		Check: Check{Expect: "the list of permissions has each user or group"}, Undo: "remove them there", Source: vcf + ", C.4",
	}
}

func classStep(v fabric.VSphere) Step {
	if v.VCenter != nil {
		return applied(v)
	}
	var lines []string
	for _, c := range v.Classes {
		lines = append(lines, `curl -sS -X POST -H "vmware-api-session-id: $session" -H 'Content-Type: application/json' -d @out/workstation/vm-class-`+c.Name+`.json "https://VCENTER/api/vcenter/namespace-management/virtual-machine-classes"`)
	}
	return Step{
		ID: "vm-classes", Phase: After, Title: "Classes of virtual machines", When: "devices are attached in the order of the class: GPU0, NIC0, GPU1, NIC1; MMIO: " + v.Classes[0].MMIO,
		Commands: atHome(append([]string{api}, lines...)...),
		Check:    Check{Lines: []string{"govc namespace.vmclass.ls", "govc namespace.vmclass.info " + v.Classes[0].Name}, Expect: "each class, with its devices in order and its settings"},
		Undo:     "govc namespace.vmclass.rm NAME, which no namespace may use", Source: vcf + ", 10.1",
	}
}

func namespaceStep(v fabric.VSphere) Step {
	if v.VCenter != nil {
		return members(v)
	}
	return Step{
		ID: "namespace", Phase: After, Title: "Namespace " + v.Kube.Namespace + ", with classes, storage policy and content library", When: "put vCenter's ids into the body first; the users who work in it get the role of editors (Permissions)",
		Commands: atHome(api,
			`curl -sS -H "vmware-api-session-id: $session" "https://VCENTER/api/vcenter/namespace-management/supervisors/summaries"`,
			`curl -sS -H "vmware-api-session-id: $session" "https://VCENTER/api/vcenter/storage/policies"`,
			`curl -sS -X POST -H "vmware-api-session-id: $session" -H 'Content-Type: application/json' -d @out/workstation/namespace.json "https://VCENTER/api/vcenter/namespaces/instances/v2"`),
		Check: Check{Lines: []string{"govc namespace.info " + v.Kube.Namespace}, Expect: "config status RUNNING; the classes " + v.Classes[0].Name + " and " + v.Kube.Control + ", and the policy"},
		Undo:  "govc namespace.rm " + v.Kube.Namespace + ": it deletes all that is in it", Source: vcf + ", C.4, C.5",
	}
}

func loginStep(v fabric.VSphere) Step {
	return Step{
		ID: "login", Phase: After, Title: "Log in to the Supervisor", When: "where kubectl-vsphere is deprecated, vcf context create does the same",
		Commands: atHome("kubectl vsphere login --server=SUPERVISOR --vsphere-username USER", "kubectl config use-context "+v.Kube.Namespace),
		Check:    Check{Lines: []string{"kubectl get vmclass,storageclass,clusterclass"}, Expect: v.Classes[0].Name + ", " + v.Kube.StorageClass + " and " + v.Kube.ClusterClass}, Undo: "kubectl vsphere logout", Source: vcf + ", E.1",
	}
}

func clusterStep(p *fabric.Plan) Step {
	k := p.VSphere.Kube
	return Step{
		ID: "vks-cluster", Phase: After, Title: "The Kubernetes cluster", When: "in the context of the namespace. The service virtual machines, where there are any, are on",
		Commands: atHome("kubectl --context "+k.Namespace+" apply --dry-run=server -f out/workstation/vks-cluster.yaml", "kubectl --context "+k.Namespace+" apply -f out/workstation/vks-cluster.yaml"),
		Check:    Check{Lines: []string{"kubectl --context " + k.Namespace + " get cluster,machines", "kubectl vsphere login --server=SUPERVISOR --vsphere-username USER --tanzu-kubernetes-cluster-name " + p.Name + " --tanzu-kubernetes-cluster-namespace " + k.Namespace, "kubectl get nodes"}, Expect: "Ready, all nodes, with a volume of " + k.Volume + " at /var/lib/containerd"},
		Undo:     "kubectl --context " + k.Namespace + " delete -f out/workstation/vks-cluster.yaml", Source: vcf + ", 10.2, D",
	}
}

func topologyStep(p *fabric.Plan) Step {
	machine := "MACHINE"
	if len(p.Machines) > 0 {
		machine = p.Machines[0].ID
	}
	var commands, files []string
	for _, c := range p.VSphere.Classes {
		if len(c.Nodes) > 0 && c.GPUs > 0 {
			file := "nccl-topo-" + c.Name + ".xml"
			commands = append(commands, "railwright topo nccl --machine "+machine+" --guest worker-"+c.Name+".json --out "+file, "railwright topo lint "+file)
			files = append(files, "--from-file="+c.Name+".xml="+file)
		}
	}
	if len(files) == 0 {
		commands, files = []string{"railwright topo nccl --machine " + machine + " --guest worker.json --out nccl-topo.xml", "railwright topo lint nccl-topo.xml"}, []string{"--from-file=CLASS.xml=nccl-topo.xml"}
	}
	commands = append(commands, "kubectl create configmap nccl-topology "+strings.Join(files, " ")+" --dry-run=client -o yaml | kubectl apply -f -")
	return Step{
		ID: "nccl-topology", Phase: After, Title: "NCCL's topology file for the pods", When: "the PCI tree in the virtual machine is flat, so that NCCL would not pair GPU and NIC. Facts of a worker come from a pod that has all of its devices; their addresses replace the planned ones (out/kubernetes/15-nccl-topology.yaml)",
		Commands: atHome(commands...),
		Check:    Check{Expect: "topo lint finds nothing; in the pod NCCL_TOPO_FILE names the file, and NCCL_DEBUG=INFO shows GDRDMA for each NIC"}, Undo: "kubectl apply -f out/kubernetes/15-nccl-topology.yaml", Source: vcf + ", 10.4.3, I",
	}
}

func operatorsStep() Step {
	return Step{
		ID: "operators", Phase: After, Title: "NVIDIA Network Operator first, then GPU Operator", When: "the second builds its RDMA parts on the first (driver.rdma.enabled=true)",
		Check: Check{Lines: []string{"kubectl get nicclusterpolicy,clusterpolicy", "kubectl get nodes -o json | grep -c nvidia.com/gpu"}, Expect: "ready for both"}, Undo: "helm uninstall, in the opposite order", Source: vcf + ", 10.3, E",
	}
}

// guestSteps are for virtual machines that somebody logs in to.
func guestSteps(p *fabric.Plan) []Step {
	nics := p.Nodes[0].NICs
	steps := []Step{
		{
			ID: "guest-driver", Phase: After, Title: "Driver of the NICs in the guest", When: "DOCA-OFED of the release that fits the firmware, or the system's own with rdma-core and infiniband-diags",
			Check: Check{Lines: []string{"ibstat"}, Expect: fmt.Sprintf("%s, each Active and LinkUp. CA type MT4126 is a virtual function, whose GUID begins with 0x005056; sminfo and ibnodes fail with one of these, which is no fault", fabric.Count(len(nics), "CA"))},
			Undo:  "the driver's own uninstaller", Source: vs8 + ", Known issues, Performance test",
		},
		{
			ID: "guest-files", Phase: After, Title: "Limits, kernel settings and addresses of the guests", When: "run once, on your own machine",
			Commands: atHome("railwright apply -f cluster.yaml --dry-run || [ $? -eq 1 ]", "railwright apply -f cluster.yaml"),
			Check:    Check{Lines: []string{"ip -br address"}, Expect: "the addresses of the plan"}, Undo: "railwright rollback, on the guest", Source: "practice",
		},
		{
			ID: "guest-bandwidth", Phase: After, Title: "Bandwidth, host pair by host pair",
			When:  "first two guests on one host, then one on each of two: what the second lacks is the cable's or the switch's. Data ex. method Ethernet beside link type IB is the handshake over TCP and no fault",
			Check: Check{Lines: guestTest(p), Expect: "about the line rate from 64 KiB on: 396 of 400 Gb/s one way; railwright explain FILE judges the table"},
			Undo:  "nothing was changed", Source: vs8 + ", Performance test",
		},
	}
	return steps
}

// guestTest is a server on the first guest and a client on the second.
func guestTest(p *fabric.Plan) []string {
	address := "ADDRESS"
	if a := p.Addressing.Nodes; len(a) > 0 && len(a[0].NICs) > 0 {
		address = a[0].NICs[0].Address.Addr().String()
	}
	if len(p.Nodes) < 2 {
		return []string{"ib_send_bw -d mlx5_0 -a -q 4 --report_gbits"}
	}
	return []string{"# on " + p.Nodes[0].Name, "ib_send_bw -d mlx5_0 -a -q 4 --report_gbits", "# on " + p.Nodes[1].Name, "ib_send_bw -d mlx5_0 -a -q 4 --report_gbits " + address}
}
