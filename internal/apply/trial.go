package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// Trial asks a node to put the network files of a bundle into effect now, and to take them back by itself unless it is
// confirmed over a new connection in time.
//
// During a trial nothing below /etc changes: a file of netplan or NetworkManager lies below /run, where it goes before
// the one of the same name (netplan-generate(8), "handling multiple files"; NetworkManager.conf(5), "keyfile"). So a
// restart, however it comes, brings the old network back, and so does removing these files. Only a confirmation writes
// below /etc.
type Trial struct {
	ID     string `json:"id"`     // of this run of apply
	Within int    `json:"within"` // seconds until it takes itself back
}

// The bounds of a trial, in seconds. A node takes some seconds to configure its NICs, and a new login a few more; an
// address that is wrong should not keep a machine away for longer than a person waits.
const (
	MinTrial = 5
	MaxTrial = 600
)

// validate is an error unless the trial has a time within the bounds, and an id that can be a part of names.
func (t *Trial) validate() error {
	if t == nil {
		return nil
	}
	if t.Within < MinTrial || t.Within > MaxTrial {
		return fmt.Errorf("a trial of %d s: must be %d to %d s", t.Within, MinTrial, MaxTrial)
	}
	const longest = 64 // bytes; a name of a unit of systemd has at most 255
	if t.ID == "" || len(t.ID) > longest || strings.ContainsFunc(t.ID, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9')
	}) {
		return fmt.Errorf("trial id %q: must be letters and digits", t.ID)
	}
	return nil
}

// places are where a trial keeps what it needs.
type places struct {
	journal string
	self    string // this program; empty: as it was started
	guard   string // folder of the program that takes it back, and of the note
	state   string // the trial that waits for its confirmation; a restart removes it
	shadows []shadow
	netplan []string // folders that netplan reads
}

// shadow is a folder of network files, and the one whose files go before them until the next start.
type shadow struct{ lasting, passing string }

// GuardFolder is where a node keeps, during a trial, the program that takes the trial back, and afterwards why it did.
// It is not below /run, from which no program may be started on Ubuntu and DGX OS (mounted noexec).
const GuardFolder = "/var/lib/railwright/guard"

// GuardProgram is the program that takes a trial back, and confirms it.
const GuardProgram = GuardFolder + "/railwright"

func placesOf(journal string) places {
	p := places{
		journal: journal, guard: filepath.Join(filepath.Dir(journal), filepath.Base(GuardFolder)), state: "/run/railwright/trial.json",
		shadows: []shadow{{"/etc/netplan", "/run/netplan"}, {keyfileFolder, "/run/NetworkManager/system-connections"}},
		netplan: netplanFolders(),
	}
	if journal != JournalFolder { // of a test
		p.state = filepath.Join(filepath.Dir(journal), "trial.json")
	}
	return p
}

func (p places) note() string    { return filepath.Join(p.guard, filepath.Base(NoteFile)) }
func (p places) program() string { return filepath.Join(p.guard, filepath.Base(GuardProgram)) }

// passing returns where a network file lies during a trial; empty: it is no network file.
func (p places) passing(path string) string {
	for _, s := range p.shadows {
		if filepath.Dir(path) == s.lasting {
			return filepath.Join(s.passing, filepath.Base(path))
		}
	}
	return ""
}

// trialKind is that of the state of a trial.
const trialKind = "Trial"

// trial is the state of one that waits for its confirmation.
type trial struct {
	fabric.Meta
	ID        string    `json:"id"`
	Since     time.Time `json:"since"`
	Deadline  float64   `json:"deadline"` // seconds since the machine was started: no clock that can be set
	Within    int       `json:"within"`   // seconds
	Confirmed bool      `json:"confirmed,omitempty"`
	Same      bool      `json:"same,omitempty"` // the lasting files were as planned before: an apply wrote them
	PID       int       `json:"pid"`            // of the process that brings the network up
	Started   string    `json:"started"`        // see host.ProcessInfo
	Before    before    `json:"before"`
	Bundle    Bundle    `json:"bundle"`

	places places
}

// load reads the state of the trial that waits; nil: there is none.
func (p places) load() (*trial, error) {
	text, err := os.ReadFile(p.state)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	t := &trial{places: p}
	if err == nil {
		err = fabric.Decode(text, trialKind, t)
	}
	if err == nil {
		err = t.Bundle.validate()
	}
	if err != nil {
		return nil, fmt.Errorf("activation %q: %w: a restart of the machine brings its old network back", p.state, err)
	}
	return t, nil
}

// save writes the state, at once or not at all.
func (t *trial) save() error {
	text, err := json.Marshal(t)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.places.state), 0o755); err != nil {
		return err
	}
	return replaceFile(t.places.state, text, 0o600)
}

// replaceFile replaces a file at once.
func replaceFile(path string, content []byte, mode fs.FileMode) error {
	name := stagingName(path)
	if err := os.Remove(name); err != nil && !absent(err) {
		return err
	}
	err := writeNew(name, content, mode)
	if err == nil {
		err = os.Rename(name, path)
	}
	if err != nil {
		return errors.Join(err, ignoreAbsent(os.Remove(name)))
	}
	return syncFolder(filepath.Dir(path))
}

func ignoreAbsent(err error) error {
	if absent(err) {
		return nil
	}
	return err
}

// left returns the seconds until the deadline; negative: it has passed.
func (t *trial) left() (float64, error) {
	now, err := uptime()
	return t.Deadline - now, err
}

// network brings what the files of a machine say into effect.
type network interface {
	// check reports what the programs that read these files say against them. It changes nothing.
	check(ctx context.Context, files []fabric.Artifact) error
	// up brings the files into effect for the NICs of a bundle. The activation says which program did it, and what is
	// not in effect.
	up(ctx context.Context, b Bundle) (Activation, error)
	// back brings what the files say now into effect for these NICs, and what the files do not say as it was before.
	back(ctx context.Context, b Bundle, was before) error
}

// arm starts the process that takes a trial back. It must outlive this one and the connection to the machine.
type arm func(ctx context.Context, t *trial) error

// ErrWaits means that an activation waits for its confirmation.
var ErrWaits = errors.New("an activation waits for its confirmation")

// shadowed returns the network files of a bundle as they are during the trial.
func (p places) shadowed(artifacts []fabric.Artifact) (passing []fabric.Artifact) {
	for _, a := range artifacts {
		if path := p.passing(a.Path); path != "" {
			a.Path = path
			passing = append(passing, a)
		}
	}
	return passing
}

// forget removes the state and the program: nothing waits any more.
func (t *trial) forget() error {
	p := t.places
	return errors.Join(ignoreAbsent(os.Remove(stagingName(p.state))), ignoreAbsent(os.Remove(p.state)), ignoreAbsent(os.Remove(p.program())))
}
