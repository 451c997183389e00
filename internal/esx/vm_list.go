package esx

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// vim-cmd vmsvc/getallvms: one line per virtual machine.
var (
	vmListHead = pattern.New(`^Vmid\s+Name\s+File\b`)
	vmListRow  = pattern.New(`^(\d+)\s+(\S.*?)\s+\[[^\]]+\] .*\.vmx\s+\S+\s+vmx-(\d+)`)
	vmListFold = pattern.New(`^(?i:skipping invalid vm)`)
)

func vmListForm() form {
	is := func(line string) bool { return vmListHead().MatchString(line) || vmListRow().MatchString(line) }
	return form{
		name: "vim-cmd vmsvc/getallvms", ours: true, opens: []*pattern.Regexp{vmListHead(), vmListRow()}, begins: func(line string, _ place) bool { return is(line) },
		goesOn: func(line string) bool { return is(line) || vmListFold().MatchString(strings.ToLower(line)) },
		read: func(b *build, s section) {
			e := b.esx()
			e.VMs = some(e.VMs)
			whole := false
			for _, line := range s.lines {
				whole = whole || vmListHead().MatchString(line)
				if m := vmListRow().FindStringSubmatch(line); m != nil {
					b.vm(fabric.VM{Name: m[2], Hardware: digits(m[3])})
				}
			}
			_, filter := base(s.command)
			b.listed(fabric.FactESXVMs, whole && (filter == "" || strings.Contains(s.command, "&&")))
		},
	}
}
