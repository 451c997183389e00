package sizing

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxIndex bounds an index, in bytes: that of Kimi-K2, with 384 experts in 60 layers, has 19 MB.
const maxIndex = 256 << 20

// maxNames bounds the weights that an index or the headers of a folder name: five times those of the largest model.
const maxNames = 2_000_000

// weightIndex is model.safetensors.index.json: the bytes of all weights, and the file of each.
type weightIndex struct {
	total int64
	files map[string]string // by name of the weight
}

func readIndex(path string) (weightIndex, error) {
	file, err := os.Open(path)
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
			err = errors.New("ends in the middle: is it cut off?")
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
