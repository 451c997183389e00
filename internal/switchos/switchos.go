// Package switchos turns the plan's part for a switch into the text that its operating system reads, and reads such texts and
// the output of show commands back: NAME_render.go and NAME_read.go per operating system. It is pure, and the same part gives
// the same bytes.
package switchos

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// OS is the operating system of a switch.
type OS interface {
	// Names returns its id, as in the catalog and the cluster file, and its name in a sentence.
	Names() (id, title string)
	// Render gives the configuration of a switch; t is nil where the plan has no traffic classes.
	Render(s fabric.Switch, t *fabric.Traffic) Config
	// Load is the command that loads a copied file on the switch.
	Load(file string) string
}

// Reader is an operating system whose texts are read.
type Reader interface {
	OS
	// Recognizes reports whether a text is a configuration of it, or output of one of its show commands.
	Recognizes(text []byte) bool
	// Read reads all texts of one switch as one: a show command of one file may tell of a map that a port of another names.
	// It never fails: what it does not understand is in Unread, what is wrong in the text in Problems.
	Read(name string, texts []Text) *fabric.SwitchConfig
	// Shows are the commands whose output tells most: the running configuration first. They change nothing.
	Shows() []string
}

// Text is a text of a switch.
type Text struct {
	File  string // its name, for people
	Bytes []byte
}

// Config is the rendered configuration of one switch.
type Config struct {
	Path      string // on the switch
	Extension string // of a file with it, such as .json
	Text      []byte
	Omits     []string // what the switch also needs and the plan does not contain
}

// all lists the operating systems that can be rendered.
func all() []OS {
	return []OS{sonic{}, dellSONiC{}, eos{}, junos{}}
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
