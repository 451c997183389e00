package topology

import (
	"regexp"
	"strings"
)

// Vendors as CPUID reports them.
const (
	vendorIntel = "GenuineIntel"
	vendorAMD   = "AuthenticAMD"
)

// processor is a generation of server CPUs, by its CPUID values: Linux arch/x86/include/asm/intel-family.h;
// for AMD the processor programming references of families 17h, 19h and 1Ah.
type processor struct {
	name          string
	vendor        string
	family, model int
	speed         float64 // GT/s of its PCIe links
	number        *regexp.Regexp
}

// processors are recognised by their model numbers: the second digit of Intel's is the generation, the last of AMD's
// EPYC. Older first.
func processors() []processor {
	intel := func(digits string) *regexp.Regexp {
		return regexp.MustCompile(`(?i)xeon.*\b(?:platinum|gold|silver|bronze|max)\s+` + digits)
	}
	epyc := func(digits string) *regexp.Regexp { return regexp.MustCompile(`(?i)epyc\s+` + digits) }
	return []processor{
		{"Intel Xeon of the first or second generation (Skylake, Cascade Lake)", vendorIntel, 6, 85, 8, intel(`\d[12]\d\d`)},
		{"Intel Xeon of the third generation (Ice Lake)", vendorIntel, 6, 106, 16, intel(`\d3\d\d`)},
		{"Intel Xeon of the fourth generation (Sapphire Rapids)", vendorIntel, 6, 143, 32, intel(`\d4\d\d`)},
		{"Intel Xeon of the fifth generation (Emerald Rapids)", vendorIntel, 6, 207, 32, intel(`\d5\d\d`)},
		{"Intel Xeon 6 (Granite Rapids)", vendorIntel, 6, 173, 32, regexp.MustCompile(`(?i)xeon.*\b6[579]\d\dP`)},
		{"AMD EPYC 7001 (Naples)", vendorAMD, 23, 1, 8, epyc(`7\d\d1\b`)},
		{"AMD EPYC 7002 (Rome)", vendorAMD, 23, 49, 16, epyc(`7\w\d2\b`)},
		{"AMD EPYC 7003 (Milan)", vendorAMD, 25, 1, 16, epyc(`7\w\d3\b`)},
		{"AMD EPYC 9004 (Genoa)", vendorAMD, 25, 17, 32, epyc(`9\w\w4`)},
		{"AMD EPYC 9005 (Turin)", vendorAMD, 26, 2, 32, epyc(`9\w\w5`)},
	}
}

// processorNamed finds the generation of a processor by its name; ok is false where the name
// does not contain it.
func processorNamed(name string) (p processor, ok bool) {
	plain := strings.NewReplacer("(R)", "", "(r)", "", "(TM)", "", "(tm)", "").Replace(name)
	for _, p := range processors() {
		if p.number.MatchString(plain) {
			return p, true
		}
	}
	return processor{}, false
}

// firstWith is the oldest generation of a vendor (intel, amd) whose PCIe links run at that speed; the zero
// value where there is none.
func firstWith(vendor string, speed float64) processor {
	id := map[string]string{"intel": vendorIntel, "amd": vendorAMD}[vendor]
	for _, p := range processors() {
		if p.vendor == id && p.speed == speed {
			return p
		}
	}
	return processor{}
}
