package openvox_test

import rego.v1

import data.openvox.certificateauthority
import data.openvox.database
import data.openvox.server

extra_request(spec, facts) := {"name": "catalogs", "request": {"operation": "CREATE", "userInfo": {"username": "ann"}, "object": {"spec": object.union({"configRef": "c", "certificateRef": "s"}, spec)}}, "facts": facts}

extra_denials(spec, facts) := fields(found) if found := server.deny with input as extra_request(spec, facts)

mounted_at(path) := {"extraVolumes": [{"name": "a", "emptyDir": {}}], "extraVolumeMounts": [{"name": "a", "mountPath": path}]}

test_extra_env if {
	extra_denials({"extraEnv": [{"name": "A", "value": "b"}, {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}, {}) == set()
	every name in ["JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"] {
		extra_denials({"extraEnv": [{"name": name, "value": "-Xmx1g"}]}, {}) == {"spec.extraEnv[0].name"}
	}
	extra_denials({"extraEnv": [{"name": "JAVA_ARGS", "value": "-Xmx1g"}, {"name": "B", "valueFrom": {"fileKeyRef": {"volumeName": "keys"}}}]}, {}) == {"spec.extraEnv[0].name", "spec.extraEnv[1].valueFrom"}
}

test_extra_mounts if {
	every path in ["/etc/puppetlabs/extra-files", "/etc/puppetlabs/puppet/eyaml", "/etc/puppetlabs/puppet/hiera.yaml", "/opt/gems"] {
		extra_denials(mounted_at(path), {}) == set()
	}
	every path in ["/", "/etc", "/etc/puppetlabs", "/etc/puppetlabs/puppet", "/etc/puppetlabs/puppet/ssl/private_keys", "/etc/puppetlabs/puppetserver/conf.d/x.conf", "/tmp", "/usr/local/bin", "/etc/puppetlabs/code/modules", "relative", "/a/", "/a/../etc", "/etc/puppetlabs/puppetserver/ca"] {
		extra_denials(mounted_at(path), {}) == {"spec.extraVolumeMounts[0].mountPath"}
	}
	extra_denials({"extraVolumeMounts": [{"name": "keys", "mountPath": "/a", "mountPropagation": "Bidirectional"}]}, {}) == {"spec.extraVolumeMounts[0].name", "spec.extraVolumeMounts[0].mountPropagation"}
	extra_denials({"extraVolumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "main-data"}}]}, {"authorityClaims": ["main-data"]}) == {"spec.extraVolumes[0].persistentVolumeClaim.claimName"}
}

all_sources(name) := {
	"extraEnv": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": name, "key": "k"}}}],
	"envFrom": [{"secretRef": {"name": name}}],
	"extraVolumes": [{"name": "a", "secret": {"secretName": name}}, {"name": "b", "projected": {"sources": [{"secret": {"name": name}}]}}],
}

test_extra_secrets if {
	each := {"spec.extraEnv[0].valueFrom.secretKeyRef.name", "spec.envFrom[0].secretRef.name", "spec.extraVolumes[0].secret.secretName", "spec.extraVolumes[1].projected.sources[0].secret.name"}
	extra_denials(all_sources("mine"), {"protectedSecrets": {}}) == set()
	extra_denials(all_sources("theirs"), {"protectedSecrets": {"theirs": "is OpenVox's own"}}) == each
	every name in ["main-ca-key", "main-ca-setup", "main-autosign-policy", "main-ca-revocations", "main-operator-signing-tls", "main-operator-standby-tls"] {
		extra_denials(all_sources(name), {}) == each
	}
	extra_denials(all_sources("mine"), {"unreadableSecrets": ["mine"]}) == each
}

all_maps(name) := {
	"extraEnv": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": name, "key": "k"}}}],
	"envFrom": [{"configMapRef": {"name": name}}],
	"extraVolumes": [{"name": "a", "configMap": {"name": name}}, {"name": "b", "projected": {"sources": [{"configMap": {"name": name}}]}}],
}

test_extra_access if {
	each := {"spec.extraEnv[0].valueFrom.configMapKeyRef.name", "spec.envFrom[0].configMapRef.name", "spec.extraVolumes[0].configMap.name", "spec.extraVolumes[1].projected.sources[0].configMap.name"}
	extra_denials(all_maps("mine"), {"unreadableConfigMaps": []}) == set()
	extra_denials(all_maps("mine"), {"unreadableConfigMaps": ["mine"]}) == each
	claim := {"extraVolumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "mine"}}]}
	extra_denials(claim, {"unreadableClaims": []}) == set()
	extra_denials(claim, {"unreadableClaims": ["mine"]}) == {"spec.extraVolumes[0].persistentVolumeClaim.claimName"}
	every ref in ["secretRef", "configMapRef"] {
		extra_denials({"envFrom": [{ref: {"name": sprintf("s%d", [i])}} | some i in numbers.range(1, 32)]}, {}) == set()
		extra_denials({"envFrom": [{ref: {"name": sprintf("s%d", [i])}} | some i in numbers.range(1, 33)]}, {}) == {"spec"}
	}
}

test_extra_security if {
	good := {"securityContext": {"runAsUser": 1001, "runAsGroup": 0, "runAsNonRoot": true, "fsGroup": 1001}}
	extra_denials(good, {}) == set()
	bad := {"securityContext": {"runAsUser": 0, "runAsNonRoot": false}}
	extra_denials(bad, {}) == {"spec.securityContext.runAsUser", "spec.securityContext.runAsNonRoot"}
	ca := fields(certificateauthority.deny) with input as review(create({"spec": bad}), {})
	ca == {"spec.securityContext.runAsUser", "spec.securityContext.runAsNonRoot"}
	found := fields(database.deny) with input as {"name": "db", "request": {"operation": "CREATE", "object": {"spec": object.union({"postgres": {"host": "pg"}}, bad)}}}
	found == {"spec.securityContext.runAsUser", "spec.securityContext.runAsNonRoot"}
}
