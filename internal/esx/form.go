package esx

import "sync"

// forms are tried in this order. They are made once.
var forms = sync.OnceValue(allForms)

func allForms() []form {
	var out []form
	for _, t := range allTables() {
		out = append(out, t.form())
	}
	for _, k := range blocks() {
		out = append(out, k.form())
	}
	out = append(out, formats()...)
	out = append(out, singles()...)
	return append(out, vmListForm(), worldForm(), lspciForm(), resetForm(), mstForm(), configForm(), flintForm(), powerCLIForm(), manifestForm(), vmxForm(), objectForm(), logForm())
}
