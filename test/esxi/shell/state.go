package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// machine is the state of a host.
type machine struct {
	Version     string     `json:"version"`
	Build       string     `json:"build"`
	UUID        string     `json:"uuid"`
	Started     time.Time  `json:"started"`
	Starts      int        `json:"starts"` // since it was made
	Maintenance bool       `json:"maintenance"`
	Power       string     `json:"power"`
	Kernel      []*setting `json:"kernel"`
	VIBs        []vib      `json:"vibs"` // that run
	Next        []vib      `json:"next"` // of the next start; nil: the same
	Modules     []*module  `json:"modules"`
	Devices     []*device  `json:"devices"`
	VMs         []string   `json:"vms"`    // powered on
	Manual      bool       `json:"manual"` // SSH is not started with the host
	Map         string     `json:"map"`    // passthru.map, as it was saved

	Down *outage `json:"down"` // it is rebooted

	// What goes wrong.
	Answers time.Duration `json:"answers"` // how long it still answers while it goes down
	Takes   time.Duration `json:"takes"`   // how long it is away then
	Away    bool          `json:"away"`    // it does not come back
	Full    bool          `json:"full"`    // of memory for files
	Slips   []string      `json:"slips"`   // settings that are taken and not kept
	Fades   []string      `json:"fades"`   // settings that a start forgets
	Faults  []fault       `json:"faults"`

	folder string
	lock   *os.File
}

type outage struct {
	At, Back time.Time
}

// fault is a program that fails.
type fault struct {
	Match  string `json:"match"` // part of its line
	Times  int    `json:"times"` // below 0: always
	Status int    `json:"status"`
	Say    string `json:"say"`
}

type setting struct{ Name, Type, Configured, Runtime, Default string }

type vib struct{ Name, Version, Vendor string }

type module struct {
	Name             string
	Enabled, Loaded  bool
	Options, Running string // configured, in force
}

type device struct {
	Address, Vendor, Device, Class, Name, Parent string
	Capable, Enabled, Active                     bool
	Alias, Driver                                string // of a NIC that ESX drives: vmnic4
	Config                                       map[string]*stored
	Broken                                       bool // mst shows it only after a start in recovery mode
	VFs                                          int
	Label                                        string // hardware label
}

// stored is a firmware setting.
type stored struct {
	Default, Current, Next string
	Behind                 string // listed only where this other setting is on
}

const stateFolder = ".state"

func open(folder string) (*machine, error) {
	lock, err := os.OpenFile(filepath.Join(folder, stateFolder, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lockFile(lock); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	h := &machine{folder: folder, lock: lock}
	text, err := os.ReadFile(filepath.Join(folder, stateFolder, "host.json"))
	if err == nil {
		err = json.Unmarshal(text, h)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return h, nil
}

func (h *machine) close() error { return errors.Join(h.save(), h.lock.Close()) }

func (h *machine) save() error {
	text, err := json.MarshalIndent(h, "", " ")
	if err != nil {
		return err
	}
	name := filepath.Join(h.folder, stateFolder, "host.json")
	if err := os.WriteFile(name+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// log keeps every call with the moment.
func (h *machine) log(line string) error {
	f, err := os.OpenFile(filepath.Join(h.folder, stateFolder, "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%d %s\n", time.Now().UnixNano(), line)
	return errors.Join(err, f.Close())
}

// phase reports whether the host is away, and starts it where its time has come.
func (h *machine) phase(now time.Time) (down bool) {
	switch {
	case h.Down == nil || now.Before(h.Down.At):
		return false
	case h.Away || now.Before(h.Down.Back):
		return true
	}
	h.boot(h.Down.Back)
	return false
}

const mapFile = "etc/vmware/passthru.map"

// boot is what a start makes of the host.
func (h *machine) boot(at time.Time) {
	h.Down, h.Started, h.Starts = nil, at, h.Starts+1
	if h.Next != nil {
		h.VIBs, h.Next = h.Next, nil
	}
	for _, s := range h.Kernel {
		if has(h.Fades, s.Name) {
			s.Configured = s.Default
		}
		s.Runtime = s.Configured
	}
	for _, m := range h.Modules {
		m.Running, m.Loaded = m.Options, m.Enabled
	}
	core := h.module("nmlx5_core")
	for _, d := range h.Devices {
		d.Active = d.Enabled
		for _, s := range d.Config {
			s.Current = s.Next
		}
		if d.Driver == "nmlx5_core" && option(core.Running, "mst_recovery") == "1" && h.tools() {
			d.Broken = false
		}
	}
	h.functions(option(core.Running, "max_vfs"))
	h.files()
}

// functions makes virtual functions, as many as driver and firmware both allow.
func (h *machine) functions(list string) {
	entries, n := strings.Split(list, ","), 0
	for _, d := range h.Devices {
		if d.Driver != "nmlx5_core" {
			continue
		}
		d.VFs = 0
		if n < len(entries) && !d.Active && d.value("SRIOV_EN") == "1" {
			d.VFs = min(number(entries[n]), number(d.value("NUM_OF_VFS")))
		}
		n++
	}
}

// files are what a start keeps of them: those that ESX was told to keep by a bit of their mode. Programs are those of what is installed.
func (h *machine) files() {
	fill := func(err error) {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	name := filepath.Join(h.folder, mapFile)
	if info, err := os.Stat(name); err == nil && info.Mode()&os.ModeSticky != 0 {
		text, err := os.ReadFile(name)
		fill(err)
		h.Map = string(text)
	}
	fill(os.WriteFile(name, []byte(h.Map), 0o644))
	fill(os.Chmod(name, 0o644|os.ModeSticky))
	fill(os.RemoveAll(filepath.Join(h.folder, "tmp")))
	fill(os.Mkdir(filepath.Join(h.folder, "tmp"), 0o777))
	tools := filepath.Join(h.folder, "opt/mellanox/bin")
	fill(os.RemoveAll(tools))
	if h.tools() {
		fill(os.MkdirAll(tools, 0o755))
		for _, name := range []string{"mst", "mlxconfig"} {
			fill(os.Symlink("/bin/esxcli.real", filepath.Join(tools, name)))
		}
	}
}

// tools reports whether MFT and its module are installed, and run.
func (h *machine) tools() bool { return h.has("mft") && h.has("nmst") }

func (h *machine) has(name string) bool {
	for _, v := range h.VIBs {
		if v.Name == name {
			return true
		}
	}
	return false
}

func (h *machine) module(name string) *module {
	for _, m := range h.Modules {
		if m.Name == name {
			return m
		}
	}
	return &module{}
}

func (h *machine) device(address string) *device {
	for _, d := range h.Devices {
		if d.Address == address {
			return d
		}
	}
	return nil
}

func (d *device) value(name string) string {
	if s := d.Config[name]; s != nil {
		return s.Current
	}
	return ""
}

func has(list []string, word string) bool {
	for _, w := range list {
		if w == word {
			return true
		}
	}
	return false
}

// option finds the value of a module's parameter.
func option(options, name string) string {
	for _, word := range strings.Fields(options) {
		if k, v, _ := strings.Cut(word, "="); k == name {
			return v
		}
	}
	return ""
}

func number(text string) int {
	n := 0
	if _, err := fmt.Sscan(text, &n); err != nil {
		return 0
	}
	return n
}
