package nccllint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
)

// Change is one thing that Fix has fixed, or has found and left.
type Change struct {
	Line int    // of the input
	What string // what was changed
	Why  string
	Left bool // unchanged: any change would be a guess
}

// LeftError is what Fix could not fix: its output is better, but NCCL still refuses or misreads it.
type LeftError struct {
	Status   fabric.Status    // of the fixed text: Fail or Unknown
	Findings []fabric.Finding // all that failed; where none did, what is unknown
}

// Error names the first of them.
func (e *LeftError) Error() string {
	if len(e.Findings) == 0 {
		return "topology file: cannot be fixed"
	}
	f := e.Findings[0]
	where := ""
	if len(f.Evidence) > 0 {
		where = f.Evidence[0].Source + ": "
	}
	return fmt.Sprintf("topology file: %s cannot be fixed without guessing, the first %s%s: %s", fabric.Count(len(e.Findings), "problem"), where, f.ID, f.Why)
}

// Fix fixes a topology file as far as that needs no guess: it adds missing parts of tags, removes what is not a
// tag, and writes names, addresses and speeds as NCCL reads them. It never adds a device. A valid text
// is returned byte for byte, and so is one that cannot be interpreted; Fix is idempotent.
// The error is a *LeftError where the fixed text does not pass a Check with the same parts.
func Fix(text []byte, parts *catalog.Catalog) (fixed []byte, changes []Change, err error) {
	fixed, changes = fixOnce(text)
	_, refused := ncclxml.Parse(text)
	_, stillRefused := ncclxml.Parse(fixed)
	if again, _ := fixOnce(fixed); !slices.Equal(again, fixed) || refused == nil && stillRefused != nil {
		fixed, changes = text, nil // it does not converge, or the input was better: it was not understood
	}
	found := Check([]File{{Name: "line", Text: fixed}}, parts)
	status := found.Summary.Status()
	if status == fabric.Pass {
		return fixed, changes, nil
	}
	left := &LeftError{Status: status}
	for _, f := range found.Findings {
		if f.Status == status {
			left.Findings = append(left.Findings, f)
		}
	}
	return fixed, changes, left
}

// fixOnce is one round of Fix.
func fixOnce(text []byte) ([]byte, []Change) {
	_, refused := ncclxml.Parse(text)
	r := ncclxml.Recover(text)
	if r.Cut != "" || refused != nil && len(r.Document.Roots) == 0 || slices.ContainsFunc(r.Problems, isLost) {
		return text, nil
	}
	var changes []Change
	if r.Encoding != "" {
		changes = append(changes, Change{Line: 1, What: "UTF-8 instead of " + r.Encoding, Why: "NCCL reads bytes, and the first byte is not <."})
	}
	for _, p := range r.Problems {
		if p.Stop > 0 && refused == nil {
			return text, nil // NCCL accepts it: there is no real damage
		}
		if p.Fix != "" {
			changes = append(changes, Change{Line: p.Line, What: fabric.Printable(p.Fix + ": " + p.Text), Why: fabric.Printable(whyFixed(p))})
		}
	}
	m := fixer{tags: r.Tags, damaged: slices.ContainsFunc(r.Problems, ncclxml.Problem.IsDamage), isRCCL: ncclxml.IsRCCL(r.Text)}
	m.all()
	changes = append(changes, m.changes...)
	if !slices.ContainsFunc(changes, func(c Change) bool { return !c.Left }) {
		return text, nil
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return a.Line - b.Line })
	return r.Rewrite(m.tags), changes
}

// isLost reports whether text may be the rest of an element: without it a device would be missing.
func isLost(p ncclxml.Problem) bool { return p.Kind == ncclxml.KindText && p.Fix == "" }

func whyFixed(p ncclxml.Problem) string {
	switch {
	case p.Detail != "" && p.Message != "":
		return capital(p.Detail) + ". NCCL: " + p.Message
	case p.Detail != "":
		return capital(p.Detail) + "."
	default:
		return "NCCL: " + p.Message
	}
}

// fixer fixes one tag after the other.
type fixer struct {
	tags    []ncclxml.Tag
	damaged bool
	isRCCL  bool
	changes []Change
}

func (m *fixer) all() {
	m.numaNodes()
	for i := range m.tags {
		t := &m.tags[i]
		if t.Comment != "" || t.Kind == ncclxml.TagClose {
			continue
		}
		m.names(t)
		for k := range t.Attributes {
			m.value(t, &t.Attributes[k])
		}
		m.duplicates(t)
		if t.Name == "system" && !t.Has("version") {
			version := ncclxml.NCCLVersion
			if m.isRCCL {
				version = ncclxml.RCCLVersion
			}
			t.Attributes = append(t.Attributes, ncclxml.TagAttribute{Name: "version", Value: strconv.Itoa(version), Line: t.Line})
			m.change(t, t.Line, fmt.Sprintf("version=%q added", strconv.Itoa(version)), "Attribute version of node system not found; only one version exists.")
		}
	}
}

func (m *fixer) change(t *ncclxml.Tag, line int, what, why string) {
	t.Changed = true
	m.changes = append(m.changes, Change{Line: line, What: what, Why: why})
}

// numaNodes numbers CPUs whose number is lost in the order of the file, as in NCCL's own dump and every known
// file, with the numbers that no other CPU has.
func (m *fixer) numaNodes() {
	taken := map[int64]bool{}
	var lost []*ncclxml.Tag
	for i := range m.tags {
		t := &m.tags[i]
		if t.Name != "cpu" || t.Kind == ncclxml.TagClose || t.Comment != "" {
			continue
		}
		if number, ok := t.Element().Get("numaid"); ok {
			taken[ncclxml.Strtol(number, 0)] = true
		} else {
			lost = append(lost, t)
		}
	}
	next := int64(0)
	for _, t := range lost {
		for taken[next] {
			next++
		}
		taken[next] = true
		number := strconv.FormatInt(next, 10)
		t.Attributes = slices.Insert(t.Attributes, 0, ncclxml.TagAttribute{Name: "numaid", Value: number, Line: t.Line})
		m.change(t, t.Line, fmt.Sprintf("numaid=%q added", number),
			"NCCL needs the number, which is lost; CPUs were numbered in the order of the file. Compare with numactl --hardware: NCCL binds threads by it.")
	}
}

// names fixes attributes that differ by one letter from the only possible one.
func (m *fixer) names(t *ncclxml.Tag) {
	if !ncclxml.IsElement(t.Name) {
		return
	}
	for k := range t.Attributes {
		a := &t.Attributes[k]
		if slices.Contains(ncclxml.KnownAttributes(t.Name), a.Name) {
			continue
		}
		if meant := misspelt(t.Element(), a.Name); meant != "" {
			m.change(t, a.Line, fmt.Sprintf("%s instead of %s=%q", meant, a.Name, ncclxml.Excerpt(a.Value)), "NCCL silently ignores unknown attributes.")
			a.Name = meant
		}
	}
}

// duplicates removes an attribute that repeats another one.
func (m *fixer) duplicates(t *ncclxml.Tag) {
	seen := map[string]string{}
	kept := t.Attributes[:0:0]
	for _, a := range t.Attributes {
		value, again := seen[a.Name]
		if again && value == a.Value {
			m.change(t, a.Line, fmt.Sprintf("removed: second %s=%q", fabric.Printable(a.Name), ncclxml.Excerpt(fabric.Printable(a.Value))), "It repeats the first one.")
			continue
		}
		if !again {
			seen[a.Name] = a.Value
		}
		kept = append(kept, a)
	}
	t.Attributes = kept
}

// value fixes the value of an attribute, where only one meaning is possible.
func (m *fixer) value(t *ncclxml.Tag, a *ncclxml.TagAttribute) {
	written, why := "", ""
	switch {
	case t.Name == "pci" && a.Name == "link_speed":
		if _, known := ncclxml.LaneRate(a.Value); known {
			return
		}
		speed, _ := ncclxml.MeantSpeed(a.Value)
		written, _ = ncclxml.SpeedText(speed)
		why = fmt.Sprintf("%q is unknown to NCCL, which assumes %d GT/s.", ncclxml.Excerpt(a.Value), ncclxml.AssumedGTs)
	case t.Name == "pci" && a.Name == "link_width":
		number := widthDigits().FindStringSubmatch(a.Value)
		if number == nil {
			return
		}
		meant, _ := strconv.Atoi(number[1])
		if meant == 0 || int64(int32(ncclxml.Strtol(a.Value, 0))) == int64(meant) {
			return
		}
		written, why = strconv.Itoa(meant), fmt.Sprintf("NCCL reads %d.", int32(ncclxml.Strtol(a.Value, 0)))
	case t.Name == "pci" && a.Name == "busid":
		written, _ = canonicalBus(a.Value)
		why = fmt.Sprintf("This is NCCL's own form of the address, and NCCL compares the text; as a number both are %#x.", ncclxml.BusNumber(a.Value))
		if ncclxml.BusNumber(written) != ncclxml.BusNumber(a.Value) {
			why = "This is NCCL's own form of the address, and NCCL compares the text."
		}
	case t.Name == "net" && a.Name == "guid" && m.damaged:
		if digits, ok := strings.CutPrefix(a.Value, "0x"); ok && len(digits) < guidDigits && len(digits) > guidDigits/2 {
			m.changes = append(m.changes, Change{
				Line: a.Line, What: fmt.Sprintf("unchanged: guid=%q", ncclxml.Excerpt(a.Value)), Left: true,
				Why: fmt.Sprintf("%d digits, not %d. NCCL writes no leading zeros, so this may be 0x%0*s; a lost digit cannot be recovered.", len(digits), guidDigits, guidDigits, digits),
			})
		}
		return
	}
	if written == "" || written == a.Value {
		return
	}
	m.change(t, a.Line, fmt.Sprintf("%s=%q instead of %q", a.Name, written, ncclxml.Excerpt(a.Value)), fabric.Printable(why))
	a.Value = written
}
