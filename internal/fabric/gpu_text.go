package fabric

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The health of a GPU and its links have short text forms, words of key=value with semicolons between them, since the facts of a
// node are to stay below 50 KiB.

// part is one word of such a text: how it is written, empty for what is unknown, and how it is read back.
type part struct {
	key   string
	value string
	read  func(string) error
}

func writeParts(parts []part) ([]byte, error) {
	var words []string
	for _, p := range parts {
		if p.value != "" {
			words = append(words, p.key+"="+strings.NewReplacer(";", ",", "|", "/").Replace(p.value))
		}
	}
	return []byte(strings.Join(words, ";")), nil
}

func readParts(what, text string, parts []part) error {
	if text == "" {
		return nil
	}
	for word := range strings.SplitSeq(text, ";") {
		key, value, _ := strings.Cut(word, "=")
		i := slices.IndexFunc(parts, func(p part) bool { return p.key == key })
		if i < 0 {
			return fmt.Errorf("%s %s: unknown part %s", what, Quote(text), Quote(key))
		}
		if err := parts[i].read(value); err != nil {
			return fmt.Errorf("%s %s: %s: %w", what, Quote(text), key, err)
		}
	}
	return nil
}

func textPart(key string, to *string) part {
	return part{key, *to, func(s string) error { *to = s; return nil }}
}

func countPart(key string, to **uint64) part {
	p := part{key: key, read: func(s string) error {
		n, err := strconv.ParseUint(s, 10, 64)
		*to = &n
		return err
	}}
	if *to != nil {
		p.value = strconv.FormatUint(**to, 10)
	}
	return p
}

// flag is one thing that is so, or is not.
type flag struct {
	name string
	to   **bool
}

// flagsPart writes the names of those flags that are known and have this value.
func flagsPart(key string, value bool, flags []flag) part {
	var names []string
	for _, f := range flags {
		if *f.to != nil && **f.to == value {
			names = append(names, f.name)
		}
	}
	return part{key, strings.Join(names, " "), func(s string) error {
		for name := range strings.FieldsSeq(s) {
			i := slices.IndexFunc(flags, func(f flag) bool { return f.name == name })
			if i < 0 {
				return fmt.Errorf("unknown word %s", Quote(name))
			}
			*flags[i].to = new(value)
		}
		return nil
	}}
}

func (h *GPUHealth) parts() []part {
	flags := []flag{
		{"remap", &h.RemapPending}, {"remap-failed", &h.RemapFailed}, {"retire", &h.RetirePending}, {"repair", &h.RepairPending},
		{"unrepairable", &h.Unrepairable}, {"sram", &h.SRAMOverLimits}, {"persistence", &h.Persistence},
	}
	clocks := part{key: "clocks", read: func(s string) error {
		if s == "-" {
			s = ""
		}
		h.Throttle = &s
		return nil
	}}
	if h.Throttle != nil {
		clocks.value = *h.Throttle
		if clocks.value == "" {
			clocks.value = "-"
		}
	}
	f := GPUFabric{}
	if h.Fabric != nil {
		f = *h.Fabric
	}
	of := func(key, value string, to func(*GPUFabric) *string) part {
		return part{key, value, func(s string) error {
			if h.Fabric == nil {
				h.Fabric = &GPUFabric{}
			}
			*to(h.Fabric) = s
			return nil
		}}
	}
	return []part{
		textPart("fault", &h.Fault), textPart("recovery", &h.Recovery), textPart("ecc", &h.ECC),
		countPart("ue", &h.Uncorrected), countPart("ue-ever", &h.UncorrectedEver), countPart("ce", &h.Corrected),
		countPart("rows", &h.RowsRemapped), countPart("pages", &h.PagesRetired),
		flagsPart("yes", true, flags), flagsPart("no", false, flags), clocks,
		of("state", f.State, func(f *GPUFabric) *string { return &f.State }), of("status", f.Status, func(f *GPUFabric) *string { return &f.Status }),
		of("health", f.Health, func(f *GPUFabric) *string { return &f.Health }), of("faults", f.Faults, func(f *GPUFabric) *string { return &f.Faults }),
	}
}

// MarshalText writes what is known: "ecc=Enabled;ue=0;ce=12;no=remap remap-failed;clocks=gpu_idle;state=Completed;status=Success".
// ue and ce are uncorrected and corrected errors, yes and no what is pending, failed or on, clocks what lowers them (- for
// nothing).
func (h GPUHealth) MarshalText() ([]byte, error) { return writeParts(h.parts()) }

// UnmarshalText reads that form.
func (h *GPUHealth) UnmarshalText(text []byte) error {
	*h = GPUHealth{}
	return readParts("GPU health", string(text), h.parts())
}

func numbersPart(key string, to *[]int) part {
	words := make([]string, 0, len(*to))
	for _, n := range *to {
		words = append(words, strconv.Itoa(n))
	}
	return part{key, strings.Join(words, " "), func(s string) error {
		for word := range strings.FieldsSeq(s) {
			n, err := strconv.Atoi(word)
			if err != nil {
				return err
			}
			*to = append(*to, n)
		}
		return nil
	}}
}

func ratePart(key string, to *float64) part {
	p := part{key: key, read: func(s string) (err error) { *to, err = strconv.ParseFloat(s, 64); return err }}
	if *to != 0 {
		p.value = strconv.FormatFloat(*to, 'g', -1, 64)
	}
	return p
}

func (n *NVLink) parts() []part {
	up := part{key: "up", read: func(s string) (err error) { n.Listed = true; n.Up, err = strconv.Atoi(s); return err }}
	if n.Listed {
		up.value = strconv.Itoa(n.Up)
	}
	return []part{up, numbersPart("down", &n.Down), ratePart("gbps", &n.GBps), numbersPart("slow", &n.Slow), ratePart("low", &n.Low), textPart("says", &n.Says), n.errorsPart()}
}

// errorsPart writes "crc errors 0, replay errors 3".
func (n *NVLink) errorsPart() part {
	var words []string
	for name, count := range n.Errors {
		words = append(words, name+" "+strconv.FormatUint(count, 10))
	}
	slices.Sort(words)
	value := strings.Join(words, ",")
	if n.Errors != nil && value == "" {
		value = "-"
	}
	return part{"errors", value, func(s string) error {
		n.Errors = map[string]uint64{}
		for word := range strings.SplitSeq(s, ",") {
			if word == "-" {
				continue
			}
			at := strings.LastIndexByte(word, ' ')
			if at < 0 {
				return fmt.Errorf("no count in %s", Quote(word))
			}
			count, err := strconv.ParseUint(word[at+1:], 10, 64)
			if err != nil {
				return err
			}
			n.Errors[word[:at]] = count
		}
		return nil
	}}
}

// MarshalText writes "up=16;down=16 17;gbps=26.562;errors=crc errors 0,replay errors 3"; without up the links were not listed.
func (n NVLink) MarshalText() ([]byte, error) { return writeParts(n.parts()) }

// UnmarshalText reads that form.
func (n *NVLink) UnmarshalText(text []byte) error {
	*n = NVLink{}
	return readParts("NVLink", string(text), n.parts())
}
