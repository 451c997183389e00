package podtest

import (
	_ "embed" // what the images are built from
	"errors"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

var (
	//go:embed nvidia.Containerfile
	nvidiaImages []byte
	//go:embed amd.Containerfile
	amdImages []byte
	//go:embed build_images.sh
	buildImages []byte
)

// containerfile is what the images for GPUs of a vendor are built from; nil where none is written here.
func containerfile(vendor string) []byte {
	return map[string][]byte{"nvidia": nvidiaImages, "amd": amdImages}[vendor]
}

// CheckTestImages reports why there are no images for the GPUs of a plan.
func CheckTestImages(t Tests) error {
	if containerfile(t.Vendor) == nil {
		return fmt.Errorf("GPUs of vendor %s: no images of test pods are known; known: amd, nvidia", fabric.Quote(t.Vendor))
	}
	return nil
}

// CheckTests reports why there are no test pods.
func CheckTests(t Tests) error {
	err := CheckTestImages(t)
	if err == nil && t.Images == "" {
		err = errors.New("kubernetes.test_images: names no registry from which nodes pull the images of test pods: build-images.sh builds and pushes them")
	}
	return err
}

// image is the name of an image. Its tag is the beginning of the checksum of what it is built from, so that pods never run in an
// image that another version of this program built.
func (t Tests) image(stage string) string {
	return fmt.Sprintf("%s/%s-%s:%s", strings.TrimRight(t.Images, "/"), stage, t.Vendor, t.tag())
}

func (t Tests) tag() string {
	const digits = 12
	return kubernetes.NewArtifact("", "", 0, containerfile(t.Vendor)).SHA256[:digits]
}

// TestImages are what the images of the test pods are built from, and the script that builds and pushes them.
func TestImages(t Tests) []fabric.Artifact {
	name := t.Vendor + ".Containerfile"
	script := slices.Concat([]byte(scriptHead("Builds the images of the test pods, and pushes them to a registry from which the nodes pull.")),
		settings([2]string{"containerfile", name}, [2]string{"vendor", t.Vendor}, [2]string{"tag", t.tag()}, [2]string{"images", t.Images}), buildImages)
	return []fabric.Artifact{
		kubernetes.NewArtifact(fabric.OnWorkstation, "/"+name, kubernetes.ModePublic, containerfile(t.Vendor)),
		kubernetes.NewArtifact(fabric.OnWorkstation, "/build-images.sh", kubernetes.ModeProgram, script),
	}
}

// scriptHead begins a script for a person.
func scriptHead(does string) string {
	return "#!/usr/bin/env bash\n# Written by railwright from the plan; a change here is lost when it is rendered again.\n# " + does + "\n"
}

// settings are what a script takes from the plan.
func settings(all ...[2]string) []byte {
	var b []byte
	for _, v := range all {
		b = fmt.Appendf(b, "%s=%s\n", v[0], fabric.ShellWord(v[1]))
	}
	return append(b, '\n')
}
