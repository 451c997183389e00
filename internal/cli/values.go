package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// tokenCount is the value of a flag that counts tokens: 131072, 128k or 1M. The letters are powers of 1024, in either
// case: models have contexts of 131072 tokens and call them 128k.
type tokenCount int64

// String returns the number; 0 where none was given.
func (n *tokenCount) String() string { return strconv.FormatInt(int64(*n), 10) }

// Type returns how help names the value.
func (n *tokenCount) Type() string { return "tokens" }

// Set reads the number; its error says what is taken.
func (n *tokenCount) Set(text string) error {
	digits, factor := strings.TrimSpace(text), int64(1)
	for letter, f := range map[string]int64{"k": 1 << 10, "m": 1 << 20} {
		if rest, ok := strings.CutSuffix(strings.ToLower(digits), letter); ok {
			digits, factor = rest, f
			break
		}
	}
	count, err := strconv.ParseInt(digits, 10, 64)
	const most = 1 << 40 // far above any context; below it no product overflows
	if err != nil || count > most {
		return errors.New("not a number of tokens, such as 131072, 128k or 1M")
	}
	*n = tokenCount(count * factor)
	return nil
}

// loads is the value of a flag that lists concurrencies: 1,2,5.
type loads []int

// String returns the list.
func (l *loads) String() string {
	texts := make([]string, len(*l))
	for i, n := range *l {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}

// Type returns how help names the value.
func (l *loads) Type() string { return "list" }

// Set reads the list.
func (l *loads) Set(text string) error {
	var all []int
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		const most = 100_000
		if err != nil || n < 1 || n > most {
			return fmt.Errorf("not a list of numbers from 1 to %d, such as 1,2,5", most)
		}
		all = append(all, n)
	}
	*l = all
	return nil
}

// networkName is the value of a flag that names a network: ib and infiniband are one.
type networkName string

// String returns the id in the catalog, or the name as given where it is unknown.
func (n *networkName) String() string { return string(*n) }

// Type returns how help names the value.
func (n *networkName) Type() string { return "string" }

// Set takes the name.
func (n *networkName) Set(name string) error {
	*n = networkName(fabric.NetworkID(name))
	return nil
}
