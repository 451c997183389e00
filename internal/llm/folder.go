package llm

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const indexFile = "model.safetensors.index.json"

// buildFolder builds the model of a folder: from the headers where every file of weights is there, from the index
// where only that is, else by formula.
func (r reader) buildFolder(folder string, text, quantText []byte) (*Model, error) {
	index, err := r.readIndex(filepath.Join(folder, indexFile))
	hasIndex := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	files, missing, err := r.weightFiles(folder, index)
	if err != nil {
		return nil, err
	}
	if len(files) > 0 && len(missing) == 0 {
		tensors, err := r.readHeaders(folder, files)
		if err != nil {
			return nil, err
		}
		if err := sameNames(tensors, index); hasIndex && err != nil {
			return nil, err
		}
		return fromHeaders(folder, text, quantText, tensors)
	}
	if hasIndex {
		return fromIndex(folder, text, quantText, index)
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%q is missing, and there is no index", missing[0])
	}
	return readConfig(folder, text, quantText)
}

// weightFiles returns the safetensors files of a folder that belong to one copy of the weights, and those of them that
// are not there: Mistral's repositories hold a second copy under another name.
func (r reader) weightFiles(folder string, index weightIndex) (files, missing []string, err error) {
	if index.files != nil {
		for _, file := range index.files {
			if !slices.Contains(files, file) {
				files = append(files, file)
			}
		}
		slices.Sort(files)
		return r.present(folder, files)
	}
	entries, err := r.from.ReadDir(folder)
	if err != nil {
		return nil, nil, err
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) == ".safetensors" && !entry.IsDir() {
			files = append(files, entry.Name())
		}
	}
	if slices.Contains(files, "model.safetensors") {
		return []string{"model.safetensors"}, nil, nil
	}
	if parts := partsOf(files); parts != nil {
		return r.present(folder, parts)
	}
	return files, nil, nil
}

// present keeps the files that the folder holds and names those that it does not.
func (r reader) present(folder string, files []string) (there, missing []string, err error) {
	for _, file := range files {
		if file == "" || file != filepath.Base(file) || file == ".." {
			return nil, nil, fmt.Errorf("%q: file %q is not a plain file name", indexFile, file)
		}
		switch _, err := r.from.Stat(filepath.Join(folder, file)); {
		case err == nil:
			there = append(there, file)
		case errors.Is(err, fs.ErrNotExist):
			missing = append(missing, file)
		default:
			return nil, nil, err
		}
	}
	return there, missing, nil
}

// partsOf returns all names of a set such as model-00001-of-00002.safetensors.
func partsOf(files []string) (parts []string) {
	form := regexp.MustCompile(`^(.*-)(\d{5,6})(-of-)(\d{5,6})(\.safetensors)$`)
	for _, file := range files {
		m := form.FindStringSubmatch(file)
		if m == nil {
			continue
		}
		count, err := strconv.Atoi(m[4])
		if err != nil || count > 100_000 {
			return nil
		}
		for i := range count {
			parts = append(parts, fmt.Sprintf("%s%0*d%s%s%s", m[1], len(m[2]), i+1, m[3], m[4], m[5]))
		}
		return parts
	}
	return nil
}

func (r reader) readHeaders(folder string, files []string) ([]stored, error) {
	var all []stored
	owner := map[string]string{}
	for _, file := range files {
		tensors, err := r.readHeader(filepath.Join(folder, file))
		if err != nil {
			return nil, err
		}
		for _, t := range tensors {
			if other := owner[t.name]; other != "" {
				return nil, fmt.Errorf("%q: tensor %q is also in %q", filepath.Join(folder, file), t.name, other)
			}
			owner[t.name] = file
		}
		all = append(all, tensors...)
		if len(all) > maxNames {
			return nil, fmt.Errorf("%q: headers name more than %d tensors", folder, maxNames)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%q: headers name no tensor", folder)
	}
	return all, nil
}

// sameNames finds a tensor that only the index or only the headers know.
func sameNames(tensors []stored, index weightIndex) error {
	known := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		known[t.name] = true
		if _, ok := index.files[t.name]; !ok {
			return fmt.Errorf("tensor %q: in a header, but not in %s", t.name, indexFile)
		}
	}
	var lost []string
	for name := range index.files {
		if !known[name] {
			lost = append(lost, name)
		}
	}
	if len(lost) > 0 {
		slices.Sort(lost)
		return fmt.Errorf("tensor %q: in %s, but in no header", lost[0], indexFile)
	}
	return nil
}

// fromIndex scales the formula to the bytes of the index, whose names show which parts there are.
func fromIndex(folder string, text, quantText []byte, index weightIndex) (*Model, error) {
	m, err := readConfig(folder, text, quantText)
	if errors.Is(err, errUnknownType) {
		return fromNames(folder, text, quantText, index)
	}
	if err != nil {
		return nil, err
	}
	found := partsIn(index, len(m.Layers))
	if err := found.complete(m); err != nil {
		return nil, fmt.Errorf("%s: %w", indexFile, err)
	}
	m.drop(ClassMTP, found.mtp)
	m.drop(ClassVision, found.vision)
	return scaleTo(m, index, found)
}

// mostDifference is how far the formula may be from the index: beyond it, config.json and index are not of the
// same weights, or the format of the weights is another.
const mostDifference = 0.1

func scaleTo(m *Model, index weightIndex, found indexParts) (*Model, error) {
	m.Scale = 1
	formula, total := m.tensorBytes(), index.total
	if m.TiedHead && found.head { // a copy that no engine loads
		for _, t := range m.Tensors {
			if t.Class == ClassEmbedding && t.Rows == m.Vocabulary && t.Cols == m.Hidden {
				total -= t.Format.Bytes(t.Rows, t.Cols)
			}
		}
	}
	scale := float64(total) / float64(max(1, formula))
	if scale < 1-mostDifference || scale > 1+mostDifference {
		return nil, fmt.Errorf("%s: metadata.total_size: %d bytes do not match config.json, which gives %d", indexFile, index.total, formula)
	}
	m.Scale, m.DiskBytes, m.Certainty = scale, index.total, FromIndex
	return m, nil
}

// drop removes a class that the files do not hold.
func (m *Model) drop(class Class, there bool) {
	if there {
		return
	}
	m.Tensors = slices.DeleteFunc(m.Tensors, func(t Tensor) bool { return t.Class == class })
	if class == ClassMTP {
		m.MTP = 0
	}
}

// indexParts is what the names of an index show.
type indexParts struct {
	layers            map[int]bool
	head, mtp, vision bool
	embedding         bool
}

func partsIn(index weightIndex, depth int) indexParts {
	p := indexParts{layers: map[int]bool{}}
	names := newNameReader(depth)
	for name := range index.files {
		n := names.read(name)
		switch n.class {
		case ClassMTP:
			p.mtp = true
		case ClassVision:
			p.vision = true
		case ClassHead:
			p.head = true
		case ClassEmbedding:
			p.embedding = true
		}
		if n.layer >= 0 {
			p.layers[n.layer] = true
		}
	}
	return p
}

// complete checks that every layer of the config is named.
func (p indexParts) complete(m *Model) error {
	if !p.embedding {
		return errors.New("weight_map: names no embedding: is it truncated?")
	}
	if !m.TiedHead && !p.head && !slices.ContainsFunc(m.Tensors, func(t Tensor) bool { return t.Class == ClassHead && !strings.Contains(t.Name, "lm_head") }) {
		return errors.New("weight_map: names no lm_head, and tie_word_embeddings is not true: is it truncated?")
	}
	depth := m.storedLayers()
	for i := range depth {
		if !p.layers[i] {
			return fmt.Errorf("weight_map: names no weight of layer %d of %d: is it truncated?", i, depth)
		}
	}
	return nil
}

// storedLayers is how many layers the files count: some blocks that keep two caches count twice here.
func (m *Model) storedLayers() int {
	if m.Type == "longcat_flash" || m.Type == "falcon_h1" {
		return len(m.Layers) / 2
	}
	return len(m.Layers)
}
