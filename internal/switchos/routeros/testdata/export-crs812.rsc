# 2026-06-14 09:12:41 by RouterOS 7.23.1
# software id = ABCD-EFGH
#
# model = CRS812-8DS-2DQ-2DDQ
# serial number = 0123456789A
/interface bridge
add admin-mac=02:00:00:00:00:01 auto-mac=no comment=defconf name=bridge \
    vlan-filtering=yes
/interface ethernet
set [ find default-name=ether1 ] comment="to the office, \"white\" cable"
set [ find default-name=qsfp56-1-1 ] auto-negotiation=no fec-mode=fec91 \
    l2mtu=9216 mtu=9000 name=spark-a speed=200G-baseCR4
set [ find default-name=qsfp56-2-1 ] auto-negotiation=no fec-mode=fec91 \
    l2mtu=9216 mtu=9000 speed=200G-baseCR4
set [ find default-name=qsfp56-dd-1-1 ] auto-negotiation=no fec-mode=fec91 l2mtu=\
    9216 mtu=9000 speed=200G-baseCR4
set [ find default-name=qsfp56-dd-1-5 ] auto-negotiation=no fec-mode=fec91 \
    l2mtu=9216 mtu=9000 speed=200G-\
    baseCR4
set [ find default-name=qsfp56-dd-2-1 ] disabled=yes
/interface vlan
add interface=bridge mtu=9000 name=vlan100 vlan-id=100
/interface ethernet switch
set 0 l3-hw-offloading=yes
/interface ethernet switch qos priority-flow-control
add name=pfc-tc3 rx=yes traffic-class=3 tx=yes
/interface ethernet switch qos port
set spark-a egress-rate-queue3=200.0Gbps pfc=pfc-tc3 trust-l3=keep
set qsfp56-2-1 egress-rate-queue3=200.0Gbps pfc=pfc-tc3 trust-l3=keep
set qsfp56-dd-1-1 egress-rate-queue3=200.0Gbps pfc=pfc-tc3 trust-l3=keep
set qsfp56-dd-1-5 egress-rate-queue3=200.0Gbps pfc=pfc-tc3 trust-l3=keep
/interface ethernet switch qos profile
add dscp=26 name=roce traffic-class=3
add dscp=48 name=cnp traffic-class=6
/interface ethernet switch qos settings
set lossless-traffic-class=3
/interface ethernet switch qos tx-manager queue
set 1 schedule=high-priority-group weight=1
set 3 ecn=yes schedule=high-priority-group weight=1
/interface list
add name=WAN
/ip pool
add name=dhcp ranges=192.168.88.10-192.168.88.254
/ip dhcp-server
add address-pool=dhcp interface=bridge name=defconf
/port
set 0 name=serial0
/interface bridge port
add bridge=bridge comment=defconf interface=ether1
add bridge=bridge comment=defconf interface=ether2
add bridge=bridge interface=spark-a pvid=100
add bridge=bridge interface=qsfp56-2-1 pvid=100
add bridge=bridge interface=qsfp56-dd-1-1 pvid=100
add bridge=bridge interface=qsfp56-dd-1-5 pvid=100
/interface bridge vlan
add bridge=bridge tagged=bridge vlan-ids=100
/ip address
add address=192.168.88.1/24 comment=defconf interface=bridge network=\
    192.168.88.0
add address=10.64.0.254/24 interface=vlan100 network=10.64.0.0
/ip dhcp-server network
add address=192.168.88.0/24 gateway=192.168.88.1
/ip dns
set servers=192.168.88.2
/system identity
set name=leaf1
/system routerboard settings
set enter-setup-on=delete-key
