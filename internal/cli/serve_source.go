package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/launch"
)

// launchSource is a log of a pod, or of several with prefixes.
type launchSource struct {
	pod, name string
	open      func() (io.ReadCloser, error)
	again     bool // the end of the file is not the end of the log
}

// launchSources are the logs that arguments name: files, the files of folders, standard input.
func (a *app) launchSources(paths []string) (all []launchSource, err error) {
	for _, path := range paths {
		if path == "-" {
			all = append(all, launchSource{pod: "standard input", name: "-", open: func() (io.ReadCloser, error) { return io.NopCloser(a.stdin), nil }})
			continue
		}
		info, err := a.files.Stat(path)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			all = append(all, fileSource(a.files, path, info))
			continue
		}
		inside, err := folderSources(a.files, path)
		if err != nil {
			return nil, err
		}
		all = append(all, inside...)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: no file in it", fabric.Quote(paths[0]))
	}
	return all, nil
}

func fileSource(from files.Files, path string, info fs.FileInfo) launchSource {
	return launchSource{
		pod: podOfFile(path), name: path, again: info.Mode().IsRegular(),
		open: func() (io.ReadCloser, error) { return from.Open(path) },
	}
}

// folderSources are the files of a folder, and of the folders in it.
func folderSources(from files.Files, path string) (all []launchSource, err error) {
	entries, err := from.ReadDir(path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		inside := filepath.Join(path, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case e.IsDir():
			more, err := folderSources(from, inside)
			if err != nil {
				return nil, err
			}
			all = append(all, more...)
		default:
			info, err := from.Stat(inside)
			if err != nil {
				return nil, err
			}
			if info.Mode().IsRegular() {
				all = append(all, fileSource(from, inside, info))
			}
		}
	}
	return all, nil
}

// podOfFile is the name of a log without what tells that it is one.
func podOfFile(path string) string {
	name := filepath.Base(path)
	for _, end := range []string{".log", ".txt", ".out"} {
		name = strings.TrimSuffix(name, end)
	}
	if name == "" {
		return filepath.Base(path)
	}
	return name
}

// longestLogLine is how much of a line is kept in bytes: launch reads less of it.
const longestLogLine = 64 << 10

// lines calls do with each line of a log, up to its end.
func (s launchSource) lines(ctx context.Context, do func(string)) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer f.Close()
	l := lineReader{r: bufio.NewReaderSize(f, longestLogLine)}
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		text, err := l.next()
		if text != "" || err == nil {
			do(text)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", fabric.Quote(s.name), err)
		}
	}
}

// lineReader reads lines of any length, of which it keeps the head.
type lineReader struct {
	r    *bufio.Reader
	part []byte
}

// next returns the next line. At the end of the file it returns what stands there without a line feed, and io.EOF.
func (l *lineReader) next() (string, error) {
	for {
		piece, err := l.r.ReadSlice('\n')
		if room := longestLogLine - len(l.part); room > 0 {
			l.part = append(l.part, piece[:min(len(piece), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		text := strings.TrimSuffix(strings.TrimSuffix(string(l.part), "\n"), "\r")
		if err == nil {
			l.part = l.part[:0]
		}
		return text, err
	}
}

// lookEvery is how often followed files are looked at for more, and resultEvery how often the launch is judged.
const (
	lookEvery   = 300 * time.Millisecond
	resultEvery = time.Second
)

// afterDeath is how long logs are read on after a launch died: the first failure may be in the log of a pod that comes later.
const afterDeath = 5 * time.Second

// followLaunch reads logs as they grow until every launch is settled.
func (a *app) followLaunch(ctx context.Context, w *launch.Watch, o serveWatchOptions) (*fabric.Launches, error) {
	all, err := a.launchSources(o.paths)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if o.timeout > 0 {
		ctx, stop = context.WithTimeout(ctx, o.timeout)
		defer stop()
	}
	lines := make(chan launch.Line, 1024)
	ended := make(chan error, len(all))
	for _, s := range all {
		host.Go(func() { ended <- s.follow(ctx, lines) })
	}
	told := map[string]string{}
	judge := time.NewTicker(resultEvery)
	defer judge.Stop()
	var died time.Time // when a launch was first seen dead
	for open := len(all); ; {
		select {
		case l := <-lines:
			if l.Text == restarted {
				w.Restarted(l.Pod)
				continue
			}
			w.Line(l)
		case err := <-ended:
			if open--; err != nil && ctx.Err() == nil {
				return nil, err
			}
			if open == 0 {
				for len(lines) > 0 {
					w.Line(<-lines)
				}
				return w.Result(now()), nil
			}
		case <-judge.C:
			settled, result := w.Settled(now())
			a.tellStages(told, result)
			switch {
			case !settled:
				died = time.Time{}
			case result.Status() != fabric.Fail:
				return result, nil
			case died.IsZero():
				died = now()
			case now().Sub(died) >= afterDeath:
				return result, nil
			}
		case <-ctx.Done():
			return w.Result(now()), nil
		}
	}
}

// tellStages says on standard error where a launch went on.
func (a *app) tellStages(told map[string]string, l *fabric.Launches) {
	for _, g := range l.Groups {
		text := string(g.Stage)
		if text == "" {
			continue
		}
		if g.Stall != nil && g.Stall.Passed {
			text += ": " + g.Why
		}
		key := string(g.Stage)
		if g.Stall != nil && g.Stall.Passed {
			key += " stalled"
		}
		if told[g.Group] != key {
			told[g.Group] = key
			a.progress("%s: %s", g.Group, text)
		}
	}
}

// restarted stands for a log that begins again.
const restarted = "\x00restarted"

// follow sends the lines of a log as it grows; standard input up to its end. A file that becomes shorter has begun again.
func (s launchSource) follow(ctx context.Context, out chan<- launch.Line) error {
	f, err := s.open()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	send := func(text string) bool {
		select {
		case out <- launch.Line{Pod: s.pod, At: now(), Text: text}:
			return true
		case <-ctx.Done():
			return false
		}
	}
	l := lineReader{r: bufio.NewReaderSize(f, longestLogLine)}
	read := int64(0)
	for {
		before := len(l.part)
		text, err := l.next()
		switch {
		case err == nil:
			read += int64(len(text)) + 1
			if !send(text) {
				return nil
			}
			continue
		case !errors.Is(err, io.EOF):
			return fmt.Errorf("%s: %w", fabric.Quote(s.name), err)
		case !s.again:
			if text != "" {
				send(text)
			}
			return nil
		}
		if len(l.part) == before && shorter(f, read) {
			_ = f.Close()
			if f, err = s.open(); err != nil {
				return err
			}
			l, read = lineReader{r: bufio.NewReaderSize(f, longestLogLine)}, 0
			if !send(restarted) {
				return nil
			}
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

// shorter reports whether a file has less than was read of it.
func shorter(f io.ReadCloser, read int64) bool {
	file, ok := f.(fs.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Size() < read
}
