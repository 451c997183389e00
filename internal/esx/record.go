package esx

import (
	"slices"
	"strings"
)

// record is one entry of what esxcli prints, by the name of the field in lower case and without spaces: in every format of esxcli
// (table, list, csv, xml, json, keyvalue) these are the same.
type record map[string]string

// byShape is in a record that was read by the shape of its row: which word belongs to which column was not printed.
const byShape = " by shape"

func fieldName(text string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "(", "", ")", "").Replace(text))
}

// kind is a list or an entry that esxcli and its relatives print.
type kind struct {
	name  string
	gives string   // path of the list; empty: an entry
	keys  []string // fields that tell it from others
	pick  []string // options of the command that pick entries
	add   func(b *build, r record, s section) bool
}

func kinds() []kind {
	return []kind{
		{"esxcli system settings kernel list", settingsPath, []string{"name", "configured", "runtime", "default"}, []string{"-o", "--option"}, addSetting},
		{"esxcli software vib list", vibsPath, []string{"name", "version", "vendor", "acceptancelevel"}, []string{"-n", "--vibname"}, addVIB},
		{"esxcli system module list", modulesPath, []string{"name", "isloaded", "isenabled"}, nil, addModule},
		{"esxcli system module parameters list", "", []string{"name", "type", "value", "description"}, nil, addParameter},
		{"esxcli hardware pci pcipassthru list", "", []string{"deviceid", "enabled"}, nil, addPassthru},
		{"esxcli network nic list", uplinksPath, []string{"name", "pcidevice", "driver", "macaddress"}, []string{"sriovnic"}, addUplink},
		{"esxcli network sriovnic vf list", vfsPath, []string{"vfid", "active", "pciaddress", "ownerworldid"}, nil, addVF},
		{"esxcli rdma device list", "", []string{"name", "driver", "state", "paireduplink"}, nil, addRDMA},
		{"esxcli rdma device vmknic list", "", []string{"device", "vmknic", "netstack"}, nil, addRDMAKernel},
		{"esxcli hardware pci list", devicesPath, []string{"address", "configuredowner", "currentowner"}, []string{"-c", "--class", "-m", "--mask"}, addPCI},
		{"esxcli system version get", "", []string{"product", "version", "build"}, nil, addVersion},
		{"esxcli hardware platform get", "", []string{"productname", "vendorname"}, nil, addPlatform},
		{"esxcli system settings advanced list", "", []string{"path", "type", "stringvalue"}, nil, addAdvanced},
		{"esxcli system module get", "", []string{"module", "modulefile"}, nil, addModuleInfo},
		{"esxcli software", "", []string{"message", "vibsinstalled"}, nil, addResult},
		{maxVFsTable, "", []string{"nic", "slot", "sbdf", "maxvfs"}, nil, addMaxVFs},
	}
}

// kindOf finds the kind by its name.
func kindOf(name string) kind {
	all := kinds()
	return all[slices.IndexFunc(all, func(k kind) bool { return k.name == name })]
}

// kindWith finds the kind that has these fields.
func kindWith(fields []string) (kind, bool) {
	for _, k := range kinds() {
		if !slices.ContainsFunc(k.keys, func(key string) bool { return !slices.Contains(fields, key) }) {
			return k, true
		}
	}
	return kind{}, false
}

// addAll adds records of a kind. It reports those that say something else than their kind does.
func (b *build) addAll(k kind, records []record, s section) (bad []int) {
	for i, r := range records {
		if !k.add(b, r, s) {
			bad = append(bad, i)
		}
	}
	return bad
}

// flag reads true and false in any case.
func flag(text string) *bool {
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "true", "yes", "1":
		return new(true)
	case "false", "no", "0":
		return new(false)
	}
	return nil
}
