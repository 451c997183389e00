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
