package facts

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// maxProviders bounds the list of libraries, in entries: six drivers, in at most eight folders.
const maxProviders = 48

// providersRuns looks for the libraries by which verbs open RDMA devices: in the folder of rdma-core below /usr/lib or
// /usr/lib64, and where vendors' packages put theirs, below /usr/local.
func providersRuns(h host.Host, f *fabric.Facts) []toolRun {
	if len(f.HCAs) == 0 {
		return nil
	}
	argv := []string{"find", "/usr/lib"}
	names, err := h.ReadDir("/usr")
	if err != nil {
		return nil
	}
	for _, name := range []string{"lib64", "local"} {
		if slices.Contains(names, name) {
			argv = append(argv, "/usr/"+name)
		}
	}
	return []toolRun{{argv: append(argv, "-maxdepth", "3", "-name", "lib*-rdmav*.so*", "-printf", `%s %p\n`)}}
}

// providerPath finds a provider of a driver that matters here, in what find prints ("82104 /usr/...so"), ldconfig -p
// ("libbnxt_re-rdmav34.so (libc6,x86-64) => /usr/local/...so"), ls and strace of openat. The number is that of the private
// ABI between libibverbs and its providers (rdma-core, IBVERBS_PABI_VERSION).
var providerPath = pattern.New(`(?:^|[\s"])((?:/[\w.+-]+)+/lib(bnxt_re|mlx5|ionic|irdma|efa|mana)-rdmav[0-9]+\.so)(?:["\s]|$)`)

var providerSize = pattern.New(`^([0-9]{1,12}) /`)

func isProviderLine(line string) bool {
	return strings.Contains(line, "-rdmav") && providerPath().MatchString(line) && !strings.Contains(line, "ENOENT")
}

// isLibraryLine knows what stands among them: other libraries, and places where one was looked for in vain.
func isLibraryLine(line string) bool {
	return strings.Contains(line, ".so") && strings.Contains(line, "/lib")
}

func knowsProviders(text string) bool { return hasLine(text, isProviderLine) }

// parseProviders lists the libraries, each once. A renamed one (.so.inbox) is not used by anyone, and not listed.
func parseProviders(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		m := providerPath().FindStringSubmatch(line)
		if m == nil || !isProviderLine(line) || slices.ContainsFunc(f.Providers, func(p fabric.Provider) bool { return p.Path == m[1] }) {
			continue
		}
		p := fabric.Provider{Driver: m[2], Path: m[1]}
		if s := providerSize().FindStringSubmatch(line); s != nil {
			size, err := strconv.Atoi(s[1])
			if err != nil {
				return fabric.Facts{}, errForeignText
			}
			p.Bytes = size
		}
		if len(f.Providers) == maxProviders {
			return fabric.Facts{}, errors.New("lists more than " + strconv.Itoa(maxProviders) + " libraries")
		}
		f.Providers = append(f.Providers, p)
	}
	if len(f.Providers) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
