package render

import (
	_ "embed" // the functions of the scripts
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Scripts for the machine of the person who has Google Cloud's command line.
const (
	gkeUpPath   = "/gke-up.sh"
	gkeDownPath = "/gke-down.sh"
)

//go:embed gke_lib.sh
var gkeLibrary []byte

//go:embed gke_up.sh
var gkeMakers []byte

//go:embed gke_down.sh
var gkeRemovers []byte

// GKEUp is the script that makes the networks, the cluster and its node pools in Google Cloud, and installs what their machines
// need. It stops at the first thing that fails; run again, it goes on from there.
func GKEUp(c fabric.Cloud) fabric.Artifact {
	s := gkeScript{Cloud: c}
	s.head("Makes the cluster of this plan in Google Cloud, and installs what its machines need. It stops at the first thing that\n" +
		"fails. Run it again as often as you like: what is there is left as it is. What it makes costs money from the moment that it\n" +
		"exists; gke-down.sh removes it.")
	s.text = append(append(s.text, gkeMakers...), "programs gcloud kubectl gke-gcloud-auth-plugin\nreachable\n"...)
	for _, n := range c.Networks {
		if n.Profile != "" {
			s.line("cloud", "compute", "network-profiles", "describe", n.Profile, "--format=value(name)")
			s.text = append(s.text[:len(s.text)-1], " >/dev/null || stop \"zone $zone has no RDMA network: see above\"\n"...)
		}
	}
	s.line("cloud", "compute", "networks", "describe", c.Network, "--format=value(name)")
	s.text = append(s.text[:len(s.text)-1], " >/dev/null || stop \"the network of the cluster itself has to exist (gke.network): see above\"\n"...)
	s.networks()
	s.wrapped("cluster", s.clusterWords())
	for _, p := range c.Pools {
		s.wrapped("pool", s.poolWords(p))
	}
	s.comment("\nWhat the machines need, at one version each.")
	s.line("connect")
	s.line("machines", fmt.Sprint(c.Nodes()))
	for _, i := range c.Installers {
		s.comment(i.Name + " (" + i.Source + ")")
		words := []string{i.DaemonSet, i.URL}
		for _, image := range i.Images {
			words = append(words, image.Name, image.Digest)
		}
		s.line("install", words...)
	}
	if c.AskDRA {
		s.text = append(s.text, "kube -n kube-system rollout status daemonset/dranet --timeout=\"$rollout\" ||\n\tstop \"install a DraNet that speaks resource.k8s.io/$dra: the release that is pinned here speaks v1 only\"\n"...)
	}
	s.text = append(s.text, "\nsay \"done. The names of the machines, for nodes.names of the cluster file:\"\n"+
		"kube get nodes -l \"railwright=$cluster\" -o 'jsonpath={range .items[*]}{.metadata.name}{\",\"}{end}'\nsay ''\n"+
		"say \"next: railwright apply -f FILE --context gke_${project}_${location}_${cluster}; then run-nccl-tests.sh\"\n"...)
	return newArtifact(fabric.OnWorkstation, gkeUpPath, modeProgram, s.text)
}

// GKEDown is the script that removes what GKEUp makes, in the opposite order, and nothing else.
func GKEDown(c fabric.Cloud) fabric.Artifact {
	s := gkeScript{Cloud: c}
	s.head("Removes the cluster of this plan from Google Cloud with its networks, and nothing that was not made for it. Without --yes it\n" +
		"only says what it would remove. It stops at the first thing that fails; run again, it goes on from there.")
	s.text = append(append(s.text, gkeRemovers...), "programs gcloud\nreachable\n"...)
	var pools []string
	for _, p := range c.Pools {
		pools = append(pools, p.Name)
	}
	s.line("remove_cluster", pools...)
	for i := len(c.Networks) - 1; i >= 0; i-- {
		n := c.Networks[i]
		if n.Firewall != "" {
			s.line("remove_firewall", n.Firewall)
		}
		for k := len(n.Subnets) - 1; k >= 0; k-- {
			s.line("remove_subnet", n.Subnets[k].Name)
		}
		s.line("remove_network", n.Name)
	}
	s.text = append(s.text, `
if [ "$left" -eq 0 ]; then
	say "nothing of this plan is left"
elif [ "$sure" != --yes ]; then
	say "nothing was removed. With --yes it is: $0 --yes"
fi
`...)
	return newArtifact(fabric.OnWorkstation, gkeDownPath, modeProgram, s.text)
}

// gkeScript is a script in the making.
type gkeScript struct {
	fabric.Cloud
	text []byte
}

func (s *gkeScript) head(what string) {
	s.text = append(s.text, "#!/usr/bin/env bash\n# Written by railwright from the plan; a change here is lost when it is rendered again.\n"...)
	s.comment(what)
	s.text = append(s.text, "set -euo pipefail\n\n"...)
	for _, v := range [][2]string{{"placeholder", fabric.PlaceholderProject}, {"project", s.Project}, {"region", s.Region}, {"zone", s.Zone},
		{"location", s.Location}, {"cluster", s.Cluster}, {"version", s.Version}, {"dra", s.DRA}, {"owner", s.Owner()}} {
		s.text = fmt.Appendf(s.text, "%s=%s\n", v[0], fabric.ShellWord(v[1]))
	}
	s.text = append(s.text, "pause=${PAUSE:-15} # seconds between two looks at what is being changed\n"+
		"patience=160       # looks, 40 minutes\n"+
		"rollout=30m        # for an installation on every machine\n"+
		"# shellcheck disable=SC2034 # not every script reads all of them\n: \"$placeholder\" \"$region\" \"$version\" \"$dra\" \"$owner\" \"$patience\" \"$rollout\"\n\n"...)
	s.text = append(append(s.text, gkeLibrary...), '\n')
}

func (s *gkeScript) comment(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" {
			line = "# " + line
		}
		s.text = append(s.text, line+"\n"...)
	}
}

// line writes a call of a function.
func (s *gkeScript) line(function string, words ...string) {
	s.text = append(s.text, function...)
	for _, w := range words {
		s.text = append(s.text, " "+fabric.ShellWord(w)...)
	}
	s.text = append(s.text, '\n')
}

// wrapped writes a call with a word a line.
func (s *gkeScript) wrapped(function string, words []string) {
	s.text = append(s.text, function...)
	for _, w := range words {
		if strings.HasPrefix(w, "--") {
			s.text = append(s.text, " \\\n\t"+fabric.ShellWord(w)...)
			continue
		}
		s.text = append(s.text, " "+fabric.ShellWord(w)...)
	}
	s.text = append(s.text, '\n')
}

func (s *gkeScript) networks() {
	for _, n := range s.Networks {
		what := "The network of a further ordinary interface of each machine; its firewall admits its own subnet and nothing else."
		if n.Profile != "" {
			what = "The network of the RDMA interfaces, a subnet each. Its profile admits RDMA, has a firewall of its own, and ties it to the zone."
		}
		s.comment("\n" + what)
		s.line("network", n.Name, fmt.Sprint(n.MTU), n.Profile)
		for _, sub := range n.Subnets {
			s.line("subnet", sub.Name, n.Name, sub.Range.String())
		}
		if n.Firewall != "" {
			s.line("firewall", n.Firewall, n.Name, n.Subnets[0].Range.String())
		}
	}
	s.text = append(s.text, '\n')
}

// fixedNodes keeps Google Cloud from replacing machines while a job runs on them. The flags count for one pool each, and only
// outside the release channels (gcloud container clusters create --help, --release-channel None).
func fixedNodes() []string { return []string{"--no-enable-autorepair", "--no-enable-autoupgrade"} }

func (s *gkeScript) clusterWords() []string {
	words := append([]string{"--release-channel=None"}, fixedNodes()...)
	words = append(words, "--enable-ip-alias", "--enable-dataplane-v2", "--enable-multi-networking", "--network="+s.Network)
	if s.Subnet != "" {
		words = append(words, "--subnetwork="+s.Subnet)
	}
	if s.Pods.IsValid() {
		words = append(words, "--cluster-ipv4-cidr="+s.Pods.String())
	}
	if s.Services.IsValid() {
		words = append(words, "--services-ipv4-cidr="+s.Services.String())
	}
	if s.AskDRA {
		var kinds []string
		for _, k := range []string{"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"} {
			kinds = append(kinds, "resource.k8s.io/"+s.DRA+"/"+k)
		}
		words = append(words, "--enable-kubernetes-unstable-apis="+strings.Join(kinds, ","))
	}
	return words
}

func (s *gkeScript) poolWords(p fabric.NodePool) []string {
	driver, labels := "default", "railwright="+s.Cluster
	if s.GPUsByDRA { // Google Cloud documentation, Prepare GKE infrastructure for DRA workloads
		driver, labels = "disabled", labels+",gke-no-default-nvidia-gpu-device-plugin=true,nvidia.com/gpu.present=true"
	}
	words := []string{p.Name, p.MachineType, fmt.Sprint(p.Nodes),
		fmt.Sprintf("--accelerator=type=%s,count=%d,gpu-driver-version=%s", p.Accelerator, p.GPUs, driver), "--node-labels=" + labels}
	words = append(words, fixedNodes()...)
	switch {
	case s.Reservation != "":
		words = append(words, "--reservation-affinity=specific", "--reservation="+s.Reservation)
	case s.Spot:
		words = append(words, "--spot")
	}
	for _, n := range s.Networks {
		for _, sub := range n.Subnets {
			words = append(words, "--additional-node-network=network="+n.Name+",subnetwork="+sub.Name)
		}
	}
	return words
}
