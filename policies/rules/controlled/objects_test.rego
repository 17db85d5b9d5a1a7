package controlled.objects_test

import rego.v1

import data.controlled.objects

manager := "system:serviceaccount:lintel-system:lintel-manager"

collector := "system:serviceaccount:kube-system:generic-garbage-collector"

instance := {"group": "openclaw.enterprise.io", "kind": "OpenClawInstance", "namespace": "a", "name": "prod"}

authority := {"group": "openvox.voxpupuli.org", "kind": "CertificateAuthority", "namespace": "a", "name": "ca"}

stored := {
	"apiVersion": "v1", "kind": "ConfigMap",
	"metadata": {
		"name": "prod-gateway-policies", "namespace": "a", "resourceVersion": "1",
		"labels": {"app.kubernetes.io/managed-by": "openclaw-operator", "app.kubernetes.io/instance": "prod"},
		"annotations": {"openclaw.enterprise.io/digest": "1", "openclaw.enterprise.io/deletion-policy": "Retain", "note": "x"},
		"ownerReferences": [{"kind": "OpenClawInstance", "name": "prod", "controller": true}],
		"finalizers": ["example.com/stay"],
	},
	"data": {"a": "b"},
}

workload := json.patch(stored, [
	{"op": "replace", "path": "/kind", "value": "Deployment"},
	{"op": "remove", "path": "/data"},
	{"op": "add", "path": "/spec", "value": {
		"replicas": 1,
		"template": {"metadata": {"annotations": {"openclaw.enterprise.io/config-hash": "1"}}, "spec": {"containers": []}},
	}},
])

# review is an update of a controlled object by a tenant.
review(before, operations) := {
	"name": before.metadata.name,
	"request": {
		"operation": "UPDATE", "namespace": "a", "kind": {"kind": before.kind},
		"userInfo": {"username": "tenant"}, "oldObject": before, "object": json.patch(before, operations),
	},
	"facts": {"users": [manager, collector], "labels": ["openclaw-operator", "openvox-operator"], "owner": instance, "kept": false},
}

by(document, user) := json.patch(document, [{"op": "replace", "path": "/request/userInfo/username", "value": user}])

denied(document) := messages if {
	messages := [denial.msg | some denial in objects.deny] with input as document
}

changes(before, operations) := fields if {
	fields := objects.changed with input as review(before, operations)
}

test_denial_names_the_owner if {
	denied(review(stored, [{"op": "add", "path": "/data/a", "value": "c"}])) == ["ConfigMap a/prod-gateway-policies is controlled by OpenClawInstance prod; edit that instead (this write changes data)"]
}

test_owner_of_another_namespace if {
	document := json.patch(review(stored, [{"op": "add", "path": "/data/a", "value": "c"}]), [{"op": "replace", "path": "/facts/owner/namespace", "value": "b"}])
	contains(denied(document)[0], "is controlled by OpenClawInstance b/prod;")
}

test_users_that_may_write_all if {
	every user in [manager, collector] {
		denied(by(review(stored, [{"op": "add", "path": "/data/a", "value": "c"}]), user)) == []
		denied(by(deletion(stored, instance), user)) == []
		denied(by(creation(stored, {}), user)) == []
	}
}

test_changes_that_are_denied if {
	every c in [
		[stored, {"op": "add", "path": "/immutable", "value": true}, "immutable"],
		[stored, {"op": "add", "path": "/binaryData", "value": {"a": "AAAA"}}, "binaryData"],
		[stored, {"op": "remove", "path": "/data"}, "data"],
		[stored, {"op": "remove", "path": "/metadata/labels"}, "metadata.labels"],
		[stored, {"op": "replace", "path": "/metadata/labels", "value": null}, "metadata.labels"],
		[stored, {"op": "replace", "path": "/metadata/labels/app.kubernetes.io~1managed-by", "value": "me"}, "metadata.labels"],
		[stored, {"op": "replace", "path": "/metadata/labels/app.kubernetes.io~1instance", "value": "x"}, "metadata.labels"],
		[stored, {"op": "remove", "path": "/metadata/annotations/openclaw.enterprise.io~1digest"}, "metadata.annotations"],
		[stored, {"op": "remove", "path": "/metadata/ownerReferences"}, "metadata.ownerReferences"],
		[stored, {"op": "add", "path": "/metadata/finalizers/-", "value": "kubernetes.io/stay"}, "metadata.finalizers"],
		[workload, {"op": "replace", "path": "/spec/replicas", "value": 0}, "spec"],
		[workload, {"op": "add", "path": "/spec/paused", "value": true}, "spec"],
		[workload, {"op": "add", "path": "/spec/template/spec/hostNetwork", "value": true}, "spec"],
		[workload, {"op": "add", "path": "/spec/template/metadata/labels", "value": {"a": "b"}}, "spec"],
		[workload, {"op": "replace", "path": "/spec/template/metadata/annotations/openclaw.enterprise.io~1config-hash", "value": "2"}, "spec.template.metadata.annotations"],
		[workload, {"op": "add", "path": "/spec/template/metadata/annotations/inject", "value": "2"}, "spec.template.metadata.annotations"],
	] {
		changes(c[0], [c[1]]) == {c[2]}
		count(denied(review(c[0], [c[1]]))) == 1
	}
}

test_changes_that_any_user_may_make if {
	unannotated := json.remove(workload, ["/spec/template/metadata/annotations"])
	every c in [
		[stored, {"op": "add", "path": "/metadata/annotations/argocd.argoproj.io~1tracking-id", "value": "x"}],
		[stored, {"op": "remove", "path": "/metadata/annotations/note"}],
		[stored, {"op": "remove", "path": "/metadata/annotations/openclaw.enterprise.io~1deletion-policy"}],
		[stored, {"op": "add", "path": "/metadata/labels/argocd.argoproj.io~1instance", "value": "x"}],
		[stored, {"op": "add", "path": "/metadata/labels/openclaw", "value": "x"}],
		[stored, {"op": "remove", "path": "/metadata/finalizers"}],
		[stored, {"op": "replace", "path": "/metadata/resourceVersion", "value": "2"}],
		[stored, {"op": "add", "path": "/status", "value": {}}],
		[workload, {"op": "add", "path": "/metadata/annotations/deployment.kubernetes.io~1revision", "value": "2"}],
		[workload, {"op": "add", "path": "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt", "value": "now"}],
		[unannotated, {"op": "add", "path": "/spec/template/metadata/annotations", "value": {"kubectl.kubernetes.io/restartedAt": "now"}}],
		[object.union(stored, {"kind": "ServiceAccount"}), {"op": "add", "path": "/imagePullSecrets", "value": [{"name": "x"}]}],
		[object.union(workload, {"kind": "Service"}), {"op": "add", "path": "/spec/loadBalancerClass", "value": "x"}],
	] {
		denied(review(c[0], [c[1]])) == []
	}
}

# Argo CD tracks objects by this label.
test_recommended_labels_of_openvox if {
	relabelled := review(stored, [{"op": "replace", "path": "/metadata/labels/app.kubernetes.io~1instance", "value": "x"}])
	denied(json.patch(relabelled, [{"op": "replace", "path": "/facts/owner", "value": authority}])) == []
}

test_finalizers_of_load_balancers if {
	finalizer := [{"op": "add", "path": "/metadata/finalizers/-", "value": "service.kubernetes.io/load-balancer-cleanup"}]
	denied(review(service("LoadBalancer"), finalizer)) == []
	count(denied(review(service("ClusterIP"), finalizer))) == 1
}

service(type) := object.union(stored, {"kind": "Service", "spec": {"type": type}})

deletion(deleted, owner) := {
	"name": deleted.metadata.name,
	"request": {"operation": "DELETE", "namespace": "a", "kind": {"kind": deleted.kind}, "userInfo": {"username": "tenant"}, "oldObject": deleted, "object": null},
	"facts": {"users": [manager, collector], "labels": ["openclaw-operator"], "owner": owner, "kept": false},
}

test_deletion if {
	denied(deletion(stored, instance)) == ["ConfigMap a/prod-gateway-policies is controlled by OpenClawInstance prod, and is deleted with that"]
}

test_objects_without_an_owner_are_free if {
	denied(json.remove(deletion(stored, instance), ["/facts/owner"])) == []
	denied(json.remove(review(stored, [{"op": "remove", "path": "/data"}]), ["/facts/owner"])) == []
}

test_deletions_that_renew if {
	certificate := {"group": "openvox.voxpupuli.org", "kind": "Certificate", "namespace": "a", "name": "web"}
	every c in [
		["Secret", "web-tls", certificate],
		["Secret", "ca-ca-setup", authority],
		["Job", "ca-ca-setup", authority],
		["Certificate", "ca-operator-signing", authority],
		["Certificate", "ca-operator-standby", authority],
		["Secret", "any", {"group": "openzro.io", "kind": "OZSetupKey", "namespace": "a", "name": "runners"}],
		["OZGroup", "any", {"group": "openzro.io", "kind": "OZRoutingPeer", "namespace": "a", "name": "router"}],
	] {
		denied(deletion({"kind": c[0], "metadata": {"name": c[1]}}, c[2])) == []
	}
	every c in [
		["Secret", "web-pending", certificate],
		["Secret", "ca-autosign-policy", authority],
		["Secret", "ca-ca-key", authority],
		["Service", "ca-ca-setup", authority],
		["Secret", "prod-tls", instance],
		["Deployment", "any", {"group": "openzro.io", "kind": "OZSetupKey", "namespace": "a", "name": "runners"}],
	] {
		count(denied(deletion({"kind": c[0], "metadata": {"name": c[1]}}, c[2]))) == 1
	}
}

creation(created, facts) := {
	"name": created.metadata.name,
	"request": {"operation": "CREATE", "namespace": "a", "kind": {"kind": created.kind}, "userInfo": {"username": "tenant"}, "object": created},
	"facts": object.union({"users": [manager, collector], "labels": ["openclaw-operator"], "kept": false}, facts),
}

test_the_label_is_reserved if {
	denied(creation(stored, {})) == [`metadata.labels[app.kubernetes.io/managed-by]: "openclaw-operator" marks the objects that Lintel creates; remove the label from ConfigMap a/prod-gateway-policies`]
	denied(creation(stored, {"kept": true})) == []
	denied(creation(stored, {"labels": ["another"]})) == []
	denied(creation(object.union(stored, {"kind": "RoleBinding"}), {})) == []

	unlabelled := json.remove(stored, ["/metadata/labels"])
	added := json.remove(review(unlabelled, [{"op": "add", "path": "/metadata/labels", "value": stored.metadata.labels}]), ["/facts/owner"])
	count(denied(added)) == 1
}

test_the_setup_job_fills_secrets if {
	secret := {"kind": "Secret", "metadata": {"name": "ca-ca-key"}, "data": {}}
	filled := json.patch(
		by(review(secret, [{"op": "add", "path": "/data/ca_key.pem", "value": "x"}]), "system:serviceaccount:a:ca-ca-setup"),
		[{"op": "replace", "path": "/facts/owner", "value": authority}],
	)
	denied(filled) == []
	every path, value in {
		"/request/userInfo/username": "system:serviceaccount:b:ca-ca-setup",
		"/name": "ca-autosign-policy",
		"/request/object/immutable": true,
		"/request/kind/kind": "ConfigMap",
	} {
		count(denied(json.patch(filled, [{"op": "add", "path": path, "value": value}]))) == 1
	}
}

test_annotations_that_messages_request if {
	owned := object.union(stored, {"kind": "OZGroup", "metadata": {"annotations": {"openzro.io/account": "1"}}})
	acknowledged := review(owned, [{"op": "replace", "path": "/metadata/annotations/openzro.io~1account", "value": "2"}])
	owner := {"group": "openzro.io", "kind": "OZRoutingPeer", "namespace": "a", "name": "prod"}
	denied(json.patch(acknowledged, [{"op": "replace", "path": "/facts/owner", "value": owner}])) == []
}

test_immutable_secrets_of_syncs if {
	sync := {"group": "zopp.dev", "kind": "ZoppSecretSync", "namespace": "a", "name": "app"}
	denied(deletion({"kind": "Secret", "metadata": {"name": "app"}, "immutable": true}, sync)) == []
	count(denied(deletion({"kind": "Secret", "metadata": {"name": "app"}}, sync))) == 1
}
