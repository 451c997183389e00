package runbook

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Markdown writes the runbook for people and tickets. The same runbook gives the same bytes.
func (r *Runbook) Markdown() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# Runbook of %s\n\n", plain(r.Name))
	b.WriteString("Vendor software, firmware and settings of the hosts, written by `railwright apply --runbook` from the cluster file. " +
		"Commands are for a POSIX shell, as root, on each host of their list unless the step says otherwise. " +
		"Do one host whole, with its checks, before the others.\n")
	for _, g := range r.Groups {
		g.markdown(&b)
	}
	return []byte(b.String())
}

// plain keeps a name of the cluster file from being read as anything else.
func plain(text string) string {
	return strings.NewReplacer("`", "'", "<", "(", ">", ")", "|", "/", "*", "", "_", `\_`).Replace(fabric.Printable(text))
}

func (g Group) markdown(b *strings.Builder) {
	if g.Title != "" {
		fmt.Fprintf(b, "\n## %s\n\n%s: %s", g.Title, fabric.Count(len(g.Hosts), "host"), plain(draw.Names(g.Hosts, 0)))
	} else {
		fmt.Fprintf(b, "\n## %s\n\n%s", plain(draw.Names(g.Hosts, 0)), fabric.Count(len(g.Hosts), "host"))
	}
	if g.Machine != "" {
		fmt.Fprintf(b, ", machine %s", plain(g.Machine))
	}
	if len(g.Steps) > 0 && !g.Running {
		fmt.Fprintf(b, ". Reboots of each: %d", g.Reboots)
	}
	b.WriteString(".\n")
	for _, u := range g.Unknown {
		fmt.Fprintf(b, "\n**Unknown:** %s.\n", plain(u))
	}
	titles := map[Phase]string{
		Before: "Before", Install: "Changes, in effect after the reboot", Reboot: "Reboot",
		Second: "Changes that need what the reboot has brought", SecondReboot: "Second reboot", After: "After the reboot", Optional: "Only where its reason holds",
	}
	switch {
	case g.Running:
		titles[After] = "In this order"
	case g.Reboots == 0:
		titles[Install], titles[After] = "Changes, in effect at once", "Then"
	}
	n := 0
	for _, phase := range phases() {
		first := true
		for _, s := range g.Steps {
			if s.Phase != phase {
				continue
			}
			if first {
				fmt.Fprintf(b, "\n### %s\n", titles[phase])
				first = false
			}
			n++
			s.markdown(b, n)
		}
	}
}

func (s Step) markdown(b *strings.Builder, n int) {
	fmt.Fprintf(b, "\n#### %d. %s (`%s`)\n", n, s.Title, s.ID)
	if s.When != "" {
		fmt.Fprintf(b, "\n%s.\n", sentence(s.When))
	}
	for _, c := range s.Commands {
		if c.OS != "" {
			fmt.Fprintf(b, "\nOn %s:\n", map[string]string{"ubuntu": "Ubuntu and Debian", "rhel": "RHEL and its kin", "sles": "SLES", workstation: "your own machine"}[c.OS])
		}
		fence(b, c.Lines)
	}
	fmt.Fprintf(b, "\n- [ ] Check: %s.", s.Check.Expect)
	if s.Check.Rule != "" {
		fmt.Fprintf(b, " Rule `%s` of `railwright check` judges it.", s.Check.Rule)
	}
	b.WriteString("\n")
	fence(b, s.Check.Lines)
	fmt.Fprintf(b, "\nUndo: %s. Source: %s.\n", s.Undo, s.Source)
}

// sentence begins with a capital letter, unless its first word is a name with capitals of its own: vSphere, iDRAC.
func sentence(text string) string {
	word, _, _ := strings.Cut(text, " ")
	if word != strings.ToLower(word) {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func fence(b *strings.Builder, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(b, "\n```sh\n%s\n```\n", strings.Join(lines, "\n"))
	}
}
