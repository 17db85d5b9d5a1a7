package openclaw.enterprise.data

classification = "internal" {
  input.data.source == "wiki"
}
