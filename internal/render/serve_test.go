package render

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"railwright.dev/railwright/internal/fabric"
)

func serving() *fabric.Serving {
	return &fabric.Serving{
		Model: "openai/gpt-oss-120b", Engine: "vllm", Version: "0.31.0", Image: "nvcr.io/nvidia/vllm:26.10-py3", ImageSource: "release notes",
		Layout: fabric.SizingPlan{Nodes: 2, TP: 2, PP: 1, MemFraction: 0.82, KVTokens: 1608656},
		Ranks: []fabric.ServingRank{
			{Node: "spark1", Address: "10.64.0.1", Head: "10.64.0.1", Command: []string{"vllm", "serve", "openai/gpt-oss-120b", "--tensor-parallel-size", "2"}},
			{Node: "spark2", Address: "10.64.0.2", Head: "10.64.0.1", Command: []string{"vllm", "serve", "openai/gpt-oss-120b", "--tensor-parallel-size", "2", "--headless"}},
		},
	}
}

// composeFile is what is asked of a compose file.
type composeFile struct {
	Name     string `yaml:"name"`
	Services map[string]struct {
		Image       string         `yaml:"image"`
		NetworkMode string         `yaml:"network_mode"`
		ShmSize     string         `yaml:"shm_size"`
		OOM         int            `yaml:"oom_score_adj"`
		Ulimits     map[string]int `yaml:"ulimits"`
		Devices     []string       `yaml:"devices"`
		Deploy      any            `yaml:"deploy"`
		EnvFile     []struct {
			Path     string `yaml:"path"`
			Required *bool  `yaml:"required"`
		} `yaml:"env_file"`
		Environment []string `yaml:"environment"`
		Volumes     []string `yaml:"volumes"`
		Entrypoint  []string `yaml:"entrypoint"`
		Command     []string `yaml:"command"`
	} `yaml:"services"`
}

// ran is what docker got of a script: each argument a line.
func ran(t *testing.T, script []byte, home string) []string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range map[string]string{"docker": "#!/bin/sh\nprintf '%s\\n' \"$@\"\n", "run.sh": string(script)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil { //nolint:gosec // a program
			t.Fatal(err)
		}
	}
	c := exec.Command(filepath.Join(folder, "run.sh"))
	c.Env = []string{"PATH=" + folder + ":/usr/bin:/bin", "HOME=" + home}
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// Both files start the same command in the same image, with the same environment, and without a privilege that is not listed.
func TestServeFilesAgree(t *testing.T) {
	for name, edit := range map[string]func(*fabric.Serving){
		"as planned":     func(*fabric.Serving) {},
		"official image": func(s *fabric.Serving) { s.Image = "vllm/vllm-openai:v0.31.0" },
		"SGLang":         func(s *fabric.Serving) { s.Engine, s.Image = "sglang", "lmsysorg/sglang:spark" },
		"no address":     func(s *fabric.Serving) { s.Ranks[1].Address = "" },
		"words of a shell": func(s *fabric.Serving) {
			s.Ranks[1].Command = []string{"vllm", "serve", "a b", "--x", "$HOME", "--y", `q"'\`, "--z", "#c: d"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := serving()
			edit(s)
			files := Serve("spark2", s, true)
			if len(files) != 2 {
				t.Fatalf("%d files", len(files))
			}
			var c composeFile
			d := yaml.NewDecoder(bytes.NewReader(files[0].Content))
			d.KnownFields(true)
			if err := d.Decode(&c); err != nil {
				t.Fatal(err)
			}
			args := ran(t, files[1].Content, "/home/a b")
			service := c.Services[s.Engine]
			command := slices.Clone(service.Command)
			for i := range command {
				command[i] = strings.ReplaceAll(command[i], "$$", "$")
			}
			at := slices.Index(args, s.Image)
			if at < 0 || !slices.Equal(args[at+1:], command) || service.Image != s.Image {
				t.Errorf("docker run has %q, compose %q %q", args, service.Image, command)
			}
			whole := command
			if len(service.Entrypoint) > 0 {
				if i := slices.Index(args, "--entrypoint"); i < 0 || args[i+1] != service.Entrypoint[0] {
					t.Errorf("entrypoint %q, docker run has %q", service.Entrypoint, args)
				}
				whole = append(slices.Clone(service.Entrypoint), command...)
			}
			if !slices.Equal(whole, s.Ranks[1].Command) {
				t.Errorf("starts %q, want %q", whole, s.Ranks[1].Command)
			}
			for _, word := range []string{"host", "2gb", "500", "memlock=-1", "/dev/infiniband", "/etc/railwright/nccl.env", "/home/a b/.cache/huggingface:/root/.cache/huggingface"} {
				if !slices.Contains(args, word) {
					t.Errorf("docker run lacks %q: %q", word, args)
				}
			}
			if service.NetworkMode != "host" || service.ShmSize != "2gb" || service.OOM != 500 || service.Ulimits["memlock"] != -1 || len(service.Devices) != 1 || service.EnvFile[0].Path != "/etc/railwright/nccl.env" {
				t.Errorf("%+v", service)
			}
			for _, e := range service.Environment {
				if i := slices.Index(args, "--env"); i < 0 || args[i+1] != e {
					t.Errorf("docker run lacks %q", e)
				}
			}
			if text := string(files[0].Content) + string(files[1].Content); strings.Contains(text, "privileged:") || strings.Contains(text, "--privileged") || strings.Contains(text, "--pid") {
				t.Error("more privileges than needed")
			}
		})
	}
}

// The token is read from the owner's file where it exists, and is in no file of ours.
func TestServeToken(t *testing.T) {
	files := Serve("spark1", serving(), false)
	script := strings.ReplaceAll(string(files[1].Content), "/etc/railwright/serve/token.env", filepath.Join(t.TempDir(), "token.env"))
	if args := ran(t, []byte(script), "/root"); strings.Contains(strings.Join(args, " "), "token.env") {
		t.Errorf("a token file that does not exist: %q", args)
	}
	token := filepath.Join(t.TempDir(), "token.env")
	if err := os.WriteFile(token, []byte("HF_TOKEN=x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	script = strings.ReplaceAll(string(files[1].Content), "/etc/railwright/serve/token.env", token)
	if args := ran(t, []byte(script), "/root"); !slices.Contains(args, token) || strings.Contains(strings.Join(args, " "), "HF_TOKEN=x") {
		t.Errorf("%q", args)
	}
}

func TestServeOnWhom(t *testing.T) {
	if files := Serve("spark3", serving(), false); files != nil {
		t.Error("a machine without a rank got files")
	}
	if files := Serve("spark1", nil, false); files != nil {
		t.Error("files without a model")
	}
	for _, tt := range []struct {
		edit func(*fabric.Serving)
		want string
	}{
		{func(s *fabric.Serving) { s.Refused = "on 2 machines: too large" }, "openai/gpt-oss-120b is not served: on 2 machines: too large"},
		{func(s *fabric.Serving) { s.Image = "" }, "no image of vllm is known for this machine: set serving.image and serving.engine_version"},
	} {
		s := serving()
		tt.edit(s)
		if err := CheckServe(s); err == nil || err.Error() != tt.want || Serve("spark1", s, false) != nil {
			t.Errorf("%v, want %q", err, tt.want)
		}
	}
}
