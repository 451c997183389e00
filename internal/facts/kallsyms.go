package facts

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const (
	symbolsFile = "/proc/kallsyms"
	// maxSymbols bounds what is read, in bytes: a kernel with many modules has some 20 MB of names.
	maxSymbols = 128 << 20

	peerMemorySymbol = "ib_register_peer_memory_client"
	dmabufSymbol     = "ib_umem_dmabuf_get"
	firstSymbol      = "_text" // of every kernel: that it is there says that the list is whole
)

// readSymbols reads how this kernel lets an RDMA device access the memory of a GPU. The list is long, so that
// it is read only where there is one of both. It is read piece by piece; where the host gives files only
// whole, grep looks for the three names.
func readSymbols(ctx context.Context, h host.Host, f *fabric.Facts) {
	s, err := lookForSymbols(ctx, h, f)
	if err == nil {
		f.Kernel.PeerMemory, f.Kernel.DMABuf, err = s.verdicts()
		f.Kernel.PeerMemoryBy = s.peerMemoryBy
	}
	missSymbols(f, symbolsFile, err)
}

func lookForSymbols(ctx context.Context, h host.Host, f *fabric.Facts) (symbols, error) {
	if len(f.HCAs) == 0 && len(f.GPUs) == 0 {
		return symbols{}, errors.New("not read: neither an RDMA device nor a GPU was found")
	}
	if o, ok := h.(host.Opener); ok {
		in, err := o.Open(symbolsFile)
		if err != nil {
			return symbols{}, err
		}
		defer in.Close()
		return scanSymbols(in)
	}
	ctx, cancel := context.WithTimeout(ctx, toolTime)
	defer cancel()
	pattern := " (" + strings.Join([]string{firstSymbol, peerMemorySymbol, dmabufSymbol}, "|") + `)\b`
	text, err := runTool(ctx, h, []string{"grep", "-E", pattern, symbolsFile})
	if errors.Is(err, host.ErrNotSupported) {
		text, err = h.ReadFile(symbolsFile)
	}
	if err != nil {
		return symbols{}, err
	}
	return scanSymbols(bytes.NewReader(text))
}

// symbols is what was seen of the names that matter.
type symbols struct {
	peerMemory, dmabuf, whole bool
	peerMemoryBy              string // the module in brackets behind the name; empty: built in
}

// verdicts are unknown for a name that is not in a list of which it is unknown that it is whole.
func (s symbols) verdicts() (peerMemory, dmabuf *bool, err error) {
	if s.peerMemory || s.whole {
		peerMemory = &s.peerMemory
	}
	if s.dmabuf || s.whole {
		dmabuf = &s.dmabuf
	}
	if !s.whole {
		err = fmt.Errorf("not the whole list: it has no %s", firstSymbol)
	}
	return peerMemory, dmabuf, err
}

// scanSymbols reads "ffffffffc0a01234 T NAME	[MODULE]" until it has seen all names. Only code counts: the
// other entries of a name, such as __ksymtab_, come with it.
func scanSymbols(in io.Reader) (symbols, error) {
	var s symbols
	limited := &io.LimitedReader{R: in, N: maxSymbols}
	r := bufio.NewReaderSize(limited, 256<<10)
	for {
		line, err := r.ReadSlice('\n')
		if code, name, ok := symbolOf(line); ok && (code == 'T' || code == 't') {
			switch string(name) { // no copy is made
			case peerMemorySymbol:
				s.peerMemory, s.peerMemoryBy = true, moduleOfSymbol(line)
			case dmabufSymbol:
				s.dmabuf = true
			case firstSymbol:
				s.whole = true
			}
		}
		switch {
		case s.peerMemory && s.dmabuf && s.whole:
			return s, nil
		case limited.N == 0:
			return s, fmt.Errorf("more than %d bytes", maxSymbols)
		case err == io.EOF:
			return s, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return s, err
		}
	}
}

// symbolOf splits a line; ok is false for any other.
func symbolOf(line []byte) (code byte, name []byte, ok bool) {
	i := bytes.IndexByte(line, ' ')
	if i < 8 || len(line) < i+4 || line[i+2] != ' ' {
		return 0, nil, false
	}
	name = line[i+3:]
	if end := bytes.IndexAny(name, " \t\r\n"); end >= 0 {
		name = name[:end]
	}
	return line[i+1], name, true
}

// moduleOfSymbol is the name in brackets at the end of a line.
func moduleOfSymbol(line []byte) string {
	open := bytes.LastIndexByte(line, '[')
	end := bytes.LastIndexByte(line, ']')
	if open < 0 || end < open || !isModuleName(string(line[open+1:end])) {
		return ""
	}
	return string(line[open+1 : end])
}

// isPeerSymbol knows a line of /proc/kallsyms about the interface of peer memory, as grep leaves it.
func isPeerSymbol(line string) bool {
	if !strings.Contains(line, peerMemorySymbol) {
		return false
	}
	_, name, ok := symbolOf([]byte(line))
	return ok && bytes.HasSuffix(name, []byte(peerMemorySymbol)) && knowsSymbols(line)
}

func knowsSymbols(text string) bool {
	return hasLine(text, func(line string) bool {
		_, name, ok := symbolOf([]byte(line))
		address, _, _ := strings.Cut(line, " ")
		return ok && len(name) > 0 && isHex(address)
	})
}

// parseSymbols reads /proc/kallsyms, or what grep found in it.
func parseSymbols(text, _ string) (fabric.Facts, error) {
	if !knowsSymbols(text) {
		return fabric.Facts{}, errForeignText
	}
	s, err := scanSymbols(strings.NewReader(text))
	if err != nil {
		return fabric.Facts{}, err
	}
	var f fabric.Facts
	f.Kernel.PeerMemory, f.Kernel.DMABuf, err = s.verdicts()
	f.Kernel.PeerMemoryBy = s.peerMemoryBy
	if f.Kernel.PeerMemory == nil && f.Kernel.DMABuf == nil {
		return fabric.Facts{}, err
	}
	missSymbols(&f, "kallsyms", err)
	return f, nil
}

// missSymbols records why a symbol is unknown.
func missSymbols(f *fabric.Facts, source string, err error) {
	if f.Kernel.PeerMemory == nil {
		miss(f, fabric.FactKernelPeerMemory, source, err)
	}
	if f.Kernel.DMABuf == nil {
		miss(f, fabric.FactKernelDMABuf, source, err)
	}
}
