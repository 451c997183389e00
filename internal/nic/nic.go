package nic

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Vendor is a family of NICs that the same tools set.
type Vendor struct {
	ID       string   // in file names and messages
	Title    string   // in a sentence
	Drivers  []string // kernel modules of its Ethernet function, as the catalog's NICs and ethtool name them
	GIDIndex int      // of the RoCE v2 GID of an interface's first IPv4 address

	ControlClass bool // its vendor puts control messages of collectives into the class of CNPs

	script string                    // functions in sh: have, want, put and those of stored options
	files  func(s Settings) []File   // beside the script
	omits  func(s Settings) []string // what the intent says and public documents of the vendor give no command for
}

// Settings is what the NICs of one host are set from.
type Settings struct {
	NICs    []string // interfaces of the fabric
	Traffic fabric.Traffic
}

// File is a file on the host.
type File struct {
	Path  string
	Mode  uint32
	Text  []byte
	Omits []string // what the host also needs and this file does not do
}

// Vendors lists the families, in the order of messages.
func Vendors() []Vendor { return []Vendor{broadcom(), nvidia(), amd()} }

// ByDriver finds the vendor of a kernel driver; the error lists the known drivers.
func ByDriver(driver string) (Vendor, error) {
	var known []string
	for _, v := range Vendors() {
		if slices.Contains(v.Drivers, driver) {
			return v, nil
		}
		known = append(known, v.Drivers...)
	}
	return Vendor{}, fmt.Errorf("NIC driver %q: no settings are rendered for it in this version; known: %s", driver, strings.Join(known, ", "))
}

// Files returns what sets the NICs of a host: files that the driver reads, a script that sets and reads back what does not
// survive a restart, and the unit that runs it. The interfaces are words of letters, digits, '.', '_' and '-', which the
// shell leaves as they are.
func (v Vendor) Files(s Settings) []File {
	var all []File
	if v.files != nil {
		all = v.files(s)
	}
	return append(all, v.scriptFile(s), v.unitFile(s), wantedFile())
}

// class returns a class of the intent by its name; the zero class where the plan has none.
func class(t fabric.Traffic, name string) fabric.TrafficClass {
	for _, c := range t.Classes {
		if c.Name == name {
			return c
		}
	}
	return fabric.TrafficClass{}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}
