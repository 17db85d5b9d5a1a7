package library.load_balancer_sources_test

import rego.v1

import data.library.load_balancer_sources
import data.library.shared.testing

fields := {violation.field | some violation in load_balancer_sources.deny}

balancer(ranges) := testing.object({"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ranges}})

test_ranges if {
	fields == {"spec.loadBalancerSourceRanges"} with input as balancer([])
	fields == {"spec.loadBalancerSourceRanges[1]"} with input as balancer(["10.0.0.0/8", "0.0.0.0/1"])
	fields == {"spec.loadBalancerSourceRanges[0]"} with input as balancer(["::/0"])
	fields == set() with input as balancer(["192.0.2.0/24"])
	fields == set() with input as testing.object({"spec": {"type": "ClusterIP"}})
}
