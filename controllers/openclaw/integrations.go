package openclaw

import (
	"encoding/json"
	"fmt"

	v1 "github.com/lintel-policy/lintel/api/openclaw/v1"
)

// integrationsData is how connectors reach the gateway: one file with the list of the
// spec, in which nothing is left to defaults.
func integrationsData(instance *v1.OpenClawInstance) (map[string]string, error) {
	list := make([]v1.Integration, 0, len(instance.Spec.Integrations))
	for _, integration := range instance.Spec.Integrations {
		if integration.Enabled == nil {
			integration.Enabled = new(true)
		}
		if integration.Config == nil {
			integration.Config = map[string]string{}
		}
		list = append(list, integration)
	}
	text, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the integrations of OpenClawInstance %s: %w", instance.Name, err)
	}
	return map[string]string{integrationsFile: string(text) + "\n"}, nil
}
