package esx

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// build gathers what sections say.
type build struct {
	out   Reading
	e     *fabric.ESX
	parts map[string]bool // lists of which a part was seen
	whole map[string]bool // and those that were seen whole
	vfs   []loseVF
	at    map[string]int // of devices, by address
	name  string         // of the text that is being read
	csv   bool           // a list in the format csv was read

	worlds  map[string]string // names of virtual machines that run, by their ids
	running bool              // and they are all that run
}

// loseVF is a virtual function whose address is written by a base that depends on the version of ESX.
type loseVF struct {
	at      int // in ESX.VFs
	address string
}

// esx is what is being built: it exists from the first thing that was read.
func (b *build) esx() *fabric.ESX {
	if b.e == nil {
		b.e = &fabric.ESX{}
	}
	return b.e
}

// text reads the sections of a text.
func (b *build) text(name string, sections []section) {
	b.name = name
	for i, s := range sections {
		switch {
		case s.form != nil:
			proven := b.out.Proven
			b.out.Proven = s.form.ours || !s.named && onlyESX(s.command)
			s.form.read(b, s)
			b.out.Texts[name] = b.out.Texts[name] || b.out.Proven
			b.out.Proven = b.out.Proven || proven
		case onlyESX(s.command) || isMST(s.command):
			b.out.Proven = b.out.Proven || !s.named && onlyESX(s.command)
			silent := i+1 < len(sections) && sections[i+1].form == nil
			b.asked(s.command, silent)
		}
	}
}

// listed notes of a list whether all of it was printed.
func (b *build) listed(what string, whole bool) {
	if b.whole == nil {
		b.whole, b.parts = map[string]bool{}, map[string]bool{}
	}
	if whole {
		b.whole[what] = true
	} else {
		b.parts[what] = true
	}
}

func (b *build) missed(what, source, reason string) {
	entry := fabric.Missing{What: what, Source: source, Reason: fabric.Printable(cut(reason))}
	if !slices.Contains(b.out.Missing, entry) && len(b.out.Missing) < maxUnread {
		b.out.Missing = append(b.out.Missing, entry)
	}
}

// lost names a line of a section that its form could not read.
func (b *build) lost(s section, i int) { b.unread(b.name, s.numbers[i], s.lines[i]) }

// finish joins what several outputs say of one thing.
func (b *build) finish() Reading {
	if b.e == nil {
		return b.out
	}
	b.placeVFs()
	b.placeMST()
	b.placeWorlds()
	b.placeOwners()
	for what := range b.parts {
		if !b.whole[what] {
			b.e.Parts = append(b.e.Parts, what)
		}
	}
	slices.Sort(b.e.Parts)
	slices.SortStableFunc(b.e.Devices, func(a, c fabric.PassthroughPCI) int { return strings.Compare(a.Address, c.Address) })
	b.out.ESX = b.e
	return b.out
}

// placeVFs reads the addresses of virtual functions: decimal before ESX 8.0 Update 3, hexadecimal since.
func (b *build) placeVFs() {
	for _, v := range b.vfs {
		switch known, hex := sinceUpdate3(b.e.Version); {
		case paddedForm().MatchString(v.address):
			b.e.VFs[v.at].Address = decimalAddress(v.address)
		case !known:
			b.e.VFs[v.at].Address = eitherAddress(v.address)
		case hex:
			b.e.VFs[v.at].Address = hexAddress(v.address)
		default:
			b.e.VFs[v.at].Address = decimalAddress(v.address)
		}
		if b.e.VFs[v.at].Address == "" {
			b.missed(fabric.FactESXVFs, "esxcli network sriovnic vf list", "whether "+v.address+" is decimal or hexadecimal depends on the version of ESX, which is unknown")
		}
	}
}

// sinceUpdate3 compares a version with 8.0.3.
func sinceUpdate3(version string) (known, since bool) {
	if version == "" {
		return false, false
	}
	var n [3]int
	for i, part := range strings.SplitN(version, ".", 4) {
		if i < 3 {
			n[i] = digits(part)
		}
	}
	return true, slices.Compare(n[:], []int{8, 0, 3}) >= 0
}

// digits is the number that a text begins with; 0: none, or one that is larger than anything that is counted here.
func digits(text string) int {
	const most = 1 << 40
	n := 0
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		if n = n*10 + int(c-'0'); n > most {
			return 0
		}
	}
	return n
}

// placeMST gives settings of NICs the address that mst status has for their device, and devices the id that the name of their MST
// device holds: mt4129_pciconf0 is of a device with the id 4129.
func (b *build) placeMST() {
	for i := range b.e.NICConfigs {
		c := &b.e.NICConfigs[i]
		if c.Address == "" {
			c.Address = hexAddress(c.Device)
		}
		for _, d := range b.e.MST {
			if c.Address == "" && c.Device != "" && d.Name == c.Device {
				c.Address = d.Address
			}
		}
	}
	for _, d := range b.e.MST {
		m := mstNumber().FindStringSubmatch(d.Name)
		i := slices.IndexFunc(b.e.Devices, func(p fabric.PassthroughPCI) bool { return d.Address != "" && p.Address == d.Address })
		if m != nil && i >= 0 && b.e.Devices[i].Device == 0 {
			if n := digits(m[1]); n > 0 && n < 1<<16 {
				b.e.Devices[i].Device = uint16(n)
			}
		}
	}
}

var mstNumber = pattern.New(`^mt([0-9]{3,5})_`)

// device is the entry of a PCI device.
func (b *build) device(address string) *fabric.PassthroughPCI {
	e := b.esx()
	if i, ok := b.at[address]; ok {
		return &e.Devices[i]
	}
	if len(e.Devices) >= maxEntries {
		return &fabric.PassthroughPCI{}
	}
	b.listed(devicesPath, false)
	if b.at == nil {
		b.at = map[string]int{}
	}
	b.at[address] = len(e.Devices)
	e.Devices = append(e.Devices, fabric.PassthroughPCI{Address: address})
	return &e.Devices[len(e.Devices)-1]
}

// module is the entry of a module of the kernel.
func (b *build) module(name string) *fabric.ESXModule {
	e := b.esx()
	if m := e.Module(name); m != nil {
		return m
	}
	if len(e.Modules) >= maxEntries {
		return &fabric.ESXModule{}
	}
	b.listed(modulesPath, false)
	e.Modules = append(e.Modules, fabric.ESXModule{Name: name})
	return &e.Modules[len(e.Modules)-1]
}

// uplink is the entry of a NIC that ESX drives.
func (b *build) uplink(name string) *fabric.Uplink {
	e := b.esx()
	if i := slices.IndexFunc(e.Uplinks, func(u fabric.Uplink) bool { return u.Name == name }); i >= 0 {
		return &e.Uplinks[i]
	}
	if len(e.Uplinks) >= maxEntries {
		return &fabric.Uplink{}
	}
	b.listed(uplinksPath, false)
	e.Uplinks = append(e.Uplinks, fabric.Uplink{Name: name})
	return &e.Uplinks[len(e.Uplinks)-1]
}

// number finds a PCI function by its address among those with ids.
func (b *build) pci(d fabric.PCIDevice) {
	if i := slices.IndexFunc(b.out.PCI, func(have fabric.PCIDevice) bool { return have.Address == d.Address }); i >= 0 {
		have := &b.out.PCI[i]
		if have.Class == 0 {
			have.Class = d.Class
		}
		if have.Driver == "" {
			have.Driver = d.Driver
		}
		if have.Parent == "" {
			have.Parent = d.Parent
		}
		return
	}
	if len(b.out.PCI) < maxEntries {
		b.out.PCI = append(b.out.PCI, d)
	}
}
