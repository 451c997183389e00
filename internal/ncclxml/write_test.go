package ncclxml

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func textOf(t *testing.T, d *Document) string {
	t.Helper()
	var b bytes.Buffer
	n, err := d.WriteTo(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(b.Len()) {
		t.Errorf("WriteTo says %d bytes of %d", n, b.Len())
	}
	return b.String()
}

func TestDocumentWriteTo(t *testing.T) {
	system := &Element{Name: "system", Attributes: []Attribute{{"version", "1"}}}
	cpu := system.Add("cpu", Attribute{"numaid", "-1"})
	cpu.Add("nic").Add("net", Attribute{"name", "eth0"})
	want := `<system version="1">
  <cpu numaid="-1">
    <nic>
      <net name="eth0"/>
    </nic>
  </cpu>
</system>
`
	if got := textOf(t, &Document{Roots: []*Element{system}}); got != want {
		t.Errorf("wrote\n%swant\n%s", got, want)
	}
}

// chain returns elements below each other.
func chain(names ...string) *Element {
	root := &Element{Name: names[0]}
	at := root
	for _, name := range names[1:] {
		at = at.Add(name)
	}
	return root
}

func TestDocumentRefused(t *testing.T) {
	with := func(a ...Attribute) []*Element { return []*Element{{Name: "system", Attributes: a}} }
	many := func(parent string, n int) []*Element {
		root := chain("system", "cpu")
		p := root.Children[0]
		if parent != "cpu" {
			p = p.Add(parent)
		}
		for i := range n {
			p.Add("pci", Attribute{"busid", fmt.Sprint(i)})
		}
		return []*Element{root}
	}
	var attributes []Attribute
	for i := range 17 {
		attributes = append(attributes, Attribute{fmt.Sprintf("a%d", i), "1"})
	}
	ring := chain("system", "cpu", "pci")
	ring.Children[0].Children[0].Children = ring.Children
	for _, c := range []struct {
		name  string
		roots []*Element
		want  string // empty: it is taken
	}{
		{"no root", nil, "has 0 root elements"},
		{"two roots", []*Element{{Name: "system"}, {Name: "system"}}, "has 2 root elements"},
		{"longest value", with(Attribute{"name", strings.Repeat("x", 253)}), ""},
		{"value too long", with(Attribute{"name", strings.Repeat("x", 254)}), "value has 254 bytes, NCCL accepts at most 253"},
		{"name too long", with(Attribute{strings.Repeat("x", 254), ""}), "name has 254 bytes"},
		{"quote", with(Attribute{"name", `a"b`}), `contains '"'`},
		{"single quote", with(Attribute{"name", `a'b`}), `contains '\''`},
		{"less", with(Attribute{"name", "a<b"}), `contains '<'`},
		{"greater", with(Attribute{"name", "a>b"}), `contains '>'`},
		{"ampersand", with(Attribute{"name", "a&b"}), `contains '&'`},
		{"newline", with(Attribute{"name", "a\nb"}), `contains '\n'`},
		{"tab", with(Attribute{"name", "a\tb"}), `contains '\t'`},
		{"not ASCII", with(Attribute{"name", "é"}), "cannot quote"},
		{"blank in a name", with(Attribute{"a b", "1"}), `contains ' '`},
		{"no name", with(Attribute{"", "1"}), "name is empty"},
		{"twice", with(Attribute{"a", "1"}, Attribute{"a", "2"}), "duplicate"},
		{"16 attributes", with(attributes[:16]...), ""},
		{"17 attributes", with(attributes...), "has 17 attributes, NCCL accepts at most 16"},
		{"element without a name", []*Element{{}}, "name is empty"},
		{"nil", []*Element{nil}, "an element is nil"},
		{"128 children", many("cpu", 128), ""},
		{"256 elements", crowded(2, 127), `<pci "1/125">: is element 256, NCCL accepts at most 255`},
		{"129 children", many("cpu", 129), `<cpu>: has 129 children, NCCL accepts at most 128`},
		{"300 elements that NCCL ignores", many("pcie", 300), ""},
		{"a ring", []*Element{ring}, "is nested more than 63 deep"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b bytes.Buffer
			_, err := (&Document{Roots: c.roots}).WriteTo(&b)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			case c.want != "" && b.Len() > 0:
				t.Errorf("wrote %d bytes of a document that it refuses", b.Len())
			}
		})
	}
}

// crowded is a document of so many CPUs with so many devices each, and a device more.
func crowded(cpus, devices int) []*Element {
	root := &Element{Name: "system"}
	for c := range cpus {
		cpu := root.Add("cpu")
		for d := range devices {
			cpu.Add("pci", Attribute{"busid", fmt.Sprintf("%d/%d", c, d)})
		}
	}
	return []*Element{root}
}
