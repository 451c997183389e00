package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"railwright.dev/railwright/internal/host"
)

// maxLine bounds a message of the client, in bytes: an inline text at its limit, each byte of which JSON may write as six.
const maxLine = 6*maxText + 1<<20

// lines is the stdio transport of the protocol: one message a line. The SDK's own ends the session at the first line that
// is no message; here it is answered with an error, and the next line is read. At the end of the input the calls that run
// are waited for, so that a file of requests gets all of its answers.
type lines struct {
	in  io.Reader
	out io.Writer

	write   sync.Mutex // one message at a time
	pending sync.Mutex // guards running and idle
	running map[jsonrpc.ID]bool
	idle    chan struct{} // closed once nothing runs after the end of the input; nil before it

	incoming chan jsonrpc.Message
	closed   chan struct{}
	close    sync.Once
}

// newLines returns the transport over two streams, which it does not close.
func newLines(in io.Reader, out io.Writer) *lines {
	return &lines{in: in, out: out, running: map[jsonrpc.ID]bool{}, incoming: make(chan jsonrpc.Message), closed: make(chan struct{})}
}

// Connect begins to read.
func (l *lines) Connect(context.Context) (sdk.Connection, error) {
	host.Go(l.receive)
	return l, nil
}

// SessionID is empty: a process has one session.
func (l *lines) SessionID() string { return "" }

// Close ends the session. A read of the input that waits is left behind; it ends with the process.
func (l *lines) Close() error {
	l.close.Do(func() { close(l.closed) })
	return nil
}

// Read returns the next message, and io.EOF at the end of the input.
func (l *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case msg, more := <-l.incoming:
		if !more {
			return nil, io.EOF
		}
		return msg, nil
	case <-l.closed:
		return nil, io.EOF
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Write writes a message as a line.
func (l *lines) Write(_ context.Context, msg jsonrpc.Message) error {
	text, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	err = l.line(text)
	if answer, ok := msg.(*jsonrpc.Response); ok {
		l.ended(answer.ID)
	}
	return err
}

func (l *lines) line(text []byte) error {
	l.write.Lock()
	defer l.write.Unlock()
	_, err := l.out.Write(append(text, '\n'))
	return err
}

// receive reads lines until the input ends or the session does.
func (l *lines) receive() {
	defer close(l.incoming)
	in := bufio.NewReaderSize(l.in, 1<<16)
	for {
		text, err := readLine(in)
		if errors.Is(err, errLong) {
			l.refuse(jsonrpc.CodeInvalidRequest, err)
			continue
		}
		if text = bytes.TrimSpace(text); len(text) > 0 && !l.take(text) {
			return
		}
		if err != nil { // the end, or what cannot be read on
			l.wait()
			return
		}
	}
}

// take passes a message on; it is false once the session has ended.
func (l *lines) take(text []byte) bool {
	msg, err := jsonrpc.DecodeMessage(text)
	switch {
	case err != nil && !json.Valid(text):
		l.refuse(jsonrpc.CodeParseError, errors.New("not JSON: a message is one line of JSON"))
		return true
	case err != nil:
		l.refuse(jsonrpc.CodeInvalidRequest, fmt.Errorf("not a message of JSON-RPC 2.0: %w", err))
		return true
	}
	if call, ok := msg.(*jsonrpc.Request); ok && call.IsCall() {
		l.pending.Lock()
		l.running[call.ID] = true
		l.pending.Unlock()
	}
	select {
	case l.incoming <- msg:
		return true
	case <-l.closed:
		return false
	}
}

// refuse answers what is no message; its id is unknown, so that of the answer is null (JSON-RPC 2.0, section 5).
func (l *lines) refuse(code int64, why error) {
	answer := struct {
		Version string         `json:"jsonrpc"`
		ID      any            `json:"id"`
		Error   *jsonrpc.Error `json:"error"`
	}{"2.0", nil, &jsonrpc.Error{Code: code, Message: why.Error()}}
	if text, err := json.Marshal(answer); err == nil {
		_ = l.line(text) // the next write of the session fails too, and ends it
	}
}

// ended notes that a call is answered.
func (l *lines) ended(id jsonrpc.ID) {
	l.pending.Lock()
	defer l.pending.Unlock()
	delete(l.running, id)
	if l.idle != nil && len(l.running) == 0 {
		close(l.idle)
		l.idle = nil
	}
}

// wait waits until all calls are answered, at most as long as one may take.
func (l *lines) wait() {
	idle := make(chan struct{})
	l.pending.Lock()
	if len(l.running) == 0 {
		close(idle)
	} else {
		l.idle = idle
	}
	l.pending.Unlock()
	select {
	case <-idle:
	case <-l.closed:
	case <-time.After(callTime + time.Second): // the second: for the answer that says so
	}
}

var errLong = fmt.Errorf("a message of more than %d bytes is not read", maxLine)

// readLine reads a line without its end. Of one that is too long nothing is kept, and the next call reads the next.
func readLine(in *bufio.Reader) (line []byte, err error) {
	long := false
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			long, line = true, nil
		}
		if !long {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, errLong
		}
		return line, err
	}
}
