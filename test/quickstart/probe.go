package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/lintel-policy/lintel/test/installation"
)

// probeName is the name of the webhook that callsBack registers, and of the ConfigMap that
// it is registered for, which is never created.
const probeName = "lintel-quickstart-probe"

// callbackLimit is how long a new webhook may take to be called.
const callbackLimit = 20 * time.Second

// callsBack returns an error unless the API server reaches this machine's loopback, where
// the manager serves its webhooks. Its address does not say whether it does: an API server
// in a container is at 127.0.0.1, too, and has a loopback of its own.
func callsBack(ctx context.Context, cluster *installation.Cluster) error {
	ctx, cancel := context.WithTimeout(ctx, callbackLimit)
	defer cancel()
	called := make(chan struct{}, 1)
	server := httptest.NewTLSServer(admitting(called))
	defer server.Close()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callbackLimit)
		defer cancel()
		_, _ = cluster.Kubectl(ctx, "", "delete", "--ignore-not-found", "validatingwebhookconfiguration", probeName)
	}()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	output, err := cluster.Kubectl(ctx, probeConfiguration(server.URL, authority), "apply", "--server-side", "-f", "-")
	if err != nil {
		return fmt.Errorf("creating a webhook to see whether the API server reaches this machine: %w: %s", err, output)
	}
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for ctx.Err() == nil && !strings.Contains(output, "failed calling webhook") {
		output, _ = cluster.Kubectl(ctx, "", "create", "configmap", probeName, "--namespace=default", "--dry-run=server")
		select {
		case <-called:
			return nil
		case <-tick.C: // it takes a moment until a new webhook is called
		}
	}
	return fmt.Errorf("the API server at %s cannot call webhooks on this machine, where the manager runs as a process: "+
		"use a cluster whose API server runs on this machine and not in a container, leave CLUSTER empty to start one, "+
		"or install Lintel in the cluster as docs/how-to/install.md describes: %s", cluster.Server, strings.TrimSpace(output))
}

// admitting admits everything.
func admitting(called chan<- struct{}) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review map[string]any
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		request, _ := review["request"].(map[string]any)
		review["response"] = map[string]any{"uid": request["uid"], "allowed": true}
		delete(review, "request")
		_ = json.NewEncoder(w).Encode(review)
		select {
		case called <- struct{}{}:
		default:
		}
	})
}

// probeConfiguration registers a webhook for one object alone.
func probeConfiguration(url string, authority []byte) string {
	text, err := json.Marshal(map[string]any{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
		"metadata": map[string]any{"name": probeName},
		"webhooks": []any{map[string]any{
			"name": "quickstart.lintel.dev", "admissionReviewVersions": []string{"v1"}, "sideEffects": "None",
			"timeoutSeconds": 2, "failurePolicy": "Fail",
			"clientConfig": map[string]any{"url": url, "caBundle": authority},
			"rules": []any{map[string]any{
				"apiGroups": []string{""}, "apiVersions": []string{"v1"},
				"operations": []string{"CREATE"}, "resources": []string{"configmaps"},
			}},
			"matchConditions": []any{map[string]any{"name": "probe", "expression": "object.metadata.name == '" + probeName + "'"}},
		}},
	})
	if err != nil {
		panic("a map of strings always has JSON: " + err.Error())
	}
	return string(text)
}
