package results

import (
	"strings"
	"sync"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// faultForm is how a kind of program prints that something is wrong. It recognises messages that the catalogue does not
// have.
type faultForm struct {
	program string
	level   fabric.LineLevel
	form    func() *pattern.Regexp
	prefix  bool // the form is the level before a message: beside a known message it belongs to that
}

// faultForms are the forms of the programs around a collective, in the order in which they are tried. They are forms
// and not messages, which are in the catalogue: a prefix, a level, a name of an error. What has none of them and speaks of
// trouble is unknown.
var faultForms = []faultForm{
	{"NCCL and RCCL, where the rest of the form is lost", fabric.LineWarning, pattern.New(`\b[NR]CCL WARN\b`), true},
	{"NCCL and RCCL, what ends the run", fabric.LineError, pattern.New(`\b[NR]CCL (?:ABORT|ERROR|FATAL)\b`), true},
	{"nccl-tests (common.h)", fabric.LineError, pattern.New(`Test (?:\w+ )?failure\b`), false},
	{"names of NCCL's results (nccl.h)", fabric.LineError, pattern.New(`\b[nr]ccl(?:UnhandledCuda|System|Internal|InvalidArgument|InvalidUsage|Remote)Error\b|(?i:\b[nr]ccl (?:error|failure|fatal)\b)|(?i:unhandled (?:cuda|hip|system) error)`), false},
	{"glog and klog: E or F, month and day, time", fabric.LineError, pattern.New(`(?:^|[\s\[:])[EF]\d{4} \d\d:\d\d:\d\d\.\d+`), true},
	{"PyTorch's watchdog", fabric.LineError, pattern.New(`(?i)\bwatchdog caught\b`), false},
	{"Python", fabric.LineError, pattern.New(`^(?:\w+\.)*\w+(?:Error|Exception|Interrupt|Exit)(?:$|:)|\bTraceback \(most recent call last\)`), false},
	{"CUDA, HIP, ROCr", fabric.LineError, pattern.New(`(?i:\b(?:cuda|hip|rocr|hsa|nvml)\b[^:]{0,24}\b(?:error|failure|failed)\b)|\b(?:cuda|hip)Error[A-Z]\w+|\b(?:CUDA_ERROR|HSA_STATUS_ERROR|NVML_ERROR)\w*`), false},
	{"ROCr", fabric.LineError, pattern.New(`\bMemory access fault by GPU\b`), false},
	{"UCX", fabric.LineError, pattern.New(`\bUC[XTPSC]\s+(?:ERROR|FATAL)\b`), true},
	{"UCX", fabric.LineWarning, pattern.New(`\bUC[XTPSC]\s+WARN\b`), true},
	{"libfabric", fabric.LineError, pattern.New(`^libfabric:.*<(?:critical|error)>`), true},
	{"libfabric", fabric.LineWarning, pattern.New(`^libfabric:.*<warn>`), true},
	{"libibverbs", fabric.LineWarning, pattern.New(`\blibibverbs: (?i:warning|failed|error)`), true},
	{"MPI", fabric.LineError, pattern.New(`\bMPI_A(?:BORT|bort)\b|^Abort\(-?\d+\)|\bMPI_ERR(?:ORS)?_\w+|(?i:\ban error occurred in P?MPI)|(?i:\bfatal error in P?MPI_)|\b(?:mpirun|mpiexec|mpiexec\.hydra|prterun|orterun|prun)\b.*\b(?:noticed|detected|was unable|could not|exiting)\b|\bBAD TERMINATION\b|\b(?:ORTE_ERROR_LOG|PMIX ERROR|PRTE ERROR|PMIX_ERR\w+)\b|\b(?:ORTE|PRTE) (?:daemon|was unable)|terminated normally, but`), false},
	{"signals: Open MPI, shells, launchers, signal(7)", fabric.LineError, pattern.New(`\bProcess received signal\b|\bSignal: \S|(?i:\b(?:received|caught|by|on|with|due to) signal\b)|\bsignal:? \d+\b|\bSIG(?:SEGV|ABRT|BUS|KILL|TERM|FPE|ILL|TRAP|QUIT|SYS|PIPE|XCPU)\b|(?:^|\b\d+ +|: )(?:Segmentation fault|Aborted|Killed|Bus error|Terminated|Floating point exception|Illegal instruction|Trace/breakpoint trap|Quit)\s*(?:$|\(|[./])|\bSegmentation fault\b|\bBus error\b|\bcore dumped\b|\bsegfault at\b|\bgeneral protection\b`), false},
	{"exit statuses", fabric.LineError, pattern.New(`(?i)\bexit(?:ed|ing|s)?[ _-]?(?:with )?(?:code|status|value)?s?\b *[:=(]* *(?:was |of )?-?[1-9]\d*\b|\breturn(?:ed)? (?:code|status|value) *[:=]? *-?[1-9]\d*\b|\bnon-?zero (?:exit |return )?(?:status|code)\b`), false},
	{"Slurm", fabric.LineError, pattern.New(`\b(?:srun|slurmstepd|slurmd|slurmctld|sbatch|salloc): (?:error|fatal):|\b(?:JOB|STEP) \S+ ON \S+ (?:CANCELLED|FAILED)|\bDUE TO (?:TIME LIMIT|NODE FAILURE|PREEMPTION)\b`), true},
	{"Kubernetes", fabric.LineError, pattern.New(`\b(?:OOMKilled|CrashLoopBackOff|ImagePullBackOff|ErrImagePull|RunContainerError|CreateContainerError|FailedScheduling|FailedMount|Evicted|NodeNotReady)\b`), false},
	{"Xid of NVIDIA's drivers", fabric.LineError, pattern.New(`\bXid\s*\(|\bSXid\b`), false},
	{"GPU drivers in the kernel log", fabric.LineError, pattern.New(`\*ERROR\*|\bNVRM:.*(?i:error|fail|fallen off|rm_init|timeout|fatal|lost)|\bamdgpu\b.*(?i:error|fail|fatal|reset|timeout|hang|fault)`), true},
	{"NIC and PCIe drivers in the kernel log", fabric.LineError, pattern.New(`\b(?:mlx[45]\w*|bnxt_\w+|ionic\w*|irdma|efa|ib_\w+|rdma_\w+|nvidia[\w-]*|pcieport|infiniband|cxi\w*)\b.*(?i:\berr|error|_err|fail|timeout|timed out|fatal|dump|compromised|abort|hung|fallen off|not responding|stopped|corrupt|\bassert)`), true},
	{"NIC and PCIe drivers in the kernel log", fabric.LineWarning, pattern.New(`\b(?:mlx[45]\w*|bnxt_\w+|ionic\w*|irdma|efa|ib_\w+|rdma_\w+|nvidia[\w-]*|pcieport|infiniband|cxi\w*)\b.*(?i:\bdown\b|\blost\b|reset|unable|could ?n[o']t|cannot|stuck|high temperature|overheat|critical|unplugged|removed|\bbad\b|illegal|invalid|warn)`), true},
	{"the kernel log", fabric.LineError, pattern.New(`\bNETDEV WATCHDOG\b|\bBUG: |\bOops: |\bKernel panic\b|\b(?:soft|hard) (?i:lockup)\b|\bblocked for more than \d+ seconds\b|\brcu\w*.*\bstall|\bOut of memory:|\boom[-_]?kill|\bOOM ?[Kk]ill|\[Hardware Error\]|\bmce: .*(?i:error|exception)|\bAER: .*(?i:error)|\b(?:DMAR|AMD-Vi|iommu)\b.*(?i:fault)|\bIO_PAGE_FAULT\b|\bDPC: containment\b|\bEDAC\b.*\b[UC]E\b`), false},
	{"completions and events of verbs (ibv_wc_status_str, ibv_event_type)", fabric.LineError, pattern.New(`\bIBV_WC_\w*ERR\w*|\bIBV_EVENT_\w*(?:ERR|FATAL)\w*|(?i:\b(?:local|remote|transport|RNR|work|wc|cqe|completion|completed)\b.{0,40}\b(?:error|errors|exceeded|flushed|status ?[=:]? ?[1-9]))`), false},
	{"runtimes and loaders", fabric.LineError, pattern.New(`\bterminate called\b|\bAssertion\b.*\bfailed\b|^panic: |^fatal error: |\bstack smashing detected\b|\bdouble free\b|\bfree\(\): |\bmalloc\(\): |\bcorrupted size\b|\bsymbol lookup error\b|\bundefined symbol\b|\berror while loading shared libraries\b|\bcannot open shared object file\b|\bno kernel image is available\b|version .?GLIBC\S* not found`), false},
}

// ofNCCL are warnings of NCCL, RCCL and their plugins after which nothing goes on, by what they name: a completion with
// an error, an event of the NIC, a failure of CUDA or HIP, a timeout, an abort.
var ofNCCL = pattern.New(`(?i)\b(?:completion|request|work)\b.*\b(?:status|error)\b|\basync (?:\w+ )?event\b|\b(?:cuda|hip|rocr) failure\b|\btime(?:d )?out\b|\babort|\bunrecoverable\b|\bfatal\b`)

// ofNCCLInfo are messages of level INFO that tell of a failure; -> N is an error that a function of NCCL returned.
var ofNCCLInfo = pattern.New(`(?i)\b(?:error|failure)\b|\babort (?:start|complete|called)\b|failed to execute operation`)

// troubleWords are what people and programs without a known form write of a fault, in lower case.
var (
	troubleWords = pattern.New(`(?i)\b(?:errors?|failed|failures?|fatal|panic|abort(?:ed|ing)?|crash(?:ed|es|ing)?|deadlock(?:ed)?|timed out|killed|hung|corrupt(?:ed|ion)?|out of memory|hangs?|hanging|stalled|stuck|lost|gone|unable to|killing|forcing|mismatch(?:e[sd])?|desync\w*|inactive|throttl(?:ed|ing)|flap(?:s|ped|ping)|core dump|death signal|async event|connection (?:refused|reset)|closed by|(?:is|went|gone|link|network is|state:?) down|no route to host|no such device|network is unreachable|timeout (?:waiting|expired|reached|after|:)|(?:sending|caught) signal|broken pipe|input/output error|not responding|unreachable|netdev_watchdog|died|catastrophic|node_fail|no space left|nan detected|page retirement)\b|\b(?:ERROR|CRITICAL|EMERG|ALERT)\b|\w+_err(?:or)?s?\b`)
	// denials are counters at zero and sentences that say that there is no fault.
	denials = pattern.New(`(?i)\b(?:no|zero|without|any|0|not) (?:[\w/]+ )?(?:errors?|failures?|timeouts?|crash(?:es)?|corruption)\b|\b(?:0|zero|none) (?:\w+ )?failed\b|\b[\w-]*(?:errors?|err|failed|failures?|fatal|timed out|aborted|killed)[\w-]*(?: \w+)?["'\]]*(?:\s*[:=]\s*|\s+)["']?(?:0x0+|0+(?:\.0+)?%?|none|no|false|ok|n/a|\[\])(?:\b|$|[\s,"'%])|\berrors?[- ](?:correct\w*|rate|free|recovery|handling|bound\w*|report\w*|record\w*|message|collector)\b|(?-i:^\s*(?:[A-Z]\w* ){1,2}Errors\s*$)`)
)

// faultExpressions are the forms in their order, then the words.
func faultExpressions() []*pattern.Regexp {
	all := make([]*pattern.Regexp, 0, len(faultForms)+1)
	for _, f := range faultForms {
		all = append(all, f.form())
	}
	return append(all, troubleWords())
}

// faultSet finds which of them a text may have: most lines have the literals of none.
var faultSet = sync.OnceValue(func() *pattern.Set { return pattern.NewSet(faultExpressions()...) })

// longestFault bounds the text that forms are looked for in; a longer line that has a literal of one is of an unknown form.
const longestFault = 16 << 10

// formLevel is the level of the first form that a text has, or of its words; empty: none. Beside a known message neither
// the prefixes nor words count: both belong to that message.
func formLevel(text string, beside bool) fabric.LineLevel {
	return levelAmong(faultSet().In(text), text, beside)
}

// levelAmong is formLevel of a text that may have some of the forms alone.
func levelAmong(may pattern.Members, text string, beside bool) fabric.LineLevel {
	switch {
	case may.None():
		return ""
	case len(text) > longestFault:
		return fabric.LineSuspect
	}
	for i, f := range faultForms {
		if (!beside || !f.prefix) && may.Has(i) && f.form().MatchString(text) && troubleLeft(text) {
			return f.level
		}
	}
	if !beside && troubleWords().MatchString(denials().ReplaceAllString(text, " ")) {
		return fabric.LineSuspect
	}
	return ""
}

// judgedForms are levels of lines by their shape: programs repeat a line with other numbers, and the forms take a thousand
// times as long as finding that it had that shape before. It may be nil.
type judgedForms map[string]fabric.LineLevel

// Limits of the shapes that are kept.
const (
	mostShapes   = 4096
	longestShape = 512 // bytes
)

// level is formLevel of a line without a known message.
func (j judgedForms) level(text string) fabric.LineLevel {
	may := faultSet().In(text)
	if may.None() || j == nil || len(text) > longestShape {
		return levelAmong(may, text, false)
	}
	key := shape(text)
	level, known := j[string(key)]
	if !known {
		level = levelAmong(may, text, false)
		if len(j) < mostShapes {
			j[string(key)] = level
		}
	}
	return level
}

// shape is a text with each number that stands alone replaced by ones, or by zeros where it is zero: the forms tell no more
// of it. Digits of a name, such as mlx5, are left.
func shape(text string) []byte {
	key := []byte(text)
	for i := 0; i < len(key); {
		if !isDigit(key[i]) {
			i++
			continue
		}
		end, zero := i, true
		for end < len(key) && isDigit(key[end]) {
			zero = zero && key[end] == '0'
			end++
		}
		if !zero && (i == 0 || !isLetter(key[i-1])) {
			for k := i; k < end; k++ {
				key[k] = '1'
			}
		}
		i = end
	}
	return key
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

// troubleLeft reports whether a text is more than a counter at zero.
func troubleLeft(text string) bool {
	return !denials().MatchString(text) || troubleWords().MatchString(denials().ReplaceAllString(text, " "))
}

// warning is the level of a warning of NCCL, RCCL or a plugin: an error where it names what nothing survives.
func warning(message string) fabric.LineLevel {
	if len(message) <= longestFault && ofNCCL().MatchString(message) {
		return fabric.LineError
	}
	return fabric.LineWarning
}

// entryLevel is the level of an entry of a debug log whose message is unknown.
func entryLevel(e *logEntry) fabric.LineLevel {
	switch e.level {
	case "ABORT":
		return fabric.LineError
	case "WARN":
		return warning(e.message)
	case "INFO":
		switch {
		case strings.Contains(e.message, " -> ") && returnedError(e.message):
			return fabric.LineError
		case ofNCCLInfo().MatchString(e.message):
			return fabric.LineWarning
		}
	}
	return ""
}
