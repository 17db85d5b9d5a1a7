package library.shared.quantities_test

import rego.v1

import data.library.shared.quantities

test_numbers if {
	every value, number in {
		"500m": 0.5,
		"2": 2,
		"1.5": 1.5,
		"128Mi": 134217728,
		"1G": 1000000000,
		"1k": 1000,
		"1e3": 1000,
		"500000000n": 0.5,
		"250000u": 0.25,
	} {
		quantities.number(value) == number
	}
	quantities.number(3) == 3
	not quantities.number("much")
	not quantities.number("5x")
	not quantities.number(null)
}

test_resources if {
	container := {"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}}
	quantities.resource(container, "limits", "cpu") == 2
	quantities.request(container, "cpu") == 1
	quantities.request(container, "memory") == 1073741824
	not quantities.request(container, "ephemeral-storage")
	not quantities.request({}, "cpu")
}
