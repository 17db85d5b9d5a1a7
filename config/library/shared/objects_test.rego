package library.shared.objects_test

import rego.v1

import data.library.shared.objects
import data.library.shared.testing

test_a_creation_changes_every_field if {
	objects.has_changed(["spec"]) with input as testing.object({"spec": {"a": 1}})
}

test_an_update_changes_the_fields_that_differ if {
	request := testing.update({"spec": {"a": 1}, "metadata": {"labels": {}}}, {"spec": {"a": 1}})
	not objects.has_changed(["spec"]) with input as request
	not objects.spec with input as request
	objects.has_changed(["metadata", "labels"]) with input as request
	not objects.has_changed(["status"]) with input as request
}

test_text_is_always_a_string if {
	objects.text({"name": "web"}, "name") == "web"
	objects.text({"name": null}, "name") == ""
	objects.text({}, "name") == ""
}

test_a_parameter_has_a_default if {
	objects.parameter("most", 1) == 1 with input as {}
	objects.parameter("most", 1) == 2 with input as {"parameters": {"most": 2}}
}

test_the_spec_of_a_creation_is_reviewed if {
	objects.spec == {"a": 1} with input as testing.object({"spec": {"a": 1}})
}
