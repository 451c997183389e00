package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"railwright.dev/railwright/internal/messages"
)

// messagesReport prints how many of the messages in the sources of programs are known, and says whether every bar is met.
// Without the lists of formats it prints that.
func messagesReport(w io.Writer, folder string) (met bool) {
	formats, err := messages.ReadFormats(folder)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(w, "messages: skipped: %v\n", err)
		return true
	}
	known, bad := messages.Load()
	if err := errors.Join(err, bad); err != nil {
		fmt.Fprintf(w, "messages: MISSED: %v\n", err)
		return false
	}
	met = true
	fmt.Fprintf(w, "%-13s %-13s %6s %6s %7s  %s\n", "source", "level", "known", "of", "share", "bar")
	for _, c := range known.Coverage(formats) {
		bar := ""
		if least := c.Least(); least > 0 {
			bar = fmt.Sprintf("at least %.1f %%: met", 100*least)
			if c.Share() < least {
				bar, met = fmt.Sprintf("at least %.1f %%: MISSED", 100*least), false
			}
		}
		fmt.Fprintf(w, "%-13s %-13s %6d %6d %5.1f %%  %s\n", c.Source, c.Level, c.Known, c.Total, 100*c.Share(), bar)
	}
	return met
}
