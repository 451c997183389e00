package host

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the script that runs at the far end
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
)

// deployFolders are where the program may lie on a host, in order; the first that is writable and lets it
// execute is taken. The variables are those of the host.
var deployFolders = []string{"$XDG_RUNTIME_DIR", "/tmp", "/var/tmp", "/dev/shm", "$HOME"}

// architectures are Go's names of what `uname -m` prints on hosts that the program is built for.
var architectures = map[string]string{"x86_64": "amd64", "aarch64": "arm64"}

// programName is that of the program in its folder.
const programName = "railwright"

// Deploy copies the program to a host for as long as it is needed. binary opens the static program for a Go
// architecture (amd64, arm64); its error should say for which there is one. The program lies at path in
// a folder of its own that only the user may enter. A process at the far end waits for remove, or for the
// end of the connection however that comes, and removes the folder then; remove returns when it has.
// The context is for Deploy alone.
func Deploy(ctx context.Context, r Runner, binary func(arch string) (io.ReadCloser, error)) (path string, remove func(context.Context) error, err error) {
	return deploy(ctx, r, deployFolders, binary)
}

func deploy(ctx context.Context, r Runner, folders []string, binary func(arch string) (io.ReadCloser, error)) (string, func(context.Context) error, error) {
	arch, err := architecture(ctx, r)
	if err != nil {
		return "", nil, err
	}
	program, err := binary(arch)
	if err != nil {
		return "", nil, fmt.Errorf("program for %s: %w", arch, err)
	}
	defer program.Close()
	h, err := hold(ctx, r, folders)
	if err != nil {
		return "", nil, err
	}
	path := h.folder + "/" + programName
	if err := upload(ctx, r, path, program); err != nil {
		return "", nil, errors.Join(err, h.remove(ctx))
	}
	return path, h.remove, nil
}

// architecture asks a host for its own, as Go calls it.
func architecture(ctx context.Context, r Runner) (string, error) {
	out, err := Output(ctx, r, Command{Argv: []string{"uname", "-s", "-m"}, Budget: NewBudget(0)})
	if err != nil {
		return "", fmt.Errorf("architecture: %w", err)
	}
	system, machine, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	arch, known := architectures[machine]
	if system != "Linux" || !known {
		return "", fmt.Errorf("architecture: the host reports %q; supported: Linux %s", strings.TrimSpace(string(out)),
			strings.Join(slices.Sorted(maps.Keys(architectures)), ", Linux "))
	}
	return arch, nil
}

// holder is the process at the far end that keeps the folder.
type holder struct {
	folder  string
	process *Process
	wait    func() error // ends it; the same error each time
}

//go:embed deploy_hold.sh
var holdScript string

// hold finds a folder and keeps it.
func hold(ctx context.Context, r Runner, folders []string) (*holder, error) {
	// A context that ends would kill the process before it has removed anything.
	p, err := r.Start(context.WithoutCancel(ctx), Command{
		Argv: append([]string{"sh", "-c", holdScript, "sh", programName}, folders...), Env: []string{"LC_ALL=C"},
	})
	if err != nil {
		return nil, err
	}
	h := &holder{process: p, wait: sync.OnceValue(p.Wait)}
	found := make(chan error, 1)
	Go(func() { found <- h.find() })
	select {
	case err = <-found:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		Go(func() { _ = h.wait() }) // a hanging file system may keep it; the error is reported already
		return nil, fmt.Errorf("no directory in which the program can be stored and run: %w", err)
	}
	return h, nil
}

// find reads what the script says of the folders.
func (h *holder) find() error {
	var skipped []string
	lines := bufio.NewScanner(io.LimitReader(h.process.Stdout, maxGreeting)) // what does not end is not kept
	for lines.Scan() {
		if folder, ok := strings.CutPrefix(lines.Text(), "in "); ok {
			h.folder = folder
			return nil
		}
		skipped = append(skipped, lines.Text())
	}
	if len(skipped) == 0 {
		return cmp.Or(lines.Err(), short(h.wait(), "sh"), errors.New("no candidates"))
	}
	return errors.New(strings.Join(skipped, "; "))
}

// remove lets the process at the far end remove the folder and waits for that.
func (h *holder) remove(ctx context.Context) error {
	done := make(chan error, 1)
	Go(func() { done <- h.wait() })
	select {
	case err := <-done:
		if err != nil {
			return fmt.Errorf("remove %q: %w", h.folder, short(err, "rm"))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("remove %q: not confirmed: %w", h.folder, context.Cause(ctx))
	}
}

// short names the program that failed for the script that it stands in.
func short(err error, program string) error {
	var exit *ExitError
	if errors.As(err, &exit) {
		return &ExitError{Command: program, Status: exit.Status, Stderr: exit.Stderr}
	}
	return err
}

// uploadScript writes standard input to a file and prints the copy's checksum. What does not fit is taken
// away again before the space is counted.
const uploadScript = `umask 077
if cat >"$0"; then chmod 700 "$0" && sha256sum <"$0"; exit; fi
rm -f "$0"
df -Pk "${0%/*}" | { read -r _; read -r _ _ _ free _; echo "free $free"; }
exit 1`

// upload copies a program and compares the copy with what was sent.
func upload(ctx context.Context, r Runner, path string, program io.Reader) error {
	p, err := r.Start(ctx, Command{Argv: []string{"sh", "-c", uploadScript, path}, Env: []string{"LC_ALL=C"}})
	if err != nil {
		return err
	}
	s := &source{r: program, digest: sha256.New()}
	_, _ = io.Copy(p.Stdin, s) // a failed read is kept, a failed write explained by the other end
	if s.err != nil {
		_ = p.Kill() // it must not take a part for the whole; the read's error is the one to tell
		_ = p.Wait()
		return fmt.Errorf("program to copy: %w", s.err)
	}
	_ = p.Stdin.Close() // idem
	out, readErr := io.ReadAll(io.LimitReader(p.Stdout, maxGreeting))
	err = cmp.Or(short(p.Wait(), "cat"), readErr)
	word, rest, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil && word == "free" {
		_, countErr := io.Copy(io.Discard, s) // what was not sent any more
		return fmt.Errorf("copy to %q: the program takes %d KiB, free space is %s KiB: %w", path, s.size>>10, rest, cmp.Or(countErr, err))
	}
	if err != nil {
		return fmt.Errorf("copy to %q: %w", path, err)
	}
	if want := hex.EncodeToString(s.digest.Sum(nil)); word != want {
		return fmt.Errorf("copy to %q: its SHA-256 is %q, expected %q", path, word, want)
	}
	return nil
}

// source counts and sums what is read through it.
type source struct {
	r      io.Reader
	digest hash.Hash
	size   int64 // bytes
	err    error // other than the end
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.size += int64(n)
	s.digest.Write(p[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}
