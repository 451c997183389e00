// Package cli is the command line: one file per command. It reads flags, moves values along the pipeline,
// writes streams and decides the exit status. It computes nothing and knows no vendor.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/report"
)

// Exit statuses.
const (
	exitPass    = 0
	exitFail    = 1
	exitUnknown = 2
	exitUsage   = 64 // wrong usage or input (EX_USAGE of sysexits.h)
)

// app is what every command shares: its streams and the global flags.
type app struct {
	version string
	stdin   io.Reader
	stdout  *screen
	stderr  *screen

	files files.Files // where arguments and flags find files

	output  string
	noColor bool
	quiet   bool
	verbose bool

	busy      atomic.Bool // see begin
	activity  activity
	unwatched bool // nobody waits at a terminal: see watch
}

// verdict is an exit status that is the result of a command, not an error; it prints nothing.
type verdict int

func (v verdict) Error() string { return "exit status " + strconv.Itoa(int(v)) }

// exitOf returns the exit status for a status.
func exitOf(s fabric.Status) error {
	switch s {
	case fabric.Pass, fabric.NotApplicable:
		return nil
	case fabric.Fail:
		return verdict(exitFail)
	default:
		return verdict(exitUnknown)
	}
}

// Main runs the program and returns its exit status: 0 pass, 1 something failed, 2 nothing failed but
// something is unknown, 64 wrong usage or input, 70 an internal error.
func Main(version string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	defer host.Recovered(stderr)
	if err := extendPath(); err != nil {
		fmt.Fprintf(stderr, "railwright: %v\n", err)
		return exitUsage
	}
	a := newApp(version, stdin, stdout, stderr)
	return a.end(a.untilSignal(func(ctx context.Context) error { return a.execute(ctx, args) }))
}

func newApp(version string, stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{version: version, stdin: stdin, stdout: &screen{to: stdout}, stderr: &screen{to: stderr}, files: files.Disk{}}
}

// execute runs the command that arguments name.
func (a *app) execute(ctx context.Context, args []string) error {
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	return root.ExecuteContext(ctx)
}

// end writes what is left of the output of a command, and returns its exit status.
func (a *app) end(err error) int {
	_ = a.stderr.flush() // there is nowhere to say it
	var v verdict
	if lost := a.stdout.flush(); lost != nil && (err == nil || errors.As(err, &v)) {
		err = fmt.Errorf("standard output: %w", lost) // a verdict whose output is incomplete does not count
	}
	return a.exit(err)
}

// exit returns the exit status for the end of a command, and prints its error.
func (a *app) exit(err error) int {
	var v verdict
	switch {
	case err == nil:
		return exitPass
	case errors.As(err, &v):
		return int(v)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.stderr, "railwright: interrupted: the state of unfinished work is unknown")
		return exitUnknown
	default:
		fmt.Fprintf(a.stderr, "railwright: %s\n", message(err))
		return exitUsage
	}
}

// message returns the text of an error. Its further lines are set off, so that what another program printed is not taken
// for a message of this one; but those of a cluster file start with its name, as editors expect it.
func message(err error) string {
	if problems := (*intent.Errors)(nil); errors.As(err, &problems) {
		return err.Error()
	}
	return strings.ReplaceAll(err.Error(), "\n", "\n  ")
}

// extendPath adds the folders of the system's daemons and tools, which an ordinary user's path leaves out.
func extendPath() error {
	if runtime.GOOS != "linux" {
		return nil
	}
	return os.Setenv("PATH", os.Getenv("PATH")+":/usr/local/sbin:/usr/sbin:/sbin")
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "railwright",
		Version:       a.version,
		Short:         "From bare GPU nodes to a verified RDMA cluster",
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          knownCommand,
		RunE:          a.helpOnly,
	}
	root.SetVersionTemplate("{{.Version}}\n")
	flags := root.PersistentFlags()
	flags.StringVarP(&a.output, "output", "o", "text", "output format: text or json")
	flags.BoolVar(&a.noColor, "no-color", false, "no colors, even on a terminal")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no progress messages on standard error")
	flags.BoolVarP(&a.verbose, "verbose", "v", false, "show every verdict, including passes")
	root.PersistentPreRunE = func(c *cobra.Command, arguments []string) error {
		if a.output != "text" && a.output != "json" {
			return fmt.Errorf("flag --output: %s: unknown; %sknown: text, json", fabric.Quote(a.output), fabric.DidYouMean(a.output, []string{"text", "json"}))
		}
		if err := exclusiveFlags(c); err != nil {
			return err
		}
		return needsLinux(runtime.GOOS, c, arguments)
	}
	root.AddCommand(
		a.upCommand(a.up), a.initCommand(a.init), a.collectCommand(a.collect), a.planCommand(a.plan), a.renderCommand(a.render),
		a.applyCommand(a.apply), a.loginsCommand(a.logins), a.rollbackCommand(a.rollback), a.checkCommand(a.check), a.ruleCommand(a.rule), a.diffCommand(a.diff), a.benchCommand(a.bench), a.reportCommand(a.report),
		a.topoCommand(), a.sizeCommand(a.size), a.predictCommand(a.predict), a.claimsCommand(a.claims), a.serveCommand(), a.explainCommand(a.explain), a.labCommand(),
		a.causeCommand(a.cause), a.catalogCommand(a.catalog), a.mcpCommand(a.mcp), a.schemaCommand(a.schema), a.versionCommand(a.printVersion), a.nodeCommand(a.nodeSteps()), a.manCommand(a.man))
	a.finish(root)
	return root
}

func (a *app) json() bool { return a.output == "json" }

// textOnly refuses -o json for a command that has no JSON to print.
func (a *app) textOnly(command, prints string) error {
	if a.json() {
		return fmt.Errorf("flag --output: %q: %s prints %s; known: text", a.output, command, prints)
	}
	return nil
}

// helpOnly is a command that has only subcommands: without one it prints the help.
func (a *app) helpOnly(c *cobra.Command, _ []string) error {
	if err := a.textOnly(c.CommandPath(), "the help"); err != nil {
		return err
	}
	return c.Help()
}

// textOptions returns the options for standard output, which may be a terminal.
func (a *app) textOptions() report.TextOptions {
	o := report.TextOptions{Verbose: a.verbose, ASCII: !utf8Locale()}
	f, ok := a.terminal()
	if !ok {
		return o
	}
	o.Color = !a.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	a.stdout.allowColor(o.Color)
	if width, _, err := term.GetSize(int(f.Fd())); err == nil {
		o.Width = width
	}
	return o
}

// terminal returns standard output if it is a terminal.
func (a *app) terminal() (f *os.File, ok bool) {
	f, ok = a.stdout.to.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// exact is standard output for a file that is to be kept byte for byte: unchanged, but on a terminal.
func (a *app) exact() io.Writer {
	if _, ok := a.terminal(); ok {
		return a.stdout
	}
	return a.stdout.to
}

// utf8Locale reports whether the locale is UTF-8 or unset; the variables are in the order of locale(7).
func utf8Locale() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return true
}

// progress writes a progress message to standard error.
func (a *app) progress(format string, args ...any) {
	if !a.quiet {
		printf(a.stderr, format+"\n", args...)
	}
	a.activity.set(computes, true) // what comes after the message has not been named
}

func (a *app) versionCommand(run func() error) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return run() },
	}
}

// versionDocument is what version prints as JSON.
type versionDocument struct {
	fabric.Meta
	Version string `json:"version"`
}

func (a *app) printVersion() error {
	if a.json() {
		return report.JSON(a.stdout, versionDocument{Meta: fabric.NewMeta("Version"), Version: a.version})
	}
	_, err := fmt.Fprintln(a.stdout, a.version)
	return err
}

func now() time.Time { return time.Now().UTC() }
