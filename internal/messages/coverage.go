package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Format is one message of a program's source: the printf format of one call.
type Format struct {
	Source  string `json:"source"` // nccl, rccl, aws-ofi-nccl, perftest
	Version string `json:"version"`
	File    string `json:"file"`
	Line    int    `json:"line"`
	Level   string `json:"level"` // the macro: WARN, INFO, NCCL_OFI_WARN, fprintf
	Flags   string `json:"flags"` // its first arguments
	Text    string `json:"format"`
}

// ReadFormats reads all lists of formats of a folder, *.jsonl with one JSON object per line. A folder without any is
// fs.ErrNotExist.
func ReadFormats(folder string) (all []Format, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%q has no list of formats: %w", folder, fs.ErrNotExist)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		formats, err := parseFormats(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", name, err)
		}
		all = append(all, formats...)
	}
	return all, nil
}

func parseFormats(text []byte) (all []Format, err error) {
	for line := range bytes.Lines(text) {
		var f Format
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(all)+1, err)
		}
		all = append(all, f)
	}
	return all, nil
}

// Covered is how many formats of a source and level the catalogue knows.
type Covered struct {
	Source, Level string
	Known, Total  int
	Unknown       []Format
}

// leastShare is which share of the formats of a source and level must be known: of NCCL and RCCL the requirement, of the
// others what is reached, so that an entry that is lost is seen.
var leastShare = map[string]float64{
	"nccl WARN": 0.98,
	"rccl WARN": 0.98,

	"nccl INFO":                  0.99,
	"rccl INFO":                  0.98,
	"aws-ofi-nccl NCCL_OFI_WARN": 0.99,
	"aws-ofi-nccl NCCL_OFI_INFO": 0.99,
	"perftest fprintf":           0.96,
}

// Share is the share of the formats that is known.
func (c Covered) Share() float64 { return float64(c.Known) / float64(c.Total) }

// Least is the share that must be known; 0: there is no such bar.
func (c Covered) Least() float64 { return leastShare[c.Source+" "+c.Level] }

// Coverage counts the formats that are found once they are printed, by source and level, sorted.
func (c *Catalogue) Coverage(formats []Format) []Covered {
	var all []Covered
	for _, f := range formats {
		i := slices.IndexFunc(all, func(one Covered) bool { return one.Source == f.Source && one.Level == f.Level })
		if i < 0 {
			i = len(all)
			all = append(all, Covered{Source: f.Source, Level: f.Level})
		}
		all[i].Total++
		if _, known := c.Find(f.Printed()); known {
			all[i].Known++
		} else {
			all[i].Unknown = append(all[i].Unknown, f)
		}
	}
	slices.SortFunc(all, func(a, b Covered) int { return strings.Compare(a.Source+" "+a.Level, b.Source+" "+b.Level) })
	return all
}

// conversion is a conversion of printf(3).
var conversion = regexp.MustCompile(`%[-+ #0]*(?:\*|\d+)?(?:\.(?:\*|\d+))?(?:hh|h|ll|l|z|j|t|L)?([diouxXeEfgGaAcspmn%])`)

// Printed is the line that a call prints, with values that are plausible and distinctive of nothing, behind the prefix of
// its program (src/debug.cc of NCCL; the log function of aws-ofi-nccl puts NET/OFI before each message).
func (f Format) Printed() string {
	text := conversion.ReplaceAllStringFunc(f.Text, func(c string) string { return sample(c[len(c)-1]) })
	text = strings.TrimSpace(strings.NewReplacer("\n", " ", `\n`, " ", `\t`, " ", "\t", " ").Replace(text))
	switch f.Level {
	case "WARN":
		return fmt.Sprintf("node1:1234:1250 [3] %s:%d NCCL WARN %s", f.File, f.Line, text)
	case "INFO":
		return "node1:1234:1250 [3] NCCL INFO " + text
	case "NCCL_OFI_WARN":
		return fmt.Sprintf("node1:1234:1250 [3] %s:%d NCCL WARN NET/OFI %s", f.File, f.Line, text)
	case "NCCL_OFI_INFO":
		return "node1:1234:1250 [3] NCCL INFO NET/OFI " + text
	}
	return text
}

// sample is a value as a conversion prints it.
func sample(verb byte) string {
	switch verb {
	case '%':
		return "%"
	case 's':
		return "sample"
	case 'c':
		return "x"
	case 'p':
		return "0x7f3a5c000b60"
	case 'f', 'e', 'g', 'a', 'F', 'E', 'G', 'A':
		return "1.50"
	case 'm':
		return "Success"
	case 'n':
		return ""
	}
	return "7"
}
