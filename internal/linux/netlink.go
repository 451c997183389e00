// Package linux is the part of the Linux kernel's rtnetlink interface that recordings hold, so that they can be
// read on every system: golang.org/x/sys/unix has these constants on Linux only. The names are the kernel's own.
package linux

// Address families (linux/socket.h).
const (
	AF_UNSPEC = 0
	AF_INET   = 2
	AF_INET6  = 10
)

// Kinds of interfaces, their flags and the length of their names (linux/if_arp.h, linux/if.h).
const (
	ARPHRD_ETHER      = 1
	ARPHRD_INFINIBAND = 32
	IFF_UP            = 1
	IFNAMSIZ          = 16
)

// Framing of netlink messages (linux/netlink.h).
const (
	NLMSG_DONE     = 3
	NLMSG_ALIGNTO  = 4
	NLMSG_MIN_TYPE = 16
	SizeofNlMsghdr = 16
)

// Messages about links, addresses, routes, neighbours and rules, with the sizes of their fixed headers (linux/rtnetlink.h).
const (
	RTM_NEWLINK     = 16
	RTM_GETLINK     = 18
	RTM_NEWADDR     = 20
	RTM_GETADDR     = 22
	RTM_NEWROUTE    = 24
	RTM_GETROUTE    = 26
	RTM_NEWNEIGH    = 28
	RTM_GETNEIGH    = 30
	RTM_NEWRULE     = 32
	RTM_GETRULE     = 34
	RTM_NEWQDISC    = 36
	RTM_F_CLONED    = 512
	SizeofRtAttr    = 4
	SizeofIfAddrmsg = 8
	SizeofRtNexthop = 8
	SizeofNdMsg     = 12
	SizeofRtMsg     = 12
	SizeofIfInfomsg = 16
)

// Attributes of a link (linux/if_link.h).
const (
	IFLA_ADDRESS            = 1
	IFLA_INFO_KIND          = 1
	IFLA_BROADCAST          = 2
	IFLA_INFO_DATA          = 2
	IFLA_IFNAME             = 3
	IFLA_INFO_SLAVE_KIND    = 4
	IFLA_MTU                = 4
	IFLA_LINK               = 5
	IFLA_QDISC              = 6
	IFLA_STATS              = 7
	IFLA_MASTER             = 10
	IFLA_TXQLEN             = 13
	IFLA_MAP                = 14
	IFLA_OPERSTATE          = 16
	IFLA_LINKMODE           = 17
	IFLA_LINKINFO           = 18
	IFLA_IFALIAS            = 20
	IFLA_NUM_VF             = 21
	IFLA_VFINFO_LIST        = 22
	IFLA_STATS64            = 23
	IFLA_AF_SPEC            = 26
	IFLA_GROUP              = 27
	IFLA_EXT_MASK           = 29
	IFLA_PROMISCUITY        = 30
	IFLA_NUM_TX_QUEUES      = 31
	IFLA_NUM_RX_QUEUES      = 32
	IFLA_CARRIER            = 33
	IFLA_CARRIER_CHANGES    = 35
	IFLA_PHYS_SWITCH_ID     = 36
	IFLA_LINK_NETNSID       = 37
	IFLA_PHYS_PORT_NAME     = 38
	IFLA_PROTO_DOWN         = 39
	IFLA_GSO_MAX_SEGS       = 40
	IFLA_GSO_MAX_SIZE       = 41
	IFLA_XDP                = 43
	IFLA_CARRIER_UP_COUNT   = 47
	IFLA_CARRIER_DOWN_COUNT = 48
	IFLA_MIN_MTU            = 50
	IFLA_MAX_MTU            = 51
)

// Attributes of an address (linux/if_addr.h).
const (
	IFA_ADDRESS     = 1
	IFA_LOCAL       = 2
	IFA_LABEL       = 3
	IFA_BROADCAST   = 4
	IFA_ANYCAST     = 5
	IFA_CACHEINFO   = 6
	IFA_MULTICAST   = 7
	IFA_FLAGS       = 8
	IFA_RT_PRIORITY = 9
)

// Attributes, types, origins, scopes and tables of a route (linux/rtnetlink.h).
const (
	RT_SCOPE_UNIVERSE = 0
	RT_SCOPE_LINK     = 253
	RT_TABLE_DEFAULT  = 253
	RT_TABLE_MAIN     = 254
	RT_TABLE_LOCAL    = 255
	RTA_DST           = 1
	RTA_SRC           = 2
	RTA_IIF           = 3
	RTA_ALIGNTO       = 4
	RTA_OIF           = 4
	RTA_GATEWAY       = 5
	RTA_PRIORITY      = 6
	RTA_PREFSRC       = 7
	RTA_METRICS       = 8
	RTA_MULTIPATH     = 9
	RTA_FLOW          = 11
	RTA_CACHEINFO     = 12
	RTA_TABLE         = 15
	RTA_MARK          = 16
	RTA_VIA           = 18
	RTA_PREF          = 20
	RTA_ENCAP_TYPE    = 21
	RTA_ENCAP         = 22
	RTA_EXPIRES       = 23
	RTA_UID           = 25
	RTN_UNICAST       = 1
	RTPROT_KERNEL     = 2
	RTPROT_BOOT       = 3
	RTPROT_STATIC     = 4
)

// Attributes and states of a neighbour (linux/neighbour.h).
const (
	NDA_DST        = 1
	NDA_LLADDR     = 2
	NDA_CACHEINFO  = 3
	NDA_PROBES     = 4
	NDA_VLAN       = 5
	NDA_PORT       = 6
	NDA_VNI        = 7
	NDA_IFINDEX    = 8
	NDA_MASTER     = 9
	NUD_INCOMPLETE = 1
	NUD_REACHABLE  = 2
	NUD_STALE      = 4
	NUD_DELAY      = 8
	NUD_PROBE      = 16
	NUD_FAILED     = 32
	NUD_NOARP      = 64
	NUD_PERMANENT  = 128
)

// Attributes and actions of a rule (linux/fib_rules.h).
const (
	FR_ACT_TO_TBL          = 1
	FRA_DST                = 1
	FRA_SRC                = 2
	FRA_IIFNAME            = 3
	FRA_GOTO               = 4
	FRA_PRIORITY           = 6
	FRA_FWMARK             = 10
	FRA_FLOW               = 11
	FRA_TUN_ID             = 12
	FRA_SUPPRESS_IFGROUP   = 13
	FRA_SUPPRESS_PREFIXLEN = 14
	FRA_TABLE              = 15
	FRA_FWMASK             = 16
	FRA_OIFNAME            = 17
	FRA_L3MDEV             = 19
	FRA_UID_RANGE          = 20
	FRA_PROTOCOL           = 21
	FRA_IP_PROTO           = 22
	FRA_SPORT_RANGE        = 23
	FRA_DPORT_RANGE        = 24
)
