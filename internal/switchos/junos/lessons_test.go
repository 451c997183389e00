package junos

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// all is what a text says, its problems, and what is unread.
func all(c *fabric.SwitchConfig) string {
	out := digest(c)
	if c.BGP != nil {
		for _, n := range c.BGP.Networks {
			out += "network " + n.Is + "\n"
		}
		out += "paths " + junosValue(c.BGP.Paths) + "\n"
	}
	for _, b := range c.Buffers {
		out += fmt.Sprintf("%s %s threshold %s\n", b.Direction, b.Name, junosValue(b.Threshold))
	}
	for _, p := range c.Profiles {
		out += p.Name + " starts with " + junosValue(p.Start) + "\n"
	}
	for _, p := range c.Ports {
		out += p.Name + " frames of " + junosValue(p.FrameB) + "\n"
	}
	for _, p := range c.Problems {
		out += "problem " + p.Kind + ": " + p.What + "\n"
	}
	for _, l := range c.Unread {
		out += "unread " + l.Text + "\n"
	}
	return out
}

const leafBGP = "set routing-options router-id 10.0.0.1\nset routing-options autonomous-system 65001\nset protocols bgp group f type external\nset protocols bgp group f neighbor 10.1.0.0 peer-as 65000\nset protocols bgp group f export OWN\n"

const roce = `class-of-service {
    forwarding-classes { class R queue-num 4 no-loss pfc-priority 3; }
    classifiers { dscp c { forwarding-class R { loss-priority low code-points af31; } } }
    congestion-notification-profile { p { input { dscp { code-point 011010 { pfc; } } } output { ieee-802.1 { code-point 011 { flow-control-queue 4; } } } } }
    interfaces { et-0/0/1 { congestion-notification-profile p; unit 0 { classifiers { dscp c; } } } }
}
`

func TestLessons(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a mark of another language between commands", "!\nset class-of-service forwarding-classes class R queue-num 3\nset class-of-service interfaces et-0/0/1 unit 0 forwarding-class R\n!\n", []string{"et-0/0/1 ", "trust=none", "not: unread", "not: problem"}},
		{"a command behind half a statement", "version 23.4\nset interfaces et-0/0/1 mtu 9216\nset system host-name x\n", []string{"et-0/0/1 up=true mtu=9202", "semicolon"}},
		{"a command behind a mark", "inactive:\nset system host-name x\n", nil},
		{"a port of an excerpt", "set interfaces et-0/0/1 unit 0 family inet address 10.0.0.1/31\nset class-of-service interfaces ae0 scheduler-map m\nset class-of-service interfaces xe-* scheduler-map m\n", []string{"ae0 ", "not: xe-* up"}},
		{"a slow lossless class", roce + "class-of-service { schedulers { s { shaping-rate 8g; } } scheduler-maps { m { forwarding-class R scheduler s; } } interfaces { et-0/0/1 { scheduler-map m; } } }\n", []string{"unread", "shaping-rate 8g"}},
		{"a slow class of others", roce + "class-of-service { schedulers { s { shaping-rate 8g; } } scheduler-maps { m { forwarding-class network-control scheduler s; } } interfaces { et-0/0/1 { scheduler-map m; } } }\n", []string{"not: unread"}},
		{"networks by a list", leafBGP + "set policy-options prefix-list P 10.2.0.0/24\nset policy-options prefix-list P 10.2.1.0/24\nset policy-options policy-statement OWN term a from protocol direct\nset policy-options policy-statement OWN term a from prefix-list-filter P orlonger\nset policy-options policy-statement OWN term a then accept\nset policy-options policy-statement OWN term z then reject\n",
			[]string{"network 10.2.0.0/24", "network 10.2.1.0/24", "paths 1", "not: network connected", "not: problem", "not: unread"}},
		{"all connected", leafBGP + "set policy-options policy-statement OWN from protocol direct\nset policy-options policy-statement OWN then accept\n", []string{"network connected"}},
		{"nested policies", leafBGP + "set policy-options policy-statement OWN term a from policy IN\nset policy-options policy-statement OWN term a then accept\nset policy-options policy-statement IN from protocol direct\nset policy-options policy-statement IN from route-filter 10.2.0.0/16 orlonger\nset policy-options policy-statement IN then accept\n", []string{"network 10.2.0.0/16", "not: problem"}},
		{"routes of others", leafBGP + "set policy-options policy-statement OWN from protocol bgp\nset policy-options policy-statement OWN then accept\n", []string{"not: network "}},
		{"a policy after the last word", leafBGP + "set policy-options policy-statement OWN term a then reject\nset policy-options policy-statement OWN term b from protocol direct\nset policy-options policy-statement OWN term b then accept\n", []string{"not: network "}},
		{"a policy of nowhere", leafBGP + "set policy-options policy-statement OWM from protocol direct\n", []string{"problem undefined: policy-statement OWN", "not: network "}},
		{"paths", leafBGP + "set protocols bgp group f multipath multiple-as\nset routing-options forwarding-table export LB\nset policy-options policy-statement LB then load-balance per-packet\nset policy-options policy-statement OWN then reject\nset chassis maximum-ecmp 64\n", []string{"paths 64", "not: problem"}},
		{"paths that the forwarding table has not", leafBGP + "set protocols bgp group f multipath multiple-as\nset routing-options forwarding-table export LB\nset policy-options policy-statement LB then accept\nset policy-options policy-statement OWN then reject\n", []string{"paths 1", "problem inert: no policy that the forwarding table has"}},
		{"paths of several systems", leafBGP + "set protocols bgp group f multipath\nset protocols bgp group f neighbor 10.1.0.2 peer-as 65002\n", []string{"paths 1", "problem conflict: group f has multipath without multiple-as"}},
		{"a router id that is none", strings.Replace(leafBGP, "router-id 10.0.0.1", "router-id 10.0.0", 1), []string{"problem range: router-id is 10.0.0"}},
		{"words that nobody knows", leafBGP + "set protocols bgp group f frobnicate\nset protocols bgp group f neighbor 10.1.0.0 peer-sa 3\n", []string{"unread set protocols bgp group f frobnicate", "peer-sa 3"}},
		{"a session that is off", leafBGP + "set protocols bgp group f neighbor 10.1.0.0 shutdown\n", []string{"problem inert: the session with 10.1.0.0", "not: 10.1.0.0=65000"}},
		{"frames larger than their headroom", strings.Replace(roce, "{ pfc; }", "{ pfc { mru 2500; } }", 1) + "interfaces { et-0/0/1 { mtu 9216; } }\n", []string{"et-0/0/1 frames of 2500", "problem conflict: profile p sizes headroom for frames of 2500 bytes, and frames of et-0/0/1 may have 9216"}},
		{"frames larger than the headroom that nobody set", roce + "interfaces { et-0/0/1 { mtu 9216; } et-0/0/2 { mtu 9216; } }\n", []string{"problem conflict: profile p sizes headroom for frames of 2500 bytes"}},
		{"frames as large as their headroom", strings.Replace(roce, "{ pfc; }", "{ pfc { mru 9216; } }", 1) + "interfaces { et-0/0/1 { mtu 9216; } }\n", []string{"et-0/0/1 frames of 9216", "not: problem"}},
		{"a curve that does not begin at nothing", "class-of-service { drop-profiles { d { interpolate { fill-level [ 30 60 ]; drop-probability [ 50 100 ]; } } } }", []string{"d starts with 50", "problem conflict: drop profile d begins with 50 %"}},
		{"steps", "class-of-service { drop-profiles { d { fill-level 30 drop-probability 1; fill-level 60 drop-probability 100; } } }", []string{"d starts with 1", "not: problem"}},
		{"a threshold of a partition", "class-of-service { shared-buffer { egress { buffer-partition lossless { percent 100; dynamic-threshold 9; } } } }", []string{"egress lossless threshold 9"}},
		{"an address behind a tag", "interfaces { et-0/0/1 { flexible-vlan-tagging; unit 100 { vlan-id 100; family inet { address 10.0.0.1/31; } } } }", []string{"not: 10.0.0.1/31", "not: problem"}},
		{"a unit without its tag", "interfaces { et-0/0/1 { vlan-tagging; unit 1 { family inet { address 10.0.0.1/31; } } } }", []string{"problem conflict: et-0/0/1 has vlan-tagging, and unit 1 has no vlan-id"}},
		{"marks of packets that nobody colours", roce + "class-of-service { drop-profiles { d { interpolate { fill-level [ 30 60 ]; drop-probability [ 0 100 ]; } } } schedulers { s { explicit-congestion-notification; drop-profile-map { loss-priority high { protocol any { drop-profile d; } } } } } scheduler-maps { m { forwarding-class R scheduler s; } } interfaces { et-0/0/1 { scheduler-map m; } } }\n",
			[]string{"problem inert: scheduler s has drop profiles for packets of other loss priorities", "not: ecn=true"}},
		{"marks of packets that a classifier colours", strings.Replace(roce, "loss-priority low", "loss-priority high", 1) + "class-of-service { drop-profiles { d { interpolate { fill-level [ 30 60 ]; drop-probability [ 0 100 ]; } } } schedulers { s { explicit-congestion-notification; drop-profile-map { loss-priority high { protocol any { drop-profile d; } } } } } scheduler-maps { m { forwarding-class R scheduler s; } } interfaces { et-0/0/1 { scheduler-map m; } } }\n",
			[]string{"q4=weighted/?/ecn=true/drops=false/30-60/100", "not: problem"}},
		{"a renamed cage", "interfaces { et-0/0/2 { number-of-sub-ports 2; speed 400g; } et-0/0/1:0 { mtu 9216; } et-0/0/1:1 { mtu 9216; } }", []string{"problem conflict: et-0/0/1:0 is not a port", "problem conflict: et-0/0/1:1 is not a port"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := all(readJunos(c.text))
			for _, w := range c.want {
				if no, ok := strings.CutPrefix(w, "not: "); ok {
					if strings.Contains(got, no) {
						t.Errorf("%q is in\n%s", no, got)
					}
				} else if !strings.Contains(got, w) {
					t.Errorf("%q is not in\n%s", w, got)
				}
			}
		})
	}
}
