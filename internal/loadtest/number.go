package loadtest

import (
	"math"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// number is a value as it is printed, and half of its last digit.
type number struct{ value, half float64 }

// parseNumber reads 1,799.53 or 4110623430. What is not a finite number of at least zero is none.
func parseNumber(text string) (number, bool) {
	text = strings.TrimSpace(text)
	plain := strings.ReplaceAll(text, ",", "")
	if plain == "" || strings.ContainsAny(plain, "xX_pP") || !wellGrouped(text) {
		return number{}, false
	}
	v, err := strconv.ParseFloat(plain, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return number{}, false
	}
	n := number{value: v}
	if strings.ContainsAny(plain, "eE") {
		return n, true
	}
	decimals := 0
	if _, fraction, found := strings.Cut(plain, "."); found {
		decimals = len(fraction)
	}
	n.half = 0.5 * math.Pow(10, -float64(decimals))
	return n, true
}

// wellGrouped says that commas, if there are any, stand before groups of three digits: 1,95 is not a number of these tools.
func wellGrouped(text string) bool {
	whole, _, _ := strings.Cut(text, ".")
	groups := strings.Split(whole, ",")
	for _, g := range groups[1:] {
		if len(g) != 3 {
			return false
		}
	}
	return len(groups) == 1 || len(strings.TrimPrefix(groups[0], "-")) <= 3
}

// metric is a row of a result: what it is, in what unit, and its statistics. A single value is under "avg".
type metric struct {
	line  int
	name  string
	unit  string
	stats map[string]number
}

// statName is the name of a statistic as fabric.LoadSpread has it; ok is false for a word that is none.
func statName(word string) (name string, ok bool) {
	word = strings.ToLower(strings.TrimSpace(word))
	switch word {
	case "avg", "mean", "average":
		return "avg", true
	case "median":
		return "p50", true
	case "min", "max", "std", "sum", "count":
		return word, true
	case "value":
		return "avg", true
	}
	if digits, found := strings.CutPrefix(word, "p"); found {
		if v, err := strconv.ParseFloat(digits, 64); err == nil && v > 0 && v < 100 {
			return "p" + digits, true
		}
	}
	return "", false
}

// kinds of quantity, each with the units that it may have.
const (
	kindTime    = "time"    // ms
	kindTokens  = "tokens"  // of a request
	kindRate    = "rate"    // per second
	kindCount   = "count"   // of requests
	kindTotal   = "total"   // tokens of all requests
	kindSeconds = "seconds" // a duration
	kindPercent = "percent"
)

// msOf is how many milliseconds a unit of time is; ok is false for another unit.
func msOf(unit string) (ms float64, ok bool) {
	switch strings.ToLower(unit) {
	case "ns", "nanoseconds":
		return 1e-6, true
	case "us", "µs", "μs", "microseconds":
		return 1e-3, true
	case "ms", "milliseconds":
		return 1, true
	case "s", "sec", "secs", "seconds":
		return 1e3, true
	}
	return 0, false
}

// scaleOf is what a number of a kind is multiplied with; ok is false where the unit does not belong to the kind. times
// are the units in which the tool prints times of requests.
func scaleOf(kind, unit string, times []string) (scale float64, ok bool) {
	unit = strings.ToLower(strings.TrimSpace(unit))
	oneOf := func(units ...string) (float64, bool) {
		for _, u := range units {
			if u == unit {
				return 1, true
			}
		}
		return 0, false
	}
	switch kind {
	case kindTime:
		for _, u := range times {
			if u == unit {
				return msOf(unit)
			}
		}
		return 0, false
	case kindTokens, kindTotal:
		return oneOf("", "tokens")
	case kindRate:
		return oneOf("per sec", "per second", "requests/sec", "requests/s", "req/s", "tokens/sec", "tokens/s", "tok/s", "tokens/sec/user")
	case kindCount:
		return oneOf("", "count", "requests")
	case kindPercent:
		return oneOf("%")
	case kindSeconds:
		ms, isTime := msOf(unit)
		return ms / 1e3, isTime
	}
	return 0, false
}

// keep puts a number of a test where it belongs and remembers its last digit.
func keep(t *fabric.LoadTest, name string, to **float64, n number) {
	v := n.value
	*to = &v
	half(t, name, n.half)
}

func half(t *fabric.LoadTest, name string, v float64) {
	if t.Half == nil {
		t.Half = map[string]float64{}
	}
	t.Half[name] = max(v, t.Half[name])
}

func keepCount(to **int64, n number) bool {
	v := int64(math.Round(n.value))
	if n.value < 0 || n.value > 1e15 || math.Abs(n.value-float64(v)) > 1e-6 {
		return false
	}
	*to = &v
	return true
}

// digits writes a number of a sentence: four significant digits, all of those before the point, no exponent.
func digits(v float64) string {
	if a := math.Abs(v); a >= 1000 || a == 0 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	} else if a < 1e-4 {
		return strconv.FormatFloat(v, 'f', 7, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
