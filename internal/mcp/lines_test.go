package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/files"
)

const (
	greeting = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	ask = `{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"name":"rule","arguments":{"id":%q}}}` + "\n"
)

// answers serves a text as the input, and returns the messages of the output by id; those without an id are under "".
func answers(t *testing.T, in io.Reader, run Runner) map[string][]string {
	t.Helper()
	folder, err := files.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	s := New(Config{Folder: folder, Commands: commands(), Words: func(string) []string { return nil }, Run: run, Log: io.Discard})
	var out strings.Builder
	if err := s.Serve(t.Context(), in, &out); err != nil {
		t.Errorf("ended with %v", err)
	}
	found := map[string][]string{}
	for line := range strings.Lines(out.String()) {
		var message struct {
			ID *string `json:"id"`
		}
		if err := json.Unmarshal([]byte(line), &message); err != nil {
			t.Fatalf("not a message: %q: %v", line, err)
		}
		id := ""
		if message.ID != nil {
			id = *message.ID
		}
		found[id] = append(found[id], line)
	}
	return found
}

// What is no message is answered with an error, and what follows is answered as if it had not been there.
func TestBrokenLines(t *testing.T) {
	for name, broken := range map[string]string{
		"no JSON": "{broken", "a batch": `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "a number": "7", "null": "null", "no version": `{"id":1,"method":"ping"}`,
		"an id that is none": `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "NUL": "\x00", "no UTF-8": "\xff\xfe", "nested": strings.Repeat("[", 20_000),
		"long": `{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxLine) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			got := answers(t, strings.NewReader(greeting+broken+"\r\n\n"+fmt.Sprintf(ask, "after", "x")), echo)
			if len(got["hello"]) != 1 || len(got["after"]) != 1 || strings.Contains(got["after"][0], `"error"`) {
				t.Errorf("%v", got)
			}
			if errs := got[""]; len(errs) != 1 || !strings.Contains(errs[0], `"code":-32700`) && !strings.Contains(errs[0], `"code":-32600`) {
				t.Errorf("the line is answered with %v", errs)
			}
		})
	}
}

// Nothing, half a message and calls that still run at the end of the input: the server ends, without an error, and the
// calls are answered.
func TestEndOfInput(t *testing.T) {
	if got := answers(t, strings.NewReader(""), echo); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if got := answers(t, strings.NewReader(greeting+`{"jsonrpc":"2.0","id":"cut","meth`), echo); len(got["hello"]) != 1 || len(got[""]) != 1 {
		t.Errorf("%v", got)
	}
	slow := func(ctx context.Context, c Command) int {
		time.Sleep(100 * time.Millisecond)
		return echo(ctx, c)
	}
	got := answers(t, strings.NewReader(greeting+fmt.Sprintf(ask, "a", "1")+strings.TrimSpace(fmt.Sprintf(ask, "b", "2"))), slow)
	if len(got["a"]) != 1 || len(got["b"]) != 1 {
		t.Errorf("%v", got)
	}
	// Of two calls with one id the second is refused; it is not waited for.
	began := time.Now()
	got = answers(t, strings.NewReader(greeting+strings.Repeat(fmt.Sprintf(ask, "a", "1"), 2)), slow)
	if len(got["a"]) == 0 || time.Since(began) > callTime/2 {
		t.Errorf("%v", got)
	}
}

func TestReadLine(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("a\n"+strings.Repeat("x", maxLine+1)+"\n\nlast"), 16)
	for _, want := range []struct {
		line string
		err  error
	}{{"a\n", nil}, {"", errLong}, {"\n", nil}, {"last", io.EOF}, {"", io.EOF}} {
		if line, err := readLine(in); string(line) != want.line || !errors.Is(err, want.err) {
			t.Errorf("%.20q, %v, want %q, %v", line, err, want.line, want.err)
		}
	}
	if _, err := readLine(bufio.NewReaderSize(strings.NewReader(strings.Repeat("x", maxLine+1)), 16)); !errors.Is(err, errLong) {
		t.Errorf("a long last line: %v", err)
	}
}

// The end of the context, which a signal brings, ends the server at once, with the calls that run; that is no error.
func TestEndOfContext(t *testing.T) {
	folder, err := files.OpenFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	s := New(Config{Folder: folder, Commands: commands(), Words: func(string) []string { return nil }, Log: io.Discard, Run: func(of context.Context, _ Command) int {
		cancel()
		<-of.Done()
		ended <- of.Err()
		return 2
	}})
	in, client := io.Pipe()
	defer client.Close()
	go func() { _, _ = io.WriteString(client, greeting+fmt.Sprintf(ask, "a", "1")) }()
	began := time.Now()
	if err := s.Serve(ctx, in, io.Discard); err != nil {
		t.Error(err)
	}
	if err := <-ended; err == nil || time.Since(began) > 10*time.Second {
		t.Errorf("the command saw %v after %v", err, time.Since(began))
	}
}
