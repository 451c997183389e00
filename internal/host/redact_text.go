package host

import (
	"cmp"
	"encoding/hex"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// span is a part of a text and what replaces it.
type span struct {
	from, to int
	with     string
}

// finder finds what is to be replaced of one kind. The context is the name of the entry that the text is of.
type finder func(r *redactor, text, context string) []span

// finders stand in the order of their right: where two want the same bytes, the first has them.
func finders() []finder {
	return []finder{
		(*redactor).findSerials, (*redactor).findIDs, (*redactor).findGPUs, (*redactor).findUUIDs, (*redactor).findBytes, (*redactor).findColons,
		(*redactor).findDigits, (*redactor).findIPv4, (*redactor).findWords, (*redactor).findHomes,
	}
}

// text replaces in text of any format.
func (r *redactor) text(text, context string) string {
	if text == "" {
		return text
	}
	var claimed []span
	for _, find := range finders() {
		claimed = merge(claimed, find(r, text, context))
	}
	return replaceSpans(text, claimed)
}

func replaceSpans(text string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.from])
		b.WriteString(s.with)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// merge adds the spans that overlap none of those that are there. Both are sorted, and so is the result.
func merge(claimed, found []span) []span {
	var free []span
	i := 0
	for _, s := range found {
		for i < len(claimed) && claimed[i].to <= s.from {
			i++
		}
		if i == len(claimed) || claimed[i].from >= s.to {
			free = append(free, s)
		}
	}
	if len(free) == 0 {
		return claimed
	}
	claimed = append(claimed, free...)
	slices.SortFunc(claimed, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return claimed
}

var (
	labelledSerial = pattern.Plain(`(?i)(?:\b|_)(?:(?:serial|s/n|sn|asset[ _-]?tag|service[ _-]?tag)(?:[ _-]?(?:number|num|no)\b\.?)?)["\]]?[ \t]*[:=][ \t]*"?([0-9A-Za-z][\w./-]*)`)
	// labelledID is the number of a GPU that its maker gives out once: rocm-smi, nvidia-smi -q (per-device identifier).
	labelledID   = pattern.Plain(`(?i)\b(?:unique[ _-]?id|gpu pdi)[ \t]*:[ \t]*(?:0x)?([0-9a-f]{8,})\b`)
	uuids        = pattern.Plain(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b|\b[0-9a-f]{32}\b`)
	bytePairs    = pattern.Plain(`(?i)[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5,}`)
	colonGroups  = pattern.Plain(`[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F:.]*`)
	manyDigits   = pattern.Plain(`(?i)[0-9a-f]{12,16}|[0-9a-f]{4}\.[0-9a-f]{4}\.[0-9a-f]{4}`)
	quads        = pattern.Plain(`\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?`)
	chipIDs      = pattern.Plain(`(?m)^ *(?:GPU PDI|GPU Fabric GUID) +: 0x([0-9a-fA-F]{6,32})`)
	homeFolders  = pattern.Plain(`(?:/home|/Users)/([^/\s"':;,()<>]+)`)
	processNames = pattern.Plain(`(?m)^ *Process ID +: [0-9]+\n(?: +Type +: .*\n)? +Name +: (\S.*)$`)
)

// findHomes finds the names of people in paths.
func (r *redactor) findHomes(text, _ string) (found []span) {
	for _, m := range homeFolders().FindAllStringSubmatchIndex(text, -1) {
		found = append(found, span{m[2], m[3], "user"})
	}
	return found
}

func (r *redactor) findSerials(text, _ string) (found []span) {
	for _, m := range labelledSerial().FindAllStringSubmatchIndex(text, -1) {
		if value := text[m[2]:m[3]]; isSerial(value) {
			found = append(found, span{m[2], m[3], r.serial(value)})
		}
	}
	return found
}

func (r *redactor) findIDs(text, _ string) (found []span) {
	for _, m := range labelledID().FindAllStringSubmatchIndex(text, -1) {
		found = append(found, span{m[2], m[3], r.hexadecimal("id", text[m[2]:m[3]])})
	}
	return found
}

// findGPUs finds what nvidia-smi -q prints of a GPU and of who uses it besides serial numbers: identifiers of the chip and of
// its place in a rack, and the names of processes.
func (r *redactor) findGPUs(text, _ string) (found []span) {
	for _, m := range chipIDs().FindAllStringSubmatchIndex(text, -1) {
		found = append(found, span{m[2], m[3], r.hexadecimal("chip", text[m[2]:m[3]])})
	}
	for _, m := range processNames().FindAllStringSubmatchIndex(text, -1) {
		found = append(found, span{m[2], m[3], "process"})
	}
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return found
}

func (r *redactor) findUUIDs(text, _ string) (found []span) {
	for _, m := range uuids().FindAllStringIndex(text, -1) {
		found = append(found, span{m[0], m[1], r.hexadecimal("uuid", text[m[0]:m[1]])})
	}
	return found
}

// findBytes finds MAC addresses, IPoIB addresses and EUI-64 in pairs of digits.
func (r *redactor) findBytes(text, _ string) (found []span) {
	for _, m := range bytePairs().FindAllStringIndex(text, -1) {
		pairs := text[m[0]:m[1]]
		if isHexNear(text, m[0]-1) || isHexNear(text, m[1]) {
			continue
		}
		separator := pairs[2:3]
		b, err := hex.DecodeString(strings.ReplaceAll(pairs, separator, ""))
		if err != nil || !slices.Contains([]int{6, 8, 20}, len(b)) {
			continue // other numbers of bytes are no address
		}
		r.hardware(b)
		out := make([]string, len(b))
		for i := range b {
			out[i] = hex.EncodeToString(b[i : i+1])
		}
		found = append(found, span{m[0], m[1], inCaseOf(pairs, strings.Join(out, separator))})
	}
	return found
}

func isHexNear(text string, at int) bool { return at >= 0 && at < len(text) && isHexDigit(text[at]) }

func inCaseOf(model, text string) string {
	if strings.ToLower(model) != model {
		return strings.ToUpper(text)
	}
	return text
}

// guidText is a GUID as sysfs writes it: 946d:ae03:0012:3456.
const guidText = len("0000:0000:0000:0000")

// findColons finds GUIDs, GIDs and IPv6 addresses.
func (r *redactor) findColons(text, _ string) (found []span) {
	for _, m := range colonGroups().FindAllStringIndex(text, -1) {
		from, to := trimColons(text, m[0], m[1])
		if from > 0 && isAlphanumeric(text[from-1]) || to < len(text) && isAlphanumeric(text[to]) {
			continue
		}
		token := text[from:to]
		if b, err := hex.DecodeString(strings.ReplaceAll(token, ":", "")); err == nil && len(token) == guidText && len(b) == 8 && strings.Count(token, ":") == 3 {
			r.eui64((*[8]byte)(b))
			digits := hex.EncodeToString(b)
			found = append(found, span{from, to, inCaseOf(token, digits[:4]+":"+digits[4:8]+":"+digits[8:12]+":"+digits[12:])})
			continue
		}
		a, err := netip.ParseAddr(token)
		if err != nil || !a.Is6() {
			continue
		}
		if s, ok := r.ipv6Span(text, from, to, a); ok {
			found = append(found, s)
		}
	}
	return found
}

// trimColons leaves out a colon that ends a word before the address, or a sentence behind it.
func trimColons(text string, from, to int) (int, int) {
	for to > from && (text[to-1] == '.' || text[to-1] == ':' && !strings.HasSuffix(text[from:to], "::")) {
		to--
	}
	for from < to && text[from] == ':' && !strings.HasPrefix(text[from:to], "::") {
		from++
	}
	return from, to
}

func (r *redactor) ipv6Span(text string, from, to int, a netip.Addr) (span, bool) {
	token := text[from:to]
	out := r.ip(a)
	if length, ok := lengthBehind(text, to, 128); ok {
		out = r.subnet(netip.PrefixFrom(a, length)).Addr()
	}
	if out == a {
		return span{}, false
	}
	const expanded = len("0000:0000:0000:0000:0000:0000:0000:0000")
	with := out.String()
	if len(token) == expanded {
		with = out.StringExpanded()
		if a.Is4In6() { // which StringExpanded writes with dots
			b := out.As16()
			with = expandedText(b)
		}
	}
	return span{from, to, inCaseOf(token, with)}, true
}

func expandedText(b [16]byte) string {
	digits := hex.EncodeToString(b[:])
	groups := make([]string, 0, 8)
	for i := 0; i < len(digits); i += 4 {
		groups = append(groups, digits[i:i+4])
	}
	return strings.Join(groups, ":")
}

// lengthBehind reads /24 behind an address.
func lengthBehind(text string, at, most int) (length int, ok bool) {
	if at >= len(text) || text[at] != '/' {
		return 0, false
	}
	end := at + 1
	for end < len(text) && text[end] >= '0' && text[end] <= '9' {
		end++
	}
	length, err := strconv.Atoi(text[at+1 : end])
	return length, err == nil && length <= most
}

// findDigits finds GUIDs and MAC addresses without separators. Such digits may be anything, so that only
// those are replaced that are known to be one, or that stand in an interface name made of them.
func (r *redactor) findDigits(text, _ string) (found []span) {
	for _, m := range manyDigits().FindAllStringIndex(text, -1) {
		token := text[m[0]:m[1]]
		named := m[0] >= 3 && slices.Contains([]string{"enx", "wlx", "ibx"}, text[m[0]-3:m[0]])
		if isHexNear(text, m[1]) || !named && isHexNear(text, m[0]-1) {
			continue
		}
		b, err := hex.DecodeString(strings.ReplaceAll(token, ".", ""))
		switch {
		case err != nil:
			continue
		case len(b) == 8 && r.guids[[8]byte(b)]:
			r.eui64((*[8]byte)(b))
		case len(b) == 6 && (named || r.macs[[6]byte(b)]):
			r.mac((*[6]byte)(b))
		default:
			continue
		}
		digits := hex.EncodeToString(b)
		if strings.Contains(token, ".") {
			digits = digits[:4] + "." + digits[4:8] + "." + digits[8:]
		}
		found = append(found, span{m[0], m[1], inCaseOf(token, digits)})
	}
	return found
}

// findIPv4 finds addresses and prefixes in dotted form. Versions look the same: where one is to be expected,
// only an address of a subnet that the recording speaks of is replaced.
func (r *redactor) findIPv4(text, context string) (found []span) {
	for _, m := range quads().FindAllStringIndex(text, -1) {
		if !standsAlone(text, m[0], m[1]) {
			continue
		}
		host, _, _ := strings.Cut(text[m[0]:m[1]], "/")
		a, err := netip.ParseAddr(host)
		if err != nil {
			continue
		}
		isPart := m[0] > 0 && strings.ContainsRune("-/_", rune(text[m[0]-1]))
		mayBeVersion := isPart && !a.IsPrivate() || speaksOfVersion(text[:m[0]], context)
		if mayBeVersion && !r.nets.holds(a) {
			continue
		}
		out := r.ip(a)
		if length, ok := lengthBehind(text, m[0]+len(host), 32); ok {
			out = r.subnet(netip.PrefixFrom(a, length)).Addr()
		}
		found = append(found, span{m[0], m[0] + len(host), out.String()})
	}
	return found
}

// standsAlone holds for a match that is no part of a longer number or word.
func standsAlone(text string, from, to int) bool {
	if from > 0 && (isAlphanumeric(text[from-1]) || text[from-1] == '.') {
		return false
	}
	if to == len(text) {
		return true
	}
	isNumber := text[to] == '.' && to+1 < len(text) && text[to+1] >= '0' && text[to+1] <= '9'
	return !isAlphanumeric(text[to]) && !isNumber
}

var versionWords = pattern.Plain(`(?i)version|firmware|fw|driver|release|revision|\brev\b|pkg|bios|ofed|build`)

// speaksOfVersion looks at the words before a place in the same line, and at the name of the file.
func speaksOfVersion(before, context string) bool {
	const near = 48 // bytes
	line := before[strings.LastIndexByte(before, '\n')+1:]
	line = line[max(0, len(line)-near):]
	if versionWords().MatchString(line) {
		return true
	}
	isFile := strings.HasPrefix(context, "/")
	return isFile && versionWords().MatchString(context[strings.LastIndexByte(context, '/')+1:])
}

// findWords finds the names and serial numbers that were learned, in any case, between other characters than
// letters and digits.
func (r *redactor) findWords(text, _ string) (found []span) {
	if len(r.words) == 0 {
		return nil
	}
	lower := lowerASCII(text)
	for at := 0; at < len(lower); {
		end := wordEnd(lower, at)
		if end == at {
			at++
			continue
		}
		for _, w := range r.words[lower[at:end]] {
			if to := at + len(w.from); strings.HasPrefix(lower[at:], w.from) && (to == len(lower) || !isAlphanumeric(lower[to])) {
				found = append(found, span{at, to, w.to})
				end = to
				break
			}
		}
		at = end
	}
	return found
}

// lowerASCII keeps every byte at its place, which strings.ToLower does not.
func lowerASCII(text string) string {
	b := []byte(text)
	for i, c := range b {
		if c >= 'A' && c <= 'Z' {
			b[i] = c + ('a' - 'A')
		}
	}
	return string(b)
}

var queryFlag = pattern.Plain(`--query-[a-z-]+=(\S+)`)

// columns replaces the serial numbers in a table that nvidia-smi was asked for by the names of its columns.
func (r *redactor) columns(command, text string) string {
	m := queryFlag().FindStringSubmatch(command)
	if m == nil {
		return text
	}
	var out strings.Builder
	asked := strings.Split(strings.Trim(m[1], `"`), ",")
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.TrimRight(line, "\r\n"), ",")
		ending := line[len(strings.TrimRight(line, "\r\n")):]
		for i, name := range asked {
			if name = strings.TrimSpace(name); !strings.Contains(name, "serial") || i >= len(cells) {
				continue
			}
			if value := strings.TrimSpace(cells[i]); isSerial(value) {
				cells[i] = strings.Replace(cells[i], value, r.serial(value), 1)
			}
		}
		out.WriteString(strings.Join(cells, ",") + ending)
	}
	return out.String()
}
