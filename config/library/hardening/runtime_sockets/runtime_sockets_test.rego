package library.runtime_sockets_test

import rego.v1

import data.library.runtime_sockets
import data.library.shared.testing

fields := {violation.field | some violation in runtime_sockets.deny}

denies(path) if {
	fields == {"spec.volumes[0].hostPath.path"} with input as testing.pod({"volumes": [{"name": "a", "hostPath": {"path": path}}]})
}

test_paths if {
	denies("/var/run/docker.sock")
	denies("/run/containerd")
	denies("/run/./containerd//containerd.sock")
	denies("/var/run")
	denies("/")
	denies("/run/docker.sock/x")
	not denies("/run/secrets")
	not denies("/var/log")
	not denies("/run/docker.sock.old")
}
