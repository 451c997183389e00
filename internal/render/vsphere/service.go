package vsphere

import (
	_ "embed" // the script that installs Fabric Manager
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
)

//go:embed fabric_manager.sh
var fabricManager string

// Where the parts of a service virtual machine are in it.
const (
	serviceNetplan = "/etc/netplan/50-cloud-init.yaml"
	serviceScript  = "/usr/local/sbin/railwright-fabric-manager"
	serviceUnit    = "/etc/systemd/system/railwright-fabric-manager.service"
)

const serviceUnitText = `[Unit]
Description=Fabric Manager of the version of the plan, and its partitions
Wants=network-online.target
After=network-online.target

[Service]
Type=oneshot
ExecStart=` + serviceScript + `
RemainAfterExit=yes

[Install]
WantedBy=multi-user.target
`

// CheckService reports why there is no service virtual machine to make.
func CheckService(v fabric.VSphere) error {
	if v.Service == nil {
		return errors.New("the cluster file has no vsphere.service_vm section")
	}
	if v.Service.Driver == "" {
		return errors.New("vsphere.service_vm.driver is not in the cluster file: Fabric Manager has to be of exactly the version of the GPU driver in the nodes")
	}
	return nil
}

type cloudConfig struct {
	Hostname string      `json:"hostname"`
	Hosts    bool        `json:"manage_etc_hosts"`
	Files    []cloudFile `json:"write_files"`
	Run      [][]string  `json:"runcmd"`
}

type cloudFile struct {
	Path        string `json:"path"`
	Permissions string `json:"permissions"`
	Content     string `json:"content"`
}

type netplan struct {
	Network netplanNetwork `json:"network"`
}

type netplanNetwork struct {
	Version   int                 `json:"version"`
	Renderer  string              `json:"renderer,omitempty"`
	Ethernets map[string]ethernet `json:"ethernets"`
}

type ethernet struct {
	Renderer    string       `json:"renderer,omitempty"`
	DHCP4       bool         `json:"dhcp4"`
	DHCP6       *bool        `json:"dhcp6,omitempty"`
	AcceptRA    *bool        `json:"accept-ra,omitempty"`
	LinkLocal   *[]string    `json:"link-local,omitempty"`
	InfiniBand  string       `json:"infiniband-mode,omitempty"`
	MTU         int          `json:"mtu,omitempty"`
	Addresses   []string     `json:"addresses"`
	Routes      []route      `json:"routes,omitempty"`
	Policy      []policy     `json:"routing-policy,omitempty"`
	Nameservers *nameservers `json:"nameservers,omitempty"`
}

type route struct {
	To    string `json:"to"`
	Via   string `json:"via,omitempty"`
	Scope string `json:"scope,omitempty"`
	Table int    `json:"table,omitempty"`
}

type policy struct {
	From     string `json:"from"`
	Priority int    `json:"priority"`
	Table    int    `json:"table"`
}

type nameservers struct {
	Addresses []string `json:"addresses"`
}

// ServiceVMs are the configurations of the service virtual machines, one per host: as cloud-config, and in Base64 in one line for
// the field "Encoded user-data" of the template.
func ServiceVMs(v fabric.VSphere) (all []fabric.Artifact) {
	for _, g := range v.Service.Guests {
		text := serviceConfig(*v.Service, g)
		all = append(all, forPeople("/service-vm-"+g.Host+".yaml", text),
			forPeople("/service-vm-"+g.Host+".b64", append([]byte(base64.StdEncoding.EncodeToString(text)), '\n')))
	}
	return all
}

func serviceConfig(s fabric.ServiceVM, g fabric.ServiceVMOf) []byte {
	nic := ethernet{Addresses: []string{g.Address.String()}, Routes: []route{{To: "default", Via: s.Gateway.String()}}}
	if len(s.DNS) > 0 {
		nic.Nameservers = &nameservers{}
		for _, a := range s.DNS {
			nic.Nameservers.Addresses = append(nic.Nameservers.Addresses, a.String())
		}
	}
	script := fmt.Sprintf("#!/bin/sh\n# Written by railwright from the plan.\ndriver=%s gpus=%d partitions=%d\n", fabric.ShellWord(s.Driver), s.GPUs, s.Partitions) + strings.ReplaceAll(fabricManager, "\t", "  ") // YAML writes a text with tabs in one long line
	c := cloudConfig{Hostname: g.Name, Hosts: true, Files: []cloudFile{
		{serviceNetplan, "0600", plainYAML(netplan{netplanNetwork{Version: 2, Renderer: "networkd", Ethernets: map[string]ethernet{s.Interface: nic}}})},
		{serviceScript, "0755", script},
		{serviceUnit, "0644", serviceUnitText},
	}, Run: [][]string{{"netplan", "apply"}, {"systemctl", "daemon-reload"}, {"systemctl", "enable", "railwright-fabric-manager.service"}, {"systemctl", "start", "--no-block", "railwright-fabric-manager.service"}}}
	return append([]byte("#cloud-config\n"), plainYAML(c)...)
}

func plainYAML(body any) string {
	text, err := yaml.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("YAML: %v", err)) // plain structs of strings and numbers
	}
	return string(text)
}

// IPoIB is the network of a guest's InfiniBand interfaces. mtu is in bytes: 4092, or 2044 where the fabric's own MTU is 2048.
func IPoIB(mtu int, n fabric.NodeAddresses) fabric.Artifact {
	off, none := false, []string{}
	all := map[string]ethernet{}
	for _, nic := range n.NICs {
		e := ethernet{Renderer: "networkd", DHCP6: &off, AcceptRA: &off, LinkLocal: &none, InfiniBand: "datagram", MTU: mtu, Addresses: []string{nic.Address.String()}}
		if nic.Table > 0 { // several interfaces in one subnet: each answers from its own address
			e.Routes = []route{{To: nic.Address.Masked().String(), Scope: "link", Table: nic.Table}}
			e.Policy = []policy{{From: nic.Address.Addr().String() + "/32", Priority: nic.RulePriority(), Table: nic.Table}}
		}
		all[nic.NIC] = e
	}
	comment := "Written by railwright from the plan; a change here is lost when it is rendered again.\n" +
		"IP over InfiniBand, for tests and for what opens TCP connections: RDMA itself needs no addresses."
	return newArtifact(n.Node, "/etc/netplan/60-railwright-ipoib.yaml", modePrivate, yamlText(comment, netplan{netplanNetwork{Version: 2, Ethernets: all}}))
}
