package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// maxHeader bounds the header of one safetensors file, in bytes: the format's own limit (safetensors, tensor.rs,
// MAX_HEADER_SIZE).
const maxHeader = 100_000_000

// stored is a tensor as the header of a safetensors file has it.
type stored struct {
	name  string
	dtype string
	shape []int64
	bytes int64
}

// dtypeBits is how wide an element of a dtype is (safetensors, tensor.rs, Dtype).
func dtypeBits() map[string]int64 {
	return map[string]int64{
		"BOOL": 8, "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8,
		"F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32, "F32": 32,
		"C64": 64, "F64": 64, "I64": 64, "U64": 64,
	}
}

// readHeader reads the header of a safetensors file: eight bytes of length, little-endian, and so many of JSON. What
// the header says of the data after it must fit the file without overlap or gap.
func (r reader) readHeader(path string) ([]stored, error) {
	file, err := r.from.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	tensors, err := parseHeader(file, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%q: %w", path, err)
	}
	return tensors, nil
}

// parseHeader reads a header from the beginning of a file of that size.
func parseHeader(r io.Reader, size int64) ([]stored, error) {
	var prefix [8]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, errors.New("is too short to hold the length of a header")
	}
	length := binary.LittleEndian.Uint64(prefix[:])
	if length > maxHeader {
		return nil, fmt.Errorf("header of %d bytes is longer than %d", length, maxHeader)
	}
	if size < 8 || length > uint64(size-8) {
		return nil, fmt.Errorf("header of %d bytes does not fit into the file of %d bytes", length, size)
	}
	tensors, spans, err := decodeHeader(io.LimitReader(r, int64(length)))
	if err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	if err := checkSpans(tensors, spans, size-8-int64(length)); err != nil {
		return nil, err
	}
	return tensors, nil
}

// decodeHeader reads the tensors one by one, so that a header of the largest size takes no more than a few times that.
func decodeHeader(r io.Reader) (tensors []stored, spans [][2]int64, err error) {
	d := json.NewDecoder(bufio.NewReaderSize(r, 1<<16))
	if err := expect(d, json.Delim('{')); err != nil {
		return nil, nil, err
	}
	bits, seen := dtypeBits(), map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, nil, err
		}
		name, _ := key.(string)
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		if name == "__metadata__" {
			continue
		}
		if seen[name] {
			return nil, nil, fmt.Errorf("tensor %q: duplicate", name)
		}
		seen[name] = true
		tensor, span, err := decodeTensor(name, raw, bits)
		if err != nil {
			return nil, nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		tensors, spans = append(tensors, tensor), append(spans, span)
	}
	return tensors, spans, expect(d, json.Delim('}'))
}

func expect(d *json.Decoder, want json.Delim) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token != want {
		return fmt.Errorf("found %v, expected %v", token, want)
	}
	return nil
}

func decodeTensor(name string, raw json.RawMessage, bits map[string]int64) (stored, [2]int64, error) {
	var entry struct {
		DType   *string  `json:"dtype"`
		Shape   *[]int64 `json:"shape"`
		Offsets []int64  `json:"data_offsets"`
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if err := d.Decode(&entry); err != nil {
		return stored{}, [2]int64{}, err
	}
	if entry.DType == nil || entry.Shape == nil || len(entry.Offsets) != 2 {
		return stored{}, [2]int64{}, errors.New("dtype, shape or data_offsets is missing")
	}
	width, known := bits[*entry.DType]
	if !known {
		return stored{}, [2]int64{}, fmt.Errorf("dtype %q is unknown; known: %s", *entry.DType, strings.Join(sortedKeys(bits), ", "))
	}
	elements := int64(1)
	for _, n := range *entry.Shape {
		if n < 0 || n > 0 && elements > int64(mostWeights)/n {
			return stored{}, [2]int64{}, fmt.Errorf("shape %v: invalid", *entry.Shape)
		}
		elements *= n
	}
	span := [2]int64{entry.Offsets[0], entry.Offsets[1]}
	size := (elements*width + 7) / 8
	if span[0] < 0 || span[1] < span[0] || span[1]-span[0] != size {
		return stored{}, [2]int64{}, fmt.Errorf("data_offsets %v do not span the %d bytes of %s %v", entry.Offsets, size, *entry.DType, *entry.Shape)
	}
	return stored{name: name, dtype: *entry.DType, shape: *entry.Shape, bytes: size}, span, nil
}

// checkSpans checks that the data of all tensors fill the rest of the file once.
func checkSpans(tensors []stored, spans [][2]int64, size int64) error {
	order := make([]int, len(spans))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(spans[i][0], spans[j][0]), cmp.Compare(spans[i][1], spans[j][1]), strings.Compare(tensors[i].name, tensors[j].name))
	})
	var end int64
	for _, i := range order {
		switch span := spans[i]; {
		case span[0] < end:
			return fmt.Errorf("tensor %q: data_offsets %v overlap the previous tensor", tensors[i].name, span)
		case span[0] > end:
			return fmt.Errorf("tensor %q: data_offsets %v leave a gap after %d", tensors[i].name, span, end)
		default:
			end = span[1]
		}
	}
	if end != size {
		return fmt.Errorf("the headers describe %d bytes of data, the file has %d: is it truncated?", end, size)
	}
	return nil
}

// maxIndex bounds an index, in bytes: that of Kimi-K2, with 384 experts in 60 layers, has 19 MB.
const maxIndex = 256 << 20

// maxNames bounds the weights that an index or the headers of a folder name: five times those of the largest model.
const maxNames = 2_000_000

// weightIndex is model.safetensors.index.json: the bytes of all weights, and the file of each.
type weightIndex struct {
	total int64
	files map[string]string // by name of the weight
}

func (r reader) readIndex(path string) (weightIndex, error) {
	file, err := r.from.Open(path)
	if err != nil {
		return weightIndex{}, err
	}
	defer file.Close()
	index, err := parseIndex(file, maxIndex)
	if err != nil {
		return weightIndex{}, fmt.Errorf("%q: %w", path, err)
	}
	return index, nil
}

// parseIndex reads an index of at most that many bytes.
func parseIndex(r io.Reader, most int64) (index weightIndex, err error) {
	limited := &io.LimitedReader{R: r, N: most + 1}
	d := json.NewDecoder(bufio.NewReaderSize(limited, 1<<16))
	d.UseNumber()
	defer func() {
		if err != nil && limited.N <= 0 {
			err = fmt.Errorf("is longer than %d bytes", most)
		} else if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("ends early: is it truncated?")
		}
	}()
	if err := expect(d, json.Delim('{')); err != nil {
		return index, err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return index, err
		}
		switch key {
		case "metadata":
			index.total, err = decodeTotal(d)
		case "weight_map":
			index.files, err = decodeMap(d)
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if err != nil {
			return index, fmt.Errorf("%v: %w", key, err)
		}
	}
	if err := expect(d, json.Delim('}')); err != nil {
		return index, err
	}
	if index.total == 0 {
		return index, errors.New("metadata.total_size: is missing")
	}
	if len(index.files) == 0 {
		return index, errors.New("weight_map: is missing or empty")
	}
	return index, nil
}

func decodeTotal(d *json.Decoder) (int64, error) {
	var metadata struct {
		Total json.Number `json:"total_size"`
	}
	if err := d.Decode(&metadata); err != nil {
		return 0, err
	}
	if metadata.Total == "" {
		return 0, errors.New("total_size: is missing")
	}
	total, err := metadata.Total.Float64() // some writers add .0
	if err != nil || !(total >= 1) || total > mostWeights {
		return 0, fmt.Errorf("total_size: %s is not a number of bytes", metadata.Total)
	}
	return int64(total), nil
}

// decodeMap reads the names one by one; a file's name is kept once.
func decodeMap(d *json.Decoder) (map[string]string, error) {
	if err := expect(d, json.Delim('{')); err != nil {
		return nil, err
	}
	files, shared := map[string]string{}, map[string]string{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		value, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, _ := key.(string)
		file, isText := value.(string)
		if !isText {
			return nil, fmt.Errorf("%q: %v is not the name of a file", name, value)
		}
		if shared[file] == "" {
			shared[file] = file
		}
		files[name] = shared[file]
		if len(files) > maxNames {
			return nil, fmt.Errorf("names more than %d weights", maxNames)
		}
	}
	return files, expect(d, json.Delim('}'))
}
