package cli

import (
	"bufio"
	"errors"
	"io"
	"text/tabwriter"
)

// table lines up columns that tabs end. It writes in large pieces: a tabwriter by itself calls the system for each cell and for
// each gap, which of the cables of 16,384 nodes are two million.
type table struct {
	*tabwriter.Writer
	pieces *bufio.Writer
}

func newTable(to io.Writer) table {
	pieces := bufio.NewWriterSize(to, 64<<10)
	return table{tabwriter.NewWriter(pieces, 0, 0, 2, ' ', 0), pieces}
}

// Flush writes the rest.
func (t table) Flush() error { return errors.Join(t.Writer.Flush(), t.pieces.Flush()) }
