package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"railwright.dev/railwright/internal/fabric"
)

// Messages about wrong usage. None of them is a library's: a test gives every command wrong arguments and flags.

// usage is how a command is written, with the words before it.
func usage(c *cobra.Command) string {
	if c.HasParent() {
		return c.Parent().CommandPath() + " " + c.Use
	}
	return c.Use
}

// argumentCount rejects fewer than the required arguments, and more than most; most below 0 is no limit.
func argumentCount(most int, required ...string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		switch {
		case len(args) < len(required):
			return fmt.Errorf("argument %s: missing; usage: %s", strings.Join(required[len(args):], ", "), usage(c))
		case most >= 0 && len(args) > most:
			return fmt.Errorf("argument %s: one too many; usage: %s", fabric.Quote(args[most]), usage(c))
		}
		return nil
	}
}

// takes wants exactly these arguments.
func takes(names ...string) cobra.PositionalArgs { return argumentCount(len(names), names...) }

// mayTake wants at most that many arguments.
func mayTake(most int) cobra.PositionalArgs { return argumentCount(most) }

// takesMore wants these arguments, the last once or more often.
func takesMore(names ...string) cobra.PositionalArgs { return argumentCount(-1, names...) }

// noArgs rejects arguments with a message that helps where the name of a flag was left out.
func noArgs(c *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("argument %s: %s takes no arguments; usage: %s", fabric.Quote(args[0]), c.Name(), usage(c))
	}
	return nil
}

// knownCommand rejects the first argument of a command that has only subcommands: it is none of them.
func knownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range c.Commands() {
		if !sub.Hidden {
			known = append(known, sub.Name())
		}
	}
	err := fabric.UnknownName("command", args[0], known)
	if c.HasParent() {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	return err
}

// flagError is a mistake in a flag in this program's words. Before an unknown flag of a command that has only subcommands,
// an unknown subcommand is the mistake.
func flagError(c *cobra.Command, err error) error {
	if errors.Is(err, pflag.ErrHelp) {
		return err
	}
	var unknown *pflag.NotExistError
	var noValue *pflag.ValueRequiredError
	var badValue *pflag.InvalidValueError
	var badSyntax *pflag.InvalidSyntaxError
	switch {
	case errors.As(err, &unknown) && c.HasSubCommands() && c.Flags().NArg() > 0:
		return knownCommand(c, c.Flags().Args())
	case errors.As(err, &unknown):
		return unknownFlag(c, unknown)
	case errors.As(err, &noValue):
		return fmt.Errorf("flag %s: needs a value", shownFlag(noValue.GetFlag()))
	case errors.As(err, &badValue):
		return fmt.Errorf("flag %s: %s: %w", shownFlag(badValue.GetFlag()), fabric.Quote(badValue.GetValue()), badFlagValue(badValue))
	case errors.As(err, &badSyntax):
		return fmt.Errorf("flag %s: not of the form --name=value", fabric.Quote(badSyntax.GetSpecifiedFlag()))
	}
	return err
}

func shownFlag(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand + ", --" + f.Name
	}
	return "--" + f.Name
}

func unknownFlag(c *cobra.Command, e *pflag.NotExistError) error {
	name := "--" + e.GetSpecifiedName()
	if e.GetSpecifiedShortnames() != "" {
		name = "-" + e.GetSpecifiedName()
	}
	var known []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, "--"+f.Name)
		}
	})
	return fmt.Errorf("flag %s: unknown; %slisted by: %s --help", fabric.Printable(name), fabric.DidYouMean(name, known), c.CommandPath())
}

// badFlagValue says what a value should have been. An error of a type of this program says so itself.
func badFlagValue(e *pflag.InvalidValueError) error {
	var number *strconv.NumError
	isRange := errors.As(e, &number) && errors.Is(number.Err, strconv.ErrRange)
	switch e.GetFlag().Value.Type() {
	case "int", "int64":
		if isRange {
			return errors.New("out of range")
		}
		return errors.New("not a whole number")
	case "float64":
		if isRange {
			return errors.New("out of range")
		}
		return errors.New("not a number")
	case "bool":
		return errors.New("not true or false")
	}
	return e.Unwrap()
}

// exclusiveMark is where cobra notes the groups of flags of which only one may be given (MarkFlagsMutuallyExclusive).
const exclusiveMark = "cobra_annotation_mutually_exclusive"

// exclusiveFlags rejects two flags of such a group, before cobra does.
func exclusiveFlags(c *cobra.Command) error {
	given := map[string]string{} // of each group the first flag
	var err error
	c.Flags().Visit(func(f *pflag.Flag) {
		for _, group := range f.Annotations[exclusiveMark] {
			if first, twice := given[group]; twice && err == nil {
				err = fmt.Errorf("flags --%s and --%s: use only one", first, f.Name)
			}
			given[group] = f.Name
		}
	})
	return err
}

// helpCommand is help with an error for what is no command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use: "help [COMMAND]...", Short: "Show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			of, rest, err := c.Root().Find(args)
			if of == nil || err != nil || len(rest) > 0 {
				if of == nil {
					of = c.Root()
				}
				return knownCommand(of, append(rest[:len(rest):len(rest)], args[:min(len(args), 1)]...))
			}
			return of.Help()
		},
	}
}
