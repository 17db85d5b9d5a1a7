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

# Commands that the targets need, each with the Debian packages that bring it.
DEPS := git:git gcc:gcc,libc6-dev pg_createcluster:postgresql puppetserver:puppetserver puppet:puppet-agent

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# In a terminal with a process group of its own: Ctrl-C, the way out, is then for
# the program alone, and make ends without an error. It is built and not go run,
# which has an exit status of its own for Ctrl-C; || keeps bash from becoming the
# program, and with that from giving it a group.
.PHONY: run
run: deps ## Start a cluster with Lintel in front of it, and show it at work
	@go build -o .cluster/quickstart ./test/quickstart
	@if [ -t 0 ]; then set -m; fi; .cluster/quickstart || exit $$?

.PHONY: build
build: ## Build the programs into bin/
	mkdir -p bin
	go build -trimpath -o bin/ ./cmd/...

# The control plane is built first: no test's time limit is made for that. Packages
# run one after the other, because policies have deadlines by the clock.
.PHONY: test
test: deps ## Run every test
	go run -C test/cluster . build
	go test -race -p 1 -timeout 20m ./...
# The race detector allocates, too.
	go test -count=1 -run '^TestAllocations$$' ./policies/gatekeeper ./webhooks
# Uncached, because Go's test cache does not see files outside a module, and
# these read config/ or start programs.
	go test -C test/apiserver -count=1 ./...
	go test -C test/bench -race -count=1 ./...
	go test -C test/cluster -count=1 -timeout 20m ./...
	go test -C test/gator -count=1 -timeout 20m ./...

.PHONY: bench
bench: deps ## Run the benchmarks, and measure Lintel on a real control plane
	go test -run '^$$' -bench . -benchmem ./policies/... ./webhooks ./cmd/openvox-autosign
	go run -C test/bench . $(BENCH_FLAGS)

.PHONY: lint
lint: lint-go lint-rego lint-manifests lint-generated ## Check format, code, manifests and generated files

.PHONY: lint-go
lint-go: deps
	@unformatted=$$($(call sources,$(GO_FILES)) | xargs -0 --no-run-if-empty gofmt -l); \
	if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi >&2
	go vet ./...
	go vet -C test/apiserver ./...
	go vet -C test/bench ./...
	go vet -C test/cluster ./...
	go vet -C test/gator ./...
	$(TOOL) staticcheck ./...

.PHONY: lint-rego
lint-rego: deps
	@$(call sources,$(REGO_FILES)) | xargs -0 --no-run-if-empty $(TOOL) opa fmt --fail --diff

.PHONY: lint-manifests
lint-manifests:
	$(TOOL) kustomize build config/default >/dev/null
	$(TOOL) kustomize build config/openclaw >/dev/null
	$(TOOL) kustomize build config/gatekeeper >/dev/null
	$(TOOL) kustomize build config/rbac/gatekeeper >/dev/null
	$(TOOL) kustomize build config/rbac/openvox >/dev/null
	$(TOOL) kustomize build config/rbac/openvox-approval >/dev/null
	$(TOOL) kustomize build config/orloj >/dev/null
	$(TOOL) kustomize build config/orloj/monitoring >/dev/null

# Generates in a copy, so that a check never changes the tree it checks.
.PHONY: lint-generated
lint-generated: deps
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
	$(TOOL) controller-gen crd paths=./api/... output:crd:dir=config/crd

.PHONY: fmt
fmt: deps ## Format Go and Rego
	$(call sources,$(GO_FILES)) | xargs -0 --no-run-if-empty gofmt -w
	$(call sources,$(REGO_FILES)) | xargs -0 --no-run-if-empty $(TOOL) opa fmt --write

.PHONY: cluster-up
cluster-up: ## Start a real control plane with cert-manager
	go run -C test/cluster . up

.PHONY: cluster-down
cluster-down: ## Stop it
	go run -C test/cluster . down

.PHONY: deps
deps: ## Install the system packages that are missing
	@command -v go >/dev/null || { echo "Go is missing; the version that is needed is in go.mod" >&2; exit 1; }
	@missing=""; \
	for dep in $(DEPS); do command -v "$${dep%%:*}" >/dev/null || { packages=$${dep##*:}; missing="$$missing $${packages//,/ }"; }; done; \
	if [ -z "$$missing" ]; then exit 0; fi; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  export DEBIAN_FRONTEND=noninteractive; \
	  apt-get update --quiet </dev/null; \
	  apt-get install --yes --quiet --no-install-recommends $$missing </dev/null; \
	else \
	  echo "missing system packages, install them with: sudo apt-get install$$missing" >&2; exit 1; \
	fi
