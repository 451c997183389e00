package dell

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What BGP announces counts below the family of the router itself; what the switch does not have is told.
func TestDellBGPFamilies(t *testing.T) {
	for _, c := range []struct {
		name, text string
		networks   []string
		paths      string
		said       []string
	}{
		{"indented", "router bgp 65001\n router-id 10.0.0.1\n address-family ipv4 unicast\n  network 10.1.0.0/24\n  network 10.2.0.1/24\n  maximum-paths 8\n  maximum-paths ibgp 1\n", []string{"10.1.0.0/24", "10.2.0.0/24"}, "8", nil},
		{"flat", "router bgp 65001\naddress-family ipv4 unicast\nnetwork 10.1.0.0/24\nredistribute connected\nmaximum-paths 8\nexit\nneighbor 10.0.0.2\nremote-as 65000\n", []string{"10.1.0.0/24", "connected"}, "8", nil},
		{"of IPv6", "router bgp 65001\n address-family ipv6 unicast\n  network 2001:db8::/64\n  maximum-paths 4\n", []string{"2001:db8::/64"}, "?", nil},
		{"taken back", "router bgp 65001\n address-family ipv4 unicast\n  network 10.1.0.0/24\n  no network 10.1.0.0/24\n  maximum-paths 8\n  no maximum-paths\n", nil, "?", nil},
		{"twice", "router bgp 65001\n address-family ipv4 unicast\n  maximum-paths 8\n  maximum-paths 2\n", nil, "2", []string{"duplicate: maximum-paths is 2 here and 8 in line 3"}},
		{"by a route map", "router bgp 65001\n address-family ipv4 unicast\n  redistribute connected route-map R\n  network 10.1.0.0/24 route-map R\n", []string{"10.1.0.0/24"}, "?", nil},
		{"above the families", "router bgp 65001\n network 10.1.0.0/24\n maximum-paths 8\n", nil, "?", []string{"unread: network 10.1.0.0/24", "unread: maximum-paths 8"}},
		{"of a neighbour", "router bgp 65001\n neighbor 10.0.0.2\n  address-family ipv4 unicast\n   network 10.1.0.0/24\n", nil, "?", []string{"unread: network 10.1.0.0/24"}},
		{"behind a neighbour", "router bgp 65001\n neighbor 10.0.0.2\n  address-family ipv4 unicast\n   activate\n !\n address-family ipv4 unicast\n  network 10.1.0.0/24\n", []string{"10.1.0.0/24"}, "?", nil},
		{"by prompts", "leaf7(config)# router bgp 65001\nleaf7(config-router-bgp)# peer-group S\nleaf7(config-router-bgp-pg)# address-family ipv4 unicast\nleaf7(config-router-bgp-pg-af)# activate\nleaf7(config-router-bgp)# address-family ipv4 unicast\nleaf7(config-router-bgp-af)# maximum-paths 64\nleaf7(config-router-bgp-af)# network 10.1.0.0/24\nleaf7(config-router-bgp)# network 10.2.0.0/24\n",
			[]string{"10.1.0.0/24"}, "64", []string{"unread: leaf7(config-router-bgp)# network 10.2.0.0/24"}},
		{"of another VRF", "router bgp 65001\nrouter bgp 65001 vrf Vrf1\n address-family ipv4 unicast\n  network 10.1.0.0/24\n  maximum-paths 8\n", nil, "?", nil},
		{"no such family", "router bgp 65001\n address-family ipv5 unicast\n  network 10.1.0.0/24\n", nil, "?", []string{"unread: address-family ipv5 unicast", "unread: network 10.1.0.0/24"}},
		{"no such family of a neighbour", "router bgp 65001\n neighbor 10.0.0.2\n  address-family ipv4 multicast\n", nil, "?", []string{"unread: address-family ipv4 multicast"}},
		{"of the other family", "router bgp 65001\n address-family ipv4 unicast\n  network 2001:db8::/64\n", nil, "?", []string{"unread: network 2001:db8::/64"}},
		{"no address", "router bgp 65001\n router-id leaf7\n", nil, "?", []string{"unread: router-id leaf7"}},
		{"half an address", "router bgp 65001\n router-id 10.0.0\n", nil, "?", []string{"unread: router-id 10.0.0"}},
		{"no such word", "router bgp 65001\n redistribution connected\n best-path\n", nil, "?", []string{"unread: redistribution connected", "unread: best-path"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readDell(c.text)
			var networks []string
			for _, n := range got.BGP.Networks {
				networks = append(networks, n.Is)
			}
			if !slices.Equal(networks, c.networks) || dellIs(got.BGP.Paths) != c.paths {
				t.Errorf("networks %q, paths %s", networks, dellIs(got.BGP.Paths))
			}
			if diff := cmp.Diff(c.said, dellSaid(got)); diff != "" {
				t.Errorf("said (-want +got):\n%s", diff)
			}
		})
	}
}

// Maps of pauses that put two priorities together are told; those that keep them apart are not.
func TestDellSharedPriorities(t *testing.T) {
	const head = "qos map dscp-tc M\n dscp 26 traffic-class 3\nqos map tc-queue M\n traffic-class 0-7 queue 3\nqos map tc-pg M\n traffic-class 3 priority-group 3\n"
	const port = "interface Eth1/1\n qos-map dscp-tc M\n qos-map tc-queue M\n qos-map tc-pg M\n qos-map pfc-priority-queue M\n qos-map pfc-priority-pg M\n priority-flow-control priority 3\n"
	for _, c := range []struct{ name, queue, group, more, want string }{
		{"apart", " pfc-priority 3 queue 3\n pfc-priority 0-2,4-7 queue 0\n", " pfc-priority 0-2,4-7 pg 0\n pfc-priority 3 pg 3\n", "", "[]"},
		{"one queue, PFC off", " pfc-priority 3-4 queue 3\n", " pfc-priority 3 pg 3\n", "", "[inert: map pfc-priority-queue M gives queue 3 to priorities 4, as to priority 3, which has PFC]"},
		{"one queue", " pfc-priority 3-4 queue 3\n", " pfc-priority 3 pg 3\n pfc-priority 4 pg 4\n", " priority-flow-control priority 4\n", "[conflict: map pfc-priority-queue M gives queue 3 to priorities 4, as to priority 3, which has PFC]"},
		{"one group", " pfc-priority 3 queue 3\n", " pfc-priority 3,6 pg 3\n", "", "[inert: map pfc-priority-pg M gives pg 3 to priorities 6, as to priority 3, which has PFC]"},
	} {
		got := readDell(head + "qos map pfc-priority-queue M\n" + c.queue + "qos map pfc-priority-pg M\n" + c.group + port + c.more)
		if said := fmt.Sprint(dellSaid(got)); said != c.want {
			t.Errorf("%s: %s", c.name, said)
		}
	}
}

// Output of the shell below sonic-cli may stand beside its own; what it does not print is unknown.
func TestDellShell(t *testing.T) {
	text := "sonic# show qos map dscp-tc\nDSCP-TC-MAP: R\n    DSCP TC\n    26   3\nadmin@leaf7:~$ show pfc priority\nInterface    Lossless priorities\n-----------  ---------------------\nEthernet8    3,4\nEthernet16   N/A\n" +
		"admin@leaf7:~$ show pfcwd config\nChanged polling interval to 200ms\n     PORT    ACTION    DETECTION TIME    RESTORATION TIME\n---------  --------  ----------------  ------------------\nEthernet8      drop               300            infinite\nadmin@leaf7:~$ show pfc counters\n  Port Rx    PFC0    PFC1\nEthernet8       0       5\n"
	got := readDell(text)
	facts := dellFacts(got)
	for name, want := range map[string]string{"Ethernet8 pfc": "[3 4]", "Ethernet16 pfc": "[]", "Ethernet8 trust": "?", "Ethernet8 watchdog": "true drop 300 ?"} {
		if facts[name] != want {
			t.Errorf("%s: %q, want %q", name, facts[name], want)
		}
	}
	if got.Ports[1].Watchdog != nil || got.Ports[0].Queues[3] != nil {
		t.Errorf("what no output says: %+v", got.Ports[1])
	}
	if said := dellSaid(got); len(said) > 0 {
		t.Errorf("%q", said)
	}
}

// As older versions print and take it.
func TestDellOlder(t *testing.T) {
	got := readDell("qos buffer init\nqos wred-policy W\n green minimum-threshold 1048.576 maximum-threshold 2097.152 drop-probability 5\n ecn one\ninterface Ethernet8\n qos buffer priority-group 3-4 P\n queue 0 wred-policy W\n priority-flow-control watchdog detect-time 200\n")
	if said := dellSaid(got); len(said) > 0 {
		t.Errorf("%q", said)
	}
	if p := got.Profiles[0]; p.ECN.Is || !p.Drops || p.Min.Value != 1048.576 {
		t.Errorf("%+v", p)
	}
	got = readDell("sonic# show qos interface Ethernet 8\n dscp-tc-map: M\n pfc-priority  : 3\nsonic# show buffer interface all priority-group\nInterface   Priority-group     Profile\nEthernet8   3-4    lossless\n")
	if said := dellSaid(got); len(said) > 0 || len(got.Ports) != 1 || got.Ports[0].Watchdog != nil || got.Ports[0].Queues[1] != nil {
		t.Errorf("%q %+v", said, got.Ports)
	}
}
