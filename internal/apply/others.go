package apply

import (
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// nicsOf returns the NICs that a bundle configures: those with an address, and those that its netplan file names without
// one.
func nicsOf(b Bundle) (nics []string) {
	add := func(nic string) {
		if !slices.Contains(nics, nic) {
			nics = append(nics, nic)
		}
	}
	for _, nic := range b.nics() {
		add(nic)
	}
	for _, a := range b.Artifacts {
		if filepath.Ext(a.Path) != ".yaml" || filepath.Base(filepath.Dir(a.Path)) != "netplan" {
			continue
		}
		defs, err := definitions(a.Content)
		if err != nil {
			continue // netplan refuses it
		}
		for _, d := range defs {
			if d.kind == "ethernets" {
				add(d.id)
			}
		}
	}
	return nics
}

// definition is an interface in a file of netplan(5).
type definition struct {
	kind, id string // ethernets, enp1s0f0np0
	line     int
	match    *match
	members  []string // of a bond or a bridge, or the link under a VLAN
}

type match struct {
	Name   string       `yaml:"name"`
	MAC    string       `yaml:"macaddress"`
	Driver stringsOrOne `yaml:"driver"`
}

// stringsOrOne is a list of words that may be written as one.
type stringsOrOne []string

// UnmarshalYAML reads either form.
func (s *stringsOrOne) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*s = []string{n.Value}
		return nil
	}
	var list []string
	err := n.Decode(&list)
	*s = list
	return err
}

// definitions reads the interfaces of a netplan file.
func definitions(text []byte) (all []definition, err error) {
	var file struct {
		Network map[string]yaml.Node `yaml:"network"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		return nil, err
	}
	for kind, node := range file.Network {
		if node.Kind != yaml.MappingNode {
			continue // version, renderer
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			id, body := node.Content[i], node.Content[i+1]
			if len(body.Content) == 0 {
				continue // sets nothing
			}
			var def struct {
				Match      *match         `yaml:"match"`
				Interfaces []string       `yaml:"interfaces"`
				Link       string         `yaml:"link"`
				Rest       map[string]any `yaml:",inline"`
			}
			if err := body.Decode(&def); err != nil {
				return nil, err
			}
			d := definition{kind: kind, id: id.Value, line: id.Line, match: def.Match, members: def.Interfaces}
			if def.Link != "" {
				d.members = append(d.members, def.Link)
			}
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b definition) int { return a.line - b.line })
	return all, nil
}

// concerns returns how a definition concerns a NIC; empty: it does not.
func (d definition) concerns(nic string) string {
	switch {
	case slices.Contains(d.members, nic):
		return fmt.Sprintf("makes %s a part of %s", nic, d.id)
	case d.match == nil && d.id == nic:
		return fmt.Sprintf("configures %s too, and netplan merges both: addresses of either are set", nic)
	case d.match != nil && d.match.covers(nic):
		return fmt.Sprintf("covers %s too by its match in %q, and only one of the two takes effect", nic, d.id)
	}
	return ""
}

// covers reports whether a NIC has all that is named.
func (m match) covers(nic string) bool {
	if m.Name == "" && m.MAC == "" && len(m.Driver) == 0 {
		return true // netplan(5): an empty match is every interface
	}
	if ok, err := path.Match(m.Name, nic); m.Name != "" && (err != nil || !ok) {
		return false
	}
	if m.MAC != "" {
		i, err := net.InterfaceByName(nic)
		if err != nil || !strings.EqualFold(i.HardwareAddr.String(), m.MAC) {
			return false
		}
	}
	if len(m.Driver) == 0 {
		return true
	}
	driver, err := host.LinkBase(host.Local{}, "/sys/class/net/"+nic+"/device/driver")
	return err == nil && slices.ContainsFunc(m.Driver, func(glob string) bool { ok, _ := path.Match(glob, driver); return ok })
}

// others returns which files that are not of the bundle configure its NICs too, each with its line and the way out. They are
// never changed: only their owner knows what they are for.
func (p places) others(b Bundle) (found []string) {
	nics := nicsOf(b)
	ours := make(map[string]bool)
	usesNetplan := false
	for _, a := range b.Artifacts {
		ours[filepath.Base(a.Path)] = true
		usesNetplan = usesNetplan || filepath.Base(filepath.Dir(a.Path)) == "netplan"
	}
	if usesNetplan {
		for _, folder := range p.netplan {
			found = append(found, otherNetplan(folder, nics, ours)...)
		}
	} else {
		found = otherKeyfiles(keyfileFolder, nics, ours)
	}
	return found
}

func otherNetplan(folder string, nics []string, ours map[string]bool) (found []string) {
	names, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range names {
		if ours[filepath.Base(name)] {
			continue
		}
		text, err := os.ReadFile(name)
		var defs []definition
		if err == nil {
			defs, err = definitions(text)
		}
		if err != nil {
			found = append(found, fmt.Sprintf("%s: which interfaces it configures cannot be read: %v", name, err))
			continue
		}
		for _, d := range defs {
			for _, nic := range nics {
				if how := d.concerns(nic); how != "" {
					found = append(found, fmt.Sprintf("%s:%d: %s: %s", name, d.line, how, wayOut(name)))
				}
			}
		}
	}
	return found
}

// wayOut is what the owner of a file can do. netplan and NetworkManager pass over a name that ends otherwise.
func wayOut(name string) string {
	word := fabric.ShellWord(name)
	return "look at it, take these lines out or move it away (sudo mv " + word + " " + word + ".off), and repeat"
}

func otherKeyfiles(folder string, nics []string, ours map[string]bool) (found []string) {
	names, err := filepath.Glob(filepath.Join(folder, "*.nmconnection"))
	if err != nil {
		return []string{err.Error()}
	}
	for _, name := range names {
		if ours[filepath.Base(name)] {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			found = append(found, fmt.Sprintf("%s: which interface it configures cannot be read: %v", name, err))
			continue
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			key, nic, _ := strings.Cut(strings.TrimSpace(line), "=")
			if key == "interface-name" && slices.Contains(nics, nic) {
				found = append(found, fmt.Sprintf("%s:%d: configures %s too, and NetworkManager takes one of the two: %s", name, number, nic, wayOut(name)))
			}
		}
	}
	return found
}
