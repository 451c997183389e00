package dell

import (
	"regexp"
	"testing"
)

// dellWhole is what a switch has besides: none of it bears on lossless RoCE.
const dellWhole = `!
hostname leaf7
interface-naming standard
ip load-share hash ipv4 ipv4-src-ip
ip vrf mgmt
!
username admin password x role admin
aaa authentication login default local
ntp server 10.0.0.1 minpoll 6 maxpoll 10
ntp source-interface Management 0
logging server 10.0.0.2 severity info
snmp-server community c group g
spanning-tree mode rapid-pvst
ip prefix-list P seq 10 permit 10.0.0.0/8 le 32
ipv6 access-list A6
 seq 10 permit tcp any any
!
route-map R permit 10
 match ip address prefix-list P
!
class-map oob-ip-multicast match-type fields match-all
 match destination-address ipv4 224.0.0.0/4
!
policy-map oob-qos-policy type qos
 class oob-ip-multicast priority 1000
  set traffic-class 0
  !
!
qos scheduler-policy copp-scheduler-policy
 !
 queue 0
  type wrr
  weight 1
  pir 100
 !
 queue 40
  type strict
!
roce enable
buffer pool ingress_lossless_pool shared-headroom-size 3500000
buffer profile big ingress_lossless_pool 0 dynamic-threshold -2 pause pause-threshold 55000
qos wred-policy ROCE
 green minimum-threshold 1048 maximum-threshold 2097 drop-probability 5
 ecn green
!
qos map dscp-tc ROCE
 dscp 0-25,27-63 traffic-class 0
 dscp 26 traffic-class 3
!
qos map tc-queue ROCE
 traffic-class 0 queue 0
 traffic-class 3 queue 3
!
qos map tc-pg ROCE
 traffic-class 3 priority-group 3
 traffic-class 0-2,4-7 priority-group 7
!
qos map pfc-priority-queue ROCE
 pfc-priority 3 queue 3
!
mclag domain 100
 source-ip 172.30.95.0
 peer-ip 172.30.95.1
!
link state track up
 timeout 5
!
evpn esi-multihoming
 mac-holdtime 60
!
ars profile p1
 sampling-interval 140
!
line vty
 service-policy type qos in oob-qos-policy
!
interface Management 0
 description oob
 mtu 1500
 autoneg on
 speed 1000
 ip address 10.1.1.1/24 gwaddr 10.1.1.254
!
interface Loopback 0
 ip address 10.255.0.7/32
!
interface vxlan vtep1
 source-ip Loopback2
 qos-mode pipe dscp 0
!
interface CPU
 scheduler-policy copp-scheduler-policy
!
interface Vlan20
 mtu 9100
 ip anycast-address 10.2.0.1/24
 neigh-suppress
!
interface PortChannel10
 mtu 9100
 no shutdown
 system-mac 00:00:00:01:01:01
 mclag 100
 qos-map dscp-tc ROCE
 switchport trunk allowed Vlan 20
!
interface Eth1/1
 description "to spine"
 channel-group 10
 mtu 9100
 speed 400000
 fec RS
 standalone-link-training
 unreliable-los auto
 no shutdown
 lldp transmit
 storm-control broadcast kbps 1000
 queue 3 wred-policy ROCE
 qos-map tc-queue ROCE
 qos-map tc-pg ROCE
 qos-map pfc-priority-queue ROCE
 buffer priority-group 3 profile big
 priority-flow-control priority 3
 link state track up upstream
 ars bind p1
!
interface Eth1/1.100
 ip address 10.3.0.1/24
!
interface Eth1/2
 mtu 9100
 speed 400000
 shutdown
 ip vrf forwarding Vrf1
 ipv6 address 2001:db8::1/64
 ip ospf area 0
!
router bgp 65101 vrf Vrf1
 neighbor 10.9.9.9
  remote-as 1
!
router bgp 65101
 router-id 10.255.0.7
 log-neighbor-changes
 timers 60 180
 !
 address-family ipv4 unicast
  redistribute connected
  maximum-paths 64
 !
 peer-group SPINES
  remote-as 65100
  bfd
  address-family ipv4 unicast
   activate
 !
 neighbor 10.8.0.1
  peer-group SPINES
 !
 neighbor 10.8.0.3 remote-as 65200
 neighbor interface Eth1/3
  remote-as external
 !
 neighbor 10.8.0.5
  remote-as internal
!
ip route 0.0.0.0/0 10.1.1.254
end
`

// A whole configuration is read without a word of complaint, indented and flat; a member of a port channel classifies as the channel.
func TestDellWhole(t *testing.T) {
	for name, text := range map[string]string{"indented": dellWhole, "flat": regexp.MustCompile(`(?m)^ +`).ReplaceAllString(dellWhole, "")} {
		t.Run(name, func(t *testing.T) {
			got := readDell(text)
			if said := dellSaid(got); len(said) > 0 || !got.Texts[0].Whole {
				t.Errorf("whole %t: %q", got.Texts[0].Whole, said)
			}
			facts := dellFacts(got)
			for name, want := range map[string]string{
				"hostname": "leaf7", "Eth1/1 dscp 26": "3/3/3", "Eth1/1 dscp 0": "0/0/-1", "Eth1/1 trust": "dscp", "Eth1/1 pfc": "[3]", "Eth1/1 mtu": "9100",
				"Eth1/1 marks 3": "ROCE ecn true drops false 1048-2097kB 5", "Eth1/1 watchdog": "false ? ? ?", "Eth1/1 stops 3": "3", "Eth1/2 trust": "none", "Eth1/2 vlan": "0",
				"Eth1/2 up": "false", "Eth1/2 pfc": "[]", "PortChannel10 mtu": "9100", "PortChannel10 pfc": "?", "vlan 20": "9100", "vlan 20 address 0": "10.2.0.1/24",
				"bgp": "65101", "bgp 10.8.0.1": "65100", "bgp 10.8.0.3": "65200", "bgp 10.8.0.5": "65101", "bgp 10.9.9.9": "", "buffer ingress lossless-headroom": "3500000",
			} {
				if facts[name] != want {
					t.Errorf("%s: %q, want %q", name, facts[name], want)
				}
			}
			if len(got.Ports) != 3 {
				t.Errorf("%d ports", len(got.Ports))
			}
		})
	}
}
