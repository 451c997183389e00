package results

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
	"railwright.dev/railwright/internal/pattern"
)

// perftest reads the output of ib_write_bw and related tests (src/perftest_parameters.c of linux-rdma/perftest), of
// one side or of both, one run after another.
type perftest struct {
	budget  *budget
	found   []fabric.Result
	cur     *perftestRun
	program string // of the last command line
	memory  string // of the lines before the title
	failed  bool   // the last run ended with an error: what follows belongs to another one
}

// perftestRun is a run that is being read.
type perftestRun struct {
	line    int
	run     fabric.Perftest
	columns []perftestColumn
	rows    bool // between the header and the line that closes the table
	headed  bool // the header was seen: the settings before it are over
}

func newPerftest(b *budget) lineReader { return &perftest{budget: b} }

var (
	perftestTitle   = pattern.New(`^(RDMA[_ ]Write|RDMA[_ ]Read|Send|Atomic|Compare_Swap|Fetch_Add|Raw_Ethernet)[\w ]*? ?(Bidirectional )?(?:Post List )?(BW|Latency|Rate)(?: [\w ]+)? Test\b`)
	perftestProgram = pattern.New(`\b(?:ib|raw_ethernet)[_ ](write|read|send|atomic)[_ ](bw|lat)\b`)
	perftestFact    = pattern.New(`(Device|Number of qps|Mtu|Link type|GID index|rdma[_ ]cm QPs|Use ROCm memory)\s*: *([\w.-]+)`)
)

// perftestErrors are beginnings of perftest's error messages. The first of them appear in no other program.
var perftestErrors = []string{
	"Completion with error at", "Failed status ", "Couldn't connect to ", "Unable to init the socket connection",
	"Unable to open file descriptor for socket connection", "Failed to complete run_iter", "Failed to exchange data between server and clients",
	"Couldn't read remote address", "Couldn't listen to port", "Failed to modify QP", "Unable to Connect the HCA", "Couldn't allocate MR",
	"Couldn't create IB resources", "Couldn't create CQ", "Couldn't create QP", "Failed to create QP", "Couldn't find Infiniband HCA", "IB device ",
	"Unable to find the Infiniband/RoCE device", "Did not detect devices", "Couldn't get device attributes", "Port number ",
	"Requested mtu is higher than active mtu", "Unexpected CM event", "Unable to perform rdma_client function", "Failed to deregister MR",
	"Couldn't initialize ROCm device", "Can't produce a report", "Error occurred while running infinitely", "Invalid GID index", "Failed to initialize GPU memory",
}

// perftestAlone is how many of perftestErrors, from the first, are a result even without any other line.
const perftestAlone = 7

// perftestMessages is the program whose messages perftest prints, in the catalogue.
const perftestMessages = "perftest"

func (r *perftest) read(l line) bool {
	text := l.trimmed()
	if l.log != nil || text == "" || r.cur == nil && !l.may(ofPerftest) {
		return false
	}
	if l.may(ofRun) && (strings.Contains(text, "_bw") || strings.Contains(text, "_lat") || strings.HasPrefix(text, "ib ") || strings.HasPrefix(text, "$ ib ")) {
		r.command(text)
	}
	if len(text) < 80 && l.may(ofTitle) {
		if m := perftestTitle().FindStringSubmatch(text); m != nil {
			r.title(l, m)
			return true
		}
	}
	if isPerftestHeader(text) {
		r.header(l, text)
		return true
	}
	if r.gpuMemory(l, text) {
		return true
	}
	if r.error(l, text) || r.address(l, text) {
		return true
	}
	if r.cur == nil {
		return false
	}
	if r.cur.rows {
		return r.cur.row(l, text, r.budget)
	}
	return r.cur.facts(text)
}

// command records which program the next run is of, and whether it used GPU memory.
func (r *perftest) command(text string) {
	m := perftestProgram().FindStringSubmatch(text)
	if m == nil {
		return
	}
	r.program = "ib_" + m[1] + "_" + m[2]
	r.memory = ""
	switch {
	case strings.Contains(text, "--use_cuda"):
		r.memory = "cuda"
	case strings.Contains(text, "--use_rocm"):
		r.memory = "rocm"
	}
}

func (r *perftest) open(l line) {
	r.close()
	r.cur = &perftestRun{line: l.number, run: fabric.Perftest{Test: r.program, Memory: r.memory, Rows: []fabric.PerftestRow{}}}
	r.program, r.memory, r.failed = "", "", false
}

func (r *perftest) close() {
	if r.cur != nil && r.budget.result() {
		run := r.cur.run // a copy, so that what only the parser needed is freed
		r.found = append(r.found, fabric.Result{Kind: fabric.PerftestOutput, Line: r.cur.line, Content: &run})
	}
	r.cur = nil
}

func (r *perftest) results() []fabric.Result {
	r.close()
	return r.found
}

// title is the line that names the test.
func (r *perftest) title(l line, m []string) {
	r.open(l)
	r.cur.titled(m)
}

// titled reads the verb, the direction and the kind of test from a title.
func (c *perftestRun) titled(m []string) {
	verb := strings.ToLower(strings.TrimLeft(strings.TrimPrefix(m[1], "RDMA"), "_ "))
	if verb == "compare_swap" || verb == "fetch_add" {
		verb = "atomic"
	}
	kind := "bw"
	if m[3] == "Latency" {
		kind = "lat"
	}
	c.run.Test = "ib_" + verb + "_" + kind
	c.run.Bidirectional = strings.Contains(m[0], "Bidirectional")
}

func (r *perftest) header(l line, text string) {
	if r.cur == nil || r.failed || len(r.cur.run.Rows) > 0 && !r.cur.rows {
		r.open(l)
	}
	c := r.cur
	c.rows, c.headed = true, true
	columns, unit, why := perftestColumns(text)
	if why != "" {
		c.run.Unread = addUnread(c.run.Unread, l.number, text, "%s", why)
		c.columns = nil
		return
	}
	c.columns = columns
	c.run.Gbits = unit == "Gb/sec"
	if c.run.Test == "" { // only the shape of the table distinguishes a pasted fragment
		c.run.Test = map[bool]string{true: "bw", false: "lat"}[unit != ""]
	}
}

// cudaEnds is what perftest prints when it no longer needs a GPU.
const cudaEnds = "destroying current CUDA Ctx"

// gpuLines are beginnings of what perftest prints about the GPU whose memory it uses, before the title.
var gpuLines = []struct{ text, memory string }{
	{"initializing CUDA", "cuda"}, {"creating CUDA Ctx", "cuda"}, {"making it the current CUDA Ctx", "cuda"}, {"cuMemAlloc()", "cuda"}, {"Listing all CUDA devices", "cuda"},
	{"Using ROCm Device", "rocm"}, {"hipMalloc", "rocm"},
}

// gpuMemory reads what perftest prints about the GPU whose memory it uses, before the title and after the rows.
func (r *perftest) gpuMemory(l line, text string) bool {
	memory := ""
	if l.may(ofDevice) && strings.Contains(text, cudaEnds) {
		memory = "cuda"
	}
	for _, known := range gpuLines {
		if memory == "" && strings.HasPrefix(text, known.text) {
			memory = known.memory
		}
	}
	switch {
	case memory == "":
		return false
	case !strings.Contains(text, "destroying"):
		r.memory = memory
	case r.cur != nil:
		r.cur.run.Memory = memory
	}
	return true
}

// perftestBegins are texts of which a line has one that is of perftest where no run is open.
func perftestBegins() []string {
	texts := pattern.Literals(perftestProgram(), perftestTitle())
	if texts == nil {
		return nil // any line
	}
	texts = append(texts, perftestHead, cudaEnds)
	for _, known := range gpuLines {
		texts = append(texts, known.text)
	}
	return append(texts, perftestErrors[:perftestAlone]...)
}

// zeroGID is how perftest prints the GID of an end that has none, byte by byte.
const zeroGID = "GID: 00:00:00:00:00:00:00:00:00:00:00:00:00:00:00:00"

// address takes the lines about both ends. A GID of zeros, which no RoCE port sends from, is kept as a warning.
func (r *perftest) address(l line, text string) bool {
	if r.cur == nil || !strings.HasPrefix(text, "GID: ") && !strings.HasPrefix(text, "local address: ") && !strings.HasPrefix(text, "remote address: ") {
		return false
	}
	if text == zeroGID && r.cur.run.LinkType != "IB" && len(r.cur.run.Errors) == 0 {
		r.cur.run.Errors = append(r.cur.run.Errors, fabric.LogLine{Line: l.number, Text: keep(text), Level: fabric.LineWarning})
	}
	if ipv4GID(text) && r.cur.run.IPv4GIDs < 2 {
		r.cur.run.IPv4GIDs++
	}
	return true
}

// ipv4GID reports whether a line is a GID with an IPv4 address in it (RFC 4291, 2.5.5.2), which perftest prints byte by
// byte in decimal.
func ipv4GID(text string) bool {
	address, ok := strings.CutPrefix(text, "GID: 00:00:00:00:00:00:00:00:00:00:255:255:")
	return ok && strings.Count(address, ":") == 3
}

// error keeps an error message of perftest: one whose beginning is known here, or any of the catalogue within a run.
// Without a run before it, it is a result of its own.
func (r *perftest) error(l line, text string) bool {
	errors := perftestErrors
	if r.cur == nil {
		errors = errors[:perftestAlone] // the others count within a run
	}
	n := slices.IndexFunc(errors, func(e string) bool { return strings.HasPrefix(text, e) })
	if n < 0 && r.cur == nil {
		return false
	}
	m, known := catalogue().Find(text)
	if n < 0 && (!known || m.Program != perftestMessages || levelOf(m, false) != fabric.LineError) {
		return false
	}
	if r.cur == nil {
		r.open(l)
	}
	const most = 16 // errors of a run
	if len(r.cur.run.Errors) < most {
		r.cur.run.Errors = append(r.cur.run.Errors, fabric.LogLine{Line: l.number, Text: keep(text), Level: fabric.LineError, Message: said{message: m}.id()})
	}
	if n < 0 && m.Level != messages.Fatal {
		return true // the run goes on
	}
	r.failed = true
	r.cur.rows, r.cur.headed = false, true
	return true
}

// facts reads the settings between the title and the header, two per line.
func (c *perftestRun) facts(text string) bool {
	if c.headed || !strings.Contains(text, ":") {
		return false
	}
	found := perftestFact().FindAllStringSubmatch(text, 4)
	for _, m := range found {
		value := keep(m[2])
		switch m[1] {
		case "Device":
			c.run.Device = value
		case "Number of qps":
			c.run.QueuePairs = small(value)
		case "Mtu":
			c.run.MTU = small(value)
		case "Link type":
			c.run.LinkType = value
		case "GID index":
			if v, err := strconv.Atoi(value); err == nil && v >= 0 {
				c.run.GIDIndex = &v
			}
		case "rdma_cm QPs", "rdma cm QPs":
			on := value == "ON"
			c.run.ConnectionCM = &on
		case "Use ROCm memory":
			c.rocm(value == "ON")
		}
	}
	return len(found) > 0
}

// rocm reads the line that a perftest built for ROCm prints. Off, and without CUDA, means host memory.
func (c *perftestRun) rocm(on bool) {
	switch {
	case on:
		c.run.Memory = "rocm"
	case c.run.Memory == "":
		c.run.Memory = "host"
	}
}
