# One entry point for people and for CI. Every target works without a terminal
# and may be run again at any time.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# Pinned in .tools/go.mod, built on first use, cached by Go.
TOOL := go tool -modfile=.tools/go.mod

# The files that are under version control or about to be, NUL-separated, of
# the git pathspecs $(1). A file that was deleted but not staged is still listed
# by git, hence the test.
sources = git ls-files -z --cached --others --exclude-standard -- $(1) \
	| while IFS= read -r -d '' path; do if [ -e "$$path" ]; then printf '%s\0' "$$path"; fi; done

GO_FILES := '*.go'
# testdata may hold Rego that is wrong on purpose, or of other authors.
REGO_FILES := '*.rego' ':!:*testdata*'

# What only tests and benchmarks need: commands, each with the Debian packages that bring
# it, a comma between them, and what for.
REAL_NODES := \
  "runc runc Pods that run, for clusters with real nodes" \
  "nft nftables Services of such Pods"
PEERS := $(REAL_NODES) \
  "gcc gcc,libc6-dev Go's race detector" \
  "pg_createcluster postgresql a real PostgreSQL, for Orloj" \
  "puppetserver puppetserver a real Puppet CA, for OpenVox" \
  "puppet puppet-agent a real Puppet CA, for OpenVox" \
  "mmdebstrap mmdebstrap the image of a Puppet server, for OpenVox" \
  "puppetdb puppetdb a real PuppetDB, for OpenVox"
GIT := "git git the list of source files, and Git as an origin of policies"
DIFF := "diff diffutils what changed, in lines"
CGO := "gcc gcc,libc6-dev Vale, which checks language"
# A module of Python follows its command after a colon.
PYTHON := "python3:ensurepip python3,python3-venv,ca-certificates the generator of the documentation site"

# Installs what is missing of $(1), once it has said what and what for; where it may not,
# it prints the command and stops.
define install
@command -v go >/dev/null || { echo "Go is missing; the version that is needed is in go.mod" >&2; exit 1; }
@packages=""; \
for need in $(1); do \
  read -r command package purpose <<<"$$need"; \
  module="$${command#*:}" command="$${command%:*}"; \
  if ! command -v "$$command" >/dev/null || { [ "$$module" != "$$command" ] && ! "$$command" -c "import $$module" 2>/dev/null; }; then echo "missing: $${package//,/ } ($$purpose)" >&2; packages="$$packages $${package//,/ }"; fi; \
done; \
if [ -z "$$packages" ]; then exit 0; fi; \
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
  echo "installing:$$packages" >&2; \
  export DEBIAN_FRONTEND=noninteractive; \
  apt-get update --quiet </dev/null; \
  apt-get install --yes --quiet --no-install-recommends $$packages </dev/null; \
else \
  echo "install them with: sudo apt-get install$$packages" >&2; exit 1; \
fi
endef

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# In a terminal with a process group of its own: Ctrl-C, the way out, is then for
# the program alone, and make ends without an error. It is built and not go run,
# which has an exit status of its own for Ctrl-C; || keeps bash from becoming the
# program, and with that from giving it a group.
.PHONY: run
run: ## Show Lintel at work in a cluster of its own, or of the current context with CLUSTER=current; with NODES=real as Pods
	$(call install,$(DIFF) $(if $(filter real,$(NODES)),$(GIT) $(REAL_NODES)))
	@go build -buildvcs=false -o .cluster/quickstart ./test/quickstart
	@if [ -t 0 ]; then set -m; fi; .cluster/quickstart || exit $$?

.PHONY: recording
recording: ## Draw the picture of the README from a transcript of make run
	folder=test/quickstart/recording; transcript="$$(ONCE=1 $(MAKE) run)"; \
	echo "$$transcript" | sed '/./,$$!d' >$$folder/testdata/transcript.txt; \
	go run ./$$folder <$$folder/testdata/transcript.txt >docs/recording.svg

.PHONY: build
build: ## Build the programs into bin/
	$(took) mkdir -p bin; go build -o bin/ ./cmd/...

PLATFORMS ?= linux/amd64,linux/arm64
RELEASE = go run -C config/release .
RELEASE_FLAGS = --platform $(PLATFORMS) $(if $(VERSION),--version $(VERSION))

.PHONY: image
image: lint-needs ## Build the images for PLATFORMS into bin/images, an OCI layout
	$(took) rm -rf bin/images; $(RELEASE) image $(RELEASE_FLAGS) "$(CURDIR)/bin/images"

.PHONY: image-openvox
image-openvox: ## Build an image of a Puppet server with Lintel's helpers into bin/image-openvox, an OCI layout
	$(call install,"mmdebstrap mmdebstrap Debian's packages for the image")
	$(took) rm -rf bin/image-openvox; $(RELEASE) openvox $(if $(VERSION),--version $(VERSION)) "$(CURDIR)/bin/image-openvox"

.PHONY: image-openvox-db
image-openvox-db: ## Build an image of PuppetDB into bin/image-openvox-db, an OCI layout
	$(call install,"mmdebstrap mmdebstrap Debian's packages for the image")
	$(took) rm -rf bin/image-openvox-db; $(RELEASE) openvox --image openvox-db $(if $(VERSION),--version $(VERSION)) "$(CURDIR)/bin/image-openvox-db"

# Where what is in bin/downloads will be downloaded from.
DOWNLOADS ?= https://github.com/lintel-policy/lintel/releases/download/$(VERSION)

.PHONY: release
release: lint-needs ## Push the images to REGISTRY as VERSION, signed with KEY if there is one, and make bin/downloads
	@if [ -z "$(VERSION)" ] || [ -z "$(REGISTRY)" ]; then \
	  echo "say which: make release VERSION=v1.2.3 REGISTRY=registry.example/lintel [KEY=cosign.key]" >&2; exit 1; fi
	$(took) rm -rf bin/downloads; \
	$(RELEASE) downloads --version $(VERSION) --url "$(DOWNLOADS)" "$(CURDIR)/bin/downloads"; \
	$(RELEASE) push $(RELEASE_FLAGS) $(if $(KEY),--key "$(abspath $(KEY))") "$(REGISTRY)"

# One flavour of builds for everything, so that each package is compiled once, whatever the
# path of the checkout. Only what uses the race detector sets CGO_ENABLED=1.
export CGO_ENABLED := 0
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)

# Prints how long a recipe took, which is one shell.
took = @trap 'echo "make $@: $$SECONDS s" >&2' EXIT;

SUITES := go run ./test/suites

# Random tests of the long suites start from this seed, which they print with a failure.
seed = export LINTEL_SEED=$${LINTEL_SEED:-$$RANDOM}; echo "LINTEL_SEED=$$LINTEL_SEED";

.PHONY: test
test: ## Run the tests that the changes since their last pass in this checkout need; SUITE=name runs one
	$(call install,$(GIT) $(DIFF) $(PEERS))
	$(took) $(SUITES) $(if $(BUDGET),--budget=$(BUDGET)) $(SUITE)

.PHONY: test-all
test-all: ## Run all tests but the long ones
	$(call install,$(GIT) $(DIFF) $(PEERS))
	$(took) $(SUITES) --all

.PHONY: test-long
test-long: ## Run all tests, with long properties, each fuzz target for a minute, and a manager with the race detector
	$(call install,$(GIT) $(DIFF) $(PEERS))
	$(took) $(seed) $(SUITES) --long --warn-after=0

.PHONY: properties
properties: ## Run the property tests at length, from a seed of its own
	$(took) $(seed) $(SUITES) --long properties

# A pair is a policy and those of broader scopes. Half of them are short, half as people write them.
# The search is short: it shows more counterexamples, and takes half of the time.
PAIRS ?= 100000
.PHONY: pairs
pairs: ## Hold verdicts of `lintel prove` on PAIRS random pairs to both versions of OPA; FOR=1h ends it sooner
	$(took) $(seed) LINTEL_PAIRS=$$(($(PAIRS) / 2)) LINTEL_FOR=$(FOR) LINTEL_CHANGES=300 GOGC=400 \
	  go test -timeout 0 -count=1 -v -run '^Test(ProvedHoldsOnEveryInput|RicherPairs)$$' ./policies/openclaw/restriction

.PHONY: fuzz
fuzz: ## Run every fuzz target for a minute
	$(took) $(SUITES) --long fuzz

.PHONY: bench
bench: ## Run the benchmarks, and measure Lintel on a real control plane
	$(call install,$(GIT) $(DIFF) $(PEERS))
	$(took) go test -run '^$$' -bench . -benchmem ./policies/... ./webhooks ./cmd/openvox-autosign ./cmd/openvox-enc ./cmd/openvox-report; \
	go run -C test/bench . $(BENCH_FLAGS)

.PHONY: lint
lint: lint-go lint-rego lint-manifests lint-generated lint-prose lint-docs ## Check format, code, manifests, generated files, language and documentation

.PHONY: lint-needs
lint-needs:
	$(call install,$(GIT) $(DIFF))

MODULES := . .tools config/release test/apiserver test/bench test/chart test/cluster test/gator test/kyverno test/opa test/stores

.PHONY: lint-go
lint-go: lint-needs
	$(took) \
	unformatted=$$($(call sources,$(GO_FILES)) | xargs -0 --no-run-if-empty gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi >&2; \
	for module in $(MODULES); do go vet -C "$$module" ./...; done; \
	$(TOOL) staticcheck ./...

.PHONY: lint-rego
lint-rego: lint-needs
	$(took) $(call sources,$(REGO_FILES)) | xargs -0 --no-run-if-empty $(TOOL) opa fmt --fail --diff

# The folders that kustomize must build, the variants of roles included.
OVERLAYS := control-plane default openclaw gatekeeper openzro orloj orloj/monitoring zopp \
  $(addprefix rbac/,gatekeeper users openvox openvox-approval openvox-external openvox-namespaced openvox-namespace \
    openvox-namespace-external openclaw-namespace openzro-namespace orloj-namespace zopp zopp-namespace zopp-secret-syncs \
    zopp-secret-syncs-namespace zopp-reload zopp-reload-namespace)

.PHONY: lint-manifests
lint-manifests:
	$(took) for folder in $(OVERLAYS); do $(TOOL) kustomize build "config/$$folder" >/dev/null; done

# Checks the language of documents, comments and messages. PROSE=-all prints every finding,
# PROSE=-lower lowers the ceilings of .tools/vale/ceilings.json to the findings that are left.
.PHONY: lint-prose
lint-prose:
	$(call install,$(GIT) $(CGO))
	$(took) mkdir -p .cluster; \
	CGO_ENABLED=1 go build -C .tools/vale -o "$(CURDIR)/.cluster/vale" github.com/vale-cli/vale/v3/cmd/vale; \
	go run ./test/prose $(PROSE)

# Checks links and pages, and builds the documentation site, unless one was built from the same files. The record is in
# Git's folder, where cleaning the checkout keeps it.
.PHONY: lint-docs
lint-docs: lint-needs
	$(took) record="$$(git rev-parse --git-path lintel-docs)"; \
	digest="$$($(call sources,'*.md' docs config/site config/library) | sort --zero-terminated | xargs -0 sha256sum | sha256sum)"; \
	if [ "$$digest" = "$$(cat "$$record" 2>/dev/null)" ]; then exit 0; fi; \
	go test ./test/documents; \
	$(MAKE) docs; \
	echo "$$digest" >"$$record"

# Generates in a copy, so that a check never changes the tree it checks.
.PHONY: lint-generated
lint-generated: lint-needs
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"; echo "make $@: $$SECONDS s" >&2' EXIT; \
	for copy in committed generated; do \
	  mkdir "$$dir/$$copy"; \
	  $(call sources,.) | tar --create --null --files-from=- | tar --extract --directory="$$dir/$$copy"; \
	done; \
	$(MAKE) -C "$$dir/generated" generate; \
	cd "$$dir" && diff --recursive --unified --new-file committed generated \
	  || { echo "generated files differ, run make generate and commit the result" >&2; exit 1; }

.PHONY: generate
generate: ## Write the files that are made from others
	$(took) $(TOOL) controller-gen object paths=./api/...; \
	for part in openclaw openvox openzro orloj policy zopp; do \
	  $(TOOL) controller-gen crd paths=./api/$$part/... output:crd:dir=config/crd/$$part; \
	done; \
	(cd policies/rules/openvox/signing && go run ./generate); \
	go run ./config/chart/schema; \
	go run -C .tools ./protobuf ../controllers/zopp/store/wire/zopp.proto; \
	go test -count=1 -run '^TestReferenceIsCurrent$$' ./cmd/lintel ./cmd/manager ./test/reference -update

VENV := .tools/venv
SITE := PATH="$(CURDIR)/$(VENV)/bin:$$PATH" NO_MKDOCS_2_WARNING=1 $(VENV)/bin/
# What decides which packages are in $(VENV).
SITE_PACKAGES := config/site/requirements.txt config/site/mermaid.txt

.PHONY: docs-tools
docs-tools:
	$(call install,$(GIT) $(PYTHON))
	@if cat $(SITE_PACKAGES) | cmp --silent - $(VENV)/installed; then exit 0; fi; \
	rm -rf $(VENV); python3 -m venv $(VENV); \
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes $(addprefix --requirement=,$(SITE_PACKAGES)); \
	cat $(SITE_PACKAGES) >$(VENV)/installed

.PHONY: docs
docs: docs-tools ## Build the documentation site into bin/site
	$(took) $(SITE)mkdocs build --config-file config/site/mkdocs.yml 2>&1 | { grep --invert-match '^INFO' || true; } >&2

.PHONY: docs-serve
docs-serve: docs-tools ## Serve the documentation site on loopback, and follow changes
	@port=$$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'); \
	$(SITE)mkdocs serve --config-file config/site/mkdocs.yml --dev-addr "127.0.0.1:$$port"

.PHONY: docs-version
docs-version: docs-tools ## Commit the documentation site of VERSION, such as 1.2, as the latest to the local branch gh-pages
	@if [ -z "$(VERSION)" ]; then echo "say which: make docs-version VERSION=1.2" >&2; exit 1; fi
	@export DOCS_REF="$$(git rev-parse HEAD)"; \
	$(SITE)mike deploy --config-file config/site/mkdocs.yml --update-aliases "$(VERSION)" latest; \
	$(SITE)mike set-default --config-file config/site/mkdocs.yml latest

.PHONY: docs-requirements
docs-requirements: docs-tools ## Pin the newest packages of the documentation site that requirements.in allows
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check pip-tools
	@cd config/site && { echo "# Written by make docs-requirements, from requirements.in."; \
	  "$(CURDIR)/$(VENV)/bin/pip-compile" --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --no-header --no-emit-index-url \
	    --no-emit-find-links --output-file=- requirements.in; } >requirements.new && mv requirements.new requirements.txt

.PHONY: fmt
fmt: lint-needs ## Format Go and Rego
	$(call sources,$(GO_FILES)) | xargs -0 --no-run-if-empty gofmt -w
	$(call sources,$(REGO_FILES)) | xargs -0 --no-run-if-empty $(TOOL) opa fmt --write

.PHONY: cluster-up
cluster-up: ## Start a real control plane with cert-manager
	go run -C test/cluster . up

.PHONY: cluster-down
cluster-down: ## Stop it
	go run -C test/cluster . down

# The release of the chart openvox-stack, by the Helm that its tests have.
STACK ?= production
STACK_NAMESPACE ?= openvox
HELM = go build -C test/chart -o "$(CURDIR)/.cluster/helm" helm.sh/helm/v4/cmd/helm && .cluster/helm --namespace "$(STACK_NAMESPACE)"

.PHONY: stack
stack: ## Install or upgrade the chart openvox-stack in the current cluster, with STACK_VALUES, a file, if given
	$(HELM) upgrade --install --create-namespace $(if $(STACK_VALUES),--values "$(STACK_VALUES)") "$(STACK)" config/chart/openvox-stack

.PHONY: unstack
unstack: ## Remove it; the CA's keys and volume stay
	$(HELM) uninstall --ignore-not-found "$(STACK)"
