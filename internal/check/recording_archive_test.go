package check_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
)

// archive is a recording as text, so that the answer to one question can be changed. What the format is stands
// in package host; LoadRecording holds what is written here against it.
type archive struct {
	t       testing.TB
	head    string
	entries []entry
}

type entry struct{ op, form, key, content string }

// edit changes the answers of a recording.
type edit func(a *archive)

func edits(list ...edit) edit {
	return func(a *archive) {
		for _, e := range list {
			e(a)
		}
	}
}

func asRecorded(*archive) {}

// openRecording reads a committed recording apart.
func openRecording(t testing.TB, name string) *archive {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "recordings", name+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(b), "\n-- ")
	a := &archive{t: t, head: blocks[0]}
	for _, block := range blocks[1 : len(blocks)-1] { // the last is the end entry
		head, content, _ := strings.Cut(block, "\n")
		words := strings.SplitN(strings.TrimSuffix(head, " --"), " ", 3)
		if content != "" {
			content += "\n"
		}
		a.entries = append(a.entries, entry{words[0], words[1], words[2], content})
	}
	return a
}

// replay writes the recording with an end entry of its own, and loads it.
func (a *archive) replay() *host.Replay {
	a.t.Helper()
	var b bytes.Buffer
	b.WriteString(a.head + "\n")
	for _, e := range a.entries {
		fmt.Fprintf(&b, "-- %s %s %s --\n%s", e.op, e.form, e.key, e.content)
	}
	sum := sha256.Sum256(b.Bytes())
	fmt.Fprintf(&b, "-- end --\nentries %d\nsha256 %x\n", len(a.entries), sum)
	r, err := host.LoadRecording(&b)
	if err != nil {
		a.t.Fatal(err)
	}
	return r
}

func (a *archive) facts() *fabric.Facts {
	r := a.replay()
	return facts.Collect(context.Background(), r, r.Time())
}

// hostNumber is that of host1 or host2.
func (a *archive) hostNumber() int {
	if strings.Contains(a.head, "\nhost host2") {
		return 2
	}
	return 1
}

// answer puts an answer in the place of the recorded one. A question that verbs not queried is a mistake of the test.
func (a *archive) answer(op, key, form, content string) {
	a.t.Helper()
	n := len(a.entries)
	a.entries = slices.DeleteFunc(a.entries, func(e entry) bool { return e.op == op && e.key == key })
	if n == len(a.entries) {
		a.t.Fatalf("the recording has no answer to %s %s", op, key)
	}
	a.add(op, key, form, content)
}

func (a *archive) add(op, key, form, content string) {
	a.entries = append(a.entries, entry{op, form, key, content})
}

func (a *archive) data(op, key string) []byte {
	a.t.Helper()
	for _, e := range a.entries {
		if e.op == op && e.key == key && e.form != "error" {
			if e.form != "hex" {
				return []byte(e.content)
			}
			b, err := hex.DecodeString(strings.ReplaceAll(e.content, "\n", ""))
			if err != nil {
				a.t.Fatal(err)
			}
			return b
		}
	}
	a.t.Fatalf("the recording has no answer to %s %s", op, key)
	return nil
}

// command finds the key of a command by its first words.
func (a *archive) command(words string) string {
	a.t.Helper()
	for _, e := range a.entries {
		if e.op == "run" && strings.HasPrefix(strings.TrimPrefix(e.key, "LC_ALL=C -- "), words) {
			return e.key
		}
	}
	a.t.Fatalf("the recording has no command %q", words)
	return ""
}

func pathFault(path, reason, kind string) string {
	return fmt.Sprintf(`{"op":"open","path":%q,"reason":%q,"is":[%q]}`, path, reason, kind) + "\n"
}

// file makes a file read as these lines; gone and denied take it away.
func file(path, text string) edit {
	return func(a *archive) { a.answer("read", path, "text", text+"\n") }
}

func newFile(path, text string) edit {
	return func(a *archive) { a.add("read", path, "text", text+"\n") }
}

func gone(path string) edit {
	return func(a *archive) { a.answer("read", path, "error", pathFault(path, "file does not exist", "absent")) }
}

func denied(path string) edit {
	return func(a *archive) { a.answer("read", path, "error", pathFault(path, "permission denied", "denied")) }
}

// words replaces a text in a file or, of a command, in what it prints.
func words(path, old, with string) edit {
	return func(a *archive) {
		op, key := "read", path
		if !strings.HasPrefix(path, "/") {
			op, key = "run", a.command(path)
		}
		text := string(a.data(op, key))
		if !strings.Contains(text, old) {
			a.t.Fatalf("%s has no %q:\n%s", path, old, text)
		}
		a.answer(op, key, "text", strings.ReplaceAll(text, old, with))
	}
}

func line(path, more string) edit {
	return func(a *archive) {
		key := a.command(path)
		a.answer("run", key, "text", string(a.data("run", key))+more+"\n")
	}
}

func folder(path string, names ...string) edit {
	return func(a *archive) {
		text := ""
		if len(names) > 0 {
			text = strings.Join(names, "\n") + "\n"
		}
		a.answer("list", path, "text", text)
	}
}

func closedFolder(path string) edit {
	return func(a *archive) { a.answer("list", path, "error", pathFault(path, "permission denied", "denied")) }
}

func link(path, target string) edit {
	return func(a *archive) { a.answer("link", path, "line", target+"\n") }
}

func closedLink(path string) edit {
	return func(a *archive) { a.answer("link", path, "error", pathFault(path, "permission denied", "denied")) }
}

// noTool makes a command one that is not installed; ends makes it end with a status and a text on standard error.
func noTool(command string) edit {
	return func(a *archive) {
		name, _, _ := strings.Cut(command, " ")
		text := fmt.Sprintf("exec: %q: executable file not found in $PATH", name)
		a.answer("run", a.command(command), "error", fmt.Sprintf(`{"text":%q,"is":["no-program"]}`, text)+"\n")
	}
}

func ends(command string, status int, stderr string) edit {
	return func(a *archive) {
		fault := fmt.Sprintf(`{"exit":{"command":%q,"status":%d,"stderr":%q}}`, command, status, stderr)
		a.answer("run", a.command(command), "error", fault+"\n")
	}
}

// config changes the configuration space of a PCI function.
func config(address string, change func(space) space) edit {
	return func(a *archive) {
		key := pciFolder + address + "/config"
		a.answer("read", key, "hex", hex.EncodeToString(change(a.data("read", key)))+"\n")
	}
}

// wired builds the netlink dumps anew, of a changed network.
func wired(change func(*network)) edit {
	return func(a *archive) {
		n := ethernet(a.hostNumber())
		change(&n)
		for key, raw := range n.dumps(a.t) {
			a.answer("dump", key, "hex", hex.EncodeToString(raw)+"\n")
		}
	}
}

// Keys of the dumps: message type and address family (rtnetlink(7)).
const (
	linkDump, addressDump, routeDump, ruleDump, neighbourDump = "18 0", "22 0", "26 2", "34 2", "30 2"
)

func noDump(key string) edit {
	return func(a *archive) {
		a.answer("dump", key, "error", `{"text":"operation not permitted","errno":1,"is":["denied"]}`+"\n")
	}
}

// asHost2 makes the recording that of a second host: its own name, GUIDs and addresses.
func asHost2(a *archive) {
	own := strings.NewReplacer("0200:00ff:fe01:", "0200:00ff:fe02:", "0a40:01", "0a40:02", "10.64.1.", "10.64.2.")
	a.head = strings.Replace(a.head, "\nhost host1", "\nhost host2", 1)
	for i := range a.entries {
		if e := &a.entries[i]; e.form != "hex" {
			e.content = own.Replace(e.content)
		}
	}
	if slices.ContainsFunc(a.entries, func(e entry) bool { return strings.HasSuffix(e.key, "/eth1") }) {
		wired(func(*network) {})(a)
	}
}
