package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
)

// Bounds of one call.
const (
	callTime  = 2 * time.Minute // far above the slowest: the facts of a thousand nodes take seconds
	maxText   = 4 << 20         // bytes of an inline text: debug logs of a few hundred ranks; more belongs in a file
	maxAnswer = 4 << 20         // bytes: some million tokens, more than any model reads at once
)

// readLimits bound what one call reads: the parts of a log of a large job, the facts of some thousand nodes, the index and
// headers of the largest models.
func readLimits() files.Limits {
	return files.Limits{File: 256 << 20, Total: 1 << 30, Names: 20_000}
}

// Command is a command line to run, and all that it may reach.
type Command struct {
	Args   []string // without the name of the program
	Stdin  io.Reader
	Files  files.Files
	Stdout io.Writer
	Stderr io.Writer
}

// Runner runs a command and returns its exit status: 0, 1 and 2 are verdicts, what is above is an error that standard
// error states.
type Runner func(context.Context, Command) int

// outcome is how a command ended.
type outcome struct {
	status         int
	stdout, stderr string
}

// call runs a command within the bounds. A command that does not end in time is left behind, and keeps its slot until it
// ends: its reads fail from then on.
func (s *Server) call(ctx context.Context, line commandLine) *sdk.CallToolResult {
	ctx, cancel := context.WithTimeout(ctx, s.time)
	defer cancel()
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return s.late(ctx)
	}
	ended := make(chan outcome, 1)
	host.Go(func() {
		defer func() { <-s.slots }()
		ended <- s.run(ctx, line)
	})
	select {
	case out := <-ended:
		if ctx.Err() != nil {
			return s.late(ctx)
		}
		return out.result()
	case <-ctx.Done():
		return s.late(ctx)
	}
}

// late is the answer of a call that was cancelled or took too long.
func (s *Server) late(ctx context.Context) *sdk.CallToolResult {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failed(fmt.Sprintf("railwright: stopped after %v, the most that a call may take: ask for less", s.time))
	}
	return failed("railwright: cancelled")
}

// run runs a command. A panic in it ends the command, not the server.
func (s *Server) run(ctx context.Context, line commandLine) (out outcome) {
	stdout, stderr := &bounded{most: maxAnswer}, &bounded{most: maxAnswer}
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error("internal error", "command", line.args, "fault", fault, "stack", string(debug.Stack()))
			out = outcome{status: host.ExitFault, stderr: fmt.Sprintf("railwright: internal error, please report it: %v", fault)}
		}
	}()
	status := s.runner(ctx, Command{
		Args: line.args, Stdin: strings.NewReader(line.stdin), Files: s.folder.For(ctx, readLimits(), line.texts), Stdout: stdout, Stderr: stderr,
	})
	if stdout.over {
		return outcome{status: host.ExitFault, stderr: fmt.Sprintf("railwright: the answer is larger than %d bytes: ask for less, such as fewer files or one kind", maxAnswer)}
	}
	return outcome{status, stdout.text.String(), stderr.text.String()}
}

// unknownStatus is the highest exit status that is a verdict.
const unknownStatus = 2

// result is what the client gets: the JSON of the command, as it is and as structured content; what the command said beside
// it is a second text. A verdict is no error, whatever it is.
func (o outcome) result() *sdk.CallToolResult {
	said := strings.TrimSpace(o.stderr)
	if o.status > unknownStatus || !json.Valid([]byte(o.stdout)) {
		if said == "" {
			said = fmt.Sprintf("railwright: no answer, exit status %d", o.status)
		}
		return failed(said)
	}
	r := &sdk.CallToolResult{
		Meta:              sdk.Meta{exitKey: o.status},
		Content:           []sdk.Content{&sdk.TextContent{Text: o.stdout}},
		StructuredContent: json.RawMessage(o.stdout),
	}
	if said != "" {
		r.Content = append(r.Content, &sdk.TextContent{Text: said})
	}
	return r
}

// exitKey is where a result has the exit status of the command: 0 pass, 1 failed, 2 unknown.
const exitKey = "railwright.dev/exit-status"

// failed is an error of a tool, which the model sees.
func failed(text string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: text}}}
}

// bounded keeps what is written until there is too much of it.
type bounded struct {
	text bytes.Buffer
	most int
	over bool
}

// Write keeps the text, or fails.
func (b *bounded) Write(p []byte) (int, error) {
	if b.over = b.over || b.text.Len()+len(p) > b.most; b.over {
		return 0, fmt.Errorf("more than %d bytes are written", b.most)
	}
	return b.text.Write(p)
}
