package junos

// grammar is the part of Junos' configuration that is read, from the statements of the CLI reference and from Juniper's
// model of class-of-service (Juniper/yang, 23.4R1-EVO, junos-conf-class-of-service). The sign after a word:
// * entries with a name, = one value, + a list of values, ! of no bearing on lossless RoCE with all below it, ~ a block in
// which what is not listed has no bearing, . a block in which what is not listed is an error; nothing: a block or a bare word.
// @name takes over the block of that name.
const grammar = `
version =
system ~
 host-name =
chassis ~
 maximum-ecmp =
 fpc *
  ~
  pic *
   ~
   port *
    ~
    number-of-sub-ports =
    speed =
    channel-speed =
interfaces
 interface-range *
  member +
  member-range *
   to =
  @interface
 *
  @interface
vlans
 *
  @vlan
routing-instances ~
 *
  ~
  vlans
   *
    @vlan
routing-options ~
 autonomous-system =
 router-id =
 forwarding-table ~
  export +
protocols ~
 bgp
  @bgp
  group *
   @bgp
   neighbor *
    @bgp
class-of-service
 classifiers
  dscp *
   @classifier
  dscp-ipv6 *
   @classifier
  ieee-802.1 *
   @classifier
  inet-precedence !
  exp !
  ieee-802.1ad !
 code-point-aliases
  dscp
   * =
  ieee-802.1
   * =
  dscp-ipv6 !
  inet-precedence !
  exp !
  ieee-802.1ad !
 drop-profiles
  *
   interpolate
    fill-level +
    drop-probability +
   fill-level *
    drop-probability =
 shared-buffer
  percent =
  ingress
   @pool
  egress
   @pool
 dedicated-buffer !
 dedicated-buffer-profile !
 forwarding-classes
  class *
   .
   queue-num =
   priority =
   policing-priority =
   no-loss
   multicast
   pfc-priority =
  queue *
   *
    priority =
    policing-priority =
 forwarding-class-sets *
  class *
 traffic-control-profiles *
  scheduler-map =
  guaranteed-rate !
  shaping-rate !
  peak-rate !
  delay-buffer-rate !
  overhead-accounting !
 congestion-notification-profile *
  pfc-watchdog
   poll-interval =
   detection =
   recovery =
   watchdog-action =
  input
   cable-length =
   pfc-account !
   dscp
    code-point *
     @paused
   ieee-802.1
    code-point *
     @paused
  output
   ieee-802.1
    code-point *
     flow-control-queue +
 interfaces
  *
   @attached
   congestion-notification-profile =
   forwarding-class-set *
    output-traffic-control-profile =
   output-traffic-control-profile =
   dedicated-buffer-profile !
   unit *
    @attached
 rewrite-rules
  dscp *
   @rewrite
  dscp-ipv6 !
  ieee-802.1 !
  inet-precedence !
  exp !
  ieee-802.1ad !
 scheduler-maps
  *
   forwarding-class *
    scheduler =
 schedulers
  *
   transmit-rate
    percent =
    remainder
    exact
    rate-limit
    *
   buffer-size !
   buffer-rate !
   shaping-rate
    ~
   buffer-dynamic-threshold =
   excess-rate !
   excess-priority !
   priority =
   drop-profile-map
    loss-priority *
     drop-profile =
     protocol *
      drop-profile =
   explicit-congestion-notification
 host-outbound-traffic !
 multi-destination !
 fragmentation-maps !
 loss-priority-maps !
 monitoring-profile !
 restricted-queues !
 tri-color !
 virtual-channels !
 traceoptions !
firewall
policy-options ~
 prefix-list *
  *
   ~
 policy-statement *
  @policy
  term *
   @policy
forwarding-options !
snmp !
security !
event-options !
services !
access !
access-profile !
accounting-options !
applications !
bridge-domains !
diameter !
ethernet-switching-options !
fabric !
jsrc !
multi-chassis !
multicast-snooping-options !
poe !
redundant-power-system !
session-limit-group !
switch-options !
tenants !
unified-edge !
virtual-chassis !
vmhost !
`

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
