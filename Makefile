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

# Installs what is missing of $(1), once it has said what and what for; where it may not,
# it prints the command and stops.
define install
@command -v go >/dev/null || { echo "Go is missing; the version that is needed is in go.mod" >&2; exit 1; }
@packages=""; \
for need in $(1); do \
  read -r command package purpose <<<"$$need"; \
  if ! command -v "$$command" >/dev/null; then echo "missing: $${package//,/ } ($$purpose)" >&2; packages="$$packages $${package//,/ }"; fi; \
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
run cluster-up cluster-down: export CGO_ENABLED = 0
run cluster-up cluster-down: export GOFLAGS = -trimpath
run: ## Show Lintel at work in a cluster of its own, or of the current context with CLUSTER=current; with NODES=real as Pods
	$(call install,$(DIFF) $(if $(filter real,$(NODES)),$(GIT) $(REAL_NODES)))
	@go build -buildvcs=false -o .cluster/quickstart ./test/quickstart
	@if [ -t 0 ]; then set -m; fi; .cluster/quickstart || exit $$?

.PHONY: build
build: ## Build the programs into bin/
	mkdir -p bin
	go build -trimpath -o bin/ ./cmd/...

PLATFORMS ?= linux/amd64,linux/arm64
RELEASE = go run -C config/release .
RELEASE_FLAGS = --platform $(PLATFORMS) $(if $(VERSION),--version $(VERSION))

.PHONY: image
image: lint-needs ## Build the images for PLATFORMS into bin/images, an OCI layout
	rm -rf bin/images
	$(RELEASE) image $(RELEASE_FLAGS) "$(CURDIR)/bin/images"

.PHONY: image-openvox
image-openvox: ## Build an image of a Puppet server with Lintel's helpers into bin/image-openvox, an OCI layout
	$(call install,"mmdebstrap mmdebstrap Debian's packages for the image")
	rm -rf bin/image-openvox
	$(RELEASE) openvox $(if $(VERSION),--version $(VERSION)) "$(CURDIR)/bin/image-openvox"

.PHONY: image-openvox-db
image-openvox-db: ## Build an image of PuppetDB into bin/image-openvox-db, an OCI layout
	$(call install,"mmdebstrap mmdebstrap Debian's packages for the image")
	rm -rf bin/image-openvox-db
	$(RELEASE) openvox --image openvox-db $(if $(VERSION),--version $(VERSION)) "$(CURDIR)/bin/image-openvox-db"

# Where what is in bin/downloads will be downloaded from.
DOWNLOADS ?= https://github.com/lintel-policy/lintel/releases/download/$(VERSION)

.PHONY: release
release: lint-needs ## Push the images to REGISTRY as VERSION, signed with KEY if there is one, and make bin/downloads
	@if [ -z "$(VERSION)" ] || [ -z "$(REGISTRY)" ]; then \
	  echo "say which: make release VERSION=v1.2.3 REGISTRY=registry.example/lintel [KEY=cosign.key]" >&2; exit 1; fi
	rm -rf bin/downloads
	$(RELEASE) downloads --version $(VERSION) --url "$(DOWNLOADS)" "$(CURDIR)/bin/downloads"
	$(RELEASE) push $(RELEASE_FLAGS) $(if $(KEY),--key "$(abspath $(KEY))") "$(REGISTRY)"

# As test/cluster builds Kubernetes: what has the same flags is compiled once.
lint-go lint-generated generate image image-openvox image-openvox-db release test-allocations test-apiserver test-chart test-gator test-release: export CGO_ENABLED = 0
lint-go lint-generated generate image image-openvox image-openvox-db release test-allocations test-apiserver test-chart test-gator test-release: export GOFLAGS = -trimpath

# Tests that compute little and wait for programs of their own: two at a time.
WAITING := test-e2e test-cluster test-gator test-release test-apiserver test-bench

.PHONY: test
test: ## Run every test
	$(call install,$(GIT) $(DIFF) $(PEERS))
# Built first: no test's time limit is made for that.
	go run -C test/cluster . build
	go run -C test/cluster . build --nodes=real
	go list -race -test -export ./... >/dev/null
# One that fails keeps none of the others from running.
	@failed=""; \
	$(MAKE) --keep-going test-policies test-allocations test-controllers || failed=yes; \
	$(MAKE) --keep-going --jobs=2 $(WAITING) || failed=yes; \
	$(MAKE) test-chart || failed=yes; \
	[ -z "$$failed" ]

test-policies test-controllers test-e2e: export GORACE = atexit_sleep_ms=50 # and not a second for each program that a test starts

# Packages run one after the other, because policies have deadlines by the clock.
.PHONY: test-policies
test-policies:
	go test -race -p 1 -timeout 30m ./cmd/... ./policies/... ./webhooks/...

.PHONY: test-controllers
test-controllers:
	packages=$$(go list -f '{{if ne .Name "e2e"}}{{.ImportPath}}{{end}}' ./api/... ./config/... ./controllers/... ./test/...); go test -race -p 2 -timeout 30m $$packages

.PHONY: test-e2e
test-e2e:
	go test -race -timeout 80m ./test/e2e

# The race detector allocates, too.
.PHONY: test-allocations
test-allocations:
	go test -count=1 -run '^TestAllocations$$' ./policies/gatekeeper ./policies/rules/openvox/signing ./webhooks

# Those of other modules are uncached, because Go's test cache does not see files outside
# a module, and these read config/ or start programs.
.PHONY: test-apiserver
test-apiserver:
	go test -C test/apiserver -count=1 ./...

.PHONY: test-bench
test-bench:
	go test -C test/bench -race -count=1 ./...

.PHONY: test-chart
test-chart:
	go test -C test/chart -count=1 -timeout 60m ./...

.PHONY: test-cluster
test-cluster:
	go test -C test/cluster -count=1 -timeout 20m ./...

.PHONY: test-gator
test-gator:
	go test -C test/gator -count=1 -timeout 20m ./...

.PHONY: test-release
test-release:
	go test -C config/release -count=1 ./...

# What `make test` does in short, with more of it, from seeds of its own.
.PHONY: properties
properties: ## Run the long properties: random policies against what OPA says
	@seed=$${LINTEL_SEED:-$$RANDOM}; echo "LINTEL_SEED=$$seed"; \
	LINTEL_LONG=1 LINTEL_SEED=$$seed go test -count=1 -timeout 60m -v \
	  -run '^(TestRicherPairs|TestProvedHoldsOnEveryInput|TestFormulasAgreeWithOPA|TestAChildNeverWidens|TestNamesOfPeersDecideNothing)$$' ./policies/sidecar ./policies/restriction | grep -v '^=== RUN'

# Each target of the main module, one after the other: go test takes one at a time.
FUZZTIME ?= 60s

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZTIME, 60s by default
	@failed=""; \
	while IFS=: read -r file name; do \
	  echo "$$name in $$(dirname "$$file"), $(FUZZTIME)"; \
	  go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "./$$(dirname "$$file")" </dev/null || failed="$$failed $$name"; \
	done < <(git grep -o --untracked '^func Fuzz[A-Za-z0-9_]*' -- '*_test.go' ':!:test/' | sed 's/func //'); \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

.PHONY: bench
bench: ## Run the benchmarks, and measure Lintel on a real control plane
	$(call install,$(GIT) $(DIFF) $(PEERS))
	go test -run '^$$' -bench . -benchmem ./policies/... ./webhooks ./cmd/openvox-autosign ./cmd/openvox-enc ./cmd/openvox-report
	go run -C test/bench . $(BENCH_FLAGS)

.PHONY: lint
lint: lint-go lint-rego lint-manifests lint-generated ## Check format, code, manifests and generated files

.PHONY: lint-needs
lint-needs:
	$(call install,$(GIT) $(DIFF))

.PHONY: lint-go
lint-go: lint-needs
	@unformatted=$$($(call sources,$(GO_FILES)) | xargs -0 --no-run-if-empty gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi >&2
	go vet ./...
	go vet -C .tools ./...
	go vet -C config/release ./...
	go vet -C test/apiserver ./...
	go vet -C test/bench ./...
	go vet -C test/chart ./...
	go vet -C test/cluster ./...
	go vet -C test/gator ./...
	$(TOOL) staticcheck ./...

.PHONY: lint-rego
lint-rego: lint-needs
	@$(call sources,$(REGO_FILES)) | xargs -0 --no-run-if-empty $(TOOL) opa fmt --fail --diff

.PHONY: lint-manifests
lint-manifests:
	$(TOOL) kustomize build config/default >/dev/null
	$(TOOL) kustomize build config/openclaw >/dev/null
	$(TOOL) kustomize build config/gatekeeper >/dev/null
	$(TOOL) kustomize build config/rbac/gatekeeper >/dev/null
	for folder in openvox openvox-external openvox-namespaced openvox-namespace openvox-namespace-external openzro-namespace orloj-namespace \
	    zopp zopp-namespace zopp-secret-syncs zopp-secret-syncs-namespace zopp-reload zopp-reload-namespace; do \
	  $(TOOL) kustomize build config/rbac/$$folder >/dev/null || exit 1; \
	done
	$(TOOL) kustomize build config/rbac/openvox-approval >/dev/null
	$(TOOL) kustomize build config/openzro >/dev/null
	$(TOOL) kustomize build config/orloj >/dev/null
	$(TOOL) kustomize build config/orloj/monitoring >/dev/null
	$(TOOL) kustomize build config/zopp >/dev/null

# Generates in a copy, so that a check never changes the tree it checks.
.PHONY: lint-generated
lint-generated: lint-needs
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	for copy in committed generated; do \
	  mkdir "$$dir/$$copy"; \
	  $(call sources,.) | tar --create --null --files-from=- | tar --extract --directory="$$dir/$$copy"; \
	done; \
	$(MAKE) -C "$$dir/generated" generate; \
	cd "$$dir" && diff --recursive --unified --new-file committed generated \
	  || { echo "generated files differ, run make generate and commit the result" >&2; exit 1; }

.PHONY: generate
generate: ## Write the files that are made from others
	$(TOOL) controller-gen object paths=./api/...
	for part in openclaw openvox openzro orloj policy zopp; do \
	  $(TOOL) controller-gen crd paths=./api/$$part/... output:crd:dir=config/crd/$$part || exit 1; \
	done
	cd policies/rules/openvox/signing && go run ./generate
	go run ./config/chart/schema
	go run -C .tools ./protobuf ../controllers/zopp/store/wire/zopp.proto
	go test -count=1 -run '^TestReferenceIsCurrent$$' ./cmd/lintel -update

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
