package openclaw.enterprise.models

deny[msg] {
  input.model.name == "experimental"
  msg := sprintf("%s is not for this team", [input.model.name])
}
