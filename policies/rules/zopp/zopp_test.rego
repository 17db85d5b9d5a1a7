package zopp_test

import rego.v1

import data.zopp.lists
import data.zopp.mapping
import data.zopp.secret
import data.zopp.source
import data.zopp.zoppsecretsync

production := {"workspace": "acme", "project": "backend", "environment": "production"}

three := {"zopp.dev/sync": "true", "zopp.dev/workspace": "acme", "zopp.dev/project": "backend", "zopp.dev/environment": "production"}

facts := {"mapping": "Open", "sources": [production], "entries": [], "keys": [], "claims": []}

secret_input(annotations, known) := {
	"request": {"kind": {"kind": "Secret"}, "namespace": "shop", "object": {"metadata": {"annotations": annotations}}},
	"facts": object.union(facts, known),
	"namespace": {"metadata": {"name": "shop"}},
}

sync_input(spec, known) := {
	"request": {"kind": {"kind": "ZoppSecretSync"}, "namespace": "shop", "object": {"spec": spec}},
	"facts": object.union(facts, known),
	"namespace": {"metadata": {"name": "shop"}},
}

said(problems) := {sprintf("%s", [problem.msg]) | some problem in problems}

fields(problems) := {problem.field | some problem in problems}

annotation(name) := sprintf("metadata.annotations[zopp.dev/%s]", [name])

test_complete if {
	asked := secret_input(three, {})
	secret.deny == set() with input as asked
	secret.warn == set() with input as asked
	source.deny == set() with input as asked
	mapping.deny == set() with input as asked
}

test_not_synced if {
	forgotten := object.remove(three, ["zopp.dev/sync"])
	secret.deny == set() with input as secret_input(forgotten, {"sources": []})
	said(secret.warn) == {`metadata.annotations[zopp.dev/workspace]: it is set without zopp.dev/sync, and the Secret is not synced; add zopp.dev/sync: "true" to have it synced`} with input as secret_input(forgotten, {"sources": []})
	secret.warn == set() with input as secret_input(object.union(forgotten, {"zopp.dev/synced-by": "jane"}), {"sources": []})
	secret.warn == set() with input as secret_input(object.union(three, {"zopp.dev/sync": "false"}), {"sources": []})
	secret.warn == set() with input as secret_input({"zopp.dev/sync": "false"}, {"sources": []})
	problems := secret.warn with input as secret_input({"zopp.dev/sync": "True"}, {"sources": []})
	fields(problems) == {annotation("sync")}
}

test_cleanup if {
	secret.warn == set() with input as secret_input(object.union(three, {"zopp.dev/cleanup": "true"}), {})
	problems := secret.warn with input as secret_input(object.union(three, {"zopp.dev/cleanup": "yes"}), {})
	fields(problems) == {annotation("cleanup")}
}

incomplete(annotations, known) := fields(problems) if {
	problems := secret.deny with input as secret_input(annotations, known)
}

test_incomplete if {
	incomplete({"zopp.dev/sync": "true"}, {"sources": []}) == {annotation("sync")}
	incomplete(object.remove(three, ["zopp.dev/project"]), {"sources": []}) == {annotation("project")}
	incomplete(object.union(three, {"zopp.dev/sources": "a/b/c"}), {}) == {annotation("sources")}
	incomplete({"zopp.dev/sync": "true", "zopp.dev/sources": " , "}, {"sources": []}) == {annotation("sources")}
	incomplete(object.union(three, {"zopp.dev/keys": ","}), {}) == {annotation("keys")}
}

test_immutable if {
	asked := secret_input(three, {})
	problems := secret.deny with input as json.patch(asked, [{"op": "add", "path": "/request/object/immutable", "value": true}])
	fields(problems) == {"immutable"}
}

test_claimed if {
	claim := {"kind": "ZoppSecretSync", "namespace": "shop", "name": "all"}
	problems := secret.deny with input as secret_input(three, {"claims": [claim]})
	said(problems) == {"metadata.annotations[zopp.dev/sync]: ZoppSecretSync shop/all fills this Secret already; take the annotation out, or delete that one"}
	stranger := object.union(claim, {"namespace": "ops"})
	asked := secret_input(three, {"claims": [stranger]})
	secret.deny == set() with input as asked
	accepted := secret.deny with input as json.patch(asked, [{"op": "add", "path": "/namespace/metadata/annotations", "value": {"zopp.dev/accept-from-namespaces": "o*"}}])
	fields(accepted) == {annotation("sync")}
}

listed := {"zopp.dev/sync": "true", "zopp.dev/sources": "acme/backend/production"}

misnamed(annotations, change) := fields(problems) if {
	problems := source.deny with input as secret_input(annotations, {"sources": [object.union(production, change)]})
}

test_names if {
	misnamed(three, {"project": " "}) == {annotation("project")}
	misnamed(three, {"workspace": "acme "}) == {annotation("workspace")}
	misnamed(three, {"environment": "a:b"}) == {annotation("environment")}
	misnamed(listed, {"environment": "a:b"}) == {annotation("sources")}
	one := source.deny with input as sync_input({"source": {}}, {"sources": [object.union(production, {"project": ""})]})
	fields(one) == {"spec.source.project"}
	second := source.deny with input as sync_input({"sources": []}, {"sources": [production, object.union(production, {"project": "a:b"})]})
	fields(second) == {"spec.sources[1].project"}
}

test_entries_of_three_names if {
	sources := [{"workspace": "acme", "project": "", "environment": ""}, {"workspace": "a", "project": "b", "environment": "c/d"}]
	problems := source.deny with input as secret_input({"zopp.dev/sources": "acme,a/b/c/d"}, {"sources": sources, "entries": ["acme", "a/b/c/d"]})
	count(problems) == 2
	fields(problems) == {annotation("sources")}
}

filtered(keys) := said(problems) if problems := source.deny with input as secret_input(three, {"keys": keys})

test_keys if {
	filtered([{"key": "A"}, {"key": "B", "name": "b.c"}, {"key": "API_*"}, {"key": "*"}]) == set()
	filtered([{"key": ""}]) == {"metadata.annotations[zopp.dev/keys]: an entry names no key of zopp; KEY, API_* and name=KEY are entries"}
	filtered([{"key": "a b"}]) == {"metadata.annotations[zopp.dev/keys]: Kubernetes takes no key \"a b\"; give it a name of letters, digits, -, _ and ., and not .. in front: name=a b"}
	filtered([{"key": "A", "name": "a/b"}]) == {"metadata.annotations[zopp.dev/keys]: Kubernetes takes no key \"a/b\"; give A a name of letters, digits, -, _ and ., and not .. in front"}
	filtered([{"key": "A", "name": "."}]) != set()
	filtered([{"key": "A", "name": "..a"}]) != set()
	filtered([{"key": "A*", "name": "a"}]) == {"metadata.annotations[zopp.dev/keys]: a=A* gives one name to many keys; take the name out, or name one key"}
	filtered([{"key": "A", "name": "B"}, {"key": "B"}]) == {"metadata.annotations[zopp.dev/keys]: B is filled twice, from A and from B; give one of them another name"}
	problems := source.deny with input as sync_input({"source": {}}, {"keys": [{"key": "A"}, {"key": ""}]})
	fields(problems) == {"spec.keys[1]"}
}

test_more_than_may_be if {
	many := source.deny with input as secret_input(listed, {"sources": [object.union(production, {"environment": sprintf("e%d", [i])}) | some i in numbers.range(1, 17)]})
	said(many) == {"metadata.annotations[zopp.dev/sources]: it names more than 16 environments; share them out among several Secrets"}
	filtered([{"key": sprintf("KEY_%d", [i])} | some i in numbers.range(1, 1025)]) == {"metadata.annotations[zopp.dev/keys]: it has more than 1024 entries; write patterns, or take the annotation out to have all keys"}
	long := concat("", ["x" | some _ in numbers.range(1, 513)])
	said(source.deny) == {"metadata.annotations[zopp.dev/environment]: the name of the environment has more than 253 characters; no environment has such a name"} with input as secret_input(three, {"sources": [object.union(production, {"environment": long})]})
	filtered([{"key": concat("", [long, "*"])}]) == {"metadata.annotations[zopp.dev/keys]: an entry has more than 512 characters; write a shorter one"}
}

mapped(mode, annotations) := said(problems) if {
	asked := object.union(secret_input(three, {"mapping": mode}), {"namespace": {"metadata": {"annotations": annotations}}})
	problems := mapping.deny with input as asked
}

allowed(text) := {"zopp.dev/allowed-sources": text}

test_mapping if {
	mapped("Open", {}) == set()
	mapped("Open", allowed("acme/backend/*")) == set()
	mapped("Restricted", allowed("x/y/z, acme/*/prod*")) == set()
	mapped("Restricted", allowed("*/*/*")) == set()
	refused := `metadata.annotations[zopp.dev/environment]: namespace "shop" may not read acme/backend/production; an administrator allows it by kubectl annotate --overwrite namespace shop 'zopp.dev/allowed-sources=%s'`
	mapped("Restricted", {}) == {sprintf(refused, ["acme/backend/production"])}
	mapped("Open", allowed("")) == {sprintf(refused, ["acme/backend/production"])}
	mapped("Open", allowed("acme/backend/test,acme/web/*")) == {sprintf(refused, ["acme/backend/test,acme/web/*,acme/backend/production"])}
}

# They are named, and the command leaves them out.
test_entries_that_are_no_patterns if {
	refused := `metadata.annotations[zopp.dev/environment]: namespace "shop" may not read acme/backend/production (%s in its annotation zopp.dev/allowed-sources %s not of the form workspace/project/environment and %s nothing); an administrator allows it by kubectl annotate --overwrite namespace shop 'zopp.dev/allowed-sources=%sacme/backend/production'`
	mapped("Open", allowed("acme/backend")) == {sprintf(refused, [`"acme/backend"`, "is", "permits", ""])}
	mapped("Open", allowed("acme/backend,acme/web/*,x")) == {sprintf(refused, [`"acme/backend", "x"`, "are", "permit", "acme/web/*,"])}
	mapped("Open", allowed("a,b,c,d,e,f")) == {sprintf(refused, [`"a", "b", "c", "d"`, "and 2 more are", "permit", ""])}
	mapped("Open", allowed("acme/backend,acme/backend/*")) == set()
}

test_patterns_of_other_kinds_permit_nothing if {
	every text in ["{acme,x}/*/*", "[a]cme/*/*", "*", "acme/*", "acme/backend/production/*", "*/*/{*}", "\\a*/*/*"] {
		mapped("Open", allowed(text)) != set()
	}
	mapped("Open", allowed(sprintf("acme/backend/%s*", [concat("", ["*" | some _ in numbers.range(1, 300)])]))) != set()
}

test_no_command_that_a_shell_would_run if {
	lists.addition("shop", ["a/b/$(c)"], "zopp.dev/allowed-sources", "a/b/c") == "an entry in annotation zopp.dev/allowed-sources of Namespace shop"
	lists.addition("shop", [], "zopp.dev/allowed-sources", "a/b/*") == "an entry in annotation zopp.dev/allowed-sources of Namespace shop"
	lists.addition("shop", [], "zopp.dev/allowed-sources", "a/b/c'; rm") == "an entry in annotation zopp.dev/allowed-sources of Namespace shop"
}

target := {"secretName": "app"}

elsewhere := {"namespace": "web", "served": true, "exists": true, "annotations": {"zopp.dev/accept-from-namespaces": "team-a,sh*"}}

refusals(change, known) := said(problems) if {
	asked := sync_input({"source": {}, "target": object.union(target, change)}, known)
	problems := zoppsecretsync.deny with input as asked
}

test_targets if {
	refusals({}, {}) == set()
	refusals({"annotations": {"a.b/c": "d"}, "secretType": "kubernetes.io/tls"}, {}) == set()
	refusals({"secretName": "App_"}, {}) == {`spec.target.secretName: "App_" is not a name of a Secret; use lower-case letters, digits, - and .`}
	refusals({"secretType": "kubernetes.io/service-account-token"}, {}) == {"spec.target.secretType: Kubernetes makes credentials from Secrets of type kubernetes.io/service-account-token; take another type"}
	refusals({"annotations": {"zopp.dev/sync": "true"}}, {}) == {"spec.target.annotations[zopp.dev/sync]: what begins with zopp.dev/ is the controllers' own on such a Secret; take it out"}
	refusals({"labels": {"zopp.dev/secretsync-uid": "u"}}, {}) == {"spec.target.labels[zopp.dev/secretsync-uid]: what begins with zopp.dev/ is the controllers' own on such a Secret; take it out"}
}

test_switched_off if {
	zoppsecretsync.warn == set() with input as sync_input({"source": {}, "target": target}, {})
	problems := zoppsecretsync.warn with input as sync_input({"source": {}, "target": target}, {"off": true})
	said(problems) == {"spec: nothing fills the Secret, since ZoppSecretSyncs are switched off; an administrator switches them on by --zopp-secret-syncs, or systems.zopp.secretSyncs of the chart"}
}

test_other_namespaces if {
	refusals({}, {"target": elsewhere}) == set()
	refusals({}, {"target": {"namespace": "web", "served": true, "exists": false, "annotations": {}}}) == {`spec.target.namespace: there is no namespace "web"; make it first, or leave the field out for "shop"`}
	refusals({}, {"target": object.union(elsewhere, {"served": false})}) == {`spec.target.namespace: the manager does not look after namespace "web"; add it to --zopp-namespaces, or leave the field out for "shop"`}
	refusals({}, {"target": object.union(elsewhere, {"annotations": null})}) == {`spec.target.namespace: namespace "web" accepts no Secrets from namespace "shop"; an administrator allows it by kubectl annotate --overwrite namespace web 'zopp.dev/accept-from-namespaces=shop'`}
}

test_the_target_permits_the_source_too if {
	asked := sync_input({"source": {}}, {"target": json.patch(elsewhere, [{"op": "add", "path": "/annotations/zopp.dev~1allowed-sources", "value": "acme/web/*"}])})
	problems := mapping.deny with input as asked
	said(problems) == {`spec.source: namespace "web" may not read acme/backend/production; an administrator allows it by kubectl annotate --overwrite namespace web 'zopp.dev/allowed-sources=acme/web/*,acme/backend/production'`}
}

test_claims if {
	refusals({}, {"claims": [{"kind": "Secret", "namespace": "shop", "name": "app"}]}) == {"spec.target.secretName: annotation zopp.dev/sync of the Secret fills Secret shop/app already; take another name, or take that annotation out"}
	refusals({}, {"target": elsewhere, "claims": [{"kind": "ZoppSecretSync", "namespace": "ops", "name": "y"}, {"kind": "ZoppSecretSync", "namespace": "web", "name": "x"}]}) == {"spec.target.secretName: ZoppSecretSync web/x fills Secret web/app already; take another name, or delete that one"}
}
