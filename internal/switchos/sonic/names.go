package sonic

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// sonicNamespace is the part of one ASIC in what a switch with several prints.
var sonicNamespace = pattern.Plain(`^(?:localhost|host|asic\d+)$`)

// sonicFields lists the tables that are read, with their fields: those that are read, those that follow from others, and
// those that have no bearing on which packets are lossless. A field that is in no list may matter and is told. A dash stands
// for fields with names of their own.
var sonicFields = map[string]string{
	"DEVICE_METADATA": "-",
	"PORT": "admin_status alias lanes speed mtu fec index description autoneg adv_speeds interface_type adv_interface_types link_training " +
		"pfc_asym tpid role subport core_id core_port_id num_voq asic_port_name dom_polling mux_cable tx_power laser_freq fast_linkup " +
		"dhcp_rate_limit mode macsec parent_port lane_speed valid_speeds supported_speeds",
	"INTERFACE":          "-",
	"VLAN":               "vlanid description alias dhcp_servers dhcpv6_servers mtu admin_status mac members host_ifname",
	"VLAN_MEMBER":        "tagging_mode",
	"VLAN_INTERFACE":     "-",
	"PORTCHANNEL":        "-",
	"PORTCHANNEL_MEMBER": "-", "PORTCHANNEL_INTERFACE": "-",
	"DSCP_TO_TC_MAP": "-", "DOT1P_TO_TC_MAP": "-", "TC_TO_QUEUE_MAP": "-", "TC_TO_PRIORITY_GROUP_MAP": "-", "MAP_PFC_PRIORITY_TO_QUEUE": "-",
	"PFC_PRIORITY_TO_QUEUE_MAP": "-", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP": "-", "TC_TO_DSCP_MAP": "-",
	"PORT_QOS_MAP": "dscp_to_tc_map dot1p_to_tc_map tc_to_queue_map tc_to_pg_map pfc_to_queue_map pfc_to_pg_map tc_to_dscp_map " +
		"pfc_enable pfcwd_sw_enable mpls_tc_to_tc_map dscp_to_fc_map exp_to_fc_map",
	"SCHEDULER": "type weight priority meter_type",
	"QUEUE":     "scheduler wred_profile",
	"WRED_PROFILE": "ecn wred_green_enable wred_yellow_enable wred_red_enable " +
		"green_min_threshold green_max_threshold green_drop_probability yellow_min_threshold yellow_max_threshold " +
		"yellow_drop_probability red_min_threshold red_max_threshold red_drop_probability",
	"BUFFER_POOL":    "type mode size xoff percentage",
	"BUFFER_PROFILE": "pool size xon xoff xon_offset static_th dynamic_th headroom_type packet_discard_action",
	"BUFFER_PG":      "profile",
	"BUFFER_QUEUE":   "profile",
	"CABLE_LENGTH":   "-",
	"PFC_WD":         "action detection_time restoration_time pfc_stat_history POLL_INTERVAL BIG_RED_SWITCH",
	"BGP_NEIGHBOR":   "-",
	"BREAKOUT_CFG":   "brkout_mode port",
	"TUNNEL":         "-",
}

// isRead reports whether a table is one of sonicFields.
func isRead(table string) bool { _, ok := sonicFields[table]; return ok }

// ignored are tables without a bearing on which packets are lossless: management, monitoring, access lists, other
// protocols. POLICER, which can colour packets, is in neither list, nor is SWITCH_TRIMMING.
const ignored = `AAA ACL_RULE ACL_TABLE ACL_TABLE_TYPE ALARM ALARM_STATS ASIC_SENSORS AS_PATH_SET AUTO_TECHSUPPORT
		AUTO_TECHSUPPORT_FEATURE BANNER_MESSAGE BGP_AGGREGATE_ADDRESS BGP_ALLOWED_PREFIXES BGP_BBR BGP_DEVICE_GLOBAL BGP_GLOBALS
		BGP_GLOBALS_AF BGP_GLOBALS_AF_AGGREGATE_ADDR BGP_GLOBALS_AF_NETWORK BGP_GLOBALS_LISTEN_PREFIX BGP_INTERNAL_NEIGHBOR
		BGP_MONITORS BGP_NEIGHBOR_AF BGP_PEER_GROUP BGP_PEER_GROUP_AF BGP_PEER_RANGE BGP_SENTINELS BGP_VOQ_CHASSIS_NEIGHBOR BMP
		BUFFER_POOL_WATERMARK CHASSIS_MODULE COMMUNITY_SET CONSOLE_PORT CONSOLE_SWITCH CONTAINER_FEATURE COPP_GROUP COPP_TRAP CRM DEBUG_COUNTER
		DEBUG_COUNTER_DROP_REASON DEBUG_DROP_MONITOR DEVICE_NEIGHBOR DEVICE_NEIGHBOR_METADATA DHCPV4_RELAY DHCP_RELAY DHCP_SERVER
		DHCP_SERVER_IPV4 DHCP_SERVER_IPV4_CUSTOMIZED_OPTIONS DHCP_SERVER_IPV4_PORT DHCP_SERVER_IPV4_RANGE DNS_NAMESERVER DNS_OPTIONS
		EVENT EVENT_STATS EVPN_ETHERNET_SEGMENT EVPN_MH_GLOBAL EXTENDED_COMMUNITY_SET FABRIC_MONITOR FABRIC_PORT FEATURE FG_NHG
		FG_NHG_MEMBER FG_NHG_PREFIX FIPS FLEX_COUNTER_TABLE FLOW_COUNTER_ROUTE_PATTERN GNMI GNMI_CLIENT_CERT GRPCCLIENT HEARTBEAT
		HIGH_FREQUENCY_TELEMETRY_GROUP HIGH_FREQUENCY_TELEMETRY_PROFILE ICMP_SESSION KDUMP KUBERNETES_MASTER LDAP LDAP_SERVER LINK_PROBER
		LLDP LLDP_PORT LOGGER LOOPBACK_INTERFACE LOOPBACK MACSEC_PROFILE MAC_MOVE_GUARD MCLAG_DOMAIN MCLAG_INTERFACE MCLAG_UNIQUE_IP
		MEMORY_STATISTICS MGMT_INTERFACE MGMT_PORT MGMT_VRF_CONFIG MID_PLANE_BRIDGE MIRROR_SESSION MUXLOGGER MUX_CABLE MUX_LINKMGR
		NAT_BINDINGS NAT_GLOBAL NAT_POOL NEIGH NTP NTP_KEY NTP_SERVER NVGRE_TUNNEL NVGRE_TUNNEL_MAP PASSW_HARDENING PEER_SWITCH
		PORT_STORM_CONTROL PREFIX PREFIX_LIST PREFIX_SET RADIUS RADIUS_SERVER REMOTE_DPU RESTAPI ROUTE_MAP ROUTE_MAP_SET
		ROUTE_REDISTRIBUTE SAG SERIAL_CONSOLE SFLOW SFLOW_COLLECTOR SFLOW_SESSION SNMP SNMP_AGENT_ADDRESS_CONFIG SNMP_COMMUNITY SNMP_USER
		SRV6_MY_LOCATORS SRV6_MY_SIDS SSH_SERVER STATIC_NAPT STATIC_NAT STATIC_ROUTE STORMOND_CONFIG STP STP_MST STP_MST_INST STP_MST_PORT
		STP_PORT STP_VLAN STP_VLAN_PORT SUBNET_DECAP SUPPRESS_ASIC_SDK_HEALTH_EVENT SWITCH_FAST_LINKUP SWITCH_HASH SYSLOG_CONFIG
		SYSLOG_CONFIG_FEATURE SYSLOG_SERVER SYSTEM_DEFAULTS SYSTEM_PORT TACPLUS TACPLUS_SERVER TELEMETRY TELEMETRY_CLIENT VERSIONS VNET
		VNET_ROUTE VNET_ROUTE_TUNNEL VOQ_INBAND_INTERFACE VRF VXLAN_EVPN_NVO VXLAN_TUNNEL VXLAN_TUNNEL_MAP WARM_RESTART XCVRD_LOG ZTP
		LOSSLESS_TRAFFIC_PATTERN DEFAULT_LOSSLESS_BUFFER_PARAMETER BUFFER_PORT_INGRESS_PROFILE_LIST BUFFER_PORT_EGRESS_PROFILE_LIST
		MPLS_TC_TO_TC_MAP DSCP_TO_FC_MAP EXP_TO_FC_MAP VLAN_SUB_INTERFACE PBH_HASH PBH_HASH_FIELD PBH_RULE PBH_TABLE SRV6 DPU DPUS VDPU
		ASIC_SENSORS_POLLER_INTERVAL ASIC_SENSORS_POLLER_STATUS SUPPRESS_VLAN_NEIGH LEAK_PROFILE LEAK_CONTROL_POLICY`

func isIgnored(table string) bool { return slices.Contains(strings.Fields(ignored), table) }

// sonicKey is a table of CONFIG_DB as a key of JSON, in capitals: an OpenConfig text has none.
var sonicKey = pattern.Plain(`"(?:PORT|INTERFACE|VLAN|VLAN_MEMBER|VLAN_INTERFACE|DEVICE_METADATA|DSCP_TO_TC_MAP|DOT1P_TO_TC_MAP|TC_TO_QUEUE_MAP|` +
	`TC_TO_PRIORITY_GROUP_MAP|MAP_PFC_PRIORITY_TO_QUEUE|PFC_PRIORITY_TO_QUEUE_MAP|PFC_PRIORITY_TO_PRIORITY_GROUP_MAP|TC_TO_DSCP_MAP|PORT_QOS_MAP|SCHEDULER|` +
	`QUEUE|WRED_PROFILE|BUFFER_POOL|BUFFER_PROFILE|BUFFER_PG|BUFFER_QUEUE|CABLE_LENGTH|PFC_WD|BGP_NEIGHBOR|BREAKOUT_CFG|PORTCHANNEL|FEATURE|ACL_TABLE)` +
	`(?:\|[^"\n]*)?"\s*:\s*[{\[]`)
