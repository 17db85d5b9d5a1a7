package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"sigs.k8s.io/yaml"
)

// offlinePeer is a command of another engine that evaluates policies for objects in files.
type offlinePeer struct {
	name string
	// objects are few: the peers take milliseconds for each. The time for one object is the
	// difference between two runs, which therefore excludes the start and the policies.
	objects [2]int
	run     func(objects string, count int) (replayed, error)
}

// comparePeersOffline compares the time of a recorded Pod with that of the same Pod in the commands
// of the peers.
func (p *peers) comparePeersOffline(ctx context.Context, policies string, constraints []constraint, ours replayed) error {
	folder := filepath.Join(p.folder, "replay-peers")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	kyverno := filepath.Join(folder, "kyverno.yaml")
	if err := writeKyverno(kyverno, constraints); err != nil {
		return err
	}
	for _, peer := range []offlinePeer{
		{"gator test", [2]int{100, 1100}, func(objects string, count int) (replayed, error) {
			_, run, err := runMeasured(ctx, count, p.programs["gator"], "test", "-f", policies, "-f", objects)
			return run, err
		}},
		{"kyverno apply", [2]int{10, 60}, func(objects string, count int) (replayed, error) {
			output, run, err := runMeasured(ctx, count, p.programs["kyverno-cli"], "apply", kyverno, "-r", objects)
			if passed := fmt.Sprintf("pass: %d, fail: 0", count*len(constraints)); err == nil && !bytes.Contains(output, []byte(passed)) {
				err = fmt.Errorf("kyverno apply was to end with %q, and ended with: %s", passed, output[max(0, len(output)-500):])
			}
			return run, err
		}},
	} {
		var runs [2]replayed
		for i, count := range peer.objects {
			objects := filepath.Join(folder, fmt.Sprintf("pods-%d.yaml", count))
			if err := p.writePods(objects, count); err != nil {
				return err
			}
			say("running %s on %d Pods …", peer.name, count)
			var err error
			if runs[i], err = peer.run(objects, count); err != nil {
				return err
			}
		}
		theirs := (runs[1].took - runs[0].took) / time.Duration(peer.objects[1]-peer.objects[0])
		mine := ours.took / time.Duration(ours.objects)
		p.row(ratioRow(fmt.Sprintf("replay: time for a Pod, %d policies (reference: %s, from %d and %d Pods)", usual, peer.name, peer.objects[0], peer.objects[1]),
			fmt.Sprintf("%.3f ms", milliseconds(mine)), fmt.Sprintf("%.3f ms", milliseconds(theirs)), milliseconds(mine), milliseconds(theirs), replayPeers))
		p.row(row{What: fmt.Sprintf("… highest resident memory of %s, %d Pods", peer.name, peer.objects[1]), Lintel: mebibytes(ours.peak), Reference: mebibytes(runs[1].peak)})
	}
	return nil
}

// writePods writes Pods as the documents of one file.
func (p *peers) writePods(file string, count int) error {
	var text bytes.Buffer
	for range count {
		body, _ := p.workloads.unique.next()
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(body, &review); err != nil {
			return err
		}
		pod, err := yaml.JSONToYAML(review.Request.Object.Raw)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "---\n%s", pod)
	}
	return os.WriteFile(file, text.Bytes(), 0o600)
}

// writeKyverno writes constraints as ValidatingPolicies of Kyverno, in CEL.
func writeKyverno(file string, constraints []constraint) error {
	var rules celRules
	if err := readPolicies("cel.yaml", &rules); err != nil {
		return err
	}
	var documents []string
	for _, c := range constraints {
		policy, err := validatingPolicy(c, rules)
		if err != nil {
			return err
		}
		text, err := yaml.Marshal(policy)
		if err != nil {
			return err
		}
		documents = append(documents, string(text))
	}
	return os.WriteFile(file, []byte(strings.Join(documents, "---\n")), 0o600)
}
