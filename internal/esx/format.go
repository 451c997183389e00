package esx

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// The formats in which esxcli prints with --formatter: csv, keyvalue, xml, json. Each gives the records that the table gives.
var (
	csvHead  = pattern.New(`^[A-Z]\w*(?:,[A-Z]\w*){2,},?$`)
	keyValue = pattern.New(`^(\w+)(?:\[(\d{1,5})\])?\.(\w+)\.(?:string|integer|boolean|uint|int|long|float|time)(?:\[\])?=(.*)$`)
	xmlHead  = pattern.New(`^\s*<output xmlns="http://www\.vmware\.com/`)
)

func formats() []form {
	isCSV := func(line string, _ place) bool {
		if strings.Contains(line, " ") || !csvHead().MatchString(line) {
			return false
		}
		_, ok := kindWith(fieldsOf(line))
		return ok
	}
	return []form{
		{name: "esxcli --formatter=csv", ours: true, begins: isCSV, goesOn: func(l string) bool { return strings.Contains(l, ",") }, read: recordsOf(csvRecords)},
		{name: "esxcli --formatter=keyvalue", ours: true, opens: []*pattern.Regexp{keyValue()}, begins: func(l string, at place) bool {
			return at.esx && keyValue().MatchString(l)
		}, goesOn: keyValue().MatchString, read: recordsOf(keyValueRecords)},
		{name: "esxcli --formatter=xml", ours: true, opens: []*pattern.Regexp{xmlHead()}, begins: func(l string, _ place) bool { return xmlHead().MatchString(l) }, goesOn: func(string) bool { return true }, read: recordsOf(xmlRecords)},
		{name: "esxcli --formatter=json", ours: true, begins: func(l string, at place) bool {
			return strings.Contains(at.command, "--formatter=json") && (l[0] == '[' || l[0] == '{')
		}, goesOn: func(string) bool { return true }, read: recordsOf(jsonRecords)},
	}
}

func fieldsOf(line string) (out []string) {
	for _, name := range strings.Split(line, ",") {
		if name != "" {
			out = append(out, fieldName(name))
		}
	}
	return out
}

// recordsOf adds the records of a format. One that cannot be read to its end is cut, and its list is not whole.
func recordsOf(parse func(lines []string) ([]record, error)) func(b *build, s section) {
	return func(b *build, s section) {
		records, err := parse(s.lines)
		b.csv = b.csv || csvHead().MatchString(s.lines[0])
		whole := err == nil
		if err != nil {
			b.missed("esx", strings.Join(strings.Fields(s.command), " "), "not whole: "+err.Error())
		}
		for _, r := range records {
			var fields []string
			for name := range r {
				fields = append(fields, name)
			}
			k, ok := kindWith(fields)
			if !ok || !k.add(b, r, s) {
				whole = false
				b.missed("esx", "esxcli", fmt.Sprintf("an entry of %d fields is none that is known", len(r)))
				continue
			}
			if k.gives != "" {
				b.listed(k.gives, whole && (isWhole(s.command, k.pick...) || s.command == "" && hasWhat(b, k.gives, len(records))))
				emptyList(b, k.gives)
			}
		}
		b.esx()
	}
}

func csvRecords(lines []string) ([]record, error) {
	r := csv.NewReader(strings.NewReader(strings.Join(lines, "\n")))
	r.FieldsPerRecord, r.LazyQuotes = -1, true
	rows, err := r.ReadAll()
	if len(rows) == 0 {
		return nil, err
	}
	head := rows[0]
	var out []record
	for _, row := range rows[1:] {
		if len(row) != len(head) {
			return out, fmt.Errorf("a row of %d fields where the head has %d", len(row), len(head))
		}
		one := record{}
		for i, name := range head {
			if name != "" {
				one[fieldName(name)] = row[i]
			}
		}
		out = append(out, one)
	}
	return out, err
}

func keyValueRecords(lines []string) ([]record, error) {
	var out []record
	last := -1
	for _, line := range lines {
		m := keyValue().FindStringSubmatch(line)
		if m == nil {
			continue
		}
		n := 0
		if m[2] != "" {
			n, _ = strconv.Atoi(m[2]) // at most five digits
		}
		if n != last || len(out) == 0 {
			out = append(out, record{})
			last = n
		}
		out[len(out)-1][fieldName(m[3])] = m[4]
	}
	return out, nil
}

type xmlField struct {
	Name  string `xml:"name,attr"`
	Inner string `xml:",innerxml"`
}

type xmlStructure struct {
	Fields []xmlField `xml:"field"`
}

var xmlTags = pattern.New(`<[^>]*>`)

// xmlRecords reads <structure><field name="Name"><string>vga</string></field></structure>, of which a list has many.
func xmlRecords(lines []string) ([]record, error) {
	d := xml.NewDecoder(strings.NewReader(strings.Join(lines, "\n")))
	var out []record
	for {
		token, err := d.Token()
		if err != nil {
			if len(out) > 0 && strings.Contains(lines[len(lines)-1], "</output>") {
				return out, nil
			}
			return out, fmt.Errorf("the end of <output> is missing")
		}
		start, ok := token.(xml.StartElement)
		if !ok || start.Name.Local != "structure" {
			continue
		}
		var s xmlStructure
		if err := d.DecodeElement(&s, &start); err != nil {
			return out, err
		}
		one := record{}
		for _, f := range s.Fields {
			one[fieldName(f.Name)] = xmlText(f.Inner)
		}
		out = append(out, one)
	}
}

func xmlText(inner string) string {
	text := strings.TrimSpace(xmlTags().ReplaceAllString(inner, " "))
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&apos;", "'", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(text)
}

func jsonRecords(lines []string) ([]record, error) {
	text := strings.Join(lines, "\n")
	var many []map[string]any
	if strings.HasPrefix(strings.TrimSpace(text), "{") {
		var one map[string]any
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			return nil, err
		}
		many = append(many, one)
	} else if err := json.Unmarshal([]byte(text), &many); err != nil {
		return nil, err
	}
	var out []record
	for _, m := range many {
		one := record{}
		for name, value := range m {
			switch v := value.(type) {
			case []any:
				words := make([]string, 0, len(v))
				for _, w := range v {
					words = append(words, fmt.Sprint(w))
				}
				slices.Sort(words)
				one[fieldName(name)] = strings.Join(words, ",")
			case nil:
			default:
				one[fieldName(name)] = fmt.Sprint(v)
			}
		}
		out = append(out, one)
	}
	return out, nil
}
