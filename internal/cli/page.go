package cli

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/report"
)

// htmlFlag is the --html of every command that writes a page.
func htmlFlag(c *cobra.Command, file *string) {
	c.Flags().StringVar(file, "html", "", "file to write a self-contained page to")
}

// writePage writes a page to the file of --html, whole or not at all; with an empty name it does nothing.
func writePage(file string, write func(io.Writer) error) error {
	if file == "" {
		return nil
	}
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return writeFile(file, page.Bytes())
}

// pageInfo returns the time, the command line and the version that a page names.
func (a *app) pageInfo() report.PageInfo {
	return report.PageInfo{Written: now(), Version: a.version, Command: commandLine()}
}

// commandLine returns the command line of this process.
func commandLine() string { return strings.Join(append([]string{"railwright"}, os.Args[1:]...), " ") }
