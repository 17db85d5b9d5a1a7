# METADATA
# title: ModelEndpoints are what orlojd takes
# custom:
#   match:
#     kinds: [{group: orloj.dev, version: v1, kind: ModelEndpoint}]
#     operations: [CREATE, UPDATE]
#   timeout: 1s
package orloj.modelendpoint

import rego.v1

import data.orloj.values

spec := object.get(input.request.object, "spec", {})

provider := values.chosen(spec, ["provider"], "openai")

deny contains values.needed("spec.default_model", "") if values.blank(spec, ["default_model"])

urls := {
	"openai": "https://api.openai.com/v1",
	"anthropic": "https://api.anthropic.com/v1",
	"ollama": "http://127.0.0.1:11434",
}

defaults.spec.provider := "openai"

defaults.spec.base_url := urls[provider]

defaults.spec.allowPrivate := provider == "ollama"

patch contains op if some op in values.filled(spec, defaults.spec)
