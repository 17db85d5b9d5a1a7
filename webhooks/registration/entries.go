package registration

import (
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// entry is one of either configuration, in place.
type entry struct {
	name   string
	rules  *[]admissionregistrationv1.RuleWithOperations
	client *admissionregistrationv1.WebhookClientConfig
	whole  any
}

func entriesOf(config client.Object) (out []entry) {
	switch config := config.(type) {
	case *admissionregistrationv1.ValidatingWebhookConfiguration:
		for i := range config.Webhooks {
			w := &config.Webhooks[i]
			out = append(out, entry{w.Name, &w.Rules, &w.ClientConfig, w})
		}
	case *admissionregistrationv1.MutatingWebhookConfiguration:
		for i := range config.Webhooks {
			w := &config.Webhooks[i]
			out = append(out, entry{w.Name, &w.Rules, &w.ClientConfig, w})
		}
	}
	return out
}

// upToDate compares what Lintel sets. A CA bundle that it does not set has another owner, and
// so have further labels and annotations. upToDate removes such bundles from live.
func upToDate(desiredConfig, liveConfig client.Object, desired, live []entry) bool {
	if !contains(liveConfig.GetLabels(), desiredConfig.GetLabels()) || !contains(liveConfig.GetAnnotations(), desiredConfig.GetAnnotations()) ||
		!equality.Semantic.DeepEqual(liveConfig.GetOwnerReferences(), desiredConfig.GetOwnerReferences()) {
		return false
	}
	var order []string
	for _, have := range live {
		i := slices.IndexFunc(desired, func(want entry) bool { return want.name == have.name })
		if i < 0 {
			if len(*have.rules) > 0 {
				return false
			}
			continue // a leftover that is never called
		}
		order = append(order, have.name)
		if desired[i].client.CABundle == nil {
			have.client.CABundle = nil
		}
		if !equality.Semantic.DeepEqual(desired[i].whole, have.whole) {
			return false
		}
	}
	return slices.EqualFunc(order, desired, func(name string, want entry) bool { return name == want.name })
}

// inert are the live entries that are no longer wanted, as they can stay.
func inert(desired, live []entry) []any {
	var out []any
	for _, have := range live {
		if slices.ContainsFunc(desired, func(want entry) bool { return want.name == have.name }) {
			continue
		}
		config := map[string]any{}
		switch {
		case have.client.URL != nil:
			config["url"] = *have.client.URL
		case have.client.Service != nil:
			config["service"] = map[string]any{
				"namespace": have.client.Service.Namespace, "name": have.client.Service.Name,
			}
		}
		out = append(out, map[string]any{
			"name": have.name, "clientConfig": config,
			"sideEffects": "None", "admissionReviewVersions": []any{"v1"},
		})
	}
	return out
}

func contains(all, some map[string]string) bool {
	for key, value := range some {
		if all[key] != value {
			return false
		}
	}
	return true
}
