package render

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const grubPath = "/etc/default/grub.d/60-railwright.cfg"

const grubHead = `# Written by railwright from the plan; a change here is lost when it is rendered again.
# iommu=pt maps devices one to one, so that traffic between GPU and NIC is not translated in the root complex
# (Broadcom's RoCE guide, 2.3). It takes effect after: update-grub && reboot
# RHEL, Rocky and SLES do not read this folder. There, with the words below:
#   grubby --update-kernel=ALL --args="WORDS"           (RHEL, Rocky)
#   GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, then grub2-mkconfig -o /boot/grub2/grub.cfg   (SLES)
`

// KernelCommandLine adds the plan's words to the kernel's command line, by update-grub of Debian and Ubuntu, which reads
// each file of the folder after /etc/default/grub as shell.
func KernelCommandLine(node string, words []string) fabric.Artifact {
	return newArtifact(node, grubPath, modePublic, []byte(grubHead+`GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX `+strings.Join(words, " ")+"\"\n"))
}
