# 2026-05-02 18:40:03 by RouterOS 7.22
# software id = ABCD-EFGH
#
# model = CRS804-4DDQ
/interface bridge
add admin-mac=02:00:00:00:00:02 auto-mac=no comment=defconf name=bridge
/ip pool
add name=default-dhcp ranges=192.168.88.10-192.168.88.254
/ip dhcp-server
add address-pool=default-dhcp interface=bridge name=defconf
/interface bridge port
add bridge=bridge comment=defconf interface=ether1
add bridge=bridge comment=defconf interface=ether2
add bridge=bridge comment=defconf interface=qsfp56-dd-1-1
add bridge=bridge comment=defconf interface=qsfp56-dd-1-2
add bridge=bridge comment=defconf interface=qsfp56-dd-1-3
add bridge=bridge comment=defconf interface=qsfp56-dd-1-4
add bridge=bridge comment=defconf interface=qsfp56-dd-1-5
add bridge=bridge comment=defconf interface=qsfp56-dd-2-1
/ip address
add address=192.168.88.1/24 comment=defconf interface=bridge network=192.168.88.0
/system identity
set name=MikroTik
