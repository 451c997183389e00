package topology

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Change is one thing that Fix has mended, or has seen and left.
type Change struct {
	Line int    // of the text that was given
	What string // what was done with what
	Why  string
	Left bool // it stays as it was: to change it would be a guess
}

// LeftError is what Fix could not mend: what it gives back is better, but NCCL still refuses or misreads it.
type LeftError struct {
	Findings []fabric.Finding // failures of severity error; of a text that it gave up on, unknown ones too
}

// Error names the first of them.
func (e *LeftError) Error() string {
	if len(e.Findings) == 0 {
		return "topology file: cannot be mended"
	}
	f := e.Findings[0]
	where := ""
	if len(f.Evidence) > 0 {
		where = f.Evidence[0].Source + ": "
	}
	return fmt.Sprintf("topology file: %d things cannot be mended without guessing, the first %s%s: %s", len(e.Findings), where, f.ID, f.Why)
}

// Fix mends a topology file as far as no guess is needed: it adds what is missing of tags, takes out what is
// no tag, and writes names, addresses and speeds as NCCL reads them. It never adds a device. A sound text
// comes back byte for byte, and so does one whose meaning cannot be made out; Fix of what Fix gave is the same
// again. The error is a *LeftError where something is left that NCCL refuses or misreads.
func Fix(text []byte) (fixed []byte, changes []Change, err error) {
	fixed, changes = mend(text)
	_, refused := Parse(text)
	_, stillRefused := Parse(fixed)
	if again, _ := mend(fixed); !slices.Equal(again, fixed) || refused == nil && stillRefused != nil {
		fixed, changes = text, nil // no form of it is stable, or it was better before: it was not understood
	}
	var left []fabric.Finding
	for _, f := range Lint([]File{{Name: "line", Text: fixed}}, nil).Findings {
		if f.Status == fabric.Fail && f.Severity == fabric.SeverityError || f.Status == fabric.Unknown && f.ID == ruleWhole {
			left = append(left, f)
		}
	}
	if len(left) > 0 {
		return fixed, changes, &LeftError{Findings: left}
	}
	return fixed, changes, nil
}

// mend is one round of Fix.
func mend(text []byte) ([]byte, []Change) {
	_, refused := Parse(text)
	r := recoverText(text)
	if r.cut != "" || refused != nil && len(r.document.Roots) == 0 || slices.ContainsFunc(r.problems, isLost) {
		return text, nil
	}
	var changes []Change
	if r.encoding != "" {
		changes = append(changes, Change{Line: 1, What: "UTF-8 instead of " + r.encoding, Why: "NCCL reads bytes, and the first one is no <."})
	}
	for _, p := range r.problems {
		if p.stop > 0 && refused == nil {
			return text, nil // NCCL takes it: what looks like damage is none
		}
		if p.mended != "" {
			changes = append(changes, Change{Line: p.line, What: fabric.Printable(p.mended + ": " + p.text), Why: fabric.Printable(whyMended(p))})
		}
	}
	m := mender{tags: r.tags, damaged: slices.ContainsFunc(r.problems, problem.isDamage), isRCCL: isRCCL(r.text)}
	m.all()
	changes = append(changes, m.changes...)
	if !slices.ContainsFunc(changes, func(c Change) bool { return !c.Left }) {
		return text, nil
	}
	slices.SortStableFunc(changes, func(a, b Change) int { return a.Line - b.Line })
	return r.rewrite(m.tags), changes
}

// isLost holds of text that may be the rest of an element: without it a device would be gone.
func isLost(p problem) bool { return p.kind == kindText && p.mended == "" }

func whyMended(p problem) string {
	switch {
	case p.why != "" && p.says != "":
		return capital(p.why) + ". NCCL: " + p.says
	case p.why != "":
		return capital(p.why) + "."
	default:
		return "NCCL: " + p.says
	}
}

// mender mends tags one by one.
type mender struct {
	tags    []scanTag
	damaged bool
	isRCCL  bool
	changes []Change
}

func (m *mender) all() {
	m.numaNodes()
	for i := range m.tags {
		t := &m.tags[i]
		if t.comment != "" || t.kind == tagClose {
			continue
		}
		m.names(t)
		for k := range t.attributes {
			m.value(t, &t.attributes[k])
		}
		m.duplicates(t)
		if t.name == "system" && !t.has("version") {
			version := ncclVersion
			if m.isRCCL {
				version = rcclVersion
			}
			t.attributes = append(t.attributes, scanAttribute{name: "version", value: strconv.Itoa(version), line: t.line})
			m.change(t, t.line, fmt.Sprintf("version=%q added", strconv.Itoa(version)), "Attribute version of node system not found; there is one version only.")
		}
	}
}

func (m *mender) change(t *scanTag, line int, what, why string) {
	t.changed = true
	m.changes = append(m.changes, Change{Line: line, What: what, Why: why})
}

// numaNodes numbers CPUs whose number is lost in the order of the file, as NCCL's own dump and every known
// file have them, with the numbers that no other CPU has.
func (m *mender) numaNodes() {
	taken := map[int64]bool{}
	var lost []*scanTag
	for i := range m.tags {
		t := &m.tags[i]
		if t.name != "cpu" || t.kind == tagClose || t.comment != "" {
			continue
		}
		if number, ok := t.element().Get("numaid"); ok {
			taken[cInteger(number, 0)] = true
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
		t.attributes = slices.Insert(t.attributes, 0, scanAttribute{name: "numaid", value: number, line: t.line})
		m.change(t, t.line, fmt.Sprintf("numaid=%q added", number),
			"NCCL needs the number. It is lost; CPUs are numbered in the order of the file. Compare with numactl --hardware: NCCL binds threads by it.")
	}
}

// names mends attributes that are one letter from the only one that can be meant.
func (m *mender) names(t *scanTag) {
	if !isElement(t.name) {
		return
	}
	for k := range t.attributes {
		a := &t.attributes[k]
		if slices.Contains(knownAttributes(t.name), a.name) {
			continue
		}
		if meant := misspelt(t.element(), a.name); meant != "" {
			m.change(t, a.line, fmt.Sprintf("%s instead of %s=%q", meant, a.name, excerpt(a.value)), "NCCL reads over an attribute that it does not know.")
			a.name = meant
		}
	}
}

// duplicates takes out an attribute that says again what another has said.
func (m *mender) duplicates(t *scanTag) {
	seen := map[string]string{}
	kept := t.attributes[:0:0]
	for _, a := range t.attributes {
		value, again := seen[a.name]
		if again && value == a.value {
			m.change(t, a.line, fmt.Sprintf("taken out: second %s=%q", fabric.Printable(a.name), excerpt(fabric.Printable(a.value))), "It says what the first says.")
			continue
		}
		if !again {
			seen[a.name] = a.value
		}
		kept = append(kept, a)
	}
	t.attributes = kept
}

// value mends what an attribute says, where the text leaves one meaning only.
func (m *mender) value(t *scanTag, a *scanAttribute) {
	written, why := "", ""
	switch {
	case t.name == "pci" && a.name == "link_speed":
		if _, known := laneRate(a.value); known {
			return
		}
		speed, _ := meantSpeed(a.value)
		written, _ = speedText(speed)
		why = fmt.Sprintf("NCCL does not know %q and assumes %d GT/s.", excerpt(a.value), assumedGTs)
	case t.name == "pci" && a.name == "link_width":
		number := widthDigits.FindStringSubmatch(a.value)
		if number == nil {
			return
		}
		meant, _ := strconv.Atoi(number[1])
		if meant == 0 || int64(int32(cInteger(a.value, 0))) == int64(meant) {
			return
		}
		written, why = strconv.Itoa(meant), fmt.Sprintf("NCCL reads %d.", int32(cInteger(a.value, 0)))
	case t.name == "pci" && a.name == "busid":
		written, _ = canonicalBus(a.value)
		why = fmt.Sprintf("NCCL writes this address so and compares the text; as a number both are %#x.", busNumber(a.value))
		if busNumber(written) != busNumber(a.value) {
			why = "NCCL writes this address so and compares the text."
		}
	case t.name == "net" && a.name == "guid" && m.damaged:
		if digits, ok := strings.CutPrefix(a.value, "0x"); ok && len(digits) < guidDigits && len(digits) > guidDigits/2 {
			m.changes = append(m.changes, Change{
				Line: a.line, What: fmt.Sprintf("left as it is: guid=%q", excerpt(a.value)), Left: true,
				Why: fmt.Sprintf("%d digits, not %d. NCCL writes no leading zeros, so this may be 0x%0*s; a lost digit cannot be had back.", len(digits), guidDigits, guidDigits, digits),
			})
		}
		return
	}
	if written == "" || written == a.value {
		return
	}
	m.change(t, a.line, fmt.Sprintf("%s=%q instead of %q", a.name, written, excerpt(a.value)), fabric.Printable(why))
	a.value = written
}
