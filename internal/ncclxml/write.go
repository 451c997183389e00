package ncclxml

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Limits of NCCL's parser (NVIDIA/nccl 2.28 to 2.30, src/graph/xml.h, xml.cc and topo.h). They are
// slightly below its array sizes: a value needs its closing quote inside 254 bytes, and the element after the
// last must still have a slot, even if it is only a closing tag.
const (
	TextLimit      = 253 // bytes of a name or a value
	AttributeLimit = 16  // of an element; the rest is dropped silently
	ChildLimit     = 128 // of an element, as in 2.28; 2.30 allows 640
	ElementLimit   = 255 // of a file that it keeps; what it ignores is not counted
)

// MaxDepth bounds the depth to which a Document is followed: a PCI tree has ten levels, a loop of elements has
// no end.
const MaxDepth = 64

// WriteTo writes the document in the form that NCCL's parser accepts and its own dump has: no declaration, one
// element per line, two blanks per level, double quotes. It refuses what that parser would refuse or misread: no
// or several roots, a name or a value that is too long or contains a character with a meaning in XML, too many
// attributes, children or elements. Nothing is written then.
func (d *Document) WriteTo(w io.Writer) (int64, error) {
	if len(d.Roots) != 1 {
		return 0, fmt.Errorf("topology document: has %d root elements, NCCL accepts 1", len(d.Roots))
	}
	var x writer
	if err := x.element(d.Roots[0], "", 0); err != nil {
		return 0, fmt.Errorf("topology document: %w", err)
	}
	n, err := w.Write(x.b.Bytes())
	return int64(n), err
}

// writer collects the text and counts the elements that NCCL would keep.
type writer struct {
	b    bytes.Buffer
	kept int
}

// ignored is the parent of what NCCL ignores.
const ignored = "!"

func (x *writer) element(e *Element, parent string, depth int) error {
	if err := checkElement(e, depth); err != nil {
		return err
	}
	self := ignored
	if keptBelow(parent, e.Name) {
		self = e.Name
		x.kept++
	}
	if x.kept > ElementLimit {
		return fmt.Errorf("%s: is element %d, NCCL accepts at most %d", e.Title(), x.kept, ElementLimit)
	}
	children := 0
	for _, child := range e.Children {
		if child != nil && keptBelow(self, child.Name) {
			children++
		}
	}
	if children > ChildLimit {
		return fmt.Errorf("%s: has %d children, NCCL accepts at most %d", e.Title(), children, ChildLimit)
	}
	indent := strings.Repeat("  ", depth)
	x.b.WriteString(indent + "<" + e.Name)
	for _, a := range e.Attributes {
		x.b.WriteString(" " + a.Name + `="` + a.Value + `"`)
	}
	if len(e.Children) == 0 {
		x.b.WriteString("/>\n")
		return nil
	}
	x.b.WriteString(">\n")
	for _, child := range e.Children {
		if err := x.element(child, self, depth+1); err != nil {
			return err
		}
	}
	x.b.WriteString(indent + "</" + e.Name + ">\n")
	return nil
}

// keptBelow returns which elements the parsers of NCCL and RCCL keep below a parent; they ignored all others
// (src/graph/xml.cc, the handlers of ncclTopoXmlLoad and ncclTopoXmlGraphLoad).
func keptBelow(parent, name string) bool {
	switch parent {
	case "":
		return name == "system" || name == "graphs"
	case "system":
		return name == "cpu"
	case "cpu":
		return name == "pci" || name == "nic"
	case "pci":
		return name == "pci" || name == "gpu" || name == "nic" || name == "pcilink"
	case "gpu":
		return name == "nvlink" || name == "xgmi" || name == "c2c"
	case "nic":
		return name == "net"
	case "graphs":
		return name == "graph"
	case "graph":
		return name == "channel"
	case "channel":
		return name == "net" || name == "gpu"
	default:
		return false
	}
}

func checkElement(e *Element, depth int) error {
	switch {
	case e == nil:
		return errors.New("an element is nil")
	case depth >= MaxDepth:
		return fmt.Errorf("%s: is nested more than %d deep", e.Title(), MaxDepth-1)
	case len(e.Attributes) > AttributeLimit:
		return fmt.Errorf("%s: has %d attributes, NCCL accepts at most %d", e.Title(), len(e.Attributes), AttributeLimit)
	}
	if err := checkName(e.Name); err != nil {
		return fmt.Errorf("%s: %w", e.Title(), err)
	}
	seen := map[string]bool{}
	for _, a := range e.Attributes {
		err := cmp.Or(checkName(a.Name), checkText("value", a.Value, valueCharacter))
		if err == nil && seen[a.Name] {
			err = errors.New("duplicate, NCCL reads the first")
		}
		if err != nil {
			return fmt.Errorf("%s: attribute %s: %w", e.Title(), fabric.Quote(a.Name), err)
		}
		seen[a.Name] = true
	}
	return nil
}

func checkName(name string) error {
	if name == "" {
		return errors.New("name is empty")
	}
	return checkText("name", name, nameCharacter)
}

func checkText(what, text string, allowed func(byte) bool) error {
	if len(text) > TextLimit {
		return fmt.Errorf("%s has %d bytes, NCCL accepts at most %d", what, len(text), TextLimit)
	}
	for i := range len(text) {
		if !allowed(text[i]) {
			return fmt.Errorf("%s %s contains %q, which NCCL's parser cannot quote", what, fabric.Quote(text), text[i])
		}
	}
	return nil
}

// valueCharacter allows printable ASCII except what ends a value or a tag. NCCL does not decode entities, so it reads
// & literally, which is an error to every other reader.
func valueCharacter(c byte) bool {
	return c >= ' ' && c < 0x7f && !strings.ContainsRune(`"'<>&`, rune(c))
}

func nameCharacter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}
