package prepare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// power is in force at once.
func (r *run) power() {
	const option = "/Power/CpuPolicy"
	switch was, want := r.esx.PowerPolicy, r.goal.PowerPolicy; {
	case want == "" || strings.EqualFold(was, want) || strings.EqualFold(was, "static") && strings.EqualFold(want, "High Performance"): // its short name
	case was == "":
		r.unknown("the power policy was not read")
	default:
		set := func(v string) string {
			return "esxcli system settings advanced set -o " + option + " -s " + fabric.ShellWord(v)
		}
		r.atOnce(Step{ID: "power", Title: "set the power policy to " + want, Commands: []string{set(want)}, Undo: []string{set(was)},
			Check: powerCheck("esxcli system settings advanced list -o "+option, was, want), Source: vcf + "7"})
	}
}

// vibs are installed from files that the site names, or a person or Lifecycle Manager does it.
func (r *run) vibs() {
	if r.esx.VIBs == nil {
		if len(r.goal.VIBs) > 0 {
			r.unknown("the installed VIBs were not read")
		}
		return
	}
	var lacks []string
	for _, name := range r.goal.VIBs {
		if !slices.ContainsFunc(r.esx.VIBs, func(v fabric.VIB) bool { return v.Name == name || v.Name == name+"-oem" }) {
			lacks = append(lacks, name)
		}
	}
	if len(lacks) == 0 {
		return
	}
	r.moved = true
	s := Step{ID: "vib", Title: "install " + strings.Join(lacks, " and "), Why: "without them nothing on ESX reads or sets the firmware settings of NICs",
		Check: vibCheck(lacks), Source: vcf + "8.1, B"}
	for _, name := range lacks {
		s.Undo = append(s.Undo, image+`n=$(echo "$l" | grep -o -e '^`+name+` ' -e '^`+name+`-oem ' | head -n 1); test -z "$n" || esxcli software vib remove -n $n`)
	}
	if len(r.goal.Depots) == 0 {
		s.Title += ", by vSphere Lifecycle Manager or by hand (esxcli software vib install -d BUNDLE.zip), or name the bundles in vsphere.depots"
		r.add(s)
		return
	}
	command := "esxcli software vib install"
	for _, d := range r.goal.Depots {
		flag := " -d "
		if strings.HasSuffix(d, ".vib") {
			flag = " -v "
		}
		command += flag + quoted(d)
	}
	s.Commands, s.Title = []string{command}, s.Title+" from "+strings.Join(r.goal.Depots, " and ")
	r.add(s)
}

// image sets $l to the list of what is installed at the next start: that image is there only where it differs from the one that runs.
const image = `l=$(esxcli software vib list --rebooting-image); test -n "$l" || l=$(esxcli software vib list) || exit 1; `

// settings are the boot options of the kernel.
func (r *run) settings() {
	for _, want := range r.goal.Settings {
		if since := r.goal.SinceMajor[want.Name]; since > 0 {
			if r.esx.Major() == 0 {
				r.unknown(fmt.Sprintf("%s is of ESX %d, and the version of the host was not read", want.Name, since))
				continue
			}
			if r.esx.Major() < since {
				continue
			}
		}
		has := r.esx.Setting(want.Name)
		switch {
		case has == nil || has.Configured == "":
			r.unknown("kernel setting " + want.Name + " was not read")
		case !strings.EqualFold(has.Configured, want.Configured):
			set := func(v string) string {
				return "esxcli system settings kernel set -s " + fabric.ShellWord(want.Name) + " -v " + fabric.ShellWord(v)
			}
			r.when(!strings.EqualFold(has.Runtime, want.Configured), Step{ID: "kernel " + want.Name, Title: "set kernel setting " + want.Name + " to " + want.Configured, Commands: []string{set(want.Configured)}, Undo: []string{set(has.Configured)},
				Check: kernelCheck(want.Name, has.Configured, want.Configured), Source: vcf + "8.2"})
		case has.Runtime != "" && !strings.EqualFold(has.Runtime, want.Configured):
			r.pending("kernel setting " + want.Name + " was set to " + has.Configured + ", and " + has.Runtime + " is in force")
		}
	}
}

const passthruMap = "/etc/vmware/passthru.map"

// resetRule changes the method of the rules that hold for the GPUs, in their lines, and leaves the rest of the file. The file is
// written over, and not replaced: ESX keeps a file over a start by a bit of its mode.
func (r *run) resetRule() {
	if r.goal.ResetMethod == "" || r.goal.GPU == "" {
		return
	}
	if r.esx.ResetRules == nil {
		r.unknown(passthruMap + " was not read")
		return
	}
	vendor, device := ids(r.goal.GPU)
	held := false
	for _, rule := range r.esx.ResetRules {
		if rule.Vendor != vendor || rule.Device != device && rule.Device != 0xffff {
			continue
		}
		held = true
		if rule.Method == r.goal.ResetMethod {
			continue
		}
		s := r.resetStep(ruleCheck(rule, rule.Method, r.goal.ResetMethod))
		s.ID += fmt.Sprintf(" %d", rule.Line)
		s.Commands, s.Undo = []string{edit(rule, rule.Method, r.goal.ResetMethod)}, []string{edit(rule, r.goal.ResetMethod, rule.Method)}
		r.add(s)
	}
	if !held {
		line := fmt.Sprintf("%04x ffff %s false", vendor, r.goal.ResetMethod)
		s := r.resetStep(ruleCheck(fabric.ResetRule{Vendor: vendor, Device: 0xffff}, "", r.goal.ResetMethod))
		s.Commands, s.Undo = []string{rewrite("cat " + passthruMap + " && { grep -qx " + quoted(line) + " " + passthruMap + " || echo " + quoted(line) + "; }")}, []string{rewrite("sed " + quoted("/^"+line+"$/d") + " " + passthruMap)}
		r.add(s)
	}
}

func (r *run) resetStep(check Check) Step {
	return Step{ID: "reset-rule", Title: "reset GPUs by " + r.goal.ResetMethod, Why: "a reset of the bridge takes what is beside the GPU with it", Check: check, Source: vcf + "8.4"}
}

// edit changes the method in the line of a rule, where it still stands there. Run again, it changes nothing.
func edit(rule fabric.ResetRule, from, to string) string {
	const blank = "[[:space:]][[:space:]]*"
	at := ""
	if rule.Line > 0 {
		at = fmt.Sprint(rule.Line)
	}
	script := at + `s/^\([[:space:]]*` + anyCase(rule.Vendor) + blank + anyCase(rule.Device) + blank + `\)` + from + `\([[:space:]].*\)*$/\1` + to + `\2/`
	return rewrite("sed " + quoted(script) + " " + passthruMap)
}

// rewrite gives the file what a command prints. Where the disk of ESX, which is memory, has no room, the file is as before.
func rewrite(command string) string {
	const script = `cp MAP BEFORE && { COMMAND; } > AFTER && test -s AFTER && { { cat AFTER > MAP && test "$(cat AFTER)" = "$(cat MAP)"; } || { cat BEFORE > MAP; false; }; } && rm BEFORE AFTER`
	return strings.NewReplacer("MAP", passthruMap, "BEFORE", "/tmp/railwright.before", "AFTER", "/tmp/railwright.after", "COMMAND", command).Replace(script)
}

// anyCase is a pattern of a number that may be written in capitals.
func anyCase(id uint16) string {
	var b strings.Builder
	for _, c := range fmt.Sprintf("%04x", id) {
		if c >= 'a' {
			fmt.Fprintf(&b, "[%c%c]", c, c-'a'+'A')
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// ids are the numbers of vendor:device, both hexadecimal; 0: it is not one.
func ids(text string) (vendor, device uint16) {
	v, d, _ := strings.Cut(text, ":")
	number := func(s string) uint16 {
		n, err := strconv.ParseUint(s, 16, 16)
		if err != nil {
			return 0
		}
		return uint16(n)
	}
	return number(v), number(d)
}
