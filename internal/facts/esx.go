package facts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/esx"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const (
	// esxTime is for one command: esxcli starts a program of Python, which takes about a second; mlxconfig of eight NICs some ten.
	esxTime = 60 * time.Second
	// esxAllTime is for all of them together.
	esxAllTime = 5 * time.Minute
	// esxTool is the name of what any tool of an ESX host prints, among outputs in a text.
	esxTool = "ESX"
	// commandNotFound is the exit status of a shell that does not know a program (POSIX, Shell Command Language 2.8.2).
	commandNotFound = 127
)

// CollectESX asks an ESX host over its shell. It runs commands that change nothing, and copies nothing to the host. It never fails as
// a whole: what could not be read is in Missing.
func CollectESX(ctx context.Context, r host.Runner, name string) *fabric.Facts {
	ctx, cancel := context.WithTimeout(ctx, esxAllTime)
	defer cancel()
	texts := map[string][]byte{}
	var missing []fabric.Missing
	for _, c := range esx.Commands() {
		out, err := runESX(ctx, r, c.Shell)
		if err == nil && len(out) > 0 && out[len(out)-1] != '\n' {
			err = errors.New("its output is cut: the last line has no end")
		}
		if err == nil || len(out) > 0 {
			texts[c.Name] = out
		}
		if err != nil && c.Gives != "" {
			exit, ended := errors.AsType[*host.ExitError](err)
			missing = append(missing, fabric.Missing{What: c.Gives, Source: esxSource(c), Reason: fabric.Printable(err.Error()),
				Absent: ended && c.Maybe && exit.Status == commandNotFound})
		}
	}
	f := FromText(name, texts)
	f.Source, f.Collected = "live", time.Now().UTC().Format(time.RFC3339)
	f.Missing = slices.DeleteFunc(f.Missing, func(m fabric.Missing) bool {
		return m.Reason == notCaptured && slices.ContainsFunc(missing, func(have fabric.Missing) bool { return have.What == m.What })
	})
	f.Missing = append(missing, f.Missing...)
	return f
}

func runESX(ctx context.Context, r host.Runner, shell string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, esxTime)
	defer cancel()
	return host.Output(ctx, r, host.Command{Argv: []string{"sh", "-c", shell}})
}

// esxSource is a command as evidence names it: a loop is named by what it asks.
func esxSource(c esx.Command) string {
	if loop, _, ok := strings.Cut(c.Shell, "; do "); ok && strings.HasPrefix(loop, "for ") {
		return c.Name
	}
	first, _, _ := strings.Cut(c.Shell, " && ")
	if inner, ok := strings.CutPrefix(first, "all=$("); ok {
		return strings.TrimSuffix(inner, ")")
	}
	return first
}

// esxTexts reads texts of an ESX host, and leaves the others for the tools of Linux. Those that Outputs found have all that is ESX's
// in one text.
func esxTexts(texts, left map[string][]byte) esx.Reading {
	own := texts
	if gathered, ok := texts[esxTool]; ok {
		own = map[string][]byte{esxTool: gathered}
	}
	r := esx.Read(own)
	if !r.Proven { // what a tool of Linux reads too is taken for its
		own = maps.Clone(own)
		maps.DeleteFunc(own, func(_ string, text []byte) bool { return knownToLinux(string(text)) })
		r = esx.Read(own)
	}
	commands := esx.Commands()
	for name := range texts {
		_, read := r.Texts[name]
		if r.Proven && !read { // an answer without entries, or what the gathered text has too
			read = slices.ContainsFunc(commands, func(c esx.Command) bool { return c.Name == strings.TrimSuffix(path.Base(name), ".txt") }) || len(esx.Read(map[string][]byte{name: texts[name]}).Texts) > 0
		}
		if read || name == esxTool {
			delete(left, name)
		}
	}
	return r
}

// knownToLinux reports whether a tool of Linux may have printed a text too: mlxconfig is on both.
func knownToLinux(text string) bool {
	return slices.ContainsFunc(tools(&fabric.Facts{}), func(t tool) bool { return t.knows(text) })
}

// mergeESX takes what was read of an ESX host. Settings of NICs alone are of any host: they count where nothing says that it runs Linux.
func mergeESX(m *merger, r esx.Reading) {
	f := m.f
	linux := len(f.HCAs)+len(f.NICs)+len(f.Modules) > 0 || f.Kernel.Release != ""
	if r.ESX == nil || !r.Proven && linux {
		return
	}
	f.ESX = r.ESX
	f.Missing = append(f.Missing, r.Missing...)
	if r.Proven {
		f.Kernel.OS = new(strings.TrimSpace("VMware ESX " + r.ESX.Version))
	}
	if r.Machine.Vendor != nil {
		f.Machine.Vendor, f.Machine.Product = r.Machine.Vendor, r.Machine.Product
	}
	m.tool = "esxcli hardware pci list"
	for _, d := range r.PCI {
		m.mergePCI(d)
	}
}

// unreadESX names lines of an ESX host's texts that no reader understood.
func unreadESX(f *fabric.Facts, r esx.Reading, texts map[string][]byte) {
	for name := range r.Texts {
		prefix := fabric.Printable(name[strings.LastIndex(name, "/")+1:]) + ", line "
		lines := slices.DeleteFunc(slices.Clone(r.Unread), func(l string) bool { return !strings.HasPrefix(l, prefix) })
		if len(lines) == 0 || texts[name] == nil || !r.Texts[name] {
			continue
		}
		miss(f, "text "+fabric.Printable(name), fabric.Printable(name), fmt.Errorf("not understood: %s, the first: %s", fabric.Count(len(lines), "line"), lines[0]))
	}
}

// esxNotGiven names what no text gave of an ESX host.
func esxNotGiven(f *fabric.Facts) (out []fabric.Missing) {
	e := f.ESX
	for _, fact := range []struct {
		what, source string
		given        bool
	}{
		{fabric.FactESX + ".version", "vmware -v", e.Version != ""},
		{fabric.FactESXPower, "esxcli system settings advanced list -o /Power/CpuPolicy", e.PowerPolicy != ""},
		{fabric.FactESXSettings, "esxcli system settings kernel list", e.Settings != nil},
		{fabric.FactESXVIBs, "esxcli software vib list", e.VIBs != nil},
		{fabric.FactESXModules, "esxcli system module list", e.Modules != nil},
		{fabric.FactESXDevices, "esxcli hardware pci list", e.Devices != nil},
		{fabric.FactESXResetRules, "/etc/vmware/passthru.map", e.ResetRules != nil},
		{fabric.FactESXMST, "mst status", e.MST != nil},
		{fabric.FactESXNICConfigs, "mlxconfig", e.NICConfigs != nil},
		{fabric.FactESXUplinks, "esxcli network nic list", e.Uplinks != nil},
		{fabric.FactESXVFs, "esxcli network sriovnic vf list", e.VFs != nil},
		{fabric.FactESXVMs, "vim-cmd vmsvc/get.config", e.VMs != nil},
	} {
		if _, missing := f.MissingReason(fact.what); !fact.given && !missing {
			out = append(out, fabric.Missing{What: fact.what, Source: fact.source, Reason: notCaptured})
		}
	}
	return out
}
