package apply

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// sysctlBefore is a variable as the kernel had it before a trial.
type sysctlBefore struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// triedSysctls are the variables of the network that a bundle sets. Which interface answers ARP decides who is reached, so they
// are tried together with the addresses. The others cut nobody off, and are loaded once the trial is confirmed.
func triedSysctls(b Bundle) (tried []sysctl, err error) {
	all, err := sysctlsOf(b.Artifacts)
	for _, s := range all {
		if strings.HasPrefix(s.name, "net.") {
			tried = append(tried, s)
		}
	}
	return tried, err
}

// lookAtSysctls reads what the kernel has of the variables that are tried. One that is not there has nothing to go back to.
func lookAtSysctls(b Bundle) (was []sysctlBefore, err error) {
	tried, err := triedSysctls(b)
	for _, s := range tried {
		text, readErr := os.ReadFile(s.path())
		if readErr == nil {
			was = append(was, sysctlBefore{s.name, strings.TrimSpace(string(text))})
		} else if !absent(readErr) {
			err = errors.Join(err, readErr)
		}
	}
	return was, err
}

// trySysctls sets the variables that are tried. What the kernel does not take is pending: the addresses may be right all the same.
func trySysctls(b Bundle) (pending []string, err error) {
	tried, err := triedSysctls(b)
	for _, s := range tried {
		not, _, setErr := setSysctls([]sysctl{s})
		if pending = append(pending, not...); setErr != nil {
			pending = append(pending, setErr.Error())
		}
	}
	return pending, err
}

// restoreSysctls sets what was tried back. An interface that has gone took its variables along.
func (b before) restoreSysctls() error {
	var errs []error
	for _, was := range b.Sysctls {
		s := sysctl{name: was.Name, value: was.Value}
		if s.differs() == "" {
			continue
		}
		if err := os.WriteFile(s.path(), []byte(s.value), 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// proved says of each file how far it was proved once all are written and in effect as far as they can be now.
func (t *trial) proved(ctx context.Context, a Activation) []fabric.Proof {
	if InLab() {
		proofs, _ := proveAll(ctx, t.Bundle, a)
		return proofs
	}
	proofs := t.proofs(ctx, a, "it was written, and takes effect at the next start")
	for i, f := range t.Bundle.Artifacts {
		if below("/etc/sysctl.d/")(f.Path) {
			proofs[i] = readBack(f, func(sysctl) string { return "" })
			proofs[i].Path = f.Path
		}
	}
	return proofs
}
