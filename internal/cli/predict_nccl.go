package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/report"
)

// mostVersions bounds the versions of NCCL of one comparison.
const mostVersions = 8

// ncclFlag adds the flag of the version of NCCL whose choices count.
func ncclFlag(c *cobra.Command, version *string) {
	c.Flags().StringVar(version, "nccl", "", "version of NCCL in that run, where no log says it; default "+ncclgraph.Newest().String())
}

// ncclWords are the versions whose choices are known, newest first.
func ncclWords() (out []string) {
	for _, v := range ncclgraph.Versions() {
		out = append([]string{v.String()}, out...)
	}
	return out
}

// knownNCCL returns the version whose choices stand for that of a text. What is no version, and one that is older than all whose choices are
// known, is an error; of is the flag or the field that has it.
func knownNCCL(of, text string) (fabric.NCCLVersion, error) {
	v, err := fabric.ParseNCCLVersion(text)
	if err == nil {
		v, err = ncclgraph.Known(v)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", of, err)
	}
	return v, nil
}

// checkNCCL checks versions as knownNCCL does; an empty one is none.
func checkNCCL(of string, versions ...string) error {
	for _, text := range versions {
		if text == "" {
			continue
		}
		if _, err := knownNCCL(of, text); err != nil {
			return err
		}
	}
	return nil
}

// differentVersions refuses versions that are all followed as one and the same: whether an upgrade changes choices is then unknown.
func differentVersions(stated []string) error {
	var followed []fabric.NCCLVersion
	for _, text := range stated {
		v, err := knownNCCL("flag --nccl", text)
		if err != nil {
			return err
		}
		followed = append(followed, v)
	}
	if len(slices.Compact(slices.Clone(followed))) > 1 {
		return nil
	}
	return fmt.Errorf("flag --nccl: what changes from %s is unknown: the choices of all of them are taken from %s, of those that are known: %s",
		strings.Join(stated, " to "), followed[0], strings.Join(ncclWords(), ", "))
}

// followedAs says which versions are followed as older ones, whose choices are known. A series, such as 2.30, is its newest.
func followedAs(stated, followed []string) (remarks []string) {
	for i, text := range stated {
		v, err := fabric.ParseNCCLVersion(text)
		if err == nil && v.String() != followed[i] && !strings.HasPrefix(followed[i], v.String()+".") {
			remarks = append(remarks, fmt.Sprintf("NCCL %s is followed as %s, the newest before it whose choices are known", v, followed[i]))
		}
	}
	return remarks
}

// upgrade predicts for each version of --nccl and prints what differs.
func (a *app) upgrade(ctx context.Context, o predictOptions) error {
	if len(o.nccl) > mostVersions {
		return fmt.Errorf("flag --nccl: %d versions: at most %d", len(o.nccl), mostVersions)
	}
	if err := differentVersions(o.nccl); err != nil {
		return err
	}
	var all []*fabric.Prediction
	for _, version := range o.nccl {
		one := o
		one.nccl, one.compared = []string{version}, true
		p, err := a.prediction(ctx, one)
		if err != nil {
			return err
		}
		all = append(all, p)
	}
	u, err := collective.Compare(all)
	if err != nil {
		return err
	}
	u.Remarks = append(followedAs(o.nccl, u.NCCL), u.Remarks...)
	if a.json() {
		err = report.JSON(a.stdout, u)
	} else {
		err = report.Upgrade(a.stdout, u, a.textOptions())
	}
	return errors.Join(err, writePage(o.html, func(w io.Writer) error { return report.UpgradeHTML(w, u, a.pageInfo()) }))
}
