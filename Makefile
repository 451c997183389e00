# On a fresh Debian with git, make, gcc and Go: `make up` shows it, `make test` proves it.
# `make help` lists the rest.

SHELL       := bash
.SHELLFLAGS := -eu -o pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := build

# The folders of ip, lldpd and netplan on Debian are not in every user's PATH.
export PATH := $(PATH):/usr/sbin:/sbin

VERSION  := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GO_BUILD := CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags '-s -w -X main.version=$(VERSION)'
FUZZTIME ?= 30s

# Linters are built from source at these versions, once, into a separate folder.
GOLANGCI_VERSION    := v2.15.0
GOVULNCHECK_VERSION := v1.8.0
DEADCODE_VERSION    := v0.51.0
GOLANGCI    := bin/tools/golangci-lint-$(GOLANGCI_VERSION)/golangci-lint
GOVULNCHECK := bin/tools/govulncheck-$(GOVULNCHECK_VERSION)/govulncheck
DEADCODE    := bin/tools/deadcode-$(DEADCODE_VERSION)/deadcode

AIPERF_DIR ?= $(HOME)/.cache/railwright/aiperf
KUBE_BUILD := test/kube/server/build.sh

.PHONY: help build binary man deps up test kube dradriver aiperf lint bench accuracy fuzz clean go-version

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-6s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Commands that act on a host need Linux; all others run on a laptop too.
build: binary man ## the static binary: bin/railwright, and for linux, macOS and Windows; the manual pages
	for system in linux/amd64 linux/arm64 darwin/arm64 windows/amd64; do
		export GOOS=$${system%/*} GOARCH=$${system#*/}
		$(GO_BUILD) -o bin/railwright-$$GOOS-$$GOARCH$$(go env GOEXE) ./cmd/railwright
	done

binary: go-version
	$(GO_BUILD) -o bin/railwright ./cmd/railwright

man: binary ## the manual pages: bin/man
	bin/railwright man -d bin/man

up: binary deps ## the example cluster in the lab, from cluster file to report
	@bin/railwright up --lab

# The packages of internal/ that start goroutines; internal/archtest holds the list.
RACING := apply bench bundle cli facts fleet host lab mcp messages pipeline results run

# Every test runs as the program is built. Those of RACING run once more under the race detector, where it can be linked (go
# says 1 where it finds a C compiler): it makes a program five to ten times slower, so tests that repeat one thing many times
# take a sample there (-short), and the labs are left out, which run the built program that the detector does not see.
# The events go through one pipe, so that a failing vet, build or test is reported and counted in one place.
test: go-version deps ## every test that this machine can run, and what it skipped
	@mkdir -p bin
	go build -buildvcs=false -o bin/tally ./test/tally
	{
		nice -n 10 sh $(KUBE_BUILD) >&2 & # the other tests go first where both want the processor
		failed=0
		CGO_ENABLED=0 go test -json -count=1 -timeout 25m -vet=all $$(go list ./... | grep -v '/test/kube$$') || failed=1
		if [ "$$(go env CGO_ENABLED)" = 1 ]; then
			go test -json -count=1 -timeout 25m -vet=off -race -short -skip '^Test(Lab[A-Z]|UpInTheLab)' $(RACING:%=./internal/%) || failed=1
		fi
		wait # what it could not build is a skip that says why
		CGO_ENABLED=0 go test -json -count=1 -timeout 10m -vet=all ./test/kube || failed=1
		exit $$failed
	} | bin/tally

kube: go-version ## the Kubernetes control plane of test/kube: built once, outside the checkout (5 minutes)
	@sh $(KUBE_BUILD)

# Not part of make test, which runs these tests where this has built their driver: that takes minutes, and they need root.
dradriver: go-version ## allocated claims, carried out by a DRA driver in network namespaces: built once (2 minutes), then tested
	@sh test/dradriver/node/build.sh
	go test -count=1 -v -timeout 10m ./test/dradriver

# Not part of make test: AIPerf is 1.2 GB, and the engine is compiled.
aiperf: binary ## AIPerf measures a small model on this machine, and its files are read (AIPERF_DIR, 30 minutes the first time)
	@bash test/aiperf/run.sh "$(AIPERF_DIR)"

lint: go-version $(GOLANGCI) $(GOVULNCHECK) $(DEADCODE) ## gofmt, linters, unreachable code, known vulnerabilities, go.mod
	@$(GOLANGCI) run ./...
	dead=$$($(DEADCODE) ./...)
	[ -z "$$dead" ] || { echo "$$dead"; echo "deadcode: unreachable from any command: use or delete" >&2; exit 1; }
	go mod tidy -diff
	$(call vulnerabilities)

bench: go-version ## the bars for speed and memory
	go test -count=1 -v -run '^TestBars$$' ./test/bench -bars

accuracy: go-version ## predictions against measured tables, and the bars; writes docs/accuracy.md
	go run ./test/accuracy -markdown docs/accuracy.md

fuzz: go-version ## each fuzz target for FUZZTIME (30s)
	@targets=$$(go test -list '^Fuzz' ./... | awk '/^Fuzz/ {names = names " " $$1} /^ok/ {n = split(names, a, " "); for (i = 1; i <= n; i++) print $$2, a[i]; names = ""}')
	[ -n "$$targets" ] || { echo "no fuzz target found" >&2; exit 1; }
	while read -r package target; do
		echo "== $$package $$target"
		go test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$package </dev/null
	done <<<"$$targets"

clean: ## remove what was built; run folders stay
	rm -rf bin

$(GOLANGCI):
	GOBIN=$(abspath $(@D)) go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_VERSION)

$(GOVULNCHECK):
	GOBIN=$(abspath $(@D)) go install golang.org/x/vuln/cmd/govulncheck@$(GOVULNCHECK_VERSION)

$(DEADCODE):
	GOBIN=$(abspath $(@D)) go install golang.org/x/tools/cmd/deadcode@$(DEADCODE_VERSION)

# A database that cannot be reached is reported, and is not a failure; any other error is one.
define vulnerabilities
out=$$($(GOVULNCHECK) ./... 2>&1) && status=0 || status=$$?
case $$out in
*"fetching vulnerabilities: "*) echo "govulncheck: not checked: $${out##*fetching vulnerabilities: }" ;;
*) echo "$$out"; exit $$status ;;
esac
endef

go-version:
	@want=$$(awk '$$1 == "go" {print $$2}' go.mod)
	command -v go >/dev/null || { echo "go: not found; railwright needs Go $$want or newer" >&2; exit 1; }
	have=$$(go env GOVERSION 2>&1) || { echo "go: railwright needs Go $$want or newer: $$have" >&2; exit 1; }
	first=$$(printf '%s\n' "$$want" "$${have#go}" | sort -V | head -n 1)
	[ "$$first" = "$$want" ] || { echo "go: this is $$have; railwright needs Go $$want or newer" >&2; exit 1; }

# package | how to detect it | what it is for
define PACKAGES
iproute2   | command -v ip                       | builds the lab's links and namespaces
util-linux | command -v nsenter                  | runs a command inside a lab host
systemd    | [ -x /lib/systemd/systemd-networkd ] | configures the lab's hosts from the rendered files, as on real ones
netplan.io | command -v netplan                  | turns the rendered netplan files into what networkd reads
lldpd      | command -v lldpd                    | tells each lab host what is at the far end of its cables
endef
define TEST_PACKAGES
$(PACKAGES)
libyang2-tools | command -v yanglint          | judges rendered SONiC tables by SONiC's own models
openssh-server | [ -x /usr/sbin/sshd ]        | the real sshd of tests over SSH
openssh-client | command -v ssh-agent         | keys and agents of those tests
pciutils       | command -v lspci             | the lspci that facts of PCI functions are held against
procps         | command -v sysctl            | reads the rendered sysctl files
busybox-static | [ -x /bin/busybox ]         | the shell of played ESX hosts
frr            | [ -x /usr/lib/frr/bgpd ]     | runs the L3 part of planned leaves and spines
shellcheck     | command -v shellcheck        | reads the scripts that are rendered
openmpi-bin    | command -v mpirun            | starts ranks over SSH with no more capabilities than test pods have
strace         | command -v strace            | kills apply and rollback at every system call that changes something
endef
export PACKAGES
test: export PACKAGES := $(TEST_PACKAGES)

# Nothing here stops the build: the lab reports what it has to do without.
deps: ## the distribution's packages that the lab uses: installs what is missing and says why
	@missing=()
	while IFS='|' read -r package present why; do
		eval "$$present" >/dev/null 2>&1 && continue
		read -r package <<<"$$package"
		missing+=("$$package")
		echo "deps: $$package is missing:$$why"
	done <<<"$$PACKAGES"
	[ $${#missing[@]} -gt 0 ] || exit 0
	install="apt-get install --yes --no-install-recommends $${missing[*]}"
	if ! command -v apt-get >/dev/null; then
		echo "deps: not a Debian-based system: install them with its package manager; continuing without"
		exit 0
	fi
	as=()
	if [ "$$(id -u)" -ne 0 ]; then
		sudo -n true 2>/dev/null || { echo "deps: not root; continuing without. To install: sudo $$install"; exit 0; }
		as=(sudo -n)
	fi
	log=$$(mktemp)
	trap 'rm -f "$$log"' EXIT
	echo "deps: $$install"
	"$${as[@]}" apt-get update >"$$log" 2>&1 || true # without network the existing lists may suffice
	if ! "$${as[@]}" env DEBIAN_FRONTEND=noninteractive $$install >>"$$log" 2>&1; then
		tail -n 3 "$$log"
		echo "deps: not installed; continuing without"
	elif [ -d /run/systemd/system ]; then
		# The lab and the tests start their own.
		[[ " $${missing[*]} " != *" lldpd "* ]] || "$${as[@]}" systemctl disable --now lldpd >>"$$log" 2>&1 || true
		[[ " $${missing[*]} " != *" openssh-server "* ]] || "$${as[@]}" systemctl disable --now ssh >>"$$log" 2>&1 || true
		[[ " $${missing[*]} " != *" frr "* ]] || "$${as[@]}" systemctl disable --now frr >>"$$log" 2>&1 || true
	fi
