# METADATA
# title: What users add to the Pods of Servers and Databases
# description: Environment variables, volumes, mounts and the security context.
package openvox.extras

import rego.v1

# The errors in the fields of a Server.
problems(spec, facts) := ((((env_problems(spec) | mount_problems(spec)) | secret_problems(spec, facts)) | volume_problems(spec, facts)) | access_problems(spec, facts)) | security_problems(spec)

security_problems(spec) := {{"msg": msg, "field": "spec.securityContext.runAsUser"} |
	user := spec.securityContext.runAsUser
	user < 1
	msg := sprintf("spec.securityContext.runAsUser: Invalid value %d: must be 1 or more, since no Pod runs as root", [user])
} | {{"msg": msg, "field": "spec.securityContext.runAsNonRoot"} |
	spec.securityContext.runAsNonRoot == false
	msg := "spec.securityContext.runAsNonRoot: Invalid value false: must be true, since no Pod runs as root"
}

# The heap is in the first two. The JVM reads the others as well, and would prefer the last.
reserved_names := {"JAVA_ARGS", "JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"}

env_problems(spec) := {{"msg": msg, "field": field} |
	some i, variable in spec.extraEnv
	variable.name in reserved_names
	field := sprintf("spec.extraEnv[%d].name", [i])
	msg := sprintf("%s: %q is set by Lintel; use spec.javaArgs for options of the JVM", [field, variable.name])
} | {{"msg": msg, "field": field} |
	some i, variable in spec.extraEnv
	variable.valueFrom.fileKeyRef
	field := sprintf("spec.extraEnv[%d].valueFrom", [i])
	msg := sprintf("%s: fileKeyRef is not supported; use secretKeyRef, configMapKeyRef, fieldRef or resourceFieldRef", [field])
}

mount_problems(spec) := ((({{"msg": msg, "field": field} |
	some i, mount in spec.extraVolumeMounts
	not mount.name in {volume.name | some volume in object.get(spec, "extraVolumes", [])}
	field := sprintf("spec.extraVolumeMounts[%d].name", [i])
	msg := sprintf("%s: %q is not a volume of spec.extraVolumes", [field, mount.name])
} | {{"msg": msg, "field": field} |
	some i, mount in spec.extraVolumeMounts
	not clean(mount.mountPath)
	field := sprintf("spec.extraVolumeMounts[%d].mountPath", [i])
	msg := sprintf("%s: Invalid value %q: must be an absolute path without . and .. and without a slash at the end", [field, mount.mountPath])
}) | {{"msg": msg, "field": field} |
	some i, mount in spec.extraVolumeMounts
	clean(mount.mountPath)
	some own in own_paths
	overlap(mount.mountPath, own)
	field := sprintf("spec.extraVolumeMounts[%d].mountPath", [i])
	msg := sprintf("%s: %q overlaps %s, which Lintel mounts or renders; use another path, such as /etc/puppetlabs/extra", [field, mount.mountPath, own])
}) | {{"msg": msg, "field": field} |
	some i, mount in spec.extraVolumeMounts
	inside(mount.mountPath, "/etc/puppetlabs/code")
	field := sprintf("spec.extraVolumeMounts[%d].mountPath", [i])
	msg := sprintf("%s: %q is below /etc/puppetlabs/code; mount code, modules and Hiera data with spec.code", [field, mount.mountPath])
}) | {{"msg": msg, "field": field} |
	some i, mount in spec.extraVolumeMounts
	not object.get(mount, "mountPropagation", "None") == "None"
	field := sprintf("spec.extraVolumeMounts[%d].mountPropagation", [i])
	msg := sprintf("%s: Invalid value %q: must be None", [field, mount.mountPropagation])
}

clean(path) if {
	regex.match(`^(?:/[^/:\x00-\x1f]+)+$`, path)
	not regex.match(`/\.{1,2}(?:/|$)`, path)
}

overlap(a, b) if inside(a, b)

overlap(a, b) if inside(b, a)

inside(path, folder) if path == folder

inside(path, folder) if startswith(path, sprintf("%s/", [folder]))

# A test of package serving compares this list with the mounts of Pods.
own_paths := {
	"/dev", "/etc/hosts", "/etc/resolv.conf", "/proc", "/sys", "/var/run/secrets",
	"/etc/puppetlabs/lintel",
	"/etc/puppetlabs/puppet/crl",
	"/etc/puppetlabs/puppet/puppet.conf",
	"/etc/puppetlabs/puppet/puppetdb.conf",
	"/etc/puppetlabs/puppet/routes.yaml",
	"/etc/puppetlabs/puppet/ssl",
	"/etc/puppetlabs/puppetserver/ca",
	"/etc/puppetlabs/puppetserver/conf.d",
	"/etc/puppetlabs/puppetserver/logback.xml",
	"/etc/puppetlabs/puppetserver/services.d",
	"/opt/puppetlabs/puppet/cache",
	"/run/puppetlabs",
	"/run/puppetserver",
	"/tmp",
	"/usr/local/bin/lintel-openvox-autosign",
	"/usr/local/bin/lintel-openvox-enc",
	"/usr/local/bin/lintel-openvox-report",
	"/var/log/puppetlabs",
	"/var/run/puppetlabs",
	"/var/run/puppetserver",
	"/var/spool/openvox-report",
}

volume_problems(spec, facts) := {{"msg": msg, "field": field} |
	some i, volume in spec.extraVolumes
	claim := volume.persistentVolumeClaim.claimName
	claim in object.get(facts, "authorityClaims", [])
	field := sprintf("spec.extraVolumes[%d].persistentVolumeClaim.claimName", [i])
	msg := sprintf("%s: %q is the volume of a CA, with its key; name another claim", [field, claim])
}

# The Secrets that a Server names, with the fields that name them.
secrets(spec) := (({[field, name] |
	some i, variable in spec.extraEnv
	name := variable.valueFrom.secretKeyRef.name
	field := sprintf("spec.extraEnv[%d].valueFrom.secretKeyRef.name", [i])
} | {[field, name] |
	some i, source in spec.envFrom
	name := source.secretRef.name
	field := sprintf("spec.envFrom[%d].secretRef.name", [i])
}) | {[field, name] |
	some i, volume in spec.extraVolumes
	name := volume.secret.secretName
	field := sprintf("spec.extraVolumes[%d].secret.secretName", [i])
}) | {[field, name] |
	some i, volume in spec.extraVolumes
	some j, source in volume.projected.sources
	name := source.secret.name
	field := sprintf("spec.extraVolumes[%d].projected.sources[%d].secret.name", [i, j])
}

# Names of Secrets that hold keys of a CA, or that tell who gets certificates: also of a CA that
# is created later.
key_suffixes := {"-ca-key", "-ca-setup", "-autosign-policy", "-ca-revocations", "-operator-signing-tls", "-operator-standby-tls"}

secret_problems(spec, facts) := {{"msg": msg, "field": field} |
	some [field, name] in secrets(spec)
	what := object.get(facts, ["protectedSecrets", name], suffix_of(name))
	what != ""
	msg := sprintf("%s: Secret %q %s, and is not available to Servers; name a Secret that is created for this", [field, name, what])
} | {{"msg": msg, "field": field} |
	some [field, name] in secrets(spec)
	name in object.get(facts, "unreadableSecrets", [])
	msg := sprintf("%s: user %q may neither get Secret %q nor create Pods in this namespace, and changes what reads the Secret; ask an administrator for one of both permissions", [field, input.request.userInfo.username, name])
}

# Each Secret is read from the API server, and each permission is a request to it.
most := 32

access_problems(spec, facts) := ({{"msg": msg, "field": "spec"} |
	some kind, listed in {"Secrets": secrets(spec), "ConfigMaps": config_maps(spec)}
	names := {name | some [_, name] in listed}
	count(names) > most
	msg := sprintf("spec: Too many: %d %s: extraEnv, envFrom and extraVolumes may refer to at most %d; combine some", [count(names), kind, most])
} | {{"msg": msg, "field": field} |
	some [field, name] in config_maps(spec)
	name in object.get(facts, "unreadableConfigMaps", [])
	msg := sprintf("%s: user %q may neither get ConfigMap %q nor create Pods in this namespace, and changes what reads the ConfigMap; ask an administrator for one of both permissions", [field, input.request.userInfo.username, name])
}) | {{"msg": msg, "field": field} |
	some i, volume in spec.extraVolumes
	claim := volume.persistentVolumeClaim.claimName
	claim in object.get(facts, "unreadableClaims", [])
	field := sprintf("spec.extraVolumes[%d].persistentVolumeClaim.claimName", [i])
	msg := sprintf("%s: user %q may not create Pods in this namespace, and changes what reads PersistentVolumeClaim %q; ask an administrator for this permission", [field, input.request.userInfo.username, claim])
}

# The ConfigMaps that a Server names, with the fields that name them.
config_maps(spec) := (({[field, name] |
	some i, variable in spec.extraEnv
	name := variable.valueFrom.configMapKeyRef.name
	field := sprintf("spec.extraEnv[%d].valueFrom.configMapKeyRef.name", [i])
} | {[field, name] |
	some i, source in spec.envFrom
	name := source.configMapRef.name
	field := sprintf("spec.envFrom[%d].configMapRef.name", [i])
}) | {[field, name] |
	some i, volume in spec.extraVolumes
	name := volume.configMap.name
	field := sprintf("spec.extraVolumes[%d].configMap.name", [i])
}) | {[field, name] |
	some i, volume in spec.extraVolumes
	some j, source in volume.projected.sources
	name := source.configMap.name
	field := sprintf("spec.extraVolumes[%d].projected.sources[%d].configMap.name", [i, j])
}

suffix_of(name) := "has the name of a CA's own Secret" if {
	some suffix in key_suffixes
	endswith(name, suffix)
} else := ""
