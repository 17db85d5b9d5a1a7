package openclaw.enterprise.models

default allow = false

allow {
  input.model.provider == "internal"
}

allow {
  input.model.provider == "external"
  input.data.classification == "internal"
}
