package intent

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// base is a valid file; the tests of bad input change one line of it.
const base = `apiVersion: railwright.dev/v1alpha1
kind: Cluster
metadata: {name: pod1}
platform: baremetal
nodes:
- {names: "host[1-2]", machine: xe9680-mi300x-thor2, nics: "eth[1-8]", ssh: {user: root}}
fabric:
  kind: roce
  addressing: {scheme: p2p31, pool: 10.64.0.0/16}
  leaf: {model: z9664f, os: sonic}
  traffic: {roce: {dscp: 26, priority: 3}}
waive:
- {rule: mtu, subject: "host1:eth1", reason: old cable, until: 2026-12-31}
`

func load(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

func TestParseFillsDefaults(t *testing.T) {
	got, err := Parse("cluster.yaml", []byte(base), load(t))
	if err != nil {
		t.Fatal(err)
	}
	want := &Cluster{
		APIVersion: fabric.APIVersion, Kind: "Cluster", Metadata: Metadata{Name: "pod1"},
		Platform: Baremetal, Launcher: SSH,
		Nodes: []NodeGroup{{Names: "host[1-2]", Machine: "xe9680-mi300x-thor2", NICs: "eth[1-8]", SSH: &SSHTarget{User: "root"}}},
		Fabric: Fabric{
			Kind:       fabric.RoCE,
			Addressing: &Addressing{Scheme: fabric.P2P31, Pool: netip.MustParsePrefix("10.64.0.0/16")},
			MTU:        9000,
			Leaf:       &Leaf{Model: "z9664f", OS: "sonic"},
			Traffic: &Traffic{RoCE: &Class{DSCP: 26, Priority: 3}, CNP: &Class{DSCP: 48, Priority: 7, Source: ClassSource},
				Share: 50, ShareSource: ShareSource, CableM: 5, CableSource: CableSource},
		},
		Waive: []Waiver{{Rule: "mtu", Subject: "host1:eth1", Reason: "old cable", Until: "2026-12-31"}},
	}
	if d := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
		t.Error(d)
	}
}

func TestDefaultsByPlatform(t *testing.T) {
	head := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: a}\n"
	tests := []struct {
		name, text string
		want       Fabric
		launcher   Launcher
		nics       string
	}{
		{"infiniband", "platform: baremetal\nnodes: [{names: a, machine: hgx-h100}]\nfabric: {kind: infiniband, leaf: {model: qm9700}}\n",
			Fabric{Kind: fabric.InfiniBand, MTU: 4092, PKey: "0x7fff", Addressing: &Addressing{Scheme: fabric.None}, Leaf: &Leaf{Model: "qm9700", OS: "mlnx-os"}},
			SSH, "ibs[65,67,69,71,73,75,77,79]"},
		{"gke", "platform: gke\nnodes: [{names: a, machine: a4-highgpu-8g}]\nfabric: {kind: roce}\n",
			Fabric{Kind: fabric.RoCE, MTU: 8896, Addressing: &Addressing{Scheme: fabric.None}},
			Kubernetes, "gpu[0-7]rdma0"},
		{"two systems on one switch", "platform: baremetal\nlauncher: slurm\nnodes: [{names: a, nics: eth0}]\nfabric: {kind: roce, leaf: {model: z9664f}}\n",
			Fabric{Kind: fabric.RoCE, MTU: 9000, Addressing: &Addressing{Scheme: fabric.P2P31, Pool: netip.MustParsePrefix("10.64.0.0/10")}, Leaf: &Leaf{Model: "z9664f"},
				Traffic: &Traffic{RoCE: &Class{DSCP: 26, Priority: 3, Source: ClassSource}, CNP: &Class{DSCP: 48, Priority: 7, Source: ClassSource},
					Share: 50, ShareSource: ShareSource, CableM: 5, CableSource: CableSource}},
			Slurm, "eth0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse("f", []byte(head+tt.text), load(t))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tt.want, c.Fabric, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
				t.Error(d)
			}
			if c.Launcher != tt.launcher || c.Nodes[0].NICs != tt.nics {
				t.Errorf("launcher %s, nics %s: want %s, %s", c.Launcher, c.Nodes[0].NICs, tt.launcher, tt.nics)
			}
		})
	}
}

// edit replaces one text of the valid file, which must be there once.
func edit(t *testing.T, old, replacement string) string {
	t.Helper()
	if strings.Count(base, old) != 1 {
		t.Fatalf("%q stands %d times in the valid file", old, strings.Count(base, old))
	}
	return strings.Replace(base, old, replacement, 1)
}

func TestSchemaProblems(t *testing.T) {
	tests := []struct {
		name, old, replacement string
		want                   []string
	}{
		{"unknown field", "  leaf:", "  mtuu: 9000\n  leaf:", []string{
			`c:10:3: fabric.mtuu: unknown field; did you mean "mtu"? known: kind, addressing, mtu, pkey, leaf, spine, traffic`}},
		{"unknown field, nothing near", "{dscp: 26,", "{zzzzzzzz: 1, dscp: 26,", []string{
			`c:11:20: fabric.traffic.roce.zzzzzzzz: unknown field; known: dscp, priority`}},
		{"unknown field of ECN", "priority: 3}", "priority: 3}, ecn: {min_kb: 1}", []string{
			`c:11:50: fabric.traffic.ecn.min_kb: unknown field; did you mean "min_kib"? known: min_kib, max_kib, probability`}},
		{"unknown field with a strange name", "metadata: {", "metadata: {\"a\\nb\": 1, ", []string{
			`c:3:12: metadata."a\nb": unknown field; known: name`}},
		{"wrong case", "platform:", "Platform:", []string{
			`c:1:1: platform: required field is missing: where the machines come from`,
			`c:4:1: Platform: unknown field; did you mean "platform"? known: apiVersion, kind, metadata, platform, launcher, nodes, fabric, nccl, serving, kubernetes, gke, vsphere, waive`}},
		{"enum", "baremetal", "bare-metal", []string{
			`c:4:11: platform: "bare-metal": unknown; did you mean "baremetal"? known: baremetal, vsphere, gke, spark`}},
		{"enum with a number", "scheme: p2p31", "scheme: 31", []string{
			`c:9:24: fabric.addressing.scheme: must be text, got a number: put it in quotes`}},
		{"version", "railwright.dev/v1alpha1", "railwright.dev/v1", []string{
			`c:1:13: apiVersion: "railwright.dev/v1": unknown; did you mean "railwright.dev/v1alpha1"? known: railwright.dev/v1alpha1`}},
		{"name", "pod1", "Pod_1", []string{
			`c:3:18: metadata.name: invalid value "Pod_1": must match ^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`}},
		{"long name", "pod1", strings.Repeat("a", 64), []string{`c:3:18: metadata.name: has 64 characters: at most 63 are allowed`}},
		{"long and wrong name", "pod1", strings.Repeat("A", 64), []string{`c:3:18: metadata.name: has 64 characters: at most 63 are allowed`}},
		{"number for text with a list", "pod1", "12", []string{`c:3:18: metadata.name: must be text, got a number: put it in quotes`}},
		{"type", `"host[1-2]"`, "[host1]", []string{`c:6:11: nodes[0].names: must be text, got a list`}},
		{"null", "kind: roce", "kind:", []string{`c:8:8: fabric.kind: must be text, got nothing`}},
		{"float", "dscp: 26", "dscp: 26.5", []string{`c:11:26: fabric.traffic.roce.dscp: must be a whole number, got a number`}},
		{"not finite", "dscp: 26", "dscp: .inf", []string{`c:11:26: fabric.traffic.roce.dscp: must be a finite number`}},
		{"negative DSCP", "dscp: 26", "dscp: -1", []string{`c:11:26: fabric.traffic.roce.dscp: is too small: the minimum is 0`}},
		{"negative priority", "priority: 3", "priority: -1", []string{`c:11:40: fabric.traffic.roce.priority: is too small: the minimum is 0`}},
		{"priority 8", "priority: 3", "priority: 8", []string{`c:11:40: fabric.traffic.roce.priority: is too large: the maximum is 7`}},
		{"CNP above 7", "priority: 3}", "priority: 3}, cnp: {dscp: 48, priority: 9}", []string{`c:11:70: fabric.traffic.cnp.priority: is too large: the maximum is 7`}},
		{"half a class", "priority: 3}", "priority: 3}, cnp: {dscp: 48}", []string{`c:11:49: fabric.traffic.cnp.priority: required field is missing: 802.1p priority`}},
		{"ECN minimum 0", "priority: 3}", "priority: 3}, ecn: {min_kib: 0}", []string{`c:11:59: fabric.traffic.ecn.min_kib: is too small: the minimum is 1`}},
		{"ECN maximum below 0", "priority: 3}", "priority: 3}, ecn: {max_kib: -1}", []string{`c:11:59: fabric.traffic.ecn.max_kib: is too small: the minimum is 1`}},
		{"ECN in megabytes of bytes", "priority: 3}", "priority: 3}, ecn: {min_kib: 2097152}", []string{`c:11:59: fabric.traffic.ecn.min_kib: is too large: the maximum is 1048576`}},
		{"ECN probability 0", "priority: 3}", "priority: 3}, ecn: {probability: 0}", []string{`c:11:63: fabric.traffic.ecn.probability: is too small: the minimum is 1`}},
		{"ECN probability 101", "priority: 3}", "priority: 3}, ecn: {probability: 101}", []string{`c:11:63: fabric.traffic.ecn.probability: is too large: the maximum is 100`}},
		{"share 0", "priority: 3}", "priority: 3}, share: 0", []string{`c:11:51: fabric.traffic.share: is too small: the minimum is 1`}},
		{"share 100", "priority: 3}", "priority: 3}, share: 100", []string{`c:11:51: fabric.traffic.share: is too large: the maximum is 99`}},
		{"watchdog below SONiC's range", "priority: 3}", "priority: 3}, watchdog: {detect_ms: 99}", []string{`c:11:66: fabric.traffic.watchdog.detect_ms: is too small: the minimum is 100`}},
		{"watchdog above SONiC's range", "priority: 3}", "priority: 3}, watchdog: {restore_ms: 60001}", []string{`c:11:67: fabric.traffic.watchdog.restore_ms: is too large: the maximum is 60000`}},
		{"PFC as a word", "priority: 3}", "priority: 3}, pfc: lossy", []string{`c:11:49: fabric.traffic.pfc: must be true or false, got text`}},
		{"PFC by its priority", "priority: 3}", "priority: 3}, pfc: 3", []string{`c:11:49: fabric.traffic.pfc: must be true or false, got a number`}},
		{"too large", "dscp: 26", "dscp: 64", []string{`c:11:26: fabric.traffic.roce.dscp: is too large: the maximum is 63`}},
		{"too small", "  leaf:", "  mtu: 1000\n  leaf:", []string{`c:10:8: fabric.mtu: is too small: the minimum is 1280`}},
		{"missing in a list", "rule: mtu, ", "", []string{`c:13:3: waive[0].rule: required field is missing: id of the rule`}},
		{"empty text", "reason: old cable", `reason: ""`, []string{`c:13:46: waive[0].reason: must not be empty`}},
		{"day that does not exist", "2026-12-31", "2026-02-30", []string{
			`c:13:64: waive[0].until: invalid date "2026-02-30": must be YYYY-MM-DD, such as 2026-12-31`}},
		{"no network", "10.64.0.0/16", "10.64.0.0", []string{
			`c:9:37: fabric.addressing.pool: "10.64.0.0" is not an IPv4 network such as 10.64.0.0/16`}},
		{"IPv6", "10.64.0.0/16", "fd00::/64", []string{
			`c:9:37: fabric.addressing.pool: "fd00::/64" is not an IPv4 network such as 10.64.0.0/16`}},
		{"ssh option", "user: root", `user: "-oProxyCommand=x"`, []string{
			`c:6:84: nodes[0].ssh.user: invalid value "-oProxyCommand=x": must match ^[A-Za-z_][A-Za-z0-9_.-]*$`}},
		{"no nodes", `- {names: "host[1-2]", machine: xe9680-mi300x-thor2, nics: "eth[1-8]", ssh: {user: root}}`, "  []", []string{
			`c:6:3: nodes: has 0 entries: at least 1 is required`}},
		{"key twice", "  leaf:", "  kind: roce\n  leaf:", []string{`c:10:3: fabric.kind: duplicate key: first on line 8`}},
		{"merge key", "  leaf:", "  <<: {mtu: 9000}\n  leaf:", []string{
			`c:10:3: fabric: merge keys (<<) are not supported: write the fields out, or use an alias for the whole value`}},
		{"tag", "pod1", "!secret pod1", []string{`c:3:18: metadata.name: unknown tag "!secret": remove it`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { wantProblems(t, edit(t, tt.old, tt.replacement), tt.want) })
	}
}

func TestTextProblems(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"empty", "", []string{`c:1:1: the file is empty`}},
		{"blank", "\n  \n", []string{`c:1:1: the file is empty`}},
		{"comments", "# nothing\n", []string{`c:1:1: the file holds only comments`}},
		{"null", "~\n", []string{`c:1:1: must be a mapping of fields, got nothing`}},
		{"list", "- a\n", []string{`c:1:1: must be a mapping of fields, got a list`}},
		{"not UTF-8", "kind: Cluster\nname: \"ä\xff\"\n", []string{`c:2:9: byte 0xff is not UTF-8: save the file as UTF-8`}},
		{"control character", "kind: a\x00b\n", []string{`c:1:8: control character U+0000 is not allowed in YAML`}},
		{"tab", "kind: Cluster\nfabric:\n\tkind: roce\n", []string{`c:3:1: a tab is used for indentation: YAML allows only spaces there`}},
		{"tab after a plain scalar", "fabric:\n  kind: roce\n\tmtu: 9000\n", []string{`c:3:1: a tab is used for indentation: YAML allows only spaces there`}},
		{"tab after spaces", "fabric:\n  \tkind: roce\n", []string{`c:2:3: a tab is used for indentation: YAML allows only spaces there`}},
		{"scanner error", "kind: Cluster\n  name: a\n", []string{`c:2:3: invalid YAML: mapping values are not allowed in this context`}},
		{"scanner error on the first line", "a: b: c\n", []string{`c:1:1: invalid YAML: mapping values are not allowed in this context`}},
		{"parser error", "a: [1,2\nb: 3\n", []string{`c:2:1: invalid YAML: did not find expected ',' or ']'`}},
		{"unknown anchor", "a: 1\nb: [1, *x]\n", []string{`c:2:8: invalid YAML: unknown anchor 'x' referenced`}},
		{"two documents", base + "---\n" + base, []string{`c:14:1: a second YAML document starts here: one file holds one cluster`}},
		{"cut within a line", strings.TrimSuffix(base, "1}\n"), []string{
			`c:13:1: invalid YAML: did not find expected ',' or '}'`,
			`c:13:73: the file ends in the middle of a line: it may have been cut; end the last line with a newline`}},
		{"cut at the end of a value", strings.TrimSuffix(base, "\n"), []string{
			`c:13:75: the file ends in the middle of a line: it may have been cut; end the last line with a newline`}},
		{"too long", strings.Repeat("#", maxFile+1), []string{`c:1:1: the file has 1048577 bytes: at most 1048576 (1 MiB) are read`}},
		{"anchor in itself", "kind: &a [*a]\n", []string{
			`c:1:1: apiVersion: required field is missing: version of this format`,
			`c:1:1: fabric: required field is missing: the network between the GPUs`,
			`c:1:1: metadata: required field is missing: name of the cluster`,
			`c:1:1: nodes: required field is missing: groups of identical machines`,
			`c:1:1: platform: required field is missing: where the machines come from`,
			`c:1:7: kind: must be text, got a list`,
			`c:1:11: kind[0]: anchor "a" contains itself`}},
		{"deep", "a: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.want != nil {
				wantProblems(t, tt.text, tt.want)
			} else if _, err := Parse("c", []byte(tt.text), load(t)); err == nil || !strings.Contains(err.Error(), "nested deeper than 32 levels") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// A bomb of aliases is refused before it fills the memory; a plain alias is taken.
func TestAliases(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c <= 'j'; c++ {
		bomb += fmt.Sprintf("%c: &%c [%s*%c]\n", c, c, strings.Repeat(fmt.Sprintf("*%c,", c-1), 9), c-1)
	}
	_, err := Parse("c", []byte(bomb), load(t))
	if err == nil || !strings.Contains(err.Error(), "the file holds more than 100000 values, counting what aliases repeat") {
		t.Errorf("bomb: got %v", err)
	}
	text := strings.Replace(edit(t, "fabric:\n", "- {names: other, nics: eth1, ssh: *s}\nfabric:\n"), "ssh: {user", "ssh: &s {user", 1)
	c, err := Parse("c", []byte(text), load(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Nodes[1].SSH; got == nil || *got != (SSHTarget{User: "root"}) {
		t.Errorf("ssh is %+v", got)
	}
}

// Problems of the text, the schema and the meaning come together, in the order of the file.
func TestAllProblemsAtOnce(t *testing.T) {
	text := strings.NewReplacer("baremetal", "metal", "nics: \"eth[1-8]\"", "nics: \"eth1;reboot\"", "z9664f", "z9665f", "p2p31,", "p2p31, gateway: x,").Replace(base)
	wantProblems(t, strings.TrimSuffix(text, "\n"), []string{
		`c:4:11: platform: "metal": unknown; did you mean "baremetal"? known: baremetal, vsphere, gke, spark`,
		`c:6:60: nodes[0].nics: NIC name "eth1;reboot" has the character ';': allowed are letters, digits and '.' '_' '-'`,
		`c:9:31: fabric.addressing.gateway: unknown field; known: scheme, pool`,
		`c:10:17: fabric.leaf.model: switch "z9665f" is not in the catalog; did you mean "z9664f"? known: ` + switches(t),
		`c:13:75: the file ends in the middle of a line: it may have been cut; end the last line with a newline`,
	})
}

func wantProblems(t *testing.T, text string, want []string) {
	t.Helper()
	c, err := Parse("c", []byte(text), load(t))
	var problems *Errors
	if !errors.As(err, &problems) {
		t.Fatalf("got cluster %v, error %v: want problems", c, err)
	}
	if d := cmp.Diff(want, strings.Split(problems.Error(), "\n")); d != "" {
		t.Error(d)
	}
	if c != nil {
		t.Error("a cluster came back beside the problems")
	}
}

// FuzzParse: no input makes Parse panic or fail other than with placed problems, and what it accepts it
// accepts again from its own values, unchanged.
func FuzzParse(f *testing.F) {
	cat := load(f)
	f.Add([]byte(base))
	f.Add([]byte("a: &a [*a]\n? [x]\n: y\n<<: *a\n"))
	f.Add([]byte("nodes: [{names: \"a[1-\"}]\nfabric: {addressing: {pool: 0.0.0.0/0}}\n"))
	f.Add([]byte("metadata: {\"\\0/~\": .nan}\nplatform: !!int x"))
	for _, name := range Examples() {
		text, err := Example(name, 0, cat)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := Parse("c", text, cat)
		if err != nil {
			var problems *Errors
			if !errors.As(err, &problems) || len(*problems) == 0 {
				t.Fatalf("no problems but %v", err)
			}
			for _, p := range *problems {
				if p.Line < 1 || p.Column < 1 || p.Message == "" || strings.Contains(p.String(), "\n") {
					t.Errorf("problem %+v", p)
				}
			}
			return
		}
		again, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Parse("c", again, cat)
		if err != nil {
			t.Fatalf("%v in\n%s", err, again)
		}
		// What was a default is stated in the second file.
		sources := cmp.Options{cmpopts.IgnoreFields(Class{}, "Source"), cmpopts.IgnoreFields(Traffic{}, "ShareSource", "CableSource"),
			cmpopts.IgnoreFields(ECN{}, "Defaults"), cmpopts.IgnoreFields(Watchdog{}, "Defaults")}
		if d := cmp.Diff(c, second, sources, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); d != "" {
			t.Error(d)
		}
	})
}
