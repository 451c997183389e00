package facts

import (
	"errors"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

const (
	packagesTool = "packages"

	dpkgFolder = "/var/lib/dpkg"
	// dpkgForm is the beginning of a row of dpkg -l: state, name, version.
	dpkgForm = "${db:Status-Abbrev} ${Package} ${Version}\n"
)

// packagesRuns asks the one package manager that has a database for the packages of the NIC and GPU software.
func packagesRuns(h host.Host, _ *fabric.Facts) []toolRun {
	if names, err := h.ReadDir(dpkgFolder); err == nil && slices.Contains(names, "status") {
		return []toolRun{{argv: append([]string{"dpkg-query", "-W", "-f", dpkgForm}, packagePatterns()...)}}
	}
	for _, folder := range []string{"/var/lib/rpm", "/usr/lib/sysimage/rpm"} {
		if names, err := h.ReadDir(folder); err == nil && len(names) > 0 {
			return []toolRun{{argv: append([]string{"rpm", "-qa"}, packagePatterns()...)}}
		}
	}
	return nil
}

// packagePatterns are the packages that rules read, as both managers take them: drivers and libraries of NICs, the RDMA
// core of the distribution and the stack that takes its place, and ROCm.
func packagePatterns() []string {
	return []string{"bnxt*", "libbnxt*", "netxtreme*", "ionic*", "libionic*", "rdma-core", "ibverbs-providers", "libibverbs", "mlnx-of*", "kmod-mlnx-of*", "doca-ofed*", "rocm-core", "rccl"}
}

var packageName = pattern.New(`^(?:bnxt|libbnxt|netxtreme|ionic|libionic|mlnx-of|kmod-mlnx-of|doca-ofed)[\w.+-]*$|^(?:rdma-core|ibverbs-providers|libibverbs|rocm-core|rccl)$`)

var (
	dpkgRow = pattern.New(`^([uihrp][a-zA-Z]) ?R? +([a-z0-9][a-z0-9+.-]*)(?::[a-z0-9]+)? +([0-9][\w.+:~-]*)(?:\s|$)`)
	rpmRow  = pattern.New(`^([A-Za-z0-9][\w.+-]*)-([0-9][\w.+~^]*-[\w.+~^]+)\.(?:x86_64|aarch64|noarch)$`)
)

// packageRow reads a row of dpkg -l, or of rpm -qa. A package of which only the settings are left has no version.
func packageRow(line string) (name, version string, ok bool) {
	line = strings.TrimRight(line, " \r\n")
	if m := dpkgRow().FindStringSubmatch(line); m != nil && packageName().MatchString(m[2]) {
		if m[1][1] != 'i' {
			return m[2], "", true
		}
		return m[2], m[3], true
	}
	if m := rpmRow().FindStringSubmatch(line); m != nil && packageName().MatchString(m[1]) {
		return m[1], m[2], true
	}
	return "", "", false
}

func isPackageRow(line string) bool {
	_, _, ok := packageRow(line)
	return ok
}

// isPackageLine knows what stands among such rows: other packages, and the head of dpkg -l.
func isPackageLine(line string) bool {
	return isPackageRow(line) || isDpkgHead(line) || rpmRow().MatchString(line) || dpkgRow().MatchString(line) || strings.HasPrefix(line, "un  ")
}

// dpkgHeads are the lines above its list.
func dpkgHeads() []string {
	return []string{"Desired=Unknown/", "| Status=Not/", "|/ Err?=", "||/ Name", "+++-===="}
}

// packageSigns are what a line has with which a list begins.
func packageSigns() []string { return append(pattern.Literals(packageName()), dpkgHeads()...) }

func isDpkgHead(line string) bool {
	return begins(dpkgHeads()...)(line)
}

func knowsPackages(text string) bool {
	return hasLine(text, isPackageRow)
}

// parsePackages reads the versions of packages.
func parsePackages(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	known := false
	for line := range strings.Lines(text) {
		name, version, ok := packageRow(line)
		known = known || ok
		if version == "" {
			continue
		}
		if had, again := f.Packages[name]; again && had != version {
			return fabric.Facts{}, errors.New("package " + name + " is there as " + had + " and as " + version)
		}
		if f.Packages == nil {
			f.Packages = make(map[string]string)
		}
		f.Packages[name] = version
	}
	if !known {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

// noSuchPackage reports whether dpkg-query ended with 1 only because a pattern matches nothing, which is what it says of each.
func noSuchPackage(e *host.ExitError) bool {
	if e.Status != 1 {
		return false
	}
	for line := range strings.Lines(e.Stderr) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "dpkg-query: no packages found matching ") {
			return false
		}
	}
	return true
}
