package junos

// junosBlocks are the blocks that stand at several places.
const junosBlocks = `
interface
 description =
 disable
 enable
 mtu =
 speed =
 number-of-sub-ports =
 channel-speed =
 unused
 native-vlan-id =
 vlan-tagging
 flexible-vlan-tagging
 stacked-vlan-tagging
 encapsulation !
 link-mode !
 hold-time !
 traps !
 no-traps !
 mac !
 esi !
 accounting-profile !
 damping !
 gratuitous-arp-reply !
 no-gratuitous-arp-reply !
 no-gratuitous-arp-request !
 media-type !
 statistics !
 traceoptions !
 optics-options !
 otn-options !
 aggregated-ether-options !
 auto-negotiation !
 no-auto-negotiation !
 gigether-options
  @ether
 ether-options
  @ether
 unit *
  description =
  disable
  enable
  vlan-id =
  encapsulation !
  traps !
  no-traps !
  proxy-arp !
  no-proxy-arp !
  mac !
  virtual-gateway-accept-data !
  virtual-gateway-v4-mac !
  virtual-gateway-v6-mac !
  family
   inet
    @inet
   inet6
    @inet
   ethernet-switching
    interface-mode =
    port-mode =
    native-vlan-id =
    vlan
     members +
    storm-control !
    recovery-timeout !
    filter
     @filter
   iso !
   mpls !
   ccc !
   vpls !
   evpn !
ether
 802.3ad
  *
 fec =
 flow-control
 no-flow-control
 auto-negotiation !
 no-auto-negotiation !
 loopback !
 no-loopback !
 link-mode !
 speed =
 configured-flow-control
inet
 mtu =
 address *
  ~
 filter
  @filter
 no-redirects !
 no-neighbor-learn !
 rpf-check !
 sampling !
 targeted-broadcast !
 dhcp !
 dhcp-client !
 dad-disable !
 nd6-stale-time !
 unnumbered-address !
 primary !
filter
 input +
 output +
 input-list +
 output-list +
vlan
 ~
 vlan-id =
 vlan-id-list +
 l3-interface =
classifier
 import =
 forwarding-class *
  loss-priority *
   code-points +
rewrite
 import =
 forwarding-class *
  loss-priority *
   code-point =
pool
 percent =
 buffer-partition *
  percent =
  dynamic-threshold =
paused
 pfc
  mru =
 mru =
 pfc-account-name !
attached
 scheduler-map =
 forwarding-class =
 classifiers
  dscp =
  dscp-ipv6 =
  ieee-802.1 =
  inet-precedence !
  exp !
 rewrite-rules
  dscp =
  dscp-ipv6 !
  ieee-802.1 !
  inet-precedence !
  exp !
bgp
 peer-as =
 local-as =
 export +
 multipath
  ~
  multiple-as
  disable
 shutdown
 disable
 accept-remote-nexthop !
 add-path !
 advertise-bgp-static !
 advertise-external !
 advertise-from-main-vpn-tables !
 advertise-inactive !
 advertise-peer-as !
 advertise-prefix-subset !
 aggregate-label !
 allow !
 as-override !
 authentication-algorithm !
 authentication-key !
 authentication-key-chain !
 auto-discovered-mac !
 bfd-liveness-detection !
 bgp-error-tolerance !
 cluster !
 cluster-id !
 damping !
 defer-initial-multipath-build !
 delay-route-advertisements !
 description !
 disable-4byte-as !
 dynamic-neighbor !
 egress-te !
 enforce-first-as !
 family !
 forwarding-context !
 graceful-restart !
 graceful-shutdown !
 hold-time !
 idle-after-switch-over !
 import !
 include-mp-next-hop !
 ipsec-sa !
 keep !
 l3vpn-interwork !
 local-address !
 local-interface !
 local-preference !
 log-updown !
 long-lived-graceful-restart !
 loops !
 metric-out !
 minimum-hold-time !
 mtu-discovery !
 multihop !
 no-advertise-peer-as !
 no-aggregator-id !
 no-client-reflect !
 no-nexthop-change !
 no-prepend-global-as !
 out-delay !
 outbound-route-filter !
 output-queue-priority !
 passive !
 path-selection !
 peer-as-list !
 precision-timers !
 preference !
 remove-private !
 rib-sharding !
 route-server-client !
 segment-routing !
 send-buffer !
 receive-buffer !
 session-mode !
 snmp-options !
 stale-labels-holddown-period !
 tcp-aggressive-transmission !
 tcp-connect-port !
 tcp-mss !
 traceoptions !
 traffic-statistics !
 ttl !
 type !
 update-threading !
 unconfigured-peer-graceful-restart !
 user-defined !
 vpn-apply-export !
 vrf-import !
 withdraw-priority !
 auto-discovery !
 bmp !
 ebgp-community-check !
 resolve-vpn !
 no-install !
policy
 from
  ~
  protocol +
  policy +
  interface +
  prefix-list +
  prefix-list-filter *
   ~
  route-filter *
   ~
 to !
 then
  ~
  accept
  reject
  load-balance =
 apply-path !
 dynamic-db !
`
