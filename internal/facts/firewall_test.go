package facts

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestFilterRules reads rules as nft and iptables write them; - says that no new TCP connection over IPv4 from another host
// meets the rule, or that it decides nothing.
func TestFilterRules(t *testing.T) {
	nft := func(line string) string {
		text := "table inet t {\n\tchain input {\n\t\ttype filter hook input priority 0; policy drop;\n\t\t" + line + "\n\t}\n}\n"
		f, err := parseNft(text, "")
		return filterText(f, err)
	}
	iptables := func(line string) string {
		f, err := parseIptables("-P INPUT DROP\n-A INPUT "+line+"\n", "")
		return filterText(f, err)
	}
	for _, c := range []struct {
		reader     func(string) string
		line, want string
	}{
		{nft, `accept`, "accept"},
		{nft, `iifname "lo" accept`, "-"},
		{nft, `iifname != "lo" drop`, "drop"},
		{nft, `iifname { "eth1", "eth2" } accept`, "in eth1,eth2 accept"},
		{nft, `iifname "eth*" accept`, "in eth* accept"},
		{nft, `iifname != "eth1" drop`, "partly drop"},
		{nft, `ip saddr 10.0.0.0/8 tcp dport 1-65535 accept`, "from 10.0.0.0/8 accept"},
		{nft, `ip saddr != 10.0.0.0/8 drop`, "partly drop"},
		{nft, `ip saddr { 10.0.0.1, 10.1.0.0-10.1.0.9 } drop`, "partly drop"},
		{nft, `ip saddr @blocked drop`, "partly drop"},
		{nft, `tcp dport 22 drop`, "-"},
		{nft, `tcp dport { 22, 40000 } drop`, "partly drop"},
		{nft, `tcp dport != 22 drop`, "drop"},
		{nft, `tcp dport @ports drop`, "partly drop"},
		{nft, `tcp dport ssh accept`, "-"},
		{nft, `udp dport 4791 drop`, "-"},
		{nft, `ct state established,related accept`, "-"},
		{nft, `ct state { new, untracked } accept`, "accept"},
		{nft, `ct state != { established, related } drop`, "drop"},
		{nft, `ct state invalid drop`, "-"},
		{nft, `ct state vmap { established : accept, new : jump x }`, "partly accept; partly drop"},
		{nft, `ct state vmap @states`, "partly accept; partly drop"},
		{nft, `iifname vmap { "lo" : accept, "eth1" : drop }`, "partly accept; partly drop"},
		{nft, `ip saddr . tcp dport { 10.0.0.1 . 22 } accept`, "partly accept"},
		{nft, `meta l4proto . th dport { tcp . 40000 } drop`, "partly drop"},
		{nft, `meta l4proto { icmp, ipv6-icmp } accept`, "-"},
		{nft, `meta l4proto tcp counter packets 4 bytes 240 reject with tcp reset`, "drop"},
		{nft, `ip6 saddr fe80::/10 accept`, "-"},
		{nft, `log prefix "drop it; accept" group 0 drop`, "drop"},
		{nft, `limit rate over 10/second burst 5 packets drop`, "partly drop"},
		{nft, `meta mark 0x1 accept`, "partly accept"},
		{nft, `fib daddr type local accept`, "accept"},
		{nft, `fib daddr type { broadcast, multicast } drop`, "-"},
		{nft, `counter packets 1 bytes 2 comment "accept"`, "-"},
		{nft, `xt match "addrtype" drop`, "partly drop"},
		{nft, `jump elsewhere`, "jump inet t elsewhere"},
		{iptables, `-j ACCEPT`, "accept"},
		{iptables, `-i lo -j ACCEPT`, "-"},
		{iptables, `! -i lo -j DROP`, "drop"},
		{iptables, `-s 10.0.0.0/8 -i eth+ -j ACCEPT`, "in eth* from 10.0.0.0/8 accept"},
		{iptables, `! -s 10.0.0.0/8 -j DROP`, "partly drop"},
		{iptables, `-p tcp -m tcp --dport 22 -j DROP`, "-"},
		{iptables, `-p tcp -m multiport --dports 22,1:65535 -j DROP`, "drop"},
		{iptables, `-p udp -j DROP`, "-"},
		{iptables, `-m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT`, "-"},
		{iptables, `-m state ! --state NEW -j DROP`, "-"},
		{iptables, `-p tcp -m tcp --tcp-flags FIN,SYN,RST,ACK SYN -j DROP`, "drop"},
		{iptables, `-p tcp -m tcp ! --tcp-flags FIN,SYN,RST,ACK SYN -j DROP`, "-"},
		{iptables, `-m recent --update --seconds 60 --name X -j DROP`, "partly drop"},
		{iptables, `-m comment --comment "-j ACCEPT" -j DROP`, "drop"},
		{iptables, `-j LOG --log-prefix "x "`, "-"},
		{iptables, `-g KUBE-FIREWALL`, "goto filter KUBE-FIREWALL"},
	} {
		if got := c.reader(c.line); got != c.want {
			t.Errorf("%s: %q, want %q", c.line, got, c.want)
		}
	}
}

func filterText(f fabric.Facts, err error) string {
	if err != nil {
		return err.Error()
	}
	var texts []string
	for _, r := range f.Firewall.Chains[0].Rules {
		texts = append(texts, r.String())
	}
	if len(texts) == 0 {
		return "-"
	}
	return strings.Join(texts, "; ")
}

// TestNftCut: a ruleset that ends inside a table is refused, wherever it ends, and so is one of more rules than are kept.
func TestNftCut(t *testing.T) {
	text, err := os.ReadFile("testdata/tools/nft.txt")
	if err != nil {
		t.Fatal(err)
	}
	whole := map[int]bool{len(text): true, len(text) - 1: true}
	for at := 0; ; at++ {
		next := strings.Index(string(text[at:]), "\n}\n")
		if next < 0 {
			break
		}
		at += next
		whole[at+2], whole[at+3] = true, true // behind a table
	}
	for n := range text {
		if f, err := parseNft(string(text[:n]), ""); err == nil && !whole[n] {
			t.Fatalf("cut after %d bytes: read as %+v", n, f.Firewall)
		}
	}
	var many strings.Builder
	many.WriteString("table ip t {\n\tchain input {\n\t\ttype filter hook input priority 0; policy accept;\n")
	for i := range 10000 {
		fmt.Fprintf(&many, "\t\tip saddr 10.0.%d.%d drop\n", i/256, i%256)
	}
	if _, err := parseNft(many.String()+"\t}\n}\n", ""); err == nil || !strings.Contains(err.Error(), "more than 120 rules") {
		t.Errorf("10,000 rules: %v", err)
	}
	if f, err := parseNft("table ip t {\n\tset s {\n\t\ttype ipv4_addr\n\t\telements = { "+strings.Repeat("10.0.0.1,\n\t\t\t     ", 10000)+"10.0.0.2 }\n\t}\n}\n", ""); err != nil || len(f.Firewall.Chains) != 0 {
		t.Errorf("a large set: %v", err)
	}
}
