package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/report"
	"railwright.dev/railwright/internal/run"
)

// htmlFlag is the --html of every command that writes a page.
func htmlFlag(c *cobra.Command, file *string) {
	outputFlag(c, file, "html", "file to write a self-contained page to")
}

// outputFlag is a flag that names a file to write.
func outputFlag(c *cobra.Command, file *string, name, usage string) {
	c.Flags().Var((*outputFile)(file), name, usage)
}

// outputFile is the value of such a flag: as a text, but an explicit empty one is refused, since it stands for a flag
// that was not given.
type outputFile string

// String returns the name.
func (f *outputFile) String() string { return string(*f) }

// Type returns how help names the value.
func (f *outputFile) Type() string { return "string" }

// Set takes the name that the flag gives; an empty one is an error.
func (f *outputFile) Set(name string) error {
	if name == "" {
		return errors.New("the name of a file is needed")
	}
	*f = outputFile(name)
	return nil
}

// writeFile writes the file that a flag names.
func writeFile(flag, path string, content []byte) error {
	return writeThrough(run.WriteOutput, flag, path, content)
}

// writeThrough is writeFile with the function that writes.
func writeThrough(through func(string, []byte) error, flag, path string, content []byte) (err error) {
	write := func() error { return through(path, content) }
	if info, statErr := os.Stat(path); statErr == nil && info.Mode()&fs.ModeNamedPipe != 0 {
		err = untilInterrupted(write)
	} else {
		err = write()
	}
	if err != nil {
		return fmt.Errorf("flag --%s: %w", flag, err)
	}
	return nil
}

// untilInterrupted does something that may wait for ever, as opening a FIFO that nobody reads does, until SIGINT or
// SIGTERM. What is left of it then ends with the process.
func untilInterrupted(do func() error) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	done := make(chan error, 1)
	host.Go(func() { done <- do() })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// writePage writes a page to the file of --html, whole or not at all; with an empty name it does nothing.
func writePage(file string, write func(io.Writer) error) error {
	if file == "" {
		return nil
	}
	if err := replacesPage(file); err != nil {
		return err
	}
	var page bytes.Buffer
	if err := write(&page); err != nil {
		return err
	}
	return writeFile("html", file, page.Bytes())
}

// replacesPage refuses to replace a file that is not a page, such as the input of the command.
func replacesPage(file string) error {
	const start = "<!doctype html"
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return nil // writing says what is wrong with it
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("flag --html: %w", err)
	}
	defer f.Close()
	head := make([]byte, len(start))
	if n, _ := io.ReadFull(f, head); !strings.EqualFold(string(head[:n]), start) {
		return fmt.Errorf("flag --html: %q: exists and is not a page: name another file, or remove it", file)
	}
	return nil
}

// pageInfo returns the time, the command line and the version that a page names.
func (a *app) pageInfo() report.PageInfo {
	return report.PageInfo{Written: now(), Version: a.version, Command: commandLine()}
}

// commandLine returns the command line of this process.
func commandLine() string { return strings.Join(append([]string{"railwright"}, os.Args[1:]...), " ") }
