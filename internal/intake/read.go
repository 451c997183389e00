package intake

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/results"
)

// Content is what all paths of a call hold.
type Content struct {
	Results []fabric.Result
	Sources []fabric.Source
	Open    []Open            // of the named paths, in their order
	Facts   []facts.TextFacts // what outputs of tools in the texts tell of hosts

	Manifests []*manifest.File // of pods and containers, in the texts
}

// Open says of a named path what keeps it from being understood.
type Open struct {
	Path   string
	Reason string // in a sentence; empty: all of it that may be about a run was read
}

// Read reads files, folders and archives; - is stdin. The error is that no path exists, or that of ctx: anything else
// that cannot be read stands in the sources, and in Open where it leaves a verdict open.
func Read(ctx context.Context, from files.Files, paths []string, stdin io.Reader, doing func(file string)) (*Content, error) {
	r := &reader{ctx: ctx, doing: doing, roots: make([]root, len(paths)), outputs: facts.NewOutputs()}
	o := newOpener(ctx, from, paths, stdin, r.file)
	for i, name := range paths {
		o.path(name, i)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var absent []error
	for i, name := range paths {
		if r.roots[i].absent {
			absent = append(absent, fmt.Errorf("%s: no such file or folder", fabric.Quote(name)))
		}
	}
	if len(absent) == len(paths) {
		return nil, errors.Join(absent...)
	}
	for i, name := range paths {
		r.content.Open = append(r.content.Open, Open{Path: name, Reason: r.roots[i].reason()})
	}
	r.content.Facts = r.outputs.Facts()
	r.content.carry()
	return &r.content, nil
}

// carry adds a log without lines where no text holds a result but some hold outputs of tools, so that what these show is
// explained.
func (c *Content) carry() {
	if len(c.Results) > 0 || len(c.Facts) == 0 {
		return
	}
	for _, s := range c.Sources {
		if len(s.Holds) > 0 {
			c.Results = []fabric.Result{{File: s.File, Line: 1, Kind: fabric.NCCLDebugLog, Content: &fabric.NCCLLog{}}}
			return
		}
	}
}

// reader gathers what the texts of a call hold.
type reader struct {
	ctx     context.Context
	doing   func(file string)
	content Content
	roots   []root
	outputs *facts.Outputs
}

// root is what was seen of a named path.
type root struct {
	absent bool
	files  int
	inside bool   // a folder or an archive
	lost   int    // files that could not be read, or not whole
	why    string // the first of them
	lines  int
	holds  bool // something in it was recognised
}

// file reads one text.
func (r *reader) file(f file) {
	if r.ctx.Err() != nil {
		return
	}
	at := &r.roots[f.root]
	at.inside = at.inside || f.inside
	if f.name == "" { // of the path as a whole
		at.lose(f.err.Error())
		return
	}
	at.files++
	if f.err != nil {
		at.absent = errors.Is(f.err, fs.ErrNotExist) && !f.inside
		if !f.inside || !errors.Is(f.err, errEmpty) && !errors.Is(f.err, errNoFile) {
			at.lose(f.named() + f.err.Error())
		}
		r.content.Sources = append(r.content.Sources, fabric.Source{File: f.name, Error: f.err.Error()})
		return
	}
	if f.own != "" {
		at.holds = true
		r.content.Sources = append(r.content.Sources, fabric.Source{File: f.name, Holds: []string{f.own}})
		return
	}
	r.doing(f.name)
	body, held, whole := r.manifests(f)
	if whole {
		at.holds = true
		return
	}
	f.body = body
	r.outputs.File(f.name, f.host)
	found := results.Scan(f.name, f.body, results.Claims{Signs: lineSigns(), Line: func(l results.Line, taken bool) (claimed, searched bool) {
		return r.outputs.Line(l.Host, l.Texts, l.Signs, taken)
	}})
	found.Source.Holds = append(append(found.Source.Holds, r.outputs.Holds()...), held...)
	at.lines += found.Source.Lines
	at.holds = at.holds || len(found.Source.Holds) > 0
	if found.Source.Error != "" && (!f.inside || !found.NotText) {
		at.lose(f.named() + found.Source.Error)
	}
	r.content.Results = append(r.content.Results, found.Results...)
	r.content.Sources = append(r.content.Sources, found.Source)
}

// lineSigns are what outputs of tools and results have, made once.
var lineSigns = sync.OnceValue(func() *results.Signs { return results.NewSigns(facts.Signs()) })

// signsSize is how much of a text is looked at for signs of a manifest, in bytes: the longest that precede one are licences and
// comments of some pages.
const signsSize = 64 << 10

// manifests reads the manifests in a text. It returns the text to be read for other things, what it holds, and whether it is
// a manifest and nothing else.
func (r *reader) manifests(f file) (body io.Reader, held []string, whole bool) {
	in := bufio.NewReaderSize(f.body, signsSize)
	head, _ := in.Peek(signsSize) // an error comes again when the text is read
	if !manifest.Likely(head) {
		return in, nil, false
	}
	text, err := io.ReadAll(io.LimitReader(in, manifest.Largest+1))
	rest := io.MultiReader(bytes.NewReader(text), in)
	if err != nil || len(text) > manifest.Largest {
		return rest, nil, false
	}
	found, ok := manifest.Find(f.name, text)
	if !ok {
		return rest, nil, false
	}
	r.content.Manifests = append(r.content.Manifests, found.File)
	held = []string{"manifest"}
	found.Whole = found.Whole && !bytes.Contains(text, []byte("resource.k8s.io/")) // claims have a reader of their own
	if found.Whole {
		r.content.Sources = append(r.content.Sources, fabric.Source{File: f.name, Holds: held, Lines: bytes.Count(text, []byte("\n"))})
	}
	return rest, held, found.Whole
}

// named is the name of a file of a folder or an archive before the reason; a path that was named itself needs none.
func (f file) named() string {
	if !f.inside {
		return ""
	}
	return f.name + ": "
}

func (a *root) lose(why string) {
	a.lost++
	a.why = cmp.Or(a.why, why)
}

// reason says what of a path is open.
func (a *root) reason() string {
	switch {
	case a.lost == 1:
		return a.why
	case a.lost > 1:
		return fmt.Sprintf("%d of %s could not be read, the first: %s", a.lost, fabric.Count(a.files, "file"), a.why)
	case a.files == 0:
		return "no files in this folder"
	case a.holds:
		return ""
	case a.inside:
		return fmt.Sprintf("nothing recognised in %s with %s", fabric.Count(a.files, "file"), fabric.Count(a.lines, "line"))
	}
	return strings.TrimSpace("nothing recognised in " + fabric.Count(a.lines, "line"))
}

// Unknown are the explanations of what is open: nothing is healthy beside a file that could not be read.
func (c *Content) Unknown() []fabric.Explained {
	var out []fabric.Explained
	for _, o := range c.Open {
		if o.Reason != "" {
			out = append(out, fabric.Explained{
				File: o.Path, Kind: fabric.PlainText, Verdict: fabric.VerdictUnknown, Why: o.Reason, Causes: []fabric.Cause{},
				Next: "give what a benchmark, a debug log or a tool prints; -v shows the lines that were not understood",
			})
		}
	}
	return out
}
