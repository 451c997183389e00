package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

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

// upgrade predicts for each version of --nccl and prints what differs.
func (a *app) upgrade(ctx context.Context, o predictOptions) error {
	if len(o.nccl) > mostVersions {
		return fmt.Errorf("flag --nccl: %d versions: at most %d", len(o.nccl), mostVersions)
	}
	var all []*fabric.Prediction
	for _, version := range o.nccl {
		one := o
		one.nccl = []string{version}
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
	if a.json() {
		err = report.JSON(a.stdout, u)
	} else {
		err = report.Upgrade(a.stdout, u, a.textOptions())
	}
	return errors.Join(err, writePage(o.html, func(w io.Writer) error { return report.UpgradeHTML(w, u, a.pageInfo()) }))
}
