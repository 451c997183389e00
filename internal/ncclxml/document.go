package ncclxml

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Document is a topology file as NCCL's parser sees it, with the lines that errors refer to.
type Document struct {
	Roots []*Element // of a valid file one <system>
	Notes []Note     // what NCCL ignores, in order; at most noteLimit
}

// Element is one element of a Document.
type Element struct {
	Name       string
	Line       int // from 1; 0 for one that was not read
	Attributes []Attribute
	Children   []*Element
	Parent     *Element
	lines      []int // of the attributes, where they are not all on Line
	Unnamed    int   // attributes without a name, which NCCL creates from stray blanks: they occupy slots
}

// Attribute is a name and its value as written.
type Attribute struct {
	Name, Value string
}

// Note is something in a file whose content NCCL ignores: it continues, with at most an INFO line
// in its log.
type Note struct {
	Kind    Kind
	Line    int
	Text    string // as written, or the name of what is ignored
	Message string // NCCL's message, where it has one
	Lost    string // of an ignored element: the first element that NCCL knows in what is ignored, itself included; empty: none
}

// Get returns the value of an attribute; ok is false where it is missing. Of duplicates it is the
// first, as in NCCL.
func (e *Element) Get(name string) (value string, ok bool) {
	for _, a := range e.Attributes {
		if a.Name == name {
			return a.Value, true
		}
	}
	return "", false
}

// Set changes or adds an attribute.
func (e *Element) Set(name, value string) {
	for i, a := range e.Attributes {
		if a.Name == name {
			e.Attributes[i].Value = value
			return
		}
	}
	e.Attributes = append(e.Attributes, Attribute{name, value})
}

// Add appends a child and returns it.
func (e *Element) Add(name string, attributes ...Attribute) *Element {
	child := &Element{Name: name, Attributes: attributes, Parent: e}
	e.Children = append(e.Children, child)
	return child
}

// AttributeLine returns the line of an attribute; that of the tag where nothing else is known.
func (e *Element) AttributeLine(name string) int {
	return e.LineOf(slices.IndexFunc(e.Attributes, func(a Attribute) bool { return a.Name == name }))
}

// LineOf returns the line of an attribute by its index; that of the tag where nothing else is known.
func (e *Element) LineOf(i int) int {
	if i >= 0 && i < len(e.lines) {
		return e.lines[i]
	}
	return e.Line
}

// Title names an element in an error: by its line where it was read, its name, and its distinguishing attribute.
func (e *Element) Title() string {
	text := Excerpt(e.Name)
	for _, key := range []string{"busid", "numaid", "name", "target", "dev"} {
		if value, ok := e.Get(key); ok {
			text += " " + fabric.Quote(value)
			break
		}
	}
	if e.Line > 0 {
		return fmt.Sprintf("line %d: <%s>", e.Line, text)
	}
	return "<" + text + ">"
}

// All returns the elements of this name, depth first, in the order of the file.
func (d *Document) All(name string) []*Element {
	var found []*Element
	for _, root := range d.Roots {
		root.walk(func(e *Element) {
			if e.Name == name {
				found = append(found, e)
			}
		})
	}
	return found
}

// InOrder returns all elements, depth first.
func (d *Document) InOrder() []*Element {
	var all []*Element
	for _, root := range d.Roots {
		root.walk(func(e *Element) { all = append(all, e) })
	}
	return all
}

// Below returns this element and those below it that have this name.
func (e *Element) Below(name string) []*Element {
	return (&Document{Roots: []*Element{e}}).All(name)
}

func (e *Element) walk(f func(*Element)) {
	f(e)
	for _, child := range e.Children {
		child.walk(f)
	}
}

// ChildrenOf returns the direct children of this name.
func (e *Element) ChildrenOf(name string) []*Element {
	var found []*Element
	for _, child := range e.Children {
		if child.Name == name {
			found = append(found, child)
		}
	}
	return found
}

// Written returns the element itself, or the nearest element around it that is in the file.
func (e *Element) Written() *Element {
	for e.Line == 0 && e.Parent != nil {
		e = e.Parent
	}
	return e
}

// Above returns the nearest element of this name above this one, nil where there is none.
func (e *Element) Above(name string) *Element {
	for p := e.Parent; p != nil; p = p.Parent {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Tag formats the tag of an element.
func (e *Element) Tag() string {
	text := "<" + e.Name
	for _, a := range e.Attributes {
		text += " " + a.Name + `="` + a.Value + `"`
	}
	return text + ">"
}
