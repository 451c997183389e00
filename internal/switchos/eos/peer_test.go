package eos

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// pyavd is Arista's own generator of EOS configurations (pip install pyavd): it refuses values that EOS has not, and writes
// the commands for the others. There is no parser of EOS that can be installed.
const avd = `import json, sys, pyavd
said = json.load(open(sys.argv[1]))
bad = pyavd.validate_structured_config(said).validation_result.violations
for v in bad:
    print("refused:", ".".join(v.path))
if not bad:
    print(pyavd.get_device_config(said))
`

type avdObject = map[string]any

func runAVD(t *testing.T, said avdObject) (string, error) {
	t.Helper()
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "leaf1.json")
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := host.Output(context.Background(), host.Local{}, host.Command{Argv: []string{"python3", "-c", avd, file}})
	return string(out), err
}

func needAVD(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed: the commands of Arista's generator are missing")
	}
	if _, err := host.Output(context.Background(), host.Local{}, host.Command{Argv: []string{"python3", "-c", "import pyavd"}}); err != nil {
		t.Skip("pyavd is not installed (pip install pyavd): the commands of Arista's generator are missing")
	}
}

// avdOf says an intent in the words of Arista's data model.
func avdOf(s fabric.Switch, t fabric.Traffic) avdObject {
	var ports, vlans, gateways, neighbours, queues, priorities []avdObject
	for _, p := range s.Ports {
		o := avdObject{"name": p.Name, "description": p.Peer.String(), "mtu": s.MTU, "speed": eosSpeed(p), "error_correction_encoding": avdObject{"enabled": true, "reed_solomon": true},
			"flowcontrol": avdObject{"received": "off"}, "service_profile": switchtext.QoSName, "shutdown": false}
		if p.Address.IsValid() {
			o["switchport"], o["ip_address"] = avdObject{"enabled": false}, p.Address.String()
		} else {
			o["switchport"] = avdObject{"enabled": true, "mode": "access", "access_vlan": p.VLAN}
		}
		ports = append(ports, o)
	}
	for _, v := range s.VLANs {
		vlans = append(vlans, avdObject{"id": v.ID, "name": v.Name})
		gateways = append(gateways, avdObject{"name": fmt.Sprintf("Vlan%d", v.ID), "description": v.Name, "mtu": s.MTU, "ip_address": v.Gateway.String()})
	}
	for _, n := range s.BGP.Neighbours {
		neighbours = append(neighbours, avdObject{"ip_address": n.Address.String(), "remote_as": fmt.Sprint(n.ASN)})
	}
	dscp, rest := []string{}, []string{}
	for _, c := range t.Classes {
		dscp = append(dscp, fmt.Sprintf("%d to traffic-class %d", c.DSCP, c.Priority))
	}
	for d := range 64 {
		if d != t.Classes[0].DSCP && d != t.Classes[1].DSCP {
			rest = append(rest, fmt.Sprint(d))
		}
	}
	roce := t.Classes[1]
	priorities = append(priorities, avdObject{"priority": roce.Priority, "no_drop": true})
	queues = append(queues,
		avdObject{"id": switchtext.UnusedPriority(t), "priority": "no priority", "bandwidth_percent": 100 - t.Share},
		avdObject{"id": roce.Priority, "priority": "no priority", "bandwidth_percent": t.Share, "bandwidth_guaranteed_percent": 1, "random_detect": avdObject{"ecn": avdObject{"threshold": avdObject{
			"units": "bytes", "min": roce.ECN.MinBytes, "max": roce.ECN.MaxBytes, "max_probability": roce.ECN.Percent, "weight": 0}}}},
		avdObject{"id": t.Classes[0].Priority, "priority": "priority strict"})
	seconds := func(ms int) string { return fmt.Sprintf("%d.%02d", ms/1000, ms%1000/10) }
	return avdObject{
		"hostname": s.Name, "ip_routing": true, "vlans": vlans, "ethernet_interfaces": ports, "vlan_interfaces": gateways,
		"qos": avdObject{"map": avdObject{"cos": []string{"0 1 2 3 4 5 6 7 to traffic-class 0"}, "dscp": append(dscp, strings.Join(rest, " ")+" to traffic-class 0"),
			"traffic_class": []string{"0 to tx-queue 0", fmt.Sprintf("%[1]d to tx-queue %[1]d", roce.Priority)}}},
		"qos_profiles":          []avdObject{{"name": switchtext.QoSName, "trust": "dscp", "priority_flow_control": avdObject{"enabled": true, "priorities": priorities, "watchdog": avdObject{"enabled": true}}, "uc_tx_queues": queues}},
		"priority_flow_control": avdObject{"watchdog": avdObject{"action": "drop", "timeout": seconds(t.Watchdog.DetectMs), "recovery_time": seconds(t.Watchdog.RestoreMs)}},
		"router_bgp":            avdObject{"as": fmt.Sprint(s.BGP.ASN), "router_id": s.BGP.RouterID.String(), "maximum_paths": avdObject{"paths": len(neighbours)}, "neighbors": neighbours},
	}
}

// What we render, Arista's generator writes too, from the same intent in its own words; and what it writes, we read as the same.
func TestPeerEOS(t *testing.T) {
	needAVD(t)
	s, traffic := uplinks(eosLeaf()), *classes(true, true)
	theirs, err := runAVD(t, avdOf(s, traffic))
	if err != nil || strings.Contains(theirs, "refused:") {
		t.Fatalf("%v\n%s", err, theirs)
	}
	ours := string(OS{}.Render(s, &traffic).Text)
	have := map[string]bool{}
	for _, l := range strings.Split(theirs, "\n") {
		have[l] = true
	}
	for _, l := range strings.Split(ours, "\n") {
		// It has no word for the sending of pauses of the link, and announces networks below an address family.
		if !have[l] && l != "" && !strings.HasPrefix(l, "   network ") && l != "   flowcontrol send off" {
			t.Errorf("Arista's generator does not write %q:\n%s", l, theirs)
		}
	}
	sorted := func(text string) string {
		lines := brief(eosRead(text))
		slices.Sort(lines)
		return strings.Join(lines, "\n")
	}
	if a, b := sorted(ours), sorted(theirs); a != b {
		t.Errorf("read of ours:\n%s\nof theirs:\n%s", a, b)
	}
}

// Its refusals show that what it writes means something.
func TestPeerEOSRefuses(t *testing.T) {
	needAVD(t)
	queue := func(ecn avdObject) avdObject {
		return avdObject{"qos_profiles": []avdObject{{"name": "R", "uc_tx_queues": []avdObject{{"id": 3, "random_detect": avdObject{"ecn": avdObject{"threshold": ecn}}}}}}}
	}
	for name, bad := range map[string]avdObject{
		"mtu":      {"ethernet_interfaces": []avdObject{{"name": "Ethernet1/1", "mtu": 99999}}},
		"trust":    {"qos_profiles": []avdObject{{"name": "R", "trust": "dcsp"}}},
		"priority": {"qos_profiles": []avdObject{{"name": "R", "priority_flow_control": avdObject{"enabled": true, "priorities": []avdObject{{"priority": 9, "no_drop": true}}}}}},
		"unit":     queue(avdObject{"units": "kilobytes", "min": 1, "max": 2}),
		"percent":  queue(avdObject{"units": "bytes", "min": 1, "max": 2, "max_probability": 101}),
		"timeout":  {"priority_flow_control": avdObject{"watchdog": avdObject{"timeout": "0.001"}}},
	} {
		if out, err := runAVD(t, bad); err != nil || !strings.HasPrefix(out, "refused:") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
