package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

const (
	openVoxNamespace = "openvox-bench"
	openVoxPolicies  = 50
)

// measureOpenVox measures the decision about a certificate request and the programs that
// Puppet servers call. It replaces the manager of the other parts, so it runs last.
func (b *bench) measureOpenVox(ctx context.Context) error {
	say("measuring OpenVox with %d signing policies …", openVoxPolicies)
	if _, err := b.cluster.Kubectl(ctx, "", "apply", "-k", "config/rbac/openvox"); err != nil {
		return err
	}
	if err := b.createNamespace(ctx, openVoxNamespace); err != nil {
		return err
	}
	if err := b.restart(ctx, "manager-openvox", "--systems=openvox"); err != nil {
		return err
	}
	if err := b.openVoxDecision(ctx); err != nil {
		return err
	}
	return b.openVoxEndpoints(ctx)
}

func (b *bench) openVox(resource, namespace string) dynamic.ResourceInterface {
	return b.dynamic.Resource(schema.GroupVersionResource{Group: "openvox.voxpupuli.org", Version: "v1alpha1", Resource: resource}).Namespace(namespace)
}

func openVoxObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "openvox.voxpupuli.org/v1alpha1", "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// openVoxDecision asks about a request that the last of many policies matches, at the
// webhook and by the program that a Puppet server calls.
func (b *bench) openVoxDecision(ctx context.Context) error {
	ca := openVoxObject("CertificateAuthority", "main", map[string]any{"external": map[string]any{"url": "https://127.0.0.1:1"}})
	if _, err := b.openVox("certificateauthorities", openVoxNamespace).Create(ctx, ca, metav1.CreateOptions{}); err != nil {
		return err
	}
	for i := range openVoxPolicies {
		policy := openVoxObject("SigningPolicy", fmt.Sprintf("policy-%02d", i), map[string]any{
			"certificateAuthorityRef": "main",
			"pattern":                 map[string]any{"allow": []any{fmt.Sprintf("node%02d-*.example.com", i), fmt.Sprintf("*.rack%02d.example.com", i)}},
			"dnsAltNames":             map[string]any{"allow": []any{"*.example.com"}},
		})
		if _, err := b.openVox("signingpolicies", openVoxNamespace).Create(ctx, policy, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	certname := fmt.Sprintf("node%02d-a.example.com", openVoxPolicies-1)
	request, err := certificateRequest(certname)
	if err != nil {
		return err
	}
	if err := b.openVoxWebhook(ctx, request); err != nil {
		return err
	}
	return b.openVoxAutosign(ctx, certname, request)
}

// certificateRequest is one in PEM with a name and a SAN.
func certificateRequest(certname string) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: certname}, DNSNames: []string{certname}}, key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), nil
}

// openVoxWebhook compares the decision about a CertificateSigningRequest with the echo: when it
// is approved, and when it is created, which includes a check of the requester's permission for
// the signer.
func (b *bench) openVoxWebhook(ctx context.Context, request []byte) error {
	object := func(status map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "metadata": map[string]any{"name": recordedName},
			"spec": map[string]any{
				"signerName": "certificateauthorities.openvox.voxpupuli.org/" + openVoxNamespace + ".main",
				"usages":     []string{"client auth"}, "request": base64.StdEncoding.EncodeToString(request),
			},
			"status": status,
		}
	}
	approved := map[string]any{"conditions": []any{map[string]any{"type": "Approved", "status": "True", "reason": "x"}}}
	for _, c := range []struct {
		what   string
		review map[string]any
		limit  float64
	}{
		{"approved", map[string]any{"operation": "UPDATE", "subResource": "approval", "object": object(approved), "oldObject": object(map[string]any{})}, 2},
		{"created, and the API server asked for the requester's permission", map[string]any{"operation": "CREATE", "object": object(map[string]any{})}, 2},
	} {
		if err := b.openVoxReview(ctx, c.what, c.review, c.limit); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) openVoxReview(ctx context.Context, what string, request map[string]any, limit float64) error {
	const warmUp, rounds, block = 100, 8, 50
	request["kind"] = map[string]any{"group": "certificates.k8s.io", "version": "v1", "kind": "CertificateSigningRequest"}
	request["resource"] = map[string]any{"group": "certificates.k8s.io", "version": "v1", "resource": "certificatesigningrequests"}
	request["name"], request["userInfo"] = recordedName, map[string]any{"username": "bench", "groups": []string{"system:masters"}}
	text, err := json.Marshal(request)
	if err != nil {
		return err
	}
	// The API server writes the uid first.
	body := fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"00000000-0000-4000-8000-000000000000",%s}`, text[1:])
	reviews, err := newReviews([]byte(body))
	if err != nil {
		return err
	}
	lintel := b.lintel("/validate/openvox-certificatesigningrequest")
	err = poll(ctx, "the signing policies to be known", func() (bool, error) {
		answer, err := lintel.post(ctx, reviews.next())
		return bytes.Contains(answer, []byte(`"allowed":true`)), err
	})
	if err != nil {
		return err
	}
	endpoints := []*endpoint{b.echo, lintel}
	loads := make([]load, len(endpoints))
	for round := -1; round < rounds; round++ {
		for i := range endpoints {
			i = (i + round + 1) % len(endpoints)
			requests := block
			if round < 0 {
				requests = warmUp
			}
			l, err := endpoints[i].closedLoop(ctx, reviews, 1, requests)
			if err != nil {
				return err
			}
			if round >= 0 {
				loads[i].add(l)
			}
		}
	}
	echo, own := loads[0].Latencies, loads[1].Latencies
	b.keep("OpenVox: a CertificateSigningRequest "+what, own)
	measured := milliseconds(own.percentile(50))
	r := ratioRow(fmt.Sprintf("OpenVox: a CertificateSigningRequest under %d signing policies, %s: p50", openVoxPolicies, what), p50(own), p50(echo), measured, milliseconds(echo.percentile(50)), 0)
	r.Target, r.Verdict = fmt.Sprintf("≤ %g ms", limit), verdict(measured, limit)
	b.row(r)
	b.row(ratioRow("… CPU of the manager", fmt.Sprintf("%.3f ms", loads[1].perRequest()), fmt.Sprintf("%.3f ms", loads[0].perRequest()), loads[1].perRequest(), loads[0].perRequest(), 0))
	return nil
}

// openVoxAutosign runs the program as a Puppet server does, with the policies that the
// manager has rendered.
func (b *bench) openVoxAutosign(ctx context.Context, certname string, request []byte) error {
	var policies []byte
	err := poll(ctx, "the policies to be rendered", func() (bool, error) {
		secret, err := b.clientset.CoreV1().Secrets(openVoxNamespace).Get(ctx, "main-autosign-policy", metav1.GetOptions{})
		if err != nil {
			return false, nil
		}
		policies = secret.Data["signing-policies.yaml"]
		return bytes.Contains(policies, fmt.Appendf(nil, "policy-%02d", openVoxPolicies-1)), nil
	})
	if err != nil {
		return err
	}
	file := filepath.Join(b.folder, "signing-policies.yaml")
	if err := os.WriteFile(file, policies, 0o600); err != nil {
		return err
	}
	var taken samples
	for range 50 {
		command := exec.CommandContext(ctx, filepath.Join(b.folder, "bin", "openvox-autosign"), "--config", file, certname)
		command.Stdin = bytes.NewReader(request)
		start := time.Now()
		if output, err := command.CombinedOutput(); err != nil {
			return fmt.Errorf("openvox-autosign: %w: %s", err, output)
		}
		taken = append(taken, time.Since(start))
	}
	b.keep("OpenVox: openvox-autosign", taken)
	measured := milliseconds(taken.percentile(50))
	b.row(row{What: fmt.Sprintf("OpenVox: openvox-autosign from start to end, %d signing policies: p50", openVoxPolicies), Lintel: fmt.Sprintf("%.1f ms", measured), Target: "≤ 8 ms", Verdict: verdict(measured, 8)})
	return nil
}
