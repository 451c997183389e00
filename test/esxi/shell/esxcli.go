package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// flags are the options of a command: those that it does not have are an error.
func flags(args []string, known string) (map[string][]string, error) {
	long := map[string]string{"--rebooting-image": "R", "--enable": "-e"}
	out := map[string][]string{}
	for i := 0; i < len(args); i++ {
		name := args[i]
		if n, ok := long[name]; ok {
			name = n
		}
		at := strings.Index(known, strings.TrimPrefix(name, "-"))
		if len(strings.TrimPrefix(name, "-")) != 1 || at < 0 {
			return nil, fmt.Errorf("Invalid option %s", args[i])
		}
		key := strings.TrimPrefix(name, "-")
		if at+1 == len(known) || known[at+1] != ':' { // without a value
			out[key] = append(out[key], "")
			continue
		}
		if i++; i == len(args) {
			return nil, fmt.Errorf("Option %s needs a value", name)
		}
		out[key] = append(out[key], args[i])
	}
	return out, nil
}

func one(of map[string][]string, key string) string {
	if v := of[key]; len(v) > 0 {
		return v[len(v)-1]
	}
	return ""
}

type command struct {
	words string
	known string // options; those with a value are followed by a colon
	run   func(h *machine, o map[string][]string) (string, error)
}

func commands() []command {
	return []command{
		{"system version get", "", func(h *machine, _ map[string][]string) (string, error) {
			return fmt.Sprintf("   Product: VMware ESXi\n   Version: %s\n   Build: Releasebuild-%s\n   Update: 3\n   Patch: 35\n", h.Version, h.Build), nil
		}},
		{"system uuid get", "", func(h *machine, _ map[string][]string) (string, error) { return h.UUID + "\n", nil }},
		{"system stats uptime get", "", func(h *machine, _ map[string][]string) (string, error) {
			return fmt.Sprintf("%d\n", time.Since(h.Started).Microseconds()), nil
		}},
		{"system maintenanceMode get", "", func(h *machine, _ map[string][]string) (string, error) {
			return map[bool]string{true: "Enabled\n", false: "Disabled\n"}[h.Maintenance], nil
		}},
		{"system maintenanceMode set", "e:", setMaintenance},
		{"system shutdown reboot", "d:r:", shutdown},
		{"system settings advanced list", "o:", advancedList},
		{"system settings advanced set", "o:s:", advancedSet},
		{"system settings kernel list", "o:", kernelList},
		{"system settings kernel set", "s:v:", kernelSet},
		{"system module list", "", moduleList},
		{"system module set", "m:e:", moduleSet},
		{"system module parameters set", "m:p:", parametersSet},
		{"hardware platform get", "", func(*machine, map[string][]string) (string, error) {
			return "Platform Information\n   UUID: 0x44 0x45\n   Product Name: PowerEdge XE9680\n   Vendor Name: Dell Inc.\n   Serial Number: \n   IPMI Supported: true\n", nil
		}},
		{"hardware pci list", "", pciList},
		{"hardware pci pcipassthru list", "", passthruList},
		{"hardware pci pcipassthru set", "d:e:", passthruSet},
		{"network nic list", "", nicList},
		{"network sriovnic vf list", "n:", vfList},
		{"rdma device list", "", func(*machine, map[string][]string) (string, error) {
			return "Name     Driver      State    MTU  Speed    Paired Uplink  Description\n-------  ----------  ------  ----  -------  -------------  -----------\n", nil
		}},
		{"software vib list", "R", vibList},
		{"software vib install", "d:v:", vibInstall},
		{"software vib remove", "n:", vibRemove},
		{"vm process list", "", processList},
	}
}

func esxcli(h *machine, args []string) (string, int, error) {
	if len(args) > 0 && args[0] == "--formatter=csv" {
		if strings.Join(args[1:], " ") != "network sriovnic list" {
			return "", 1, fmt.Errorf("Unknown command or namespace %s", strings.Join(args[1:], " "))
		}
		return sriovList(h), 0, nil
	}
	for _, c := range commands() {
		words := strings.Fields(c.words)
		if len(args) < len(words) || !slices.Equal(args[:len(words)], words) {
			continue
		}
		o, err := flags(args[len(words):], c.known)
		if err != nil {
			return "", 1, err
		}
		out, err := c.run(h, o)
		if err != nil {
			return "", 1, err
		}
		return out, 0, nil
	}
	return "", 1, fmt.Errorf("Unknown command or namespace %s", strings.Join(args, " "))
}

// table prints columns as esxcli does.
func table(rows ...[]string) string {
	widths := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			widths[i] = max(widths[i], len(c))
		}
	}
	rule := make([]string, len(widths))
	for i, w := range widths {
		rule[i] = strings.Repeat("-", w)
	}
	var b strings.Builder
	for _, r := range slices.Insert(rows, 1, rule) {
		for i, c := range r {
			if i+1 < len(r) {
				c = fmt.Sprintf("%-*s  ", widths[i], c)
			}
			b.WriteString(c)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func setMaintenance(h *machine, o map[string][]string) (string, error) {
	want := one(o, "e") == "true"
	if want == h.Maintenance {
		if want {
			return "Maintenance mode is already enabled.\n", nil
		}
		return "Maintenance mode is already disabled.\n", nil
	}
	if want && len(h.VMs) > 0 {
		return "", fmt.Errorf("Timed out: virtual machines are powered on")
	}
	h.Maintenance = want
	return "", nil
}

// shutdown says nothing more: the connection is cut.
func shutdown(h *machine, o map[string][]string) (string, error) {
	switch {
	case !h.Maintenance:
		return "", fmt.Errorf("The host must be in maintenance mode")
	case one(o, "r") == "":
		return "", fmt.Errorf("Missing required parameter -r|--reason")
	case h.Down == nil:
		now := time.Now()
		h.Down = &outage{At: now.Add(h.Answers), Back: now.Add(h.Answers + h.Takes)}
	}
	if err := h.save(); err != nil { // nothing comes after it
		return "", err
	}
	return "", cut()
}

func advancedList(h *machine, o map[string][]string) (string, error) {
	if one(o, "o") != "/Power/CpuPolicy" {
		return "", fmt.Errorf("Unable to find option %s", one(o, "o"))
	}
	return "   Path: /Power/CpuPolicy\n   Type: string\n   Int Value: 0\n   Default Int Value: 0\n   Min Value: 0\n   Max Value: 0\n   String Value: " + h.Power +
		"\n   Default String Value: Balanced\n   Valid Characters: *\n   Description: Dictates which power policy to use.\n", nil
}

func advancedSet(h *machine, o map[string][]string) (string, error) {
	valid := []string{"High Performance", "Balanced", "Low Power", "Custom"}
	if one(o, "o") != "/Power/CpuPolicy" || !slices.Contains(valid, one(o, "s")) {
		return "", fmt.Errorf("Unable to set %s to %s", one(o, "o"), one(o, "s"))
	}
	if !has(h.Slips, "power") {
		h.Power = one(o, "s")
	}
	return "", nil
}

func kernelList(h *machine, o map[string][]string) (string, error) {
	rows := [][]string{{"Name", "Type", "Configured", "Runtime", "Default", "Description"}}
	for _, s := range h.Kernel {
		if name := one(o, "o"); name == "" || name == s.Name {
			rows = append(rows, []string{s.Name, s.Type, s.Configured, s.Runtime, s.Default, "About " + s.Name + "."})
		}
	}
	if len(rows) == 1 {
		return "", fmt.Errorf("Unable to find setting %s", one(o, "o"))
	}
	return table(rows...), nil
}

func kernelSet(h *machine, o map[string][]string) (string, error) {
	for _, s := range h.Kernel {
		if s.Name != one(o, "s") {
			continue
		}
		v := one(o, "v")
		if s.Type == "Bool" && v != "TRUE" && v != "FALSE" {
			return "", fmt.Errorf("Invalid data constraint for %s", s.Name)
		}
		if !has(h.Slips, s.Name) {
			s.Configured = v
		}
		return "", nil
	}
	return "", fmt.Errorf("Unable to find setting %s", one(o, "s"))
}

func processList(h *machine, _ map[string][]string) (string, error) {
	var b strings.Builder
	for i, name := range h.VMs {
		fmt.Fprintf(&b, "%s\n   World ID: %d\n   Process ID: 0\n   VMX Cartel ID: %d\n   UUID: 56 4d\n   Display Name: %s\n   Config File: /vmfs/volumes/ds1/%s/%s.vmx\n\n", name, 2099500+i, 2099400+i, name, name, name)
	}
	return b.String(), nil
}

// depots read their VIBs from a file of names and versions.
func vibInstall(h *machine, o map[string][]string) (string, error) {
	next := slices.Clone(h.VIBs)
	if h.Next != nil {
		next = slices.Clone(h.Next)
	}
	var installed, skipped []string
	for _, depot := range append(o["d"], o["v"]...) {
		text, err := os.ReadFile(depot)
		if err != nil {
			return "", fmt.Errorf(" [MetadataDownloadError]\n Could not download from depot at zip:%s?index.xml, skipping", depot)
		}
		for line := range strings.Lines(string(text)) {
			w := strings.Fields(line)
			v, id := vib{w[0], w[1], w[2]}, w[2]+"_bootbank_"+w[0]+"_"+w[1]
			if slices.Contains(next, v) {
				skipped = append(skipped, id)
				continue
			}
			next, installed = append(slices.DeleteFunc(next, func(have vib) bool { return have.Name == v.Name }), v), append(installed, id)
		}
	}
	if len(installed)+len(skipped) == 0 {
		return "", fmt.Errorf("Missing required parameter -d|--depot or -v|--viburl")
	}
	return h.stage(next, installed, nil, skipped), nil
}

func vibRemove(h *machine, o map[string][]string) (string, error) {
	next := slices.Clone(h.VIBs)
	if h.Next != nil {
		next = slices.Clone(h.Next)
	}
	var removed []string
	for _, name := range o["n"] {
		i := slices.IndexFunc(next, func(v vib) bool { return v.Name == name })
		if i < 0 {
			return "", fmt.Errorf(" [NoMatchError]\n No VIB matching VIB search specification '%s'.", name)
		}
		removed, next = append(removed, next[i].Vendor+"_bootbank_"+next[i].Name+"_"+next[i].Version), slices.Delete(next, i, i+1)
	}
	return h.stage(next, nil, removed, nil), nil
}

func (h *machine) stage(next []vib, installed, removed, skipped []string) string {
	if len(installed)+len(removed) == 0 {
		return "Installation Result\n   Message: Host is not changed.\n   Reboot Required: false\n   VIBs Installed: \n   VIBs Removed: \n   VIBs Skipped: " + strings.Join(skipped, ", ") + "\n"
	}
	if !has(h.Slips, "vib") {
		h.Next = next
	}
	title := "Installation Result"
	if len(removed) > 0 {
		title = "Removal Result"
	}
	return title + "\n   Message: The update completed successfully, but the system needs to be rebooted for the changes to be effective.\n   Reboot Required: true\n   VIBs Installed: " +
		strings.Join(installed, ", ") + "\n   VIBs Removed: " + strings.Join(removed, ", ") + "\n   VIBs Skipped: " + strings.Join(skipped, ", ") + "\n"
}

func vibList(h *machine, o map[string][]string) (string, error) {
	list := h.VIBs
	if o["R"] != nil {
		if list = h.Next; list == nil {
			return "", nil
		}
	}
	rows := [][]string{{"Name", "Version", "Vendor", "Acceptance Level", "Install Date", "Platforms"}}
	for _, v := range list {
		rows = append(rows, []string{v.Name, v.Version, v.Vendor, "PartnerSupported", "2025-06-01", "host"})
	}
	return table(rows...), nil
}
