package eos

import "testing"

func TestBGP(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"networks and paths", "router bgp 65001\n   router-id 10.0.0.1\n   maximum-paths 8 ecmp 16\n   neighbor 10.1.0.0 remote-as 65000\n   network 10.2.0.0/24\n   network 10.3.0.5 mask 255.255.255.0\n   network 2001:db8::/64\n",
			[]string{"bgp network 10.2.0.0/24", "bgp network 10.3.0.0/24", "bgp network 2001:db8::/64", "bgp paths 8", "not: problem", "not: unread"}},
		{"one path by default", "router bgp 65001\n   neighbor 10.1.0.0 remote-as 65000\n", []string{"bgp paths 1"}},
		{"negations", "router bgp 65001\n   maximum-paths 8\n   no maximum-paths\n   network 10.2.0.0/24\n   no network 10.2.0.0/24\n   neighbor 10.1.0.0 remote-as 65000\n   no neighbor 10.1.0.0\n", []string{"bgp paths 1", "not: bgp network", "not: neighbour", "not: unread"}},
		{"connected", "router bgp 65001\n   redistribute connected\n", []string{"bgp network connected"}},
		{"some of the connected", "ip prefix-list L seq 10 deny 10.2.9.0/24\nip prefix-list L seq 20 permit 10.2.0.0/16 ge 24 le 31\n!\nip prefix-list E\n   seq 10 permit 10.3.0.0/31\n!\nroute-map X permit 10\n   match ip address prefix-list L\n!\nroute-map X permit 20\n   match ip address prefix-list E\n!\ninterface Ethernet1\n   no switchport\n   ip address 10.2.1.1/24\ninterface Ethernet2\n   no switchport\n   ip address 10.2.9.1/24\ninterface Ethernet3\n   no switchport\n   ip address 10.3.0.1/31\ninterface Ethernet4\n   no switchport\n   ip address 10.4.0.1/31\nrouter bgp 65001\n   redistribute connected route-map X\n",
			[]string{"bgp network 10.2.1.0/24", "bgp network 10.3.0.0/31", "not: 10.2.9.0", "not: bgp network 10.4", "not: unread", "not: problem"}},
		{"a route map that cannot be followed", "router bgp 65001\n   redistribute connected route-map X\n", []string{"bgp network connected", "not: unread"}},
		{"a prefix list that none is", "ip prefix-list L seq 10 permit 10.2.9.0/33\nroute-map X deny 10\n   frobnicate\n", []string{"problem range", "unread frobnicate"}},
		{"a tenant", "router bgp 65001\n   maximum-paths 4\n   neighbor 10.1.0.0 remote-as 65000\n   vlan 110\n      redistribute learned\n   !\n   vrf T\n      rd 10.0.0.1:1\n      maximum-paths 2\n      neighbor 10.9.0.0 remote-as 65009\n      address-family ipv4\n         network 10.9.0.0/24\n",
			[]string{"bgp paths 4", "bgp neighbour 10.1.0.0 65000", "not: 10.9.0.0", "not: unread"}},
		{"networks of a family", "router bgp 65001\n   neighbor 10.1.0.0 remote-as 65000\n   !\n   address-family ipv4\n      neighbor 10.1.0.0 activate\n      network 10.2.0.0/24\n   !\n   address-family evpn\n      neighbor 10.1.0.0 activate\n", []string{"bgp network 10.2.0.0/24", "not: unread"}},
		{"flat, with groups", "hostname a\nrouter bgp 65001\nrouter-id 10.0.0.1\nneighbor S peer-group\nneighbor S remote-as 65000\nneighbor 10.1.0.0 peer-group S\nmaximum-paths 4 ecmp 4\naddress-family ipv4\nneighbor S activate\nredistribute connected\n",
			[]string{"bgp neighbour 10.1.0.0 65000", "bgp paths 4", "bgp network connected", "not: unread"}},
		{"a router id that is none", "router bgp 65001\n   router-id 10.0.0.999\n", []string{"problem range"}},
		{"a network that is none", "router bgp 65001\n   network 10.2.0.0/33\n", []string{"problem range", "not: bgp network"}},
		{"a neighbour that is none", "router bgp 65001\n   neighbor 10.1.0.256 remote-as 65000\n", []string{"problem range", "not: bgp neighbour"}},
		{"words that nobody knows", "router bgp 65001\n   frobnicate 3\n   neighbor 10.1.0.0 remote-as 65000\n   neighbor 10.1.0.0 frobnicate\n   neighbor 10.1.0.0 remote-sa 65000\n   maximum-paths four\n   maximum-paths 4 emcp 4\n",
			[]string{"unread frobnicate 3", "unread neighbor 10.1.0.0 frobnicate", "unread neighbor 10.1.0.0 remote-sa 65000", "problem range", "unread maximum-paths 4 emcp 4"}},
		{"a session that is off", "router bgp 65001\n   neighbor 10.1.0.0 remote-as 65000\n   neighbor 10.1.0.0 shutdown\n   neighbor 10.1.0.2 remote-as 65000\n   neighbor 10.1.0.2 shutdown\n   no neighbor 10.1.0.2 shutdown\n", []string{"problem inert", "not: neighbour 10.1.0.0 ", "bgp neighbour 10.1.0.2 65000"}},
	} {
		t.Run(c.name, func(t *testing.T) { has(t, c.text, c.want...) })
	}
}

// What people paste has lines of show commands beside those of a configuration, and other interfaces between.
func TestPasted(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a tunnel", "interface Ethernet1\n   switchport access vlan 30\n   switchport mode dot1q-tunnel\n", []string{"vlan 30"}},
		{"no VLAN without a tag", "interface Ethernet1\n   switchport mode trunk\n   switchport trunk native vlan tag\n", []string{"vlan ?"}},
		{"a comment ends no block", "qos profile P\n   priority-flow-control on\n!\n   priority-flow-control priority 3 no-drop\n! x\n   tx-queue 3\n!\n      no priority\ninterface Ethernet1\n   service-profile P\n   no switchport\n", []string{"pfc [3]", "queue 3 weighted", "not: unread"}},
		{"a map that cannot be, taken out", "no qos map dscp 64\nqos map dscp 3 to traffic-class 9\ninterface Ethernet1\n", []string{"problem range"}},
		{"flat, with a loopback", "interface Loopback0\ndescription x\nip address 10.0.0.1/32\n!\ninterface Management1\nip address 10.9.0.1/24\n!\ninterface Ethernet1\nno switchport\nmtu 9000\n", []string{"Ethernet1 mtu 9000", "not: unread"}},
		{"maps behind a show command", "sw#sh qos map\nqos map dscp 26 to traffic-class 5\n!\nsw#sh run | sec Ethernet1\ninterface Ethernet1\n   no switchport\n", []string{"dscp 26: class 5", "not: unread"}},
		{"shown queues", "interface Ethernet1\n   no switchport\n   tx-queue 3\n      bandwidth percent 25\nsw#show qos interfaces ethernet 1\nEthernet1:\n   Trust Mode: DSCP\n  Tx    Bandwidth     Bandwidth  Shape Rate  Priority   ECN/WRED\n Queue  (percent)     Guaranteed (units)   (units)\n ------\n   3   25   - ( - )   24.9 (Gbps)  RR   D\n   2   15   - ( - )   24.9 (Gbps)  SP   D\n",
			[]string{"queue 3 weighted weight 25", "queue 2 strict weight 15"}},
		{"a profile of interfaces", "interface profile GPU\n   command mtu 9000\n   command no switchport\n   command tx-queue 3\n   command no priority\n   command priority-flow-control on\n   command priority-flow-control priority 3 no-drop\n   frobnicate\ninterface Ethernet1\n   profile GPU\n   mtu 9200\ninterface Ethernet2\n   profile NONE\n",
			[]string{"Ethernet1 mtu 9200 vlan 0 trust dscp pfc [3]", "Ethernet1 queue 3 weighted", "unread frobnicate", "problem undefined Ethernet2", "not: problem duplicate"}},
		{"a prompt that none is", "switch (config-if-et1) # priority-flow-control on\ninterface Ethernet1\n   no switchport\n", []string{"unread switch (config-if-et1) # priority-flow-control on"}},
	} {
		t.Run(c.name, func(t *testing.T) { has(t, c.text, c.want...) })
	}
	for _, text := range []string{"router bgp 65001\nmaximum-paths 4 ecmp 4\n", "router bgp 65001\n   neighbor S peer group\n", "sw(config-if-Et1)# mtu 9000\n"} {
		if !(OS{}).Recognizes([]byte(text)) {
			t.Errorf("%q is not recognized", text)
		}
	}
}
