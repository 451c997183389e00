// Package switchos turns the plan's part for a switch into the text that its operating system reads, and reads such texts and
// the output of show commands back: a package for each. It is pure, and the same part gives
// the same bytes.
package switchos

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/dell"
	"railwright.dev/railwright/internal/switchos/eos"
	"railwright.dev/railwright/internal/switchos/junos"
	"railwright.dev/railwright/internal/switchos/routeros"
	"railwright.dev/railwright/internal/switchos/sonic"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// OS is the operating system of a switch.
type OS interface {
	// Names returns its id, as in the catalog and the cluster file, and its name in a sentence.
	Names() (id, title string)
	// Render gives the configuration of a switch; t is nil where the plan has no traffic classes.
	Render(s fabric.Switch, t *fabric.Traffic) switchtext.Config
	// Load is the command that loads a copied file on the switch.
	Load(file string) string
	// Recognizes reports whether a text is a configuration of it, or output of one of its show commands.
	Recognizes(text []byte) bool
	// Read reads all texts of one switch as one: a show command of one file may tell of a map that a port of another names.
	// It never fails: what it does not understand is in Unread, what is wrong in the text in Problems.
	Read(name string, texts []switchtext.Text) *fabric.SwitchConfig
	// Shows are the commands whose output tells most: the running configuration first. They change nothing.
	Shows() []string
}

// all lists the operating systems.
func all() []OS {
	return []OS{sonic.OS{}, dell.OS{}, eos.OS{}, junos.OS{}, routeros.OS{}}
}

// Find returns the operating system of a name; the error lists the known ones.
func Find(name string) (OS, error) {
	var known []string
	for _, os := range all() {
		id, _ := os.Names()
		if id == name {
			return os, nil
		}
		known = append(known, id)
	}
	return nil, fmt.Errorf("switch OS %q: no configuration is rendered for it in this version; known: %s", name, strings.Join(known, ", "))
}
