package host

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// sealed heads and ends entries as a recording, with a right digest.
func sealed(entries string) []byte {
	body := "railwright recording 1\ntool v1\nhost host1\ntime 2026-03-01T10:00:00Z\n" + entries
	n := strings.Count(body, "\n-- ")
	return fmt.Appendf(nil, "%s-- end --\nentries %d\nsha256 %x\n", body, n, sha256.Sum256([]byte(body)))
}

func TestLoadRecordingRefuses(t *testing.T) {
	whole := string(sealed("-- read text /a --\nx\n"))
	for name, tt := range map[string]struct{ in, err string }{
		"empty":               {"", "not a recording"},
		"JSON":                {`{"kind":"Facts"}`, "not a recording"},
		"another archive":     {"-- a --\nx\n", "not a recording"},
		"another version":     {strings.Replace(whole, "recording 1", "recording 2", 1), `has version "2", supported is "1"`},
		"a long version":      {"railwright recording " + strings.Repeat("9", 1000), "has version"},
		"changed":             {strings.Replace(whole, "x\n", "y\n", 1), "was changed after it was written"},
		"Windows line ends":   {strings.ReplaceAll(whole, "\n", "\r\n"), `has version "1\r"`},
		"more behind the end": {whole + "-- read text /b --\n", "is cut"},
		"twice":               {string(sealed("-- read text /a --\nx\n-- read text /a --\nx\n")), "is listed twice"},
		"twice in two forms":  {string(sealed("-- read text /a --\nx\n-- read hex /a --\n00\n")), "is listed twice"},
		"two errors":          {string(sealed("-- read error /a --\n{\"text\":\"x\"}\n-- read error /a --\n{\"text\":\"x\"}\n")), "is listed twice"},
		"traversal":           {string(sealed("-- read text /a/../../etc/passwd --\nx\n")), "not absolute and clean"},
		"relative":            {string(sealed("-- read text etc/passwd --\nx\n")), "not absolute and clean"},
		"quoted traversal":    {string(sealed("-- read text \"/\\x00/..\" --\nx\n")), "not absolute and clean"},
		"two spellings":       {string(sealed("-- read text \"/a\" --\nx\n")), "not in canonical form"},
		"quote without end":   {string(sealed("-- read text \"/a --\nx\n")), "invalid syntax"},
		"long path":           {string(sealed("-- read text /" + strings.Repeat("a", 5000) + " --\nx\n")), "not absolute and clean"},
		"operation":           {string(sealed("-- write text /a --\nx\n")), `operation "write": unknown`},
		"form":                {string(sealed("-- read base64 /a --\nx\n")), `form "base64": unknown`},
		"no question":         {string(sealed("-- read text --\nx\n")), "must be -- OPERATION FORM QUESTION --"},
		"open head":           {string(sealed("-- read text /a\nx\n")), "must be -- OPERATION FORM QUESTION --"},
		"odd hexadecimal":     {string(sealed("-- read hex /a --\n123\n")), "odd length"},
		"no hexadecimal":      {string(sealed("-- read hex /a --\nzz\n")), "invalid byte"},
		"dump":                {string(sealed("-- dump hex 18 x --\n00\n")), "must be a message type and an address family"},
		"dump of too much":    {string(sealed("-- dump hex 70000 2 --\n00\n")), "must be a message type and an address family"},
		"command":             {string(sealed("-- run text a\x1b[2J --\nx\n")), "command is not printable"},
		"error is no JSON":    {string(sealed("-- read error /a --\nno such file\n")), "error entry"},
		"error says nothing":  {string(sealed("-- read error /a --\n{}\n")), "error entry is empty"},
		"error of a new kind": {string(sealed("-- read error /a --\n{\"text\":\"x\",\"is\":[\"gone\"]}\n")), `kind "gone": unknown`},
		"error of new fields": {string(sealed("-- read error /a --\n{\"text\":\"x\",\"why\":1}\n")), "unknown field"},
		"names with slashes":  {string(sealed("-- list text /a --\n../b\n")), "cannot stand in a directory"},
		"names above":         {string(sealed("-- list text /a --\n..\n")), "cannot stand in a directory"},
		"names not sorted":    {string(sealed("-- list text /a --\nb\na\n")), "not sorted"},
		"no host":             {strings.Replace(whole, "host host1\n", "", 1), "was changed"},
		"no time":             {reseal(strings.Replace(whole, "time 2026", "time of 2026", 1)), `time "of 2026-03-01T10:00:00Z" is not RFC 3339`},
		"host is empty":       {reseal(strings.Replace(whole, "host host1", `host ""`, 1)), "does not name its host"},
		"fewer entries":       {strings.Replace(whole, "entries 1", "entries 2", 1), "has 1 entries, its end entry says 2"},
		"negative entries":    {strings.Replace(whole, "entries 1", "entries -1", 1), "has 1 entries"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := LoadRecording(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("error %v, want %s", err, tt.err)
			}
			if len(err.Error()) > 600 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error of %d bytes: %q", len(err.Error()), err)
			}
		})
	}
}

// reseal recomputes the digest of an archive that was changed on purpose.
func reseal(archive string) string {
	body, _, _ := strings.Cut(archive, "-- end --\n")
	return fmt.Sprintf("%s-- end --\nentries %d\nsha256 %x\n", body, strings.Count(body, "\n-- "), sha256.Sum256([]byte(body)))
}

// TestLoadRecordingCut cuts a recording after each of its bytes: never is the rest taken for the whole.
func TestLoadRecordingCut(t *testing.T) {
	whole := exampleRecording(t)
	for n := range len(whole) {
		if _, err := LoadRecording(bytes.NewReader(whole[:n])); err == nil {
			t.Fatalf("cut after %d of %d bytes, and loaded", n, len(whole))
		} else if want := ErrCut; n >= len(recordingMagic)+2 && err != want {
			t.Fatalf("cut after %d bytes: %v", n, err)
		}
	}
}

// TestLoadRecordingSizes holds time and memory of large recordings. Each takes under a second, and twenty times that
// under -race on a busy machine; a reader that is quadratic in lines or entries would take hours.
func TestLoadRecordingSizes(t *testing.T) {
	var entries strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&entries, "-- read text /sys/bus/pci/devices/%06d/vendor --\n0x15b3\n", i)
	}
	for name, tt := range map[string]struct {
		in  []byte
		err string
	}{
		"100,000 entries": {in: sealed(entries.String())},
		"100 MB in one":   {in: sealed("-- read text /a --\n" + strings.Repeat("0123456789abcde\n", 100<<20/16))},
		"too large":       {in: bytes.Repeat([]byte("railwright recording 1\n"), MaxRecording/23+1), err: "is larger than"},
		"all heads":       {in: sealed(strings.Repeat("-- read text /a --\n", 1<<20)), err: "is listed twice"},
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			start := time.Now()
			_, err := LoadRecording(bytes.NewReader(tt.in))
			took := time.Since(start)
			runtime.ReadMemStats(&after)
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v", err)
			}
			if used := after.TotalAlloc - before.TotalAlloc; took > 2*time.Minute || used > 8*MaxRecording {
				t.Errorf("%v and %d bytes", took, used)
			}
		})
	}
}

// TestReplayOtherLocale: a tool that spoke another language, in another encoding, gives the same bytes.
func TestReplayOtherLocale(t *testing.T) {
	h := exampleHost()
	h.runs["ip"] = "Ger\xe4t: \xfcber\n" // ISO 8859-1
	h.runs["lspci"] = "Sp\u00e4te Br\u00fccke \u6a4b\n"
	r := NewRecorder(h, "v1", recordedTime())
	for _, tool := range []string{"ip", "lspci"} {
		if _, err := r.Output(t.Context(), Command{Argv: []string{tool}}); err != nil {
			t.Fatal(err)
		}
	}
	p, err := LoadRecording(bytes.NewReader(r.Archive()))
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"ip", "lspci"} {
		if b, err := p.Output(t.Context(), Command{Argv: []string{tool}}); err != nil || string(b) != h.runs[tool] {
			t.Errorf("%s: %q, %v", tool, b, err)
		}
	}
}

// FuzzLoadRecording: whatever loads is written again as a recording that loads to the same answers.
func FuzzLoadRecording(f *testing.F) {
	f.Add(exampleRecording(f))
	f.Add(sealed(""))
	f.Add(sealed("-- read text /a --\nx\n-- read error /a --\n{\"text\":\"x\"}\n"))
	f.Add(sealed("-- list text /a --\n\"b\\n\"\n-- dump hex 18 2 --\n00ff\n-- run line LC_ALL=C -- a --\nx\n"))
	f.Add([]byte("railwright recording 1\n-- --\n-- end --\nentries 1\nsha256 "))
	f.Fuzz(func(t *testing.T, b []byte) {
		first, err := LoadRecording(bytes.NewReader(b))
		if err != nil {
			if len(err.Error()) > 2000 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
			b = []byte(reseal(string(b))) // so that the fuzzer gets past the digest
			if first, err = LoadRecording(bytes.NewReader(b)); err != nil {
				return
			}
		}
		written := first.r.format()
		second, err := LoadRecording(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("cannot read what was written: %v", err)
		}
		if !bytes.Equal(written, second.r.format()) {
			t.Error("read again, it is another one")
		}
	})
}
