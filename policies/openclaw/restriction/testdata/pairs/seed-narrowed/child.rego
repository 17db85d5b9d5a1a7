package openclaw.enterprise.models

default allow = false

allow {
  input.model.provider == "internal"
  input.data.classification != "restricted"
}
