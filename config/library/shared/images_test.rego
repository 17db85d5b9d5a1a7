package library.shared.images_test

import rego.v1

import data.library.shared.images
import data.library.shared.testing

digest := "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

test_images_of_containers_and_volumes if {
	used := images.used with input as testing.pod({
		"initContainers": [{"name": "setup", "image": "setup:1"}],
		"containers": [{"name": "web"}],
		"volumes": [{"name": "tmp", "emptyDir": {}}, {"name": "data", "image": {"reference": "data:2"}}],
	})
	used == {
		"spec.initContainers[0].image": "setup:1",
		"spec.containers[0].image": "",
		"spec.volumes[1].image.reference": "data:2",
	}
}

test_digests if {
	images.has_digest(concat("", ["web", digest]))
	not images.has_digest("web:1")
	not images.has_digest("web@sha256:0123")
}

test_tags if {
	images.tag("web:1.0") == "1.0"
	images.tag("localhost:5000/web") == ""
	images.tag("localhost:5000/web:1.0") == "1.0"
	images.tag(concat("", ["web:1.0", digest])) == "1.0"
	images.tag("web") == ""
}

test_repositories if {
	every image, repository in {
		"nginx": "docker.io/library/nginx",
		"nginx:1": "docker.io/library/nginx",
		"bitnami/nginx:1": "docker.io/bitnami/nginx",
		"docker.io/nginx": "docker.io/library/nginx",
		"index.docker.io/library/nginx": "docker.io/library/nginx",
		"registry.k8s.io/pause:3.9": "registry.k8s.io/pause",
		"localhost:5000/a/b:1": "localhost:5000/a/b",
		"localhost/a": "localhost/a",
		"DOCKER.io/nginx": "docker.io/library/nginx",
		"Registry.Example.com/web": "registry.example.com/web",
	} {
		images.repository(image) == repository
		images.repository(concat("", [image, digest])) == repository
	}
}

test_registries if {
	images.has_registry("registry.k8s.io/pause")
	images.has_registry("localhost/pause")
	images.has_registry("host:5000/pause")
	not images.has_registry("pause")
	not images.has_registry("library/pause")
}
