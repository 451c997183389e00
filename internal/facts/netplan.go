package facts

import (
	"context"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// netplanTool names what is read here: the YAML of netplan, which people paste whole, in parts, and without its indentation.
const netplanTool = "netplan"

// netplanFolder is where netplan(5) has what an administrator wrote; the other two folders belong to packages and to a boot.
const netplanFolder = "/etc/netplan"

// maxNetplan bounds a file, in bytes: a host with a hundred interfaces has some tens of KiB.
const maxNetplan = 1 << 20

var (
	netplanPath = pattern.New(`/(?:etc|run|lib)/netplan/[\w.@+-]+\.ya?ml\b`)
	netplanLine = pattern.New(`^(- )?([\w.-]+):(?:\s+(.*))?$`)
)

// readNetplan reads the files of the node. They are of root, so that another user is told that they are unknown.
func readNetplan(_ context.Context, h host.Host, f *fabric.Facts) {
	names, err := h.ReadDir(netplanFolder)
	if err != nil {
		miss(f, fabric.FactNetworkFiles, netplanFolder, err)
		return
	}
	slices.Sort(names)
	for _, name := range names {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		path := netplanFolder + "/" + name
		text, err := h.ReadFile(path)
		if err != nil {
			miss(f, fabric.FactNetworkFiles+" "+fabric.Printable(path), path, err)
			continue
		}
		if len(text) > maxNetplan {
			continue
		}
		files := netplanFiles(string(text))
		for i := range files {
			files[i].Path = fabric.Printable(path)
		}
		f.NetworkFiles = append(f.NetworkFiles, files...)
	}
}

func knowsNetplan(text string) bool { return hasLine(text, isNetplanHead) }

func parseNetplan(text, _ string) (fabric.Facts, error) {
	files := netplanFiles(text)
	if len(files) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return fabric.Facts{NetworkFiles: files}, nil
}

// isNetplanHead knows how a file of netplan begins, or the part of one that was pasted.
func isNetplanHead(line string) bool {
	line = strings.TrimRight(line, " \r")
	text := strings.TrimLeft(line, " \t")
	switch text {
	case "network:", "ethernets:", "renderer: networkd", "renderer: NetworkManager":
		return true
	}
	return false
}

// netplanKeys are keys that stand in the part of a file about Ethernet interfaces (netplan-yaml(5)).
func netplanKeys() []string {
	return []string{
		"network", "version", "renderer", "ethernets", "addresses", "mtu", "dhcp4", "dhcp6", "link-local", "optional", "accept-ra", "routes", "to", "via", "metric", "table",
		"nameservers", "search", "gateway4", "gateway6", "match", "macaddress", "set-name", "driver", "name", "routing-policy", "from", "priority", "dhcp4-overrides", "dhcp6-overrides",
		"use-routes", "use-dns", "use-mtu", "route-metric", "wakeonlan", "ignore-carrier", "critical", "activation-mode", "optional-addresses", "ipv6-privacy", "networkmanager", "wifis",
		"scope", "type", "on-link", "label", "lifetime", "uuid", "passthrough", "dhcp-identifier", "ipv6-mtu", "bridges", "bonds", "vlans", "emit-lldp", "virtual-function-count",
	}
}

// isNetplanGoingOn knows its other lines: a key of netplan, an interface, an item of a list, a comment that names no other host.
func isNetplanGoingOn(line string) bool {
	text := strings.TrimSpace(line)
	if strings.HasPrefix(text, "#") {
		return !netplanPath().MatchString(text) && headingHost(text) == ""
	}
	if m := netplanLine().FindStringSubmatch(text); m != nil {
		value, _, _ := strings.Cut(m[3], "#")
		return slices.Contains(netplanKeys(), m[2]) || strings.Trim(value, " {}") == "" && isInterfaceName(m[2]) && isPredictable(m[2])
	}
	item, ok := strings.CutPrefix(text, "- ")
	return ok && (strings.HasPrefix(line, " ") || strings.Contains(item, "/") || isAddress(item))
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(strings.Trim(text, `"' `))
	return err == nil
}

// isPredictable knows the names that systemd and the kernel give to Ethernet interfaces (systemd.net-naming-scheme(7)).
func isPredictable(name string) bool {
	return len(name) > 2 && (strings.HasPrefix(name, "en") || strings.HasPrefix(name, "eth") || strings.HasPrefix(name, "wl") || strings.HasPrefix(name, "ib"))
}

// netplanReader is where a reading of lines stands.
type netplanReader struct {
	files   []fabric.NetworkFile
	path    string
	in      *fabric.NetworkInterface
	list    string // the key whose items follow
	foreign int    // indentation of a block whose keys are not the interface's own; -1: none
	other   bool   // in a section of other interfaces than Ethernet
}

// netplanFiles reads lines instead of a document: what people paste is cut, indented by Markdown, or not indented at all.
func netplanFiles(text string) []fabric.NetworkFile {
	r := netplanReader{foreign: -1}
	for line := range strings.Lines(text) {
		r.line(strings.TrimRight(line, " \t\r\n"))
	}
	return slices.DeleteFunc(r.files, func(f fabric.NetworkFile) bool { return len(f.Interfaces) == 0 })
}

func (r *netplanReader) line(line string) {
	text := strings.TrimLeft(line, " \t")
	indent := len(line) - len(text)
	if strings.HasPrefix(text, "#") {
		if path := netplanPath().FindString(text); path != "" {
			r.path, r.in = path, nil
			r.files = append(r.files, fabric.NetworkFile{Path: path})
		}
		return
	}
	if r.foreign >= 0 && (indent <= r.foreign || indent == 0) {
		r.foreign = -1
	}
	if item, ok := strings.CutPrefix(text, "- "); ok && !strings.Contains(item, ": ") {
		if r.list == "addresses" {
			r.address(item)
		}
		return
	}
	m := netplanLine().FindStringSubmatch(text)
	if m == nil {
		return
	}
	value, _, _ := strings.Cut(m[3], " #")
	r.key(m[2], strings.TrimSpace(strings.TrimPrefix(value, "#")), indent)
}

func (r *netplanReader) key(key, value string, indent int) {
	r.list = ""
	switch key {
	case "network":
		if n := len(r.files); n == 0 || r.files[n-1].Path != r.path || r.path == "" || len(r.files[n-1].Interfaces) > 0 {
			r.files = append(r.files, fabric.NetworkFile{Path: r.path})
		}
		r.in, r.other = nil, false
	case "renderer":
		r.file().Renderer = value
	case "ethernets":
		r.in, r.other = nil, false
		r.file()
	case "wifis", "bridges", "bonds", "vlans":
		r.in, r.other = nil, true
	case "nameservers", "routes", "routing-policy", "match", "dhcp4-overrides", "dhcp6-overrides":
		r.foreign = indent
	default:
		if r.foreign < 0 {
			r.own(key, value)
		}
	}
}

// own reads a key of an interface, or its name.
func (r *netplanReader) own(key, value string) {
	known := slices.Contains(netplanKeys(), key)
	switch {
	case !known && value == "" && isInterfaceName(key) && !r.other:
		file := r.file()
		file.Interfaces = append(file.Interfaces, fabric.NetworkInterface{Name: key, LinkLocal: []string{"ipv6"}})
		r.in = &file.Interfaces[len(file.Interfaces)-1]
	case r.in == nil:
	case key == "addresses":
		r.list = key
		for _, item := range flowItems(value) {
			r.address(item)
		}
	case key == "mtu":
		r.in.MTU = number(value)
	case key == "dhcp4":
		r.in.DHCP4 = yamlBool(value)
	case key == "link-local":
		r.in.LinkLocal = flowItems(value)
	}
}

// file is the last file, or a part of one that begins without its head.
func (r *netplanReader) file() *fabric.NetworkFile {
	if len(r.files) == 0 {
		r.files = append(r.files, fabric.NetworkFile{Path: r.path})
	}
	return &r.files[len(r.files)-1]
}

func (r *netplanReader) address(item string) {
	text, _, _ := strings.Cut(strings.Trim(item, `"' `), `"`)
	if p, err := netip.ParsePrefix(text); err == nil && r.in != nil {
		r.in.Addresses = append(r.in.Addresses, p)
	}
}

// flowItems reads [a, b]; an empty list is not nil.
func flowItems(value string) []string {
	items := []string{}
	for item := range strings.SplitSeq(strings.Trim(value, "[] "), ",") {
		if item = strings.Trim(item, `"' `); item != "" {
			items = append(items, fabric.Printable(item))
		}
	}
	return items
}

// yamlBool reads the words of YAML 1.1, which netplan takes: no is false.
func yamlBool(value string) *bool {
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		return new(true)
	case "false", "no", "off":
		return new(false)
	}
	return nil
}
