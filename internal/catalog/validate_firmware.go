package catalog

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// firmwareVersion is a version of at least two numbers: 235.2.86.0, 1.117.5-a-45.
var firmwareVersion = pattern.Plain(`^[0-9]{1,6}(\.[0-9]{1,6})+(-[0-9a-z-]+)?$`)

// firmware wants one floor for a release train, its first number.
func (p *problems) firmware(floors []fabric.FirmwareFloor) {
	trains := make(map[string]bool)
	for i, f := range floors {
		field := fmt.Sprintf("firmware[%d]", i)
		if !firmwareVersion().MatchString(f.Least) {
			p.add(field+".least", "%q is not a version", f.Least)
		}
		p.text(field+".for", f.For)
		p.text(field+".source", f.Source)
		train, _, _ := strings.Cut(f.Least, ".")
		if trains[train] {
			p.add(field+".least", "a second floor of train %s", train)
		}
		trains[train] = true
	}
}

// firmwareTrain is the first number of a version.
var firmwareTrain = pattern.Plain(`^[0-9]{1,6}$`)

// badFirmware wants trains of which no floor says that they are good.
func (p *problems) badFirmware(bad []fabric.FirmwareTrain, floors []fabric.FirmwareFloor) {
	for i, b := range bad {
		field := fmt.Sprintf("firmware_bad[%d]", i)
		if !firmwareTrain().MatchString(b.Train) {
			p.add(field+".train", "%q is not a number", b.Train)
		}
		p.text(field+".says", b.Says)
		p.text(field+".source", b.Source)
		if slices.ContainsFunc(floors, func(f fabric.FirmwareFloor) bool { return strings.HasPrefix(f.Least, b.Train+".") }) {
			p.add(field+".train", "train %s is good by firmware, and bad", b.Train)
		}
	}
}
