package cli

import (
	"context"
	"fmt"

	"railwright.dev/railwright/internal/bundle"
	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// collectBundle writes a support bundle of this host. The archive is made in memory and replaces the file at once, so that a
// signal or a full disk leaves what was there before.
func (a *app) collectBundle(ctx context.Context, o collectOptions) error {
	options := bundle.Options{Tool: a.version, At: now(), Doing: func(what string) { a.doing("%s", what) }}
	if o.redact {
		options.Salt = newSalt()
	}
	archive, index, facts, err := bundle.Collect(ctx, host.Local{}, options)
	if err != nil {
		return err
	}
	if o.bundle == "-" {
		_, err = a.exact().Write(archive)
	} else {
		err = writeThrough(run.WritePrivate, "bundle", o.bundle, archive)
	}
	if err != nil {
		return err
	}
	if o.bundle != "-" {
		if err := a.printBundle(o.bundle, index, len(archive)); err != nil {
			return err
		}
	}
	lost := check.Unread(facts)
	a.printUnread(lost)
	if len(lost) > 0 || index.Lacks() > 0 {
		return verdict(exitUnknown)
	}
	return nil
}

func (a *app) printBundle(file string, x *bundle.Index, size int) error {
	if a.json() {
		return report.JSON(a.stdout, x)
	}
	count := map[bundle.Status]int{}
	for _, e := range x.Entries {
		count[e.Status]++
	}
	_, err := fmt.Fprintf(a.stdout, "%s: %d KiB, %d outputs and files whole, %d failed, %d not on this host\n", fabric.Printable(file), size>>10, count[bundle.Whole], count[bundle.Failed], count[bundle.Absent])
	if n := count[bundle.Cut] + count[bundle.Late] + count[bundle.NotSeen]; err == nil && n > 0 {
		_, err = fmt.Fprintf(a.stdout, "%d cut, late or left out\n", n)
	}
	if err == nil && !x.Redacted {
		_, err = fmt.Fprintln(a.stdout, "names, serial numbers and addresses are in it: --redact replaces them")
	}
	if err == nil {
		_, err = fmt.Fprintln(a.stdout, "what is missing and why: index.txt in it")
	}
	return err
}
